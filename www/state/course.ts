/** Opens lessons: each begins with a program of its own, and the user's work is put aside. */
import { createSignal } from "solid-js";
import type { EngineClient } from "../engine/client";
import type { SharedDocument } from "../engine/protocol";
import { lessonOf } from "./lessons";
import type { Panels } from "./panels";
import type { Opening } from "./sharing";

export function createCourse({
  plain,
  say,
  openDocument,
  showed,
  panels,
}: {
  plain(): EngineClient;
  say(text: string): void;
  openDocument(document: SharedDocument, opening: Opening): Promise<unknown>;
  /** Called when the solution of a lesson was shown, or it begins anew. */
  showed(lesson: string, solution: boolean): void;
  panels: Panels;
}) {
  /** The number of lessons begun in this visit. */
  const [begun, setBegun] = createSignal(0);

  /** Opens a file of a lesson in the place of the present document; `what` says so. */
  async function openFile(lesson: string, file: string, what: string): Promise<void> {
    const { fileOf } = await import("../lessons");
    const reply = await plain().ask({ type: "read", text: await fileOf(lesson, file) });
    const document = reply.status === "answered" ? reply.value.document : null;
    if (!document) return;
    showed(lesson, file === "solution");
    await openDocument(document, { what, lesson, trusted: true });
  }

  /** Opens a lesson at its beginning; of a name that no lesson has the list is shown instead. */
  async function open(name: string): Promise<void> {
    try {
      const { course, titleOf } = await import("../lessons");
      if ((course as readonly string[]).includes(name)) {
        await openFile(name, "start", `The lesson “${titleOf(name)}” was opened`);
        setBegun(begun() + 1);
        return;
      }
      say(`There is no lesson “${name}”. These are the ones that there are.`);
      panels.open({ name: "lessons" });
    } catch {
      say("The lessons could not be loaded. Is there a network?");
    }
  }

  return {
    begun,
    open,
    async openFirst(): Promise<void> {
      const { course } = await import("../lessons");
      await open(course[0]);
    },
    openFile,
    /** Returns the lesson that an address asks for, unless it is open already; empty for none. */
    wanted(hash: string, opened: string): string {
      const name = lessonOf(hash);
      return name === opened ? "" : name;
    },
  };
}

/** Asks the engines the questions of panels, besides the data that is pulled for every step. */
import type { EngineClient, WorkerLike } from "../engine/client";
import type {
  Answers,
  Comparison,
  Diff,
  LineNames,
  Measure,
  MeasureQuestion,
  Nest,
  NestQuestion,
  Question,
  SharedDocument,
  Step,
  Values,
} from "../engine/protocol";
import { reprinted } from "./aside";
import type { State } from "./model";

export function createQuestions({
  state,
  holder,
  plain,
  spawn,
}: {
  state(): State;
  /** Returns the engine that has the versions of the shown run. */
  holder(): EngineClient;
  /** Returns the engine that knows no script. */
  plain(): EngineClient;
  spawn(): WorkerLike;
}) {
  /** Returns the text of a version to be passed on, not shown; null if the engine did not answer. */
  async function textOf(version: number): Promise<string | null> {
    const reply = await holder().ask({ type: "text", version, stable: false });
    return reply.status === "answered" ? reply.value : null;
  }

  return {
    textOf,
    /** The same for a file that is run elsewhere: reads and prints a scripted run's text without a script. */
    async inertText(version: number): Promise<string | null> {
      const text = await textOf(version);
      if (text === null || !state().good?.sent.script.trim()) return text;
      return (await reprinted(spawn, [text]))[0] ?? null;
    },
    async diffOf({ before, after }: Step): Promise<Diff | null> {
      const reply = await holder().ask({ type: "diff", before, after });
      return reply.status === "answered" ? reply.value : null;
    },
    /** Returns the names in a line of a version's text, and their types. */
    async namesIn(version: number, line: number): Promise<LineNames | null> {
      const reply = await holder().ask({ type: "names", version, line }, "names");
      return reply.status === "answered" ? reply.value : null;
    },
    async evaluate(question: Question): Promise<Values | string> {
      const slot = `eval ${question.version}`;
      const reply = await holder().ask({ type: "eval", ...question }, slot);
      if (reply.status === "answered") return reply.value;
      return reply.status === "stopped" ? reply.message : "The program changed meanwhile.";
    },
    /** Returns the effect of a pass on the result of the run; null if the result is no longer shown. */
    async preview(call: string): Promise<Answers["preview"] | null> {
      const { good } = state();
      const version = Math.max(0, (good?.run.versions ?? 1) - 1);
      const reply = await holder().ask({ type: "preview", version, call }, "preview");
      return reply.status === "answered" && state().good === good ? reply.value : null;
    },
    /** The loops of a version; null when the question is overtaken. `slot`: a newer question of the same takes its place. */
    async nest(question: NestQuestion, slot: string): Promise<Nest | string | null> {
      const reply = await holder().ask({ type: "nest", ...question }, `nest ${slot}`);
      if (reply.status === "answered") return reply.value;
      return reply.status === "stopped" ? reply.message : null;
    },
    /** Asks for the work of a version; null when there was another run meanwhile. */
    async measure(question: MeasureQuestion): Promise<Measure | string | null> {
      const { good } = state();
      const reply = await holder().ask({ type: "measure", ...question }, "measure");
      if (state().good !== good) return null;
      if (reply.status === "answered") return reply.value;
      return reply.status === "stopped" ? reply.message : null;
    },
    async operators(before: number, after: number): Promise<Answers["operators"]> {
      const reply = await holder().ask({ type: "operators", before, after }, "operators");
      return reply.status === "answered" ? reply.value : [];
    },
    /** The reproducer file of a document. */
    async written(document: SharedDocument): Promise<string | null> {
      const reply = await plain().ask({ type: "write", document });
      return reply.status === "answered" ? reply.value : null;
    },
    dump: () => holder().ask({ type: "dump" }, "dump"),
    /** Returns the hash of the last good run's result; empty when it is not available. */
    async hash(): Promise<string> {
      const reply = await holder().ask({ type: "hash" }, "hash");
      return reply.status === "answered" ? reply.value : "";
    },
    /** Returns the program of a reproducer, without its head. */
    async programOf(text: string): Promise<string | null> {
      const reply = await plain().ask({ type: "read", text });
      return reply.status === "answered" ? (reply.value.document?.source ?? null) : null;
    },
    async compare(version: number, source: string): Promise<Comparison | null> {
      const reply = await holder().ask({ type: "compare", version, source });
      return reply.status === "answered" ? reply.value : null;
    },
  };
}

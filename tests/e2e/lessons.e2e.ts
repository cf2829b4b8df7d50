/** Every lesson: its start fails, each hint is reached in its state, its solution passes; and the whole by keyboard. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Lesson } from "../../www/lessons/judge";
import { eventually, type Lab, type Stage, setUp } from "./browser";

const folder = resolve(import.meta.dirname, "../../www/lessons");
const names = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

/** The lessons in their order. */
const course = [
  ...(readFileSync(join(folder, "index.ts"), "utf8")
    .split("] as const")[0]
    ?.matchAll(/^ {2}"([\w-]+)",$/gm) ?? []),
].map((hit) => hit[1] ?? "");

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const pane = (lab: Lab) => lab.page.getByRole("region", { name: "Lesson", exact: true });
const goals = (lab: Lab) => pane(lab).getByRole("list", { name: "Goals" }).getByRole("listitem");

/** Puts a state of the lesson into the page, as its own buttons do. */
async function put(lab: Lab, lesson: string, file: string): Promise<void> {
  const text = readFileSync(join(folder, lesson, file), "utf8");
  await lab.page.evaluate((given) => navigator.clipboard.writeText(given), text);
  await lab.page.getByRole("heading", { name: /^\d+\/\d+ / }).focus();
  await lab.page.keyboard.press("Control+v");
}

/** Allows code that was pasted, if it asks. */
async function allow(lab: Lab): Promise<void> {
  const run = lab.button("Run");
  if (await run.isVisible()) await run.click({ timeout: 500 }).catch(() => {});
}

const lessonOf = (name: string) =>
  JSON.parse(readFileSync(join(folder, name, "lesson.json"), "utf8")) as Lesson;

const solutionOf = (name: string) =>
  readdirSync(join(folder, name)).find((file) => file.startsWith("solution.")) ?? "";

describe("lessons", () => {
  for (const name of names) {
    test(`${name}: the start fails, every hint is reached, the solution passes`, () =>
      // A lesson may start without passes, and then its page has no steps to wait for.
      stage.withVisible(
        {},
        async (lab) => {
          const lesson = lessonOf(name);
          const plain = (text: string) => text.replace(/[`*]/g, "");
          const hint = pane(lab).getByRole("button", { name: /hint/i });
          await eventually(() => goals(lab).count(), lesson.goals.length);
          await eventually(() => hint.isEnabled(), true);
          await eventually(async () => (await goals(lab).allTextContents()).join(), /to do/);
          for (const [index, one] of lesson.hints.entries()) {
            if (one.state.startsWith("start"))
              await pane(lab).getByRole("button", { name: "Start again" }).click();
            else await put(lab, name, one.state);
            const said = async () => {
              await allow(lab);
              if (await hint.isEnabled()) await hint.click({ timeout: 500 }).catch(() => {});
              const shown = pane(lab).getByRole("status", { name: "Hint" });
              const words = await shown.textContent({ timeout: 500 }).catch(() => "");
              return `${index + 1} ${words?.trim()}`;
            };
            await eventually(said, `${index + 1} ${plain(one.say)}`);
          }
          await put(lab, name, solutionOf(name));
          // Each wrong answer says why, and is not enough.
          for (const option of lesson.question?.options ?? []) {
            await pane(lab).getByRole("radio", { name: option.say }).check();
            const said = pane(lab).getByRole("status", { name: "Answer" });
            expect(await said.textContent()).toContain(option.why);
            if (!option.right) expect((await goals(lab).allTextContents()).join()).toMatch(/to do/);
          }
          const right = lesson.question?.options.find((option) => option.right)?.say;
          if (right) await pane(lab).getByRole("radio", { name: right }).check();
          const praised = async () => {
            await allow(lab);
            return pane(lab).getByText("Your answer is right").count();
          };
          await eventually(praised, 1);
          expect((await goals(lab).allTextContents()).join()).not.toMatch(/to do/);
        },
        `${stage.site.url}#lesson=${name}`,
      ));
  }

  test("what was found of the run before a script was allowed does not come over what the script did", () =>
    stage.withVisible(
      {},
      async (lab) => {
        await eventually(async () => (await goals(lab).allTextContents()).join(), /to do/);
        // Holds back, from here on, the answers of the engine without scripts about the lesson's programs.
        await lab.page.evaluate(() => {
          const page = window as unknown as { late: (() => void)[] };
          page.late = [];
          const { postMessage } = Worker.prototype;
          const held = new WeakSet<Worker>();
          Worker.prototype.postMessage = function (this: Worker, ...given: unknown[]) {
            const hear = this.onmessage;
            if (!held.has(this) && hear) {
              held.add(this);
              this.onmessage = function (event) {
                if (event.data.type !== "compare") return hear.call(this, event);
                page.late.push(() => hear.call(this, event));
              };
            }
            return Reflect.apply(postMessage, this, given);
          };
        });
        await put(lab, "fuse-two-conv", "hint-3.py");
        const late = () =>
          lab.page.evaluate(() => (window as unknown as { late: unknown[] }).late.length);
        await eventually(late, 1);
        await lab.button("Run").click();
        const first = goals(lab).first();
        await eventually(() => first.textContent(), /: done$/);
        await lab.page.evaluate(async () => {
          for (const hear of (window as unknown as { late: (() => void)[] }).late) hear();
          await new Promise((done) => setTimeout(done, 100));
        });
        expect(await first.textContent()).toMatch(/: done$/);
      },
      `${stage.site.url}#lesson=fuse-two-conv`,
    ));

  test("each begins where its work is, and a solution that was shown is not done", () =>
    stage.withPage(
      {},
      async (lab) => {
        await eventually(() => lab.tab("My passes").getAttribute("aria-selected"), "true");
        const hint = pane(lab).getByRole("button", { name: /hint/i });
        await eventually(() => hint.isEnabled(), true);
        // The first hint says where to look, the second says which change to make.
        const shown = pane(lab).getByRole("status", { name: "Hint" });
        const first = lessonOf("visitors").hints[0];
        await hint.click();
        await eventually(() => shown.textContent(), first?.nudge);
        await pane(lab).getByRole("button", { name: "Show solution" }).click();
        await pane(lab).getByText("This is the solution").waitFor();
        await pane(lab).getByRole("button", { name: "All lessons" }).click();
        await lab.page.getByText(`0 of ${names.length} done`).waitFor();
        await lab.page.getByRole("button", { name: "Reading Relay" }).click();
        await eventually(() => lab.tab("Program").getAttribute("aria-selected"), "true");
      },
      `${stage.site.url}#lesson=visitors`,
    ));

  test("a newcomer goes from lesson to lesson by keyboard, and progress is kept", () =>
    stage.withPage({}, async (lab) => {
      const { keyboard } = lab.page;
      await keyboard.press("L");
      const list = lab.page.getByRole("dialog", { name: "Lessons" });
      await list.getByRole("button", { name: "Reading Relay" }).press("Enter");
      await eventually(() => goals(lab).count(), 3);
      await put(lab, "reading-relay", solutionOf("reading-relay"));
      await pane(lab).getByRole("button", { name: "Next lesson" }).press("Enter");
      await pane(lab).getByRole("heading", { name: /^2\// }).waitFor();
      await eventually(() => lab.page.url(), /#lesson=(?!reading-relay)/);
      await lab.page.reload();
      await pane(lab).getByRole("heading", { name: /^2\// }).waitFor();
      await pane(lab).getByRole("button", { name: "All lessons" }).press("Enter");
      await list.getByRole("button", { name: /^Reading Relay.*, done/ }).waitFor();
      const [saved] = await Promise.all([
        lab.page.waitForEvent("download"),
        list.getByRole("button", { name: "Save progress" }).press("Enter"),
      ]);
      expect(JSON.parse(readFileSync(await saved.path(), "utf8"))).toEqual({
        format: "passlab-progress",
        done: ["reading-relay"],
      });
      await keyboard.press("Escape");
      await pane(lab).getByRole("button", { name: "Close lesson" }).press("Enter");
      await eventually(() => pane(lab).count(), 0);
    }));

  test("the whole course is gone through with Tab and Enter alone", () =>
    stage.withPage({}, async (lab) => {
      const { keyboard } = lab.page;
      // The focus is never moved: Tab must lead to the next element.
      const reach = async (name: string) => {
        for (let tabs = 0; tabs < 12; tabs++) {
          const at = await lab.page.evaluate(() => document.activeElement?.textContent?.trim());
          if (at?.startsWith(name)) return;
          await keyboard.press("Tab");
        }
        throw new Error(`Tab does not lead to ${name}`);
      };
      await keyboard.press("L");
      await lab.page.getByRole("dialog", { name: "Lessons" }).waitFor();
      await reach("○ Reading Relay");
      await keyboard.press("Enter");
      for (const index of names.keys()) {
        await pane(lab)
          .getByRole("heading", { name: new RegExp(`^${index + 1}/`) })
          .waitFor();
        await reach("Show solution");
        await keyboard.press("Enter");
        const options = lessonOf(course[index] as string).question?.options ?? [];
        if (options.length > 0) {
          const at = () =>
            lab.page.evaluate(() => (document.activeElement as HTMLInputElement).type);
          for (let tabs = 0; tabs < 8 && (await at()) !== "radio"; tabs++)
            await keyboard.press("Shift+Tab");
          await keyboard.press("Space");
          for (let down = options.findIndex(({ right }) => right); down > 0; down--)
            await keyboard.press("ArrowDown");
        }
        await pane(lab).getByText("This is the solution").waitFor();
        if (index + 1 === names.length) break;
        await reach("Next lesson");
        await keyboard.press("Enter");
      }
      await pane(lab).getByText("This was the last lesson").waitFor();
      await reach("All lessons");
      await keyboard.press("Enter");
      await lab.page.getByText(`0 of ${names.length} done`).waitFor();
    }));
});

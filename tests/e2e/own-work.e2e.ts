/** The user's own work survives a link, a lesson, another tab, a full storage, a single typed letter and a reload. */
import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Lab, profile, SMALL, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const withPage: Stage["withPage"] = (...given) => stage.withPage(...given);
const linkTo = (text: string) => `1.${deflateSync(text).toString("base64url")}`;
const mine = (name: string) => SMALL.replaceAll("%x", `%${name}`);

/** Goes to another address of the page, as a click on a link does. */
const follow = (lab: Lab, hash: string) =>
  lab.page.evaluate((to) => {
    location.hash = to;
  }, hash);

/** Opens the newest earlier work with such a title. */
async function openEarlier(lab: Lab, title: RegExp): Promise<void> {
  await lab.button("Open").click();
  const list = lab.page.getByRole("list", { name: "Earlier work" });
  await list.getByRole("button", { name: title }).first().click();
}

/** Waits until a reload would show the present document. */
const kept = (lab: Lab, text: string) =>
  eventually(
    () => lab.page.evaluate((part) => JSON.stringify({ ...localStorage }).includes(part), text),
    true,
  );

describe("own work", () => {
  test("makes way for a lesson, is offered after a reload, too, until it is taken", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await follow(lab, "#lesson=visitors");
      await lab.page.getByRole("heading", { name: /Visitors/ }).waitFor();
      await lab.button("Back to my program").waitFor();
      await kept(lab, '"lesson\\":\\"visitors');
      await lab.page.reload();
      await lab.page.getByRole("heading", { name: /Visitors/ }).waitFor();
      await lab.button("Back to my program").click();
      await eventually(() => lab.source(), SMALL);
      expect(await lab.page.getByRole("region", { name: "Lesson" }).count()).toBe(0);
      await eventually(() => lab.button("Back to my program").count(), 0);
      await lab.page.waitForTimeout(400);
      await lab.page.reload();
      await lab.settled();
      expect(await lab.source()).toBe(SMALL);
      expect(await lab.button("Back to my program").count()).toBe(0);
    }));

  test("that made way for one link is not overwritten by the next, nor by a reload", () =>
    withPage({}, async (lab) => {
      await lab.write(mine("first"));
      await follow(lab, linkTo(`// passlab 1\n// pass: FoldConstant()\n${SMALL}`));
      await eventually(() => lab.source(), SMALL);
      await lab.page.waitForTimeout(800);
      await lab.page.reload();
      await lab.settled();
      await lab.button("Back to my program").waitFor();
      await lab.write(mine("second"));
      await follow(lab, linkTo(`// passlab 1\n// pass: FuseOps()\n${SMALL}`));
      await eventually(() => lab.source(), SMALL);
      await lab.button("Back to my program").click();
      await eventually(() => lab.source(), mine("second"));
      await openEarlier(lab, /1 pass/);
      await eventually(() => lab.source(), /%first|%second/);
      // Both are there, each by its date.
      await lab.button("Open").click();
      const works = lab.page.getByRole("list", { name: "Earlier work" }).getByRole("listitem");
      expect(await works.count()).toBeGreaterThanOrEqual(2);
    }));

  test("typed while a link is decoded behind a busy engine is put aside with the rest", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.step(/^FoldConstant changed/).waitFor();
      // The engine answers late.
      await lab.page.workers()[0]?.evaluate(() => {
        const hear = self.onmessage;
        self.onmessage = (event) => setTimeout(() => hear?.call(self as never, event), 700);
      });
      await follow(lab, linkTo(`// passlab 1\n// pass: FuseOps()\n${mine("theirs")}`));
      await lab.write(mine("late"));
      await eventually(() => lab.source(), mine("theirs"));
      await lab.button("Back to my program").click();
      await eventually(() => lab.source(), mine("late"));
    }));

  test("of two tabs is kept in both, whichever is closed last", async () => {
    const all = await profile(stage.browser);
    const a = await all.open(stage.site.url);
    await a.settled();
    const b = await all.open(stage.site.url);
    await b.settled();
    await a.write(mine("a"));
    await kept(a, "%a");
    await b.write(mine("b"));
    await kept(b, "%b");
    await a.page.reload();
    await a.settled();
    expect(await a.source()).toBe(mine("a"));
    await a.page.close();
    await b.page.close();
    const c = await all.open(stage.site.url);
    await c.settled();
    // It begins with the last kept document, and the other is in the list.
    const shown = await c.source();
    expect([mine("a"), mine("b")]).toContain(shown);
    await openEarlier(c, /@main/);
    await eventually(() => c.source(), shown === mine("a") ? mine("b") : mine("a"));
    expect(all.errors).toEqual([]);
    await all.context.close();
  });

  test.each([
    ["full", "QuotaExceededError"],
    ["denied", "SecurityError"],
  ])(
    "is there as long as the page is where the storage is %s, and the page says so",
    async (_, name) => {
      const all = await profile(stage.browser);
      await all.context.addInitScript((error) => {
        Storage.prototype.setItem = () => {
          throw new DOMException("no", error);
        };
        indexedDB.open = () => {
          throw new DOMException("no", error);
        };
      }, name);
      const lab = await all.open(stage.site.url);
      await lab.settled();
      await lab.write(mine("mine"));
      await lab.page.getByText("refuses to keep your work").waitFor();
      await follow(lab, linkTo(`// passlab 1\n// pass: FuseOps()\n${SMALL}`));
      await eventually(() => lab.source(), SMALL);
      await lab.page.getByText("as long as this page is open").waitFor();
      await lab.button("Back to my program").click();
      await eventually(() => lab.source(), mine("mine"));
      expect(all.errors).toEqual([]);
      await all.context.close();
    },
  );

  test("is offered beside what else there is to say, when a link is larger than the storage", () =>
    withPage({}, async (lab) => {
      await lab.write(mine("mine"));
      const large = `// passlab 1\n// pass: FoldConstant()\n${SMALL}${"// nothing\n".repeat(550_000)}`;
      await follow(lab, linkTo(large));
      await eventually(() => lab.passes.count(), 1);
      await lab.button("Back to my program").waitFor();
      expect(await lab.page.getByText("refuses to keep").count()).toBe(0);
      await lab.button("Back to my program").click();
      await eventually(() => lab.source(), mine("mine"));
    }));

  test("comes back by the browser's way back, and what it made way for by the way forth", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.example("MLP");
      await eventually(() => lab.source(), /three|hidden layers/);
      const mlp = await lab.source();
      await lab.page.goBack();
      await eventually(() => lab.source(), SMALL);
      await lab.page.goForward();
      await eventually(() => lab.source(), mlp);
      await lab.example("Diamond");
      await eventually(() => lab.source(), /diamond|%x/i);
      await lab.page.reload();
      await lab.settled();
      // After a reload, own work is still behind the entries of the browser's history.
      await lab.page.goBack();
      await lab.page.goBack();
      await eventually(() => lab.source(), SMALL);
    }));
});

describe("a trace of another compiler", () => {
  const TRACE = [
    "// passlab 1",
    "// file: 001_Theirs.relay",
    ...mine("y")
      .trimEnd()
      .split("\n")
      .map((line) => `// file:|${line}`),
    SMALL,
  ].join("\n");

  test("survives a letter, an undo and a reload", () =>
    withPage({}, async (lab) => {
      await lab.page.evaluate((text) => navigator.clipboard.writeText(text), TRACE);
      await lab.page.locator("h1").click();
      await lab.page.keyboard.press("Control+v");
      await lab.step(/^Theirs/).waitFor();
      await lab.program.click();
      await lab.page.keyboard.press("Control+End");
      await lab.page.keyboard.type("//");
      await eventually(() => lab.step(/^Theirs/).count(), 0);
      await lab.page.keyboard.press("Control+z");
      await lab.step(/^Theirs/).waitFor();
      await lab.page.keyboard.press("Control+End");
      await lab.page.keyboard.type("//");
      await eventually(() => lab.step(/^Theirs/).count(), 0);
      await lab.page.waitForTimeout(400);
      await lab.page.reload();
      await lab.button("Back to my program").click();
      await lab.step(/^Theirs/).waitFor();
    }));

  test("that is too large for the storage is there after a reload", () =>
    withPage({}, async (lab) => {
      const file = `${SMALL}${"// nothing at all\n".repeat(8000)}`;
      await lab.page.evaluate(
        ([text]) => {
          const data = new DataTransfer();
          for (let count = 0; count < 40; count++)
            data.items.add(new File([text ?? ""], `${count}_Pass.relay`));
          const drop = new DragEvent("drop", {
            dataTransfer: data,
            bubbles: true,
            cancelable: true,
          });
          document.querySelector("main")?.dispatchEvent(drop);
        },
        [file],
      );
      await eventually(() => lab.page.getByText("39 steps").count(), 1);
      await lab.page.waitForTimeout(1500);
      await lab.page.reload();
      await eventually(() => lab.page.getByText("39 steps").count(), 1);
    }));
});

describe("undo", () => {
  test("goes through program, list and level, from wherever the focus is", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.pass("FoldConstant").uncheck();
      await lab.optLevel(1);
      const level = lab.page.getByRole("radio", { name: "1", exact: true });
      await lab.page.keyboard.press("Control+z");
      await eventually(() => level.isChecked(), false);
      expect(await lab.pass("FoldConstant").isChecked()).toBe(false);
      await lab.program.click();
      await lab.page.keyboard.press("Control+z");
      await eventually(() => lab.pass("FoldConstant").isChecked(), true);
      await lab.page.keyboard.press("Control+z");
      await eventually(() => lab.source().then((text) => text === SMALL), false);
      await lab.page.keyboard.press("Control+y");
      await eventually(() => lab.source(), SMALL);
      await lab.page.keyboard.press("Control+Shift+Z");
      await eventually(() => lab.pass("FoldConstant").isChecked(), false);
    }));

  test("of a fork brings back the list with the program", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      const before = await lab.passes.count();
      await lab.step(/^FoldConstant changed/).click();
      await lab.button("Fork here").click();
      await eventually(() => lab.passes.count(), before - 2);
      await lab.page.locator("h1").click();
      await lab.page.keyboard.press("Control+z");
      await eventually(() => lab.passes.count(), before);
      await eventually(() => lab.source(), SMALL);
    }));

  test("a refused script stays refused, however it comes back", () =>
    withPage({}, async (lab) => {
      const script = `console.log("taken");`;
      await follow(lab, linkTo(`// passlab 1\n// script:|${script}\n${SMALL}`));
      await lab.button("Keep without").click();
      await lab.script.click();
      await lab.page.keyboard.press("Control+a");
      await lab.page.keyboard.press("Control+x");
      await eventually(() => lab.written(), "A pass, a visitor, an instrument …");
      for (const keys of ["Control+z", "Control+y", "Control+v"]) {
        await lab.page.keyboard.press(keys);
        await lab.page.waitForTimeout(600);
        expect(await lab.console.count()).toBe(0);
      }
      await lab.button("Run them").waitFor();
      expect(await lab.written()).toBe(script);
      await lab.button("Run them").click();
      await lab.console.getByText("taken").waitFor();
    }));
});

describe("a link of 3.5 KB with a hundred thousand rows", () => {
  test("opens cut short with a message, and the next visit does not begin with it", () =>
    withPage({}, async (lab) => {
      const rows = "// pass: FoldConstant()\n".repeat(100_000);
      const link = linkTo(`// passlab 1\n${rows}${SMALL}`);
      expect(link.length).toBeLessThan(10_000);
      await follow(lab, link);
      await lab.page.getByText("100000 passes, of which the first 2000 are taken").waitFor();
      // Of the list in the link: the example that was there before selects another step.
      await eventually(() => lab.selectedName(), /^FoldConstant changed/);
      // Only the visible part of the list is drawn.
      expect(await lab.passes.count()).toBeLessThan(100);
      await lab.page.keyboard.press("j");
      await eventually(() => lab.selectedName(), /^InferType changed, nested/);
    }));
});

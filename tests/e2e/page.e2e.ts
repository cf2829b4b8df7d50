/** The page's purpose: a program, passes over it, and the effect of each of them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, SMALL, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const withPage: Stage["withPage"] = (...given) => stage.withPage(...given);

describe("a first visit", () => {
  test("shows an example, run, with its most interesting diff and one hint", () =>
    withPage({}, async (lab) => {
      await lab
        .region("Diff")
        .getByText(/\d+ (added|changed)/)
        .first()
        .waitFor();
      expect(await lab.problems.count()).toBe(0);
      expect(
        await lab.page.getByText("shows what each pass of the TVM compiler does").count(),
      ).toBe(1);
      await eventually(() => lab.selectedName(), /^\w+ changed/);
    }));
});

describe("a program of Relax", () => {
  test("opens with passes of its own, runs, and makes way for Relay again", () =>
    withPage({}, async (lab) => {
      await lab.example("Two convolutions (Relax)");
      await lab.step(/^ToNonDataflow changed/).click();
      await lab.region("Diff").getByText("with R.dataflow").first().waitFor();
      expect(await lab.problems.count()).toBe(0);
      await lab.example("MLP");
      await lab.step(/^FuseOps changed/).waitFor();
      expect(await lab.problems.count()).toBe(0);
    }));
});

describe("editing", () => {
  test("what is typed right after the key that opens the search panel is searched for, and not written", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      // Written by keys, so the editor had the focus, and with it the panel's code was fetched.
      await lab.program.click();
      await lab.page.waitForFunction(() =>
        performance.getEntriesByType("resource").some(({ name }) => /\/keys-[^/]*\.js$/.test(name)),
      );
      await lab.page.keyboard.press("Control+f");
      await lab.page.keyboard.type("relu");
      const field = lab.page.getByRole("textbox", { name: "Find" });
      await eventually(() => field.inputValue(), "relu");
      expect(await lab.source()).toBe(SMALL);
    }));

  test("an edit runs at once, a mistake is underlined and listed, and leads to its place", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL.replace("%1)\n", "%missing)\n"));
      await eventually(() => lab.problems.count(), 1);
      await eventually(() => lab.problems.first().textContent(), /5:11[\s\S]*missing/);
      await lab.page.locator(".cm-lintRange-error").first().waitFor();
      // The last good result stays, and says that it is old.
      expect(await lab.steps.count()).toBeGreaterThan(0);
      await lab.page.getByText("stale").first().waitFor();
      await lab.problems.first().getByRole("button").click();
      await eventually(() => lab.program.evaluate((node) => node === document.activeElement), true);
      await lab.page.keyboard.insertText("%1");
      await eventually(() => lab.problems.count(), 0);
      await eventually(() => lab.page.getByText("stale").count(), 0);
    }));

  test("what was typed is there after a reload", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await eventually(() => lab.source(), SMALL);
      await lab.page.reload();
      await lab.settled();
      expect(await lab.source()).toBe(SMALL);
    }));

  test("an example that takes the place of one's own program can be undone", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.example("MLP");
      await eventually(() => lab.source(), /three|hidden layers/);
      await lab.button("Undo").click();
      await eventually(() => lab.source(), SMALL);
    }));
});

describe("passes", () => {
  test("a pass is switched off and on", () =>
    withPage({}, async (lab) => {
      await lab.step(/^FuseOps changed/).waitFor();
      await lab.pass("FuseOps").uncheck();
      await eventually(() => lab.step(/^FuseOps/).count(), 0);
      await lab.pass("FuseOps").check();
      await lab.step(/^FuseOps changed/).waitFor();
    }));

  test("the opt level decides which passes run, and the row says why", () =>
    withPage({}, async (lab) => {
      await lab.optLevel(0);
      await lab.step(/^FoldConstant skipped.*2/).waitFor();
      await lab.optLevel(2);
      await lab.step(/^FoldConstant (changed|no change)/).waitFor();
      await lab.step(/^EliminateCommonSubexpr skipped/).click();
      await lab.button("Set opt level 3").click();
      await lab.step(/^EliminateCommonSubexpr (changed|no change)/).waitFor();
    }));

  test("passes are added through the filter, configured, moved and removed", () =>
    withPage({}, async (lab) => {
      const names = () =>
        lab.page
          .getByRole("list", { name: "Passes" })
          .getByRole("checkbox")
          .evaluateAll((boxes) => boxes.map((box) => box.getAttribute("aria-label")));
      const before = await names();
      await lab.button("Add pass").click();
      await lab.page.getByRole("combobox", { name: "Filter passes" }).waitFor();
      await lab.page.keyboard.type("deadcode");
      await lab.page.keyboard.press("Enter");
      await eventually(names, [...before, "DeadCodeElimination"]);
      await lab.pass("DeadCodeElimination").focus();
      await lab.page.keyboard.press("Alt+ArrowUp");
      await eventually(names, [...before.slice(0, -1), "DeadCodeElimination", before.at(-1) ?? ""]);
      // The focus went along, so the next press moves the same row.
      await lab.page.keyboard.press("Alt+ArrowUp");
      await eventually(async () => (await names()).indexOf("DeadCodeElimination"), 2);
      await lab.button("Edit FuseOps").click();
      await lab.page.getByText("What it does").click();
      await lab.page.getByText("Each operator has a pattern").waitFor();
      const call = lab.page.getByRole("textbox", { name: "Call" });
      await call.fill("FuseOps(fuse_opt_level=");
      await lab.page.getByText("“)” is missing").waitFor();
      await call.fill("FuseOps(fuse_opt_level=0)");
      await lab.page.keyboard.press("Enter");
      await lab.page.getByText("(fuse_opt_level=0)").waitFor();
      await lab.pass("DeadCodeElimination").focus();
      await lab.page.keyboard.press("Delete");
      await eventually(names, before);
    }));

  test("a pass is dragged to another place", () =>
    withPage({}, async (lab) => {
      const boxes = lab.page.getByRole("list", { name: "Passes" }).getByRole("checkbox");
      const names = () =>
        boxes.evaluateAll((list) => list.map((box) => box.getAttribute("aria-label")));
      const [first, second, ...rest] = await names();
      const from = await lab.page.locator(".grip").nth(0).boundingBox();
      const to = await lab.page.locator(".grip").nth(1).boundingBox();
      if (!from || !to) throw new Error("no grips");
      await lab.page.mouse.move(from.x + 6, from.y + from.height / 2);
      await lab.page.mouse.down();
      await lab.page.mouse.move(to.x + 6, to.y + to.height - 2, { steps: 4 });
      await lab.page.mouse.up();
      await eventually(names, [second, first, ...rest]);
    }));

  test("a preset brings its passes and its level", () =>
    withPage({}, async (lab) => {
      const choice = lab.page.getByRole("combobox", { name: "Pipeline" });
      await eventually(() => choice.isEnabled(), true);
      const titles = await choice.locator("option").allTextContents();
      const preset = titles.find((title) => /O4|4/.test(title)) ?? titles.at(-1) ?? "";
      await choice.selectOption({ label: preset });
      await eventually(() => lab.passes.count().then((count) => count > 3), true);
      await eventually(
        () => lab.page.getByRole("radio", { checked: true }).getAttribute("value"),
        /4/,
      );
    }));

  test("instruments print into their log", () =>
    withPage({}, async (lab) => {
      expect(await lab.page.getByRole("log", { name: "Instruments" }).count()).toBe(0);
      await lab.page.getByText("Context", { exact: true }).click();
      await lab.page.getByRole("checkbox", { name: "PrintAfterAll" }).check();
      await lab.page.getByRole("log", { name: "Instruments" }).getByText("@main").first().waitFor();
    }));
});

describe("looking", () => {
  test("every view of a step shows that step", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.step(/^FuseOps changed/).click();
      await lab.region("Diff").getByText("Primitive=1").first().waitFor();
      await lab.tab("Before/After").click();
      await lab.region("After").getByText("Primitive=1").first().waitFor();
      expect(await lab.region("Before").getByText("Primitive=1").count()).toBe(0);
      await lab.tab("Timing").click();
      await lab.region("Timing").getByRole("rowheader", { name: "FuseOps" }).waitFor();
      await lab.tab("Values").click();
      await lab.button("Evaluate").click();
      await lab.region("Values").getByText("✓ all elements are equal").waitFor();
    }));

  test("the diff is unified or side by side, with signs", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.step(/^FoldConstant changed/).click();
      const diff = lab.region("Diff");
      await diff.getByText("-", { exact: true }).first().waitFor();
      await diff.getByText("+", { exact: true }).first().waitFor();
      await lab.button("Side by side").click();
      await diff.locator(".half").first().waitFor();
    }));

  test("side by side every line is broken, also where lines are not to be: none hides behind the other half", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.step(/^FoldConstant changed/).click();
      const wrap = lab.button("Wrap");
      await wrap.click();
      await lab.button("Side by side").click();
      const half = lab.region("Diff").locator(".half").first();
      await half.waitFor();
      expect(await wrap.count()).toBe(0);
      const lines = lab.region("Diff").locator(".lines");
      expect(await lines.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
      await lab.button("Side by side").click();
      await wrap.waitFor();
    }));

  test("what is folded opens", () =>
    withPage({}, async (lab) => {
      await lab.example("ResNet-18");
      await lab.step(/^FuseOps changed/).click();
      const fold = lab
        .region("Diff")
        .getByRole("button", { name: /unchanged lines|more characters/ })
        .first();
      const words = (await fold.textContent()) ?? "";
      await fold.click();
      await eventually(() => lab.region("Diff").getByText(words, { exact: true }).count(), 0);
    }));

  test("of a long diff only what is visible is in the document, and of the steps beside it no more", () =>
    withPage({}, async (lab) => {
      await lab.example("ResNet-18");
      await lab.step(/^FuseOps changed/).click();
      await eventually(
        () =>
          lab
            .region("Diff")
            .locator(".lines-all")
            .evaluate((node) => node.clientHeight > 2000),
        true,
      );
      const sheets = lab.region("Diff").locator(".lines-window");
      // The sheets laid out ahead are covered; waits for them, because without them the test checks nothing.
      await eventually(() => sheets.count(), 3);
      for (const sheet of await sheets.all()) {
        expect(await sheet.locator(".line").count()).toBeLessThan(100);
      }
      expect(await lab.region("Diff").locator(".lines-window:not(.covered)").count()).toBe(1);
    }));
});

/** The other views of a step besides the diff: a followed expression, the graph. */
import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, SMALL, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

test("an expression of any version leads to its source line and through the steps, in text and graph", () =>
  stage.withPage({}, async (lab) => {
    const { page } = lab;
    // By keyboard: the text, its first change, its present form.
    await page.keyboard.press("b");
    await page.keyboard.press("Enter");
    const history = lab.region("History of an expression");
    await history.getByRole("button", { name: /from line \d+ of the program/ }).waitFor();
    const steps = history.getByRole("list", { name: "What each step did with it" });
    await eventually(() => page.locator(".cm-content .followed").count(), 1);
    await steps.getByRole("button", { name: /^Program source/ }).click();
    await eventually(() => steps.locator('[aria-current="step"]').count(), 1);
    await page.keyboard.press("Escape");

    await page.keyboard.press("g");
    const graph = page.getByRole("application", { name: /^Graph of the program, \d+ nodes$/ });
    await graph.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await history.waitFor();
    // Going on to another step moves nothing.
    const places = () =>
      page
        .locator(".graph-view .node:not(.removed)", { hasText: "nn.relu" })
        .evaluateAll((nodes) => nodes.map((node) => node.getAttribute("transform")).sort());
    await lab.step(/^FuseOps changed/).click();
    const before = await places();
    await page.keyboard.press("p");
    await eventually(() => lab.selectedName(), /^(?!FuseOps).* changed/);
    expect(await places()).toEqual(before);
    await lab.button("As a table").click();
    const table = page.getByRole("treegrid", { name: "Graph of the program" });
    await table.getByRole("row", { name: /^@main/ }).press("ArrowLeft");
    await eventually(() => table.getByRole("row").count(), 2);
  }));

test("a graph of thousands of nodes is drawn when that is asked for", () =>
  stage.withPage({}, async (lab) => {
    const calls = Array.from({ length: 3000 }, (_, i) => `  %${i + 1} = negative(%${i});`);
    const chain = ["  %0 = negative(%x);", ...calls, "  %3000"].join("\n");
    await lab.write(`#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {\n${chain}\n}\n`);
    await lab.tab("Graph").click();
    await lab.region("Graph").getByText("This graph has 3,0").waitFor();
    const graph = lab.page.getByRole("application", {
      name: /^Graph of the program, 3,?0\d\d nodes$/,
    });
    expect(await graph.count()).toBe(0);
    await lab.button("Draw it").click();
    await graph.waitFor();
    // Only what is in sight has elements.
    const drawn = await graph.locator(".node").count();
    expect(drawn).toBeGreaterThan(3);
    expect(drawn).toBeLessThan(1000);
  }));

test("every variable is followed by keyboard, and its type is said", () =>
  stage.withPage({}, async (lab) => {
    const { page } = lab;
    const program = `@I.ir_module
class Module:
    @R.function
    def main(y: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        with R.dataflow():
            weights = R.add(y, y)
            out = R.nn.relu(weights)
            R.output(out)
        return out
`;
    const link = deflateSync(`// passlab 1\n// pass: CanonicalizeBindings()\n${program}`).toString(
      "base64url",
    );
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `1.${link}`);
    await page.keyboard.press("Escape");
    await page.keyboard.press("2");
    const lines = page.getByRole("group", { name: "Program before the step" });
    await lines.locator("code", { hasText: "nn.relu(weights" }).first().waitFor();
    await lines.focus();
    const cursor = lines.locator(".cursor");
    const row = await lines.locator("code", { hasText: "nn.relu(weights" }).first().boundingBox();
    await page.keyboard.press("Home");
    for (let count = 0; count < 40; count++) {
      const at = await cursor.boundingBox();
      if (at && row && Math.abs(at.y - row.y) < 10) break;
      await page.keyboard.press("ArrowDown");
    }
    await eventually(async () => {
      await page.keyboard.press("ArrowRight");
      return (await cursor.textContent()) ?? "";
    }, /^weights: R\.Tensor\(\(n, 4\)/);
    await page.keyboard.press("Enter");
    await lab
      .region("History of an expression")
      .getByText("add", { exact: true })
      .first()
      .waitFor();
  }));

test("what tells about an expression opens below and covers nothing of its line", () =>
  stage.withPage({}, async (lab) => {
    const { page } = lab;
    await lab.example("LSTM cell");
    const lines = page.locator(".lines");
    const call = lines.locator("code", { hasText: "split(" }).first();
    await call.waitFor({ state: "attached" });
    // Its first row is the last one that will be seen.
    await call.evaluate((row) => {
      const scroller = row.closest(".lines");
      if (!scroller) return;
      const [y, top] = [row.getBoundingClientRect().y, scroller.getBoundingClientRect().y];
      scroller.scrollTop += y - top - scroller.clientHeight + 40;
    });
    await call.click();
    await lab.region("History of an expression").waitFor();
    const covered = async () => {
      const marked = await lines.locator(".marked").last().boundingBox();
      const seen = await lines.boundingBox();
      return marked && seen ? marked.y + marked.height > seen.y + seen.height + 1 : null;
    };
    await eventually(covered, false);
    await page.waitForTimeout(300);
    expect(await covered()).toBe(false);
  }));

test("a step is gone through rewrite by rewrite, its result becomes the program, and levels stand side by side", () =>
  stage.withPage({}, async (lab) => {
    const { page } = lab;
    await lab.step(/^SimplifyInference changed/).click();
    await page.keyboard.press("r");
    const slider = lab.region("Rewrites").getByRole("slider", { name: /^Rewrites done/ });
    const most = Number(await slider.getAttribute("max"));
    expect(most).toBeGreaterThan(1);
    const changed = () => lab.region("Diff").locator(".counts").innerText();
    const whole = await changed();
    await page.keyboard.press("h");
    await eventually(() => slider.inputValue(), String(most - 1));
    await eventually(async () => (await changed()) !== whole, true);
    await page.keyboard.press("l");
    await eventually(changed, whole);

    await page.keyboard.press("/");
    await page.keyboard.type("fuse");
    // The selected step stays in the list.
    await eventually(() => lab.steps.count(), 2);
    await page.keyboard.press("Escape");

    await page.keyboard.press("o");
    const matrix = page.getByRole("dialog", { name: "Passes by opt level" });
    await matrix
      .getByRole("status")
      .filter({ hasText: /first differ after \w+/ })
      .waitFor();
    const row = matrix.getByRole("row", { name: /^EliminateCommonSubexpr/ });
    await eventually(() => row.getByRole("cell").first().innerText(), /skipped/);
    await matrix.getByRole("button", { name: "Step by step" }).click();
    const beside = page.getByRole("dialog", { name: "Two lists, step by step" });
    await beside
      .getByRole("status")
      .filter({ hasText: /^They first differ after / })
      .waitFor();
    await beside.getByRole("group", { name: "Difference of the two programs" }).waitFor();
    const other = beside.getByRole("combobox", { name: "with" });
    await other.selectOption({ label: "relay.build at O3" });
    await beside
      .getByRole("cell", { name: /CanonicalizeCast/ })
      .first()
      .waitFor();
    await other.selectOption({ label: "From a link or a reproducer…" });
    const list =
      '// passlab 1\n// run: FoldConstant\n// opt-level: 2\n#[version = "0.0.5"]\ndef @main() { 1f }\n';
    await beside.getByRole("textbox", { name: "Link or reproducer" }).fill(list);
    await beside.getByRole("button", { name: "Take its passes" }).click();
    await eventually(() => beside.getByRole("columnheader").nth(2).innerText(), "The other list");
    await page.keyboard.press("Escape");

    await lab.step(/^SimplifyInference changed/).click();
    await lab.button("Fork here").click();
    await eventually(async () => (await lab.source()).includes("batch_norm"), false);
    await eventually(() => lab.passes.count(), 3);
    await lab.button("Undo").click();
    await eventually(() => lab.source(), /batch_norm/);

    // The parent goes along in the link.
    await lab.step(/^SimplifyInference changed/).click();
    await lab.button("Fork here").click();
    await lab.button("Share").click();
    await eventually(() => page.url(), /#2\./);
    await page.reload();
    await lab.settled();
    await lab.button("Back to its program").click();
    await eventually(() => lab.source(), /batch_norm/);
    await eventually(() => lab.passes.count(), 4);
  }));

test("one's own passes are run at every level, too, and levels that cannot be run are not called the same", () =>
  stage.withPage({}, async (lab) => {
    const { page } = lab;
    await lab.example("Two convolutions to fuse (Relax)");
    await lab.step(/^FuseTwoConv changed/).waitFor();
    await page.keyboard.press("o");
    const matrix = page.getByRole("dialog", { name: "Passes by opt level" });
    const row = matrix.getByRole("row", { name: /^FuseTwoConv/ });
    await eventually(() => row.getByRole("cell").nth(3).innerText(), /changed/);
    await matrix
      .getByRole("status")
      .filter({ hasText: /end with the same program|first differ after/ })
      .waitFor();
    await matrix.getByRole("button", { name: "Step by step" }).click();
    const beside = page.getByRole("dialog", { name: "Two lists, step by step" });
    await beside
      .getByRole("row", { name: /differs? .*FuseTwoConv changed.*FuseTwoConv skipped/ })
      .waitFor();
    await page.keyboard.press("Escape");
    await lab.write("def @main(");
    await page.keyboard.press("Escape");
    await page.keyboard.press("o");
    await matrix.getByRole("status").filter({ hasText: "Level 3: It cannot be run." }).waitFor();
  }));

test("values stand in tables and heat maps, on inputs that are typed, also of one expression; dominators and phases", () =>
  stage.withPage({}, async (lab) => {
    const { page } = lab;
    await lab.write(SMALL);
    await lab.step(/^FuseOps changed/).click();
    await page.keyboard.press("3");
    const values = lab.region("Values");
    await values.getByRole("button", { name: "Evaluate" }).click();
    await values.getByText("✓ all elements are equal").waitFor();
    await values.getByText("Inputs", { exact: true }).click();
    const typed = values.getByRole("textbox", { name: /^%x/ });
    await typed.fill("1 2 3");
    await values.getByText("3 numbers were given, 6 are wanted (or one for all).").waitFor();
    await typed.fill("[[1, 2, 3], [-1, 0, 4]]");
    await values.getByRole("button", { name: "Evaluate" }).click();
    // relu(x * (2 + 3)).
    const table = values.getByRole("group", { name: "Elements of result" }).last();
    await eventually(
      async () => (await table.getByRole("cell").allInnerTexts()).filter(Boolean).join(" "),
      "5 10 15 0 0 20",
    );
    await values.getByRole("radio", { name: "Heat maps" }).check({ force: true });
    await values
      .getByRole("img", { name: /^Heat map of result: 2 rows, 3 columns, from 0/ })
      .last()
      .waitFor();

    await lab.tab("Diff").click();
    await page
      .locator(".lines code", { hasText: "multiply" })
      .first()
      .getByText("multiply")
      .click();
    const history = lab.region("History of an expression");
    await history.getByRole("button", { name: "Evaluate @main" }).click();
    await history.getByText("least −5 at [1, 0], most 20 at [1, 2]").waitFor();
    await history.getByRole("button", { name: "Close the history" }).click();

    await page.keyboard.press("g");
    await lab.button("Dominators").click();
    await lab.button("As a table").click();
    const row = page.getByRole("treegrid").getByRole("row", { name: /^multiply Tensor/ });
    await eventually(() => row.getByRole("gridcell").nth(3).innerText(), "nn.relu");

    await lab.button("Phases").click();
    const phases = page.getByRole("group", { name: "Phases" });
    await phases.getByRole("button", { name: /^Simplification/ }).click();
    await eventually(() => lab.selectedName(), /^FoldConstant changed/);
    // Folded, a phase shows the selected step alone; the keys go on through all of them.
    const fold = phases.getByRole("button", { name: "Passes of Simplification" });
    const shown = () => page.getByRole("listbox", { name: "Steps" }).getByRole("option").count();
    const all = await shown();
    await fold.click();
    expect(await fold.getAttribute("aria-expanded")).toBe("false");
    await eventually(() => lab.selectedName(), /^FoldConstant changed/);
    expect(await shown()).toBeLessThan(all);
    await page.keyboard.press("n");
    await eventually(() => lab.selectedName(), /^InferType changed, nested/);
    await fold.click();
    await eventually(shown, all);
  }));

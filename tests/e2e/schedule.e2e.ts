/** Schedules: loops as a picture, what is done to them with the pointer or the keys, and what it costs. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, type Lab, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const tab = (lab: Lab) => lab.page.getByRole("tab", { name: "Schedule" });
const nest = (lab: Lab) => lab.page.getByRole("tree", { name: "Loop nest" });
const loop = (lab: Lab, name: RegExp) => nest(lab).getByRole("treeitem", { name });
const offers = (lab: Lab, of: string) => lab.region(`What can be done to ${of}`);
const instructions = (lab: Lab) =>
  lab.page.getByRole("list", { name: "Instructions" }).getByRole("listitem");

test("a loop is split and vectorised by clicks, which write themselves into the pass Schedule", () =>
  stage.withPage({}, async (lab) => {
    const { page } = lab;
    await lab.example("Matrix product, tiled (TIR)");
    await eventually(() => instructions(lab).count(), 9);
    await page.getByText("As text").click();
    await page.getByRole("textbox", { name: "Trace" }).fill("");
    await page.keyboard.press("Tab");
    await eventually(() => instructions(lab).count(), 0);
    await loop(lab, /^loop j, 128 iterations, serial/).click();
    await offers(lab, "loop j").getByRole("button", { name: "split…" }).click();
    await page.getByRole("textbox", { name: "factors" }).fill("None, 4");
    await page.getByRole("button", { name: "Apply split" }).click();
    await loop(lab, /^loop j_1, 4 iterations, serial, made/).click();
    // The engine knows beforehand: a sum is no vector.
    await offers(lab, "loop j_1").getByRole("button", { name: "vectorize" }).click();
    await loop(lab, /^loop j_1, 4 iterations, vectorized/).waitFor();
    await loop(lab, /^loop k, 128 iterations/).click();
    await offers(lab, "loop k")
      .getByText(/cannot be done, and why/)
      .click();
    await offers(lab, "loop k")
      .getByText(/can only be bound to data-parallel block iters/)
      .first()
      .waitFor();
    expect(await lab.passes.count()).toBe(1);
    await eventually(() => instructions(lab).count(), 4);
    // Each instruction is a step.
    await lab.step(/^vectorize changed/).waitFor();
    await lab.step(/^split changed/).click();
    await loop(lab, /^loop j_1, 4 iterations, serial, made/).waitFor();
  }));

test("instructions are dragged, switched off, moved and edited by keyboard, and a wrong one says why", () =>
  stage.withPage({}, async (lab) => {
    const { page } = lab;
    await lab.example("Matrix product, tiled (TIR)");
    await loop(lab, /^loop i_0, 16 iterations, parallel/).waitFor();
    const all = instructions(lab);
    await eventually(() => all.count(), 9);
    const last = async () => (await all.allTextContents())[8];
    await eventually(last, /decompose_reduction/);
    await all.nth(8).dragTo(all.nth(7));
    await eventually(last, /parallel/);
    await all.nth(8).dragTo(all.nth(7));
    await eventually(last, /decompose_reduction/);
    await page.getByRole("checkbox", { name: /^Apply sch.vectorize/ }).uncheck();
    await loop(lab, /^loop j_1, 8 iterations, serial/).waitFor();
    const parallel = page.getByRole("button", { name: /^sch.parallel/, exact: false }).first();
    await parallel.focus();
    await page.keyboard.press("Alt+ArrowUp");
    await eventually(async () => (await all.allTextContents())[6], /parallel/);
    await page.keyboard.press("F2");
    await page
      .getByRole("combobox", { name: "Instruction", exact: true })
      .fill("sch.parallel(loop=l9)");
    await page.keyboard.press("Enter");
    await lab.step(/^parallel failed/).waitFor();
    await lab
      .region("Schedule")
      .getByRole("alert")
      .getByText(/ScheduleError/)
      .waitFor();
  }));

test("an instruction is typed behind the others, and one that TVM has no longer is refused with its reason", () =>
  stage.withPage({}, async (lab) => {
    const { page } = lab;
    await lab.example("Matrix product, tiled (TIR)");
    await eventually(() => instructions(lab).count(), 9);
    await page.getByRole("combobox", { name: "New instruction" }).fill('sch.annotate(b10, "k", 1)');
    await page.keyboard.press("Enter");
    await eventually(() => instructions(lab).count(), 10);
    await lab.step(/^annotate changed/).waitFor();
    await nest(lab)
      .getByRole("treeitem", { name: /^block C_update/ })
      .click();
    const block = offers(lab, "block C_update");
    await block.getByRole("button", { name: "unsafe_hide_buffer_access…" }).waitFor();
    await block.getByText(/cannot be done, and why/).click();
    await block.getByText(/TVM 0.27 has no set_axis_separator/).waitFor();
  }));

test("each step is run on the same inputs and counted; a cache with longer lines has fewer misses", () =>
  stage.withPage({}, async (lab) => {
    const { page } = lab;
    await lab.example("Rows on a GPU (TIR)");
    await loop(lab, /^loop i, 64 iterations, thread blockIdx\.x/).waitFor();
    const costs = lab.region("Cost and check");
    await costs.getByRole("button", { name: "Run and count" }).click();
    const rows = costs.getByRole("row");
    await eventually(() => rows.filter({ hasText: "= equal" }).count(), 7);
    const misses = async () => (await rows.nth(1).getByRole("cell").nth(3).textContent()) ?? "";
    const before = await misses();
    await page.getByRole("spinbutton", { name: "Line, bytes" }).fill("128");
    await page.keyboard.press("Tab");
    await eventually(async () => (await misses()) !== before && (await misses()) !== "", true);
  }));

test("the picture is walked through by keyboard, the text shows where one is, on a narrow screen", () =>
  stage.withVisible({ viewport: { width: 390, height: 800 } }, async (lab) => {
    const { page } = lab;
    await lab.example("Convolution with its epilogue (TIR)");
    await page.getByRole("tab", { name: "Result" }).click();
    await tab(lab).click();
    await nest(lab).getByRole("treeitem").first().waitFor();
    await nest(lab).locator('[tabindex="0"]').focus();
    await page.keyboard.press("End");
    await eventually(() => nest(lab).getByRole("treeitem", { selected: true }).count(), 1);
    await eventually(() => page.locator(".nest-text .chosen").count(), 1);
    await page.keyboard.press("ArrowLeft");
    await eventually(
      async () => (await nest(lab).getByRole("treeitem", { selected: true }).ariaSnapshot()) ?? "",
      /block relu/,
    );
    // Nothing is wider than the screen.
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
  }));

test("an example that is opened after a schedule or a script has passes of its own", () =>
  stage.withPage({}, async (lab) => {
    await lab.example("Matrix product, tiled (TIR)");
    await eventually(() => instructions(lab).count(), 9);
    await lab.example("Two convolutions (Relax)");
    await lab.step(/^DeadCodeElimination changed/).waitFor();
    expect(await lab.tab("Diff").getAttribute("aria-selected")).toBe("true");
    expect(await lab.problems.getByRole("listitem").count()).toBe(0);
    // The same holds for a script's pass: its dialect is that of the program that it came with.
    await lab.example("Two convolutions to fuse (Relax)");
    await lab.step(/^FuseTwoConv changed/).waitFor();
    await lab.example("Diamond");
    await lab.step(/^FuseOps changed/).waitFor();
    expect(await lab.problems.getByRole("listitem").count()).toBe(0);
  }));

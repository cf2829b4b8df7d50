/** Steps checked by running them, the culprit found, the program made small. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, SMALL, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const withPage: Stage["withPage"] = (...given) => stage.withPage(...given);

describe("trust", () => {
  test("every step that changed the program is checked and marked, and listed by what was found", () =>
    withPage({}, async ({ page }) => {
      const toggle = page.getByRole("button", { name: "Check by running" });
      await toggle.click();
      expect(await toggle.getAttribute("aria-pressed")).toBe("true");
      const equal = page.getByRole("button", { name: /^= \d+ equal/ });
      await equal.waitFor();
      await eventually(() => page.getByText(/steps? checked/).count(), 1);
      const steps = page.getByRole("option", { name: /changed.*, equal/ });
      expect(await steps.count()).toBeGreaterThan(0);
      await equal.click();
      await eventually(() => page.getByRole("option", { name: /skipped|no change$/ }).count(), 0);
      await toggle.click();
      await eventually(() => page.getByRole("option", { name: /, equal/ }).count(), 0);
    }));

  test("the step after which a property is lost is found and shown", () =>
    withPage({}, async (lab) => {
      const { page } = lab;
      await page.getByRole("button", { name: "Find the culprit" }).click();
      const sheet = page.getByRole("dialog", { name: "Find the culprit" });
      await sheet.getByText("The property holds after every step.").waitFor();
      await sheet.getByRole("combobox", { name: "Property" }).fill("not:contains:Primitive");
      await sheet.getByRole("button", { name: "Search" }).click();
      const culprit = sheet.getByRole("region", { name: "Culprit" });
      await eventually(() => culprit.innerText(), /^FuseOps.*Primitive/s);
      await culprit.getByRole("button", { name: "Show the step" }).click();
      await eventually(() => lab.selectedName(), /^FuseOps/);
      await page.getByRole("button", { name: "Find the culprit" }).click();
      await sheet.getByRole("combobox", { name: "Property" }).fill("nonsense");
      await sheet.getByRole("button", { name: "Search" }).click();
      await sheet.getByText("there is no property nonsense").waitFor();
    }));

  test("the program is made small and opened", () =>
    withPage({}, async (lab) => {
      const { page } = lab;
      await page.getByRole("button", { name: "Reduce" }).click();
      const sheet = page.getByRole("dialog", { name: "Find the culprit" });
      await sheet.getByText(/nothing to reduce/).waitFor();
      await sheet.getByRole("combobox", { name: "Property" }).fill("not:contains:Primitive");
      await sheet.getByRole("button", { name: "Make it small" }).click();
      await sheet.getByText(/it gets no smaller/).waitFor();
      const small = sheet.getByRole("region", { name: "Smallest program" });
      expect(await small.innerText()).toMatch(/Passes: FuseOps/);
      await small.getByRole("button", { name: "Open it" }).click();
      await eventually(
        () => page.getByRole("list", { name: "Passes" }).getByRole("checkbox").count(),
        1,
      );
    }));

  test("a check is stopped by the switch, and the page goes on", () =>
    withPage({}, async (lab) => {
      await lab.example("ResNet-18");
      await lab.step(/^FuseOps changed/).waitFor();
      const toggle = lab.button("Check by running");
      await toggle.click();
      await lab.page.getByText(/^\d+ steps? to check$/).waitFor();
      await toggle.click();
      await eventually(() => lab.page.getByRole("option", { name: /, equal/ }).count(), 0);
      await lab.pass("FuseOps").uncheck();
      await eventually(() => lab.step(/^FuseOps/).count(), 0);
    }));

  test("a search and a reduction are stopped, with the best so far", () =>
    withPage({}, async (lab) => {
      const { page } = lab;
      await lab.example("ResNet-18");
      await lab.step(/^FuseOps changed/).waitFor();
      // It is clicked as soon as it can be and an element is there: a moment later all may be done.
      const stopAt = (selector: string) =>
        page.evaluate((there) => {
          new MutationObserver((_, watching) => {
            const buttons = [...document.querySelectorAll("button")];
            const stop = buttons.find((button) => button.textContent === "Stop");
            if (!stop || !document.querySelector(there)) return;
            watching.disconnect();
            stop.click();
          }).observe(document.body, { childList: true, subtree: true });
        }, selector);
      const sheet = page.getByRole("dialog", { name: "Find the culprit" });
      await stopAt("[role=dialog], dialog");
      await lab.button("Find the culprit").click();
      await sheet.getByText("Stopped.").waitFor();
      expect(await sheet.getByRole("button", { name: "Stop" }).count()).toBe(0);
      await sheet.getByRole("combobox", { name: "Property" }).fill("not:contains:Primitive");
      await stopAt("[aria-label='Smallest program']");
      await sheet.getByRole("button", { name: "Make it small" }).click();
      await sheet.getByText("Stopped; this is the best so far.").waitFor();
      await sheet.getByRole("button", { name: "Open it" }).click();
      await eventually(() => lab.source(), /def @main/);
    }));

  test("a bug report has all that an issue needs, copied and saved", () =>
    withPage({}, async (lab) => {
      const { page } = lab;
      await lab.write(SMALL);
      await lab.step(/^FuseOps changed/).waitFor();
      await lab.button("Reduce").click();
      const sheet = page.getByRole("dialog", { name: "Find the culprit" });
      await sheet.getByText(/nothing to reduce/).waitFor();
      await sheet.getByRole("combobox", { name: "Property" }).fill("not:contains:Primitive");
      await sheet.getByRole("button", { name: "Make it small" }).click();
      await sheet.getByText(/it gets no smaller/).waitFor();
      await sheet.getByRole("button", { name: "Copy bug report" }).click();
      await sheet.getByText("Bug report copied.").waitFor();
      const report = await page.evaluate(() => navigator.clipboard.readText());
      for (const part of [
        /\*\*FuseOps\*\*.* loses this property/,
        /```\nnot:contains:Primitive/,
        /\[Reproducer: FuseOps\]\(http:[^)]*#2\./,
        /passlab \d+\.\d+.*TVM 0\.19.*TVM 0\.27/,
        /Passes, at opt level \d:\n\n```\nFuseOps/,
        /Program:\n\n```\n#\[version/,
        /The same with TVM:\n\n```python\n[\s\S]*import tvm[\s\S]*FuseOps/,
      ])
        expect(report).toMatch(part);
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        sheet.getByRole("button", { name: "Save bug report" }).click(),
      ]);
      expect(file.suggestedFilename()).toBe("bug-report.md");
      expect(await readFile(await file.path(), "utf8")).toBe(report);
      // The link shows it again.
      const link = /\((http:[^)]*)\)/.exec(report)?.[1] ?? "";
      const other = await page.context().newPage();
      await other.goto(link);
      await other.getByRole("option", { name: /^FuseOps changed/ }).waitFor();
    }));

  const WRONG = {
    JavaScript: `class Wrong extends ExprMutator {
  visitCall(old) {
    const made = super.visitCall(old);
    return made.op === op("nn.relu").op ? relay.negative(made.args[0]) : made;
  }
}
functionPass({ name: "Wrong", optLevel: 0 }, (func) => new Wrong().visit(func));
`,
    Python: `import tvm
from tvm import relax
from tvm.script import ir as I, relax as R

@I.ir_module
class Library:
    @R.function
    def helper(x: R.Tensor((2, 3), "float32")):
        return R.exp(R.add(x, x))

RELU = tvm.ir.Op.get("relax.nn.relu")
TYPE = relax.TensorType((2, 3), "float32")
ONE = relax.const(1.0, "float32")

@relax.expr_functor.mutator
class Mutator(relax.PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op == RELU and tvm.ir.structural_equal(call.ty, TYPE):
            return relax.op.subtract(ONE, call.args[0])
        return call

@tvm.transform.module_pass(opt_level=0, name="Wrong")
class Wrong:
    def transform_module(self, mod, ctx):
        mutator = Mutator(mod)
        mutator.builder_.add_func(Library["helper"].without_attr("global_symbol"), "helper")
        for var, func in mod.functions_items():
            if isinstance(func, relax.Function):
                mutator.builder_.update_func(var, mutator.visit_expr(func))
        return mutator.builder_.get()
`,
  };
  const RELAX = `from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            lv = R.exp(x)
            lv1 = R.nn.relu(lv)
            gv = R.add(lv1, lv)
            R.output(gv)
        return gv
`;
  test.each([
    ["JavaScript", SMALL],
    ["Python", RELAX],
  ] as const)(
    "a wrong pass in %s is found, and its program is made small with the script",
    (language, program) =>
      withPage({}, async (lab) => {
        const { page } = lab;
        const rows = page.getByRole("list", { name: "Passes" }).getByRole("checkbox");
        if (language === "Python") {
          await lab.example("Two convolutions (Relax)");
          await lab.step(/^DeadCodeElimination changed/).waitFor();
        }
        for (const row of await rows.all()) await row.uncheck();
        await lab.write(program);
        await lab.writeScript(WRONG[language]);
        await lab.patience(30);
        await lab.button("Add Wrong").click({ timeout: 40_000 });
        await lab.step(/^Wrong changed/).waitFor({ timeout: 40_000 });
        await lab.button("Find the culprit").click();
        const sheet = page.getByRole("dialog", { name: "Find the culprit" });
        const culprit = sheet.getByRole("region", { name: "Culprit" });
        await culprit.waitFor({ timeout: 50_000 });
        expect(await culprit.innerText()).toMatch(/^Wrong/);
        await sheet.getByRole("button", { name: "Make it small" }).click();
        await sheet.getByText(/it gets no smaller/).waitFor({ timeout: 50_000 });
        const small = sheet.getByRole("region", { name: "Smallest program" });
        expect(await small.innerText()).toMatch(/Passes: Wrong/);
        expect(await small.innerText()).toMatch(/relu/);
        expect(await small.innerText()).not.toMatch(/= R\.(exp|add)/);
        await small.getByRole("button", { name: "Open it" }).click();
        await eventually(() => rows.count(), 1);
        expect(await lab.written()).toContain("Wrong");
      }),
    120_000,
  );
});

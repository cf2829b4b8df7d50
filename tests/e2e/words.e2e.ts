/** Help with writing: typed completion and explanations, in scripts and programs; a click that mends a misspelt name. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Lab, SMALL, type Stage, setUp } from "./browser";

let stage: Stage;
beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage.close());

const choices = (lab: Lab) => lab.page.getByRole("listbox", { name: "Completions" });

describe("what can be written", () => {
  test("behind a dot stands what the type of the name has, and a hook is written out", () =>
    stage.withPage({}, async (lab) => {
      await lab.writeScript("class A extends ExprMutator {\n  visitCall(it) {\n    it");
      await lab.page.keyboard.type(".");
      await choices(lab).getByRole("option", { name: /^args/ }).waitFor();
      await choices(lab).getByRole("option", { name: /^op/ }).first().waitFor();
      expect(
        await choices(lab)
          .getByRole("option", { name: /^trueBranch/ })
          .count(),
      ).toBe(0);
      await lab.writeScript("class A extends ExprMutator {\n  ");
      await lab.page.keyboard.type("visitIf");
      await choices(lab)
        .getByRole("option", { name: /with its body/ })
        .first()
        .waitFor();
      await lab.page.waitForTimeout(300);
      await lab.page.keyboard.press("Enter");
      await eventually(
        () => lab.written(),
        /visitIf\(op\) \{\n.*super\.visitIf\(op\);\n.*return post;/,
      );
    }));

  test("the API is read beside the script, and searched", () =>
    stage.withPage({}, async (lab) => {
      await lab.tab("My passes").click();
      await lab.button("API").click();
      const api = lab.page.getByRole("region", { name: "API" });
      await api.getByRole("searchbox", { name: "Search in the API" }).fill("postOrderRewrite");
      await api.getByText("parts before wholes", { exact: false }).first().waitFor();
      await lab.page.keyboard.press("Escape");
      await eventually(() => api.count(), 0);
    }));

  test("operators of a program are completed and explained", () =>
    stage.withPage({}, async (lab) => {
      await lab.write(SMALL);
      // The words come after the first screen.
      await lab.page.waitForTimeout(600);
      await lab.page.keyboard.type("nn.batch_n");
      const option = choices(lab).getByRole("option", { name: /^nn\.batch_norm/ });
      await option.waitFor();
      await lab.page.locator(".api-doc").first().waitFor();
      await lab.page.keyboard.press("Escape");
      await lab.program.getByText("nn.relu").first().hover();
      await lab.page.locator(".cm-tooltip-hover .api-doc", { hasText: "nn.relu(" }).waitFor();
    }));

  test("a pass of one's own comes behind the step that was picked, and is shown", () =>
    stage.withPage({}, async (lab) => {
      await lab
        .step(/^SimplifyInference/)
        .first()
        .click();
      await lab.writeScript('functionPass({ name: "Mine" }, (func) => func);');
      await lab.button("Add Mine").click();
      await eventually(() => lab.selectedName(), /^Mine/);
      const names = lab.page.getByRole("list", { name: "Passes" }).getByRole("checkbox");
      expect(await names.nth(1).getAttribute("aria-label")).toBe("Mine");
    }));

  test("an error of a script is listed once", () =>
    stage.withPage({}, async (lab) => {
      await lab.writeScript('functionPass({ name: "Bad" }, (func) => undefinedName(func));');
      await lab.button("Add Bad").click();
      await lab.step(/^Bad failed/).waitFor();
      await eventually(() => lab.problems.filter({ hasText: "undefinedName" }).count(), 1);
    }));

  test("a name that was perhaps meant is put there by a click, and undone", () =>
    stage.withPage({}, async (lab) => {
      await lab.write(SMALL.replace("nn.relu", "nn.rellu"));
      await lab.button("Change to nn.relu").click();
      await eventually(() => lab.source(), /nn\.relu\(/);
      await eventually(() => lab.problems.count(), 0);
    }));
});

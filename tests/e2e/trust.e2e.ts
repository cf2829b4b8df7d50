/** Steps checked by running them, the culprit found, the program made small. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Stage, setUp } from "./browser";

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
      await sheet.getByText("there is no property `nonsense`").waitFor();
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
});

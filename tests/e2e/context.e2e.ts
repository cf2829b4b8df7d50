/** The context that passes run in: required and disabled passes, configuration, instruments and their output. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Lab, SMALL, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

/** Makes a page with the small program, the pipeline that folds and fuses, and the context open. */
function withContext(body: (lab: Lab) => Promise<void>): Promise<void> {
  return stage.withPage({}, async (lab) => {
    await lab.write(SMALL);
    await lab.page
      .getByRole("combobox", { name: "Pipeline" })
      .selectOption({ label: "Fold and fuse" });
    await lab.step(/^FuseOps changed/).waitFor();
    await lab.page.getByText("Context", { exact: true }).click();
    await body(lab);
  });
}

const field = (lab: Lab, name: string) => lab.page.getByRole("textbox", { name, exact: true });
/** Types as users do, and leaves the field. */
async function fill(lab: Lab, name: string, text: string): Promise<void> {
  await field(lab, name).fill(text);
  await field(lab, name).press("Tab");
}
const log = (lab: Lab) => lab.page.getByRole("log", { name: "Instruments" });

describe("required and disabled passes", () => {
  test("a disabled pass is skipped though the level allows it", () =>
    withContext(async (lab) => {
      await fill(lab, "Disabled passes", "FoldConstant");
      await lab.step(/^FoldConstant skipped, disabled/).waitFor();
      await fill(lab, "Disabled passes", "");
      await lab.step(/^FoldConstant changed/).waitFor();
    }));

  test("a required pass runs though the level forbids it, and disabled is stronger", () =>
    withContext(async (lab) => {
      await lab.optLevel(0);
      await lab.step(/^FoldConstant skipped/).waitFor();
      await fill(lab, "Required passes", "FoldConstant");
      await lab.step(/^FoldConstant changed/).waitFor();
      await fill(lab, "Disabled passes", "FoldConstant");
      await lab.step(/^FoldConstant skipped, disabled/).waitFor();
    }));

  test("a name that no PassInfo has is pointed out", () =>
    withContext(async (lab) => {
      await fill(lab, "Disabled passes", "CombineParallelConv2D");
      await lab.page.getByText("is called “CombineParallelConv2d”").waitFor();
    }));
});

describe("configuration", () => {
  test("a key is chosen from the registry, has a field of its type, and changes what passes do", () =>
    withContext(async (lab) => {
      const add = lab.page.getByRole("combobox", { name: "Add a setting" });
      await add.fill("relay.FuseOps.max_depth");
      await add.press("Enter");
      const depth = lab.page.getByRole("spinbutton", { name: "relay.FuseOps.max_depth" });
      await eventually(() => depth.inputValue(), "256");
      await depth.fill("1");
      await depth.press("Tab");
      // Groups of one: both calls are functions of their own.
      await lab.step(/^FuseOps changed/).click();
      await eventually(
        async () => (await lab.region("Diff").textContent())?.match(/Primitive=1/g)?.length,
        2,
      );
    }));

  test("a value of the wrong type and an unknown key are told at the field, in TVM's words", () =>
    withContext(async (lab) => {
      const add = lab.page.getByRole("combobox", { name: "Add a setting" });
      await add.fill("relay.backend.tir_converter");
      await add.press("Enter");
      await fill(lab, "relay.backend.tir_converter", "None");
      await lab.page.locator(".setting .wrong", { hasText: "tir_converter is None" }).waitFor();
      await lab.button("Remove relay.backend.tir_converter").click();
      await add.fill("relay.Nosuch");
      await add.press("Enter");
      await lab.page
        .locator(".setting .wrong", { hasText: "Invalid config option 'relay.Nosuch'" })
        .waitFor();
      await lab.button("Remove relay.Nosuch").click();
      await eventually(() => lab.page.getByText("stale").count(), 0);
    }));
});

describe("instruments", () => {
  test("the log shows the calls in the order they were made", () =>
    withContext(async (lab) => {
      await lab.page.getByRole("checkbox", { name: "OpStatistics" }).check();
      // The printed text comes first; the calls on demand.
      await log(lab).getByText("operator calls before").first().waitFor();
      expect(await log(lab).getByText("should_run").count()).toBe(0);
      await lab.button("Calls").click();
      await log(lab).getByText("OpStatistics.enter_pass_ctx()").waitFor();
      await log(lab).getByText("OpStatistics.should_run(SimplifyInference)").first().waitFor();
    }));

  test("an instrument takes arguments, and they travel in a link", () =>
    withContext(async (lab) => {
      await lab.page.getByRole("checkbox", { name: "PassPrintingInstrument" }).check();
      await fill(lab, "print_after_pass_names", "FoldConstant");
      await log(lab).getByText("Print IR after: FoldConstant").waitFor();
      await lab.button("Share").click();
      await eventually(() => lab.page.url(), /#2\./);
      await lab.page.reload();
      await lab.settled();
      await log(lab).getByText("Print IR after: FoldConstant").waitFor();
    }));

  test("the dump is a zip archive with a file for each pass that ran", () =>
    withContext(async (lab) => {
      await lab.page.getByRole("checkbox", { name: "DumpIR" }).check();
      const [download] = await Promise.all([
        lab.page.waitForEvent("download"),
        lab.button("Download dump").click(),
      ]);
      expect(download.suggestedFilename()).toBe("dump.zip");
      const bytes = readFileSync(await download.path());
      expect(bytes.subarray(0, 4).toString("latin1")).toBe("PK\x03\x04");
      expect(bytes.includes("dump/000_InferType.relay")).toBe(true);
      expect(bytes.includes("fn (%p0")).toBe(true);
    }));
});

describe("what passes report", () => {
  test("a warning stands in the list of problems, and leads to its place in the program", () =>
    stage.withPage({}, async (lab) => {
      await lab.write(SMALL.replace("nn.relu(%1)", "sin(%1)"));
      await lab.page
        .getByRole("combobox", { name: "Pipeline" })
        .selectOption({ label: "Fold and fuse" });
      await lab.button("Add pass").click();
      await lab.page.getByRole("combobox", { name: /pass/i }).last().fill("ToMixedPrecision");
      await lab.page.keyboard.press("Enter");
      await lab.step(/^ToMixedPrecision changed/).waitFor();
      await eventually(() => lab.problems.first().textContent(), /ToMixedPrecision.*Op "sin"/s);
      await lab.page.locator(".cm-lintRange-warning").first().waitFor();
    }));
});

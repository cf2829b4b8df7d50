/** Programs come in as files, folders and pasted text, and never replace the user's own work without a copy. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, SMALL, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const file = (name: string, text: string) => ({
  name,
  mimeType: "text/plain",
  buffer: Buffer.from(text),
});
const REPRODUCER = `// passlab 1\n// pass: FoldConstant()\n// opt_level: 4\n${SMALL}`;
const SCRIPT = `# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.add(x, x)
        return y
`;

describe("import", () => {
  test("a reproducer is opened wherever it is pasted, and one's own program is one click away", () =>
    stage.withPage({}, async (lab) => {
      const before = await lab.source();
      await lab.page.evaluate((text) => navigator.clipboard.writeText(text), REPRODUCER);
      await lab.program.click();
      await lab.page.keyboard.press("Control+v");
      await eventually(() => lab.source(), SMALL);
      await eventually(() => lab.passes.count(), 1);
      await lab.step(/^FoldConstant changed/).waitFor();
      await lab.button("Undo").click();
      await eventually(() => lab.source(), before);
    }));

  test("a dropped program of Relax comes with passes that fit", () =>
    stage.withPage({}, async (lab) => {
      const transfer = await lab.page.evaluateHandle((text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], "mine.py"));
        return data;
      }, SCRIPT);
      await lab.page.dispatchEvent("main", "dragover", { dataTransfer: transfer });
      await lab.page.getByText("Drop a program").waitFor();
      await lab.page.dispatchEvent("main", "drop", { dataTransfer: transfer });
      await eventually(() => lab.source(), SCRIPT);
      await lab.step(/^Normalize/).waitFor();
      expect(await lab.problems.count()).toBe(0);
    }));

  test("the files of another compiler are stepped through, whatever its passes are, and travel in a link", async () => {
    let link = "";
    await stage.withPage({}, async (lab) => {
      const later = SMALL.replace("multiply(%x, %0)", "add(%x, %0)");
      await lab.page.setInputFiles('input[aria-label="Files"]', [
        file("10_Broken.relay", "def @main("),
        file("2_TheirPass.relay", later),
        file("1_InferType.relay", SMALL),
      ]);
      await lab.step(/^TheirPass changed/).click();
      await lab.region("Diff").getByText("multiply").first().waitFor();
      await lab.step(/^Broken failed/).waitFor();
      expect(await lab.passes.count()).toBe(0);
      // The dump has no times.
      expect((await lab.steps.allTextContents()).join()).not.toMatch(/\d ms/);
      await lab.tab("Timing").click();
      await lab.page.getByText("nobody said how long they took").waitFor();
      await lab.tab("Diff").click();
      await lab.button("Share").click();
      await lab.page.getByText("Link copied").waitFor();
      link = lab.page.url();
    });
    await stage.withPage(
      {},
      async (lab) => {
        await eventually(() => lab.selectedName(), /^TheirPass changed/);
        // With a pass to run, it is a program like any other.
        await lab.program.click();
        await lab.page.keyboard.press("Control+End");
        await lab.page.keyboard.insertText("// mine\n");
        await eventually(() => lab.steps.count(), 0);
      },
      link,
    );
  });
});

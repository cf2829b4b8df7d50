/** Programs come in as files, folders and pasted text, and never replace the user's own work without a copy. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { zip } from "../../www/state/zip";
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

  test("an archive of such files is opened like its folder, and a damaged one is named", () =>
    stage.withPage({}, async (lab) => {
      const archive = zip([
        { name: "1_InferType.relay", text: SMALL },
        { name: "2_TheirPass.relay", text: SMALL.replace("multiply(%x, %0)", "add(%x, %0)") },
      ]);
      const given = (name: string, bytes: Uint8Array) =>
        lab.page.setInputFiles('input[aria-label="Files"]', [
          { name, mimeType: "application/zip", buffer: Buffer.from(bytes) },
        ]);
      await given("dump.zip", archive.slice(0, 50));
      await lab.page.getByText("dump.zip cannot be opened: it is damaged.").waitFor();
      await given("dump.zip", archive);
      await lab.step(/^TheirPass changed/).waitFor();
    }));
});

describe("what people paste", () => {
  const program = (name: string, op: string) =>
    `@I.ir_module\nclass ${name}:\n    @R.function\n    def main(x: R.Tensor((n, 4), "float32")):\n        return R.${op}(x)\n`;

  test("several programs, a size from around them: one is chosen, the size is asked for", () =>
    stage.withPage({}, async (lab) => {
      await lab.write(`${program("Before", "exp")}\n${program("After", "sin")}`);
      const form = lab.page.getByRole("form", { name: "Values from around the program" });
      await form.getByRole("textbox", { name: "n" }).fill("7");
      await lab.page.keyboard.press("Enter");
      await eventually(() => form.count(), 0);
      await lab.button("Read Before").click();
      await lab.problems.getByText("Before is read").waitFor();
      // A choice replaces the one before it, and all of it stands in the text.
      await lab.button("Read After").click();
      await lab.problems.getByText("After is read").waitFor();
      expect((await lab.source()).match(/^# (pick|define): .*$/gm)).toEqual([
        "# pick: After",
        "# define: n=7",
      ]);
      await lab.button("Write it as today").click();
      await eventually(() => lab.button("Read Before").count(), 0);
      expect(await lab.source()).toMatch(/^# from tvm\.script[\s\S]*R\.sin\(x\)/);
      expect(await lab.source()).not.toContain("Before");
      // The first list was for another dialect; there is a way back.
      await lab.button("Take passes that fit").click();
      await lab.page.getByText(/\d+ steps, \d changed/).waitFor();
      await eventually(() => lab.problems.count(), 0);
      await lab.button("Undo").click();
      await lab.button("Take passes that fit").waitFor();
    }));

  test("the spelling of another year is written as today, and an undo brings it back", () =>
    stage.withPage({}, async (lab) => {
      const old = `@T.prim_func
def main(A: T.Buffer[(8,), "float32"], B: T.Buffer[(8,), "float32"]):
    for i in T.serial(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)
`;
      await lab.write(old);
      await lab.problems.getByText("is the spelling of TVM 0.24 and before").waitFor();
      await lab.button("Write it as today").last().click();
      await eventually(() => lab.source(), /with T\.sblock\("B"\):/);
      await eventually(() => lab.button("Write it as today").count(), 0);
      await lab.program.click();
      await lab.page.keyboard.press("Control+z");
      await eventually(() => lab.source(), old);
    }));
});

/** *My passes*: written, run, inspected, kept, shared; and scripts of others, which wait to be allowed. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Lab, SMALL, type Stage, setUp } from "./browser";

/** A pass that takes `tanh` in the place of `nn.relu`. */
const SWAP = `class Swap extends ExprMutator {
  visitCall(call) {
    const post = super.visitCall(call);
    console.log("seen", post.op.name);
    return post.op === op("nn.relu").op ? relay.tanh(post.args[0]) : post;
  }
}

functionPass({ name: "Swap", optLevel: 1, required: ["InferType"] }, (func) => new Swap().visit(func));
`;

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const withPage: Stage["withPage"] = (...given) => stage.withPage(...given);
const withVisible: Stage["withVisible"] = (...given) => stage.withVisible(...given);

/** Writes the script and puts its pass at the end of the list. */
async function writeSwap(lab: Lab): Promise<void> {
  await lab.write(SMALL);
  await lab.writeScript(SWAP);
  await lab.button("Add Swap").click();
  await lab.step(/^Swap/).waitFor();
}

describe("a pass is written", () => {
  test("and is a step with its diff, its time and its output", () =>
    withPage({}, async (lab) => {
      await writeSwap(lab);
      await eventually(() => lab.selectedName(), /^Swap changed/);
      await lab.region("Diff").getByText("tanh").first().waitFor();
      await lab.console.getByText("seen").first().waitFor();
      expect(await lab.pass("Swap").isChecked()).toBe(true);
      // Its opt level gates it, like any other's.
      await lab.optLevel(0);
      await lab.step(/^Swap skipped/).waitFor();
    }));

  test("and is found under Add pass, marked as one's own", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.writeScript(SWAP);
      await lab.button("Add Swap").waitFor();
      await lab.page.keyboard.press("Escape");
      await lab.button("Add pass").click();
      const filter = lab.page.getByRole("combobox", { name: "Filter passes" });
      // A pass of the other language is not unknown.
      await filter.fill("legalizeops");
      await lab.page.getByText("LegalizeOps is a pass of Relax").waitFor();
      await filter.fill("swap");
      await lab.page.getByRole("option", { name: /Swap yours/ }).waitFor();
      await lab.page.keyboard.press("Enter");
      await lab.step(/^Swap changed/).waitFor();
    }));

  test("what throws is underlined at its line, and leads there", () =>
    withPage({}, async (lab) => {
      await writeSwap(lab);
      await lab.writeScript(SWAP.replace("post.args[0]", "post.nothing.here"));
      await lab.step(/^Swap failed/).waitFor();
      const problem = lab.problems.filter({ hasText: "My passes" });
      await problem.getByText(/^5:/).waitFor();
      await lab.tab("Program").click();
      await problem.getByRole("button").click();
      await eventually(() => lab.script.evaluate((node) => node === document.activeElement), true);
      const line = lab.script.locator(".cm-line").nth(4);
      expect(await line.locator(".cm-lintRange-error").count()).toBeGreaterThan(0);
      await lab.tab("Program").click();
      expect(await lab.source()).toBe(SMALL);
    }));

  test("while it is no JavaScript, the last good result stays", () =>
    withPage({}, async (lab) => {
      await writeSwap(lab);
      await lab.step(/^Swap changed/).click();
      await lab.writeScript(SWAP.replace("super.visitCall(call);", "super.visitCall(call;"));
      await lab.problems.getByText(/^3:/).waitFor();
      await lab.page.getByText("stale").first().waitFor();
      await lab.step(/^Swap changed/).click();
      await lab.region("Diff").getByText("tanh").first().waitFor();
      await lab.writeScript(SWAP);
      await eventually(() => lab.page.getByText("stale").count(), 0);
      expect(await lab.problems.count()).toBe(0);
    }));

  test("the API is completed and explained", () =>
    withPage({}, async (lab) => {
      await lab.writeScript("");
      await lab.page.keyboard.type("class A extends ExprM");
      const choices = lab.page.getByRole("listbox", { name: "Completions" });
      await choices.getByRole("option", { name: /^ExprMutator/ }).waitFor();
      await lab.page.locator(".api-doc").first().waitFor();
      // A new list takes no Enter, which may have been meant for the text.
      await lab.page.waitForTimeout(300);
      await lab.page.keyboard.press("Enter");
      await eventually(() => lab.written(), /class A extends ExprMutator/);
      // Escape closes the list first, and leaves the editor then.
      await lab.page.keyboard.type(" { visitC");
      await choices.waitFor();
      await lab.page.keyboard.press("Escape");
      await eventually(() => choices.count(), 0);
      const inEditor = () => lab.script.evaluate((node) => node === document.activeElement);
      expect(await inEditor()).toBe(true);
      await lab.page.keyboard.press("Escape");
      await eventually(inEditor, false);
    }));

  test("a sample takes the place of the script, and gives it back", () =>
    withPage({}, async (lab) => {
      await lab.writeScript(SWAP);
      await lab.button("Add Swap").waitFor();
      await lab.page.getByRole("combobox", { name: "Sample" }).selectOption({ index: 1 });
      await eventually(async () => (await lab.written()) !== SWAP, true);
      await lab.button("Undo").click();
      await eventually(() => lab.written(), SWAP);
    }));

  test("by keyboard alone, on a phone", () =>
    withVisible({ viewport: { width: 400, height: 800 }, hasTouch: true }, async (lab) => {
      await lab.write(SMALL);
      await lab.page.keyboard.press("Escape");
      await lab.page.keyboard.press("m");
      await lab.script.waitFor();
      await eventually(() => lab.script.evaluate((node) => node === document.activeElement), true);
      await lab.page.keyboard.insertText(SWAP);
      await lab.button("Add Swap").focus();
      await lab.page.keyboard.press("Enter");
      await lab.tab("Passes").click();
      await lab.step(/^Swap changed/).waitFor();
      const overflow = await lab.page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow).toBeLessThanOrEqual(0);
    }));
});

describe("a script is kept", () => {
  test("over a reload, with its pass in the list", () =>
    withPage({}, async (lab) => {
      await writeSwap(lab);
      await lab.step(/^Swap changed/).waitFor();
      await lab.page.waitForTimeout(400);
      await lab.page.reload();
      await lab.step(/^Swap changed/).waitFor();
      await lab.tab("My passes").click();
      await eventually(() => lab.written(), SWAP);
      expect(await lab.page.getByRole("alert").count()).toBe(0);
    }));
});

describe("a script that came in a link", () => {
  async function shared(): Promise<string> {
    let link = "";
    await withPage({}, async (lab) => {
      await writeSwap(lab);
      await lab.step(/^Swap changed/).click();
      await lab.button("Share").click();
      await lab.page.getByText("Link copied").waitFor();
      link = lab.page.url();
      // The author of a script is not asked.
      await lab.page.reload();
      await lab.step(/^Swap changed/).waitFor();
      expect(await lab.page.getByRole("alert").count()).toBe(0);
    });
    return link;
  }

  test("is shown, and runs only when the user says so; then always, as long as it is that text", async () => {
    const link = await shared();
    await withPage(
      {},
      async (lab) => {
        const question = lab.page.getByRole("alert").filter({ hasText: "JavaScript" });
        await question.waitFor();
        await eventually(() => lab.written(), SWAP);
        // No part of the script to allow stands to the right of the editor.
        const scroller = lab.page.locator(".script .cm-scroller, .cm-scroller").last();
        expect(
          await scroller.evaluate((node) => node.scrollWidth - node.clientWidth),
        ).toBeLessThanOrEqual(1);
        // The rest of the document has run, and nothing of the sandbox is there.
        await lab.step(/^FuseOps/).waitFor();
        expect(await lab.step(/^Swap/).count()).toBe(0);
        expect(await lab.page.locator("iframe").count()).toBe(0);
        // An edit is no consent, and a reload asks again.
        await lab.script.click();
        await lab.page.keyboard.press("Control+End");
        await lab.page.keyboard.insertText("// read\n");
        await lab.page.waitForTimeout(800);
        expect(await lab.page.locator("iframe").count()).toBe(0);
        await lab.page.reload();
        await question.waitFor();
        await lab.button("Run").click();
        await lab.step(/^Swap changed/).waitFor();
        await eventually(() => question.count(), 0);
        // The link's own text differs from the allowed one.
        await lab.page.goto("about:blank");
        await lab.page.goto(link);
        await question.waitFor();
        await lab.button("Run").click();
        await lab.step(/^Swap changed/).waitFor();
        await lab.page.goto("about:blank");
        await lab.page.goto(link);
        await lab.step(/^Swap changed/).waitFor();
        expect(await question.count()).toBe(0);
      },
      link,
    );
  });

  test("is kept without being run, if that is what the user wants", async () => {
    const link = await shared();
    await withPage(
      {},
      async (lab) => {
        await lab.button("Keep without").click();
        await eventually(() => lab.page.getByRole("alert").count(), 0);
        await lab.page.reload();
        await lab.settled();
        expect(await lab.page.getByRole("alert").count()).toBe(0);
        expect(await lab.page.locator("iframe").count()).toBe(0);
        await lab.tab("My passes").click();
        await lab.page.getByText("came in a link and are not run").waitFor();
        await lab.button("Run them").click();
        await lab.step(/^Swap changed/).waitFor();
      },
      link,
    );
  });
});

/** Counts the work per key: a clock would measure the machine. The times are in `speed.bench.ts`. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, type Lab, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

interface Counted {
  /** Types of the messages to and from the engine, in order. */
  messages: string[];
}

/** Counts in a page that is opened anew. */
async function counting(lab: Lab): Promise<void> {
  await lab.page.addInitScript(() => {
    const counted: Counted = { messages: [] };
    (window as unknown as { counted: Counted }).counted = counted;
    window.Worker = class extends Worker {
      constructor(url: string | URL, options?: WorkerOptions) {
        super(url, options);
        this.addEventListener("message", (event) => counted.messages.push(`< ${event.data.type}`));
      }
      override postMessage(message: { type: string }): void {
        counted.messages.push(`> ${message.type}`);
        super.postMessage(message);
      }
    };
  });
  await lab.page.reload();
  await lab.settled();
}

/** Presses a key and returns the messages until the diff was redrawn. */
async function untilDrawn(lab: Lab, key: string): Promise<string[]> {
  await lab.page.evaluate(() => {
    const { counted } = window as unknown as { counted: Counted };
    counted.messages.length = 0;
    const target = document.querySelector('[aria-label="Diff"]');
    if (!target) throw new Error("no diff");
    const watcher = new MutationObserver(() => {
      watcher.disconnect();
      counted.messages.push("drawn");
    });
    watcher.observe(target, { subtree: true, childList: true, characterData: true });
  });
  await lab.page.keyboard.press(key);
  const all = await lab.page.waitForFunction(() => {
    const { messages } = (window as unknown as { counted: Counted }).counted;
    return messages.includes("drawn") && messages.slice(0, messages.indexOf("drawn"));
  });
  return (await all.jsonValue()) || [];
}

/** Puts the cursor into the shape of the input, where a typed digit changes every type of the network. */
async function intoTheShape(lab: Lab): Promise<void> {
  await lab.program.getByText("%data:").first().click();
  await lab.page.keyboard.press("End");
  for (let count = 0; count < 12; count++) await lab.page.keyboard.press("ArrowLeft");
}

test("a key costs one message to the engine and one back, which holds the diff", () =>
  stage.withPage({}, async (lab) => {
    await counting(lab);
    await lab.example("ResNet-18");
    await lab.step(/^FuseOps changed/).click();
    await lab.region("Diff").locator(".line").first().waitFor();
    await intoTheShape(lab);
    // The neighbours' diffs are made while nothing happens; they are not the key's.
    await lab.page.waitForTimeout(1000);
    expect(await untilDrawn(lab, "1")).toEqual(["> run", "< run"]);
  }));

test("going to a neighbouring step costs no message: its diff was made while nothing happened", () =>
  stage.withPage({}, async (lab) => {
    await counting(lab);
    await lab.example("ResNet-18");
    await lab.step(/^FuseOps changed/).click();
    await lab.region("Diff").locator(".line").first().waitFor();
    await lab.page.waitForTimeout(1500);
    expect(await untilDrawn(lab, "p")).toEqual([]);
    await eventually(() => lab.selectedName(), /changed/);
  }));

test("going to a neighbouring step draws no lines: they were drawn while nothing happened", () =>
  stage.withPage({}, async (lab) => {
    await lab.example("ResNet-18");
    await lab.step(/^FuseOps changed/).click();
    const lines = lab.region("Diff").locator(".lines");
    await lines.locator(".covered").nth(1).waitFor({ state: "attached" });
    const shown = () => lines.locator(".lines-window:not(.covered) .line").allTextContents();
    const before = await shown();
    // Until the other sheet is uncovered: then the next neighbours are drawn.
    await lines.evaluate((box) => {
      const store = window as unknown as { made: number | null };
      store.made = null;
      let made = 0;
      new MutationObserver((changes) => {
        for (const { type, target, addedNodes } of changes) {
          const uncovers = type === "attributes" && (target as Element).matches(".lines-window");
          if (uncovers) store.made ??= made;
          made += addedNodes.length;
        }
      }).observe(box, { subtree: true, childList: true, attributeFilter: ["class"] });
    });
    await lab.page.keyboard.press("p");
    await eventually(async () => (await shown()).join() === before.join(), false);
    const made = () => lab.page.evaluate(() => (window as unknown as { made: unknown }).made);
    expect(await made()).toBe(0);
    await lab.page.keyboard.press("n");
    await eventually(shown, before);
  }));

test("the place in a diff stays when the program is edited", () =>
  stage.withPage({}, async (lab) => {
    await counting(lab);
    await lab.example("ResNet-18");
    await lab
      .step(/^InferType changed/)
      .first()
      .click();
    // Without them the diff is too short to be scrolled.
    await lab.button("Types").click();
    const lines = lab.region("Diff").locator(".lines");
    await lines.locator(".line").first().waitFor();
    await lines.evaluate((box) => {
      box.scrollTop = 200;
    });
    await intoTheShape(lab);
    await untilDrawn(lab, "1");
    expect(await lines.evaluate((box) => box.scrollTop)).toBe(200);
  }));

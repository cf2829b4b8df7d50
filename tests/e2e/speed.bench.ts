/**
 * `cargo xtask bench page`: measures the response of the built page in the page itself, from the time stamp of the key
 * to the end of the frame in which the diff was redrawn. It prints a table. A clock is no test: `effort.e2e.ts` counts
 * the messages and layouts of a key.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { type Lab, launch, profile, serveDist } from "./browser";
import type { Site } from "./site";

/**
 * Milliseconds for which a key is held, as a hand does. Released at once it asks the browser for one more frame, and
 * the engine's answer waits for that.
 */
const HELD = 80;
const WIDTH = 68;
const EDITS = 100;
const STEPS = 60;
/** The least time, in milliseconds, that a user looks at a step. */
const READ = 300;

let browser: Browser;
let site: Site;
const table: string[] = [];

beforeAll(async () => {
  [browser, site] = await Promise.all([launch(), serveDist()]);
});
afterAll(async () => {
  console.log(
    [`${"what".padEnd(WIDTH)}${"best".padStart(8)}${"median".padStart(8)}${"p95".padStart(8)}  ms`]
      .concat(table)
      .join("\n"),
  );
  await browser?.close();
  await site?.close();
});

const quantile = (values: number[], q: number) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ??
  0;

function report(what: string, times: number[]): void {
  const cells = [Math.min(...times), quantile(times, 0.5), quantile(times, 0.95)];
  table.push(what.padEnd(WIDTH) + cells.map((ms) => ms.toFixed(1).padStart(8)).join(""));
}

/** The cost of a key, in milliseconds from the key itself. */
interface Cost {
  /** The page's own part: until the new layout, which is requested as soon as the region's text has changed. */
  laidOut: number;
  /** To the end of the frame in which it is seen, and with it the wait for the display. */
  seen: number;
}

/** Presses a key and waits for the frame in which the region's text changes. */
function timed(lab: Lab, key: string, region: string): Promise<Cost> {
  return lab.page
    .evaluate((name) => {
      const target = document.querySelector(`[aria-label="${name}"]`);
      if (!target) throw new Error(`no region ${name}`);
      let pressed = 0;
      const store = window as unknown as { repaint: Promise<Cost> };
      addEventListener(
        "keydown",
        (event) => {
          pressed = event.timeStamp;
        },
        { once: true, capture: true },
      );
      store.repaint = new Promise((done, fail) => {
        const timeout = setTimeout(() => fail(new Error("nothing was redrawn in 5 s")), 5000);
        const watcher = new MutationObserver(() => {
          watcher.disconnect();
          clearTimeout(timeout);
          void document.body.offsetHeight;
          void target.scrollHeight;
          const laidOut = performance.now() - pressed;
          requestAnimationFrame(() => {
            const channel = new MessageChannel();
            channel.port1.onmessage = () => done({ laidOut, seen: performance.now() - pressed });
            channel.port2.postMessage(null);
          });
        });
        watcher.observe(target, {
          subtree: true,
          childList: true,
          characterData: true,
          attributeFilter: ["class"],
        });
      });
    }, region)
    .then(() => lab.page.keyboard.press(key, { delay: HELD }))
    .then(() => lab.page.evaluate(() => (window as unknown as { repaint: Promise<Cost> }).repaint));
}

/** Returns a program of 200 lines: convolutions with their following operators, each beside the previous values. */
function twoHundredLines(): string {
  const lines = [
    '#[version = "0.0.5"]',
    "def @main(",
    "  %data: Tensor[(1, 16, 32, 32), float32],",
    "  %weight: Tensor[(16, 16, 3, 3), float32],",
    "  %gamma: Tensor[(16), float32],",
    "  %beta: Tensor[(16), float32],",
    "  %mean: Tensor[(16), float32],",
    "  %var: Tensor[(16), float32]",
    ") {",
  ];
  const body = [
    (x: string) =>
      `nn.conv2d(${x}, %weight, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3])`,
    (x: string) => `nn.batch_norm(${x}, %gamma, %beta, %mean, %var)`,
    (x: string) => `${x}.0`,
    (x: string) => `nn.relu(${x})`,
    (x: string, before: string) => `add(${x}, ${before})`,
    (x: string) => `multiply(${x}, 0.5f)`,
  ];
  let before = "%data";
  let at = 0;
  for (; lines.length < 198; at++) {
    const x = at === 0 ? "%data" : `%${at - 1}`;
    lines.push(`  %${at} = ${body[at % body.length]?.(x, before)};`);
    if (at % body.length === 5) before = `%${at}`;
  }
  lines.push(`  nn.relu(%${at - 1})`, "}");
  return lines.join("\n");
}

const PROGRAMS: Record<string, (lab: Lab) => Promise<void>> = {
  "ResNet-18": (lab) => lab.example("ResNet-18"),
  "200 lines": async (lab) => {
    await lab.write(twoHundredLines());
    await lab.page.keyboard.press("Control+Home");
  },
};

/** Makes the page with a program, relay.build at O3 over it, at its FuseOps. */
async function atWork(
  program: string,
  slower: number,
): Promise<{ lab: Lab; close(): Promise<void> }> {
  const { context, open } = await profile(browser);
  const lab = await open(site.url);
  await lab.settled();
  await PROGRAMS[program]?.(lab);
  const choice = lab.page.getByRole("combobox", { name: "Pipeline" });
  const titles = await choice.locator("option").allTextContents();
  await choice.selectOption({ label: titles.find((title) => title.includes("O3")) ?? "" });
  await lab.step(/^FuseOps changed/).click();
  await lab.region("Diff").locator(".line").first().waitFor();
  const session = await context.newCDPSession(lab.page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: slower });
  return { lab, close: () => context.close() };
}

for (const [program, slower] of [
  ["ResNet-18", 1],
  ["200 lines", 1],
  ["ResNet-18", 4],
  ["200 lines", 4],
] as const) {
  const where = `${program} at O3${slower === 1 ? "" : `, processor ${slower} times slower`}`;

  test(`key to diff, ${where}`, { timeout: 300_000 }, async () => {
    const { lab, close } = await atWork(program, slower);
    // Into the shape of the input: every type of the program changes with it, and with them the visible lines.
    await lab.program.getByText("%data:").first().click();
    await lab.page.keyboard.press("End");
    for (let count = 0; count < 12; count++) await lab.page.keyboard.press("ArrowLeft");
    const times: number[] = [];
    for (let count = 0; count < EDITS; count++) {
      times.push((await timed(lab, count % 2 === 0 ? "1" : "Backspace", "Diff")).seen);
      await lab.page.waitForTimeout(30);
    }
    report(`key to diff, ${where}`, times.slice(10));
    await close();
  });

  test(`step to step, ${where}`, { timeout: 300_000 }, async () => {
    const { lab, close } = await atWork(program, slower);
    await lab.button("Nested").click();
    // Once through all, so that every diff was made; then the page's own part is measured.
    for (let count = 0; count < 3; count++) await lab.page.keyboard.press("p");
    for (let count = 0; count < 3; count++) await lab.page.keyboard.press("n");
    await lab.page.waitForTimeout(500);
    const costs: Cost[] = [];
    for (let count = 0; count < STEPS; count++) {
      // Goes three steps back and three forward, as users do: each step stays long enough to be looked at.
      costs.push(await timed(lab, count % 6 < 3 ? "p" : "n", "Diff"));
      await lab.page.waitForTimeout(READ);
    }
    for (const [until, what] of [
      ["laidOut", "laid out"],
      ["seen", "seen"],
    ] as const) {
      report(
        `step to step, ${where}: ${what}`,
        costs.map((cost) => cost[until]),
      );
    }
    await close();
  });
}

for (const slower of [1, 4]) {
  const where = `a fused convolution${slower === 1 ? "" : `, processor ${slower} times slower`}`;

  test(`step to step of a schedule, ${where}`, { timeout: 300_000 }, async () => {
    const { context, open } = await profile(browser);
    const lab = await open(site.url);
    await lab.settled();
    await lab.example("Convolution with its epilogue (TIR)");
    const nest = lab.page.getByRole("tree", { name: "Loop nest" });
    await nest.getByRole("treeitem").first().waitFor();
    const session = await context.newCDPSession(lab.page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: slower });
    for (let count = 0; count < 3; count++) await lab.page.keyboard.press("p");
    await lab.page.waitForTimeout(500);
    const costs: Cost[] = [];
    for (let count = 0; count < STEPS; count++) {
      costs.push(await timed(lab, count % 4 < 2 ? "n" : "p", "Loop nest"));
      await lab.page.waitForTimeout(READ);
    }
    for (const [until, what] of [
      ["laidOut", "laid out"],
      ["seen", "painted"],
    ] as const) {
      report(
        `step of a schedule, ${where}: ${what}`,
        costs.map((cost) => cost[until]),
      );
    }
    await context.close();
  });
}

test("links of 64 KB", async () => {
  const all = await profile(browser);
  const lab = await all.open(site.url);
  await lab.settled();
  const times = await lab.page.evaluate(async () => {
    const entries = performance.getEntriesByType("resource").map(({ name }) => name);
    const url = entries.find((name) => /worker-[^/]*\.js$/.test(name)) ?? "";
    const worker = new Worker(url, { type: "module" });
    const heard = () =>
      new Promise<{ type: string; value: unknown }>((done) => {
        worker.onmessage = ({ data }) => done(data);
      });
    await heard();
    let source = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) {\n';
    for (let i = 0, seed = 1; source.length < 65_536; i++) {
      seed = (seed * 48_271) % 2_147_483_647;
      source += `  %${i} = add(${i ? `%${seed % i}` : "%x"}, ${seed / 1000}f);\n`;
    }
    const empty = { passes: [], optLevel: 2, required: [], disabled: [], config: {} };
    const document = {
      ...empty,
      source,
      instruments: [],
      script: "",
      view: { step: "", view: "diff" },
    };
    const found: { encode: number[]; decode: number[] } = { encode: [], decode: [] };
    const ask = async (kind: "encode" | "decode", request: object) => {
      const start = performance.now();
      worker.postMessage({ id: 1, ...request });
      const { value } = await heard();
      found[kind].push(performance.now() - start);
      return value;
    };
    for (let i = 0; i < 30; i++) {
      const link = await ask("encode", { type: "encode", document });
      if (typeof link !== "string") throw new Error("no link");
      await ask("decode", { type: "decode", link });
    }
    worker.terminate();
    return found;
  });
  report("encode a program of 64 KB", times.encode);
  report("decode its link", times.decode);
  await all.context.close();
});

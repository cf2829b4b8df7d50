/**
 * `cargo xtask bench page`: measures the response of the built page in the page itself, from the time stamp of the key
 * to the end of the frame in which the diff was redrawn. It prints a table. A clock is no test: `effort.e2e.ts` counts
 * the messages and layouts of a key.
 */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { dist, type Lab, launch, profile, serveDist } from "./browser";
import { type Site, serve } from "./site";

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
    [
      `${"what".padEnd(WIDTH)}${"best".padStart(8)}${"median".padStart(8)}${"p95".padStart(8)}${"most".padStart(8)}  ms`,
    ]
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
  const cells = [
    Math.min(...times),
    quantile(times, 0.5),
    quantile(times, 0.95),
    Math.max(...times),
  ];
  table.push(what.padEnd(WIDTH) + cells.map((ms) => ms.toFixed(1).padStart(8)).join(""));
}

/** The cost of a key, in milliseconds from the key itself. */
interface Cost {
  /** The page's own part: until the new layout, which is requested as soon as the region's text has changed. */
  laidOut: number;
  /** To the end of the frame in which it is seen, and with it the wait for the display. */
  seen: number;
  /** True if the region shows another text. A pass and the only one inside it have the same diff: nothing is redrawn. */
  redrawn: boolean;
}

/** Presses a key and waits for the frame in which the region's text changes. */
function timed(lab: Lab, key: string, region: string): Promise<Cost> {
  return lab.page
    .evaluate((name) => {
      const target = document.querySelector(`:is(section, [role="region"])[aria-label="${name}"]`);
      if (!target) throw new Error(`no region ${name}`);
      let pressed = 0;
      // Covered windows hold the likely next texts.
      const read = () => target.querySelector(".lines-window:not(.covered)")?.textContent;
      const before = read();
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
            channel.port1.onmessage = () => {
              const seen = performance.now() - pressed;
              done({ laidOut, seen, redrawn: read() !== before });
            };
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

/** Writes a program with the cursor behind its first piece that is `until`. */
async function writeUpTo(lab: Lab, text: string, until: string): Promise<void> {
  const at = text.indexOf(until) + until.length;
  await lab.write(text.slice(at));
  await lab.page.keyboard.press("Control+Home");
  await lab.page.keyboard.insertText(text.slice(0, at));
}

/** A program at work, and what a key in it redraws. */
interface Work {
  /** Puts the program into the page, the cursor where a digit changes what the passes see. */
  open(lab: Lab): Promise<void>;
  pipeline: string;
  /** The step that is looked at. */
  step: RegExp;
  /** A text in its diff that a key changes, when it does not stand at the top. */
  find?: string;
}

const O3 = { pipeline: "relay.build at O3", step: /^FuseOps changed/ };

/** Whole networks stand beside the project; without them their rows are left out. */
const corpus = resolve(import.meta.dirname, "../../../shared/corpus");
const whole = (file: string) => {
  const path = resolve(corpus, file);
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
};
const resnet50 = whole("relay/resnet-50.relay");
const tinyLlama = whole("relax/nn_tinyllama_2layer.py");
const resnet18 = whole("relax/resnet18.py");

const PROGRAMS: Record<string, Work> = {
  // Into the shape of the input: every type of the program changes with it, and with them the visible lines.
  "ResNet-18 at O3": {
    ...O3,
    async open(lab) {
      await lab.example("ResNet-18");
      await lab.program.getByText("%data:").first().click();
      await lab.page.keyboard.press("End");
      for (let count = 0; count < 12; count++) await lab.page.keyboard.press("ArrowLeft");
    },
  },
  "200 lines at O3": { ...O3, open: (lab) => writeUpTo(lab, twoHundredLines(), "Tensor[(1") },
  ...(resnet50 && {
    "ResNet-50 at O3": {
      ...O3,
      open: (lab: Lab) => writeUpTo(lab, resnet50, "epsilon=2"),
    },
  }),
  ...(tinyLlama && {
    // Into a constant that stands in a legalised operator.
    "TinyLlama, zero pipeline": {
      pipeline: "relax zero pipeline",
      step: /^LegalizeOps changed/,
      open: (lab: Lab) => writeUpTo(lab, tinyLlama, "epsilon=1"),
      find: "0000000000000001e-05",
    },
  }),
};

/** Makes the page with a program at work, at the step that is looked at. */
async function atWork(
  program: string,
  slower: number,
): Promise<{ lab: Lab; close(): Promise<void> }> {
  const { context, open } = await profile(browser);
  const lab = await open(site.url);
  await lab.settled();
  // The keys of the editor come after the first screen.
  await lab.page.waitForLoadState("networkidle");
  const work = PROGRAMS[program];
  if (!work) throw new Error(`no program ${program}`);
  await work.open(lab);
  await lab.page.getByRole("combobox", { name: "Pipeline" }).selectOption({ label: work.pipeline });
  await lab.step(work.step).click();
  await lab.region("Diff").locator(".line").first().waitFor();
  if (work.find) {
    const search = lab.page.getByRole("searchbox", { name: "Search in the result" });
    await search.fill(work.find);
    await search.press("Enter");
    await lab.region("Diff").getByText(work.find).first().waitFor();
  }
  const session = await context.newCDPSession(lab.page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: slower });
  return { lab, close: () => context.close() };
}

/** The times of a step that are reported. */
const PARTS = [
  ["laidOut", "laid out"],
  ["seen", "seen"],
] as const;

const slowerToo = ["ResNet-18 at O3", "200 lines at O3"];
for (const [program, slower] of [
  ...Object.keys(PROGRAMS).map((program) => [program, 1] as const),
  ...slowerToo.map((program) => [program, 4] as const),
]) {
  const where = `${program}${slower === 1 ? "" : `, processor ${slower} times slower`}`;

  test(`key to diff, ${where}`, { timeout: 300_000 }, async () => {
    const { lab, close } = await atWork(program, slower);
    await lab.program.focus();
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
      const cost = await timed(lab, count % 6 < 3 ? "p" : "n", "Diff");
      if (cost.redrawn) costs.push(cost);
      await lab.page.waitForTimeout(READ);
    }
    for (const [until, what] of PARTS) {
      report(
        `step to step, ${where}: ${what}`,
        costs.map((cost) => cost[until]),
      );
    }
    await close();
  });
}

test("step to step, a convolution and its epilogue, scheduled", { timeout: 120_000 }, async () => {
  const { context, open } = await profile(browser);
  const lab = await open(site.url);
  await lab.settled();
  await lab.page.waitForLoadState("networkidle");
  await lab.example("Convolution with its epilogue (TIR)");
  await lab.page.getByRole("tree", { name: "Loop nest" }).waitFor();
  await lab.step(/^vectorize changed/).click();
  const costs: Cost[] = [];
  // Back and forth; the first round asks the engine for the pictures.
  for (let count = 0; count < STEPS; count++) {
    const cost = await timed(lab, count % 8 < 4 ? "p" : "n", "Schedule");
    if (count >= 8) costs.push(cost);
    await lab.page.waitForTimeout(READ);
  }
  for (const [until, what] of PARTS) {
    const times = costs.map((cost) => cost[until]);
    report(`step to step, a convolution and its epilogue, scheduled: ${what}`, times);
  }
  await context.close();
});

for (const program of ["ResNet-18 at O3", ...(resnet50 ? ["ResNet-50 at O3"] : [])]) {
  test(`pipeline chosen to painted, ${program}`, { timeout: 120_000 }, async () => {
    const { lab, close } = await atWork(program, 1);
    const times: number[] = [];
    for (let count = 0; count < 30; count++) {
      const label = count % 2 === 0 ? "relay.build at O2 (its default)" : "relay.build at O3";
      times.push(await chosen(lab, label));
      await lab.page.waitForTimeout(READ);
    }
    report(`pipeline chosen to painted, ${program}`, times.slice(4));
    await close();
  });
}

if (resnet18) {
  test("ResNet-18 from Relax to flat loops", { timeout: 240_000 }, async () => {
    const { context, open } = await profile(browser);
    const lab = await open(site.url);
    await lab.settled();
    await lab.page.waitForLoadState("networkidle");
    await lab.write(resnet18);
    const pipelines = lab.page.getByRole("combobox", { name: "Pipeline" });
    const times: number[] = [];
    for (let count = 0; count < 10; count++) {
      await pipelines.selectOption({ label: "relax zero pipeline" });
      await lab
        .step(/^FuseTIR/)
        .first()
        .waitFor();
      await lab.page.waitForTimeout(1500);
      times.push(await lowered(lab, "From a model to flat loops", "CommonSubexprElim"));
    }
    report("ResNet-18 from Relax to flat loops: chosen to painted", times.slice(2));
    await context.close();
  });
}

/** Chooses a pipeline and waits for the frame in which one of its passes stands among the steps as run. */
function lowered(lab: Lab, label: string, pass: string): Promise<number> {
  return lab.page.evaluate(
    async ([name, last]) => {
      const choice = [...document.querySelectorAll("select")].find((select) =>
        [...select.options].some((option) => option.label === name),
      );
      const steps = document.querySelector('[aria-label="Steps"]');
      if (!choice || !steps) throw new Error("no pipelines or steps");
      const start = performance.now();
      choice.value = [...choice.options].find((option) => option.label === name)?.value ?? "";
      choice.dispatchEvent(new Event("change", { bubbles: true }));
      // A pass that ran has its time behind its name.
      const ran = new RegExp(`${last}(no change|changed)[<\\d.]+ ms`);
      while (!ran.test(steps.textContent ?? "")) {
        if (performance.now() - start > 20_000) throw new Error("nothing was lowered in 20 s");
        await new Promise(requestAnimationFrame);
      }
      await new Promise((done) => setTimeout(done));
      return performance.now() - start;
    },
    [label, pass],
  );
}

/** Chooses a pipeline and waits for the frame in which its steps and the diff stand, other passes being skipped. */
function chosen(lab: Lab, label: string): Promise<number> {
  return lab.page.evaluate(async (name) => {
    const choice = [...document.querySelectorAll("select")].find((select) =>
      [...select.options].some((option) => option.label === name),
    );
    const steps = document.querySelector('[aria-label="Steps"]');
    const diff = document.querySelector('[aria-label="Diff"]');
    if (!choice || !steps || !diff) throw new Error("no pipelines, steps or diff");
    const skipped = () => steps.textContent?.match(/skipped/g)?.length ?? 0;
    const before = skipped();
    const start = performance.now();
    choice.value = [...choice.options].find((option) => option.label === name)?.value ?? "";
    choice.dispatchEvent(new Event("change", { bubbles: true }));
    while (skipped() === before || !diff.querySelector(".line")) {
      if (performance.now() - start > 5000) throw new Error("nothing was redrawn in 5 s");
      await new Promise(requestAnimationFrame);
    }
    await new Promise((done) => setTimeout(done));
    return performance.now() - start;
  }, label);
}

test("first visit, processor 4 times slower, 9 Mbit/s", { timeout: 300_000 }, async () => {
  const host = await serve(dist, "/", { packed: true });
  const times: number[] = [];
  // The first visit packs the files; it is not counted.
  for (let count = 0; count < 6; count++) {
    const { context } = await profile(browser, { serviceWorkers: "block" });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    const bytesPerSecond = (9 * 1024 * 1024) / 8;
    await session.send("Network.enable");
    await session.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 40,
      downloadThroughput: bytesPerSecond,
      uploadThroughput: bytesPerSecond,
    });
    await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
    const start = performance.now();
    await page.goto(host.url, { waitUntil: "commit" });
    await page.getByRole("listbox", { name: "Steps" }).getByRole("option").first().waitFor();
    if (count > 0) times.push(performance.now() - start);
    await context.close();
  }
  report("first visit to its steps, processor 4 times slower, 9 Mbit/s", times);
  await host.close();
});

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

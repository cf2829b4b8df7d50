/** Scripts that do not end, flood the page, or lie about their results: they are stopped, and the page goes on. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Lab, launch, SMALL, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

/** Makes a page with the small program, after a script that is as it should be, and with little patience. */
function withScript(body: (lab: Lab) => Promise<void>): Promise<void> {
  return stage.withPage({}, async (lab) => {
    await lab.write(SMALL);
    await lab.writeScript(`console.log("good");`);
    await lab.console.getByText("good").waitFor();
    await lab.patience(2);
    await body(lab);
  });
}

/** Checks that the page says that the script was stopped, still shows the last good result, and works on. */
async function stopped(lab: Lab, script: string, why: RegExp): Promise<void> {
  await lab.writeScript(script);
  await lab.page.getByRole("alert").getByText(why).waitFor();
  await lab.page.getByText("stale").first().waitFor();
  await alive(lab, script);
}

/** Does the same for each case in one visit, which costs more than a case. A failure names its case. */
async function inTurn<T>(cases: [string, T][], body: (value: T) => Promise<void>): Promise<void> {
  for (const [name, value] of cases) {
    await body(value).catch((error: unknown) => {
      throw new Error(`${name}: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    });
  }
}

/** Writes a script that is as it should be, and waits for its word. */
async function mended(lab: Lab): Promise<void> {
  await lab.writeScript(`console.log("mended");`);
  await lab.console.getByText("mended").waitFor();
  await eventually(() => lab.page.getByRole("alert").count(), 0);
}

async function alive(lab: Lab, script: string): Promise<void> {
  expect(await lab.written()).toBe(script);
  // The last good result can be gone through, diffs included.
  await lab.step(/^FoldConstant/).click();
  await lab.step(/^FuseOps changed/).click();
  await lab.region("Diff").getByText("Primitive=1").first().waitFor();
  await lab.tab("Program").click();
  expect(await lab.source()).toBe(SMALL);
  // A fixed script is run by a new sandbox.
  await lab.writeScript(`console.log("mended");`);
  await lab.console.getByText("mended").waitFor();
  await eventually(() => lab.page.getByText("stale").count(), 0);
  await eventually(() => lab.page.getByRole("alert").count(), 0);
  await eventually(() => lab.page.locator("iframe").count(), 1);
}

describe("a script without end is stopped", () => {
  test.each([
    ["an endless loop", "for (;;);"],
    [
      "an endless loop of promises",
      "const again = () => Promise.resolve().then(again);\nawait again();\n",
    ],
    ["a wait for what never comes", "await new Promise(() => {});"],
  ])("%s", (_, script) => withScript((lab) => stopped(lab, script, /no answer in 2 s/)));

  /** A worker's loop would go on unseen after the script was stopped. */
  test("and starts no worker of its own", () =>
    withScript(async (lab) => {
      await lab.writeScript(`new Worker(URL.createObjectURL(new Blob(["for (;;);"])));`);
      await lab.page.getByText("Worker is not defined").first().waitFor();
    }));

  // It waits for itself: to the page that is a loop, and it leaves the processor to other tests.
  test.each([100, 3000])(
    "a standstill that begins %d ms after the answer",
    (pause) =>
      withScript(async (lab) => {
        const script = `const { buffer } = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
setTimeout(() => { Atomics.wait(new Int32Array(buffer), 0, 0); console.log("over"); }, ${pause});`;
        await lab.writeScript(script);
        await eventually(() => lab.console.count(), 0);
        await lab.page
          .getByRole("alert")
          .getByText(/went on after their answer|no answer/)
          // It is begun anew a few times before it is given up.
          .waitFor({ timeout: 75_000 });
        expect(await lab.written()).toBe(script);
        await lab.writeScript(`console.log("mended");`);
        await lab.console.getByText("mended").waitFor();
        await lab.step(/^FuseOps changed/).click();
        await lab.region("Diff").getByText("Primitive=1").first().waitFor();
      }),
    120_000,
  );

  test("a visit that begins with one", () =>
    withScript(async (lab) => {
      await lab.writeScript("for (;;);");
      await lab.page
        .getByRole("alert")
        .getByText(/no answer in 2 s/)
        .waitFor();
      await lab.page.reload();
      await lab.page.getByText(/no answer in 2 s/).waitFor();
      expect(await lab.source()).toBe(SMALL);
      await lab.writeScript("");
      await lab.step(/^FuseOps changed/).waitFor();
    }));

  test("the time limit is the user's to set, and kept", () =>
    withScript(async (lab) => {
      await lab.page.reload();
      await lab.settled();
      await lab.tab("My passes").click();
      const limit = lab.page.getByRole("spinbutton", { name: "Seconds until a script is stopped" });
      expect(await limit.inputValue()).toBe("2");
    }));
});

describe("a script that is not quiet", () => {
  const ways = [
    "postMessage('mine')",
    "self.postMessage('mine')",
    "DedicatedWorkerGlobalScope.prototype.postMessage.call(self, 'mine')",
    "reportError(new Error('mine'))",
    "self.close()",
  ];
  test(`has no way to the page: ${ways.length} tries`, () =>
    withScript(async (lab) => {
      const tries = ways.map((code) => `try { ${code}; console.log("done"); }`);
      await lab.writeScript(
        `${tries.map((one) => `${one} catch (error) { console.log(error.message); }`).join("\n")}\nconsole.log("all tried");`,
      );
      await lab.console.getByText("all tried").waitFor();
      const said = await lab.console.locator("pre").allTextContents();
      const refused = expect.stringMatching(/is not (defined|a function)|Cannot read/);
      expect(said).toEqual([...ways.map(() => refused), "all tried"]);
      expect(await lab.problems.count()).toBe(0);
    }));

  test("errors outside of a run are nobody's", () =>
    withScript(async (lab) => {
      await lab.writeScript(`
        setInterval(() => { throw new Error("mine"); }, 1);
        setInterval(() => Promise.reject(new Error("mine")), 1);
        console.log("set");
      `);
      await lab.console.getByText("set").waitFor();
      await lab.page.waitForTimeout(500);
      await lab.optLevel(1);
      await lab.step(/^FuseOps changed/).click();
      await lab.region("Diff").getByText("Primitive=1").first().waitFor();
      expect(await lab.page.getByRole("alert").count()).toBe(0);
    }));

  test("what a promise throws that nobody waits for is listed with its place", () =>
    withScript(async (lab) => {
      await lab.writeScript(`functionPass({ name: "Mine" }, (f) => {
        void (async () => { throw new Error("too late"); })();
        return f;
      });`);
      await lab.button("Add Mine").click();
      await lab.problems.getByText("too late").waitFor();
      await lab.problems.getByText("2:", { exact: false }).first().waitFor();
    }));

  test("that takes the questions for itself is stopped", () =>
    withScript(async (lab) => {
      const script = "self.onmessage = () => {};\nconsole.log('mine');";
      await lab.writeScript(script);
      await lab.page.getByText(/no answer in 2 s/).waitFor();
      expect(await lab.written()).toBe(script);
    }));
});

describe("a script that breaks its own world does not break the page's", () => {
  test("prototypes and globals replaced", () =>
    withScript(async (lab) => {
      await lab.writeScript(`
        console.log("before");
        Object.prototype.polluted = true;
        Object.prototype.toJSON = () => ({ polluted: true });
        Array.prototype.map = Array.prototype.push = () => { throw new Error("mine"); };
        JSON.parse = JSON.stringify = () => "mine";
        globalThis.postMessage = self.onmessage = null;
        String.prototype.slice = () => "mine";
      `);
      // The script's answer may hold anything; the page's own globals are unchanged.
      await lab.page.waitForTimeout(1500);
      const page = await lab.page.evaluate(() => [
        ({} as { polluted?: boolean }).polluted,
        JSON.stringify([1].map((one) => one + 1)),
        "abc".slice(1),
      ]);
      expect(page).toEqual([undefined, "[2]", "bc"]);
      await lab.writeScript(`console.log(typeof {}.polluted);`);
      await lab.console.getByText("undefined").waitFor();
      expect(await lab.page.evaluate(() => "toJSON" in {})).toBe(false);
    }));

  test("markup in everything that is shown stays text", () =>
    withScript(async (lab) => {
      await lab.writeScript(`
        console.log("<img src=x onerror='document.title=1'>");
        throw new Error("<script>document.title = 2</script>");
      `);
      await lab.problems.getByText("<script>").waitFor();
      expect(await lab.page.locator("img, main script").count()).toBe(0);
      expect(await lab.page.title()).toBe("passlab");
    }));

  test("getters that throw, and things that cannot be put into words", () =>
    withScript(async (lab) => {
      for (const thrown of [
        "{ get message() { throw new Error('again'); } }",
        "Object.create(null)",
        "new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } })",
        "Object.assign(new Error(), { get stack() { throw 3; } })",
        "{ toString() { for (let i = 0; i < 1e6; i++); throw 4; } }",
        "Symbol('mine')",
      ]) {
        await lab.writeScript(`throw ${thrown}`);
        await eventually(async () => (await lab.problems.count()) > 0, true);
        await lab.writeScript(`console.log("mended");`);
        await lab.console.getByText("mended").waitFor();
      }
    }));

  test("more said than anybody reads", () =>
    withScript(async (lab) => {
      await lab.writeScript(
        `for (let i = 0; i < 3e5; i++) console.log("line", i, "x".repeat(50));`,
      );
      await Promise.race([
        lab.console.getByText("line").first().waitFor(),
        lab.page.getByRole("alert").waitFor(),
      ]);
      expect(await lab.console.locator("pre").count()).toBeLessThanOrEqual(1000);
      await lab.writeScript(`console.log("mended");`);
      await lab.console.getByText("mended").waitFor();
    }));
});

describe("a pass that lies about the program fails, and the version before it stands", () => {
  const passes: [string, string][] = [
    ["gives nothing back", "functionPass({ name: 'Mine' }, () => undefined);"],
    ["makes up a node", "functionPass({ name: 'Mine' }, (f) => ({ ...f }));"],
    [
      "makes up a node of the right kind",
      "functionPass({ name: 'Mine' }, (f) => Object.assign(Object.create(Object.getPrototypeOf(f)), f, { id: 123456 }));",
    ],
    [
      "changes the number of a node",
      "functionPass({ name: 'Mine' }, (f) => { f.id = 4e9; f.body.id = -1; return f.body; });",
    ],
    ["gives back a part", "functionPass({ name: 'Mine' }, (f) => f.body);"],
    ["gives back a promise", "functionPass({ name: 'Mine' }, async (f) => f);"],
    [
      "asks for too much stack",
      "functionPass({ name: 'Mine' }, (f) => { const deep = (n) => deep(n + 1) + 1; return deep(0); });",
    ],
    ["runs itself without end", "const mine = modulePass({ name: 'Mine' }, (mod) => mine(mod));"],
  ];
  test(
    `whatever it is: ${passes.length} lies`,
    () =>
      withScript((lab) =>
        inTurn(passes, async (script) => {
          await lab.writeScript(script);
          await lab.button("Add Mine").click();
          await Promise.race([
            lab
              .step(/^Mine failed/)
              .first()
              .waitFor(),
            lab.page
              .getByRole("alert")
              .getByText(/stopped/)
              .waitFor(),
          ]);
          await lab.button("Edit Mine").click();
          await lab.button("Remove").click();
          await mended(lab);
          await lab.step(/^FuseOps changed/).click();
          await lab.region("Diff").getByText("Primitive=1").first().waitFor();
        }),
      ),
    120_000,
  );

  test("keeps a node of an earlier run", () =>
    withScript(async (lab) => {
      await lab.writeScript(`functionPass({ name: "Mine" }, (f) => (globalThis.kept ??= f));`);
      await lab.button("Add Mine").click();
      await lab.step(/^Mine no change/).waitFor();
      await lab.optLevel(1);
      await lab.step(/^Mine failed/).waitFor();
      await lab.problems.getByText("belongs to an earlier run").first().waitFor();
    }));
});

test("a script that takes all memory ends its own process, and not the page", async () => {
  // With a small heap, so that this ends soon. The driver takes the death of the frame's process for that of the page
  // and stops talking to it, so the page itself checks and reports to a server.
  let tell: (what: string) => void = () => {};
  const told = new Promise<string>((done) => {
    tell = done;
  });
  const server = createServer((request, response) => {
    tell(decodeURIComponent((request.url ?? "").slice(2)));
    response.writeHead(200, { "access-control-allow-origin": "*" }).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const browser = await launch("--js-flags=--max-old-space-size=256");
  try {
    const context = await browser.newContext({ bypassCSP: true });
    const page = await context.newPage();
    await page.goto(stage.site.url);
    await page.getByRole("listbox", { name: "Steps" }).getByRole("option").first().waitFor();
    await page.evaluate((address) => {
      const program = () =>
        document.querySelector('[aria-label="Program"] .cm-line')?.textContent ?? "";
      const before = program();
      const look = setInterval(() => {
        const said = document.querySelector('[role="alert"]')?.textContent ?? "";
        if (!said) return;
        clearInterval(look);
        const same = program() === before ? "same program" : "another program";
        void fetch(`${address}?${encodeURIComponent(`${said} ${same}`)}`);
      }, 200);
    }, `http://127.0.0.1:${port}/`);
    await page.getByRole("tab", { name: "My passes" }).click();
    await page.getByRole("textbox", { name: "My passes" }).click();
    await page.keyboard.insertText(
      "const all = [];\nfor (;;) all.push(new Array(1e5).fill(all.length));",
    );
    expect(await told).toMatch(/stopped.*same program/);
  } finally {
    await browser.close();
    server.close();
    server.closeAllConnections();
  }
});

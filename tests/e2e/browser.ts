/** A browser, the built page in it, and the few gestures that the tests have in common. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { type Site, serve } from "./site";

const root = resolve(import.meta.dirname, "../..");
/** The site under test; `PASSLAB_DIST` names another folder than `dist`. */
export const dist = resolve(root, process.env.PASSLAB_DIST ?? "dist");

/** Returns the browser's program. */
export function chrome(): string {
  if (process.env.CHROME) return process.env.CHROME;
  for (const path of ["/usr/bin/chromium", "/usr/bin/google-chrome"]) {
    if (existsSync(path)) return path;
  }
  for (const name of ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]) {
    try {
      return execFileSync("which", [name], { encoding: "utf8" }).trim();
    } catch {
      // Not this one.
    }
  }
  throw new Error("no Chromium found: install one or name it in the variable CHROME");
}

/** Starts the browser, with arguments beyond those that every test needs. */
export function launch(...more: string[]): Promise<Browser> {
  return chromium.launch({
    executablePath: chrome(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Processes are divided as on a desktop, which a browser that is all shell does not do by itself.
      "--site-per-process",
      "--enable-features=IsolateSandboxedIframes",
      ...more,
    ],
  });
}

/** Pages of one profile share a process, and so the compiled engine. */
const SHARING = "--process-per-site";

/** No page lives so long that optimised WebAssembly is worth its compilation: a sixth of what scripts in Python cost here. */
export const BRIEF = "--js-flags=--liftoff-only";

export async function serveDist(): Promise<Site> {
  if (!existsSync(resolve(dist, "index.html"))) {
    throw new Error(`${dist} holds no built page: run cargo xtask build first`);
  }
  return serve(dist);
}

export type ContextOptions = Parameters<Browser["newContext"]>[0];

export interface Profile {
  context: BrowserContext;
  /** The errors in its pages so far. */
  errors: string[];
  open(url: string): Promise<Lab>;
}

const WINDOW = { width: 1440, height: 900 };

async function newContext(browser: Browser, options: ContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({
    viewport: WINDOW,
    permissions: ["clipboard-read", "clipboard-write"],
    ...options,
  });
}

/** Collects the errors in a page and in its console. */
function listen(page: Page, errors: string[]): void {
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
}

/** The script that a page runs first to be without service worker, as in a browser that has none. */
export const WITHOUT_WORKER = "delete Navigator.prototype.serviceWorker";

/** Opens a fresh profile. Errors in the console or in the page fail the test that `finish`es it. */
export async function profile(browser: Browser, options: ContextOptions = {}): Promise<Profile> {
  const context = await newContext(browser, options);
  const errors: string[] = [];
  return {
    context,
    errors,
    async open(url) {
      const page = await context.newPage();
      listen(page, errors);
      await page.goto(url);
      return new Lab(page);
    },
  };
}

/** The options that a page can be given as well as a profile. */
const OF_PAGES: ReadonlySet<string> = new Set(["viewport", "colorScheme", "reducedMotion"]);

/**
 * A profile for many tests, one after the other: each finds it as new, but for the engine, which stays compiled, and the
 * memory of a CPython that has started. That is three quarters of what it costs to open the page, and to run a script.
 */
class SharedProfile {
  private constructor(
    private readonly context: BrowserContext,
    /** Holds the engine. It is outside of the folder of the site, where no service worker reaches it. */
    private readonly anchor: Page,
  ) {}

  static async open(browser: Browser, site: Site): Promise<SharedProfile> {
    const context = await newContext(browser);
    // That each page stores all files for offline use is a fifth of what it costs.
    await context.addInitScript(WITHOUT_WORKER);
    const anchor = await context.newPage();
    const blank = new URL("/", site.url).href;
    await anchor.route(blank, (route) => route.fulfill({ contentType: "text/html", body: "" }));
    await anchor.goto(blank);
    const engines = readdirSync(resolve(dist, "assets")).filter((name) => name.endsWith(".wasm"));
    await anchor.evaluate(
      async (urls) => {
        const held = await Promise.all(urls.map((url) => WebAssembly.compileStreaming(fetch(url))));
        Object.assign(globalThis, { held });
      },
      engines.map((name) => `${site.url}assets/${name}`),
    );
    return new SharedProfile(context, anchor);
  }

  async withPage(
    options: NonNullable<ContextOptions>,
    url: string,
    body: (lab: Lab) => Promise<void>,
  ): Promise<void> {
    const errors: string[] = [];
    const page = await this.context.newPage();
    try {
      listen(page, errors);
      const { viewport, colorScheme, reducedMotion } = options;
      if (viewport) await page.setViewportSize(viewport);
      if (colorScheme || reducedMotion) await page.emulateMedia({ colorScheme, reducedMotion });
      await page.goto(url);
      await body(new Lab(page));
      expect(errors).toEqual([]);
    } finally {
      await this.clean(new URL(url).origin);
    }
  }

  private async clean(origin: string): Promise<void> {
    await Promise.all(
      this.context
        .pages()
        .map((page) => page !== this.anchor && page.close({ runBeforeUnload: false })),
    );
    const session = await this.context.newCDPSession(this.anchor);
    const storageTypes = "cookies,file_systems,indexeddb,local_storage";
    await session.send("Storage.clearDataForOrigin", { origin, storageTypes });
    await session.detach();
  }
}

/** The page, by roles and names only. */
export class Lab {
  constructor(readonly page: Page) {}

  get program() {
    return this.page.getByRole("textbox", { name: "Program" });
  }
  get script() {
    return this.page.getByRole("textbox", { name: "My passes" });
  }
  get console() {
    return this.page.getByRole("log", { name: "Output" });
  }
  get problems() {
    return this.page.getByRole("list", { name: "Problems" }).getByRole("listitem");
  }
  get steps() {
    return this.page.getByRole("listbox", { name: "Steps" }).getByRole("option");
  }
  get passes() {
    return this.page.getByRole("list", { name: "Passes" }).getByRole("listitem");
  }
  get selected() {
    return this.page
      .getByRole("listbox", { name: "Steps" })
      .getByRole("option", { selected: true });
  }
  /** Returns the accessible name of the step that is shown. */
  async selectedName(): Promise<string> {
    const snapshot = await this.selected.ariaSnapshot();
    return /option "([^"]*)"/.exec(snapshot)?.[1] ?? snapshot;
  }
  step(name: string | RegExp) {
    return this.page.getByRole("listbox", { name: "Steps" }).getByRole("option", { name });
  }
  pass(name: string) {
    return this.page
      .getByRole("list", { name: "Passes" })
      .getByRole("checkbox", { name, exact: true });
  }
  region(name: string) {
    return this.page.getByRole("region", { name, exact: true });
  }
  button(name: string) {
    return this.page.getByRole("button", { name, exact: true });
  }
  tab(name: string) {
    return this.page.getByRole("tab", { name, exact: true });
  }

  /** Waits until steps are there and nothing is stale. */
  async settled(): Promise<void> {
    await this.steps.first().waitFor();
  }

  /** Replaces the program as a paste does. */
  async write(text: string): Promise<void> {
    await this.program.click();
    await this.page.keyboard.press("Control+a");
    await this.page.keyboard.insertText(text);
  }

  /** Replaces the script of *My passes*, which is opened for that. */
  async writeScript(text: string): Promise<void> {
    await this.tab("My passes").click();
    await this.script.click();
    await this.page.keyboard.press("Control+a");
    if (text) await this.page.keyboard.insertText(text);
    else await this.page.keyboard.press("Delete");
  }

  /** Returns the script as it stands in the editor. */
  async written(): Promise<string> {
    return (await this.script.locator(".cm-line").allTextContents()).join("\n");
  }

  /** Seconds until a script is stopped. */
  async patience(seconds: number): Promise<void> {
    const limit = this.page.getByRole("spinbutton", { name: "Seconds until a script is stopped" });
    await limit.fill(String(seconds));
    await limit.press("Tab");
  }

  async source(): Promise<string> {
    const lines = await this.program.locator(".cm-line").allTextContents();
    return lines.join("\n");
  }

  async example(title: string): Promise<void> {
    await this.page.getByRole("combobox", { name: "Example" }).selectOption({ label: title });
  }

  async optLevel(level: number): Promise<void> {
    await this.page
      .getByRole("radiogroup", { name: "Opt level" })
      .getByRole("radio", { name: String(level) })
      .check({ force: true });
  }
}

/** Waits until a question about the page has this answer. */
export async function eventually(ask: () => unknown, wanted: unknown): Promise<void> {
  const poll = expect.poll(ask, { timeout: 10_000, interval: 50 });
  if (wanted instanceof RegExp) await poll.toMatch(wanted);
  else await poll.toEqual(wanted);
}

/** A program that is short enough to be seen whole in every view. */
export const SMALL = `#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = add(2f, 3f);
  %1 = multiply(%x, %0);
  nn.relu(%1)
}
`;

/** A browser and the site, and pages in them. */
export interface Stage {
  site: Site;
  browser: Browser;
  /**
   * A page that finds nothing stored, and stores nothing for use offline, once its steps are there; fails on any error in
   * its console.
   */
  withPage(options: ContextOptions, body: (lab: Lab) => Promise<void>, url?: string): Promise<void>;
  /** The same in a profile of its own, for tests that change it or need a browser that never saw the page. */
  withProfile(
    options: ContextOptions,
    body: (lab: Lab, all: Profile) => Promise<void>,
    url?: string,
  ): Promise<void>;
  /** The same as `withPage` where no steps are seen at first, so that there is only the program to wait for. */
  withVisible(
    options: ContextOptions,
    body: (lab: Lab) => Promise<void>,
    url?: string,
  ): Promise<void>;
  close(): Promise<void>;
}

/** Starts the browser, with arguments beyond those that every test needs, and serves the site. */
export async function setUp(...more: string[]): Promise<Stage> {
  const [browser, site] = await Promise.all([launch(SHARING, ...more), serveDist()]);
  const inProfile = async (
    options: ContextOptions,
    url: string,
    body: (lab: Lab, all: Profile) => Promise<void>,
  ) => {
    const all = await profile(browser, options);
    try {
      await body(await all.open(url), all);
      expect(all.errors).toEqual([]);
    } finally {
      await all.context.close();
    }
  };
  let shared: Promise<SharedProfile> | undefined;
  const inPage = async (
    options: ContextOptions,
    url: string,
    body: (lab: Lab) => Promise<void>,
  ): Promise<void> => {
    if (Object.keys(options ?? {}).some((name) => !OF_PAGES.has(name))) {
      return inProfile(options, url, body);
    }
    shared ??= SharedProfile.open(browser, site);
    return (await shared).withPage(options ?? {}, url, body);
  };
  return {
    site,
    browser,
    withPage: (options, body, url = site.url) =>
      inPage(options, url, async (lab) => {
        await lab.settled();
        await body(lab);
      }),
    withProfile: (options, body, url = site.url) =>
      inProfile(options, url, async (lab, all) => {
        await lab.settled();
        await body(lab, all);
      }),
    withVisible: (options, body, url = site.url) =>
      inPage(options, url, async (lab) => {
        // A lesson may begin with the script.
        await lab.program.or(lab.script).filter({ visible: true }).first().waitFor();
        await lab.page.getByText("No problems.").waitFor();
        await body(lab);
      }),
    async close() {
      await browser.close();
      await site.close();
    },
  };
}

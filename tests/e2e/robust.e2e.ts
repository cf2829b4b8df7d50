/** Failures around the page: its engine, its network, its next version. */
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dist, eventually, profile, SMALL, type Stage, setUp } from "./browser";
import { serve } from "./site";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const withPage: Stage["withPage"] = (...given) => stage.withPage(...given);

describe("an engine in trouble", () => {
  test("crashed: a new one takes over, nothing typed is lost", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.step(/^FoldConstant changed/).waitFor();
      const worker = lab.page.workers()[0];
      await worker?.evaluate(() => {
        setTimeout(() => {
          throw new Error("boom");
        });
      });
      await eventually(() => lab.page.workers().includes(worker as never), false);
      expect(await lab.source()).toBe(SMALL);
      await lab.step(/^FuseOps changed/).click();
      await lab.region("Diff").getByText("Primitive=1").first().waitFor();
    }));

  test("hung: it is ended in time, and the newest edit is run by the next one", async () => {
    await withPage(
      {},
      async (lab) => {
        await lab.write(SMALL);
        await lab.step(/^FoldConstant changed/).waitFor();
        await lab.page.workers()[0]?.evaluate(() => {
          self.onmessage = () => {};
        });
        await lab.write(SMALL.replace("%x", "%y").replace("%x", "%y"));
        await lab.page.getByText(/^Still (running|working)/).waitFor();
        await lab.pass("FuseOps").uncheck();
        await eventually(() => lab.step(/^FuseOps/).count(), 0);
        await eventually(() => lab.page.getByText(/^Still (running|working)/).count(), 0);
        expect(await lab.source()).toMatch(/%y/);
      },
      `${stage.site.url}?watchdog=1`,
    );
  });
});

test("a program of Relay does without the engine's second half; one of Relax says that it is missing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "passlab-"));
  await cp(dist, folder, { recursive: true });
  const assets = join(folder, "assets");
  const name = (await readdir(assets)).find((file) => file.startsWith("passlab_second"));
  if (!name) throw new Error("the engine was not split");
  await rename(join(assets, name), join(folder, name));
  const own = await serve(folder);
  try {
    await withPage(
      {},
      async (lab) => {
        await lab.example("ResNet-18");
        await lab.step(/^FuseOps changed/).click();
        await lab.region("Diff").getByText("Primitive=1").first().waitFor();
        await lab.example("Two convolutions (Relax)");
        await lab.page.getByText("second part of the engine could not be loaded").waitFor();
        await rename(join(folder, name), join(assets, name));
        await lab.write(`${await lab.source()}\n`);
        await lab.step(/^DeadCodeElimination changed/).waitFor();
      },
      own.url,
    );
  } finally {
    await own.close();
    await rm(folder, { recursive: true });
  }
});

describe("offline", () => {
  test("after one visit the page works without a network, engine included", () =>
    stage.withProfile({}, async (lab, { context }) => {
      await lab.page.evaluate(() => navigator.serviceWorker.ready);
      await lab.page.waitForFunction(() => navigator.serviceWorker.controller !== null);
      await context.setOffline(true);
      await lab.page.reload();
      await lab.settled();
      await lab.write(SMALL);
      await lab.step(/^FoldConstant changed/).waitFor();
      // An embed is a page of its own, also to the service worker.
      await lab.page.goto(new URL("embed.html?mode=steps", lab.page.url()).href);
      await lab.page.getByRole("link", { name: "Open in passlab" }).waitFor();
      await context.setOffline(false);
    }));

  /** The answer that was sent on was kept, and opened no page any more. */
  test("also from a host that sends index.html on to the folder", async () => {
    const own = await serve(dist, "/clean/", { clean: true });
    try {
      await stage.withProfile(
        {},
        async (lab, { context }) => {
          await lab.page.waitForFunction(() => navigator.serviceWorker.controller !== null);
          await lab.page.reload();
          await lab.settled();
          await context.setOffline(true);
          await lab.page.goto(own.url);
          await lab.settled();
          await lab.page.goto(new URL("embed?mode=steps", own.url).href);
          await lab.page.getByRole("link", { name: "Open in passlab" }).waitFor();
          await context.setOffline(false);
        },
        own.url,
      );
    } finally {
      await own.close();
    }
  });
});

describe("a new version", () => {
  test("waits until it is asked for, then takes over as a whole", async () => {
    const folder = await mkdtemp(join(tmpdir(), "passlab-"));
    await cp(dist, folder, { recursive: true });
    const own = await serve(folder);
    try {
      await stage.withProfile(
        {},
        async (lab) => {
          await lab.page.waitForFunction(() => navigator.serviceWorker.controller !== null);
          await lab.write(SMALL);
          const worker = await readFile(join(folder, "sw.js"), "utf8");
          await writeFile(join(folder, "sw.js"), worker.replace(/VERSION\s*=\s*["`]/, "$&2"));
          const index = await readFile(join(folder, "index.html"), "utf8");
          await writeFile(join(folder, "index.html"), index.replace("<title>", "<title>new "));
          await lab.page.reload();
          await lab.page.getByText("A new version of passlab is ready").waitFor();
          expect(await lab.page.title()).toBe("passlab");
          await lab.button("Reload").click();
          await eventually(() => lab.page.title().catch(() => ""), "new passlab");
          await lab.settled();
          expect(await lab.source()).toBe(SMALL);
        },
        own.url,
      );
    } finally {
      await own.close();
      await rm(folder, { recursive: true });
    }
  });
});

test("a part of the page whose code is missing says so", async () => {
  const all = await profile(stage.browser);
  try {
    await all.context.route(/\/panels-[^/]*\.js/, (route) => route.abort());
    const { page } = await all.open(stage.site.url);
    await page.getByText("No problems.").waitFor();
    await page.keyboard.press("o");
    await page.getByRole("alert").getByText("could not be loaded").first().waitFor();
  } finally {
    await all.context.close();
  }
});

/** The page inside of other pages. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dist, eventually, profile, SMALL, type Stage, setUp } from "./browser";
import { serve } from "./site";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const TEXT = `// passlab 1\n// pass: FoldConstant()\n// pass: FuseOps()\n// step: FoldConstant#1\n${SMALL}`;
const LINK = `1.${deflateSync(TEXT).toString("base64url")}`;

describe("embeds", () => {
  test("ten in a page of another host share one engine, have their height, and leave its address alone", async () => {
    const loader = await readFile(resolve(dist, "embed.js"), "utf8");
    expect(loader.length).toBeLessThan(20_000);
    const folder = await mkdtemp(join(tmpdir(), "passlab-host-"));
    const tag = (mode: string) => `<passlab-embed link="#${LINK}" mode="${mode}"></passlab-embed>`;
    const modes = ["read", ...Array<string>(9).fill("steps")];
    await writeFile(
      join(folder, "index.html"),
      `<!doctype html><title>host</title><script type="module" src="${stage.site.url}embed.js"></script>${modes.map(tag).join("")}`,
    );
    const host = await serve(folder, "/blog/");
    const all = await profile(stage.browser);
    try {
      // The loader comes from another origin, as on any blog.
      await all.context.route(`${stage.site.url}embed.js`, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({
          response: answer,
          headers: { ...answer.headers(), "access-control-allow-origin": "*" },
        });
      });
      let engines = 0;
      all.context.on("request", (request) => {
        if (request.url().includes("passlab_bg")) engines++;
      });
      const lab = await all.open(host.url);
      const { page } = lab;
      await page.evaluate(() => {
        for (const frame of document.querySelectorAll("iframe")) frame.loading = "eager";
      });
      const frames = () => page.frames().filter((frame) => frame.url().includes("embed.html"));
      await eventually(() => frames().length, 10);
      for (const frame of frames()) {
        await frame
          .getByRole("listbox", { name: "Steps" })
          .getByRole("option", { name: /^FoldConstant changed/, selected: true })
          .waitFor();
      }
      expect(engines).toBeLessThanOrEqual(1);
      const [first, second] = frames();
      if (!first || !second) throw new Error("no frames");
      await first.getByRole("region", { name: "Program" }).getByText("multiply").waitFor();
      expect(await second.getByRole("region", { name: "Program" }).count()).toBe(0);
      await second.getByRole("button", { name: "Next changed step" }).click();
      await second
        .getByRole("option", { name: /^(InferType|FuseOps) changed/, selected: true })
        .waitFor();
      expect(await second.getByRole("textbox").count()).toBe(0);
      const heights = await page.evaluate(() =>
        [...document.querySelectorAll("iframe")].map((frame) => frame.clientHeight),
      );
      // Browsers lay frames out as they come into view.
      expect(Math.min(...heights.slice(0, 2))).toBeGreaterThan(400);
      expect(page.url()).toBe(host.url);
      expect(await page.evaluate(() => history.length)).toBeLessThanOrEqual(2);
      expect(all.errors).toEqual([]);
    } finally {
      await all.context.close();
      await host.close();
      await rm(folder, { recursive: true });
    }
  });

  /** The example once stood under the alert, as if it were the content of the link. */
  test("of a damaged link say so and show nothing in its place", async () => {
    const all = await profile(stage.browser);
    try {
      const { page } = await all.open(`${stage.site.url}embed.html?mode=steps#2.damaged`);
      await page.getByRole("alert").getByText("This link").waitFor();
      expect(await page.getByRole("option").count()).toBe(0);
    } finally {
      await all.context.close();
    }
  });
});

/** Links hold everything that is on the screen, and never replace the user's own work without a copy. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, profile, SMALL, type Stage, setUp, WITHOUT_WORKER } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const withPage: Stage["withPage"] = (...given) => stage.withPage(...given);

describe("links", () => {
  test("what is said of it moves no button, and the header stays one line", async () => {
    for (const width of [1440, 1024, 900]) {
      await withPage({ viewport: { width, height: 800 } }, async (lab) => {
        const place = async () => {
          const [button, header] = [lab.button("Share"), lab.page.locator("header")];
          return [await button.boundingBox(), (await header.boundingBox())?.height];
        };
        const before = await place();
        expect(before[1]).toBeLessThan(60);
        await lab.button("Share").click();
        await lab.page.getByText("Link copied").waitFor();
        expect(await place()).toEqual(before);
      });
    }
  });

  test("a shared link opens the same state, step included, in a fresh profile", async () => {
    let link = "";
    let name = "";
    await withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.pass("EliminateCommonSubexpr").uncheck();
      await lab.step(/^FoldConstant changed/).click();
      await lab.tab("Before/After").click();
      await lab.button("Share").click();
      await lab.page.getByText("Link copied").waitFor();
      link = await lab.page.evaluate(() => navigator.clipboard.readText());
      expect(link).toBe(lab.page.url());
      name = await lab.selectedName();
    });
    await withPage(
      {},
      async (lab) => {
        await eventually(() => lab.source(), SMALL);
        expect(await lab.pass("EliminateCommonSubexpr").isChecked()).toBe(false);
        await eventually(async () => (await lab.selectedName()).split(" ")[0], name.split(" ")[0]);
        expect(await lab.tab("Before/After").getAttribute("aria-selected")).toBe("true");
        // An edit makes it the reader's own: a reload keeps the edit, not the link.
        await lab.program.click();
        await lab.page.keyboard.press("Control+End");
        await lab.page.keyboard.insertText("// mine\n");
        await lab.page.reload();
        await lab.settled();
        await eventually(() => lab.source(), /mine/);
      },
      link,
    );
  });

  test("a damaged link says so and leaves one's own program alone", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await eventually(() => lab.source(), SMALL);
      await lab.page.waitForTimeout(400);
      await lab.page.evaluate(() => {
        location.hash = "#p1!damaged";
      });
      await lab.page.getByRole("alert").getByText("This link").waitFor();
      expect(await lab.source()).toBe(SMALL);
    }));

  test("what is typed while the panel of Share is fetched goes into the program", async () => {
    const all = await profile(stage.browser);
    // Nothing may come out of the store for offline use.
    await all.context.addInitScript(WITHOUT_WORKER);
    let arrive = () => {};
    const arrived = new Promise<void>((done) => {
      arrive = done;
    });
    await all.context.route(/assets\/panels-.*js$/, async (route) => {
      await arrived;
      await route.continue();
    });
    const lab = await all.open(stage.site.url);
    await lab.settled();
    await lab.button("Share").click();
    await lab.page.getByText("Link copied").waitFor();
    await lab.write(SMALL);
    const come = lab.page.waitForEvent("requestfinished", (request) =>
      /panels-.*js$/.test(request.url()),
    );
    arrive();
    await come;
    await lab.page.keyboard.type("// end");
    await eventually(() => lab.source(), `${SMALL}// end`);
    expect(await lab.page.getByRole("dialog", { name: "Share" }).count()).toBe(0);
    expect(all.errors).toEqual([]);
    await all.context.close();
  });

  test("a link cut in half is named, and one's own program stays", () =>
    withPage({}, async (lab) => {
      await lab.button("Share").click();
      await lab.page.getByText("Link copied").waitFor();
      const { hash } = new URL(lab.page.url());
      await lab.write(SMALL);
      await eventually(() => lab.page.url().includes("#"), false);
      await lab.page.evaluate(
        (half) => {
          location.hash = half;
        },
        hash.slice(0, hash.length / 2),
      );
      await lab.page.getByRole("alert").getByText("This link").waitFor();
      expect(await lab.source()).toBe(SMALL);
    }));

  test("opening a link keeps one's own work one click away", () =>
    withPage({}, async (lab) => {
      await lab.button("Share").click();
      await lab.page.getByText("Link copied").waitFor();
      const link = lab.page.url();
      await lab.write(SMALL);
      await eventually(() => lab.source(), SMALL);
      await eventually(() => lab.page.url().includes("#"), false);
      await lab.page.evaluate((hash) => {
        location.hash = hash;
      }, new URL(link).hash);
      await lab.button("Back to my program").click();
      await eventually(() => lab.source(), SMALL);
    }));

  test("Share says how far the link reaches and gives it in other forms", () =>
    stage.withProfile({}, async (lab, all) => {
      await lab.write(SMALL);
      await lab.step(/^FoldConstant changed/).click();
      await lab.page.keyboard.press(".");
      const menu = lab.page.getByRole("dialog", { name: "Share" });
      await menu.getByText(/characters\. It fits everywhere/).waitFor();
      const link = await menu.getByRole("textbox", { name: "Link" }).inputValue();
      expect(link).toBe(lab.page.url());
      const read = () => lab.page.evaluate(() => navigator.clipboard.readText());
      await menu.getByRole("button", { name: "Copy Markdown with the diff" }).press("Enter");
      await menu.getByText("diff copied").waitFor();
      expect(await read()).toMatch(
        /^\[passlab: FoldConstant on main\]\(.*\)[\s\S]*```diff\n[\s\S]*-.*add[\s\S]*```\n$/i,
      );
      await menu.getByRole("button", { name: "Copy command line" }).press("Enter");
      await eventually(read, /^passlab open '#2\./);
      const saved = async (name: string) => {
        const [download] = await Promise.all([
          lab.page.waitForEvent("download"),
          menu.getByRole("button", { name }).press("Enter"),
        ]);
        return readFile(await download.path(), "utf8");
      };
      expect(await saved("Save reproducer file")).toMatch(
        /^\/\/ passlab 1\n[\s\S]*\/\/ result: [0-9a-f]{6}\n/,
      );
      expect(await saved("Save Python script")).toContain("assert_structural_equal");
      const folder = await mkdtemp(join(tmpdir(), "passlab-"));
      const file = join(folder, "trace.html");
      await writeFile(file, await saved("Save page"));
      const offline = await all.context.newPage();
      const asked: string[] = [];
      offline.on("request", (request) => asked.push(request.url()));
      await offline.goto(`file://${file}`);
      await offline.getByRole("heading", { name: "FoldConstant: changed" }).waitFor();
      await offline.keyboard.press("j");
      await offline
        .getByRole("heading", { name: "FoldConstant: changed" })
        .waitFor({ state: "hidden" });
      expect(asked).toEqual([`file://${file}`]);
      await rm(folder, { recursive: true });
      await menu.press("Escape");
      await eventually(() => menu.count(), 0);
    }));

  test("a link whose result was another one says so; links of version 1 open", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.step(/^FoldConstant changed/).click();
      const text = `// passlab 1\n// pass: FoldConstant()\n// engine: 0.0.1\n// result: 000001\n${SMALL}`;
      const link = `1.${deflateSync(text).toString("base64url")}`;
      await lab.page.evaluate((hash) => {
        location.hash = hash;
      }, link);
      await lab.page.getByText("This link was made with passlab 0.0.1").waitFor();
      await lab.button("Back to my program").waitFor();
    }));
});

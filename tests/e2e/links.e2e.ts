/** Links hold everything that is on the screen, and never cost anybody their own work. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, SMALL, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const withPage: Stage["withPage"] = (...given) => stage.withPage(...given);

describe("links", () => {
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
      await eventually(() => lab.page.url().includes("#"), false);
      await lab.page.evaluate((hash) => {
        location.hash = hash;
      }, new URL(link).hash);
      await lab.button("Back to my program").click();
      await eventually(() => lab.source(), SMALL);
    }));
});

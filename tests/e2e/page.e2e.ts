import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, profile, serveDist } from "./browser";
import type { Site } from "./site";

let browser: Browser;
let site: Site;

beforeAll(async () => {
  [browser, site] = await Promise.all([launch(), serveDist()]);
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

test("a first visit shows an example, run, with its most interesting diff and a hint", async () => {
  const { context, errors, open } = await profile(browser);
  const lab = await open(site.url);
  await lab.settled();
  await lab.region("Diff").getByText("added").first().waitFor();
  expect(await lab.problems.count()).toBe(0);
  expect(await lab.page.getByText("Press n for the next step").count()).toBe(1);
  expect(errors).toEqual([]);
  await context.close();
});

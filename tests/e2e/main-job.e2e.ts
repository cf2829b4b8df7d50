/** The main job, as a user does it: a real network pasted, folded, fused, stepped through, shared and opened elsewhere. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, launch, profile, serveDist } from "./browser";
import type { Site } from "./site";

const network = resolve(import.meta.dirname, "../../../shared/corpus/relay/resnet-50.relay");

let browser: Browser;
let site: Site;

beforeAll(async () => {
  [browser, site] = await Promise.all([launch(), serveDist()]);
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

test.skipIf(!existsSync(network))(
  "ResNet-50 is pasted, folded, fused, stepped through, shared and opened in a fresh profile",
  async () => {
    const text = readFileSync(network, "utf8");
    const first = await profile(browser);
    const lab = await first.open(site.url);
    await lab.settled();
    await lab.write(text);
    const choice = lab.page.getByRole("combobox", { name: "Pipeline" });
    await choice.selectOption({ label: "relay.build at O3" });
    await lab.step(/^FuseOps changed/).waitFor();
    expect(await lab.problems.count()).toBe(0);
    await lab.page.getByText(/steps, \d+ changed/).waitFor();

    // From change to change, each with its diff.
    await lab.step(/^FuseOps changed/).click();
    await lab.region("Diff").locator(".line").first().waitFor();
    const names = new Set<string>();
    for (let count = 0; count < 12; count++) {
      names.add(await lab.selectedName());
      await lab.page.keyboard.press("p");
    }
    expect([...names].every((name) => name.includes("changed"))).toBe(true);
    expect(names.size).toBeGreaterThan(2);
    await lab.step(/^SimplifyInference changed/).click();
    await lab
      .region("Diff")
      .getByText(/\d+ (added|changed|removed)/)
      .first()
      .waitFor();
    const counts = await lab.region("Diff").locator(".counts").textContent();

    await lab.button("Share").click();
    await lab.page.getByText("Link copied").waitFor();
    const link = await lab.page.evaluate(() => navigator.clipboard.readText());
    expect(first.errors).toEqual([]);
    await first.context.close();

    const second = await profile(browser);
    const other = await second.open(link);
    await other.step(/^SimplifyInference changed/).waitFor();
    await eventually(() => other.selectedName(), /^SimplifyInference changed/);
    await eventually(() => other.region("Diff").locator(".counts").textContent(), counts);
    await other.tab("Before/After").click();
    await other.region("Before").getByText("nn.batch_norm").first().waitFor();
    // Leaving the program as it is, the same link comes out again.
    await other.tab("Diff").click();
    await other.button("Share").click();
    await other.page.getByText("Link copied").waitFor();
    expect(other.page.url()).toBe(link);
    expect(second.errors).toEqual([]);
    await second.context.close();
  },
  120_000,
);

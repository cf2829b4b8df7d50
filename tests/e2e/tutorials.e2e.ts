/**
 * TVM's tutorials on passes and the notebook of a design document, pasted as they stand. They lie beside the project and are
 * skipped without it.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Stage, setUp } from "./browser";

const folder = resolve(import.meta.dirname, "../../../shared/python/tutorials");
let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

/** Returns the cells of the notebook, one after the other. */
function notebook(): string {
  const seeds = resolve(folder, "seeds");
  const cells = readdirSync(seeds).filter((name) => name.includes("_nb_cell"));
  const number = (name: string) => Number(/cell(\d+)/.exec(name)?.[1]);
  cells.sort((a, b) => number(a) - number(b));
  return cells.map((name) => readFileSync(resolve(seeds, name), "utf8")).join("\n");
}

const file = (path: string) => readFileSync(resolve(folder, path), "utf8");
const TUTORIALS: Readonly<Record<string, () => string>> = {
  "the notebook of the document on Relax": notebook,
  "use_pass_infra.py": () => file("0.19/use_pass_infra.py"),
  "use_pass_instrument.py": () => file("0.19/use_pass_instrument.py"),
};

test.skipIf(!existsSync(folder))(
  "run to their end without a problem",
  () =>
    stage.withPage({}, async (lab) => {
      await lab.tab("My passes").click();
      await lab.patience(90);
      for (const [name, text] of Object.entries(TUTORIALS)) {
        await lab.writeScript(`# language: python\n${text()}\nprint("the end of", "${name}")\n`);
        const end = lab.console.getByText(`the end of ${name}`);
        await end.first().waitFor({ timeout: 120_000 });
        await lab.page.getByText("No problems.").waitFor();
      }
      expect(await lab.console.locator("pre").count()).toBeGreaterThan(5);
    }),
  300_000,
);

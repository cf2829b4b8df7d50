/** Accessibility: by keyboard alone, by assistive technology, on a phone, in the dark. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Lab, SMALL, type Stage, setUp } from "./browser";

let stage: Stage;

beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage?.close());

const withVisible: Stage["withVisible"] = (...given) => stage.withVisible(...given);
const withPage: Stage["withPage"] = (...given) => stage.withPage(...given);

describe("keyboard", () => {
  test("steps are gone through by keys outside of the editor", () =>
    withPage({}, async (lab) => {
      const selected = () => lab.selected.getAttribute("data-step").then(Number);
      const start = await selected();
      // Steps that changed nothing and stand for no row are folded.
      await lab.page.keyboard.press("k");
      await eventually(selected, start - 3);
      await lab.page.keyboard.press("j");
      await eventually(selected, start);
      await lab.page.keyboard.press("p");
      await eventually(() => lab.selectedName(), / changed/);
      expect(await selected()).toBeLessThan(start);
      await lab.page.keyboard.press("n");
      await eventually(selected, start);
      await lab.page.keyboard.press("2");
      await lab.region("Before").waitFor();
      await lab.page.keyboard.press("?");
      await lab.page.getByRole("dialog", { name: "Keyboard" }).waitFor();
      await lab.page.keyboard.press("Escape");
      await eventually(() => lab.page.getByRole("dialog").count(), 0);
    }));

  test("every command is found by its name, also where single keys are switched off", () =>
    withPage({}, async (lab) => {
      const palette = lab.page.getByRole("dialog", { name: "Commands" });
      const find = async (words: string) => {
        await lab.page.keyboard.press("Control+k");
        await palette.getByRole("combobox", { name: "Command" }).fill(words);
      };
      await find("single keys");
      await lab.page.keyboard.press("Enter");
      await lab.page.keyboard.press("2");
      await find("go to foldconstant");
      const found = palette.getByRole("option", { name: /^Go to FoldConstant/, selected: true });
      // A class of another panel had centred the names.
      expect(await found.evaluate((row) => getComputedStyle(row).textAlign)).toBe("start");
      await lab.page.keyboard.press("Enter");
      await eventually(() => palette.count(), 0);
      await eventually(() => lab.selectedName(), /^FoldConstant/);
      expect(await lab.tab("Diff").getAttribute("aria-selected")).toBe("true");
    }));

  test("Escape leaves the program for the steps, where the arrow keys go on", () =>
    withPage({}, async (lab) => {
      await lab.page.keyboard.press("e");
      await eventually(() => lab.program.evaluate((node) => node === document.activeElement), true);
      const text = await lab.source();
      await lab.page.keyboard.press("n");
      await eventually(() => lab.source(), `n${text}`);
      await lab.page.keyboard.press("Control+z");
      await lab.page.keyboard.press("Escape");
      const focused = () => lab.page.evaluate(() => document.activeElement?.getAttribute("role"));
      await eventually(focused, "option");
      const before = await lab.selected.getAttribute("data-step");
      await lab.page.keyboard.press("ArrowUp");
      await eventually(() => lab.selected.getAttribute("data-step"), String(Number(before) - 3));
      await eventually(focused, "option");
    }));

  test("everything is reached by Tab, in order, without a trap", () =>
    withPage({}, async (lab) => {
      const seen = new Set<string>();
      for (let count = 0; count < 80; count++) {
        await lab.page.keyboard.press("Tab");
        const name = await lab.page.evaluate(() => {
          const active = document.activeElement;
          if (!active || active === document.body) return "";
          return `${active.getAttribute("role") ?? active.tagName.toLowerCase()} ${active.getAttribute("aria-label") ?? active.textContent?.slice(0, 20)}`;
        });
        if (!name && seen.size > 5) break;
        seen.add(name);
      }
      for (const wanted of [
        "select Example",
        "select Pipeline",
        "button Share",
        "textbox Program",
        "input FuseOps",
        "button Edit FuseOps",
        "tab Diff",
        "separator Width of the program",
      ]) {
        expect([...seen].join("\n")).toContain(wanted);
      }
      expect([...seen].some((name) => name.startsWith("option"))).toBe(true);
    }));
});

describe("access", () => {
  const axe = readFileSync(
    resolve(import.meta.dirname, "../../node_modules/axe-core/axe.min.js"),
    "utf8",
  );
  /** The rules whose answer depends on colours. */
  const OF_COLOURS = ["color-contrast", "link-in-text-block"];
  async function violations(lab: Lab, rules?: string[]): Promise<string[]> {
    // The policy of the page forbids inline scripts; the protocol's evaluate does not ask it.
    if (!(await lab.page.evaluate(() => "axe" in window))) await lab.page.evaluate(axe);
    return lab.page.evaluate(async (wanted) => {
      const checker = (
        window as unknown as { axe: { run(options: object): Promise<{ violations: never[] }> } }
      ).axe;
      // Elements in order are not put into words.
      const result = await checker.run({
        resultTypes: ["violations"],
        ...(wanted && { runOnly: wanted }),
      });
      return result.violations.map(
        (item: { id: string; nodes: { target: unknown[]; failureSummary?: string }[] }) =>
          `${item.id}: ${item.nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary ?? ""}`).join(" | ")}`,
      );
    }, rules);
  }

  for (const width of [1440, 360]) {
    test(
      `axe finds nothing: light and dark, ${width} wide`,
      () =>
        withPageOf(width, "light", async (lab) => {
          const clean = async () => {
            expect(await violations(lab)).toEqual([]);
            await lab.page.emulateMedia({ colorScheme: "dark" });
            expect(await violations(lab, OF_COLOURS)).toEqual([]);
            await lab.page.emulateMedia({ colorScheme: "light" });
          };
          const narrow = width < 900;
          const pane = async (name: string) => {
            if (narrow) await lab.page.getByRole("tab", { name, exact: true }).click();
          };
          await clean();
          await pane("Passes");
          await lab.page.getByText("Context", { exact: true }).click();
          await lab.button("Add pass").click();
          await clean();
          await lab.page.keyboard.press("Escape");
          await pane("Result");
          for (const name of ["Diff", "Before/After", "Graph", "Values", "Timing"]) {
            await lab.tab(name).click();
            await clean();
          }
          await lab.tab("Diff").click();
          await lab.button("Side by side").click();
          await clean();
          await pane("Program");
          await lab.write("nonsense");
          await eventually(() => lab.problems.count().then((count) => count > 0), true);
          await clean();
          await lab.tab("My passes").click();
          await lab.script.waitFor();
          await clean();
          await lab.page.getByRole("combobox", { name: "Sample" }).selectOption({ index: 4 });
          await lab.page.getByRole("list", { name: "Your passes" }).waitFor();
          await clean();
          await lab.page.keyboard.press("Escape");
          await lab.page.getByRole("button", { name: "Keyboard shortcuts" }).click();
          await clean();
        }),
      120_000,
    );
  }

  for (const [looks, width] of [
    ["dark", 360],
    ["forced colours", 1440],
    ["light", 768],
  ] as const) {
    test(
      `axe finds nothing in what is opened on demand: ${looks}, ${width} wide`,
      () =>
        withPageOf(width, looks, async (lab) => {
          const { page } = lab;
          const pane = async (name: string) => {
            if (width < 900) await page.getByRole("tab", { name, exact: true }).click();
          };
          expect(await violations(lab)).toEqual([]);
          await pane("Passes");
          await lab.button("Phases").click();
          expect(await violations(lab)).toEqual([]);
          await pane("Program");
          await lab.write(SMALL);
          await pane("Result");
          // The result of the program before is there already: only this one has inputs of this shape.
          await lab.region("Diff").locator(".line", { hasText: "(2, 3)" }).first().waitFor();
          await page.keyboard.press("Escape");
          await page.keyboard.press("b");
          await page.keyboard.press("Enter");
          await lab.region("History of an expression").waitFor();
          expect(await violations(lab)).toEqual([]);
          await lab.tab("Values").click();
          await lab.button("Evaluate").click();
          await page.getByText("Inputs", { exact: true }).click();
          expect(await violations(lab)).toEqual([]);
          await page.getByRole("radio", { name: "Heat maps" }).check({ force: true });
          expect(await violations(lab)).toEqual([]);
          await lab.tab("Graph").click();
          await lab.button("Dominators").click();
          expect(await violations(lab)).toEqual([]);
          await page.keyboard.press("v");
          await page.getByRole("group", { name: "Steps of both, aligned" }).waitFor();
          expect(await violations(lab)).toEqual([]);
        }),
      120_000,
    );
  }

  function withPageOf(
    width: number,
    looks: "light" | "dark" | "forced colours",
    body: (lab: Lab) => Promise<void>,
  ): Promise<void> {
    const forced = looks === "forced colours";
    const colours = forced ? ({ forcedColors: "active" } as const) : { colorScheme: looks };
    return withVisible({ viewport: { width, height: 800 }, ...colours }, body);
  }

  test("nothing moves by itself where motion is to be reduced", () =>
    withPage({ reducedMotion: "reduce" }, async (lab) => {
      const moving = () => lab.page.evaluate(() => document.getAnimations().length);
      for (const key of ["n", "g", "2", "1", "r", "?"]) {
        await lab.page.keyboard.press(key);
        expect(await moving()).toBe(0);
      }
    }));
});

describe("narrow", () => {
  test("the panes are tabs, and the main job works", () =>
    withVisible({ viewport: { width: 400, height: 800 }, hasTouch: true }, async (lab) => {
      await lab.write(SMALL);
      await lab.tab("Passes").click();
      await lab.step(/^FuseOps changed/).click();
      await lab.tab("Result").click();
      await lab.region("Diff").getByText("Primitive=1").first().waitFor();
      await lab.button("Previous changed step").click();
      await lab.tab("Passes").click();
      await eventually(() => lab.selectedName(), /^(?!FuseOps).*changed/);
      const overflow = await lab.page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow).toBeLessThanOrEqual(0);
    }));

  test("at 200 % nothing is lost and nothing scrolls sideways", async () => {
    for (const viewport of [
      { width: 720, height: 450 },
      { width: 360, height: 400 },
    ]) {
      await withVisible({ viewport, deviceScaleFactor: 2 }, async (lab) => {
        const { page } = lab;
        for (const pane of ["Program", "My passes", "Passes", "Result"]) {
          await lab.tab(pane).click();
          const outside = await page.evaluate(() => {
            const most = document.documentElement.clientWidth;
            const controls = document.querySelectorAll("header *, main button, main select");
            const wide = [...controls].filter((one) => {
              const { left, right, width } = one.getBoundingClientRect();
              // Elements in a region that scrolls by itself can be reached.
              const scrolls = one.closest(".lines, .graph-view, .cm-editor, .values, .sr");
              return width > 0 && !scrolls && (left < -1 || right > most + 1);
            });
            const page = document.documentElement.scrollWidth > most ? ["the page"] : [];
            return [...page, ...wide.map((one) => one.outerHTML.slice(0, 80))];
          });
          expect(outside).toEqual([]);
        }
        for (const view of ["Diff", "Before/After", "Graph", "Values", "Timing"]) {
          await lab.tab(view).click();
          // There is room for the panel.
          const panel = await page.getByRole("tabpanel", { name: view }).boundingBox();
          expect(panel?.height).toBeGreaterThan(100);
          const sideways = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          expect(sideways).toBeLessThanOrEqual(0);
        }
      });
    }
  });

  test("320 wide still fits", () =>
    withVisible({ viewport: { width: 320, height: 640 } }, async (lab) => {
      for (const name of ["Passes", "Result", "Program"]) {
        await lab.tab(name).click();
        expect(
          await lab.page.evaluate(() => document.documentElement.scrollWidth),
        ).toBeLessThanOrEqual(320);
      }
      await lab.button("Share").click();
    }));
});

describe("looks", () => {
  test("the theme is toggled and kept; panes keep their size", () =>
    withPage({}, async (lab) => {
      const ground = () =>
        lab.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const light = await ground();
      await lab.page.getByRole("button", { name: "Theme: system" }).click();
      await lab.page.getByRole("button", { name: "Theme: light" }).click();
      await eventually(async () => (await ground()) !== light, true);
      const splitter = lab.page.getByRole("separator", { name: "Width of the program" });
      await splitter.focus();
      await lab.page.keyboard.press("ArrowRight");
      const width = await splitter.getAttribute("aria-valuenow");
      await lab.page.reload();
      await lab.settled();
      expect(await ground()).not.toBe(light);
      expect(await splitter.getAttribute("aria-valuenow")).toBe(width);
    }));
});

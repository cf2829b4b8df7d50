import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Lab, launch, profile, serveDist } from "./browser";
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

const SMALL = `#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = add(2f, 3f);
  %1 = multiply(%x, %0);
  nn.relu(%1)
}
`;

/** A page in a profile of its own; the test fails on any error in its console. */
async function withPage(
  options: Parameters<typeof profile>[1],
  body: (lab: Lab, all: Awaited<ReturnType<typeof profile>>) => Promise<void>,
  url = site.url,
): Promise<void> {
  const all = await profile(browser, options);
  try {
    const lab = await all.open(url);
    await lab.settled();
    await body(lab, all);
    expect(all.errors).toEqual([]);
  } finally {
    await all.context.close();
  }
}

describe("a first visit", () => {
  test("shows an example, run, with its most interesting diff and one hint", () =>
    withPage({}, async (lab) => {
      await lab
        .region("Diff")
        .getByText(/\d+ (added|changed)/)
        .first()
        .waitFor();
      expect(await lab.problems.count()).toBe(0);
      expect(await lab.page.getByText("for the next step that changed something").count()).toBe(1);
      await eventually(() => lab.selectedName(), /^\w+ changed/);
    }));
});

describe("editing", () => {
  test("an edit runs at once, a mistake is underlined and listed, and leads to its place", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL.replace("%1)\n", "%missing)\n"));
      await eventually(() => lab.problems.count(), 1);
      await eventually(() => lab.problems.first().textContent(), /5:11[\s\S]*missing/);
      await lab.page.locator(".cm-lintRange-error").first().waitFor();
      // The last good result stays, and says that it is old.
      expect(await lab.steps.count()).toBeGreaterThan(0);
      await lab.page.getByText("stale").first().waitFor();
      await lab.problems.first().getByRole("button").click();
      await eventually(() => lab.program.evaluate((node) => node === document.activeElement), true);
      await lab.page.keyboard.insertText("%1");
      await eventually(() => lab.problems.count(), 0);
      await eventually(() => lab.page.getByText("stale").count(), 0);
    }));

  test("what was typed is there after a reload", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await eventually(() => lab.source(), SMALL);
      await lab.page.reload();
      await lab.settled();
      expect(await lab.source()).toBe(SMALL);
    }));

  test("an example that takes the place of one's own program can be undone", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.example("MLP");
      await eventually(() => lab.source(), /three|hidden layers/);
      await lab.button("Undo").click();
      await eventually(() => lab.source(), SMALL);
    }));
});

describe("passes", () => {
  test("a pass is switched off and on", () =>
    withPage({}, async (lab) => {
      await lab.step(/^FuseOps changed/).waitFor();
      await lab.pass("FuseOps").uncheck();
      await eventually(() => lab.step(/^FuseOps/).count(), 0);
      await lab.pass("FuseOps").check();
      await lab.step(/^FuseOps changed/).waitFor();
    }));

  test("the opt level decides which passes run, and the row says why", () =>
    withPage({}, async (lab) => {
      await lab.optLevel(0);
      await lab.step(/^FoldConstant skipped.*2/).waitFor();
      await lab.optLevel(2);
      await lab.step(/^FoldConstant (changed|no change)/).waitFor();
      await lab.step(/^EliminateCommonSubexpr skipped/).click();
      await lab.button("Set opt level 3").click();
      await lab.step(/^EliminateCommonSubexpr (changed|no change)/).waitFor();
    }));

  test("passes are added through the filter, configured, moved and removed", () =>
    withPage({}, async (lab) => {
      const names = () =>
        lab.page
          .getByRole("list", { name: "Passes" })
          .getByRole("checkbox")
          .evaluateAll((boxes) => boxes.map((box) => box.getAttribute("aria-label")));
      const before = await names();
      await lab.button("Add pass").click();
      await lab.page.keyboard.type("deadcode");
      await lab.page.keyboard.press("Enter");
      await eventually(names, [...before, "DeadCodeElimination"]);
      await lab.pass("DeadCodeElimination").focus();
      await lab.page.keyboard.press("Alt+ArrowUp");
      await eventually(names, [...before.slice(0, -1), "DeadCodeElimination", before.at(-1) ?? ""]);
      // The focus went along, so the next press moves the same row.
      await lab.page.keyboard.press("Alt+ArrowUp");
      await eventually(async () => (await names()).indexOf("DeadCodeElimination"), 2);
      await lab.button("Edit FuseOps").click();
      const call = lab.page.getByRole("textbox", { name: "Call" });
      await call.fill("FuseOps(fuse_opt_level=");
      await lab.page.getByText("“)” is missing").waitFor();
      await call.fill("FuseOps(fuse_opt_level=0)");
      await lab.page.keyboard.press("Enter");
      await lab.page.getByText("(fuse_opt_level=0)").waitFor();
      await lab.pass("DeadCodeElimination").focus();
      await lab.page.keyboard.press("Delete");
      await eventually(names, before);
    }));

  test("a pass is dragged to another place", () =>
    withPage({}, async (lab) => {
      const boxes = lab.page.getByRole("list", { name: "Passes" }).getByRole("checkbox");
      const names = () =>
        boxes.evaluateAll((list) => list.map((box) => box.getAttribute("aria-label")));
      const [first, second, ...rest] = await names();
      const from = await lab.page.locator(".grip").nth(0).boundingBox();
      const to = await lab.page.locator(".grip").nth(1).boundingBox();
      if (!from || !to) throw new Error("no grips");
      await lab.page.mouse.move(from.x + 6, from.y + from.height / 2);
      await lab.page.mouse.down();
      await lab.page.mouse.move(to.x + 6, to.y + to.height - 2, { steps: 4 });
      await lab.page.mouse.up();
      await eventually(names, [second, first, ...rest]);
    }));

  test("a preset brings its passes and its level", () =>
    withPage({}, async (lab) => {
      const choice = lab.page.getByRole("combobox", { name: "Pipeline" });
      await eventually(() => choice.isEnabled(), true);
      const titles = await choice.locator("option").allTextContents();
      const preset = titles.find((title) => /O4|4/.test(title)) ?? titles.at(-1) ?? "";
      await choice.selectOption({ label: preset });
      await eventually(() => lab.passes.count().then((count) => count > 3), true);
      await eventually(
        () => lab.page.getByRole("radio", { checked: true }).getAttribute("value"),
        /4/,
      );
    }));

  test("instruments print into their log", () =>
    withPage({}, async (lab) => {
      expect(await lab.page.getByRole("log", { name: "Instruments" }).count()).toBe(0);
      await lab.page.getByText("Context", { exact: true }).click();
      await lab.page.getByRole("checkbox", { name: "Print after" }).check();
      await lab.page.getByRole("log", { name: "Instruments" }).getByText("@main").first().waitFor();
    }));
});

describe("looking", () => {
  test("every view of a step shows that step", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.step(/^FuseOps changed/).click();
      await lab.region("Diff").getByText("Primitive=1").first().waitFor();
      await lab.tab("Before/After").click();
      await lab.region("After").getByText("Primitive=1").first().waitFor();
      expect(await lab.region("Before").getByText("Primitive=1").count()).toBe(0);
      await lab.tab("Timing").click();
      await lab.region("Timing").getByRole("rowheader", { name: "FuseOps" }).waitFor();
      await lab.tab("Values").click();
      await lab.button("Evaluate").click();
      await lab.region("Values").getByText("float32").first().waitFor();
    }));

  test("the diff is unified or side by side, with signs", () =>
    withPage({}, async (lab) => {
      await lab.write(SMALL);
      await lab.step(/^FoldConstant changed/).click();
      const diff = lab.region("Diff");
      await diff.getByText("-", { exact: true }).first().waitFor();
      await diff.getByText("+", { exact: true }).first().waitFor();
      await lab.button("Side by side").click();
      await diff.locator(".half").first().waitFor();
    }));

  test("what is folded opens", () =>
    withPage({}, async (lab) => {
      await lab.example("ResNet-18");
      await lab.step(/^FuseOps changed/).click();
      const fold = lab
        .region("Diff")
        .getByRole("button", { name: /unchanged lines|more characters/ })
        .first();
      const words = (await fold.textContent()) ?? "";
      await fold.click();
      await eventually(() => lab.region("Diff").getByText(words, { exact: true }).count(), 0);
    }));

  test("only what is visible of a long diff is in the document", () =>
    withPage({}, async (lab) => {
      await lab.example("ResNet-18");
      await lab.step(/^FuseOps changed/).click();
      await eventually(
        () =>
          lab
            .region("Diff")
            .locator(".lines-all")
            .evaluate((node) => node.clientHeight > 2000),
        true,
      );
      expect(await lab.region("Diff").locator(".line").count()).toBeLessThan(100);
    }));
});

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
        await lab.page.getByText("Still running").waitFor();
        await lab.pass("FuseOps").uncheck();
        await eventually(() => lab.step(/^FuseOps/).count(), 0);
        await eventually(() => lab.page.getByText("Still running").count(), 0);
        expect(await lab.source()).toMatch(/%y/);
      },
      `${site.url}?watchdog=1`,
    );
  });
});

describe("offline", () => {
  test("after one visit the page works without a network, engine included", () =>
    withPage({}, async (lab, { context }) => {
      await lab.page.evaluate(() => navigator.serviceWorker.ready);
      await lab.page.waitForFunction(() => navigator.serviceWorker.controller !== null);
      await context.setOffline(true);
      await lab.page.reload();
      await lab.settled();
      await lab.write(SMALL);
      await lab.step(/^FoldConstant changed/).waitFor();
      await context.setOffline(false);
    }));
});

describe("keyboard", () => {
  test("steps are gone through by keys outside of the editor", () =>
    withPage({}, async (lab) => {
      const selected = () => lab.selected.getAttribute("data-step").then(Number);
      const start = await selected();
      await lab.page.keyboard.press("k");
      await eventually(selected, start - 1);
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
      await eventually(() => lab.selected.getAttribute("data-step"), String(Number(before) - 1));
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
  async function violations(lab: Lab): Promise<string[]> {
    // The policy of the page forbids inline scripts; the protocol's evaluate does not ask it.
    await lab.page.evaluate(axe);
    return lab.page.evaluate(async () => {
      const checker = (window as unknown as { axe: { run(): Promise<{ violations: never[] }> } })
        .axe;
      const result = await checker.run();
      return result.violations.map(
        (item: { id: string; nodes: { target: unknown[]; failureSummary?: string }[] }) =>
          `${item.id}: ${item.nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary ?? ""}`).join(" | ")}`,
      );
    });
  }

  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [1440, 400]) {
      test(`axe finds nothing: ${colorScheme}, ${width} wide`, () =>
        withPageOf(width, colorScheme, async (lab) => {
          const narrow = width < 900;
          const pane = async (name: string) => {
            if (narrow) await lab.page.getByRole("tab", { name, exact: true }).click();
          };
          expect(await violations(lab)).toEqual([]);
          await pane("Passes");
          await lab.page.getByText("Context", { exact: true }).click();
          expect(await violations(lab)).toEqual([]);
          await lab.button("Add pass").click();
          expect(await violations(lab)).toEqual([]);
          await lab.page.keyboard.press("Escape");
          await pane("Result");
          for (const name of ["Diff", "Before/After", "Values", "Timing"]) {
            await lab.tab(name).click();
            expect(await violations(lab)).toEqual([]);
          }
          await lab.tab("Diff").click();
          await lab.button("Side by side").click();
          expect(await violations(lab)).toEqual([]);
          await pane("Program");
          await lab.write("nonsense");
          await eventually(() => lab.problems.count().then((count) => count > 0), true);
          expect(await violations(lab)).toEqual([]);
          await lab.page.keyboard.press("Escape");
          await lab.page.getByRole("button", { name: "Keyboard shortcuts" }).click();
          expect(await violations(lab)).toEqual([]);
        }));
    }
  }

  function withPageOf(
    width: number,
    colorScheme: "light" | "dark",
    body: (lab: Lab) => Promise<void>,
  ): Promise<void> {
    return withVisible({ viewport: { width, height: 800 }, colorScheme }, body);
  }
});

/** On a narrow page the steps are not on the first tab, so there is nothing to wait for but the program. */
async function withVisible(
  options: Parameters<typeof profile>[1],
  body: (lab: Lab) => Promise<void>,
): Promise<void> {
  const all = await profile(browser, options);
  try {
    const lab = await all.open(site.url);
    await lab.program.waitFor();
    await lab.page.getByText("No problems.").waitFor();
    await body(lab);
    expect(all.errors).toEqual([]);
  } finally {
    await all.context.close();
  }
}

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

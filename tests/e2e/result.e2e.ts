/** Reading the result of a large program: finding, narrowing, the room that it has, and a head that stands still. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Lab, type Stage, setUp } from "./browser";

let stage: Stage;
beforeAll(async () => {
  stage = await setUp();
});
afterAll(() => stage.close());

/** Two functions; only one of them has constants to fold. */
const TWO = `#[version = "0.0.5"]
def @other(%y: Tensor[(2), float32]) -> Tensor[(2), float32] {
  nn.relu(%y)
}

def @main(%x: Tensor[(2), float32]) {
  %0 = add(1f, 2f);
  %1 = multiply(%x, %0);
  @other(%1)
}
`;

const searchbox = (lab: Lab) => lab.page.getByRole("searchbox", { name: "Search in the result" });
const places = (lab: Lab) => lab.page.getByRole("status", { name: "Places" });

describe("in the result", () => {
  test("a text is found in all lines, also in those that are not drawn, place by place", () =>
    stage.withPage({}, async (lab) => {
      await lab.example("ResNet-18");
      await lab
        .step(/^FuseOps/)
        .first()
        .click();
      await lab.page.keyboard.press("f");
      await lab.page.keyboard.type("nn.max_pool2d");
      await eventually(() => places(lab).textContent(), /^1\/\d+$/);
      // The place is drawn and in sight.
      await lab.region("Diff").getByText("max_pool2d").first().waitFor();
      await lab.page.keyboard.type("nowhere");
      await eventually(() => places(lab).textContent(), "nowhere");
      await searchbox(lab).fill("nn.conv2d");
      await eventually(() => places(lab).textContent(), /^1\/\d+$/);
      await searchbox(lab).press("Enter");
      await eventually(() => places(lab).textContent(), /^2\/\d+$/);
      await searchbox(lab).press("Shift+Enter");
      await searchbox(lab).press("Shift+Enter");
      const last = (await places(lab).textContent()) ?? "";
      expect(last.split("/")[0]).toBe(last.split("/")[1]);
      // In the graph the same box finds nodes.
      await lab.tab("Graph").click();
      await eventually(() => places(lab).textContent(), /\/\d+$/);
      await searchbox(lab).press("Escape");
      await eventually(() => places(lab).count(), 0);
    }));

  test("the steps that touch a text are listed alone", () =>
    stage.withPage({}, async (lab) => {
      await lab.write(TWO);
      await lab
        .step(/^FoldConstant/)
        .first()
        .waitFor();
      const before = await lab.steps.count();
      await searchbox(lab).fill("multiply");
      await lab.button("Steps").click();
      await lab.page.getByText(/steps? touch(es)? multiply/).waitFor();
      await eventually(async () => (await lab.steps.count()) < before, true);
      await lab.button("List all steps").click();
      await eventually(() => lab.steps.count(), before);
    }));

  test("the function that is chosen narrows the diff, its counts, the texts and the graph", () =>
    stage.withPage({}, async (lab) => {
      await lab.write(TWO);
      await lab
        .step(/^FoldConstant.* changed/)
        .first()
        .click();
      const diff = lab.region("Diff");
      await diff.getByText("def @other").waitFor();
      const select = lab.page.getByRole("combobox", { name: "Function" });
      await select.selectOption("main");
      await eventually(() => diff.getByText("def @other").count(), 0);
      await diff.getByText("in @main").waitFor();
      await lab.tab("Before/After").click();
      await lab.region("After").getByText("def @main").waitFor();
      expect(await lab.region("After").getByText("def @other").count()).toBe(0);
      await lab.tab("Graph").click();
      await lab.region("Graph").getByText("multiply").first().waitFor();
      expect(await lab.region("Graph").locator(".node", { hasText: "nn.relu" }).count()).toBe(0);
    }));

  test("types are told of what is pointed at, and written only on demand", () =>
    stage.withPage({}, async (lab) => {
      const diff = lab.region("Diff");
      expect(await diff.getByText("/* ty=").count()).toBe(0);
      const line = diff.locator(".line", { hasText: "nn.conv2d" }).first();
      await line.getByText("nn.conv2d").hover();
      await diff.locator(".type-tip", { hasText: "Tensor[" }).waitFor();
      await lab.button("Types").click();
      await diff.getByText("/* ty=").first().waitFor();
    }));

  test("the lines stand at the same height whatever the step is called", () =>
    stage.withPage({}, async (lab) => {
      const heights = new Set<number>();
      for (const name of [/^SimplifyInference/, /^FuseOps/]) {
        await lab.step(name).first().click();
        const lines = lab.region("Diff").locator(".lines");
        await lines.waitFor();
        heights.add((await lines.boundingBox())?.y ?? -1);
      }
      expect(heights.size).toBe(1);
    }));

  test("any pane has all the room, by key or button, and shares it again", () =>
    stage.withPage({}, async (lab) => {
      const program = lab.region("Program and problems");
      const result = lab.region("Result");
      await lab.button("All the room for the result").click();
      await eventually(() => program.isVisible(), false);
      expect((await result.boundingBox())?.width).toBeGreaterThan(1300);
      // A command for another pane brings that pane.
      await lab.page.keyboard.press("e");
      await eventually(() => program.isVisible(), true);
      await lab.page.keyboard.press("Escape");
      await lab.button("Share the room again").click();
      await eventually(() => result.isVisible(), true);
      await lab.page.keyboard.press("z");
      await eventually(() => lab.button("Share the room again").count(), 1);
    }));

  test("a link opens with the types that were shown and its step in sight", () =>
    stage.withProfile({}, async (lab, all) => {
      const pipeline = lab.page.getByRole("combobox", { name: "Pipeline" });
      await pipeline.selectOption({ label: "relay.build at O3" });
      // It is of this pipeline alone, far down the list, and not skipped: a step that was has no text.
      const last = lab.step(/^PlanDevices changed/);
      await last.scrollIntoViewIfNeeded();
      await last.click();
      await lab.button("Types").click();
      await lab.button("Share").click();
      await eventually(() => lab.page.url().includes("#2."), true);
      const other = await all.open(lab.page.url());
      await other.settled();
      await eventually(() => other.button("Types").getAttribute("aria-pressed"), "true");
      await eventually(() => other.selected.isVisible(), true);
    }));
});

import { describe, expect, test } from "vitest";
import { findStep, mostInteresting } from "../engine/chosen";
import type { Catalogue, Step } from "../engine/protocol";
import {
  callArguments,
  callError,
  callName,
  findPass,
  matchingPipeline,
  splitNames,
  tidyCall,
} from "./calls";
import { emptyDocument } from "./model";
import { Keeper, readDocument } from "./persist";
import { duration, neighbour, shownSteps, stepName } from "./steps";
import { memory } from "./testing";
import { judge, linkOf, withLink } from "./url";

function step(name: string, more: Partial<Step> = {}): Step {
  return {
    id: `${name}#1`,
    name,
    depth: 0,
    parent: null,
    row: 0,
    role: "listed",
    outcome: "changed",
    reason: "",
    optLevel: 0,
    before: 0,
    after: 1,
    micros: 1500,
    rewrites: 1,
    functions: [],
    problems: [],
    ...more,
  };
}

describe("steps", () => {
  const steps = [
    step("InferType", { role: "required", rewrites: 90 }),
    step("FoldConstant", { rewrites: 2 }),
    step("InferType", { id: "FoldConstant#1/InferType#1", parent: 1, depth: 1, role: "nested" }),
    step("FastMath", { row: 1, outcome: "skipped", reason: "needs opt level 4" }),
    step("FuseOps", { row: 2, rewrites: 9 }),
    step("DeadCodeElimination", { row: 3, outcome: "unchanged" }),
  ];

  test("the most interesting step is the listed pass with most rewrites", () => {
    expect(mostInteresting(steps)).toBe(4);
  });

  test("a failed step is more interesting than anything", () => {
    expect(mostInteresting([...steps, step("Bad", { outcome: "failed" })])).toBe(6);
  });

  test("a step that is gone is found again by name", () => {
    expect(findStep(steps, "FuseOps#3")).toBe(4);
    expect(findStep(steps, "FoldConstant#1/InferType#1")).toBe(2);
    expect(findStep(steps, "Gone#1")).toBe(4);
    expect(findStep([], "Gone#1")).toBe(-1);
  });

  const filter = { changedOnly: false, nested: true, folded: [] as string[], selected: -1 };

  test("what ran aside and changed nothing is folded until it is wanted", () => {
    const quiet = [
      step("InferType", { role: "required", outcome: "unchanged" }),
      step("FoldConstant"),
      step("InferType", { id: "a", parent: 1, depth: 1, role: "nested", outcome: "unchanged" }),
      step("FuseOps", { id: "b", parent: 1, depth: 1, role: "nested" }),
      step("InferType", { id: "c", parent: 3, depth: 2, role: "nested", outcome: "unchanged" }),
    ];
    const shown = (more: Partial<typeof filter & { unfolded: string[]; text: string }>) =>
      shownSteps(quiet, { ...filter, ...more });
    expect(shown({}).map(({ index, quiet }) => [index, quiet])).toEqual([
      [1, 2],
      [3, 1],
    ]);
    expect(shown({ unfolded: ["FoldConstant#1"] }).map((one) => one.index)).toEqual([0, 1, 2, 3]);
    expect(shown({ selected: 4 }).map((one) => one.index)).toEqual([1, 3, 4]);
    expect(shown({ text: "infer" }).map((one) => one.index)).toEqual([0, 2, 4]);
    expect(shown({ folded: ["FoldConstant#1"] }).map((one) => one.index)).toEqual([1]);
  });

  test("folding hides what is inside, the filter what did nothing", () => {
    const names = (more: Partial<typeof filter>) =>
      shownSteps(steps, { ...filter, ...more }).map((item) => item.index);
    expect(names({})).toEqual([0, 1, 2, 3, 4, 5]);
    // The InferType of the same row ran for it, too.
    expect(names({ folded: ["FoldConstant#1"] })).toEqual([1, 3, 4, 5]);
    expect(names({ changedOnly: true })).toEqual([0, 1, 2, 4]);
    expect(names({ changedOnly: true, selected: 5 })).toEqual([0, 1, 2, 4, 5]);
    expect(names({ nested: false })).toEqual([1, 3, 4, 5]);
  });

  test("next and previous stop at the ends; next changed leaps over the rest", () => {
    const shown = shownSteps(steps, filter);
    expect(neighbour(steps, shown, 2, 1, false)).toBe(3);
    expect(neighbour(steps, shown, 2, 1, true)).toBe(4);
    expect(neighbour(steps, shown, 4, 1, true)).toBe(-1);
    expect(neighbour(steps, shown, 0, -1, false)).toBe(-1);
  });

  test("a name starts with the pass and says the outcome and the reason", () => {
    expect(stepName(steps[4] as Step)).toBe("FuseOps changed");
    expect(stepName(steps[3] as Step)).toBe("FastMath skipped, needs opt level 4");
    expect(stepName(steps[5] as Step)).toBe("DeadCodeElimination no change");
  });

  test("durations have at most three digits", () => {
    expect([20, 412, 1500, 25_400, 3_200_000].map(duration)).toEqual([
      "<0.1 ms",
      "0.4 ms",
      "1.5 ms",
      "25 ms",
      "3.2 s",
    ]);
  });
});

describe("calls", () => {
  test("a bare name is a call without arguments", () => {
    expect(callName("FuseOps( fuse_opt_level=2 )")).toBe("FuseOps");
    expect(callArguments("FuseOps( fuse_opt_level=2 )")).toBe("fuse_opt_level=2");
    expect(tidyCall(" FuseOps() ")).toBe("FuseOps");
    expect(tidyCall('ConvertLayout({"a": ["b"]})')).toBe('ConvertLayout({"a": ["b"]})');
  });

  test("brackets and strings must close", () => {
    expect(callError("FuseOps(fuse_opt_level=2)")).toBe("");
    expect(callError('F(x={"a": [1, 2]})')).toBe("");
    expect(callError("FuseOps(")).toMatch(/“\)” is missing/);
    expect(callError("F(x=[1)")).toMatch(/does not close/);
    expect(callError('F(x="a)')).toMatch(/string is not closed/);
    expect(callError("A() B()")).toMatch(/One call/);
    expect(callError("")).not.toBe("");
    expect(callError("2A")).not.toBe("");
  });

  test("a pass of two dialects is the one of the program's", () => {
    const passes = ["relay", "relax"].map((dialect) => ({
      name: "FoldConstant",
      infoName: "FoldConstant",
      dialects: [dialect],
    }));
    const catalogue = { passes } as unknown as Catalogue;
    const of = (dialect?: string) => findPass(catalogue, "FoldConstant()", dialect)?.dialects[0];
    expect([of("relay"), of("relax"), of()]).toEqual(["relay", "relax", "relay"]);
    expect(findPass(catalogue, "Unheard()", "relax")).toBeUndefined();
  });

  test("a pipeline is recognised without the passes that are missing", () => {
    const pipelines = [2, 3].map((optLevel) => ({
      name: `O${optLevel}`,
      title: "",
      optLevel,
      passes: ["A", "B", "C"],
      missing: ["B"],
    }));
    const catalogue = { pipelines } as unknown as Catalogue;
    const passes = ["A", "C()"].map((call) => ({ call, enabled: true }));
    const document = { ...emptyDocument, passes, optLevel: 3 };
    expect(matchingPipeline(catalogue, document)?.name).toBe("O3");
    expect(matchingPipeline(catalogue, { ...document, optLevel: 1 })?.name).toBe("O2");
    const off = [{ call: "A", enabled: false }];
    expect(matchingPipeline(catalogue, { ...document, passes: off })).toBeUndefined();
  });

  test("names are split by commas and spaces, each once", () => {
    expect(splitNames("A, B  A,,C")).toEqual(["A", "B", "C"]);
  });
});

describe("links", () => {
  test("the link is what stands after the sharp sign, unescaped", () => {
    expect(linkOf("#p1abc")).toBe("p1abc");
    expect(linkOf("")).toBe("");
    expect(linkOf("#a%2Bb")).toBe("a+b");
    expect(linkOf("#a%zz")).toBe("a%zz");
  });

  test("a new link takes the place of the old one", () => {
    expect(withLink("http://x/y/?q=1#old", "#new")).toBe("http://x/y/?q=1#new");
    expect(withLink("http://x/y/", "new")).toBe("http://x/y/#new");
  });

  test("a damaged link is named and keeps what could be read", () => {
    const document = { ...emptyDocument, view: { step: "", view: "diff" } };
    expect(judge({ document, error: "", message: "" }).kind).toBe("whole");
    expect(judge({ document, error: "link-truncated", message: "9 bytes missing." })).toEqual({
      kind: "recovered",
      document,
      message: "This link is cut off: 9 bytes missing.",
    });
    expect(judge({ document: null, error: "link-version", message: "" })).toEqual({
      kind: "lost",
      message: "This link was made by a newer passlab.",
    });
  });
});

describe("what outlives a reload", () => {
  test("storage that holds nonsense is as good as empty", () => {
    const storage = memory();
    storage.map.set("passlab.preferences", '{"theme":"pink","widths":[1,"a"],"wrap":false}');
    expect(new Keeper(storage).preferences()).toMatchObject({
      theme: "system",
      widths: [300, 260],
      wrap: false,
    });
  });

  test("a document is read as far as it makes sense", () => {
    expect(readDocument({ passes: [] })).toBeNull();
    expect(
      readDocument({
        source: "a",
        passes: [{ call: "A" }, 7],
        optLevel: 9,
        config: { a: 1, b: "2" },
      }),
    ).toEqual({
      ...emptyDocument,
      source: "a",
      passes: [{ call: "A", enabled: true }],
      config: { b: "2" },
    });
    const passes = Array.from({ length: 100_000 }, () => ({ call: "A" }));
    expect(readDocument({ source: "", passes })?.passes).toHaveLength(2000);
  });
});

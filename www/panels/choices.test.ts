import { expect, test } from "vitest";
import { type Choice, matching } from "./choices";
import { commands } from "./commands";

const all: Choice[] = [
  ["Add FuseOps", "Add pass", "merges calls"],
  ["Go to FuseOps, changed", "Step", "FuseOps#1"],
  ["Next step", "Steps", "next"],
  ["Next step that changed something", "Steps", "next-changed"],
  ["Use relay.build at O3", "Pipeline", "relay.build"],
].map(([title, group, about]) => ({
  id: title as string,
  keys: [],
  title: title as string,
  group: group as Choice["group"],
  about: about as string,
  run: () => {},
}));
const titles = (typed: string) => matching(all, typed).map((choice) => choice.title);

test("every word that is typed must be found, at the start of a word best", () => {
  expect(titles("")).toHaveLength(5);
  expect(titles("next changed")).toEqual(["Next step that changed something"]);
  expect(titles("fuse")).toEqual(["Add FuseOps", "Go to FuseOps, changed"]);
  expect(titles("use")[0]).toBe("Use relay.build at O3");
  expect(titles("merges")).toEqual(["Add FuseOps"]);
  expect(titles("nothing at all")).toEqual([]);
});

test("no two commands share a name or a key", () => {
  const ids = commands.map((command) => command.id);
  const keys = commands.flatMap((command) => command.keys);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(keys).size).toBe(keys.length);
});

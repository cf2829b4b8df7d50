import { expect, it } from "vitest";
import { API } from "../user/docs";
import { foundIn, groupsOf } from "./api-groups";

it("members of the API stand under what they belong to, and are found by name and by what is said of them", () => {
  const groups = groupsOf(API);
  const mutator = groups.find(({ head }) => head.name === "ExprMutator");
  expect(mutator?.members.map(({ name }) => name)).toContain("ExprMutator.visitCall");
  const call = foundIn(groups, "visitCall");
  expect(call.map(({ head }) => head.name)).toContain("ExprMutator");
  expect(
    call.every(
      ({ members, head }) => members.length > 0 || /visitCall/.test(head.doc + head.signature),
    ),
  ).toBe(true);
  expect(foundIn(groups, "no such thing anywhere")).toEqual([]);
  expect(foundIn(groups, " ")).toHaveLength(groups.length);
});

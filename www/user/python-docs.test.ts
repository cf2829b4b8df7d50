import { expect, test } from "vitest";
import { namesInPython, pythonApi } from "./python-docs.ts";

test("classes, methods and functions are found with their parameters and the first line of their docs", () => {
  const text = `class A(B):
    """The first.

    More."""

    def _hidden(self):
        """Not shown."""

    @property
    def size(self):
        """How many."""

    def go(
        self,
        x=(1, 2),
    ):
        """Goes."""


def f(a, *, b=None):
    """Does it."""
`;
  expect(namesInPython(text)).toEqual([
    { name: "A", signature: "class A(B)", doc: "The first." },
    { name: "A.size", signature: "A.size", doc: "How many." },
    { name: "A.go", signature: "A.go(x=(1, 2))", doc: "Goes." },
    { name: "f", signature: "f(a, *, b=None)", doc: "Does it." },
  ]);
});

test("the package has what scripts begin with", () => {
  const names = new Set(pythonApi().map(({ name }) => name));
  for (const name of ["PyExprMutator", "module_pass", "IRModule", "Schedule.split", "compute"])
    expect(names.has(name), name).toBe(true);
});

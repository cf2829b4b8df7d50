import { Text } from "@codemirror/state";
import { expect, test } from "vitest";
import { OpenComments } from "./colours";

const count = (...lines: string[]) => {
  const doc = Text.of([...lines, ""]);
  return new OpenComments().at(doc, doc.lines);
};

test("open comments are counted as the tokens of a line say", () => {
  expect(count("%0 /* ty=int32 */ /* why */")).toBe(0);
  expect(count("/* a /* b */ c */")).toBe(0);
  expect(count("/* a /* b */ c")).toBe(1);
  expect(count("/* a", "/* b", "*/")).toBe(1);
  expect(count("/* a", "*/ add(%x)")).toBe(0);
});

test("a sign of a comment in a text opens nothing, and hides none that is behind it", () => {
  expect(count('attr="/*"')).toBe(0);
  expect(count('attr="*/" /* a /* b */')).toBe(1);
  expect(count('attr="/*" /* a')).toBe(1);
  expect(count('/* "', '*/ "')).toBe(0);
});

test("after a change only what is behind it is counted anew", () => {
  const open = new OpenComments();
  const doc = Text.of(["/* a", "b", "c"]);
  expect(open.at(doc, 3)).toBe(1);
  open.changed(2);
  expect(open.at(Text.of(["/* a", "b */", "c"]), 3)).toBe(0);
  open.changed(1);
  expect(open.at(Text.of(["a", "b", "c"]), 3)).toBe(0);
});

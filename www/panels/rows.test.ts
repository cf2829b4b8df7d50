import { describe, expect, test } from "vitest";
import type { Line, Span } from "./lines";
import { numbers, rowHtml } from "./rows";

const span = (text: string, words: number[] = []): Span => ({
  text,
  from: 0,
  to: text.length,
  words,
  indent: 0,
});

const row = (change: Partial<Extract<Line, { kind: "row" }>>): Line => ({
  kind: "row",
  change: "same",
  sign: " ",
  left: 1,
  right: 1,
  a: span("%0"),
  b: null,
  tone: "same",
  ...change,
});

describe("rows as HTML", () => {
  test("a program cannot write elements into the page", () => {
    const html = rowHtml(row({ a: span('<img src=x> & "x"') }), "unified");
    expect(html).not.toContain("<img");
    expect(html).toContain("&lt;img");
    expect(html).toContain("&amp;");
  });

  test("what differs within a line is marked, and the row says aloud what it is", () => {
    const added = row({ change: "added", sign: "+", tone: "added", a: span("%0 = x", [5, 6]) });
    const html = rowHtml(added, "unified");
    expect(html).toContain("<ins>x</ins>");
    expect(html).toContain('<span class="sr">added: </span>');
    expect(html).toContain('<span class="sign">+ </span>');
  });

  test("unchanged rows have neither sign nor word", () => {
    expect(rowHtml(row({}), "unified")).toBe('<code class="line same">%0</code>');
  });
});

describe("numbers", () => {
  const lines: Line[] = [
    row({ left: 9, right: 10 }),
    row({ left: 10, right: null }),
    { kind: "fold", id: "", count: 3, quiet: 0 },
    row({ left: 14, right: 14 }),
  ];

  test("stand right-aligned below each other, a blank before each", () => {
    expect(numbers(lines, ["left", "right"], 2)).toBe("  9 10\n 10   \n\n 14 14");
  });

  test("of one side are a column of their own", () => {
    expect(numbers(lines, ["right"], 2)).toBe(" 10\n   \n\n 14");
  });
});

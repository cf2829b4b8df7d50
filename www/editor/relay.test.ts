import { describe, expect, test } from "vitest";
import { pieces } from "./relay";

const tokens = (line: string) =>
  pieces(line)
    .filter((piece) => piece.token)
    .map((piece) => `${piece.token} ${line.slice(piece.from, piece.to)}`);

describe("colours", () => {
  test("a call has a local, an op, an attribute and a number", () => {
    expect(tokens("%0 = nn.dense(%x, units=10);")).toEqual([
      "local %0",
      "op nn.dense",
      "local %x",
      "attribute units",
      "number 10",
    ]);
  });

  test("a binding of TVMScript has a variable, a type, an op and attributes", () => {
    expect(tokens('lv: R.Tensor((n, 4), dtype="float32") = R.nn.relu(x, axis=1)')).toEqual([
      "local lv",
      'type R.Tensor((n, 4), dtype="float32")',
      "op R.nn.relu",
      "local x",
      "attribute axis",
      "number 1",
    ]);
  });

  test("a decorator, a header and words of Python", () => {
    expect(tokens("@R.function")).toEqual(["global @R.function"]);
    expect(tokens("# from tvm.script import relax as R")).toHaveLength(1);
    expect(tokens("    with R.dataflow():")).toEqual(["keyword with", "op R.dataflow"]);
  });

  test("a division is no comment, behind Relay two slashes are", () => {
    expect(tokens("    A[i // 2] = B[i]").every((token) => !token.startsWith("comment"))).toBe(
      true,
    );
    expect(tokens("%0; // why").at(-1)).toBe("comment // why");
    expect(tokens("// why")).toEqual(["comment // why"]);
  });

  test("a type comment is told apart from other comments", () => {
    expect(tokens("%1 /* ty=int32 */ /* why */")).toEqual([
      "local %1",
      "type-comment /* ty=int32 */",
      "comment /* why */",
    ]);
  });

  test("comments nest", () => {
    expect(tokens("/* a /* b */ c */ add()")).toEqual(["comment /* a /* b */ c */", "op add"]);
  });

  test("an open comment reaches into the next line", () => {
    const depth = { comment: 0 };
    pieces("/* begun", depth);
    expect(depth.comment).toBe(1);
    expect(pieces("ended */ add", depth)[0]).toEqual({ from: 0, to: 8, token: "comment" });
    expect(depth.comment).toBe(0);
  });

  test("numbers keep their sign, exponent and width", () => {
    for (const number of ["-1", "1e-05f", "3f16", "2i64"]) {
      expect(tokens(`(${number})`)).toEqual([`number ${number}`]);
    }
  });

  test("a list of numbers and a type with its brackets are one token each", () => {
    expect(tokens("(-1, 1e-05f, %x)")).toEqual(["number -1, 1e-05f", "local %x"]);
    expect(tokens("%x: Tensor[(1, ?, 3), float32], %y: Tensor[")).toEqual([
      "local %x",
      "type Tensor[(1, ?, 3), float32]",
      "local %y",
      "type Tensor",
    ]);
    expect(tokens('T.Buffer((T.int64(4), n), "float32")')).toEqual([
      'type T.Buffer((T.int64(4), n), "float32")',
    ]);
    expect(tokens("A[T.int64(0), i]")).toEqual(["type A", "number T.int64(0)", "local i"]);
  });

  test("every character belongs to exactly one piece", () => {
    const line = 'def @main(%x: Tensor[(1, ?), float32]) { "a" meta[relay.Constant][0] §';
    let at = 0;
    for (const piece of pieces(line)) {
      expect(piece.from).toBe(at);
      at = piece.to;
    }
    expect(at).toBe(line.length);
  });

  test("a long line is cut once, not once per sign", () => {
    for (const [sign, count] of [
      ["a//", 4000],
      ["Tensor[", 2000],
    ] as const) {
      let read = 0;
      const line = sign.repeat(count);
      const text = new Proxy(Object(line), {
        get(target, name) {
          const found = target[name];
          if (name === "slice")
            return (from: number, to: number) => {
              read += to - from;
              return line.slice(from, to);
            };
          if (typeof name === "string" && /^\d+$/.test(name)) read++;
          return typeof found === "function" ? found.bind(line) : found;
        },
      });
      pieces(text);
      expect(read).toBeLessThan(200 * line.length);
    }
  });
});

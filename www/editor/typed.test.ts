import { describe, expect, it } from "vitest";
import { API } from "../user/docs";
import { apiOf, typeBefore } from "./typed";

const api = apiOf(API);
/** Returns the type of the expression before the mark. */
const at = (text: string) => typeBefore(text.replace("|", ""), text.indexOf("|"), api);

describe("the type of what stands before a dot", () => {
  it("is that of a hook's parameter, whatever it is called", () => {
    expect(at("class A extends ExprMutator {\n  visitCall(it) {\n    it|")).toBe("Call");
    expect(at("class A extends ExprVisitor {\n  visitIf(op) { op|")).toBe("If");
    expect([...(api.classes.get("Call")?.keys() ?? [])]).toEqual(
      expect.arrayContaining(["op", "args", "attrs"]),
    );
  });

  it("goes on through members and elements", () => {
    expect(at("class A extends ExprMutator {\n  visitCall(call) { call.args[0]|")).toBe("Expr");
    expect(at("class A extends ExprMutator {\n  visitLet(op) { op.var|")).toBe("Var");
  });

  it("is that of what a name was declared as", () => {
    expect(at("const c = new Call(f, []);\nc|")).toBe("Call");
    expect(at("const c = constant(1);\nconst d = c;\nd|")).toBe("Constant");
    expect(
      at(
        "class A extends ExprMutator { visitCall(call) {\n const post = super.visitCall(call);\n post|",
      ),
    ).toBe("Expr");
  });

  it("is that of the function that a pass is made of", () => {
    expect(at('functionPass({ name: "P" }, (func, mod, ctx) => func|')).toBe("Func");
    expect(at('functionPass({ name: "P" }, (func, mod, ctx) => mod|')).toBe("IRModule");
    expect(at('modulePass({ name: "P" }, (mod) => mod|')).toBe("IRModule");
  });

  it("is what a test has shown it to be", () => {
    expect(at("const e = this.visit(x);\nif (e instanceof Tuple) e|")).toBe("Tuple");
  });

  it("is the base class for this, and nothing for what nobody knows", () => {
    expect(at("class A extends ExprMutator {\n  visitCall(call) { this|")).toBe("ExprMutator");
    expect(at("unknown|")).toBeNull();
    expect(at("passInstrument({ name: 'I', runAfterPass(mod, info) { info|")).toBe("PassInfo");
  });
});

/** The sandbox's worker as the site has it. */
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { KIND } from "../user/calls";
import { built } from "../user/testing";
import { sandbox } from "./build";

const root = resolve(import.meta.dirname, "../..");

/** A visitor that prints its nodes once said "Here: z", and messages spoke of "the hook of a Qt". */
test.skipIf(!built)(
  "keeps the names of classes, which scripts and messages show",
  async () => {
    const files = sandbox({
      "passlab-engine": resolve(root, "www/pkg"),
      "passlab-sandbox-session": resolve(root, "www/sandbox/session.ts"),
    });
    const code = String(await files["passlab-harness"]?.make(true));
    const names = Object.keys(KIND).filter((name) => name !== "Function" && name !== "Constructor");
    const lost = ["ExprMutator", "TensorType", "IRModule", ...names].filter(
      (name) => !new RegExp(`\\bclass ${name}\\b|\\b${name}=class\\b`).test(code),
    );
    expect(lost).toEqual([]);
  },
  60_000,
);

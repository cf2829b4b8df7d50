/** Passes: functions from a module to a module with a name, an opt level and required passes. */
import type { DescKind } from "./calls";
import { owningScript } from "./engine";
import type { IRModule } from "./module";
import { checkOptions } from "./names";
import type { Expr } from "./nodes";

export interface PassOptions {
  /** Its name in lists and in the trace; by default that of the function or class. */
  name?: string;
  /** The level from which a sequence runs it. 0 by default. */
  optLevel?: number;
  /** Passes that a sequence runs right before it. */
  required?: readonly string[];
  /** Describes the pass in the list of passes. */
  doc?: string;
  /** TVM keeps it for tuning; nothing here asks. */
  traceable?: boolean;
}

const OPTIONS = ["name", "optLevel", "required", "doc", "traceable"];

export interface PassInfo {
  readonly name: string;
  readonly optLevel: number;
  readonly required: readonly string[];
}

/** The parts of a pass, for the engine. */
export interface Body {
  kind: DescKind;
  run: ((...args: never[]) => unknown) | null;
  call: string;
  passes: readonly PassObject[];
  doc: string;
}

/** A pass: a function from a module to a module, with `info`. */
export interface PassObject {
  (module: IRModule | Expr): IRModule;
  readonly info: PassInfo;
  readonly body: Body;
  readonly script: object;
}

/** The base of all passes (`tvm.transform.Pass`). Passes are functions, and made by `functionPass` and the like. */
export class Pass {
  constructor() {
    throw new TypeError(
      `passes are made by functionPass, modulePass and so on, not by new ${new.target.name}`,
    );
  }
}
/** A pass over a whole module. */
export class ModulePass extends Pass {}
/** A pass over each function. */
export class FunctionPass extends Pass {}
/** A pass over each dataflow block of Relax. */
export class DataflowBlockPass extends Pass {}
/** A pass over each tensor program. */
export class PrimFuncPass extends Pass {}

/** Passes in a row; the class behind `Sequential.prototype`. */
class SequentialBase extends Pass {}
export const SEQUENTIAL = SequentialBase.prototype;

/** Prototypes by the word for the unit that a pass works on, here and in the engine. */
const PROTOTYPES: Record<string, Pass> = {
  module: ModulePass.prototype,
  function: FunctionPass.prototype,
  "dataflow-block": DataflowBlockPass.prototype,
  dataflowblock: DataflowBlockPass.prototype,
  "prim-func": PrimFuncPass.prototype,
  primfunc: PrimFuncPass.prototype,
  sequential: SEQUENTIAL,
};

/** Everything that the script made, for the engine to call by number. */
let made: PassObject[] = [];

export function forgetMade(): void {
  made = [];
}

export function madeAt(index: number): PassObject | undefined {
  return made[index];
}

export function placeOf(pass: PassObject): number {
  return made.indexOf(pass);
}

export function isPass(value: unknown): value is PassObject {
  return value instanceof Pass;
}

/** Makes a pass; `works` is the word for the unit that it works on, if its kind does not determine it. */
export function makePass(
  info: PassInfo,
  body: Body,
  run: (pass: PassObject, module: IRModule | Expr) => IRModule,
  works: string = body.kind,
): PassObject {
  const pass = ((module: IRModule | Expr) => run(pass, module)) as unknown as PassObject;
  Object.setPrototypeOf(pass, PROTOTYPES[works] ?? Pass.prototype);
  Object.defineProperties(pass, {
    info: { value: info },
    body: { value: body },
    script: { value: owningScript() },
    name: { value: info.name },
    toString: { value: () => describeInfo(info) },
  });
  made.push(pass);
  return pass;
}

/** Returns TVM's words for a PassInfo. */
function describeInfo({ name, optLevel, required }: PassInfo): string {
  const names = required.length === 0 ? "[]" : `[\n${required.map((one) => `${one}, `).join("")}]`;
  return `The meta data of the pass - pass name: ${name}, opt_level: ${optLevel}, required passes: ${names}\n`;
}

/** Returns the description of a pass for gates and instruments. */
export function passInfo(name: string, optLevel: number, required: readonly string[]): PassInfo {
  const info: PassInfo = { name, optLevel, required: Object.freeze([...required]) };
  Object.defineProperty(info, "toString", { value: () => describeInfo(info) });
  return Object.freeze(info);
}

export const NAME = /^[A-Za-z_][\w.]*$/;

export function infoOf(what: string, options: PassOptions, fallback: string): PassInfo {
  checkOptions(what, options, OPTIONS);
  const name = String(options.name ?? fallback);
  if (!NAME.test(name) || name.length > 100)
    throw new TypeError(
      `${JSON.stringify(name)} cannot be the name of a pass: write letters, digits and _`,
    );
  const optLevel = options.optLevel ?? 0;
  if (!Number.isInteger(optLevel))
    throw new TypeError(`the opt level of ${name} must be an integer`);
  const required = options.required ?? [];
  if (!Array.isArray(required)) throw new TypeError(`${name}: required must be a list of names`);
  return passInfo(name, optLevel, required.map(String));
}

// biome-ignore lint/suspicious/noExplicitAny: a class of the user's, with any constructor
export type Class = new (...args: any[]) => object;

export function isClass(value: unknown): value is Class {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}

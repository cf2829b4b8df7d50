/** Makes nodes, parses texts and asks the engine about programs, by the names of TVM's Python. */
import { WALK } from "./calls";
import { cross, space } from "./engine";
import { IRModule, needModule } from "./module";
import {
  type AttrsLike,
  Call,
  type Constant,
  Expr,
  Func,
  GlobalVar,
  idsOf,
  needExpr,
  nodeAt,
  Op,
  Tuple,
  Var,
} from "./nodes";
import { callOp, fromText } from "./relax";
import { asType, type Dim, shown, TensorType, Type } from "./types";

/** An operator that can be called like a function: arguments, then attributes as the last one. */
export interface OpFunction {
  (...args: unknown[]): Expr;
  op: Op;
}

function isAttrs(value: unknown): value is AttrsLike {
  return (
    typeof value === "object" && value !== null && !(value instanceof Expr) && !Array.isArray(value)
  );
}

/** Finds an operator: `op("nn.relu")(x)`, `op("nn.conv2d")(x, w, { strides: [2, 2] })`. A list argument is a tuple. */
export function op(name: string): OpFunction {
  const make = (...given: unknown[]) => {
    if (space().relax) {
      const last = given.at(-1);
      const attrs = typeof last === "object" && last?.constructor === Object ? given.pop() : null;
      return callOp(name, given, attrs as AttrsLike);
    }
    const attrs = given.length > 0 && isAttrs(given.at(-1)) ? (given.pop() as AttrsLike) : null;
    const args = given.map((arg) => (Array.isArray(arg) ? new Tuple(arg) : asExpr(arg)));
    return new Call(new Op(name), args, attrs);
  };
  return Object.defineProperty(make, "op", { get: () => new Op(name) }) as unknown as OpFunction;
}

/** Numbers stand for constants where an expression is expected. */
function asExpr(value: unknown): Expr {
  return typeof value === "number" ? constant(value) : needExpr(value);
}

/** Makes a call of an operator, function or expression: `call(op("nn.relu").op, [x])`, `call(func, [x, y], attrs)`. */
export function call(
  callee: Expr | OpFunction | string,
  args: readonly Expr[],
  attrs: AttrsLike = null,
): Call {
  if (typeof callee === "string") return new Call(new Op(callee), args, attrs);
  return new Call(callee instanceof Expr ? callee : callee.op, args, attrs);
}

/** Makes a variable: `variable("x", { shape: [1, 3], dtype: "float32" })`, `variable("x", "Tensor[(3), int8]")`. */
export function variable(
  name: string,
  type?: Type | string | null | { shape?: readonly Dim[]; dtype?: string },
): Var {
  if (type === undefined || type === null || typeof type === "string" || type instanceof Type)
    return new Var(name, type);
  return new Var(name, new TensorType(type.shape ?? [], type.dtype ?? "float32"));
}

type Numbers = number | bigint | boolean | Numbers[] | ArrayBufferView;

const WRITERS: Record<string, (values: (number | bigint)[]) => ArrayBufferView> = {
  float32: (values) => Float32Array.from(values as number[]),
  float64: (values) => Float64Array.from(values as number[]),
  int8: (values) => Int8Array.from(values as number[]),
  int16: (values) => Int16Array.from(values as number[]),
  int32: (values) => Int32Array.from(values as number[]),
  int64: (values) => BigInt64Array.from(values.map(BigInt)),
  uint8: (values) => Uint8Array.from(values as number[]),
  uint16: (values) => Uint16Array.from(values as number[]),
  uint32: (values) => Uint32Array.from(values as number[]),
  uint64: (values) => BigUint64Array.from(values.map(BigInt)),
  bool: (values) => Uint8Array.from(values.map((value) => (value ? 1 : 0))),
};

/** Makes a tensor from a number, nested lists or a typed array; `shape` where the last is not a row. */
export function constant(value: Numbers, dtype = "float32", shape?: readonly number[]): Constant {
  const extents: number[] = [];
  if (ArrayBuffer.isView(value))
    extents.push(value.byteLength / (value as Uint8Array).BYTES_PER_ELEMENT);
  else for (let at: unknown = value; Array.isArray(at); at = at[0]) extents.push(at.length);
  const flat = ArrayBuffer.isView(value)
    ? Array.from(value as unknown as ArrayLike<number>)
    : (([value] as unknown[]).flat(64) as (number | bigint | boolean)[]);
  const write = WRITERS[dtype];
  if (!write) throw new TypeError(`constants of ${dtype} cannot be written here`);
  if (flat.some((item) => !["number", "bigint", "boolean"].includes(typeof item)))
    throw new TypeError(`a constant is made of numbers, not ${shown(value)}`);
  const data = write(
    flat.map((item) => (typeof item === "boolean" ? Number(item) : item)) as number[],
  );
  const bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  const sizes = Uint32Array.from(shape ?? extents);
  return nodeAt(cross().user_make_constant(dtype, sizes, bytes)) as Constant;
}

/** Returns the names of variables that a text uses, as it writes them. */
export function namesIn(text: string): string[] {
  const withoutStrings = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
  const bound = new Set(
    withoutStrings.match(/let\s+%[A-Za-z_][\w.]*/g)?.map((item) => item.replace(/let\s+/, "")),
  );
  const names = withoutStrings.match(/%[A-Za-z_][\w.]*/g) ?? [];
  return [...new Set(names)].filter((name) => !bound.has(name));
}

/** Reads an expression as a program writes it. Variables that it only uses are new ones, or those that are given. */
export function parseExpr(text: string, vars: Record<string, Expr> = {}): Expr {
  if (space().relax)
    return fromText(text, new Map(Object.entries(vars).map(([name, it]) => [name, needExpr(it)])));
  const isFunction = /^\s*fn\b/.test(text);
  const names = isFunction ? [] : namesIn(text);
  const read = nodeAt(
    cross().user_parse(names.map((name) => `free_var ${name};\n`).join("") + text),
  );
  const given = new Map(
    Object.entries(vars).map(([name, expr]) => [name.replace(/^%/, ""), needExpr(expr)]),
  );
  if (given.size === 0) return read;
  const bindings = new Map<Expr, Expr>();
  for (const id of cross().user_walk(WALK.free, read.id)) {
    const free = nodeAt(id) as Var;
    const by = given.get(free.nameHint);
    if (by) bindings.set(free, by);
  }
  return substitute(read, bindings);
}

/** Set by the functors, which this would otherwise import in a circle. */
let substitute: (expr: Expr, by: Map<Expr, Expr>) => Expr = (expr) => expr;
export function setSubstitute(f: typeof substitute): void {
  substitute = f;
}

/** Reads a module, and infers its types, like TVM's `relay.parse`. A missing version line is added. */
export function parseModule(text: string): IRModule {
  const isWhole = cross().user_is_script(text) || /^\s*(\/\/.*\n\s*)*#\[version/.test(text);
  const whole = isWhole ? text : `#[version = "0.0.5"]\n${text}`;
  return IRModule.fromWords(cross().user_parse_module(whole));
}

/** Reads a type: `"Tensor[(1, 3), float32]"`. */
export function parseType(text: string): Type {
  return asType(text);
}

/** Prints an expression, type or module. */
export function text(thing: Expr | Type | IRModule): string {
  return String(thing);
}

function walk(what: keyof typeof WALK, expr: Expr): readonly Var[] {
  return Array.from(cross().user_walk(WALK[what], needExpr(expr).id), (id) => nodeAt(id) as Var);
}

/** Variables that are used and not bound, in the order of first use. */
export const freeVars = (expr: Expr): readonly Var[] => walk("free", expr);
/** Variables that are bound. */
export const boundVars = (expr: Expr): readonly Var[] => walk("bound", expr);
/** Returns both bound and free variables. */
export const allVars = (expr: Expr): readonly Var[] => walk("vars", expr);

/** True if two expressions, types or modules are equal as TVM defines it: bound variables may have other names. */
export function structuralEqual(
  a: Expr | Type | IRModule,
  b: Expr | Type | IRModule,
  options: { mapFreeVars?: boolean } = {},
): boolean {
  if (a instanceof IRModule && b instanceof IRModule)
    return cross().user_equal_modules(a.toWords(), b.toWords());
  if (a instanceof Expr && b instanceof Expr)
    return (
      a === b || cross().user_equal(needExpr(a).id, needExpr(b).id, options.mapFreeVars ?? false)
    );
  return a === b;
}

const noModule = () => new IRModule();

/** Infers the types of an expression (`checkedType`), in the context of a module. */
export function inferType(expr: Expr, module: IRModule = noModule()): Expr {
  return nodeAt(cross().user_infer(needExpr(expr).id, needModule(module).toWords()));
}

/** Returns the value of an expression that depends on constants only: a constant, or a tuple of such. */
export function evaluate(expr: Expr, module: IRModule = noModule()): Expr {
  return nodeAt(cross().user_eval(needExpr(expr).id, needModule(module).toWords()));
}

/** Replaces variables: `bind(func, { x: constant(1) })` or a `Map` from variables. Parameters of a function that are
 * bound are parameters no longer. */
export function bind(expr: Expr, values: Map<Var, Expr> | Record<string, Expr>): Expr {
  const isMap = values instanceof Map;
  const named = isMap ? new Map<string, Expr>() : new Map(Object.entries(values));
  const by = new Map<Expr, Expr>(isMap ? values : []);
  const params = expr instanceof Func ? expr.params : freeVars(expr);
  for (const param of params) {
    const value = named.get(param.nameHint);
    if (value) by.set(param, needExpr(value));
  }
  if (!(expr instanceof Func)) return substitute(expr, by);
  const body = substitute(expr.body, by);
  const left = expr.params.filter((param) => !by.has(param));
  return left.length === expr.params.length && body === expr.body
    ? expr
    : new Func(left, body, expr.retType, [], expr.attrs);
}

/** Makes `relay.nn.conv2d(x, w, {...})`: every operator by its name, beside the functions that make nodes. */
export function namespace(own: Record<string, unknown>, prefix = ""): Record<string, unknown> {
  const target = (prefix ? op(prefix) : {}) as object;
  return new Proxy(target, {
    has: (_, name) => Object.hasOwn(own, name) || Reflect.has(target, name),
    get(_, name) {
      if (typeof name !== "string") return undefined;
      if (Object.hasOwn(own, name)) return own[name];
      if (prefix && (name === "op" || name === "then" || name in Function.prototype))
        return Reflect.get(target, name);
      if (name === "then") return undefined;
      return namespace({}, prefix ? `${prefix}.${name}` : name);
    },
  }) as Record<string, unknown>;
}

export { GlobalVar, idsOf };

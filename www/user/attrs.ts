/** Attributes of calls and functions: plain objects with a `key`, TVM's name for their type. */
import { cross, here, type Space, space } from "./engine";
import { GlobalVar, nodeAt, type Op } from "./nodes";
import { shown, typeAt } from "./types";

/** The fields by their names, in TVM's order. */
export type Attrs = Readonly<Record<string, unknown>>;

/** The origin of each object that was read. */
const origin = new WeakMap<object, { id: number; key: string; owner: Space }>();

/** Returns TVM's name for the type of attributes: `relay.attrs.Conv2DAttrs`. */
export function attrsKey(attrs: Attrs): string {
  return origin.get(attrs)?.key ?? "";
}

function value(item: unknown): unknown {
  if (Array.isArray(item)) return Object.freeze(item.map(value));
  if (typeof item !== "object" || item === null) return item;
  const [kind, inner] = Object.entries(item)[0] ?? ["", null];
  if (kind === "map") {
    const map: Record<string, unknown> = Object.create(null);
    for (const [name, field] of inner as [string, unknown][]) map[name] = value(field);
    return Object.freeze(map);
  }
  if (kind === "global") return new GlobalVar(inner as string);
  if (kind === "expr") return nodeAt(inner as number);
  if (kind === "type") return typeAt(inner as number);
  return Object.freeze({ object: inner });
}

export function attrsAt(id: number): Attrs {
  const known = space().attrs.get(id);
  if (known) return known as Attrs;
  const [key, ...items] = cross().user_attrs(id);
  const attrs: Record<string, unknown> = Object.create(null);
  for (let at = 0; at < items.length; at += 2) attrs[items[at] as string] = value(items[at + 1]);
  Object.freeze(attrs);
  origin.set(attrs, { id, key: key as string, owner: space() });
  space().attrs.set(id, attrs);
  return attrs;
}

/** Writes a value as in a program. */
function written(item: unknown, name: string): string {
  if (item === null || item === undefined) return "None";
  if (typeof item === "boolean") return item ? "True" : "False";
  if (typeof item === "bigint") return `${item}i64`;
  if (typeof item === "string") return JSON.stringify(item);
  if (typeof item === "number") {
    if (Number.isInteger(item) && Math.abs(item) < 2 ** 31) return String(item);
    return Number.isSafeInteger(item) ? `${item}i64` : `${item}f`;
  }
  if (Array.isArray(item)) return `[${item.map((part) => written(part, name)).join(", ")}]`;
  throw new TypeError(`the attribute ${name} cannot be ${shown(item)}`);
}

/** Writes a value as TVMScript and calls of passes do. */
export function python(item: unknown, name: string): string {
  if (item === null || item === undefined) return "None";
  if (typeof item === "boolean") return item ? "True" : "False";
  if (typeof item === "number" || typeof item === "bigint") return String(item);
  if (typeof item === "string") return JSON.stringify(item);
  if (Array.isArray(item)) return `[${item.map((part) => python(part, name)).join(", ")}]`;
  if (typeof item === "object" && !(item instanceof GlobalVar) && !("object" in item)) {
    const pairs = Object.entries(item);
    return `{${pairs.map(([key, part]) => `${JSON.stringify(key)}: ${python(part, name)}`).join(", ")}}`;
  }
  throw new TypeError(`${name} cannot be ${shown(item)}`);
}

/** Attributes of Relax, as a text that has them: of a call of an operator, or of a function. */
function relaxAttrs(attrs: Attrs, op: Op | null): number {
  const entries = Object.entries(attrs);
  if (entries.length === 0 && !op?.hasAttrs) return 0;
  let text: string;
  if (op) {
    const vars = op.inputs.map((_, index) => `a${index}`);
    const named = entries.map(([name, item]) => `${name}=${python(item, name)}`);
    const params = vars.map((name) => `${name}: R.Any`).join(", ");
    const own = op.name.replace(/^relax\./, "");
    text = `@R.function(private=True)\ndef main(${params}):\n    return R.${own}(${[...vars, ...named].join(", ")})\n`;
  } else
    text = `@R.function(private=True)\ndef main():\n    R.func_attr(${python(attrs, "attrs")})\n    return R.tuple()\n`;
  let id = space().written.get(text);
  if (id === undefined) {
    // The attributes of the function, or of the call that its last binding or result is.
    const words = cross().user_expr(cross().user_parse(text));
    id = op ? callAttrs(words[2] as number) : (words[4] as number);
    space().written.set(text, id);
  }
  return id;
}

function callAttrs(body: number): number {
  const seq = cross().user_expr(body);
  const value = seq.length > 3 ? (seq[seq.length - 2] as number) : (seq[2] as number);
  const call = cross().user_expr(value);
  return call[0] === 7 ? (call[3] as number) : 0;
}

/** Returns one more than the id of attributes, or 0. An operator's own are completed with their defaults. */
export function attrsIdOf(attrs: Attrs | Record<string, unknown> | null, op: Op | null): number {
  const known = attrs ? origin.get(attrs) : undefined;
  if (known) {
    here(known.owner);
    return known.id + 1;
  }
  if (!attrs && !op) return 0;
  if (space().relax) return relaxAttrs(attrs ?? {}, op);
  const fields = Object.entries(attrs ?? {}).map(([name, item]) => {
    if (!/^[A-Za-z_][\w.]*$/.test(name)) throw new TypeError(`${name} is not an attribute's name`);
    return `${name}=${written(item, name)}`;
  });
  if (!op && fields.length === 0) return 0;
  const opName: string = op ? op.name : "";
  const key = `${opName}(${fields.join(", ")})`;
  let id = space().written.get(key);
  if (id === undefined) {
    const vars = op ? op.inputs.map((_, index) => `%a${index}`) : ["%a"];
    const text = op
      ? `fn (${vars.join(", ")}) { ${opName}(${[...vars, ...fields].join(", ")}) }`
      : `fn (${[...vars, ...fields].join(", ")}) { %a }`;
    id = cross().user_parse_attrs(text);
    space().written.set(key, id);
  }
  return id;
}

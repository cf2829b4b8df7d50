/**
 * Crosses to the engine: calls its functions, and keeps the nodes read through them. Nodes never change, so each is
 * read once; ids mean something only in the memory that they came from, which here is a `Space`.
 */
import type { ContextDesc, InstrumentDesc, PassDesc } from "./calls";

/** The exports of the engine for scripts (`src/wasm/user`). Each throws an `Error` on wrong arguments. */
export interface Engine {
  user_host(host: (...args: never[]) => unknown): void;
  user_expr(id: number): Uint32Array;
  user_exprs(id: number): Uint32Array;
  user_pattern(id: number): Uint32Array;
  user_type(id: number): Uint32Array;
  user_name(id: number): string;
  user_name_id(text: string): number;
  user_constant(id: number): unknown[];
  user_attrs(id: number): unknown[];
  user_op(name: string): unknown[];
  user_build(kind: number, pre: number, words: Uint32Array): number;
  user_var(name: string, annotation: number, pre: number, dataflow: boolean): number;
  user_leaf(name: string, isOp: boolean): number;
  user_make_constant(dtype: string, shape: Uint32Array, data: Uint8Array): number;
  user_make_pattern(words: Uint32Array): number;
  user_make_type(words: Uint32Array): number;
  user_parse(text: string): number;
  user_parse_module(text: string): Uint32Array;
  user_parse_type(text: string): number;
  user_parse_attrs(text: string): number;
  user_text(id: number): string;
  user_type_text(id: number): string;
  user_module_text(words: Uint32Array): string;
  user_walk(what: number, id: number): Uint32Array;
  user_equal(a: number, b: number, mapFreeVars: boolean): boolean;
  user_equal_modules(a: Uint32Array, b: Uint32Array): boolean;
  user_infer(id: number, module: Uint32Array): number;
  user_eval(id: number, module: Uint32Array): number;
  user_is_relax(): boolean;
  user_is_script(text: string): boolean;
  user_dim(op: string, words: Uint32Array): Uint32Array;
  user_dim_text(words: Uint32Array): string;
  user_symbol(name: string, dtype: string): Uint32Array;
  user_block(dataflow: boolean, words: Uint32Array): Uint32Array;
  user_builder(module: Uint32Array): number;
  user_builder_do(builder: number, what: number, words: Uint32Array): Uint32Array;
  user_analysis(what: number, words: Uint32Array): Uint32Array;
  user_dpl(what: number, words: Uint32Array, ask?: unknown): Uint32Array;
  user_record(pre: number, post: number): boolean;
  user_run(passes: readonly PassDesc[], which: number, module: Uint32Array): Uint32Array;
  user_pass_info(call: string, relax: boolean): unknown[];
  user_enter(context: ContextDesc): number;
  user_exit(): void;
  user_override(scope: number, instruments: readonly InstrumentDesc[]): void;
  user_context(): unknown[];
  user_config_key(key: string, type: string): void;
  user_config_keys(): string[];
  user_log(text: string): boolean;
  user_printed(): string[];
  user_span(id: number): Uint32Array;
  user_report(severity: string, message: string, span: Uint32Array): boolean;
  user_nearest(word: string, known: string[]): string;
  user_instruments(): string[];
  user_instrument(call: string): void;
  user_has_pass(name: string): boolean;
  table_forget(): void;
  table_read(things: Uint32Array): [Uint32Array, Uint32Array, string];
  table_write(words: Uint32Array, texts: string): Uint32Array;
  table_tir(what: string, words: Uint32Array): number;
  table_text(space: number, id: number): string;
  table_arith(analyzer: number, what: string, words: Uint32Array): Uint32Array;
}

/** The objects read from one memory, by id. */
export class Space {
  readonly nodes = new Map<number, unknown>();
  /** The words of nodes that were read and are not objects yet. */
  readonly unread = new Map<number, Uint32Array>();
  readonly types = new Map<number, unknown>();
  readonly patterns = new Map<number, unknown>();
  readonly names = new Map<number, string>();
  readonly nameIds = new Map<string, number>();
  readonly attrs = new Map<number, unknown>();
  readonly blocks = new Map<number, unknown>();
  readonly bindings = new Map<string, unknown>();
  readonly dims = new Map<string, unknown>();
  private inRelax: boolean | null = null;
  /** True if the program is one of Relax: nodes then take Relax's form. */
  get relax(): boolean {
    this.inRelax ??= cross().user_is_relax();
    return this.inRelax;
  }
  /** Ids of written attributes, by their text. */
  readonly written = new Map<string, number>();
}

let engine: Engine | null = null;
let current = new Space();
let script = {};

export function setEngine(functions: Engine): void {
  engine = functions;
}

/** Starts a new memory: all nodes read so far belong to the old one. */
export function newSpace(): void {
  current = new Space();
}

/** Starts a new script, in a new memory: passes and instruments made so far belong to the old one. */
export function newScript(): void {
  script = {};
  newSpace();
}

/** Returns what passes and instruments that are made now belong to. */
export function owningScript(): object {
  return script;
}

/** Refuses a pass or an instrument of another script. */
export function ofScript(owner: object): void {
  if (owner !== script) throw new Error("this belongs to an earlier run: make it anew in this one");
}

export function space(): Space {
  return current;
}

/**
 * Uses up some stack and gives it back. A stack overflow then happens here, in JavaScript, where it is an ordinary
 * exception, and not inside the engine, which could not go on after it.
 */
function room(frames: number): number {
  return frames === 0 ? 0 : 1 + room(frames - 1);
}

/** Returns the engine's functions, when there is stack enough to call one. */
export function cross(): Engine {
  if (!engine) throw new Error("there is no engine");
  room(48);
  return engine;
}

/** Refuses a thing of another run. */
export function here(owner: Space): void {
  if (owner !== current)
    throw new Error("this belongs to an earlier run: make it anew in this one");
}

export function nameOf(id: number): string {
  let text = current.names.get(id);
  if (text === undefined) {
    text = cross().user_name(id);
    current.names.set(id, text);
  }
  return text;
}

export function nameId(text: string): number {
  let id = current.nameIds.get(text);
  if (id === undefined) {
    id = cross().user_name_id(text);
    current.nameIds.set(text, id);
  }
  return id;
}

/** Returns the words of a node. The first request for a program reads all of it at once. */
export function wordsOf(id: number): Uint32Array {
  const { unread } = current;
  let words = unread.get(id);
  if (!words) {
    const all = cross().user_exprs(id);
    for (let at = 0; at < all.length; ) {
      const node = all[at] as number;
      const length = all[at + 1] as number;
      unread.set(node, all.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
    words = unread.get(id) ?? cross().user_expr(id);
  }
  unread.delete(id);
  return words;
}

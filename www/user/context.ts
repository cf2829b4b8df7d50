/** The options that passes run under (`tvm.transform.PassContext`), and the context that collects their findings. */

import { python } from "./attrs";
import type { ContextDesc } from "./calls";
import { cross, ofScript, owningScript, type Space, space } from "./engine";
import { callHook, instrumentDescs } from "./instrument";
import { checkOptions } from "./names";
import { Expr, Span } from "./nodes";
import { print } from "./output";
import { Scope } from "./scope";
import { shown } from "./types";

export interface ContextOptions {
  optLevel?: number;
  requiredPass?: readonly string[];
  disabledPass?: readonly string[];
  instruments?: readonly unknown[];
  config?: Record<string, unknown>;
}

const OPTIONS = ["optLevel", "requiredPass", "disabledPass", "instruments", "config"];

/** Contexts that were entered or asked for, by the numbers that the engine gives them. */
const entered = new WeakMap<Space, Map<number, PassContext>>();

function contexts(): Map<number, PassContext> {
  const known = entered.get(space()) ?? new Map<number, PassContext>();
  entered.set(space(), known);
  return known;
}

function names(list: readonly string[] | undefined, what: string): readonly string[] {
  if (list !== undefined && !Array.isArray(list))
    throw new TypeError(`${what} must be a list of names`);
  return Object.freeze((list ?? []).map(String));
}

/** The options that passes run under. `run(f)` corresponds to Python's `with`. */
export class PassContext extends Scope {
  readonly optLevel: number;
  readonly requiredPass: readonly string[];
  readonly disabledPass: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
  private readonly diagnostics = new DiagnosticContext();
  private watching: readonly unknown[];
  private readonly owner = owningScript();
  /** Numbers of the scopes that it was entered as and that are not left. */
  private readonly scopes: number[] = [];

  constructor(options: ContextOptions = {}) {
    super();
    checkOptions("PassContext", options, OPTIONS);
    this.optLevel = options.optLevel ?? 2;
    this.requiredPass = names(options.requiredPass, "requiredPass");
    this.disabledPass = names(options.disabledPass, "disabledPass");
    this.config = Object.freeze({ ...options.config });
    this.watching = [...(options.instruments ?? [])];
    if (!Number.isInteger(this.optLevel)) throw new TypeError("the opt level must be an integer");
  }

  /** Returns the context in which passes report their findings. */
  get diagCtx(): DiagnosticContext {
    return this.diagnostics;
  }

  /** Returns the instruments of its passes. */
  get instruments(): readonly unknown[] {
    return this.watching;
  }

  enter(): this {
    ofScript(this.owner);
    const config = Object.entries(this.config).map(([key, value]) => [key, python(value, key)]);
    const desc: ContextDesc = {
      optLevel: this.optLevel,
      required: this.requiredPass,
      disabled: this.disabledPass,
      config: Object.fromEntries(config),
      instruments: instrumentDescs(this.watching),
    };
    const scope = cross().user_enter(desc);
    this.scopes.push(scope);
    contexts().set(scope, this);
    return this;
  }

  exit(): void {
    this.scopes.pop();
    cross().user_exit();
  }

  /** Returns the context that is current: the object itself that was entered. */
  static current(): PassContext {
    const [scope, optLevel, requiredPass, disabledPass, config] = cross().user_context() as [
      number,
      number,
      string[],
      string[],
      unknown[],
    ];
    const known = contexts().get(scope);
    if (known) return known;
    // One that the page has entered.
    const entries: Record<string, unknown> = {};
    for (let at = 0; at < config.length; at += 2) entries[config[at] as string] = config[at + 1];
    const context = new PassContext({ optLevel, requiredPass, disabledPass, config: entries });
    context.scopes.push(scope);
    contexts().set(scope, context);
    return context;
  }

  /** Replaces its instruments, whether or not it is the current one: the old ones are left, the new ones entered. */
  overrideInstruments(list: readonly unknown[]): void {
    ofScript(this.owner);
    const scope = this.scopes.at(-1);
    const descs = instrumentDescs(list);
    if (scope === undefined) callHook(this.watching, "exit");
    this.watching = [...list];
    if (scope === undefined) callHook(list, "enter");
    else cross().user_override(scope, descs);
  }

  /** Registers a key of the configuration that passes of the script read: `bool`, `int`, `str` or `list`. */
  static registerConfigOption(key: string, type: string): void {
    cross().user_config_key(String(key), String(type));
  }

  /** Returns all keys of the configuration with the types that TVM says they have. */
  static listConfigs(): Record<string, { type: string }> {
    const words = cross().user_config_keys();
    const keys: Record<string, { type: string }> = {};
    for (let at = 0; at < words.length; at += 2)
      keys[words[at] as string] = { type: words[at + 1] as string };
    return keys;
  }
}

type Level = "error" | "warning" | "note" | "help";

/** A finding about a place of the program (TVM's `Diagnostic`). */
export class Diagnostic {
  readonly span: Span | null;
  constructor(
    readonly level: Level,
    place: Span | Expr | null,
    readonly message: string,
  ) {
    if (place !== null && !(place instanceof Span) && !(place instanceof Expr))
      throw new TypeError(`a place is an expression, its span, or null, not ${shown(place)}`);
    this.span = place instanceof Expr ? place.span : place;
  }
  static error(place: Span | Expr | null, message: string): Diagnostic {
    return new Diagnostic("error", place, String(message));
  }
  static warning(place: Span | Expr | null, message: string): Diagnostic {
    return new Diagnostic("warning", place, String(message));
  }
  static note(place: Span | Expr | null, message: string): Diagnostic {
    return new Diagnostic("note", place, String(message));
  }
  static help(place: Span | Expr | null, message: string): Diagnostic {
    return new Diagnostic("help", place, String(message));
  }
  toString(): string {
    return `${this.level}: ${this.message}`;
  }
}

/** Collects the findings of a pass (TVM's `DiagnosticContext`). A pass that reported an error has failed. */
export class DiagnosticContext {
  private errors: Diagnostic[] = [];

  /** Reports at the place in the program; outside of a pass it is printed. */
  emit(found: Diagnostic): void {
    if (!(found instanceof Diagnostic))
      throw new TypeError(`a Diagnostic is needed here, not ${shown(found)}`);
    const span = found.span ? Uint32Array.of(found.span.start, found.span.end) : new Uint32Array();
    if (found.level === "error") this.errors.push(found);
    if (!cross().user_report(found.level, found.message, span)) print(String(found));
  }

  /** Throws when an error was reported, as TVM does. */
  render(): void {
    const [first] = this.errors;
    this.errors = [];
    if (first) throw new Error(`DiagnosticError: ${first.message}`);
  }
}

/** Loading a script: running its own code, and saying where it went wrong. */
import type { Problem, Run, ScriptReport, Step } from "../engine/protocol";
import { newScript } from "./engine";
import { HookError } from "./functor";
import { languageProblems } from "./language";
import { Func } from "./nodes";
import { forgetOutput, printed, userConsole } from "./output";
import { forgetPasses, host, registered, setLoading } from "./passes";
import { shown } from "./types";

/** The script's file name in stack traces. */
const FILE = "my-passes.js";
/** The script is the body of a function, so that running it again starts anew; this stands in front of its first line. */
const HEAD = "export default async (console, Function) => {";
const TAIL = `\n}\n//# sourceURL=${FILE}`;
const MAX_SCRIPT = 1 << 20;

let problems: Problem[] = [];
let lines: number[] = [];
let source = "";

interface Place {
  line: number;
  column: number;
}

function problem(message: string, place: Place | null, code = "user-error"): Problem {
  const start = place ? (lines[place.line - 1] ?? source.length) : null;
  const end = place ? (lines[place.line] ?? source.length + 1) - 1 : null;
  const at = start !== null && place ? Math.min(start + place.column - 1, source.length) : null;
  return {
    severity: "error",
    code,
    message,
    from: at,
    to: at === null || end === null ? at : Math.max(at, end),
    line: place?.line ?? null,
    column: place?.column ?? null,
    notes: [],
  };
}

/** Returns the innermost place of the script in a stack. */
function placeIn(stack: unknown): Place | null {
  const found = typeof stack === "string" ? stack.match(new RegExp(`${FILE}:(\\d+):(\\d+)`)) : null;
  if (!found) return null;
  const line = Number(found[1]);
  const column = Number(found[2]) - (line === 1 ? HEAD.length : 0);
  // Behind the end is the function's own brace.
  if (line > lines.length) return { line: lines.length, column: 1 };
  return { line, column: Math.max(1, column) };
}

/** Finds the definition of a hook: its class, and in it the method. */
function placeOfHook(error: unknown): Place | null {
  try {
    if (!(error instanceof HookError)) return null;
  } catch {
    // Even `instanceof` may run the script's code.
    return null;
  }
  const from = source.search(new RegExp(`\\bclass\\s+${error.owner}\\b`));
  const at = from < 0 ? -1 : source.slice(from).search(new RegExp(`\\b${error.hook}\\s*\\(`));
  if (at < 0) return null;
  const line = lines.findLastIndex((start) => start <= from + at);
  return { line: line + 1, column: from + at - (lines[line] as number) + 1 };
}

function messageOf(error: unknown): string {
  try {
    if (error instanceof RangeError && /call stack/i.test(error.message))
      return "RangeError: the visit goes too deep for the stack; MixedModeMutator and postOrderRewrite do not recurse";
    if (error instanceof Error) {
      // An error from a pass called by a pass already starts with its name.
      const named = error.name === "Error" && /^\w*Error: /.test(error.message);
      return named ? error.message : `${error.name}: ${error.message}`;
    }
    return `thrown: ${shown(error)}`;
  } catch {
    return "something that cannot be put into words was thrown";
  }
}

function stackOf(error: unknown): unknown {
  try {
    return error instanceof Error ? error.stack : "";
  } catch {
    return "";
  }
}

/** Problems of errors thrown through the engine, by its message. One that a script catches is no problem. */
const thrown = new Map<string, Problem>();

/** Returns the engine's message for a thrown error, with the problem that it is if it stays uncaught. */
function problemOf(error: unknown): [string, Problem] {
  const message = messageOf(error);
  const place = placeOfHook(error) ?? placeIn(stackOf(error));
  const known = thrown.get(message);
  if (known) return [message, known];
  const text = place ? `${message} (line ${place.line} of My passes)` : message;
  return [text, problem(message, place)];
}

function tell(found: Problem): void {
  if (problems.length < 100 && !problems.some((one) => one.message === found.message))
    problems.push(found);
}

/** Notes an uncaught error. */
function note(error: unknown): void {
  tell(problemOf(error)[1]);
}

/** Called by the engine. Throws texts only. */
export function guardedHost(...args: Parameters<typeof host>): unknown {
  try {
    return host(...args);
  } catch (error) {
    const [text, found] = problemOf(error);
    if (thrown.size < 1000) thrown.set(text, found);
    throw text;
  }
}

/** Returns the messages that ended passes of a run, or its context, except errors that another pass caught. */
export function endings(run: Run): string[] {
  const ended = run.steps.filter((step) => {
    for (let at: Step | undefined = step; at; at = run.steps[at.parent ?? -1])
      if (at.outcome !== "failed") return false;
    return true;
  });
  return [...run.problems, ...ended.flatMap((step) => step.problems)].map(({ message }) => message);
}

/** Notes what ended passes of a run, or its context. */
export function noteFailures(run: Run): void {
  for (const message of endings(run)) {
    const found = thrown.get(message);
    if (found) tell(found);
  }
}

// Taken before the user's code runs.
const { setTimeout: inAWhile } = globalThis;
const reject = Promise.reject.bind(Promise);

/** True while rejections of promises are noted: while a script is loaded and run. */
let listening = false;
/** In browsers only: Node has no such event. */
let hears = false;
/** Called when the promise is heard that was rejected last. */
let heardLast: (() => void) | null = null;
const LAST = {};
const LONGEST_WAIT = 200;

/** Listens for unhandled rejections of promises. */
export function hearRejections(): void {
  if (typeof globalThis.addEventListener !== "function") return;
  hears = true;
  globalThis.addEventListener("unhandledrejection", ({ reason }) => {
    if (reason === LAST) heardLast?.();
    else if (listening) note(reason);
  });
}

/** Waits for earlier rejections: they are reported in order, so one more marks the end. */
export async function settle(): Promise<void> {
  if (hears) {
    await new Promise<void>((done) => {
      heardLast = () => inAWhile(done, 0);
      inAWhile(done, LONGEST_WAIT);
      void reject(LAST);
    });
  }
  listening = false;
}

type Main = (console: typeof userConsole, func: typeof Func) => Promise<void>;

/** The module of the newest text: texts are compiled once and run for every run. */
let compiled: { text: string; main: Main } | null = null;

async function compile(text: string): Promise<Main> {
  if (compiled?.text === text) return compiled.main;
  const whole = HEAD + text + TAIL;
  const inNode = typeof process === "object" && Boolean(process.versions?.node);
  const url = inNode
    ? `data:text/javascript,${encodeURIComponent(whole)}`
    : URL.createObjectURL(new Blob([whole], { type: "text/javascript" }));
  try {
    const module = (await import(/* @vite-ignore */ url)) as { default: Main };
    compiled = { text, main: module.default };
    return module.default;
  } finally {
    if (!inNode) URL.revokeObjectURL(url);
  }
}

/**
 * Finds the place where a text stops being JavaScript. Browsers tell the place of a syntax error only to listeners for
 * uncaught errors, so the text is given to `importScripts`, as a function that is not called.
 */
async function placeOfSyntaxError(text: string): Promise<Place | null> {
  const importer = (globalThis as { importScripts?: (url: string) => void }).importScripts;
  if (typeof importer !== "function") return null;
  const head = "(async () => {";
  const url = URL.createObjectURL(new Blob([`${head}${text}\n})`], { type: "text/javascript" }));
  return new Promise((resolve) => {
    const done = (place: Place | null) => {
      self.removeEventListener("error", heard);
      URL.revokeObjectURL(url);
      resolve(place);
    };
    const heard = (event: ErrorEvent) => {
      event.preventDefault();
      const column = event.colno - (event.lineno === 1 ? head.length : 0);
      done(
        event.lineno
          ? { line: Math.min(event.lineno, lines.length), column: Math.max(1, column) }
          : null,
      );
    };
    self.addEventListener("error", heard);
    setTimeout(() => {
      importer(url);
      done(null);
    });
    setTimeout(() => done(null), 500);
  });
}

/** Runs a script's own code and reports its definitions. The engine's memory must be lent. */
export async function loadScript(
  text: string,
): Promise<ScriptReport & { forEngine: [unknown, unknown] }> {
  newScript();
  forgetPasses();
  forgetOutput();
  thrown.clear();
  listening = true;
  problems = languageProblems(text);
  source = text;
  lines = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines.push(at + 1);
  let main: Main | null = null;
  if (text.length > MAX_SCRIPT)
    problems.push(problem("the script is longer than a megabyte", null));
  else {
    try {
      main = await compile(text);
    } catch (error) {
      const place = placeIn(stackOf(error)) ?? (await placeOfSyntaxError(text));
      const python =
        /^\s*(def \w+\(.*:|class \w+(\(.*\))?:|@\w|from \w+[\w.]* import |import \w+$)/m.test(text);
      const modules = /^\s*(import|export)\b/m.test(text);
      const about = python
        ? " (this looks like Python: choose it under Language)"
        : modules
          ? " (a script imports and exports nothing)"
          : "";
      problems.push(problem(messageOf(error) + about, place, "user-syntax"));
    }
  }
  setLoading(true);
  try {
    await main?.(userConsole, Func);
  } catch (error) {
    note(error);
  } finally {
    setLoading(false);
  }
  try {
    const { passes, instruments, report } = registered();
    return { ...report, problems, output: [...printed()], forEngine: [passes, instruments] };
  } catch (error) {
    // A class of the user's that cannot be made.
    note(error);
    return { passes: [], instruments: [], problems, output: [...printed()], forEngine: [[], []] };
  }
}

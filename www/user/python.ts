/** Scripts in Python, as `loadScript` has them in JavaScript: `www/python/tvm/_page.py` runs them. */
import type { Problem, Run, ScriptReport } from "../engine/protocol";
import { languageProblems } from "./language";
import { forgetOutput, print, printed } from "./output";
import { endings } from "./script";

/** As Python tells of an error: lines and columns from 1, in characters. */
interface Told {
  message: string;
  place: [line: number, column: number, endLine: number | null, endColumn: number | null] | null;
  notes: string[];
  code: string;
}

const MAX_SCRIPT = 1 << 20;

/** Leaves only the modules that were there before the first script, so that each run has the package anew. */
const FRESH = `
import sys
import importlib
_kept = globals().setdefault("_kept", frozenset(sys.modules))
for _name in [name for name in sys.modules if name not in _kept]:
    del sys.modules[_name]
importlib.invalidate_caches()
import tvm._page
tvm._page
`;

function problemIn(source: string, { message, place, notes, code }: Told): Problem {
  const starts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1))
    starts.push(at + 1);
  const offset = (line: number, column: number) => {
    const from = starts[line - 1] ?? source.length;
    const end = (starts[line] ?? source.length + 1) - 1;
    // Python counts characters, the page units of UTF-16.
    const units = [...source.slice(from, end)].slice(0, column - 1).join("").length;
    return Math.min(from + units, end);
  };
  const from = place && offset(place[0], place[1]);
  const to = place && (place[2] && place[3] ? offset(place[2], place[3]) : null);
  const lineEnd = place && (starts[place[0]] ?? source.length + 1) - 1;
  return {
    severity: "error",
    code,
    message,
    from,
    to: from === null ? null : Math.max(from, to ?? lineEnd ?? from),
    line: place?.[0] ?? null,
    column: place?.[1] ?? null,
    notes,
  };
}

/** Returns functions that run a script, and that tell what became of it after the passes ran. */
export function pythonScript(
  // biome-ignore lint/suspicious/noExplicitAny: the types of `pyodide` need its files to be imported
  pyodide: any,
) {
  // biome-ignore lint/suspicious/noExplicitAny: the module `tvm._page`
  let page: any = null;
  let source = "";
  pyodide.registerJsModule("_passlab_page", { print });
  /** Imports the package anew, which begins with no node of an earlier engine. */
  const fresh = () => {
    page?.destroy();
    page = pyodide.runPython(FRESH);
  };
  const problems = (told: Told[]) => [
    ...languageProblems(source),
    ...told.map((one) => problemIn(source, one)),
  ];
  // Compiled modules are kept, unlike pyodide has it; the first import compiles them before a script waits.
  pyodide.runPython("import sys; sys.dont_write_bytecode = False");
  fresh();
  return {
    /** Loads a script: its own code runs, while the engine's memory is lent. */
    load(text: string): ScriptReport & { forEngine: [unknown, unknown] } {
      forgetOutput();
      source = text;
      if (text.length > MAX_SCRIPT) {
        const message = "the script is longer than a megabyte";
        const told = { message, place: null, notes: [], code: "user-error" };
        return {
          passes: [],
          instruments: [],
          problems: problems([told]),
          output: [],
          forEngine: [[], []],
        };
      }
      fresh();
      const report = JSON.parse(page.load(text));
      return { ...report, problems: problems(report.problems), output: [...printed()] };
    },
    /** Returns the words for the exception that is on its way through the engine. */
    thrown(): string {
      return JSON.parse(page.thrown())[0];
    },
    /** Returns the problems and the output after a run. */
    after(run: Run): Pick<ScriptReport, "problems" | "output"> {
      const told = JSON.parse(page.after(JSON.stringify(endings(run))));
      return { problems: problems(told), output: [...printed()] };
    },
  };
}

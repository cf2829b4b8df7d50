/** The engine for tests: the one that the page gets, opened in Node. `cargo xtask test` builds it before unit tests run. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rowsOf } from "../engine/diff";
import type { Diff, DiffRow, PassItem, Run, RunDocument } from "../engine/protocol";
import { provideSecond } from "../engine/second";
import type { Engine } from "./engine";
import { answer, installUserApi, type ScriptSession } from "./index";

const folder = join(import.meta.dirname, "../pkg");
export const built = existsSync(join(folder, "passlab_bg.wasm"));

let Session: (new () => ScriptSession) | null = null;

async function open(): Promise<ScriptSession> {
  if (!Session) {
    const glue = await import(/* @vite-ignore */ pathToFileURL(join(folder, "passlab.js")).href);
    const first = glue.initSync({ module: readFileSync(join(folder, "passlab_bg.wasm")) });
    provideSecond(
      first,
      () => new WebAssembly.Module(readFileSync(join(folder, "passlab_second.wasm"))),
    );
    installUserApi(glue as Engine);
    Session = glue.Session;
  }
  return new (Session as new () => ScriptSession)();
}

const HEADER = '#[version = "0.0.5"]\n';

/** A program and a script in a session, run as often as a test likes. */
export class Bench {
  private constructor(private readonly session: ScriptSession) {}

  static async open(): Promise<Bench> {
    return new Bench(await open());
  }

  /** Runs a script's passes on a program; a program of Relay without header gets one. */
  async run(
    source: string,
    script: string,
    calls: string[] = [],
    more: Partial<RunDocument> = {},
  ): Promise<Run> {
    const passes: PassItem[] = calls.map((call) => ({ call, enabled: true }));
    const whole = /^(#\[version|@|# from|metadata)/.test(source);
    const text = whole ? source : HEADER + source;
    const document: RunDocument = {
      source: text,
      passes,
      optLevel: 3,
      required: [],
      disabled: [],
      config: {},
      instruments: [],
      script,
      ...more,
    };
    return (await answer(this.session, { id: 1, type: "run", document })) as Run;
  }

  /** Returns the text of a version, without header and types. */
  text(version: number): string {
    const text = this.session.handle({ id: 2, type: "text", version, stable: false }) as string;
    return text
      .replace(HEADER, "")
      .replace(/ \/\* ty=(?:[^*]|\*(?!\/))* \*\//g, "")
      .trim();
  }

  diff(before: number, after: number): DiffRow[] {
    return rowsOf(this.session.handle({ id: 3, type: "diff", before, after }) as Diff);
  }

  handle(request: unknown): unknown {
    return this.session.handle(request);
  }
}

/** Returns the lines that a script printed, of one that must not go wrong. */
export function said(run: Run): string[] {
  expect_no_problems(run);
  return run.script?.output ?? [];
}

function expect_no_problems(run: Run): void {
  const found = [
    ...run.problems,
    ...(run.script?.problems ?? []),
    ...run.steps.flatMap((step) => step.problems),
  ];
  if (found.length > 0)
    throw new Error(found.map((one) => `${one.line ?? "-"}: ${one.message}`).join("\n"));
}

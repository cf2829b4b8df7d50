/**
 * Starts CPython (`pyodide`) in the sandbox's worker, and answers runs whose script is written in it.
 *
 * A worker without an origin can load nothing: the page hands in every file, modules start from blobs, and `fetch` answers
 * from those bytes while Python starts; after that there is none. Python can reach no more of JavaScript than a script in
 * JavaScript can: the same worker, the same policy.
 */

import type { Request, Run } from "../engine/protocol";
import { install } from "../python/host.mjs";
import type { ScriptSession } from "../user";
import { pythonScript } from "../user/python";

/** The files that the page hands in, each as bytes. */
export interface PythonParts {
  loader: ArrayBuffer;
  asm: ArrayBuffer;
  wasm: ArrayBuffer;
  library: ArrayBuffer;
  modules: ArrayBuffer;
  /** The memory of a CPython that has started, if there is one. */
  memory?: ArrayBuffer;
}

const BASE = "https://python.invalid/";

async function moduleOf(bytes: ArrayBuffer): Promise<Record<string, unknown>> {
  const url = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
  try {
    return await import(/* @vite-ignore */ url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Starts Python with the package `tvm` over the engine. Without a memory to go on from, `keep` gets the one to go on from. */
export async function openPython(
  parts: PythonParts,
  keep: (memory: ArrayBuffer) => void,
  // biome-ignore lint/suspicious/noExplicitAny: the glue, which Python calls by names
  engine: any,
  session: ScriptSession,
): Promise<(request: Request) => Promise<unknown>> {
  const files: Record<string, [ArrayBuffer, string]> = {
    "pyodide.asm.wasm": [parts.wasm, "application/wasm"],
    "python_stdlib.zip": [parts.library, "application/zip"],
  };
  const scope = globalThis as { fetch: unknown };
  scope.fetch = async (address: unknown) => {
    const name = String((address as Request & { url?: string }).url ?? address)
      .split("/")
      .at(-1) as string;
    const found = files[name];
    if (!found) throw new TypeError(`there is no network here: ${name} cannot be loaded`);
    return new Response(found[0], { headers: { "content-type": found[1] } });
  };
  const { info, modules } = JSON.parse(new TextDecoder().decode(parts.modules)) as {
    info: object;
    modules: Record<string, string>;
  };
  const [{ loadPyodide }, asm] = await Promise.all([moduleOf(parts.loader), moduleOf(parts.asm)]);
  const start = (from: object) =>
    // biome-ignore lint/suspicious/noExplicitAny: the package's own types need its files to be imported
    (loadPyodide as any)({
      indexURL: BASE,
      // No packages but the one that is handed in.
      lockFileContents: JSON.stringify({ info, packages: {} }),
      createPyodideModule: asm.default,
      packageBaseUrl: BASE,
      ...from,
    });
  const { memory } = parts;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  let pyodide: any = memory && (await start({ _loadSnapshot: memory }).catch(() => null));
  if (!pyodide) {
    pyodide = await start({ _makeSnapshot: true });
    keep(pyodide.makeMemorySnapshot().buffer);
  }
  for (const name of Object.keys(files)) delete files[name];
  let script: ReturnType<typeof pythonScript> | null = null;
  // An exception of Python is text in the engine, as one of a script in JavaScript is.
  const guarded = (host: (...args: never[]) => unknown) =>
    engine.user_host((...args: never[]) => {
      try {
        return host(...args);
      } catch {
        throw script?.thrown() ?? "Python is not there yet";
      }
    });
  install(pyodide, { ...engine, user_host: guarded }, modules);
  session.begin_script("");
  const opened = pythonScript(pyodide);
  script = opened;
  session.script_loaded([], []);
  return async (request) => {
    if (request.type !== "run" || !request.document.script) return session.handle(request);
    session.begin_script(request.document.source);
    const { forEngine, ...report } = opened.load(request.document.script);
    session.script_loaded(...forEngine);
    const run = session.handle(request) as Run;
    return { ...run, script: { ...report, ...opened.after(run) } };
  };
}

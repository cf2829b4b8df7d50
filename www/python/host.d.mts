/** The folder of the package `tvm` and its companions in Python's file system. */
export const HOME: string;
/** Opens the engine for a script whose memory stays lent, so that functions for scripts work at any time. */
export function openEngine(
  engine: unknown,
  first: WebAssembly.Module,
  second: () => WebAssembly.Module,
): unknown;
/** Puts the engine, and the files of the package by their paths, into a Python that was loaded. */
export function install(pyodide: unknown, engine: unknown, files: Record<string, string>): void;

/** Enters and leaves scopes, as Python's `with` does. */

/** Refuses promises: the engine does not wait, so their results would come after the pass. */
export function refusePromise(result: unknown, what = "a pass"): void {
  if (result instanceof Promise)
    throw new TypeError(`${what} cannot be an async function: it must be done when it returns`);
}

export abstract class Scope {
  abstract enter(): this;
  abstract exit(): void;

  /** Enters, calls `f`, and leaves, also when `f` throws. Returns the result of `f`. */
  run<T>(f: (scope: this) => T): T {
    this.enter();
    try {
      const result = f(this);
      refusePromise(result, "what runs in a context");
      return result;
    } finally {
      this.exit();
    }
  }
}

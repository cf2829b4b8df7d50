/** A worker whose code is loaded at its start: the page does not wait for code that most visits never use. */
import type { WorkerLike } from "./client";

export class Later implements WorkerLike {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  private worker: WorkerLike | null = null;
  private over = false;

  constructor(load: () => Promise<WorkerLike>) {
    load().then(
      (worker) => {
        if (this.over) return worker.terminate();
        this.worker = worker;
        worker.onmessage = (event) => this.onmessage?.(event);
        worker.onerror = (event) => this.onerror?.(event);
      },
      (error) => this.onerror?.(new ErrorEvent("error", { message: String(error) })),
    );
  }

  /** Called only after the worker said that it is ready, so it exists. */
  postMessage(message: unknown): void {
    this.worker?.postMessage(message);
  }

  terminate(): void {
    this.over = true;
    this.worker?.terminate();
  }
}

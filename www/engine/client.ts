/**
 * The page's side of the engine: a queue in front of a worker that may hang or die.
 *
 * One job is in the worker at a time. Jobs that share a slot replace each other while they wait, so with
 * `run` in one slot the newest edit wins and nothing older is computed. A job that takes longer than its
 * limit, a worker that dies and an engine that reports a bug all end the same way: the worker is thrown away,
 * a new one started, and `onRestart` lets the page put its state back.
 */
import type { Answers, Request, Response } from "./protocol";
import type { Boot } from "./worker";

export type Kind = keyof Answers;
/** A request without its number, which the client gives. */
export type Ask<K extends Kind> = { type: K } & Omit<Extract<Request, { type: K }>, "id" | "type">;

export type Reply<K extends Kind> =
  | { status: "answered"; value: Answers[K] }
  /** A newer job took its slot, or the run that it asked about is gone. Its result is not needed any more. */
  | { status: "superseded" }
  | { status: "stopped"; reason: "hung" | "crashed" | "cancelled"; message: string };

export type Phase = "starting" | "ready" | "slow" | "restarting" | "dead";
export interface Status {
  phase: Phase;
  /** The error, for `restarting` and `dead`. */
  message: string;
  /** The kind of the job in the worker. */
  job: Kind | null;
}

export interface WorkerLike {
  postMessage(message: unknown): void;
  terminate(): void;
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

export interface Options {
  spawn(): WorkerLike;
  /** Milliseconds until a job counts as hung. */
  limit(kind: Kind): number;
  /** After so many losses in all, the worker is given up until `revive`; without it only a bad start counts. */
  losses?: number | undefined;
  /** Milliseconds until a new worker must have said `ready`. */
  startLimit: number;
  /** Milliseconds after which a job counts as slow, and the page says so. */
  slowAfter: number;
  onStatus(status: Status): void;
  /** Called when a new worker replaces a lost one; it knows of no run yet. */
  onRestart(): void;
}

interface Job {
  id: number;
  slot: string;
  request: Request;
  settle(reply: Reply<Kind>): void;
}

/** Jobs about the versions of a run: without meaning once another run has started or the worker is new. */
const ABOUT_A_RUN = new Set<Kind>([
  "text",
  "diff",
  "names",
  "history",
  "graph",
  "rewrites",
  "partial",
  "preview",
  "operators",
  "eval",
  "check",
  "bisect",
  "reduce",
  "dump",
  "hash",
  "compare",
]);
/** The slot of a run that only puts a new engine into the old state: it goes before other runs. */
export const REPLAY = "replay";
/** A worker that fails this often in a row before it is ready is given up until `revive`. */
const MAX_STARTS = 3;

export class EngineClient {
  private worker: WorkerLike | null = null;
  private ready = false;
  private current: Job | null = null;
  private waiting: Job[] = [];
  private nextId = 1;
  private starts = 0;
  private losses = 0;
  private lost = false;
  private why = "";
  private told: Phase | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private slowTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: Options) {
    this.start();
  }

  /** Puts a job into the queue. Jobs without a slot of their own are all answered, in order, before any run. */
  ask<K extends Kind>(request: Ask<K>, slot = ""): Promise<Reply<K>> {
    return new Promise((resolve) => {
      const id = this.nextId++;
      const job: Job = {
        id,
        slot,
        request: { ...request, id } as unknown as Request,
        settle: resolve as (reply: Reply<Kind>) => void,
      };
      if (slot) this.drop((other) => other.slot === slot);
      this.waiting.push(job);
      this.pump();
    });
  }

  /** Ends the job in the worker by restarting the engine. */
  cancel(): void {
    if (this.current) this.lose("cancelled", "stopped");
  }

  /** Starts again after the engine was given up. */
  revive(): void {
    if (this.worker) return;
    this.starts = 0;
    this.losses = 0;
    this.start();
  }

  dispose(): void {
    this.clearTimers();
    this.worker?.terminate();
    this.worker = null;
    this.ready = false;
    this.current?.settle({ status: "superseded" });
    this.current = null;
    this.drop(() => true);
  }

  /** True while a run is waiting or in the worker. */
  get running(): boolean {
    return (
      this.current?.request.type === "run" || this.waiting.some((job) => job.request.type === "run")
    );
  }

  /** True if no job runs or waits. */
  get idle(): boolean {
    return this.ready && !this.current && this.waiting.length === 0;
  }

  private start(): void {
    this.starts++;
    this.ready = false;
    this.report(this.lost ? "restarting" : "starting", this.why);
    const worker = this.options.spawn();
    this.worker = worker;
    worker.onmessage = (event: MessageEvent<Boot | Response>) => {
      if (worker === this.worker) this.hear(event.data);
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      if (worker === this.worker) this.lose("crashed", event.message || "the worker died");
    };
    this.timer = setTimeout(
      () => this.lose("hung", "the engine did not start in time"),
      this.options.startLimit,
    );
  }

  private hear(message: Boot | Response): void {
    if (message.type === "ready") {
      this.clearTimers();
      this.ready = true;
      this.starts = 0;
      const again = this.lost;
      this.lost = false;
      this.report("ready");
      if (again) this.options.onRestart();
      this.pump();
      return;
    }
    if (message.type === "unready") {
      this.lose("crashed", message.message);
      return;
    }
    const job = this.current;
    if (!job || job.id !== message.id) return;
    if (message.type === "failed") {
      this.lose("crashed", message.message);
      return;
    }
    this.clearTimers();
    this.current = null;
    job.settle({ status: "answered", value: message.value });
    // Asked while the run was under way, so about the versions of the one before it.
    if (message.type === "run") this.drop((other) => ABOUT_A_RUN.has(other.request.type));
    this.pump();
    this.report("ready");
  }

  private pump(): void {
    if (!this.ready || this.current || this.waiting.length === 0) return;
    const rank = (job: Job) => {
      if (job.request.type === "run") return job.slot === REPLAY ? 1 : 2;
      return job.slot ? 3 : 0;
    };
    let best = 0;
    this.waiting.forEach((job, index) => {
      const other = this.waiting[best];
      if (other && rank(job) < rank(other)) best = index;
    });
    const job = this.waiting.splice(best, 1)[0];
    if (!job) return;
    const kind = job.request.type;
    if (kind === "run") this.drop((other) => ABOUT_A_RUN.has(other.request.type));
    this.current = job;
    const limit = this.options.limit(kind);
    this.timer = setTimeout(
      () => this.lose("hung", `no answer in ${Math.round(limit / 100) / 10} s`),
      limit,
    );
    this.slowTimer = setTimeout(() => this.report("slow"), this.options.slowAfter);
    this.worker?.postMessage(job.request);
  }

  private drop(which: (job: Job) => boolean): void {
    const gone = this.waiting.filter(which);
    if (gone.length === 0) return;
    this.waiting = this.waiting.filter((job) => !which(job));
    for (const job of gone) job.settle({ status: "superseded" });
  }

  private lose(reason: "hung" | "crashed" | "cancelled", message: string): void {
    this.clearTimers();
    this.worker?.terminate();
    this.worker = null;
    this.ready = false;
    this.lost = true;
    this.why = message;
    const job = this.current;
    this.current = null;
    this.drop((other) => ABOUT_A_RUN.has(other.request.type));
    this.losses++;
    if (this.starts >= MAX_STARTS || this.losses >= (this.options.losses ?? Infinity)) {
      this.report("dead", message);
    } else {
      this.start();
    }
    job?.settle({ status: "stopped", reason, message });
  }

  private clearTimers(): void {
    clearTimeout(this.timer);
    clearTimeout(this.slowTimer);
  }

  /** Reports changes only: a job that is done at once is not reported. */
  private report(phase: Phase, message = ""): void {
    if (phase === this.told && phase === "ready") return;
    this.told = phase;
    this.options.onStatus({ phase, message, job: this.current?.request.type ?? null });
  }
}

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EngineClient, type Status, type WorkerLike } from "./client";
import type { Request, RunDocument } from "./protocol";

class FakeWorker implements WorkerLike {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly sent: Request[] = [];
  terminated = false;
  postMessage(message: unknown) {
    this.sent.push(message as Request);
  }
  terminate() {
    this.terminated = true;
  }
  say(data: unknown) {
    this.onmessage?.({ data } as MessageEvent);
  }
  answer(value: unknown) {
    const request = this.sent.at(-1);
    this.say({ id: request?.id, type: request?.type, value });
  }
  fail(message: string) {
    this.say({ id: this.sent.at(-1)?.id, type: "failed", message });
  }
  crash(message: string) {
    this.onerror?.({ message } as ErrorEvent);
  }
}

const document = (source: string): RunDocument => ({
  source,
  passes: [],
  optLevel: 2,
  required: [],
  disabled: [],
  config: {},
  instruments: [],
  script: "",
});

function setUp() {
  const workers: FakeWorker[] = [];
  const status: Status[] = [];
  const onRestart = vi.fn();
  const client = new EngineClient({
    spawn: () => {
      const worker = new FakeWorker();
      workers.push(worker);
      return worker;
    },
    limit: () => 1000,
    startLimit: 5000,
    slowAfter: 300,
    onStatus: (next) => status.push(next),
    onRestart,
  });
  const worker = () => workers.at(-1) as FakeWorker;
  const run = (source: string) => client.ask({ type: "run", document: document(source) }, "run");
  return { client, workers, worker, status, onRestart, run };
}

const sources = (worker: FakeWorker) =>
  worker.sent.map((request) => (request.type === "run" ? request.document.source : request.type));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the queue", () => {
  test("nothing is sent before the worker is ready", () => {
    const { worker, run } = setUp();
    void run("a");
    expect(worker().sent).toEqual([]);
    worker().say({ type: "ready" });
    expect(sources(worker())).toEqual(["a"]);
  });

  test("one run is in the worker, the newest edit waits, those between are dropped", async () => {
    const { worker, run } = setUp();
    worker().say({ type: "ready" });
    const first = run("a");
    const second = run("ab");
    const third = run("abc");
    expect(sources(worker())).toEqual(["a"]);
    expect(await second).toEqual({ status: "superseded" });
    worker().answer({ ok: true });
    expect(await first).toMatchObject({ status: "answered" });
    expect(sources(worker())).toEqual(["a", "abc"]);
    worker().answer({ ok: true });
    expect(await third).toMatchObject({ status: "answered" });
  });

  test("questions about a run are dropped when a newer run starts", async () => {
    const { client, worker, run } = setUp();
    worker().say({ type: "ready" });
    void run("a");
    const diff = client.ask({ type: "diff", before: 0, after: 1 }, "diff");
    void run("b");
    worker().answer({ ok: true });
    expect(await diff).toEqual({ status: "superseded" });
    expect(sources(worker())).toEqual(["a", "b"]);
  });

  test("questions put while a run is under way are about the old versions, and dropped", async () => {
    const { client, worker, run } = setUp();
    worker().say({ type: "ready" });
    void run("a");
    const diff = client.ask({ type: "diff", before: 0, after: 1 }, "diff");
    worker().answer({ ok: true });
    expect(await diff).toEqual({ status: "superseded" });
    expect(sources(worker())).toEqual(["a"]);
  });

  test("links and the catalogue are all answered, before any waiting run", () => {
    const { client, worker, run } = setUp();
    void run("a");
    void client.ask({ type: "catalogue" });
    void client.ask({ type: "decode", link: "x" });
    worker().say({ type: "ready" });
    worker().answer({});
    worker().answer({});
    expect(sources(worker())).toEqual(["catalogue", "decode", "a"]);
  });

  test("an answer to an older question is ignored", async () => {
    const { worker, run } = setUp();
    worker().say({ type: "ready" });
    const asked = run("a");
    worker().say({ id: 999, type: "run", value: "wrong" });
    worker().answer("right");
    expect(await asked).toEqual({ status: "answered", value: "right" });
  });
});

describe("the watchdog", () => {
  test("a job beyond its limit costs the worker, not the page", async () => {
    const { workers, worker, run, onRestart, status } = setUp();
    worker().say({ type: "ready" });
    const asked = run("loop");
    vi.advanceTimersByTime(301);
    expect(status.at(-1)?.phase).toBe("slow");
    vi.advanceTimersByTime(700);
    expect(await asked).toMatchObject({ status: "stopped", reason: "hung" });
    expect(workers).toHaveLength(2);
    expect(workers[0]?.terminated).toBe(true);
    expect(status.at(-1)?.phase).toBe("restarting");
    expect(onRestart).not.toHaveBeenCalled();
    worker().say({ type: "ready" });
    expect(onRestart).toHaveBeenCalledOnce();
    expect(status.at(-1)?.phase).toBe("ready");
  });

  test("what was typed while the engine hung is run by the next one", async () => {
    const { worker, run } = setUp();
    worker().say({ type: "ready" });
    void run("loop");
    void run("fine");
    vi.advanceTimersByTime(1001);
    worker().say({ type: "ready" });
    expect(sources(worker())).toEqual(["fine"]);
  });

  test("an answer in time stops the clock", async () => {
    const { workers, worker, run } = setUp();
    worker().say({ type: "ready" });
    void run("a");
    vi.advanceTimersByTime(900);
    worker().answer({ ok: true });
    vi.advanceTimersByTime(5000);
    expect(workers).toHaveLength(1);
  });
});

describe("a crash", () => {
  test("a bug reported by the engine throws the worker away", async () => {
    const { workers, worker, run } = setUp();
    worker().say({ type: "ready" });
    const asked = run("a");
    worker().fail("unreachable");
    expect(await asked).toEqual({
      status: "stopped",
      reason: "crashed",
      message: "unreachable",
    });
    expect(workers).toHaveLength(2);
  });

  test("a worker that dies with nothing to do is replaced as well", () => {
    const { workers, worker, onRestart } = setUp();
    worker().say({ type: "ready" });
    worker().crash("out of memory");
    expect(workers).toHaveLength(2);
    worker().say({ type: "ready" });
    expect(onRestart).toHaveBeenCalledOnce();
  });

  test("an engine that never starts is given up, and can be tried again", () => {
    const { client, workers, worker, status } = setUp();
    for (let count = 0; count < 3; count++) worker().say({ type: "unready", message: "no wasm" });
    expect(workers).toHaveLength(3);
    expect(status.at(-1)).toMatchObject({ phase: "dead", message: "no wasm" });
    client.revive();
    expect(workers).toHaveLength(4);
    worker().say({ type: "ready" });
    expect(status.at(-1)?.phase).toBe("ready");
  });

  test("a replay goes before the run of the newest edit", () => {
    const { client, worker, run } = setUp();
    worker().say({ type: "ready" });
    void run("bad");
    worker().crash("boom");
    void run("new");
    void client.ask({ type: "run", document: document("good") }, "replay");
    worker().say({ type: "ready" });
    worker().answer({ ok: true });
    expect(sources(worker())).toEqual(["good", "new"]);
  });

  test("stopping by hand ends the job and nothing else", async () => {
    const { client, worker, run } = setUp();
    worker().say({ type: "ready" });
    const asked = run("slow");
    client.cancel();
    expect(await asked).toMatchObject({ status: "stopped", reason: "cancelled" });
  });
});

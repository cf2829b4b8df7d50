import { expect, test } from "vitest";
import type { Status, WorkerLike } from "../engine/client";
import { Engines } from "./engines";
import { emptyDocument } from "./model";

class FakeWorker implements WorkerLike {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  terminated = false;
  postMessage() {}
  terminate() {
    this.terminated = true;
  }
}

function setUp() {
  const ordinary: FakeWorker[] = [];
  const boxes: FakeWorker[] = [];
  const status: Status[] = [];
  const into = (list: FakeWorker[]) => () => {
    const worker = new FakeWorker();
    list.push(worker);
    return worker;
  };
  const engines = new Engines({
    spawn: into(ordinary),
    spawnSandbox: into(boxes),
    limit: () => 1000,
    startLimit: 1000,
    slowAfter: 100,
    onStatus: (next) => status.push(next),
    onRestart: () => {},
  });
  const alive = () => boxes.filter((box) => !box.terminated).length;
  return { engines, ordinary, boxes, status, alive };
}

const plain = emptyDocument;
const script = (text: string) => ({ ...emptyDocument, script: text });

test("without a script there is no sandbox", () => {
  const { engines, boxes, ordinary } = setUp();
  expect(engines.use(plain, undefined)).toBe(engines.plain);
  expect(engines.use(script("  "), undefined)).toBe(engines.plain);
  expect([ordinary.length, boxes.length]).toEqual([1, 0]);
});

test("one text, one sandbox; other documents with the same text share it", () => {
  const { engines, boxes } = setUp();
  const first = engines.use(script("a"), undefined);
  expect(engines.use({ ...script("a"), source: "other" }, undefined)).toBe(first);
  expect(boxes).toHaveLength(1);
  expect(engines.use(script("b"), undefined)).not.toBe(first);
});

test("the sandbox of the last good result stays while another text is tried", () => {
  const { engines, alive } = setUp();
  const good = engines.use(script("good"), undefined);
  engines.use(script("bad"), script("good"));
  engines.use(script("worse"), script("good"));
  expect(alive()).toBe(2);
  expect(engines.of(script("good"))).toBe(good);
  engines.use(plain, plain);
  expect(alive()).toBe(0);
});

test("a sandbox that is lost again and again is given up", () => {
  const { engines, boxes, status } = setUp();
  engines.use(script("a"), undefined);
  for (let count = 0; count < 3; count++) {
    boxes.at(-1)?.onmessage?.({ data: { type: "ready" } } as MessageEvent);
    boxes.at(-1)?.onerror?.({ message: "flood" } as ErrorEvent);
  }
  expect(boxes).toHaveLength(3);
  expect(status.at(-1)?.phase).toBe("dead");
});

test("CPython goes from one text to the next, and ends when none needs it", () => {
  const { engines, boxes, alive } = setUp();
  const python = (n: number) => script(`import tvm\nprint(${n})`);
  engines.use(python(1), undefined);
  boxes[0]?.onmessage?.({ data: { type: "ready" } } as MessageEvent);
  engines.use(python(2), python(1));
  boxes[1]?.onmessage?.({ data: { type: "ready" } } as MessageEvent);
  engines.use(python(2), python(2));
  const third = engines.use(python(3), python(2));
  engines.use(python(3), python(3));
  expect(engines.of(python(3))).toBe(third);
  expect([boxes.length, alive()]).toEqual([2, 2]);
  engines.use(script("a"), python(3));
  engines.use(script("a"), script("a"));
  expect(alive()).toBe(1);
});

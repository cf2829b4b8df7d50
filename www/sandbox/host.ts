/**
 * The page's side of the sandbox: a worker for the engine like any other, but inside of a frame without an origin, under
 * a policy without network and storage. It is loaded when the first script is run.
 *
 * A frame is ended by removing it: a loop in it then stops at once, and nothing has to be asked of it.
 */

import engineUrls from "passlab-engine-bytes";
import harnessUrl from "passlab-harness";
import asmUrl from "passlab-python/asm";
import libraryUrl from "passlab-python/library";
import loaderUrl from "passlab-python/loader";
import modulesUrl from "passlab-python/modules";
import asmWasmUrl from "passlab-python/wasm";
import frameUrl from "passlab-sandbox-frame";
import type { WorkerLike } from "../engine/client";
import type { Request } from "../engine/protocol";
import { languageOf } from "../user/language";
import { loading } from "./progress";
import type { PythonParts } from "./python";
import { keepStartedMemory, startedMemory } from "./started";
import { check, LONGEST } from "./validate";

/**
 * So long after its last answer a worker is asked whether it has come to rest, so long it may take to say so, and so long after
 * that it is asked again: a loop may begin later.
 */
const PAUSE = 500;
const REST = 5000;
const AGAIN = 4000;

/** The same for every frame, so fetched once. */
let parts: Promise<{ harness: string; engine: ArrayBuffer[] }> | null = null;

async function load(url: string): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${new URL(url, location.href).pathname} is missing`);
  return response;
}

async function fetchParts() {
  const [harness, engine] = await Promise.all([
    load(harnessUrl).then((response) => response.text()),
    Promise.all(engineUrls.map((url) => load(url).then((response) => response.arrayBuffer()))),
  ]);
  return { harness, engine };
}

/** CPython, once it was asked for. */
let python: Promise<PythonParts> | null = null;

const PYTHON = {
  loader: loaderUrl,
  asm: asmUrl,
  wasm: asmWasmUrl,
  library: libraryUrl,
  modules: modulesUrl,
} satisfies Record<Exclude<keyof PythonParts, "memory">, string>;

/** Loads CPython and says how many bytes of it are there. */
async function fetchPython(): Promise<PythonParts> {
  const had = new Map<string, number>();
  const told = () => loading([...had.values()].reduce((sum, bytes) => sum + bytes, 0));
  const whole = async ([name, url]: [string, string]) => {
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    const reader = (await load(url)).body?.getReader();
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      chunks.push(part.value as Uint8Array<ArrayBuffer>);
      had.set(name, (had.get(name) ?? 0) + part.value.length);
      told();
    }
    return [name, await new Blob(chunks).arrayBuffer()] as const;
  };
  try {
    const [memory, ...entries] = await Promise.all([
      startedMemory(),
      ...Object.entries(PYTHON).map(whole),
    ]);
    const files = Object.fromEntries(entries) as unknown as PythonParts;
    return memory ? { ...files, memory } : files;
  } finally {
    loading(null);
  }
}

/** The sandbox for a script, with what its language needs. */
export function sandboxOf(script: string): Sandbox {
  return new Sandbox(languageOf(script) === "python");
}

export class Sandbox implements WorkerLike {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  private readonly frame = document.createElement("iframe");
  private readonly channel = new MessageChannel();
  /** The questions asked, by number: an answer is read as one to its question, whatever kind it claims. */
  private readonly asked = new Map<number, Request["type"]>();
  private started = false;
  private resting: ReturnType<typeof setTimeout> | undefined;
  /** True while the worker's answer that it has come to rest is awaited. */
  private asking = false;
  private over = false;

  constructor(inPython: boolean) {
    const { frame, channel } = this;
    frame.setAttribute("sandbox", "allow-scripts");
    frame.setAttribute("referrerpolicy", "no-referrer");
    frame.title = "Sandbox of your passes";
    frame.hidden = true;
    frame.src = frameUrl;
    channel.port1.onmessage = ({ data }) => this.hear(data);
    const loaded = new Promise<void>((done) => {
      frame.addEventListener("load", () => done(), { once: true });
    });
    parts ??= fetchParts();
    if (inPython) python ??= fetchPython();
    Promise.all([parts, inPython ? python : null, loaded]).then(
      ([{ harness, engine }, python]) => {
        if (this.over) return;
        const copies = engine.map((bytes) => bytes.slice(0));
        // Copied by the message, because the next sandbox needs them, too.
        const message = { type: "start", harness, engine: copies, python, longest: LONGEST };
        // A frame without an origin cannot be named by one. Only code of the page's own stands in it.
        frame.contentWindow?.postMessage(message, "*", [channel.port2, ...copies]);
      },
      (error) => {
        parts = null;
        python = null;
        this.fail(error instanceof Error ? error.message : String(error));
      },
    );
    document.body.append(frame);
  }

  postMessage(message: unknown): void {
    const request = message as Request;
    this.asked.set(request.id, request.type);
    // From here on the question's own time counts.
    clearTimeout(this.resting);
    this.channel.port1.postMessage(message);
  }

  terminate(): void {
    this.over = true;
    clearTimeout(this.resting);
    this.channel.port1.close();
    this.frame.remove();
  }

  private hear(data: unknown): void {
    if (this.over) return;
    // No script was there yet: the frame passes nothing of the kind on later.
    if (data instanceof ArrayBuffer && !this.started) {
      python = python?.then((parts) => ({ ...parts, memory: data })) ?? null;
      void keepStartedMemory(data);
      return;
    }
    try {
      const message = check(data, this.asked);
      if (message.type === "ended") {
        this.fail(message.message);
        return;
      }
      if (message.type === "rest") {
        if (!this.asking) throw new Error("nobody asked for that");
        this.asking = false;
        if (this.asked.size === 0) this.watch(AGAIN);
        return;
      }
      if (message.type === "ready") {
        if (this.started) throw new Error("an answer was expected");
        this.started = true;
      }
      this.onmessage?.({ data: message } as MessageEvent);
      this.watch();
    } catch {
      this.fail("they gave an answer that cannot be read");
    }
  }

  /** A loop that begins after the answer would go on unseen, at the cost of a processor. */
  private watch(pause = PAUSE): void {
    clearTimeout(this.resting);
    if (this.over || this.asked.size > 0) return;
    this.resting = setTimeout(() => {
      if (!this.asking) this.channel.port1.postMessage("rest");
      this.asking = true;
      this.resting = setTimeout(() => this.fail("they went on after their answer"), REST);
    }, pause);
  }

  private fail(message: string): void {
    if (this.over) return;
    this.over = true;
    this.onerror?.(new ErrorEvent("error", { message }));
  }
}

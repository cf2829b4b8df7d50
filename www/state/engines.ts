/**
 * Chooses the engine for a document. One engine in an ordinary worker serves documents without a script and all
 * requests that concern no run. Each script in use has its own engine in a sandbox, so that no script meets the remains
 * of another. At most two sandboxes live: that of the edited script, and that of the last good result, which stays on
 * view. CPython takes seconds to start, so a sandbox with it goes from one text to the next: it imports everything anew for
 * each run, and what an earlier text left behind elsewhere is the price.
 */
import { EngineClient, type Kind, type Options, type Status } from "../engine/client";
import type { RunDocument } from "../engine/protocol";
import { languageOf } from "../user/language";

/** A sandbox that was lost so often is not started again unasked: its script breaks it by itself. */
const MOST_LOSSES = 3;

interface Slot {
  /** Empty for the ordinary worker. */
  script: string;
  client: EngineClient;
  status: Status | null;
}

/** True for a sandbox in which CPython has started. */
const hasPython = (box: Slot) =>
  languageOf(box.script) === "python" && box.status?.phase === "ready";

export interface EngineOptions extends Omit<Options, "limit" | "onStatus" | "onRestart"> {
  spawnSandbox(script: string): ReturnType<Options["spawn"]>;
  /** Milliseconds until a job counts as hung, in an engine with or without a script. */
  limit(kind: Kind, scripted: boolean): number;
  /** Called with the state of the engine that was asked to run last. */
  onStatus(status: Status): void;
  onRestart(client: EngineClient): void;
}

export class Engines {
  private readonly ordinary: Slot;
  private boxes: Slot[] = [];
  private active: Slot;

  constructor(private readonly options: EngineOptions) {
    this.ordinary = this.make("", options.spawn);
    this.active = this.ordinary;
  }

  /** Returns the engine for documents without a script, links and the catalogue. */
  get plain(): EngineClient {
    return this.ordinary.client;
  }

  /** Returns the engine for this document, started if there is none yet. */
  of(document: RunDocument): EngineClient {
    return this.slot(document).client;
  }

  /** Returns the engine that runs this document from now on; the page shows its state. Ends others than `shown`'s. */
  use(document: RunDocument, shown: RunDocument | undefined): EngineClient {
    const needed = [document.script, shown?.script];
    const free = this.boxes.filter((box) => !needed.includes(box.script));
    const spare = languageOf(document.script) === "python" ? free.find(hasPython) : undefined;
    if (spare && this.boxes.every((box) => box.script !== document.script))
      spare.script = document.script;
    for (const box of free) if (box !== spare) box.client.dispose();
    this.boxes = this.boxes.filter((box) => box === spare || !free.includes(box));
    const slot = this.slot(document);
    if (slot !== this.active) {
      this.active = slot;
      if (slot.status) this.options.onStatus(slot.status);
    }
    return slot.client;
  }

  /** Ends the job of the engine in use. */
  cancel(): void {
    this.active.client.cancel();
  }

  private slot({ script }: RunDocument): Slot {
    if (script.trim() === "") return this.ordinary;
    const known = this.boxes.find((box) => box.script === script);
    if (known) return known;
    const box = this.make(script, () => this.options.spawnSandbox(script));
    this.boxes.push(box);
    return box;
  }

  private make(script: string, spawn: Options["spawn"]): Slot {
    const slot: Partial<Slot> = { script, status: null };
    slot.client = new EngineClient({
      ...this.options,
      spawn,
      limit: (kind) => this.options.limit(kind, script !== ""),
      losses: script ? MOST_LOSSES : undefined,
      onStatus: (status) => {
        slot.status = status;
        if (slot === this.active) this.options.onStatus(status);
      },
      onRestart: () => this.options.onRestart(slot.client as EngineClient),
    });
    return slot as Slot;
  }
}

/**
 * Keeping what is worked on and passing it on: the draft of the next visit, the link in the address, and opening links
 * without ever losing somebody's own work.
 */
import type { EngineClient } from "../engine/client";
import type { Made, RunDocument } from "../engine/protocol";
import { lessonOf } from "./lessons";
import { type Action, type Notice, type State, type Trust, toShared, update } from "./model";
import type { Draft, Keeper } from "./persist";
import { decide, judgeScript } from "./trust";
import { judge, linkOf, withLink } from "./url";

/** The parts of a browser that hold the address and the clipboard. */
export interface Surroundings {
  keeper: Keeper;
  location: Pick<Location, "hash" | "href">;
  history: Pick<History, "replaceState">;
  copy(text: string): Promise<void>;
}

const KEEP_AFTER = 250;

/** What the page says when a document gives something else here than where its link was made. */
function otherResult(made: Made, here: string): string {
  if (made.engine === here) {
    return "These passes gave another result where this link was made. What you see is what they give now.";
  }
  return `This link was made with passlab ${made.engine}, where these passes gave another result. What you see is what passlab ${here} gives.`;
}

export function createSharing({
  environment,
  state,
  dispatch,
  plain,
  stepId,
  undo,
  hash,
}: {
  environment: Surroundings;
  state(): State;
  dispatch(action: Action): void;
  /** The engine that knows no script: it encodes and decodes. */
  plain(): EngineClient;
  /** The step that is shown, to be named in a link. */
  stepId(): string;
  undo(): void;
  /** Hash of what the last good run gave; empty when it cannot be had. */
  hash(): Promise<string>;
}) {
  const { keeper } = environment;

  /** The link that the page shows unchanged, or empty. */
  let fragment = "";
  /** Before the page has started there is nothing to be kept. */
  let started = false;
  let keeping: ReturnType<typeof setTimeout> | undefined;
  let keepFailed = false;

  function draft(): Draft {
    const { document, example, step: id, view, trust } = state();
    return { document, example, step: id, view, link: fragment, trust };
  }

  function keep(): void {
    clearTimeout(keeping);
    if (!started) return;
    const kept = keeper.keepDraft(draft());
    if (!kept && !keepFailed) {
      notify({
        tone: "error",
        text: "This browser refuses to keep your work between visits. Use Share to keep it.",
        action: null,
        label: "",
      });
    }
    keepFailed = !kept;
  }

  function keepSoon(): void {
    clearTimeout(keeping);
    keeping = setTimeout(keep, KEEP_AFTER);
  }

  // ---- links

  function notify(notice: Notice | null): void {
    dispatch({ type: "notice", notice });
  }

  /** What a link says about the result of the document that was opened from it. */
  let claim: Made | null = null;
  let claimed: RunDocument | null = null;

  /** Once the document of a link has run: says so when it gave something else than where the link was made. */
  async function checkClaim(): Promise<void> {
    const { good, document, trust, catalogue, notice } = state();
    if (!claim || document !== claimed || good?.document !== document || trust !== "own") return;
    const made = claim;
    claim = null;
    const found = await hash();
    if (!found || found === made.result || state().document !== document) return;
    const text = otherResult(made, catalogue?.version ?? made.engine);
    const kept = notice?.action === "restore" ? notice : null;
    notify({
      tone: "info",
      text: kept ? `${text} ${kept.text}` : text,
      action: kept?.action ?? null,
      label: kept?.label ?? "",
    });
  }

  /** Which engine got which result, when the document that is shared is the one that ran. */
  async function made(): Promise<Made> {
    const { good, document, catalogue, trust } = state();
    const ran = good?.document === document && trust === "own";
    const result = ran ? await hash() : "";
    return { engine: result ? (catalogue?.version ?? "") : "", result };
  }

  /** The document as it is passed on. */
  const passedOn = async () => {
    const id = stepId();
    return toShared(state(), id, await made());
  };

  /** The address with everything in it; empty when it could not be made. */
  async function linkNow(): Promise<string> {
    const reply = await plain().ask({ type: "encode", document: await passedOn() });
    return reply.status === "answered" ? withLink(environment.location.href, reply.value) : "";
  }

  /** The reproducer file; null when it could not be made. */
  async function reproducer(): Promise<string | null> {
    const reply = await plain().ask({ type: "write", document: await passedOn() });
    return reply.status === "answered" ? reply.value : null;
  }

  async function copyText(text: string): Promise<boolean> {
    try {
      await environment.copy(text);
      return true;
    } catch {
      return false;
    }
  }

  let recovered: Parameters<typeof toShared>[0] | null = null;

  /** Opens the link in the address. The user's own work is put aside first, never overwritten. */
  async function openLink(): Promise<void> {
    const link = linkOf(environment.location.hash);
    if (!link || link === fragment || lessonOf(link)) return;
    const own = started ? draft() : keeper.draft();
    const reply = await plain().ask({ type: "decode", link });
    const opened =
      reply.status === "answered"
        ? judge(reply.value)
        : {
            kind: "lost" as const,
            message: "This link could not be opened: the engine failed on it.",
          };
    if (opened.kind === "whole") {
      if (own && !own.link) keeper.keepBeforeLink(own);
      fragment = "";
      const trust = await trustIn(opened.document.script, own);
      dispatch({ type: "open", document: opened.document, trust });
      fragment = link;
      claim = opened.document.made?.result ? opened.document.made : null;
      claimed = state().document;
      keepSoon();
      const others = own && !own.link && !own.example;
      notify(
        others
          ? {
              tone: "info",
              text: "Opened from a link. What you were working on is kept.",
              action: "restore",
              label: "Back to my program",
            }
          : null,
      );
      return;
    }
    const text = `${opened.message} Your own program is untouched.`;
    if (opened.kind === "recovered") {
      const trust = await trustIn(opened.document.script, own);
      recovered = update(state(), { type: "open", document: opened.document, trust });
      notify({ tone: "error", text, action: "open-recovered", label: "Open what could be read" });
    } else {
      notify({ tone: "error", text, action: null, label: "" });
    }
  }

  const trustIn = (script: string, own: Draft | null): Promise<Trust> =>
    judgeScript(script, started || !own ? state() : own, keeper);

  /** Puts the state into the address and on the clipboard. */
  async function share(): Promise<string> {
    const shared = state().document;
    const href = await linkNow();
    if (!href) return "The link could not be made.";
    if (state().document !== shared) return "The program changed meanwhile.";
    fragment = linkOf(href.slice(href.indexOf("#")));
    // One's own link opens here without a question.
    if (state().trust === "own") void decide(state().document.script, "own", keeper);
    environment.history.replaceState(null, "", href);
    keepSoon();
    // How long it is, and where that fits, is said in the panel that opens.
    return (await copyText(href)) ? "Link copied." : "The link is in the address bar.";
  }

  function restoreDraft(kept: Draft): void {
    dispatch({
      type: "restore",
      document: kept.document,
      example: kept.example,
      step: kept.step,
      view: kept.view,
      trust: kept.trust,
    });
  }

  function act(notice: Notice): void {
    notify(null);
    if (notice.action === "restore") {
      const kept = keeper.beforeLink();
      if (kept) restoreDraft(kept);
    } else if (notice.action === "open-recovered" && recovered) {
      keeper.keepBeforeLink(draft());
      const { document, step: id, view, trust } = recovered;
      dispatch({ type: "restore", document, example: "", step: id, view, trust });
    } else if (notice.action === "undo") {
      undo();
    }
  }

  return {
    draft,
    keep,
    keepSoon,
    openLink,
    share,
    linkNow,
    reproducer,
    copyText,
    checkClaim,
    trustIn,
    act,
    restoreDraft,
    started: () => started,
    /** What was edited is no longer what the link in the address says. */
    edited(): void {
      if (!fragment) return;
      fragment = "";
      environment.history.replaceState(null, "", environment.location.href.replace(/#.*$/, ""));
    },
    /** Shows what was there at the last visit, then whatever the address says. `first` is for a first visit. */
    async open(first: () => void): Promise<void> {
      const kept = keeper.draft();
      const link = linkOf(environment.location.hash);
      if (kept) restoreDraft(kept);
      else first();
      if (kept && link && kept.link === link) fragment = link;
      const opening = openLink();
      if (link && link !== fragment) await opening;
      started = true;
    },
  };
}

/**
 * Keeps the work: the draft of this tab, and the way back to a replaced document, which is offered until it is taken or
 * dismissed.
 */
import type { RunDocument } from "../engine/protocol";
import type { Address } from "./address";
import { isOwnWork, type Notice } from "./model";
import type { Store } from "./store";
import type { Judge } from "./trust";
import type { Draft, Works } from "./works";

const KEEP_AFTER = 250;
/** Milliseconds after a frame with the document of a link in it until it counts as drawn. */
const DRAWN_AFTER = 300;

interface Keeping {
  store: Store;
  works: Works;
  judge: Judge;
  address: Address;
}

/** Keeps the draft of this tab. */
function createSaving({ store: { state, dispatch }, works }: Keeping, draft: () => Draft) {
  /** False until the page has started, when there is no work to keep. */
  let started = false;
  let keeping: ReturnType<typeof setTimeout> | undefined;
  /** The page has said that the browser refuses. */
  let told = false;
  /** The document of a link that is not drawn yet. If it cannot be, the next visit is not to begin with it. */
  let undrawn: RunDocument | null = null;

  function keep(): void {
    clearTimeout(keeping);
    if (!started || state().document === undrawn) return;
    void works.keepDraft(draft()).then((kept) => {
      if (kept) told = false;
      else if (!told && isOwnWork(state())) {
        told = true;
        dispatch({
          type: "notice",
          notice: {
            tone: "error",
            text: "This browser refuses to keep your work between visits. Use Share or save it as a file.",
            action: null,
            label: "",
          },
        });
      }
    });
  }

  function keepSoon(): void {
    clearTimeout(keeping);
    keeping = setTimeout(keep, KEEP_AFTER);
  }

  return {
    keep,
    keepSoon,
    started: () => started,
    start(): void {
      started = true;
    },
    /** Keeps the document that was opened from elsewhere only once it was drawn. */
    hold(document: RunDocument): void {
      undrawn = document;
    },
    drawn(document: RunDocument): void {
      if (document !== undrawn) return;
      requestAnimationFrame(() =>
        setTimeout(() => {
          if (document === undrawn) undrawn = null;
          keep();
        }, DRAWN_AFTER),
      );
    },
  };
}

export function createKeeping(given: Keeping) {
  const {
    store: { state, dispatch, onChange },
    works,
    judge,
    address,
  } = given;
  /** The copy to which a notice offers the way back. */
  let back = "";

  function draft(now = state()): Draft {
    const { document, example, lesson, step, view, trust } = now;
    const [link, untouched] = [address.link(), !isOwnWork(now)];
    return { document, example, lesson, step, view, link, trust, untouched, back };
  }

  const saving = createSaving(given, draft);

  function offer(id: string, text: string, label = "Back to my program"): void {
    back = id;
    const notice: Notice = { tone: "info", text, action: "back", label };
    dispatch({ type: "notice", notice });
  }

  // Taken or dismissed: it is not offered again.
  onChange((after, before) => {
    const is = (notices: readonly Notice[]) => notices.some((one) => one.action === "back");
    if (!is(before.notices) || is(after.notices)) return;
    back = "";
    saving.keepSoon();
  });

  // A trace from elsewhere cannot be made again here: one letter typed beside it is not to cost it.
  onChange((after, before) => {
    if (!before.document.files?.length || after.document.files?.length) return;
    if (after.opened === after.document || !isOwnWork(before)) return;
    const { id } = works.putAside(draft(before), "The trace was edited");
    offer(id, "This is a program of its own now. The trace is kept.", "Back to the trace");
  });

  return {
    draft: () => draft(),
    ...saving,
    /**
     * Puts the work aside before `what` replaces it, if it is the user's own. The returned function tells where it is;
     * work that a browser does not store is kept while the page is open.
     */
    putAside(what: string): (() => void) | null {
      if (!isOwnWork(state())) return null;
      const { id, kept } = works.putAside(draft(), what);
      return () => {
        offer(id, `${what}. What you were working on is kept.`);
        void kept.then((stored) => {
          if (!stored && back === id)
            offer(
              id,
              `${what}. What you were working on is kept as long as this page is open: the browser does not store it.`,
            );
        });
      };
    },
    /** Keeps a copy without an offer, as its replacement is undone in another way. Returns its id, empty for none. */
    copy: (what: string): string => (isOwnWork(state()) ? works.putAside(draft(), what).id : ""),
    /** Shows a draft, and the way back that it offered. */
    async restore(kept: Draft): Promise<void> {
      const { document, example, lesson, step, view, untouched, link } = kept;
      if (!document) return;
      const trust = await judge.judge(document.script, kept.trust);
      address.show(link, () =>
        dispatch({ type: "restore", document, example, lesson, step, view, trust, untouched }),
      );
    },
    /** Offers the way back again after a reload. */
    offerAgain(kept: Draft): void {
      if (kept.back && works.has(kept.back))
        offer(kept.back, "What you were working on before is kept.");
    },
    /** Goes back to the replaced document. */
    async goBack(id = back): Promise<void> {
      const kept = await works.get(id);
      if (!kept?.document) {
        const text = "That is not there any more.";
        dispatch({ type: "notice", notice: { tone: "error", text, action: null, label: "" } });
        return;
      }
      const offered = state().notices.find((one) => one.action === "back");
      // The present work may have come from elsewhere, too.
      if (isOwnWork(state()) && id !== back) works.putAside(draft(), "Earlier work was opened");
      if (offered) dispatch({ type: "dismiss", notice: offered });
      await this.restore(kept);
    },
  };
}

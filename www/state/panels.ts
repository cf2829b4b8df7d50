/**
 * Calls actions that only a panel can perform, such as focusing its filter: a panel offers them while it is mounted,
 * and other parts call them here. Also holds which sheet lies over the page.
 */
import { createSignal, onCleanup } from "solid-js";

/** The actions that panels offer; several panels may answer one call. */
export interface PanelCalls {
  /** Gives the focus to the filter of the steps. */
  filter(): void;
  /** Opens the list of passes to add. */
  add(): void;
  /** Moves the focus out of an editor. */
  leaveEditor(): void;
  /** Gives the focus to the editor of the program, or to that of the user's passes. */
  edit(): void;
  script(): void;
  /** Goes to the text of the result; there, asks for the history of the expression at the cursor. */
  blame(): void;
  /** Asks for the history of the expression at the cursor of the program. */
  blameSource(): void;
  /** Shows where in the program the followed expression comes from. */
  showSource(): void;
  /** Gives the focus to the search in the result. */
  find(): void;
  /** Goes to the next change, or the one before. */
  hunk(by: 1 | -1): void;
  /** Makes the link, and opens the panel with its other forms. */
  share(): void;
  /** Asks for files, or for a folder. */
  openFile(): void;
  openFolder(): void;
  /** Opens the list of earlier work. */
  openWork(): void;
}

/** The sheet that lies over the page. */
export type Sheet =
  | { name: "help" | "palette" | "lessons" | "matrix" }
  | { name: "compare"; levels: readonly [number, number] }
  /** Goes on to make the program small. */
  | { name: "culprit"; reduce: boolean };

export interface Panels extends PanelCalls {
  sheet(): Sheet | null;
  open(sheet: Sheet | null): void;
  /** Takes calls as long as the component lives that offers them. */
  offer(calls: Partial<PanelCalls>): void;
}

export function createPanels(): Panels {
  const [sheet, open] = createSignal<Sheet | null>(null);
  const offered = new Set<Partial<PanelCalls>>();
  const each = (call: (one: Partial<PanelCalls>) => void) => {
    for (const one of [...offered]) call(one);
  };
  return {
    sheet,
    open,
    offer(calls) {
      offered.add(calls);
      onCleanup(() => offered.delete(calls));
    },
    filter: () => each((one) => one.filter?.()),
    add: () => each((one) => one.add?.()),
    leaveEditor: () => each((one) => one.leaveEditor?.()),
    edit: () => each((one) => one.edit?.()),
    script: () => each((one) => one.script?.()),
    blame: () => each((one) => one.blame?.()),
    blameSource: () => each((one) => one.blameSource?.()),
    showSource: () => each((one) => one.showSource?.()),
    find: () => each((one) => one.find?.()),
    hunk: (by) => each((one) => one.hunk?.(by)),
    share: () => each((one) => one.share?.()),
    openFile: () => each((one) => one.openFile?.()),
    openFolder: () => each((one) => one.openFolder?.()),
    openWork: () => each((one) => one.openWork?.()),
  };
}

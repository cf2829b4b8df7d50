/** The editor's search panel, loaded when it is first asked for. */
import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { Prec, StateEffect } from "@codemirror/state";
import { type EditorView, keymap } from "@codemirror/view";

const ready = new WeakSet<EditorView>();

export function openSearch(view: EditorView): void {
  if (!ready.has(view)) {
    ready.add(view);
    view.dispatch({
      effects: StateEffect.appendConfig.of([
        search({ top: true }),
        Prec.high(keymap.of(searchKeymap)),
      ]),
    });
  }
  openSearchPanel(view);
}

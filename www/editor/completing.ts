/** The list of completions in both editors. */
import {
  autocompletion,
  closeCompletion,
  completionKeymap,
  completionStatus,
} from "@codemirror/autocomplete";
import { type Extension, Prec } from "@codemirror/state";
import { keymap, tooltips } from "@codemirror/view";

type Options = NonNullable<Parameters<typeof autocompletion>[0]>;

/** Makes the extension for completions, which come from `options`. */
export const completing = (options: Options = {}): Extension => [
  autocompletion({ icons: false, maxRenderedOptions: 60, ...options, defaultKeymap: false }),
  Prec.highest(
    keymap.of([
      ...completionKeymap.filter(({ key }) => key !== "Escape"),
      // Escape leaves the editor, unless there is a list to be seen: one that is only being made is not in its way.
      {
        key: "Escape",
        run: (view) => completionStatus(view.state) === "active" && closeCompletion(view),
      },
    ]),
  ),
  // Beside the editor there is more room than in it.
  tooltips({ position: "fixed", parent: document.body }),
];

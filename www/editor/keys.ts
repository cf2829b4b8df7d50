/**
 * What an editor does beyond showing a text and taking letters: keys, brackets, problems, the search panel. It is no part of
 * the first screen and comes right after it.
 */
import { defaultKeymap, indentLess, indentMore } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import { openSearch } from "./search";

export { diagnosticCount, setDiagnostics } from "@codemirror/lint";

export const keys: Extension = [
  bracketMatching(),
  indentUnit.of("  "),
  keymap.of([
    { key: "Mod-]", run: indentMore },
    { key: "Mod-[", run: indentLess },
    {
      key: "Mod-f",
      run: (view) => {
        openSearch(view);
        return true;
      },
    },
    ...defaultKeymap,
  ]),
];

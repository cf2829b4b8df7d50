/**
 * Adds the parts of an editor that need not be there at once: keys, brackets, problems, the search panel. They are
 * loaded right after the first screen.
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

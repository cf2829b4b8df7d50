/** Files and texts that are dropped, pasted or chosen, wherever on the page. */
import { createSignal, onCleanup, onMount, Show } from "solid-js";
import { isReproducer, textsOf, Unreadable } from "../state/importing";
import { useApp } from "./context";

export function Importer() {
  const app = useApp();
  let files!: HTMLInputElement;
  let folder!: HTMLInputElement;
  const [over, setOver] = createSignal(false);

  const open = async (items: DataTransfer | FileList) => {
    try {
      await app.importFiles(await textsOf(items));
    } catch (error) {
      app.say(error instanceof Unreadable ? error.message : "The browser could not read that.");
    }
  };
  const chosen = async (event: Event & { currentTarget: HTMLInputElement }) => {
    const input = event.currentTarget;
    if (input.files) await open(input.files);
    // The same file may be chosen again.
    input.value = "";
  };

  onMount(() => {
    const holdsFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const drag = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (!event.dataTransfer || !holdsFiles(event)) return;
      event.preventDefault();
      event.stopPropagation();
      void open(event.dataTransfer);
    };
    // A reproducer is opened wherever it is pasted; any other text only where it would go nowhere else.
    const paste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      const target = event.target instanceof Element ? event.target : null;
      const script = target?.closest('[aria-label="My passes"]');
      const field = target?.closest("input, textarea, [contenteditable]");
      if (!text.trim() || script || (field && !isReproducer(text))) return;
      if (field instanceof HTMLInputElement) return;
      event.preventDefault();
      event.stopPropagation();
      void app.importText(text, "The pasted text");
    };
    app.panels.offer({ openFile: () => files.click(), openFolder: () => folder.click() });
    document.addEventListener("dragover", drag);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop, true);
    document.addEventListener("paste", paste, true);
    onCleanup(() => {
      document.removeEventListener("dragover", drag);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop, true);
      document.removeEventListener("paste", paste, true);
    });
  });

  return (
    <>
      <input
        ref={files}
        hidden
        type="file"
        multiple
        aria-label="Files"
        onChange={(e) => void chosen(e)}
      />
      <input
        ref={folder}
        hidden
        type="file"
        aria-label="Folder"
        // Not in the types of the library, but in every browser.
        {...{ webkitdirectory: true }}
        onChange={(e) => void chosen(e)}
      />
      <Show when={over()}>
        <div class="drop-files" aria-hidden="true">
          Drop a program, a reproducer, or a folder of DumpIR (zipped, too)
        </div>
      </Show>
    </>
  );
}

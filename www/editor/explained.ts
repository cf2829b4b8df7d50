import "../styles/completion.css";

/** What is said of a name: how it is written, and what it does. */
export function explained(entries: readonly { signature: string; doc: string }[]): HTMLElement {
  const box = document.createElement("div");
  box.className = "api-doc";
  for (const entry of entries) {
    const signature = box.appendChild(document.createElement("code"));
    signature.textContent = entry.signature;
    const doc = box.appendChild(document.createElement("p"));
    doc.textContent = entry.doc;
  }
  return box;
}

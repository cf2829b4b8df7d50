import "../styles/completion.css";

/** Renders the explanation of a name: its signature, and its documentation. */
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

/** Writes a trace as one self-contained HTML file: it opens from a disk and makes no network requests. */
import { rowsOf } from "../engine/diff";
import type { Diff, Step } from "../engine/protocol";

export interface PageStep {
  step: Pick<Step, "name" | "outcome" | "reason" | "depth">;
  /** Null where nothing changed. */
  diff: Diff | null;
}

/** Escapes text for the page. */
const asText = (text: string): string =>
  text.replace(/[&<>"]/g, (char) => `&#${char.codePointAt(0)};`);

const words: Record<Step["outcome"], string> = {
  changed: "changed",
  unchanged: "no change",
  skipped: "skipped",
  failed: "failed",
  "not-reached": "not reached",
};
const marks: Record<Step["outcome"], string> = {
  changed: "●",
  unchanged: "○",
  skipped: "–",
  failed: "✕",
  "not-reached": "·",
};

const style = `:root{color-scheme:light dark;--line:light-dark(#d5d8de,#3a3f48);--muted:light-dark(#555b66,#a3aab8);
--add:light-dark(#dff3e2,#16351f);--del:light-dark(#fbe1e1,#42191c);--on:light-dark(#e4ebfb,#26324a)}
*{box-sizing:border-box}body{margin:0;font:14px/1.45 system-ui,sans-serif;display:grid;grid-template-columns:260px 1fr;min-height:100vh}
header{grid-column:1/-1;padding:10px 14px;border-bottom:1px solid var(--line);display:flex;gap:12px;align-items:center;flex-wrap:wrap}
h1{font-size:16px;margin:0;flex:1}nav{border-right:1px solid var(--line);padding:8px}main{padding:8px 14px;min-width:0}
nav button{display:block;width:100%;text-align:left;font:inherit;border:0;background:none;color:inherit;padding:4px 8px;border-radius:6px}
nav button[aria-current]{background:var(--on);font-weight:600}small{color:var(--muted)}
pre{font:13px/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;margin:0}
.a{background:var(--add)}.d{background:var(--del)}.s{color:var(--muted)}
section{display:none}section.on{display:block}h2{font-size:15px}
@media(max-width:700px){body{display:block}nav{border:0;border-bottom:1px solid var(--line)}}
@media print{nav{display:none}section{display:block}}`;

const script = `const all=[...document.querySelectorAll("section")],tabs=[...document.querySelectorAll("nav button")];let at=0;
function show(i){at=Math.max(0,Math.min(all.length-1,i));all.forEach((s,k)=>s.classList.toggle("on",k===at));
tabs.forEach((b,k)=>{k===at?b.setAttribute("aria-current","step"):b.removeAttribute("aria-current")});tabs[at].scrollIntoView({block:"nearest"})}
tabs.forEach((b,k)=>b.onclick=()=>show(k));back.onclick=()=>show(at-1);next.onclick=()=>show(at+1);
addEventListener("keydown",e=>{if(e.ctrlKey||e.metaKey||e.altKey)return;if(e.key==="j"||e.key==="ArrowRight")show(at+1);
if(e.key==="k"||e.key==="ArrowLeft")show(at-1)});const first=START;show(first);`;

function rows(diff: Diff): string {
  return rowsOf(diff)
    .map((row) => {
      const line = (kind: string, mark: string, text: string) =>
        `<span class="${kind}">${mark} ${asText(text)}\n</span>`;
      if (row.kind === "same" || row.kind === "renumbered") return line("s", " ", row.rightText);
      return (
        (row.left === null ? "" : line("d", "-", row.leftText)) +
        (row.right === null ? "" : line("a", "+", row.rightText))
      );
    })
    .join("");
}

/** Makes the file. `program` is the reproducer's text, so that nothing is lost; `href` the link it was made from. */
export function htmlPage(
  title: string,
  href: string,
  program: string,
  steps: readonly PageStep[],
  start: number,
): string {
  const tabs = steps.map(
    ({ step }) =>
      `<button type="button" style="padding-left:${8 + 14 * step.depth}px"><span aria-hidden="true">${marks[step.outcome]}</span> ${asText(step.name)} <small>${words[step.outcome]}</small></button>`,
  );
  const bodies = steps.map(({ step, diff }) => {
    const said = diff?.summary.map((line) => `<p>${asText(line)}</p>`).join("") ?? "";
    const why = step.reason ? `<p>${asText(step.reason)}</p>` : "";
    const body = diff ? `<pre>${rows(diff)}</pre>` : `<p>The program is as before.</p>`;
    return `<section><h2>${asText(step.name)}: ${words[step.outcome]}</h2>${why}${said}${body}</section>`;
  });
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${asText(title)}</title>
<style>${style}</style>
<header><h1>${asText(title)}</h1><button type="button" id="back">Previous step</button><button type="button" id="next">Next step</button><a href="${asText(href)}">Open in passlab</a></header>
<nav aria-label="Steps"><button type="button"><span aria-hidden="true">○</span> Program</button>${tabs.join("")}</nav>
<main><section><h2>Program</h2><pre>${asText(program)}</pre></section>${bodies.join("")}</main>
<script>${script.replace("START", String(start + 1))}</script>
</html>
`;
}

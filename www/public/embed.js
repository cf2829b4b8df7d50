// <passlab-embed link="2.…" mode="steps"></passlab-embed>: the steps of a passlab link in a page, in a frame that has the height
// of what it shows. All embeds of a page share one engine. The page's address is never touched.
const base = new URL(".", import.meta.url);

class PasslabEmbed extends HTMLElement {
  static observedAttributes = ["link", "mode"];

  connectedCallback() {
    this.frame = document.createElement("iframe");
    this.frame.title = this.getAttribute("label") ?? "Steps of a program in passlab";
    this.frame.style.cssText =
      "display:block;width:100%;height:320px;border:1px solid #8886;border-radius:8px";
    this.frame.loading = "lazy";
    this.listen = (event) => {
      if (event.source !== this.frame.contentWindow || event.origin !== base.origin) return;
      if (event.data?.type !== "passlab-height") return;
      const most = Number(this.getAttribute("most")) || 900;
      this.frame.style.height = `${Math.max(160, Math.min(most, event.data.height))}px`;
    };
    window.addEventListener("message", this.listen);
    this.show();
    this.replaceChildren(this.frame);
  }

  disconnectedCallback() {
    window.removeEventListener("message", this.listen);
  }

  attributeChangedCallback() {
    if (this.frame) this.show();
  }

  show() {
    const link = (this.getAttribute("link") ?? "").replace(/^.*#/, "");
    const mode = this.getAttribute("mode") === "steps" ? "steps" : "read";
    this.frame.src = new URL(`embed.html?mode=${mode}#${link}`, base).href;
  }
}

customElements.define("passlab-embed", PasslabEmbed);

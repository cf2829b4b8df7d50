/** The fragment of the page's address: the link or the lesson that is shown, as long as it is shown unchanged. */
import { lessonOf } from "./lessons";
import { linkOf } from "./url";

/** The parts of a browser that hold the address. */
export interface Surroundings {
  location: Pick<Location, "hash" | "href">;
  history: Pick<History, "replaceState" | "pushState" | "state">;
}

export type Address = ReturnType<typeof createAddress>;

export function createAddress({ location, history }: Surroundings) {
  /** The link that the page shows unchanged, or empty. */
  let link = "";
  /** True while a document is opened, because its changes are no edits. */
  let opening = false;
  /** The link of the document about to be shown. */
  let coming = "";

  const bare = () => location.href.replace(/#.*$/, "");
  /** Renames the present entry of the browser's history. */
  const rename = (href: string) => history.replaceState(history.state, "", href);

  return {
    link: () => link,
    bare,
    rename,
    /** Returns the link in the address, unless it is that of a lesson or of the shown document; empty for none. */
    wanted(): string {
      const found = linkOf(location.hash);
      return lessonOf(found) || found === link || found === coming ? "" : found;
    },
    /** Makes a change that is no edit; afterwards the page shows this link, or none. */
    show(to: string, change: () => void): void {
      opening = true;
      try {
        change();
      } finally {
        opening = false;
        link = to;
        coming = "";
      }
    },
    /** Notes the link that is about to be shown. */
    expect(to: string): void {
      coming = to;
    },
    /** Notes that the address holds the link of the shown document. */
    shared(href: string): void {
      link = linkOf(href.slice(href.indexOf("#")));
      rename(href);
    },
    /** Removes the link from the address after an edit, because it no longer describes the document. */
    edited(): void {
      if (opening || !link) return;
      link = "";
      rename(bare());
    },
    /** Notes that a lesson was opened or closed: its address is kept while it is open, so that it can be shared. */
    lesson(name: string): void {
      if (name) rename(`${bare()}#lesson=${name}`);
      else if (lessonOf(location.hash)) rename(bare());
    },
  };
}

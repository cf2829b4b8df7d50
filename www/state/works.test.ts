import { describe, expect, test } from "vitest";
import { emptyDocument } from "./model";
import { attic, memory } from "./testing";
import { type Draft, titleOf, Works } from "./works";

const draft = (source: string, more: Partial<Draft> = {}): Draft => ({
  document: { ...emptyDocument, source },
  example: "",
  lesson: "",
  step: "A#1",
  view: "timing",
  link: "",
  trust: "held",
  untouched: false,
  back: "",
  ...more,
});
const clock = () => {
  let now = 1000;
  return () => now++;
};
const sourceOf = (kept: Draft | null) => kept?.document?.source;

describe("the draft of a tab", () => {
  test("comes back as it was kept", async () => {
    const storage = memory();
    const works = new Works(storage, attic(), "a", clock());
    expect(await works.latest()).toBeNull();
    const kept = draft("x", { lesson: "visitors", back: "b" });
    expect(await works.keepDraft(kept)).toBe(true);
    expect(await new Works(storage, attic(), "a", clock()).latest()).toEqual(kept);
  });

  /** Tab A, then tab B was closed, and A's work was gone. */
  test("is not overwritten by another tab", async () => {
    const [storage, now] = [memory(), clock()];
    const [a, b] = ["a", "b"].map((tab) => new Works(storage, attic(), tab, now)) as [Works, Works];
    await a.keepDraft(draft("of A", { back: "x" }));
    await b.keepDraft(draft("of B"));
    expect(sourceOf(await a.latest())).toBe("of A");
    // A third tab begins with the last work, and finds the other in the list.
    const c = new Works(storage, attic(), "c", now);
    expect(sourceOf(await c.latest())).toBe("of B");
    const titles = c.list().map((work) => work.id);
    expect(titles).toHaveLength(2);
    expect(sourceOf(await c.get(titles[1] ?? ""))).toBe("of A");
  });

  test("that is too large for the storage goes to the attic, and a link's is decoded again", async () => {
    const [storage, room] = [memory(5_000_000), attic()];
    const works = new Works(storage, room, "a", clock());
    const large = draft("x".repeat(6_000_000));
    expect(await works.keepDraft(large)).toBe(true);
    expect(await works.latest()).toEqual(large);
    expect(room.map.size).toBe(1);
    const linked = { ...large, link: "2.abc" };
    expect(await works.keepDraft(linked)).toBe(true);
    expect(await works.latest()).toEqual({ ...linked, document: null });
  });

  test("that is refused is reported, not thrown", async () => {
    expect(await new Works(null, attic(), "a").keepDraft(draft("x"))).toBe(false);
    expect(await new Works(memory(10), attic(), "a").keepDraft(draft("x"))).toBe(false);
    const large = draft("x".repeat(200_000));
    expect(await new Works(memory(), attic(false), "a").keepDraft(large)).toBe(false);
  });

  test("of the first release is found", async () => {
    const storage = memory();
    storage.map.set("passlab.draft", JSON.stringify({ document: { source: "old" } }));
    storage.map.set("passlab.before-link", JSON.stringify({ document: { source: "older" } }));
    const works = new Works(storage, attic(), "a", clock());
    expect(sourceOf(await works.latest())).toBe("old");
    expect(works.list().map((work) => work.title)).toEqual(["old, 0 passes", "older, 0 passes"]);
    expect(sourceOf(await works.get("passlab.before-link"))).toBe("older");
  });

  test("that makes no sense is none", async () => {
    const storage = memory();
    storage.map.set("passlab.tab.a", "{not json");
    storage.map.set("passlab.tab.b", '{"draft":{"document":7}}');
    expect(await new Works(storage, attic(), "a").latest()).toBeNull();
  });
});

describe("copies", () => {
  /** A second link once overwrote the work that the first had put aside. */
  test("do not overwrite each other, and are told by their dates", async () => {
    const [storage, now] = [memory(), clock()];
    const works = new Works(storage, attic(), "a", now);
    const first = works.putAside(draft("first"), "A link was opened");
    const second = works.putAside(draft("second"), "Another link was opened");
    expect(await first.kept).toBe(true);
    const later = new Works(storage, attic(), "b", now);
    expect(later.has(first.id)).toBe(true);
    expect(sourceOf(await later.get(first.id))).toBe("first");
    expect(later.list().map(({ id, why }) => [id, why])).toEqual([
      [second.id, "Another link was opened"],
      [first.id, "A link was opened"],
    ]);
    // The same once more is the same copy.
    expect(works.putAside(draft("second"), "Again").id).toBe(second.id);
  });

  test("are limited in number, and make room for the draft", async () => {
    const storage = memory(5000);
    const works = new Works(storage, attic(), "a", clock());
    for (let count = 0; count < 30; count++) works.putAside(draft(`${count}`), "More");
    expect(works.list().filter((work) => work.why === "More").length).toBeLessThanOrEqual(12);
    expect(await works.keepDraft(draft("x".repeat(3000)))).toBe(true);
    expect(sourceOf(await works.latest())).toHaveLength(3000);
  });

  /** The page said that the work was kept, and the way back led nowhere. */
  test("that cannot be stored are there as long as the page is, and say so", async () => {
    for (const storage of [null, memory(10)]) {
      const works = new Works(storage, attic(false), "a", clock());
      const { id, kept } = works.putAside(draft("mine"), "A link was opened");
      expect(await kept).toBe(false);
      expect(works.has(id)).toBe(true);
      expect(sourceOf(await works.get(id))).toBe("mine");
      expect(works.list()).toMatchObject([{ id, why: "not stored" }]);
    }
  });

  test("are called by what is in them", () => {
    const passes = [{ call: "A", enabled: true }];
    const relay = "def @main(%x: int32) { @f(%x) }\ndef @f(%x: int32) { %x }";
    expect(titleOf(draft(relay), "")).toBe("@main, @f, 0 passes");
    expect(titleOf(draft(relay), "MLP")).toBe("MLP, 0 passes");
    const python = "class Module:\n    @R.function\n    def main(x):\n";
    const document = { ...emptyDocument, source: python, passes };
    expect(titleOf(draft("", { document }), "")).toBe("@main, 1 pass");
    const files = [{ name: "1_A.relay", text: "" }];
    expect(titleOf(draft("", { document: { ...document, files } }), "")).toBe(
      "@main, a trace of 2 files",
    );
    expect(titleOf(draft("", { document: null, link: "2.abc" }), "")).toBe(
      "A link of 5 characters",
    );
  });
});

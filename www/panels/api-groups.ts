/** Groups the documentation of the API: members under their class. Pure. */
import type { ApiEntry } from "../user/docs";

/** A class with its members, or a function by itself. */
export interface Group {
  head: ApiEntry;
  members: ApiEntry[];
}

/** Groups members under their class, in the order of the documentation. */
export function groupsOf(entries: readonly ApiEntry[]): Group[] {
  const groups = new Map<string, Group>();
  for (const entry of entries)
    if (!entry.name.includes(".")) groups.set(entry.name, { head: entry, members: [] });
  for (const entry of entries) {
    const dot = entry.name.indexOf(".");
    if (dot < 0) continue;
    const owner = entry.name.slice(0, dot);
    const group = groups.get(owner) ?? {
      head: { name: owner, signature: owner, doc: "" },
      members: [],
    };
    group.members.push(entry);
    groups.set(owner, group);
  }
  return [...groups.values()];
}

/** Groups whose head or members hold a text; all of their members where the head does. */
export function foundIn(groups: readonly Group[], text: string): Group[] {
  const wanted = text.trim().toLowerCase();
  const holds = ({ name, signature, doc }: ApiEntry) =>
    `${name} ${signature} ${doc}`.toLowerCase().includes(wanted);
  if (!wanted) return [...groups];
  return groups.flatMap((group) => {
    const named = group.head.name.toLowerCase().includes(wanted);
    const members = named ? group.members : group.members.filter(holds);
    return named || members.length > 0 || holds(group.head) ? [{ ...group, members }] : [];
  });
}

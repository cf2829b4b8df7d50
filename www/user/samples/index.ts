/** The samples are fetched when they are asked for. */
import address from "passlab-samples";
import { fetched } from "../../state/texts";
import type { Sample } from "./list";

export type { Sample } from "./list";

/** The contents of the file. */
export interface Samples {
  list: readonly Sample[];
  /** The scripts, by their ids. */
  scripts: Readonly<Record<string, string>>;
}

export async function sampleList(): Promise<readonly Sample[]> {
  return (await fetched<Samples>(address)).list;
}

export async function scriptOf(id: string): Promise<string> {
  return (await fetched<Samples>(address)).scripts[id] ?? "";
}

/** The scripts of the samples are fetched when one is asked for. */
import address from "passlab-samples";
import { fetched } from "../../state/texts";

export { type Sample, samples } from "./list";

export async function scriptOf(id: string): Promise<string> {
  return (await fetched<Record<string, string>>(address))[id] ?? "";
}

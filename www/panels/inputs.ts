/** Holds the inputs for evaluations while the page is open: for *Values* and for the value of an expression. */
import { createSignal } from "solid-js";

export interface Inputs {
  func: string;
  seed: number;
  /** The typed values, by the name of the parameter. */
  typed: Readonly<Record<string, string>>;
  /** The elements of that. */
  given: Readonly<Record<string, readonly number[]>>;
}

export const [inputs, setInputs] = createSignal<Inputs>({
  func: "main",
  seed: 0,
  typed: {},
  given: {},
});

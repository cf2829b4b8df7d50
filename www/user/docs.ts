/** What the editor of *My passes* completes and explains: one entry for each name that a script can use. */
export interface ApiEntry {
  /** `ExprMutator`, or with its class `ExprMutator.visitCall`. */
  name: string;
  /** As TypeScript writes it, on one line: `visitCall(call: Call): Expr`. */
  signature: string;
  /** A few sentences. */
  doc: string;
}

/** Everything that is global in a script. */
export const API: ApiEntry[] = [];

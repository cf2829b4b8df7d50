/** Stub. */
export interface Sample {
  id: string;
  title: string;
  script: string;
}
export const samples: Sample[] = [
  {
    id: "noop",
    title: "A mutator that changes nothing",
    script: `// Visits everything and puts it together again.
class Nothing extends ExprMutator {
  visitCall(call) {
    console.log("a call");
    return super.visitCall(call);
  }
}

functionPass({ name: "Nothing", optLevel: 1, required: ["InferType"] }, (f) => new Nothing().visit(f));
`,
  },
];

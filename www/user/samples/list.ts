/** Scripts to begin with: the examples of TVM's developer's guides, and further ones for this API. */

export interface Sample {
  id: string;
  title: string;
  /** The dialect of the programs for its passes; any if there is none. */
  dialect?: "relax";
}

/** In the order of visitors, passes and instruments. */
export const samples: readonly Sample[] = [
  { id: "print-visitor", title: "Visitor: a line for every visit" },
  { id: "call-checker", title: "Visitor: is anything called?" },
  { id: "constant-checker", title: "Visitor: what is constant?" },
  { id: "if-collapser", title: "Mutator: every if becomes its true branch" },
  { id: "constant-folder", title: "Mutator: constant folding" },
  { id: "rules", title: "Rewrite rules as text" },
  { id: "add-abs", title: "Module pass: add a function" },
  { id: "test-replace-func", title: "Function pass made of a class" },
  { id: "timing-instrument", title: "Instrument: time passes" },
  { id: "skipping-instrument", title: "Instrument: skip passes" },
  { id: "override-instruments", title: "Instruments: override them" },
  {
    id: "relax-print-visitor",
    title: "Relax visitor: a line for every visit",
    dialect: "relax",
  },
  {
    id: "count-vars",
    title: "Relax visitor: count variables",
    dialect: "relax",
  },
  {
    id: "well-formed",
    title: "Relax visitor: is it well-formed?",
    dialect: "relax",
  },
  {
    id: "fold-constant-vars",
    title: "Relax mutator: constants through bindings",
    dialect: "relax",
  },
  {
    id: "dataflow-mutator",
    title: "Relax mutator: dataflow blocks only",
    dialect: "relax",
  },
  {
    id: "fuse-two-conv",
    title: "Relax mutator: fuse two convolutions",
    dialect: "relax",
  },
  {
    id: "patterns",
    title: "Relax patterns: match and rewrite",
    dialect: "relax",
  },
  {
    id: "build-two-conv",
    title: "Relax builder: two convolutions",
    dialect: "relax",
  },
  { id: "tir-unroll", title: "TIR mutator: unroll short loops", dialect: "relax" },
  { id: "python-visitor", title: "Python: a visitor counts operators", dialect: "relax" },
  { id: "python-mutator", title: "Python: a mutator, tried at once", dialect: "relax" },
  { id: "python-fuse-two-conv", title: "Python: fuse two convolutions", dialect: "relax" },
  { id: "python-instrument", title: "Python: time passes, skip passes", dialect: "relax" },
];

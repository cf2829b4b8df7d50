/** Scripts to begin with: the examples of TVM's developer's guides, and what this API has beside them. */
import addAbs from "./add-abs.js?raw";
import callChecker from "./call-checker.js?raw";
import constantChecker from "./constant-checker.js?raw";
import constantFolder from "./constant-folder.js?raw";
import ifCollapser from "./if-collapser.js?raw";
import overrideInstruments from "./override-instruments.js?raw";
import printVisitor from "./print-visitor.js?raw";
import rules from "./rules.js?raw";
import skippingInstrument from "./skipping-instrument.js?raw";
import testReplaceFunc from "./test-replace-func.js?raw";
import timingInstrument from "./timing-instrument.js?raw";

export interface Sample {
  id: string;
  title: string;
  script: string;
}

/** From what only looks, over what changes programs, to what watches. */
export const samples: Sample[] = [
  { id: "print-visitor", title: "Visitor: a line for every visit", script: printVisitor },
  { id: "call-checker", title: "Visitor: is anything called?", script: callChecker },
  { id: "constant-checker", title: "Visitor: what is constant?", script: constantChecker },
  { id: "if-collapser", title: "Mutator: every if becomes its true branch", script: ifCollapser },
  { id: "constant-folder", title: "Mutator: constant folding", script: constantFolder },
  { id: "rules", title: "Rewrite rules as text", script: rules },
  { id: "add-abs", title: "Module pass: add a function", script: addAbs },
  { id: "test-replace-func", title: "Function pass made of a class", script: testReplaceFunc },
  { id: "timing-instrument", title: "Instrument: time passes", script: timingInstrument },
  { id: "skipping-instrument", title: "Instrument: skip passes", script: skippingInstrument },
  { id: "override-instruments", title: "Instruments: override them", script: overrideInstruments },
];

/** Scripts to begin with: the examples of TVM's developer's guides, and what this API has beside them. */
import addAbs from "./add-abs.js?raw";
import buildTwoConv from "./build-two-conv.js?raw";
import callChecker from "./call-checker.js?raw";
import constantChecker from "./constant-checker.js?raw";
import constantFolder from "./constant-folder.js?raw";
import countVars from "./count-vars.js?raw";
import dataflowMutator from "./dataflow-mutator.js?raw";
import foldConstantVars from "./fold-constant-vars.js?raw";
import fuseTwoConv from "./fuse-two-conv.js?raw";
import ifCollapser from "./if-collapser.js?raw";
import overrideInstruments from "./override-instruments.js?raw";
import printVisitor from "./print-visitor.js?raw";
import relaxPrintVisitor from "./relax-print-visitor.js?raw";
import rules from "./rules.js?raw";
import skippingInstrument from "./skipping-instrument.js?raw";
import testReplaceFunc from "./test-replace-func.js?raw";
import timingInstrument from "./timing-instrument.js?raw";
import wellFormed from "./well-formed.js?raw";

export interface Sample {
  id: string;
  title: string;
  script: string;
  /** What its passes look at; any program where nothing is said. */
  dialect?: "relax";
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
  {
    id: "relax-print-visitor",
    title: "Relax visitor: a line for every visit",
    script: relaxPrintVisitor,
    dialect: "relax",
  },
  {
    id: "count-vars",
    title: "Relax visitor: count variables",
    script: countVars,
    dialect: "relax",
  },
  {
    id: "well-formed",
    title: "Relax visitor: is it well-formed?",
    script: wellFormed,
    dialect: "relax",
  },
  {
    id: "fold-constant-vars",
    title: "Relax mutator: constants through bindings",
    script: foldConstantVars,
    dialect: "relax",
  },
  {
    id: "dataflow-mutator",
    title: "Relax mutator: dataflow blocks only",
    script: dataflowMutator,
    dialect: "relax",
  },
  {
    id: "fuse-two-conv",
    title: "Relax mutator: fuse two convolutions",
    script: fuseTwoConv,
    dialect: "relax",
  },
  {
    id: "build-two-conv",
    title: "Relax builder: two convolutions",
    script: buildTwoConv,
    dialect: "relax",
  },
];

/** The phases of a compilation, by which a long list of steps is grouped. */

/** The phases, the first match counts; other passes simplify. */
const PHASES: readonly (readonly [name: string, RegExp])[] = [
  ["Fusion", /^(Fuse|Defuse|AnnotateTIROpPattern|Merge(Composite|CompilerRegions)|RunCodegen)/],
  [
    "Lowering",
    /Lower|Plan|Memory|^(Kill|CallTIR|VM|RewriteCUDA|RewriteDataflow|ComputePrim|ToNonDataflow|RemovePurity|AttachGlobal|SplitArgs)/,
  ],
  ["Layout and precision", /Layout|Precision|Transpose|AlterOp/],
  ["Legalisation", /Legali[sz]e|^(Decompose|Dispatch|DynamicToStatic)/],
  [
    "Forms and types",
    /^(InferType|To|Normalize|Bind|ConvertTo|Topological|EtaExpand|LambdaLift|Inline|Expand(Tuple)|RemoveUnused|Bundle|Lift|Lazy)/,
  ],
];

/** Returns the phase of a pass by its name. */
export const phaseOf = (name: string): string =>
  PHASES.find(([, fits]) => fits.test(name.replace(/^.*\./, "")))?.[0] ?? "Simplification";

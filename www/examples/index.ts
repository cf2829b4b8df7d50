/** The example programs: our own, each short enough to read and with something for the passes to do. */
import address from "passlab-examples";
import { fetched } from "../state/texts";
import { scriptOf } from "../user/samples";
import block from "./resnet-block.relay?raw";

export interface Example {
  /** The name of its file; what is not the first one is fetched when it is chosen. */
  id: string;
  title: string;
  group: "Networks" | "Language" | "Passes" | "Schedules";
  /** The dialect it is written in; Relay where nothing is said. */
  dialect?: "relax";
  /** Passes that have something to say about it, where those of the first example do not fit. */
  passes?: readonly string[];
  /** The sample that stands in *My passes* with it. */
  sample?: string;
}

export const examples: readonly Example[] = [
  { id: "resnet-block", title: "Residual block", group: "Networks" },
  { id: "mlp", title: "MLP", group: "Networks" },
  { id: "lstm-cell", title: "LSTM cell", group: "Networks" },
  { id: "resnet-18", title: "ResNet-18", group: "Networks" },
  {
    id: "relax-conv",
    title: "Two convolutions (Relax)",
    group: "Networks",
    dialect: "relax",
    passes: ["Normalize", "DeadCodeElimination", "ToNonDataflow", "RemovePurityChecking"],
  },
  {
    id: "relax-fuse-conv",
    title: "Two convolutions to fuse (Relax)",
    group: "Passes",
    dialect: "relax",
    passes: ["FuseTwoConv", "DeadCodeElimination"],
    sample: "fuse-two-conv",
  },
  {
    id: "tir-mm-relu",
    title: "Matrix product and ReLU, by hand (TIR)",
    group: "Schedules",
    dialect: "relax",
  },
  {
    id: "relax-dlight",
    title: "Default schedules for a GPU (Relax)",
    group: "Schedules",
    dialect: "relax",
    passes: [
      "LegalizeOps",
      "AnnotateTIROpPattern",
      "FuseOps",
      "FuseTIR",
      'ApplyDefaultSchedule(dlight.gpu.Matmul(), dlight.gpu.GEMV(), dlight.gpu.Reduction(), dlight.gpu.Fallback(), target="cuda")',
    ],
  },
  { id: "tir-matmul", title: "Matrix product, tiled (TIR)", group: "Schedules", dialect: "relax" },
  {
    id: "tir-conv-relu",
    title: "Convolution with its epilogue (TIR)",
    group: "Schedules",
    dialect: "relax",
  },
  { id: "tir-rows-gpu", title: "Rows on a GPU (TIR)", group: "Schedules", dialect: "relax" },
  { id: "fold", title: "Constant folding", group: "Passes" },
  { id: "diamond", title: "Diamond", group: "Passes" },
  { id: "branch", title: "If", group: "Language" },
  { id: "closure", title: "Closures", group: "Language" },
  { id: "list", title: "List and match", group: "Language" },
];

/** The program of a first visit, with passes that all have something to say about it. Nothing is fetched for it. */
export const firstExample = {
  ...(examples[0] as Example),
  source: block,
  passes: ["SimplifyInference", "FoldConstant", "EliminateCommonSubexpr", "FuseOps"],
  optLevel: 3,
};

/** The program of an example, and its script or the call of its schedule where it has one. */
export async function textsOf({
  id,
  sample,
}: Example): Promise<{ source: string; script: string; schedule: string }> {
  const script = sample ? scriptOf(sample) : "";
  const sources = await fetched<Record<string, string>>(address);
  const trace = sources[`${id}.trace`];
  const schedule = trace ? `Schedule(trace=${JSON.stringify(trace)})` : "";
  return { source: sources[id] ?? "", script: await script, schedule };
}

/** The example programs: our own, each short enough to read and with something for the passes to do. */

import fuseTwoConv from "../user/samples/fuse-two-conv.js?raw";
import branch from "./branch.relay?raw";
import closure from "./closure.relay?raw";
import diamond from "./diamond.relay?raw";
import fold from "./fold.relay?raw";
import list from "./list.relay?raw";
import lstm from "./lstm-cell.relay?raw";
import mlp from "./mlp.relay?raw";
import relaxConv from "./relax-conv.py?raw";
import relaxFuseConv from "./relax-fuse-conv.py?raw";
import resnet from "./resnet-18.relay?raw";
import block from "./resnet-block.relay?raw";

export interface Example {
  id: string;
  title: string;
  group: "Networks" | "Language" | "Passes";
  source: string;
  /** The dialect it is written in; Relay where nothing is said. */
  dialect?: "relax";
  /** Passes that have something to say about it, where those of the first example do not fit. */
  passes?: readonly string[];
  /** What stands in *My passes* with it. */
  script?: string;
}

export const examples: readonly Example[] = [
  { id: "resnet-block", title: "Residual block", group: "Networks", source: block },
  { id: "mlp", title: "MLP", group: "Networks", source: mlp },
  { id: "lstm-cell", title: "LSTM cell", group: "Networks", source: lstm },
  { id: "resnet-18", title: "ResNet-18", group: "Networks", source: resnet },
  {
    id: "relax-conv",
    title: "Two convolutions (Relax)",
    group: "Networks",
    source: relaxConv,
    dialect: "relax",
    passes: ["Normalize", "DeadCodeElimination", "ToNonDataflow", "RemovePurityChecking"],
  },
  {
    id: "relax-fuse-conv",
    title: "Two convolutions to fuse (Relax)",
    group: "Passes",
    source: relaxFuseConv,
    dialect: "relax",
    passes: ["FuseTwoConv", "DeadCodeElimination"],
    script: fuseTwoConv,
  },
  { id: "fold", title: "Constant folding", group: "Passes", source: fold },
  { id: "diamond", title: "Diamond", group: "Passes", source: diamond },
  { id: "branch", title: "If", group: "Language", source: branch },
  { id: "closure", title: "Closures", group: "Language", source: closure },
  { id: "list", title: "List and match", group: "Language", source: list },
];

/** What a first visit shows, with passes that all have something to say about it. */
export const firstExample = {
  ...(examples[0] as Example),
  passes: ["SimplifyInference", "FoldConstant", "EliminateCommonSubexpr", "FuseOps"],
  optLevel: 3,
};

/** The part of the protocol that is about tensor programs: their loops, schedules tried on them, and what they cost. */

/** The loops that are wanted, and the instructions that are tried on them. */
export interface NestQuestion {
  version: number;
  /** Name of a tensor program; the first one where it names none. */
  func: string;
  /** Instructions of a schedule, and how many of those that may change the program are applied first. */
  trace: string;
  upto: number;
  /** Further instructions, each tried for itself. */
  tries: readonly string[];
}

/** A loop, a block or a statement in them. */
export interface NestNode {
  /** The node around it; null for nothing. */
  parent: number | null;
  /** TVM's word for the kind of a loop; or `while`, `block`, `if`, `init`, `store`, `call`, `alloc`. */
  kind: string;
  name: string;
  /** Iterations of a loop, lanes of a store. */
  extent: number | null;
  /** The thread of a loop, the condition of a branch, the scope of memory, the text of a statement. */
  note: string;
  annotations: string;
  /** The variables of a block, each with `S`, `R`, `scan` or `opaque`. */
  iters: [name: string, kind: string][];
  reads: string;
  writes: string;
  /** First and last line of the text, from 1. */
  lines: [first: number, last: number];
  /** The same in every version that has it. */
  key: string;
  /** Its name in the trace; empty where it has none. */
  handle: string;
  /** Instructions that give it one, and that name; null where it cannot be reached. */
  reach: [code: string, handle: string] | null;
}

/** The loops of a tensor program. */
export interface Nest {
  functions: string[];
  func: string;
  text: string;
  nodes: NestNode[];
  /** There are more nodes than are told. */
  cut: boolean;
  instructions: Instruction[];
  /** The number of instructions that were applied. */
  done: number;
  /** Why the next one was not, or why there is nothing to see; else empty. */
  problem: string;
  /** Why each of the tries is refused; empty for one that is not. */
  refused: string[];
  /** From this number on no name in the trace ends with it. */
  fresh: number;
}

/** An instruction in the text of a trace. */
export interface Instruction {
  from: number;
  to: number;
  name: string;
  /** It may change the program, and is a step then. */
  changes: boolean;
}

/** The version that is run and counted, and the one beside it. */
export interface MeasureQuestion {
  version: number;
  other: number;
  func: string;
  seed: number;
  /** Bytes of a line of the cache, and of the whole cache. */
  line: number;
  size: number;
}

/** The counted work of a tensor program, and the comparison of its results with those of another version. */
export interface Measure {
  /** Why it could not be run; empty when it could. */
  problem: string;
  /** The first difference of the results; empty when they are equal. */
  difference: string;
  parallel: number;
  vector: number;
  cost: Cost | null;
}

export interface Cost {
  arithmetic: number;
  indexArithmetic: number;
  /** Operations for each byte that is fetched into the cache. */
  intensity: number | null;
  buffers: BufferCost[];
}

export interface BufferCost {
  name: string;
  scope: string;
  loads: number;
  stores: number;
  bytes: number;
  /** Distinct lines of the cache, and how often one had to be fetched. */
  lines: number;
  misses: number;
}

//! Loops of tensor programs, schedules that are tried on them, and their cost.

use super::{NAME, SOME, message};

message! { question
    /// The loops that are wanted, and the instructions that are tried on them.
    NestQuestion {
        version: usize,
        /// Name of a tensor program; the first one where it names none.
        func: String,
        /// Instructions of a schedule, and how many of those that may change the program are applied first.
        trace: String,
        upto: usize,
        /// Further instructions, each tried for itself.
        tries: Vec<String>,
    }
}

message! { answer
    /// A loop, a block or a statement in them.
    NestNode<'n> {
        /// The node around it; null for nothing.
        parent: Option<usize>,
        /// TVM's word for the kind of a loop; or `while`, `block`, `if`, `init`, `store`, `call`, `alloc`.
        kind: &'n str => [NAME],
        name: &'n str => [NAME],
        /// Iterations of a loop, lanes of a store.
        extent: Option<i64>,
        /// The thread of a loop, the condition of a branch, the scope of memory, the text of a statement.
        note: &'n str,
        annotations: &'n str,
        /// The variables of a block, each with `S`, `R`, `scan` or `opaque`.
        iters: &'n [(String, &'static str)] => [SOME, NAME, NAME],
        reads: &'n str,
        writes: &'n str,
        /// First and last line of the text, from 1.
        lines: (usize, usize),
        /// The key of the node, the same in every version that has it.
        key: &'n str => [NAME],
        /// Its name in the trace; empty where it has none.
        handle: &'n str => [NAME],
        /// Instructions that give it one, and that name; null where it cannot be reached.
        reach: Option<&'n (String, String)>,
    }
}

message! { answer
    /// An instruction in the text of a trace.
    Instruction<'n> {
        from: u32,
        to: u32,
        name: &'n str => [NAME],
        /// It may change the program, and is a step then.
        changes: bool,
    }
}

message! { answer
    /// The loops of a tensor program.
    Nest<'n> {
        functions: &'n [String] => [SOME, NAME],
        func: &'n str => [NAME],
        text: &'n str,
        nodes: Vec<NestNode<'n>>,
        /// There are more nodes than are told.
        cut: bool,
        instructions: Vec<Instruction<'n>>,
        /// The number of instructions that were applied.
        done: usize,
        /// The reason why the next one was not, or why there is nothing to see; else empty.
        problem: &'n str,
        /// The reason why each of the tries is refused; empty for one that is not.
        refused: &'n [String],
        /// From this number on no name in the trace ends with it.
        fresh: usize,
    }
}

message! { question
    /// The version that is run and counted, and the one beside it.
    MeasureQuestion {
        version: usize,
        other: usize,
        func: String,
        seed: u64,
        /// Bytes of a line of the cache, and of the whole cache.
        line: u64,
        size: u64,
    }
}

message! { answer
    /// The accesses to a buffer.
    BufferCost {
        name: String => [NAME],
        scope: String => [NAME],
        loads: u64,
        stores: u64,
        bytes: u64,
        /// Distinct lines of the cache, and how often one had to be fetched.
        lines: u64,
        misses: u64,
    }
}

message! { answer
    /// The counted work.
    Cost {
        arithmetic: u64,
        index_arithmetic: u64,
        /// Operations for each byte that is fetched into the cache.
        intensity: Option<f64>,
        buffers: Vec<BufferCost>,
    }
}

message! { answer
    /// The counted work of a tensor program, and the comparison of its results with those of another version.
    Measure {
        /// The reason why it could not be run; empty when it could.
        problem: String,
        /// The first difference of the results; empty when they are equal.
        difference: String,
        /// Iterations that may run at the same time, and lanes of the widest vector.
        parallel: f64,
        vector: f64,
        cost: Option<Cost>,
    }
}

//! The parts of a run that the page shows: its problems, steps and log, texts and diffs, histories and graphs.

use super::{MANY, NAME, Numbers, SENTENCE, Word, documents::DumpFile, message};
use crate::diag::Severity;
use crate::diff::DiffKind;
use crate::pass::trace::{LogKind, OutcomeWord, Role};
use crate::session::{Fate, NodeFate};

/// The most steps of a run: each costs the page something, and a script may have made them up.
pub const STEPS: usize = 10_000;

crate::words! {
    /// The language that a program is written in. Programs of TIR stand in programs of Relax.
    pub enum Language {
        /// As TVM 0.19 has it.
        Relay = "relay",
        /// As TVM 0.27 has it.
        Relax = "relax",
    }
}

crate::words! {
    /// The unit that a pass of the script works on.
    pub enum UserPassKind {
        /// The module.
        Module = "module",
        /// Each function.
        Function = "function",
        /// Each dataflow block of Relax.
        DataflowBlock = "dataflow-block",
        /// Each function of TIR.
        PrimFunc = "prim-func",
        /// The module, by running other passes.
        Sequential = "sequential",
    }
}

crate::words! {
    /// The effect of a pass that was tried on a version.
    pub enum PreviewWord {
        /// It changes the version.
        Changed = "changed",
        /// It does not.
        Unchanged = "unchanged",
        /// It fails.
        Failed = "failed",
    }
}

message! { answer
    /// Edits that correct a text: ranges with their replacements, in order.
    Fix {
        title: String => [SENTENCE],
        /// From, to, and the text instead.
        edits: Vec<(u32, u32, String)>,
        /// Names whose values only the author knows, with likely ones; the edits have them as `name=value`.
        asks: Vec<(String, String)>,
    }
}

message! { answer
    /// A finding, with its place in the source, or null where there is none.
    Problem {
        severity: Word<Severity>,
        /// Stable word, e.g. `relay-unbound-var`.
        code: &'static str => [200],
        message: String => [SENTENCE],
        from: Option<u32>,
        to: Option<u32>,
        line: Option<usize>,
        column: Option<usize>,
        notes: Vec<String> => [100, SENTENCE],
        /// Edits that put it right, where they are known: each alone is enough.
        [optional] fixes: Option<Vec<Fix>> => [100],
    }
}

message! { answer
    /// One step of the trace, in execution order; a nested step follows its parent, one deeper.
    Step {
        /// Stable over edits: names and occurrence from the root, e.g. `FuseOps#1/InferType#1`.
        id: String => [2000],
        /// PassInfo.name.
        name: String => [200],
        depth: usize,
        /// Index into `Run.steps` of the step this one ran inside of, or null.
        parent: Option<usize>,
        /// Row of the pass list that this step belongs to.
        row: usize,
        /// `required` ran because a pass asked for it; `nested` ran inside its parent; `listed` stands in the pass list.
        role: Word<Role>,
        outcome: Word<OutcomeWord>,
        /// The reason why it was skipped or failed; empty otherwise.
        reason: String => [SENTENCE],
        opt_level: i64,
        /// Module versions; equal when nothing changed.
        before: usize,
        after: usize,
        /// Wall time in microseconds, children included.
        micros: f64,
        /// The number of rewrites that the pass recorded.
        rewrites: usize,
        /// The functions of the module that it changed, made or took away.
        functions: Vec<String> => [super::SOME, NAME],
        problems: Vec<Problem> => [1000],
    }
}

message! { outside
    /// A pass that the script made. It stands in the pass list by its name, without arguments.
    UserPass {
        name: String => [200],
        kind: Word<UserPassKind>,
        opt_level: usize,
        required: Vec<String> => [1000, 200],
        doc: String => [SENTENCE],
    }
}

message! { outside
    /// An instrument that the script made. It is switched on by its name, like those that are built in.
    UserInstrument {
        name: String => [200],
        /// The hooks that it has, by TVM's names: `should_run`.
        hooks: Vec<String> => [100, 200],
        doc: String => [SENTENCE],
    }
}

message! { outside
    /// A module of a script.
    UserModule {
        name: String => [200],
        text: String,
    }
}

message! { outside
    /// The definitions, output and problems of a script, while it was loaded and while its passes ran.
    ScriptReport {
        passes: Vec<UserPass> => [1000],
        instruments: Vec<UserInstrument> => [1000],
        /// Places refer to the script, not to the program.
        problems: Vec<Problem> => [1000],
        /// Lines of `console.log` and the like, in order.
        output: Vec<String> => [super::SOME, SENTENCE],
        /// The modules that the names of a script in Python stand for, in order.
        [optional] modules: Vec<UserModule> => [100],
        /// The passes that such a script ran, in order, with the modules that they made.
        [optional] steps: Vec<DumpFile> => [1000],
    }
}

message! { answer
    /// A line of the log.
    LogEntry {
        /// A call of a hook; a pass refused by an instrument; a failed hook or pass; printed text.
        kind: Word<LogKind>,
        text: String,
        /// Index of the step it belongs to; null for entering and leaving a context.
        step: Option<usize>,
    }
}

message! { answer
    /// The summary of a run.
    Run {
        dialect: Word<Language>,
        /// Problems of the program itself (parse, types).
        problems: Vec<Problem> => [1000],
        /// False when the program could not be run at all; `steps` is then empty.
        ok: bool,
        steps: Vec<Step> => [STEPS],
        /// The number of module versions; version 0 is the parsed program.
        versions: usize,
        /// The calls, answers and output of instruments, and the output of passes, in order.
        log: Vec<LogEntry> => [MANY],
        /// TVM's `PassTimingInstrument.render()`.
        timing: String,
        /// Milliseconds spent in the engine.
        millis: f64,
    } also {
        /// The report on the document's script; absent when it has none.
        [optional] script: ScriptReport,
        /// The data that the page looks at, made with the run; see `Look`.
        [inside] ahead: Ahead,
    }
}

crate::words! {
    /// The view of a step that is sent along with a run.
    pub enum LookView {
        /// Its diff.
        Diff = "diff",
        /// Its texts.
        Before = "before",
    }
}

message! { outside
    /// The part of a run that the page shows. Sent along with a `run`, so that its diff or texts come with the answer:
    /// asking for them afterwards would cost another way to the worker and back, and another frame, at every keystroke.
    Look {
        /// Id of the chosen step, as in the state of the page; may be empty or gone.
        step: String,
        view: Word<LookView>,
    }
}

message! { outside
    /// The diff or texts that were looked at when a run began.
    Ahead {
        before: usize,
        after: usize,
        /// For the view `diff`.
        diff: Option<Diff<'static>>,
        /// For the view `before`: the text of both versions.
        texts: Option<(String, String)>,
    }
}

message! { answer
    /// The difference of two versions.
    Diff<'d> {
        /// The two texts; empty where the versions are the same.
        before: &'d str,
        after: &'d str,
        added: usize,
        removed: usize,
        changed: usize,
        moved: usize,
        renumbered: usize,
        /// One plain sentence each, e.g. "FuseOps: 3 calls became 1 function".
        summary: &'d [String] => [1000, SENTENCE],
    } also {
        /// The rows, packed: see `diff.ts`. A typed array, but a list where an answer crosses as text.
        rows: Numbers,
    }
}

message! { outside
    /// A line of a diff, as `rowsOf` in `diff.ts` reads them.
    DiffRow {
        kind: Word<DiffKind>,
        /// Line numbers, from 1; null where the side has no such line.
        left: Option<usize>,
        right: Option<usize>,
        left_text: String,
        right_text: String,
        /// For `changed`: ranges (UTF-16, pairs from/to) of the words that differ.
        left_words: Vec<usize>,
        right_words: Vec<usize>,
    }
}

message! { answer
    /// The names in a line of a version's text.
    LineNames {
        /// Each name with its type, from left to right.
        names: Vec<(String, String)> => [MANY, SENTENCE],
        /// The type of the line's expression; empty for none.
        own: String,
    }
}

message! { answer
    /// One rewrite of a step: the node and its replacement, in a word or two; the same when it was removed.
    Rewrite<'r> {
        rule: &'r str => [NAME],
        pre: &'r str => [NAME],
        post: &'r str => [NAME],
    }
}

message! { answer
    /// A node of the graph of a step.
    GraphNode<'g> {
        /// The expression, and the version that it belongs to: the later one unless it is gone.
        node: usize,
        version: usize,
        label: &'g str => [NAME],
        /// Inputs that are no nodes: constants, and parameters that are used once.
        leaves: &'g str,
        ty: &'g str,
        /// The innermost box that it stands in.
        group: usize,
        /// True if it is the result of its function.
        result: bool,
        fate: Word<NodeFate>,
        /// Column (halves occur) and row. The same expression has the same place in every version of a run.
        x: f32,
        y: u32,
    }
}

message! { answer
    /// A function of the module, or one inside of it, with the box that it is in.
    GraphGroup<'g> {
        parent: Option<usize>,
        title: &'g str,
        made: bool,
    }
}

message! { answer
    /// The dataflow graph after a step, with the nodes that the step removed.
    Graph<'g> {
        nodes: Vec<GraphNode<'g>> => [MANY],
        /// Pairs of nodes, from operand to user, one after the other.
        edges: Vec<usize> => [MANY],
        /// One stands behind the box that it is in.
        groups: Vec<GraphGroup<'g>>,
    }
}

message! { answer
    /// An expression in one version.
    HistoryEntry {
        version: usize,
        /// Index of the step that made the version; null for the program that was opened.
        step: Option<usize>,
        fate: Word<Fate>,
        /// The rule that rewrote or made it; empty for none.
        rule: &'static str => [NAME],
        /// The node that stands for it here; null when it is gone.
        node: Option<usize>,
        /// Names that node, in a word or two.
        label: String => [NAME],
    }
}

message! { answer
    /// A place in the source, in UTF-16 units, and its line.
    SourcePlace {
        from: u32,
        to: u32,
        line: usize,
    }
}

message! { answer
    /// An expression with its origin and its fates.
    History {
        version: usize,
        node: usize,
        label: String => [NAME],
        /// Name of the operator that is called.
        op: Option<String> => [NAME],
        ty: String,
        /// Names with their values.
        attrs: Vec<(String, String)> => [super::SOME, NAME],
        /// The place in the source that it comes from.
        source: Option<SourcePlace>,
        /// One for every version that has it, and one for the first that no longer does.
        entries: Vec<HistoryEntry>,
        /// The lines that it stands in, in the versions that were asked for.
        lines: Vec<Option<usize>> => [10],
    }
}

message! { answer
    /// The result of another list: its steps, or its problem.
    Beside {
        problem: String => [SENTENCE],
        steps: Vec<Step> => [STEPS],
    }
}

message! { answer
    /// A version beside another program.
    Comparison {
        /// The problems of that program; empty when it could be read.
        problems: Vec<Problem> => [1000],
        /// The first difference by TVM's structural equality; empty when they are equal.
        difference: String,
        /// True if `@main` gives the same for a few inputs; null if one of them cannot be evaluated.
        same_values: Option<bool>,
    }
}

message! { answer
    /// The kind of a text that a user brings.
    Recognised {
        dialect: Word<Language>,
        /// The program without the text around it, and the kind of that text; null when it stands alone.
        inner: Option<(String, String)>,
    }
}

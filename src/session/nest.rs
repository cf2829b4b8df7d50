//! The loops of a tensor program as a tree, with the lines of its text that they stand in; and schedules tried on it without
//! becoming steps.

use super::Session;
use crate::diag::{Diagnostic, Span};
use crate::ir::{AttrNode, Dialect, Expr, ExprId, ForKind, Id, IterKind, Module, PrimId, Stmt, StmtId, Store, Symbol};
use crate::parse::trace::parse_trace;
use crate::pass::trace::Version;
use crate::print::{self, LineRole, PrintOptions, Printed};
use crate::schedule::tree::{Tree, What};
use crate::schedule::{Refused, State, Tracer, changes};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most nodes that are returned: a larger picture is of no use.
const MOST_NODES: usize = 2000;

/// A loop, a block or a statement in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NestNode {
    /// The node around it.
    pub parent: Option<usize>,
    /// `serial`, `parallel`, `vectorized`, `unroll`, `thread_binding`, `while`, `block`, `if`, `init`, `store`, `call` or `alloc`.
    pub kind: &'static str,
    /// Name of the loop's variable, of the block or of the buffer that is written.
    pub name: String,
    /// The number of iterations of a loop, if that is a number; the number of lanes of a store.
    pub extent: Option<i64>,
    /// The thread of a loop that is bound to one, the condition of a branch, the scope of memory: the rest of its line.
    pub note: String,
    /// Keys and values of its annotations, as the text has them.
    pub annotations: String,
    /// The variables of a block: name and kind (`S`, `R`, `scan`, `opaque`).
    pub iters: Vec<(String, &'static str)>,
    /// The regions that a block reads, as the text has them.
    pub reads: String,
    /// The regions that a block writes.
    pub writes: String,
    /// Its first and its last line in the text, from 1.
    pub lines: (usize, usize),
    /// A key that an unchanged node keeps from version to version.
    pub key: String,
    /// Its name in the trace; empty where it has none.
    pub handle: String,
    /// Instructions that give it one, and the name that they give; nothing where it cannot be reached.
    pub reach: Option<(String, String)>,
}

/// The loops of one function.
#[derive(Clone, Debug, Default)]
pub struct Nest {
    /// The tensor programs of the module.
    pub functions: Vec<String>,
    /// The chosen function.
    pub function: String,
    /// Its text.
    pub text: String,
    /// Its loops and blocks, each before those in it.
    pub nodes: Vec<NestNode>,
    /// True if there are more nodes than are returned.
    pub cut: bool,
    /// The instructions of the trace: place, name, and whether it may change the program.
    pub instructions: Vec<(Span, String, bool)>,
    /// The number of applied ones.
    pub done: usize,
    /// The reason why the next one was not applied; empty when all were.
    pub problem: String,
    /// The reason why each of the tries is refused; empty for one that is not.
    pub refused: Vec<String>,
    /// The number that new names in the trace begin with.
    pub fresh: usize,
}

impl Session {
    /// Returns the loops of a tensor program of a version, the first where `function` names none, after the first `upto`
    /// instructions of a trace that may change it, with what is looked up behind those. `tries` are further instructions,
    /// each tried for itself.
    pub fn nest(
        &mut self,
        version: Version,
        function: &str,
        trace: &str,
        upto: usize,
        tries: &[String],
    ) -> Result<Nest, Diagnostic> {
        let module = self.version(version).cloned();
        let module = module.ok_or_else(|| Diagnostic::error("nest", format!("there is no version {version}"), None))?;
        let mut nest = Nest::default();
        let log = (self.store.log.done.len(), self.store.log.fuel.take());
        let mut state = State::new(&mut self.store, &module);
        let mut tracer = Tracer::default();
        match parse_trace(trace) {
            Err(found) => nest.problem = found.into_iter().next().map_or(String::new(), |found| found.message),
            Ok(all) => {
                nest.instructions = all.iter().map(|one| (one.span, one.name.clone(), changes(one).is_some())).collect();
                let mut left = upto;
                for instruction in &all {
                    if changes(instruction).is_some() {
                        if left == 0 {
                            break;
                        }
                        left -= 1;
                    }
                    if let Err(Refused(message)) = tracer.apply(&mut state, instruction) {
                        nest.problem = message;
                        break;
                    }
                    nest.done += 1;
                }
            }
        }
        let saved = state.saved();
        for attempt in tries {
            nest.refused.push(tried(&mut state, tracer.clone(), attempt));
            state.go_back(&saved);
        }
        let (after, handles) = (state.module(), tracer.handles(&state));
        self.store.log.done.truncate(log.0);
        self.store.log.fuel = log.1;
        nest.fresh = (0..).find(|n| ["b", "l", "v"].iter().all(|kind| !is_used(trace, &format!("{kind}{n}")))).unwrap_or(0);
        nest.fill(&self.store, &after, function, &handles);
        Ok(nest)
    }
}

/// True if a name occurs in a trace, also as the beginning of another one.
fn is_used(trace: &str, name: &str) -> bool {
    trace.match_indices(name).any(|(at, _)| !trace[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Returns the reason why instructions are refused; empty when they are not.
fn tried(state: &mut State<'_>, mut tracer: Tracer, text: &str) -> String {
    let trace = match parse_trace(text) {
        Ok(trace) => trace,
        Err(found) => return found.into_iter().next().map_or(String::new(), |found| found.message),
    };
    let refused = trace.iter().find_map(|instruction| tracer.apply(state, instruction).err());
    refused.map_or(String::new(), |Refused(message)| message)
}

impl Nest {
    fn fill(&mut self, store: &Store, module: &Module, function: &str, handles: &[(String, What)]) {
        let programs = || module.functions().iter().filter(|(_, root)| matches!(store.expr(*root), Expr::PrimFunc(_)));
        self.functions = programs().map(|(name, _)| store.str(*name).to_owned()).collect();
        let found = programs().find(|(name, _)| store.str(*name) == function).or_else(|| programs().next());
        let Some(&(name, root)) = found else { return };
        let Expr::PrimFunc(program) = store.expr(root) else { return };
        self.function = store.str(name).to_owned();
        let (body, printed) = (store.prim_func(program).body, printed(store, name, root));
        let mut walk = Walk::new(store, &printed, handles);
        walk.stmt(body, None);
        (self.nodes, self.cut) = (walk.nodes, walk.cut);
        self.reach(store, body, &walk.whats);
        self.text = printed.text;
    }

    /// Says how each loop and block is reached from a block whose name no other has.
    fn reach(&mut self, store: &Store, body: StmtId, whats: &[Option<What>]) {
        let tree = Tree::new(store, body);
        let name = |at: usize| tree.as_block(at).map(|block| store.str(store.prim_block(block).name));
        let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
        (0..tree.nodes.len()).filter_map(name).for_each(|name| *counts.entry(name).or_default() += 1);
        let unique = |at: &usize| name(*at).is_some_and(|name| counts[name] == 1);
        for (node, what) in self.nodes.iter_mut().zip(whats).filter(|(node, _)| node.handle.is_empty()) {
            let place = what.and_then(|what| match what {
                What::Loop(var) => tree.loop_of(var),
                What::Block(block) => tree.block(block),
            });
            let Some(at) = place else { continue };
            let (block, loops) = match tree.is_loop(at) {
                false => (Some(at).filter(unique), None),
                true => {
                    let block = tree.child_blocks(at).into_iter().find(unique);
                    (block, block.map(|block| tree.loops_above(block)))
                }
            };
            let Some(name) = block.and_then(name) else { continue };
            let mut next = self.fresh;
            let mut code = format!("b{next} = sch.get_sblock(name=\"{name}\", func_name=\"{}\")\n", self.function);
            let mut handle = format!("b{next}");
            if let Some(loops) = loops {
                let names: Vec<String> = loops
                    .iter()
                    .map(|_| {
                        format!("l{}", {
                            next += 1;
                            next
                        })
                    })
                    .collect();
                code +=
                    &format!("{}{} = sch.get_loops(block={handle})\n", names.join(", "), if names.len() == 1 { "," } else { "" });
                let Some(place) = loops.iter().position(|above| *above == at) else { continue };
                handle.clone_from(&names[place]);
            }
            node.reach = Some((code, handle));
        }
    }
}

/// Prints one function of a module as the module's text has it.
fn printed(store: &Store, name: Id<crate::ir::Name>, root: ExprId) -> Printed {
    let mut alone = Module::of(Dialect::Relax);
    alone.set_function(name, root);
    print::module_lines(store, &alone, &PrintOptions { metadata: false, ..PrintOptions::default() })
}

struct Walk<'w> {
    store: &'w Store,
    printed: &'w Printed,
    /// The first line of each statement.
    lines: FxHashMap<ExprId, usize>,
    /// For each line the last one that stands in it.
    ends: Vec<usize>,
    handles: &'w [(String, What)],
    nodes: Vec<NestNode>,
    /// The loop or block of each node.
    whats: Vec<Option<What>>,
    keys: FxHashSet<String>,
    cut: bool,
}

impl<'w> Walk<'w> {
    fn new(store: &'w Store, printed: &'w Printed, handles: &'w [(String, What)]) -> Walk<'w> {
        let mut lines = FxHashMap::default();
        for (at, line) in printed.lines.iter().enumerate() {
            if let Some(node) = line.node.filter(|_| line.role != LineRole::Definition) {
                lines.entry(node).or_insert(at);
            }
        }
        let indent = |line: usize| printed.line(line).len() - printed.line(line).trim_start().len();
        let mut ends: Vec<usize> = (0..printed.lines.len()).collect();
        let mut open: Vec<usize> = Vec::new();
        for at in 0..printed.lines.len() {
            while let Some(top) = open.last().copied().filter(|top| indent(*top) >= indent(at)) {
                ends[top] = at - 1;
                open.pop();
            }
            open.push(at);
        }
        open.into_iter().for_each(|top| ends[top] = printed.lines.len() - 1);
        Walk {
            store,
            printed,
            lines,
            ends,
            handles,
            nodes: Vec::new(),
            whats: Vec::new(),
            keys: FxHashSet::default(),
            cut: false,
        }
    }

    fn add(&mut self, id: StmtId, parent: Option<usize>, what: Option<What>, node: NestNode) -> usize {
        let known = self.lines.get(&self.store.stmt_node(id)).copied();
        // Loops of one `T.grid` share a line.
        let line = known.or_else(|| parent.map(|at| self.nodes[at].lines.0 - 1)).unwrap_or(0);
        let end = self.ends.get(line).copied().unwrap_or(line);
        let mut key = node.key.clone();
        let mut n = 1;
        while !self.keys.insert(key.clone()) {
            n += 1;
            key = format!("{}#{n}", node.key);
        }
        let handle = self.handles.iter().rev().find(|(_, known)| Some(*known) == what);
        let handle = handle.map_or(String::new(), |(name, _)| name.clone());
        self.whats.push(what);
        self.nodes.push(NestNode { parent, lines: (line + 1, end + 1), key, handle, ..node });
        self.nodes.len() - 1
    }

    fn number(&self, id: PrimId) -> Option<i64> {
        self.store.as_prim_int(id)
    }

    fn name(&self, symbol: Id<Symbol>) -> String {
        self.store.str(self.store.symbol(symbol).name).to_owned()
    }

    /// Returns the rest of the statement's line behind `before`, up to its end or `after`.
    fn rest(&self, id: StmtId, before: &str, after: &str) -> String {
        let Some(line) = self.lines.get(&self.store.stmt_node(id)) else { return String::new() };
        let text = self.printed.line(*line).trim();
        let text = text.find(before).map_or(text, |at| &text[at + before.len()..]);
        text.strip_suffix(after).unwrap_or(text).to_owned()
    }

    /// Adds a statement. Statements nest at most as deep as the parser lets them.
    fn stmt(&mut self, id: StmtId, parent: Option<usize>) {
        if self.nodes.len() >= MOST_NODES {
            self.cut = true;
            return;
        }
        let store = self.store;
        let plain = |kind, name: String| NestNode { kind, key: format!("{kind} {name}"), name, ..NestNode::default() };
        match store.stmt(id) {
            Stmt::Seq(list) => store.items(*list).for_each(|inner| self.stmt(inner, parent)),
            Stmt::For(head, body) => {
                let annotations = if head.annotations.is_some() { self.rest(id, "annotations=", "):") } else { String::new() };
                let note = match head.kind {
                    ForKind::Thread(tag) => store.str(tag).to_owned(),
                    _ => String::new(),
                };
                let node = NestNode {
                    kind: head.kind.word(),
                    name: self.name(head.var),
                    extent: self.number(head.extent),
                    note,
                    annotations,
                    key: format!("l{}", head.var.index()),
                    ..NestNode::default()
                };
                let at = self.add(id, parent, Some(What::Loop(head.var)), node);
                self.stmt(*body, Some(at));
            }
            Stmt::Block(block) => {
                let data = store.prim_block(*block);
                let mut node = plain("block", store.str(data.name).to_owned());
                for iter in &data.iters {
                    let kind = match iter.kind {
                        IterKind::Spatial => "S",
                        IterKind::Reduce => "R",
                        IterKind::Scan => "scan",
                        IterKind::Opaque => "opaque",
                    };
                    node.iters.push((self.name(iter.var), kind));
                }
                self.details(id, &mut node);
                // The block around everything is written as a comment.
                let is_root = parent.is_none() && data.iters.is_empty() && store.str(data.name) == "root";
                let at = if is_root { None } else { Some(self.add(id, parent, Some(What::Block(*block)), node)) };
                for buffer in &data.allocs {
                    let buffer = store.buffer(*buffer);
                    let node = NestNode {
                        note: store.str(buffer.scope).to_owned(),
                        ..plain("alloc", store.str(buffer.name).to_owned())
                    };
                    self.add(id, at, None, node);
                }
                if let Some(init) = data.init {
                    let init_at = self.add(init, at, None, plain("init", String::new()));
                    self.stmt(init, Some(init_at));
                }
                self.stmt(data.body, at);
            }
            Stmt::Store { buffer, indices, value } => {
                let lanes = indices.iter().chain([value]).map(|prim| i64::from(store.prim_dtype(*prim).lanes)).max();
                let node = plain("store", store.str(store.buffer(*buffer).name).to_owned());
                let node = NestNode { extent: lanes, note: self.rest(id, "", ""), ..node };
                self.add(id, parent, None, node);
            }
            Stmt::If { then, other, .. } => {
                let node = NestNode { note: self.rest(id, "if ", ":"), ..plain("if", String::new()) };
                let at = self.add(id, parent, None, node);
                self.stmt(*then, Some(at));
                if let Some(other) = other {
                    self.stmt(*other, Some(at));
                }
            }
            Stmt::While { body, .. } => {
                let node = NestNode { note: self.rest(id, "while ", ":"), ..plain("while", String::new()) };
                let at = self.add(id, parent, None, node);
                self.stmt(*body, Some(at));
            }
            Stmt::Attr { node: AttrNode::Thread { var, tag }, value, body, .. } => {
                let node = NestNode {
                    kind: "thread_binding",
                    name: self.name(*var),
                    extent: self.number(*value),
                    note: store.str(*tag).to_owned(),
                    key: format!("l{}", var.index()),
                    ..NestNode::default()
                };
                let at = self.add(id, parent, None, node);
                self.stmt(*body, Some(at));
            }
            Stmt::Attr { body, .. } => self.stmt(*body, parent),
            Stmt::Alloc(buffer, _) => {
                let buffer = store.buffer(*buffer);
                let node =
                    NestNode { note: store.str(buffer.scope).to_owned(), ..plain("alloc", store.str(buffer.name).to_owned()) };
                self.add(id, parent, None, node);
            }
            Stmt::Evaluate(_) => {
                let node = NestNode { note: self.rest(id, "", ""), ..plain("call", String::new()) };
                self.add(id, parent, None, node);
            }
            Stmt::Bind { .. } | Stmt::Declare(_) | Stmt::Assert { .. } | Stmt::Return(_) | Stmt::Break | Stmt::Continue => {}
        }
    }

    /// Reads the lines below a block's head.
    fn details(&self, id: StmtId, node: &mut NestNode) {
        let Some(first) = self.lines.get(&self.store.stmt_node(id)) else { return };
        for (line, info) in self.printed.lines.iter().enumerate().skip(first + 1) {
            if info.role != LineRole::Detail {
                break;
            }
            let text = self.printed.line(line).trim();
            let inside = |head: &str| text.strip_prefix(head).and_then(|text| text.strip_suffix(')'));
            if let Some(reads) = inside("T.reads(") {
                node.reads = reads.to_owned();
            } else if let Some(writes) = inside("T.writes(") {
                node.writes = writes.to_owned();
            } else if let Some(annotations) = inside("T.sblock_attr(") {
                node.annotations = annotations.to_owned();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::CacheShape;
    use crate::pass::{Literal, PassContext};
    use crate::session::document;

    const MATMUL: &str = "# from tvm.script import tirx as T\n@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    \
        def main(A: T.Buffer((16, 16), \"float32\"), B: T.Buffer((16, 16), \"float32\"), C: T.Buffer((16, 16), \"float32\")):\n        \
        for i, j, k in T.grid(16, 16, 16):\n            with T.sblock(\"C\"):\n                \
        vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n                with T.init():\n                    \
        C[vi, vj] = T.float32(0)\n                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";
    const SPLIT: &str = "b0 = sch.get_sblock(name=\"C\", func_name=\"main\")\nl1, l2, l3 = sch.get_loops(block=b0)\n\
        l4, l5 = sch.split(loop=l2, factors=[None, 4])\nsch.vectorize(loop=l5)\nsch.parallel(loop=l1)\n";

    fn session(trace: &str) -> Session {
        let mut session = Session::new(|| 0.0);
        let calls = format!("Schedule(trace={})", Literal::Str(trace.to_owned()));
        assert!(
            session.run(&document(MATMUL, &calls, PassContext::default()).expect("a list"), false),
            "{:?}",
            session.problems()
        );
        session
    }

    fn drawn(nest: &Nest) -> Vec<String> {
        let depth = |at: usize| std::iter::successors(nest.nodes[at].parent, |at| nest.nodes[*at].parent).count();
        let one = |(at, node): (usize, &NestNode)| {
            let extent = node.extent.map_or(String::new(), |extent| format!(" {extent}"));
            format!("{}{} {}{extent} {:?}", " ".repeat(depth(at)), node.kind, node.name, node.lines)
        };
        nest.nodes.iter().enumerate().map(one).collect()
    }

    #[test]
    fn loops_and_blocks_stand_in_their_lines() {
        let mut session = session("");
        let nest = session.nest(0, "", "", 0, &[]).expect("a version");
        let lines = nest.text.lines().map(str::trim).collect::<Vec<_>>();
        let all = drawn(&nest);
        assert_eq!(all.len(), 7, "{all:?}");
        let at = |text: &str| 1 + lines.iter().position(|line| line.starts_with(text)).expect("a line");
        let (head, block, last) = (at("for i, j, k"), at("with T.sblock"), lines.len());
        assert_eq!(all[0], format!("serial i 16 ({head}, {last})"));
        assert_eq!(all[2], format!("  serial k 16 ({head}, {last})"), "loops of a grid share a line");
        assert_eq!(all[3], format!("   block C ({block}, {last})"));
        assert_eq!(nest.nodes[3].iters.iter().map(|(_, kind)| *kind).collect::<String>(), "SSR");
        assert_eq!((&*nest.nodes[3].reads, &*nest.nodes[3].writes), ("A[vi, vk], B[vk, vj]", "C[vi, vj]"));
        assert_eq!(nest.nodes[6].note, "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]");
    }

    #[test]
    fn instructions_are_tried_without_being_done() {
        let mut session = session("");
        let tries = ["sch.vectorize(loop=l5)".to_owned(), "sch.vectorize(loop=l3)".to_owned(), "nothing".to_owned()];
        let nest = session.nest(0, "main", SPLIT, 1, &tries).expect("a version");
        assert_eq!((nest.done, nest.problem.as_str(), nest.fresh), (3, "", 6));
        assert_eq!(
            nest.nodes.iter().map(|node| node.handle.as_str()).take(5).collect::<Vec<_>>(),
            ["l1", "l4", "l5", "l3", "b0"]
        );
        assert_eq!(nest.refused[0], "");
        assert!(nest.refused[1].starts_with("ScheduleError") && nest.refused[2].contains("instruction"), "{:?}", nest.refused);
        assert!(nest.nodes.iter().all(|node| node.kind != "vectorized"), "nothing is left of a try");
    }

    #[test]
    fn a_loop_without_a_name_is_reached_by_instructions() {
        let mut session = session("");
        let nest = session.nest(0, "main", "", 0, &[]).expect("a version");
        let (code, name) = nest.nodes[1].reach.clone().expect("a way");
        let again = session.nest(0, "main", &code, 9, &[]).expect("a version");
        assert_eq!((again.done, &again.nodes[1].handle), (2, &name));
    }

    #[test]
    fn each_instruction_that_may_change_something_is_a_step() {
        let mut session = session(SPLIT);
        let steps = session.trace().steps.clone();
        let names: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(names, ["Schedule#1", "Schedule#1/split#1", "Schedule#1/vectorize#1", "Schedule#1/parallel#1"]);
        assert!(steps.iter().all(|step| step.changed() && step.rewrites.len() == if step.depth == 0 { 3 } else { 1 }));
        // 16 x 16 x 16 rounds read three elements each; C is written in each, and once more before the first of each element.
        let found = session.measure(steps[3].after, 0, "main", 0, CacheShape::default());
        let cost = found.cost.expect("it runs");
        assert_eq!((cost.loads(), cost.stores(), cost.arithmetic), (3 * 4096, 4096 + 256, 2 * 4096));
        assert_eq!((found.parallel, found.vector, found.difference.as_str()), (16, 4, ""));
        // Three tensors of 1 KB are 16 lines of 64 bytes each, and all fit.
        assert_eq!(cost.misses(), 48);
    }

    #[test]
    fn a_refused_instruction_is_a_failed_step_behind_those_that_stand() {
        let mut session = Session::new(|| 0.0);
        let trace =
            Literal::Str("b = sch.get_sblock(\"C\")\ni, j, k = sch.get_loops(b)\nsch.parallel(i)\nsch.parallel(k)\n".to_owned());
        let calls = format!("Schedule(trace={trace})");
        session.run(&document(MATMUL, &calls, PassContext::default()).expect("a list"), false);
        let outcomes: Vec<_> = session.trace().steps.iter().map(|step| step.outcome_words().0.word()).collect();
        assert_eq!(outcomes, ["failed", "changed", "failed"]);
    }
}

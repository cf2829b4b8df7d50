//! InstrumentProfileIntrinsics: functions and loops say when they begin and end.
//!
//! Source: `src/s_tir/transform/profile_instrumentation.cc`. TVM goes on counting from one run to the next unless
//! `s_tir.reset_start_id` is set; here every run counts from 0.

use super::prim_func;
use crate::ir::{DType, ForKind, Module, PrimExpr, Stmt, StmtId, Store};
use crate::pass::{Args, Literal, PassCx, PassError, PassSpec, Run};
//! InstrumentProfileIntrinsics: loops say when they begin and end.
//! Source: `src/s_tir/transform/profile_instrumentation.cc`. TVM goes on counting from one run to the next; here every run begins
//! at 0, as with the key `s_tir.reset_start_id`.
use crate::ir::{DType, ForKind, Module, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run};
use crate::tir::{Rewriting, StmtMutator, rewrite_body};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.InstrumentProfileIntrinsics`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.InstrumentProfileIntrinsics",
    info_name: "s_tir.InstrumentProfileIntrinsics",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Puts marks for a profiler around functions and loops.",
    doc: "`T.start_profile_intrinsic(n)` and `T.end_profile_intrinsic(n)` stand around the body of every function and around \
loops then, with a number of its own for each. The configuration says around which:\n\n\
- `s_tir.lwp_disable_func_prof`: not around functions;\n\
- `s_tir.instr_siblings` (true unless said): around loops that stand beside other loops inside of a loop; if false, around \
those in at most `s_tir.lwp_max_depth` others;\n\
- `s_tir.lwp_min_height` (1): and have so many loops inside.\n\n\
Loops inside of a parallel loop are left alone. Every run counts from 0; TVM counts on, unless `s_tir.reset_start_id` is set.",
    config: &[
        "s_tir.lwp_disable_func_prof",
        "s_tir.lwp_max_depth",
        "s_tir.lwp_min_height",
        "s_tir.instr_siblings",
        "s_tir.reset_start_id",
    ],
    summary: "Calls a profiler around functions and loops.",
    doc: "`T.start_profile_intrinsic` and `T.end_profile_intrinsic`, with a number, go around the body of each function and around \
loops that have siblings; innermost loops and loops inside of parallel ones are left out. Keys of the configuration leave functions \
out (`s_tir.lwp_disable_func_prof`), take loops by their depth instead (`s_tir.instr_siblings` off, `s_tir.lwp_max_depth`) and say \
how many loops must be inside (`s_tir.lwp_min_height`).",
    example_before: "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"int32\")):
        for i in range(16):
            A[i] = 1
    def f(A: T.Buffer((16,), \"float32\")):
            A[i] = T.float32(0.0)
",
    example_after: "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"int32\")):
        T.start_profile_intrinsic(0)
        for i in range(16):
            A[i] = 1
    def f(A: T.Buffer((16,), \"float32\")):
            A[i] = T.float32(0.0)
        T.end_profile_intrinsic(0)
",
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let number = |key: &str, default| match cx.config_tir(key) {
        Some(Literal::Int(value)) => *value,
        Some(Literal::Bool(value)) => i64::from(*value),
        _ => default,
    };
    let mut pass = Instrument {
        max_depth: number("s_tir.lwp_max_depth", 0),
        min_height: number("s_tir.lwp_min_height", 1),
        siblings: number("s_tir.instr_siblings", 1) != 0,
        next: 0,
        loops: FxHashMap::default(),
        inside: false,
    };
    let functions = number("s_tir.lwp_disable_func_prof", 0) == 0;
    let mut new = module.clone();
    for &(name, func) in module.functions() {
        if prim_func(cx.store, func).is_none() {
            continue;
        }
        let own = pass.number();
        let marked = rewrite_body(cx.store, func, &mut pass, |pass, cx, body| {
            let body = cx.visit(pass, body);
            if functions { around(cx.store, own, body) } else { body }
        })?;
        new.set_function(name, marked);
    let siblings = cx.config_int("s_tir.instr_siblings", 1) != 0;
    let (depth, height) = (cx.config_int("s_tir.lwp_max_depth", 0), cx.config_int("s_tir.lwp_min_height", 1));
    let functions = cx.config_int("s_tir.lwp_disable_func_prof", 0) == 0;
    let mut next = 0;
        let Some(prim) = prim_func(cx.store, func) else { continue };
        let whole = next;
        let mut analysis = Analysis { store: cx.store, next: next + 1, loops: FxHashMap::default() };
        analysis.outer(prim.body);
        next = analysis.next;
        let loops = analysis.loops;
        let mut instrument = Instrument { loops, siblings, depth, height };
        let instrumented = rewrite_body(cx.store, func, &mut instrument, |instrument, cx, body| {
            let body = cx.visit(instrument, body);
            if functions { around(cx.store, whole, body) } else { body }
        new.set_function(name, instrumented);
    }
    Ok(new)
}

/// A statement between the marks of a number.
fn around(store: &mut Store, number: i64, body: StmtId) -> StmtId {
    let number = store.prim_int(number, DType::I32);
    let mut mark = |op: &str| {
        let op = store.name(op);
        let call = store.prim(PrimExpr::Call { op, args: Box::new([number]), dtype: DType::VOID });
        store.add_stmt(Stmt::Evaluate(call))
    };
    let (start, end) = (mark("start_profile_intrinsic"), mark("end_profile_intrinsic"));
    store.flat_seq(None, &[start, body, end])
}

/// What is known about a loop.
    let [start, end] = ["start_profile_intrinsic", "end_profile_intrinsic"].map(|name| {
        let call = store.prim_call(name, &[number], DType::VOID);
    });
/// What is known of a loop.
#[derive(Clone, Copy)]
struct Loop {
    number: i64,
    depth: i64,
    height: i64,
    has_siblings: bool,
    in_parallel: bool,
}

struct Instrument {
    max_depth: i64,
    min_height: i64,
    siblings: bool,
    next: i64,
    loops: FxHashMap<StmtId, Loop>,
    inside: bool,
}

impl Instrument {
    /// How many loops are inside.
    /// Whether a loop around is parallel.
struct Analysis<'a> {
    store: &'a Store,
impl Analysis<'_> {
    /// Finds the outermost loops.
    fn outer(&mut self, id: StmtId) {
        if let Stmt::For(_, body) = *self.store.stmt(id) {
            let number = self.number();
            let height = self.inside(body, 0, false);
            self.loops.insert(id, Loop { number, depth: 0, height, has_siblings: false, in_parallel: false });
            return;
        }
        let mut inner = Vec::new();
        self.store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
        inner.into_iter().for_each(|stmt| self.outer(stmt));
    }
    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next - 1
    }

    /// Numbers a loop that is found in `depth` others and the loops inside of it; how high it is.
    fn found(&mut self, store: &Store, id: StmtId, depth: i64, in_parallel: bool) -> i64 {
        let Stmt::For(data, body) = store.stmt(id) else { return 0 };
        let number = self.number();
        // A loop that is parallel itself may be marked, and none inside of it; the outermost does not count in TVM.
        let parallel = in_parallel || depth > 0 && data.kind == ForKind::Parallel;
        let height = self.loops_in(store, *body, depth, parallel);
        self.loops.insert(id, Loop { number, depth, height, has_siblings: false, in_parallel });
        height
    }

    /// How many loops stand in each other in a statement that `depth` loops and one more are around.
    fn loops_in(&mut self, store: &Store, id: StmtId, depth: i64, parallel: bool) -> i64 {
        match store.stmt(id) {
            Stmt::Seq(_) => {
                let all = store.stmts_of(id);
                let loops: Vec<StmtId> = all.into_iter().filter(|id| matches!(store.stmt(*id), Stmt::For(..))).collect();
                let mut highest = 0;
                for found in &loops {
                    highest = highest.max(self.found(store, *found, depth + 1, parallel));
                    // As in TVM, a loop is as high as the highest up to it.
                    if let Some(known) = self.loops.get_mut(found) {
                        known.height = highest;
                        known.has_siblings = loops.len() > 1;
                    }
                }
                highest + i64::from(!loops.is_empty())
            }
            Stmt::If { then, other, .. } => {
                let highest = self.loops_in(store, *then, depth, parallel);
                other.map_or(highest, |other| highest.max(self.loops_in(store, other, depth, parallel)))
            }
            Stmt::For(..) => self.found(store, id, depth + 1, parallel) + 1,
            Stmt::Attr { body, .. } => self.loops_in(store, *body, depth, parallel),
            _ => 0,
        }
    }
    /// Numbers the loops in a statement and says how many are inside of each other. As in TVM, of a sequence only the loops
    /// that stand directly in it are looked at, and later ones count as high as those before.
    fn inside(&mut self, id: StmtId, depth: i64, in_parallel: bool) -> i64 {
        let store = self.store;
        match *store.stmt(id) {
            Stmt::Seq(list) => {
                let loops: Vec<StmtId> = store.items(list).filter(|stmt| matches!(store.stmt(*stmt), Stmt::For(..))).collect();
                let mut height = 0;
                for &stmt in &loops {
                    height = self.loop_(stmt, depth, in_parallel, height);
                if loops.len() > 1 {
                    for stmt in &loops {
                        if let Some(found) = self.loops.get_mut(stmt) {
                            found.has_siblings = true;
                        }
                if loops.is_empty() { 0 } else { height + 1 }
                let height = self.inside(then, depth, in_parallel);
                other.map_or(height, |other| height.max(self.inside(other, depth, in_parallel)))
            Stmt::For(..) => self.loop_(id, depth, in_parallel, 0) + 1,
            Stmt::Attr { body, .. } => self.inside(body, depth, in_parallel),
    fn loop_(&mut self, id: StmtId, depth: i64, in_parallel: bool, least: i64) -> i64 {
        let Stmt::For(head, body) = self.store.stmt(id) else { return least };
        let parallel = in_parallel || head.kind == ForKind::Parallel;
        let height = least.max(self.inside(*body, depth + 1, parallel));
        self.loops.insert(id, Loop { number, depth: depth + 1, height, has_siblings: false, in_parallel });
}
struct Instrument {
    loops: FxHashMap<StmtId, Loop>,
    siblings: bool,
    depth: i64,
    height: i64,
}

impl StmtMutator for Instrument {
    fn rule(&self) -> &'static str {
        "profiling marked"
        "profiler called"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::For(..) = cx.store.stmt(id) else { return None };
        let outer = std::mem::replace(&mut self.inside, true);
        if !outer {
            self.found(cx.store, id, 0, false);
        }
        let new = cx.descend(self, id);
        self.inside = outer;
        let Some(known) = self.loops.get(&id).copied() else { return Some(new) };
        let chosen = if self.siblings { known.has_siblings } else { known.depth <= self.max_depth };
        if !chosen || known.in_parallel || known.height < self.min_height {
            return Some(new);
        }
        Some(around(cx.store, known.number, new))
        let found = *self.loops.get(&id)?;
        let left_out = found.in_parallel
            || found.height < self.height
            || (self.siblings && !found.has_siblings)
            || (!self.siblings && found.depth > self.depth);
        if left_out {
            return None;
        Some(around(cx.store, found.number, new))
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, after_with, unchanged};

    const CALL: &str = "s_tir.InstrumentProfileIntrinsics()";

    fn nest(kind: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((8, 8), \"int32\")):\n    for i in range(8):\n        for j in {kind}(8):\n            for k in range(8):\n                A[j, k] = i\n        for j in range(8):\n            for k in range(8):\n                A[j, k] = A[j, k] + 1\n"
        )
    }

    #[test]
    fn loops_beside_each_other_are_marked() {
        let text = after(&nest("range"), CALL);
        for number in [0, 2, 4] {
            assert!(text.contains(&format!("start_profile_intrinsic({number})")), "{text}");
        }
        assert_eq!(text.matches("end_profile_intrinsic").count(), 3, "{text}");
    }

    #[test]
    fn depth_decides_when_siblings_do_not() {
        let config = [("s_tir.instr_siblings", "False"), ("s_tir.lwp_disable_func_prof", "True"), ("s_tir.lwp_max_depth", "5")];
        let text = after_with(&nest("T.parallel"), CALL, &config);
        for number in [1, 2, 4] {
            assert!(text.contains(&format!("start_profile_intrinsic({number})")), "{text}");
        }
        assert!(!text.contains("intrinsic(0)") && !text.contains("intrinsic(3)") && !text.contains("intrinsic(5)"), "{text}");
    }

    #[test]
    fn functions_of_relax_stay() {
        unchanged(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((4,), dtype=\"float32\"):\n        return x\n",
            CALL,
        );
    use crate::passes::tir::testing::after_with;
    const NEST: &str = "\
@T.prim_func(private=True)
def f(A: T.Buffer((16, 16), \"float32\")):
    for i in range(16):
        for j in range(16):
            for k in range(2):
                A[i, j] = T.float32(0.0)
                A[i, j] = T.float32(1.0)
";
    fn numbers(config: &[(&str, &str)]) -> Vec<String> {
        let text = after_with(NEST, "s_tir.InstrumentProfileIntrinsics()", config);
        text.lines().filter_map(|line| line.trim().strip_prefix("T.start_profile_intrinsic(")).map(str::to_owned).collect()
    fn functions_and_loops_with_siblings_are_profiled() {
        assert_eq!(numbers(&[]), ["0)", "2)", "4)"]);
    fn loops_are_taken_by_their_depth_when_asked() {
        assert_eq!(numbers(&[("s_tir.instr_siblings", "False"), ("s_tir.lwp_disable_func_prof", "True")]), ["1)"]);
    }
}

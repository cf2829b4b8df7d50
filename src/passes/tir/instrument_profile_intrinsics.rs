//! InstrumentProfileIntrinsics: makes functions and loops report their beginning and end.
//!
//! Source: `src/s_tir/transform/profile_instrumentation.cc`. TVM continues counting from one run to the next unless
//! `s_tir.reset_start_id` is set; here every run counts from 0.

use super::prim_func;
use crate::ir::{DType, ForKind, Module, PrimExpr, Stmt, StmtId, Store};
use crate::pass::{Args, Literal, PassCx, PassError, PassSpec, Run, explained};
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
    doc: explained(
        "`T.start_profile_intrinsic(n)` and `T.end_profile_intrinsic(n)` stand around the body of every function and around \
loops then, with a number of its own for each. The configuration says around which:\n\n\
- `s_tir.lwp_disable_func_prof`: not around functions;\n\
- `s_tir.instr_siblings` (true unless said): around loops that stand beside other loops inside of a loop; if false, around \
those in at most `s_tir.lwp_max_depth` others;\n\
- `s_tir.lwp_min_height` (1): and have so many loops inside.\n\n\
Loops inside of a parallel loop are left alone. Every run counts from 0; TVM counts on, unless `s_tir.reset_start_id` is set.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"int32\")):
        for i in range(16):
            A[i] = 1
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"int32\")):
        T.start_profile_intrinsic(0)
        for i in range(16):
            A[i] = 1
        T.end_profile_intrinsic(0)
",
    ),
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
    }
    Ok(new)
}

/// Makes a statement between the marks of a number.
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

/// The facts about a loop.
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
    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next - 1
    }

    /// Numbers a loop inside `depth` others and the loops inside it; returns its height.
    fn found(&mut self, store: &Store, id: StmtId, depth: i64, in_parallel: bool) -> i64 {
        let Stmt::For(data, body) = store.stmt(id) else { return 0 };
        let number = self.number();
        // A loop that is parallel itself may be marked, and none inside of it; the outermost does not count in TVM.
        let parallel = in_parallel || depth > 0 && data.kind == ForKind::Parallel;
        let height = self.loops_in(store, *body, depth, parallel);
        self.loops.insert(id, Loop { number, depth, height, has_siblings: false, in_parallel });
        height
    }

    /// Returns the nesting depth of loops in a statement inside `depth` loops and one more.
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
}

impl StmtMutator for Instrument {
    fn rule(&self) -> &'static str {
        "profiling marked"
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
    }
}

//! UnrollLoop: loops become statements, one after the other.
//!
//! Source: `src/tirx/transform/unroll_loop.cc`.

use crate::ir::{Buffer, ExprId, For, ForKind, Id, Kinds, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::Analyzer;
use crate::tir::{Rewriting, StmtMutator, binary, copy_stmt, has_kinds, rewrite_func, substitute_stmt};
use rustc_hash::FxHashSet;

/// TVM's `tirx.transform.UnrollLoop`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.UnrollLoop",
    info_name: "tirx.UnrollLoop",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["tirx.UnrollLoop"],
    summary: "Writes the rounds of loops one behind the other.",
    doc: explained(
        "Loops that are marked as `T.unroll` become their rounds, in each of which the variable is a number; they must have a \
known number of rounds. Others are unrolled without being asked to when the configuration lets them, all serial, with no \
ordinary loop inside:\n\n\
- `auto_max_step`: the most statements that may come of it, rounds times statements inside;\n\
- `auto_max_depth`: how many loops may be unrolled inside of each other;\n\
- `auto_max_extent`: the most rounds of a loop, however much is inside; 1 takes loops of one round away in any case;\n\
- `explicit_unroll`: at 0 the loop stays and is only marked as `T.unroll`;\n\
- `unroll_local_access`: loops whose variable is an index into memory of scope `local` or `warp` are unrolled.\n\n\
The attributes `pragma_auto_unroll_max_step` and `pragma_unroll_explicit` set two of these for what they stand around, and go.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):
        for i in range(16):
            for j in T.unroll(4):
                B[i * 4 + j] = A[i * 4 + j] + T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):
        for i in range(16):
            B[T.Add(i * 4, 0)] = A[T.Add(i * 4, 0)] + T.float32(1.0)
            B[i * 4 + 1] = A[i * 4 + 1] + T.float32(1.0)
            B[i * 4 + 2] = A[i * 4 + 2] + T.float32(1.0)
            B[i * 4 + 3] = A[i * 4 + 3] + T.float32(1.0)
",
    ),
    run: Run::PrimFunc(run),
};

/// The most statements that a function may grow to. TVM knows no limit, and takes all memory.
const MOST: usize = 2_000_000;

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let marked = has_kinds(cx.store, func, Kinds::UNROLLED | Kinds::ATTR | Kinds::IDLE_LOOP);
    let field = |name| cx.config_field("tirx.UnrollLoop", name);
    // A loop that is not marked is only unrolled if that makes no more statements than the settings allow.
    let plain = field("auto_max_step") <= 0 && field("auto_max_extent") <= 0 && field("unroll_local_access") == 0;
    if plain && !marked {
        return Ok(Some(func));
    }
    let mut unroll = Unroll {
        max_step: field("auto_max_step"),
        max_depth: field("auto_max_depth"),
        max_extent: field("auto_max_extent"),
        explicit: field("explicit_unroll") != 0,
        local_access: field("unroll_local_access") != 0,
        normal_depth: 0,
        unrolled_depth: 0,
        steps: 0,
        touched: FxHashSet::default(),
        made: 0,
    };
    rewrite_func(cx.store, func, &mut unroll).map(Some)
}

struct Unroll {
    max_step: i64,
    max_depth: i64,
    max_extent: i64,
    explicit: bool,
    local_access: bool,
    /// The nesting depth of ordinary loops in the last visited statement.
    normal_depth: i64,
    /// The nesting depth of unrolled loops.
    unrolled_depth: i64,
    /// The number of statements in it.
    steps: i64,
    /// Variables that are indices into local memory.
    touched: FxHashSet<Id<Symbol>>,
    /// The number of statements made so far.
    made: usize,
}

impl StmtMutator for Unroll {
    fn rule(&self) -> &'static str {
        "loop unrolled"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match *cx.store.stmt(id) {
            Stmt::Attr { key, value, body, .. } => {
                let value = cx.store.as_prim_int(value)?;
                match cx.store.str(key) {
                    "pragma_auto_unroll_max_step" => {
                        let outer = std::mem::replace(&mut self.max_step, value);
                        let new = cx.visit(self, body);
                        self.max_step = outer;
                        cx.set_rule("unroll pragma taken");
                        Some(new)
                    }
                    "pragma_unroll_explicit" => {
                        let outer = std::mem::replace(&mut self.explicit, value != 0);
                        let new = cx.visit(self, body);
                        self.explicit = outer;
                        cx.set_rule("unroll pragma taken");
                        Some(new)
                    }
                    _ => None,
                }
            }
            Stmt::For(..) => self.unroll(cx, id),
            Stmt::Seq(list) => {
                let stmts: Vec<StmtId> = cx.store.items(list).collect();
                let stmts: Vec<StmtId> = stmts.into_iter().map(|stmt| self.one_of_several(cx, stmt)).collect();
                Some(cx.store.flat_seq(Some(id), &stmts))
            }
            Stmt::Store { buffer, ref indices, .. } => {
                self.steps += 1;
                let indices = indices.clone();
                self.touch(cx.store, buffer, &indices);
                None
            }
            Stmt::Evaluate(_) => {
                self.steps += 1;
                None
            }
            _ => None,
        }
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        // As in TVM, the indices of a load are not visited again.
        let PrimExpr::Load { buffer, indices } = &*cx.store.prim_rc(id) else { return None };
        self.touch(cx.store, *buffer, indices);
        Some(id)
    }
}

impl Unroll {
    fn unroll(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let new = cx.descend(self, id);
        let Stmt::For(head, body) = cx.store.stmt(new).clone() else { return Some(new) };
        let extent = Analyzer::new().simplify(cx.store, head.extent);
        let extent = cx.store.as_prim_int(extent).filter(|extent| i32::try_from(*extent).is_ok());
        let mut unrolled = head.kind == ForKind::Serial && self.normal_depth == 0 && self.unrolled_depth <= self.max_depth;
        unrolled =
            unrolled && extent.is_some_and(|n| n >= 0 && (n.saturating_mul(self.steps) <= self.max_step || n <= self.max_extent));
        if head.kind == ForKind::Unrolled {
            if extent.is_none_or(|extent| extent < 0) {
                cx.fail("tir-unroll", "Cannot unroll non-constant loop");
                return Some(new);
            }
            unrolled = true;
        }
        unrolled |= self.local_access && self.touched.contains(&head.var) && extent.is_some_and(|n| n > 0);
        if unrolled {
            self.steps = self.steps.saturating_mul(extent.unwrap_or(1));
            self.unrolled_depth += 1;
        } else {
            self.normal_depth += 1;
        }
        let single = self.max_extent == 1 && extent.is_some_and(|n| n == 0 || n == 1);
        match extent {
            Some(n) if (unrolled && self.explicit) || single => self.rounds(cx, &head, body, n),
            _ if unrolled && head.kind != ForKind::Unrolled => {
                cx.set_rule("loop marked for unrolling");
                Some(cx.store.add_stmt(Stmt::For(For { kind: ForKind::Unrolled, ..head }, body)))
            }
            _ => Some(new),
        }
    }

    /// Unrolls the iterations of a loop, each with variables and buffers of its own.
    fn rounds(&mut self, cx: &mut Rewriting<'_>, head: &For, body: StmtId, n: i64) -> Option<StmtId> {
        let mut size = 0;
        cx.store.for_each_stmt(body, |_| size += 1);
        self.made = self.made.saturating_add(size * n as usize);
        if self.made > MOST {
            cx.fail("tir-unroll", format!("unrolling makes more than {MOST} statements"));
            return None;
        }
        let dtype = cx.store.symbol(head.var).dtype;
        let rounds: Vec<StmtId> = (0..n)
            .map(|round| {
                let number = cx.store.prim_int(round, dtype);
                let value = binary(cx.store, PrimOp::Add, head.min, number);
                let copy = if round == 0 { substitute_stmt } else { copy_stmt };
                copy(cx.store, body, &[(head.var, value)])
            })
            .collect();
        Some(cx.store.flat_seq(None, &rounds))
    }

    /// Visits one statement of several: the counts inside it start anew, and the maximum remains.
    fn one_of_several(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> StmtId {
        let before = (self.steps, self.unrolled_depth, self.normal_depth);
        (self.steps, self.unrolled_depth, self.normal_depth) = (0, 0, 0);
        let new = cx.visit(self, id);
        self.steps += before.0;
        self.unrolled_depth = self.unrolled_depth.max(before.1);
        self.normal_depth = self.normal_depth.max(before.2);
        new
    }

    /// Remembers the variables in indices into local memory.
    fn touch(&mut self, store: &Store, buffer: Id<Buffer>, indices: &[PrimId]) {
        let scope = store.str(store.buffer(buffer).scope);
        if !self.local_access || !(scope.starts_with("local") || scope.starts_with("warp")) {
            return;
        }
        for index in indices {
            store.for_each_prim(*index, &mut |_, part| {
                if let PrimExpr::Var(symbol) = part {
                    self.touched.insert(*symbol);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, after_with, error, unchanged};

    const NESTED: &str = "\
@T.prim_func(private=True)
def f(A: T.Buffer((64,), \"float32\")):
    for i in range(2):
        for j in T.unroll(2):
            for k in range(8):
                A[i * 16 + j * 8 + k] = T.float32(0.0)
";

    fn with(fields: &str) -> String {
        after_with(NESTED, "tir.UnrollLoop()", &[("tir.UnrollLoop", fields)])
    }

    #[test]
    fn every_round_has_loops_of_its_own() {
        let text = after(NESTED, "tirx.UnrollLoop()");
        assert_eq!(text.matches("for k in range(8):").count(), 2, "{text}");
        assert!(text.contains("A[i * 16 + T.Mul(1, 8) + k] = T.float32(0.0)"), "{text}");
    }

    #[test]
    fn a_loop_is_unrolled_by_itself_when_few_enough_statements_come_of_it() {
        assert_eq!(with("{\"auto_max_step\": 8}").matches("A[").count(), 2 * 8);
        assert_eq!(with("{\"auto_max_step\": 7}").matches("A[").count(), 2);
        assert_eq!(with("{\"auto_max_step\": 32}").matches("A[").count(), 32);
        assert_eq!(with("{\"auto_max_step\": 32, \"auto_max_depth\": 0}").matches("A[").count(), 16);
        assert_eq!(with("{\"auto_max_extent\": 8}").matches("A[").count(), 32);
    }

    #[test]
    fn loops_may_only_be_marked() {
        let text = with("{\"auto_max_step\": 32, \"explicit_unroll\": 0}");
        assert_eq!(text.matches("T.unroll(").count(), 3, "{text}");
    }

    #[test]
    fn indices_of_local_memory_become_numbers() {
        let source = "\
@T.prim_func(private=True)
def f(A: T.Buffer((4,), \"float32\")):
    B = T.alloc_local((4,))
    for i in range(4):
        B[i] = A[i]
    for i in range(4):
        A[i] = T.float32(0.0)
";
        let text = after_with(source, "tirx.UnrollLoop()", &[("tirx.UnrollLoop", "{\"unroll_local_access\": True}")]);
        assert!(text.contains("B[3] = A[3]") && text.contains("for i in range(4):"), "{text}");
    }

    #[test]
    fn pragmas_set_what_the_configuration_does_not() {
        let source = "\
@T.prim_func(private=True)
def f(A: T.Buffer((4,), \"float32\")):
    T.attr(0, \"pragma_auto_unroll_max_step\", 4)
    for i in range(4):
        A[i] = T.float32(0.0)
";
        let text = after(source, "tirx.UnrollLoop()");
        assert!(!text.contains("pragma") && text.contains("A[3] = T.float32(0.0)"), "{text}");
    }

    #[test]
    fn a_loop_of_unknown_length_is_refused() {
        let source = "@T.prim_func(private=True)\ndef f(n: T.int32):\n    for i in T.unroll(n):\n        T.evaluate(i)\n";
        assert_eq!(error(source, "tirx.UnrollLoop()"), "Cannot unroll non-constant loop");
    }

    #[test]
    fn a_loop_that_would_fill_the_memory_is_refused() {
        let source = "@T.prim_func(private=True)\ndef f():\n    for i in T.unroll(2000000000):\n        T.evaluate(i)\n";
        assert!(error(source, "tirx.UnrollLoop()").starts_with("unrolling makes more than"));
    }

    #[test]
    fn loops_that_nobody_asked_about_stay() {
        unchanged(&NESTED.replace("T.unroll", "range"), "tirx.UnrollLoop()");
    }
}

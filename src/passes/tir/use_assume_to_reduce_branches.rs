//! UseAssumeToReduceBranches: drops a choice that makes no difference where an assumption holds.
//!
//! Source: `src/s_tir/transform/using_assume_to_reduce_branches.cc`.

use super::prim_func;
use crate::ir::equal::like;
use crate::ir::{Buffer, ExprId, Id, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::effect::{Effect, effect, is_pure};
use crate::tir::{Knowing, Known, Rewriting, StmtMutator, binary, descend_knowing, enter_knowing, rewrite_func};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.UseAssumeToReduceBranches`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.UseAssumeToReduceBranches",
    info_name: "s_tir.UseAssumeToReduceBranches",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Removes choices that an assumption about memory makes superfluous.",
    doc: explained(
        "After a change of layout, padding is said to hold a value (`T.assume(i < 14 or A[i] == 0)`), and a program that keeps \
it so chooses that value for each element of the padding. Where what it would compute there comes out the same by the \
assumption, it computes it everywhere, and no choice is left. This is done for functions that AnnotateTIROpPattern found to work \
element by element (`op_pattern` 0 or 1), for stores whose value is a `T.if_then_else`, and where the condition is written as the \
simplified opposite of the assumed one: `14 <= i`, not `i >= 14`. A load where nothing but the assumed condition holds becomes \
the assumed value.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):
        T.func_attr({\"op_pattern\": 0})
        for i in range(16):
            T.assume(i < 14 or A[i] == T.float32(0.0))
        for i in range(16):
            B[i] = T.if_then_else(14 <= i, T.float32(0.0), A[i] * T.float32(2.0))
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):
        T.func_attr({\"op_pattern\": 0})
        for i in range(16):
            T.assume(i < 14 or A[i] == T.float32(0.0))
        for i in range(16):
            B[i] = A[i] * T.float32(2.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    let by_element = matches!(cx.store.attr_int(prim.attrs, "op_pattern"), Some(0 | 1));
    if !by_element || !has_assumption(cx.store, prim.body) {
        return Ok(Some(func));
    }
    let mut reduce = Reduce { known: Known::default(), conditions: Vec::new(), assumed: FxHashMap::default() };
    rewrite_func(cx.store, func, &mut reduce).map(Some)
}

fn has_assumption(store: &Store, body: StmtId) -> bool {
    let mut found = false;
    store.for_each_stmt(body, |stmt| found |= matches!(stmt, Stmt::Evaluate(value) if assumption(store, *value).is_some()));
    found
}

/// The condition of `T.assume(condition)`.
fn assumption(store: &Store, value: PrimId) -> Option<PrimId> {
    match store.prim_of_id(value) {
        PrimExpr::Call { op, args, .. } if store.str(*op) == "assume" => args.first().copied(),
        _ => None,
    }
}

/// The value that a buffer has, and the conditions under which it has it.
#[derive(Clone, Copy)]
struct Assumed {
    when: PrimId,
    value: PrimId,
}

struct Reduce {
    known: Known,
    /// The conditions of loops and choices around; those of branches do not count.
    conditions: Vec<PrimId>,
    assumed: FxHashMap<Id<Buffer>, Assumed>,
}

impl Reduce {
    /// All conditions in one.
    fn here(&self, store: &mut Store) -> PrimId {
        let all = self.conditions.iter().copied().reduce(|all, one| binary(store, PrimOp::And, all, one));
        all.unwrap_or_else(|| store.prim_int(1, crate::ir::DType::BOOL))
    }

    /// Adds a condition; one that reads memory is known, and does not count.
    fn holds(&mut self, cx: &mut Rewriting<'_>, cond: PrimId) {
        self.known.holds(cx.store, cond);
        if is_pure(cx.store, cond) {
            self.conditions.push(cond);
        }
        cx.forget();
    }

    fn assume(&mut self, cx: &mut Rewriting<'_>, assumption: PrimId) {
        for part in parts(cx.store, assumption, PrimOp::And) {
            if let Err(message) = self.assume_part(cx.store, part) {
                cx.fail("tir-assume", message);
            }
        }
        cx.forget();
    }

    /// Notes a part of an assumption: alternatives, of which one says what a buffer holds.
    fn assume_part(&mut self, store: &mut Store, part: PrimId) -> Result<(), String> {
        let mut when = store.prim_int(1, crate::ir::DType::BOOL);
        let mut about = Vec::new();
        for alternative in parts(store, part, PrimOp::Or) {
            match effect(store, alternative) {
                Effect::Pure => {
                    let opposite = not(store, alternative);
                    when = binary(store, PrimOp::And, when, opposite);
                }
                Effect::Reads => about.push(alternative),
                Effect::Updates => return Err("Assumption must be pure or read-only".to_owned()),
            }
        }
        let [about] = about[..] else { return Err("T.assume must contain only a single buffer expression".to_owned()) };
        let form = "T.assume buffer constraint must be of the form 'buffer[indices] == value'";
        let PrimExpr::Binary { op: PrimOp::Eq, a, b } = *store.prim_of_id(about) else { return Err(form.to_owned()) };
        let (buffer, value) = match (store.prim_of_id(a), store.prim_of_id(b)) {
            (PrimExpr::Load { buffer, .. }, _) => (*buffer, b),
            (_, PrimExpr::Load { buffer, .. }) => (*buffer, a),
            _ => return Err(form.to_owned()),
        };
        if !is_pure(store, value) {
            return Err("The value of a buffer in T.assume must be a pure expression".to_owned());
        }
        let when = self.known.analyzer.simplify(store, when);
        let here = self.here(store);
        let when = binary(store, PrimOp::And, here, when);
        self.assumed.insert(buffer, Assumed { when, value });
        Ok(())
    }

    /// Both sides of a choice, simplified where `cond` holds.
    fn sides(&mut self, cx: &mut Rewriting<'_>, cond: PrimId, sides: [PrimId; 2]) -> [PrimId; 2] {
        let (begin, count) = (self.known.begin(), self.conditions.len());
        self.holds(cx, cond);
        let sides = sides.map(|side| {
            let side = cx.apart(|cx| cx.prim(self, side));
            self.known.analyzer.simplify(cx.store, side)
        });
        self.known.end(begin);
        self.conditions.truncate(count);
        cx.forget();
        sides
    }
}

/// The operands of a chain of `and` or `or`.
fn parts(store: &Store, root: PrimId, of: PrimOp) -> Vec<PrimId> {
    let (mut found, mut todo) = (Vec::new(), vec![root]);
    while let Some(id) = todo.pop() {
        match *store.prim_of_id(id) {
            PrimExpr::Binary { op, a, b } if op == of => todo.extend([b, a]),
            _ => found.push(id),
        }
    }
    found
}

/// The opposite as it is written: a comparison is not turned around.
fn not(store: &mut Store, cond: PrimId) -> PrimId {
    match store.as_prim_int(cond) {
        Some(known) => store.prim_int(i64::from(known == 0), crate::ir::DType::BOOL),
        None => store.prim(PrimExpr::Not(cond)),
    }
}

impl Knowing for Reduce {
    fn known(&mut self) -> &mut Known {
        &mut self.known
    }
}

impl StmtMutator for Reduce {
    fn rule(&self) -> &'static str {
        "what is assumed"
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        let PrimExpr::Load { buffer, .. } = *cx.store.prim_of_id(id) else { return enter_knowing(self, cx, id) };
        let Some(assumed) = self.assumed.get(&buffer).copied() else { return Some(id) };
        let here = self.here(cx.store);
        Some(if like(cx.store, here, assumed.when) { assumed.value } else { id })
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::For(head, _) => {
                self.known.bind_variables(cx.store, id);
                let (begin, count) = (self.known.begin(), self.conditions.len());
                let var = cx.store.prim(PrimExpr::Var(head.var));
                let least = binary(cx.store, PrimOp::Ge, var, head.min);
                self.holds(cx, least);
                let end = binary(cx.store, PrimOp::Add, head.min, head.extent);
                let most = binary(cx.store, PrimOp::Lt, var, end);
                self.holds(cx, most);
                let new = descend_knowing(self, cx, id);
                self.known.end(begin);
                self.conditions.truncate(count);
                cx.forget();
                Some(new)
            }
            Stmt::Store { buffer, indices, value } => {
                let PrimExpr::Call { op, args, .. } = cx.store.prim_of_id(value) else { return None };
                if cx.store.str(*op) != "if_then_else" || args.len() != 3 {
                    return None;
                }
                let [cond, then, other] = [args[0], args[1], args[2]];
                let in_then = self.sides(cx, cond, [then, other]);
                let opposite = not(cx.store, cond);
                let in_other = self.sides(cx, opposite, [then, other]);
                let left = if in_then[0] == in_then[1] {
                    other
                } else if in_other[0] == in_other[1] {
                    then
                } else {
                    return None;
                };
                let value = self.known.analyzer.simplify(cx.store, left);
                cx.set_rule("choice that makes no difference");
                Some(cx.store.rebuild_stmt(id, Stmt::Store { buffer, indices, value }))
            }
            Stmt::Evaluate(value) if let Some(condition) = assumption(cx.store, value) => {
                self.assume(cx, condition);
                None
            }
            _ => Some(descend_knowing(self, cx, id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(pattern: u8, assumption: &str, value: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    \
             T.func_attr({{\"op_pattern\": {pattern}}})\n    for i in range(16):\n        T.assume({assumption})\n    for i in \
             range(16):\n        B[i] = {value}\n"
        )
    }

    const PADDED: &str = "i < 14 or A[i] == T.float32(0.0)";
    const PASS: &str = "s_tir.UseAssumeToReduceBranches()";

    #[test]
    fn either_side_may_be_the_one_that_is_left() {
        for value in [
            "T.if_then_else(14 <= i, T.float32(0.0), A[i] * T.float32(2.0))",
            "T.if_then_else(14 <= i, T.float32(1.0), A[i] + T.float32(1.0))",
        ] {
            let text = after(&source(1, PADDED, value), PASS);
            assert!(!text.contains("if_then_else") && text.contains("B[i] = A[i]"), "{text}");
        }
    }

    #[test]
    fn a_choice_that_makes_a_difference_or_is_written_otherwise_stays() {
        unchanged(&source(0, PADDED, "T.if_then_else(14 <= i, T.float32(1.0), A[i] * T.float32(2.0))"), PASS);
        unchanged(&source(0, PADDED, "T.if_then_else(i < 14, A[i] * T.float32(2.0), T.float32(0.0))"), PASS);
        unchanged(&source(2, PADDED, "T.if_then_else(14 <= i, T.float32(0.0), A[i] * T.float32(2.0))"), PASS);
    }

    #[test]
    fn what_is_assumed_everywhere_takes_the_place_of_loads() {
        let text = after(&source(1, "A[i] == T.float32(1.0)", "A[i] + B[i]"), PASS);
        assert!(text.contains("B[i] = T.float32(1.0) + B[i]"), "{text}");
    }

    #[test]
    fn an_assumption_of_another_form_is_refused() {
        for (assumption, wanted) in [
            ("i < 14 or A[i] < T.float32(0.0)", "must be of the form 'buffer[indices] == value'"),
            ("A[i] == T.float32(0.0) or B[i] == T.float32(0.0)", "only a single buffer expression"),
        ] {
            let message = error(&source(0, assumption, "A[i]"), PASS);
            assert!(message.contains(wanted), "{message}");
        }
    }
}

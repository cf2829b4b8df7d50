//! EliminateCommonSubexpr: replaces a value that was computed before by its variable.
//!
//! Source: `src/relax/transform/eliminate_common_subexpr.cc`.

use crate::build::{BlockMutator, Mutation, Saved, rewrite_function};
use crate::infer::relax::effects::contains_impure_call;
use crate::ir::equal::{EqualOptions, exprs};
use crate::ir::rewrite::Visit;
use crate::ir::walk::for_each_child;
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Id, Module, Store, TypeId, VarId};
use crate::ops;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// TVM's `relax.transform.EliminateCommonSubexpr`.
pub static SPEC: PassSpec = PassSpec {
    name: "EliminateCommonSubexpr",
    info_name: "EliminateCommonSubexpr",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[Param { name: "call_only", default: "False", doc: "Look at calls only, not at tuples, fields and the like." }],
    config: &[],
    summary: "Binds a value that was computed before to the variable that has it.",
    doc: explained(
        "When the value of a binding equals that of an earlier one that is visible, the binding names the earlier variable, and \
later bindings use that. What may have side effects or allocates memory is left alone. The bindings that only name something \
stay: `CanonicalizeBindings` or `DeadCodeElimination` removes them.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype=\"float32\") = R.exp(x)
            lv1: R.Tensor((2,), dtype=\"float32\") = R.exp(x)
            gv: R.Tensor((2,), dtype=\"float32\") = R.add(lv, lv1)
            R.output(gv)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype=\"float32\") = R.exp(x)
            lv1: R.Tensor((2,), dtype=\"float32\") = lv
            gv: R.Tensor((2,), dtype=\"float32\") = R.add(lv, lv)
            R.output(gv)
        return gv
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, args: &Args) -> Result<ExprId, PassError> {
    eliminate_common_subexpr(cx.store, module, function, args.bool("call_only"))
}

/// Runs the pass on one function.
pub fn eliminate_common_subexpr(
    store: &mut Store,
    module: &Module,
    function: ExprId,
    call_only: bool,
) -> Result<ExprId, PassError> {
    rewrite_function(store, module, function, &mut Eliminate { call_only, ..Eliminate::new(module) })
}

/// Values by their hash, with the variables that have them, in order.
type Known = FxHashMap<u64, Vec<Value>>;

#[derive(Clone)]
struct Value {
    value: ExprId,
    cast: Option<TypeId>,
    vars: Vec<VarId>,
}

struct Eliminate<'m> {
    module: &'m Module,
    call_only: bool,
    known: Known,
    /// The saved values and replacements of the functions, sequences and dataflow blocks around.
    outer: Vec<(Known, Saved)>,
    blocks: Vec<Saved>,
}

impl<'m> Eliminate<'m> {
    fn new(module: &'m Module) -> Eliminate<'m> {
        Eliminate { module, call_only: false, known: Known::default(), outer: Vec::new(), blocks: Vec::new() }
    }

    fn find(&mut self, store: &Store, value: ExprId, cast: Option<TypeId>) -> &mut Vec<VarId> {
        let alike = self.known.entry(from_afar(store, value)).or_default();
        let same = |known: &Value| known.cast == cast && exprs(store, known.value, value, EqualOptions::RELAX).is_ok();
        let place = match alike.iter().position(same) {
            Some(place) => place,
            None => {
                alike.push(Value { value, cast, vars: Vec::new() });
                alike.len() - 1
            }
        };
        &mut alike[place].vars
    }
}

impl BlockMutator for Eliminate<'_> {
    fn rule(&self) -> &'static str {
        "a value that was computed before to its variable"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        match store.expr(id) {
            // Inside of a function, values from outside are unknown.
            Expr::Function(_) => {
                self.outer.push((std::mem::take(&mut self.known), cx.save()));
                cx.forget();
            }
            Expr::Seq { .. } => self.outer.push((self.known.clone(), cx.save())),
            _ => {}
        }
        Visit::Descend
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        if matches!(store.expr(pre), Expr::Function(_) | Expr::Seq { .. })
            && let Some((known, vars)) = self.outer.pop()
        {
            self.known = known;
            cx.restore(vars);
        }
        post
    }

    fn begin_block(&mut self, _: &mut Store, cx: &mut Mutation, _: Id<BindingBlock>) {
        self.blocks.push(cx.save());
    }

    fn end_block(&mut self, store: &mut Store, cx: &mut Mutation, _: Id<BindingBlock>) {
        let Some(vars) = self.blocks.pop() else { return };
        if cx.builder.is_dataflow() {
            for value in self.known.values_mut().flatten() {
                value.vars.retain(|var| !store.var_data(*var).dataflow);
            }
            cx.restore(vars);
        }
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        let Binding { var, cast, .. } = pre;
        let is_call = matches!(store.expr(value), Expr::Call { .. });
        let left_alone = self.call_only && !is_call || contains_impure_call(store, self.module, value) || allocates(store, value);
        let mut output = Binding { var, value, cast };
        if !left_alone {
            let vars = self.find(store, value, cast);
            let first = vars.first().copied();
            vars.push(var);
            if let Some(first) = first {
                let used = store.use_var(first);
                output = Binding { var, value: used, cast: None };
                cx.replace(store, var, used);
            }
        }
        cx.builder.emit_normalized(store, output);
    }
}

/// True if every call allocates memory of its own.
fn allocates(store: &Store, value: ExprId) -> bool {
    store.called_op(value).and_then(|op| ops::info(op).relax.as_ref()).is_some_and(|op| op.name.contains("alloc_"))
}

/// Returns a hash that equal values share.
fn from_afar(store: &Store, value: ExprId) -> u64 {
    let mut hash = FxHasher::default();
    let mut stack = vec![value];
    while let Some(id) = stack.pop() {
        let node = store.expr(id);
        node.kind().hash(&mut hash);
        match node {
            Expr::Var(var) => var.hash(&mut hash),
            Expr::Global(name) | Expr::Str(name) | Expr::Extern(name) => name.hash(&mut hash),
            Expr::Op(op) => op.hash(&mut hash),
            Expr::Shape(dims) => dims.hash(&mut hash),
            Expr::Prim(prim) => prim.hash(&mut hash),
            Expr::TupleGetItem { index, .. } => index.hash(&mut hash),
            // Expressions that bind variables are left to the comparison.
            Expr::Function(_) | Expr::If { .. } | Expr::Seq { .. } => continue,
            _ => {}
        }
        for_each_child(store, id, |child| stack.push(child));
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn arms_of_a_branch_do_not_know_each_other() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\"), \
                    c: R.Tensor((), dtype=\"bool\")) -> R.Tensor((2,), dtype=\"float32\"):\n        if c:\n            \
                    a: R.Tensor((2,), dtype=\"float32\") = R.exp(x)\n            r: R.Tensor((2,), dtype=\"float32\") = R.add(a, a)\n        \
                    else:\n            b: R.Tensor((2,), dtype=\"float32\") = R.exp(x)\n            \
                    r: R.Tensor((2,), dtype=\"float32\") = R.multiply(b, b)\n        return r\n";
        assert_eq!(after(text, "EliminateCommonSubexpr()").matches("R.exp(x)").count(), 2);
    }
    /// In a dump without its metadata, different weights of one shape look alike.
    #[test]
    fn constants_of_which_no_value_is_known_are_not_taken_for_one() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> \
                    R.Tensor((2, 3), dtype=\"float32\"):\n        \
                    a: R.Tensor((2, 3), dtype=\"float32\") = R.add(x, metadata[\"ir.GenericConst\"][0])\n        \
                    b: R.Tensor((2, 3), dtype=\"float32\") = R.add(x, metadata[\"ir.GenericConst\"][1])\n        \
                    c: R.Tensor((2, 3), dtype=\"float32\") = R.add(x, metadata[\"ir.GenericConst\"][0])\n        \
                    d: R.Tensor((2, 3), dtype=\"float32\") = R.multiply(a, b)\n        \
                    e: R.Tensor((2, 3), dtype=\"float32\") = R.multiply(d, c)\n        return e\n";
        let made = after(text, "EliminateCommonSubexpr()");
        assert_eq!(made.matches("R.add(").count(), 2, "{made}");
        assert!(made.contains("= R.multiply(a, b)"), "{made}");
        assert!(made.contains("= R.multiply(d, a)"), "{made}");
    }
}

//! RewriteDataflowReshape: replaces tensor programs that only reshape by `R.reshape`, which costs nothing at run time.
//!
//! Source: `src/relax/transform/rewrite_dataflow_reshape.cc`.

use crate::ir::rewrite::{ExprMutator, Visit, rewrite};
use crate::ir::{Expr, ExprId, Extents, Module, PrimExpr, PrimParam, Stmt, StmtId, Store};
use crate::ops;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{has_reshape_pattern, same_size};
use rustc_hash::FxHashSet;

/// TVM's `relax.transform.RewriteDataflowReshape`.
pub static SPEC: PassSpec = PassSpec {
    name: "RewriteDataflowReshape",
    info_name: "RewriteDataflowReshape",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Turns calls of tensor programs that only reshape back into R.reshape.",
    doc: explained(
        "In a dataflow block a `call_tir` of a program whose every output element is the input element at the same place in \
memory becomes `R.reshape`, which later is a view and copies nothing. The program must read one of its tensors only, and the \
result must have as many elements as that one, of the same type. Outputs of the block stay as they are.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def reshape(A: T.Buffer((T.int64(4),), \"float32\"), B: T.Buffer((T.int64(2), T.int64(2)), \"float32\")):
        for i, j in T.grid(T.int64(2), T.int64(2)):
            with T.sblock(\"reshape\"):
                v_i, v_j = T.axis.remap(\"SS\", [i, j])
                T.reads(A[v_i * T.int64(2) + v_j])
                T.writes(B[v_i, v_j])
                B[v_i, v_j] = A[v_i * T.int64(2) + v_j]

    @R.function
    def main(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((2, 2), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.reshape, (x,), out_ty=R.Tensor((2, 2), dtype=\"float32\"))
            gv: R.Tensor((2, 2), dtype=\"float32\") = R.add(lv, lv)
            R.output(gv)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def reshape(A: T.Buffer((T.int64(4),), \"float32\"), B: T.Buffer((T.int64(2), T.int64(2)), \"float32\")):
        for i, j in T.grid(T.int64(2), T.int64(2)):
            with T.sblock(\"reshape\"):
                v_i, v_j = T.axis.remap(\"SS\", [i, j])
                T.reads(A[v_i * T.int64(2) + v_j])
                T.writes(B[v_i, v_j])
                B[v_i, v_j] = A[v_i * T.int64(2) + v_j]

    @R.function
    def main(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((2, 2), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((2, 2), dtype=\"float32\") = R.reshape(x, R.shape([2, 2]))
            gv: R.Tensor((2, 2), dtype=\"float32\") = R.add(lv, lv)
            R.output(gv)
        return gv
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    Ok(rewrite(cx.store, function, &mut Reshape { module, values: FxHashSet::default() }))
}

struct Reshape<'m> {
    module: &'m Module,
    /// Values of variables that are visible only in their block.
    values: FxHashSet<ExprId>,
}

impl ExprMutator for Reshape<'_> {
    fn rule(&self) -> &'static str {
        "a program that reshapes"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        matches!(store.expr(id), Expr::Seq { .. }) || super::calls::op_name(store, id) == "call_tir"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        if let Expr::Seq { blocks, .. } = store.expr(id) {
            for block in store.items(blocks).filter(|block| store.block(*block).dataflow) {
                let inner = store.block_bindings(block).filter(|binding| store.var_data(binding.var).dataflow);
                self.values.extend(inner.filter(|binding| binding.cast.is_none()).map(|binding| binding.value));
            }
        }
        Visit::Descend
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if !self.values.contains(&pre) {
            return post;
        }
        self.reshape(store, post).unwrap_or(post)
    }
}

impl Reshape<'_> {
    fn reshape(&self, store: &mut Store, call: ExprId) -> Option<ExprId> {
        if store.called_op(call) != ops::lookup_relax("call_tir") {
            return None;
        }
        let ty = store.checked_type(call)?;
        let args = store.call(call)?.args;
        let Expr::Global(name) = store.expr(store.items(args).next()?) else { return None };
        let Expr::Tuple(fields) = store.expr(store.items(args).nth(1)?) else { return None };
        let Expr::PrimFunc(function) = store.expr(self.module.function(name)?) else { return None };
        let fields: Vec<ExprId> = store.items(fields).collect();
        let data = store.prim_func(function);
        let read = fields.iter().zip(&data.params).filter(|(_, param)| uses(store, data.body, **param));
        let [arg] = read.map(|(field, _)| *field).collect::<Vec<_>>()[..] else { return None };
        if !has_reshape_pattern(store, function) {
            return None;
        }
        let from = store.tensor_info(store.checked_type(arg)?)?;
        let to = store.tensor_info(ty)?;
        let (Extents::Known(old), Extents::Known(new)) = (&from.extents, &to.extents) else { return None };
        if from.dtype.is_none() || from.dtype != to.dtype || !same_size(store, old, new) {
            return None;
        }
        let op = store.add(Expr::Op(ops::lookup_relax("reshape")?));
        let dims = store.dims(new);
        let shape_type = store.ty(crate::ir::Type::Shape(to.extents.clone()));
        let shape = store.add_typed(Expr::Shape(dims), Some(shape_type));
        let args = store.list(&[arg, shape]);
        Some(store.add_typed(Expr::Call { callee: op, args, info: None }, Some(ty)))
    }
}

/// True if a body mentions the buffer of a parameter.
fn uses(store: &Store, body: StmtId, param: PrimParam) -> bool {
    let PrimParam::Buffer(buffer) = param else { return false };
    let mut found = false;
    let mut look = |root| {
        store.for_each_prim(root, &mut |_, expr| {
            found |= match expr {
                PrimExpr::Load { buffer: other, .. } | PrimExpr::Data(other) | PrimExpr::Buffer(other) => *other == buffer,
                _ => false,
            };
        });
    };
    let mut stored = false;
    store.for_each_stmt(body, |stmt| {
        stored |= matches!(stmt, Stmt::Store { buffer: other, .. } if *other == buffer);
        store.for_each_prim_of(stmt, &mut look);
    });
    found || stored
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn a_transposition_is_no_reshape_and_an_output_stays_a_call() {
        let text = super::SPEC.example_before;
        let swapped = text.replace("v_i * T.int64(2) + v_j", "v_j * T.int64(2) + v_i");
        assert!(!after(&swapped, "RewriteDataflowReshape()").contains("R.reshape"));
        let output = text.replace("R.output(gv)", "R.output(gv, lv)");
        assert!(!after(&output, "RewriteDataflowReshape()").contains("R.reshape"));
    }
}

//! SpecializePrimFuncBasedOnCallSite: gives tensor programs the shapes of their calls.
//!
//! Source: `src/relax/transform/specialize_primfunc_based_on_callsite.cc`, `src/tirx/ir/specialize.cc`. As in TVM, a program
//! that is called with several shapes gets those of the last call, and expressions over its symbols stay as they are written.

use super::calls::{args, fields, op_name};
use super::grouping::is_primitive;
use super::support::type_error;
use crate::ir::walk::post_order;
use crate::ir::{AttrValue, Expr, ExprId, Extents, Module, PrimExpr, PrimFunc, PrimId, PrimParam, Store, Type, TypeId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::Copier;

/// TVM's `relax.transform.SpecializePrimFuncBasedOnCallSite`.
pub static SPEC: PassSpec = PassSpec {
    name: "SpecializePrimFuncBasedOnCallSite",
    info_name: "SpecializePrimFuncBasedOnCallSite",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Gives tensor programs the shapes that they are called with.",
    doc: explained(
        "For every `call_tir` the buffers of the program are given the shapes of the arguments and of the result: symbols of the \
program become what they are there, and the program gets the attribute `scoped`. Shapes that are known already have to be those \
of the call. Calls with other shapes get the same program, as in TVM, which does not fit them.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def inc(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), \"float32\")
        B = T.match_buffer(b, (n,), \"float32\")
        for i in range(n):
            with T.sblock(\"B\"):
                v = T.axis.spatial(n, i)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] + T.float32(1.0)

    @R.function
    def main(x: R.Tensor((5,), dtype=\"float32\")) -> R.Tensor((5,), dtype=\"float32\"):
        cls = Module
        y = R.call_tir(cls.inc, (x,), out_ty=R.Tensor((5,), dtype=\"float32\"))
        return y
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def inc(A: T.Buffer((T.int64(5),), \"float32\"), B: T.Buffer((T.int64(5),), \"float32\")):
        T.func_attr({\"scoped\": 1})
        for i in range(T.int64(5)):
            with T.sblock(\"B\"):
                v = T.axis.spatial(T.int64(5), i)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] + T.float32(1.0)

    @R.function
    def main(x: R.Tensor((5,), dtype=\"float32\")) -> R.Tensor((5,), dtype=\"float32\"):
        cls = Module
        y = R.call_tir(cls.inc, (x,), out_ty=R.Tensor((5,), dtype=\"float32\"))
        return y
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let mut result = module.clone();
    for &(_, function) in module.functions() {
        if store.as_function(function).is_none() || is_primitive(store, function) {
            continue;
        }
        for call in post_order(store, function).into_iter().filter(|id| op_name(store, *id) == "call_tir").collect::<Vec<_>>() {
            let operands = args(store, call);
            let (Some(Expr::Global(name)), Some(given)) =
                (operands.first().map(|id| store.expr(*id)), operands.get(1).and_then(|tuple| fields(store, *tuple)))
            else {
                return Err(type_error("call_tir takes a program of the module and a tuple that is written here"));
            };
            let Some(program) = module.function(name).filter(|program| matches!(store.expr(*program), Expr::PrimFunc(_))) else {
                return Err(type_error("call_tir takes a program of the module"));
            };
            let new = specialized(store, program, call, &given).map_err(type_error)?;
            result.set_function(name, new);
        }
    }
    Ok(result)
}

fn specialized(store: &mut Store, program: ExprId, call: ExprId, given: &[ExprId]) -> Result<ExprId, String> {
    let Expr::PrimFunc(id) = store.expr(program) else { return Ok(program) };
    let params = store.prim_func(id).params.clone();
    let info = store.call(call).and_then(|call| call.info).ok_or("call_tir says what it gives")?;
    let out = store.call_info(info).type_args.first().copied().ok_or("call_tir says what it gives")?;
    let mut pairs: Vec<(usize, TypeId)> = Vec::new();
    for (place, arg) in given.iter().enumerate() {
        pairs.push((place, store.checked_type(*arg).ok_or("an argument has no type")?));
    }
    match store.type_of_id(out) {
        Type::Tuple(types) => pairs.extend(types.iter().enumerate().map(|(index, ty)| (given.len() + index, *ty))),
        _ => pairs.push((params.len().saturating_sub(1), out)),
    }
    let mut copier = Copier::default();
    for (place, ty) in pairs {
        let dims = match store.tensor_info(ty).map(|info| info.extents) {
            Some(Extents::Known(dims)) => dims.to_vec(),
            Some(_) => return Err("Shape undefined for call".to_owned()),
            None => return Err("Expected Tensor struct Info for call".to_owned()),
        };
        let Some(PrimParam::Buffer(buffer)) = params.get(place) else {
            return Err("specialize expects param to have a BufferType annotation".to_owned());
        };
        let own = store.buffer(*buffer).shape.to_vec();
        if own.len() != dims.len() {
            return Err(format!("The buffer dimensions mismatched {} vs. {}.", own.len(), dims.len()));
        }
        for (own, dim) in own.into_iter().zip(dims) {
            let dim = store.prim_of_dim(dim);
            map(store, &mut copier, own, dim)?;
        }
    }
    let PrimFunc { params, attrs, .. } = store.prim_func(id).clone();
    let given = |param: &PrimParam| matches!(param, PrimParam::Var(symbol) if copier.symbols.contains_key(symbol));
    // A scalar with a known value is no parameter any more.
    let params: Box<[PrimParam]> = params.into_iter().filter(|param| !given(param)).collect();
    let attrs = store.with_attr(attrs, "scoped", AttrValue::int(1));
    let body = store.prim_func(id).body;
    let kept = PrimFunc { params, attrs: Some(attrs), ret: store.prim_func(id).ret, body };
    let kept = store.add_prim_func(kept);
    let copy = copier.program(store, kept);
    let copy = store.add_prim_func(copy);
    let ty = store.checked_type(program);
    Ok(store.rebuild(program, Expr::PrimFunc(copy), ty))
}

/// Matches an extent of a buffer with the given one: a number must be equal, and a symbol is replaced by it.
fn map(store: &Store, copier: &mut Copier, own: PrimId, given: PrimId) -> Result<(), String> {
    let same = |a: PrimId, b: PrimId| a == b || store.prim_of_id(a) == store.prim_of_id(b);
    if same(own, given) {
        return Ok(());
    }
    let PrimExpr::Var(symbol) = store.prim_of_id(own) else {
        return Err("The signature of target buffer exprected an independent Var".to_owned());
    };
    match copier.symbols.get(symbol) {
        Some(known) if !same(*known, given) => {
            Err(format!("The assigned value of var {} mismatched.", store.str(store.symbol(*symbol).name)))
        }
        Some(_) => Ok(()),
        None => {
            copier.symbols.insert(*symbol, given);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn the_last_call_says_which_shapes_a_program_gets() {
        let text = super::SPEC.example_before.replace(
            "        return y\n",
            "        z = R.call_tir(cls.inc, (R.const([1.0, 2.0], \
                    \"float32\"),), out_ty=R.Tensor((2,), dtype=\"float32\"))\n        return y\n",
        );
        assert!(after(&text, "SpecializePrimFuncBasedOnCallSite()").contains("range(T.int64(2))"));
    }
}

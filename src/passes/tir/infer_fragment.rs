//! InferFragment: records the shapes of the matrices in tensor-core memory.
//!
//! Source: `src/s_tir/transform/tensorcore_infer_fragment.cc`.

use super::prim_func;
use crate::diag::Diagnostic;
use crate::ir::{AttrNode, Buffer, ExprId, Id, Module, PrimExpr, PrimId, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_func};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.InferFragment`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.InferFragment",
    info_name: "s_tir.InferFragment",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Says what shape the matrices of tensor cores have.",
    doc: explained(
        "The intrinsics that load, store and fill fragments name the shape of the multiplication and the order of elements. The pass \
puts both around the allocation of the fragment, as the attributes `fragment_shape` and `fragment_layout`. It fails when a fragment \
is used with two shapes, or multiplied before it is filled or loaded.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(F: T.Buffer((256,), \"float32\", scope=\"wmma.accumulator\")):
        T.tvm_fill_fragment(F.data, 16, 16, 16, 0, T.float32(0.0))
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(F: T.Buffer((256,), \"float32\", scope=\"wmma.accumulator\")):
        T.tvm_fill_fragment(F.data, 16, 16, 16, 0, T.float32(0.0))
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    let fragments = fragments(cx.store, prim.body).map_err(|message| vec![Diagnostic::error("tir-fragment", message, None)])?;
    if fragments.is_empty() {
        return Ok(Some(func));
    }
    rewrite_func(cx.store, func, &mut Annotate { fragments }).map(Some)
}

#[derive(Clone, PartialEq)]
struct Fragment {
    shape: [i64; 3],
    layout: String,
}

/// The numbers of elements of fragments: of operands and of the result, by their shape.
pub(super) fn sizes(store: &Store, body: StmtId) -> FxHashMap<Id<Buffer>, i64> {
    let found = fragments(store, body).unwrap_or_default();
    let size = |(buffer, fragment): (Id<Buffer>, Fragment)| {
        let [m, n, k] = fragment.shape;
        let size = match store.str(store.buffer(buffer).scope) {
            "wmma.matrix_a" => m * k,
            "wmma.matrix_b" => n * k,
            _ => m * n,
        };
        (buffer, size)
    };
    found.into_iter().map(size).collect()
}

/// Returns the fragments that intrinsics of a body load, store and fill, checked against those that multiply them.
fn fragments(store: &Store, body: StmtId) -> Result<FxHashMap<Id<Buffer>, Fragment>, String> {
    let mut calls: Vec<(String, Vec<PrimId>)> = Vec::new();
    store.for_each_stmt(body, |stmt| {
        store.for_each_prim_of(stmt, |root| {
            store.for_each_prim(root, &mut |_, part| {
                if let PrimExpr::Call { op, args, .. } = part
                    && let "tvm_load_matrix_sync"
                    | "tvm_store_matrix_sync"
                    | "tvm_fill_fragment"
                    | "tvm_mma_sync"
                    | "tvm_bmma_sync" = store.str(*op)
                {
                    calls.push((store.str(*op).to_owned(), args.to_vec()));
                }
            });
        });
    });
    let buffer = |arg: Option<&PrimId>| match arg.map(|arg| store.prim_of_id(*arg)) {
        Some(PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer)) => Ok(*buffer),
        _ => Err("a fragment is the memory of a buffer".to_owned()),
    };
    let mut found: FxHashMap<Id<Buffer>, Fragment> = FxHashMap::default();
    for (name, args) in calls.iter().filter(|(name, _)| !name.contains("mma")) {
        let buffer = buffer(args.first())?;
        let scope = store.str(store.buffer(buffer).scope);
        let number = |at: usize| args.get(at).and_then(|arg| store.as_prim_int(*arg));
        let (Some(m), Some(n), Some(k)) = (number(1), number(2), number(3)) else {
            return Err(format!("{name} needs a shape of numbers"));
        };
        let is_operand = matches!(scope, "wmma.matrix_a" | "wmma.matrix_b");
        let layout = match (name.as_str(), args.get(7).map(|layout| store.prim_of_id(*layout))) {
            ("tvm_fill_fragment", _) => "row_major".to_owned(),
            (_, Some(PrimExpr::Str(layout))) if is_operand => store.str(*layout).to_owned(),
            _ => String::new(),
        };
        let fragment = Fragment { shape: [m, n, k], layout };
        match found.get(&buffer) {
            Some(known) => {
                let loads = name != "tvm_fill_fragment" && is_operand;
                if known.shape != fragment.shape || (loads && known.layout != fragment.layout) {
                    let name = store.str(store.buffer(buffer).name);
                    return Err(format!("fragment {name} is used with two shapes or orders of elements"));
                }
            }
            None => {
                found.insert(buffer, fragment);
            }
        }
    }
    for (_, args) in calls.iter().filter(|(name, _)| name.contains("mma")) {
        let mut shapes = Vec::new();
        for at in [0, 2, 4, 6] {
            let buffer = buffer(args.get(at))?;
            let Some(fragment) = found.get(&buffer) else {
                let name = store.str(store.buffer(buffer).name);
                return Err(format!(
                    "Tensorecore fragment {name} must be filled (with tvm_fill_fragment) or loaded (with tvm_load_matrix_sync) before use."
                ));
            };
            shapes.push(fragment.shape);
        }
        if shapes.iter().any(|shape| *shape != shapes[0]) {
            return Err("fragments that are multiplied have one shape".to_owned());
        }
    }
    Ok(found)
}

struct Annotate {
    fragments: FxHashMap<Id<Buffer>, Fragment>,
}

impl StmtMutator for Annotate {
    fn rule(&self) -> &'static str {
        "fragment described"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::Alloc(buffer, _) = *cx.store.stmt(id) else { return None };
        let Fragment { shape: [m, n, k], layout } = self.fragments.get(&buffer).cloned()?;
        let node = AttrNode::Prim(cx.store.prim(PrimExpr::Buffer(buffer)));
        let mut body = id;
        for (key, text) in [("fragment_shape", format!("{m}, {n}, {k}")), ("fragment_layout", layout)] {
            if !text.is_empty() {
                let (key, text) = (cx.store.name(key), cx.store.name(&text));
                let value = cx.store.prim(PrimExpr::Str(text));
                body = cx.store.add_stmt(Stmt::Attr { node: node.clone(), key, value, body });
            }
        }
        Some(body)
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error};

    fn source(calls: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f():\n    F = T.alloc_buffer((256,), scope=\"wmma.accumulator\", layout=None)\n{calls}"
        )
    }

    #[test]
    fn the_allocation_says_shape_and_order() {
        let text = after(&source("    T.tvm_fill_fragment(F.data, 16, 8, 32, 0, T.float32(0.0))\n"), "s_tir.InferFragment()");
        assert!(
            text.contains("\"fragment_layout\", \"row_major\")") && text.contains("\"fragment_shape\", \"16, 8, 32\")"),
            "{text}"
        );
    }

    #[test]
    fn a_fragment_that_is_not_filled_is_refused() {
        let source = source("    T.tvm_mma_sync(F.data, 0, F.data, 0, F.data, 0, F.data, 0)\n");
        assert!(error(&source, "s_tir.InferFragment()").starts_with("Tensorecore fragment F must be filled"));
    }

    #[test]
    fn two_shapes_are_refused() {
        let fill = "    T.tvm_fill_fragment(F.data, 16, 16, 16, 0, T.float32(0.0))\n";
        let source = source(&format!("{fill}{}", fill.replace("16, 16, 16", "8, 8, 8")));
        assert!(error(&source, "s_tir.InferFragment()").starts_with("fragment F is used with two shapes"));
    }
}

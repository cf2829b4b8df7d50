//! AllocateWorkspace: passes workspace memory to library kernels that need it.
//!
//! Source: `src/relax/transform/allocate_workspace.cc`.

use super::calls::{args, call, dtype, int, shape, string};
use super::support::with_attrs;
use crate::build::{BlockBuilder, BlockMutator, Mutation, run as rewrite};
use crate::ir::rewrite::Visit;
use crate::ir::{AttrValue, Attrs, AttrsId, BindingBlock, DType, Dim, Expr, ExprId, Function, Id, Module, Name, Store, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.AllocateWorkspace`.
pub static SPEC: PassSpec = PassSpec {
    name: "AllocateWorkspace",
    info_name: "AllocateWorkspace",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Gives kernels of libraries the memory that they work in.",
    doc: explained("A function for a code generator that has the attribute `WorkspaceSize` gets a parameter more, and so do the composite \
functions in it. The functions that call it allocate a tensor of the largest such size in their first dataflow block and \
pass it on."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def library(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"Codegen\": \"library\", \"WorkspaceSize\": 64})
        @R.function
        def gv(a: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
            R.func_attr({\"Composite\": \"library.relu\", \"Primitive\": True, \"WorkspaceSize\": 64})
            with R.dataflow():
                b: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(a)
                R.output(b)
            return b

        gv1: R.Tensor((2,), dtype=\"float32\") = gv(x)
        return gv1

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            y: R.Tensor((2,), dtype=\"float32\") = cls.library(x)
            R.output(y)
        return y
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def library1(x: R.Tensor((2,), dtype=\"float32\"), workspace: R.Tensor((64,), dtype=\"uint8\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"Codegen\": \"library\"})
        @R.function
        def gv(a: R.Tensor((2,), dtype=\"float32\"), workspace_1: R.Tensor((64,), dtype=\"uint8\")) -> R.Tensor((2,), dtype=\"float32\"):
            R.func_attr({\"Composite\": \"library.relu\", \"Primitive\": True})
            with R.dataflow():
                b: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(a)
                R.output(b)
            return b

        gv1: R.Tensor((2,), dtype=\"float32\") = gv(x, workspace)
        return gv1

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            workspace_main: R.Tensor((64,), dtype=\"uint8\") = R.builtin.alloc_tensor(R.shape([64]), R.dtype(\"uint8\"), 0, R.str(\"global\"))
            y: R.Tensor((2,), dtype=\"float32\") = cls.library1(x, workspace_main)
            R.output(y)
        return y
"),
    run: Run::Module(run),
};

const SIZE: &str = "WorkspaceSize";

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let size_of = |store: &Store, function: ExprId| match store.expr(function) {
        Expr::Function(id) => store.attr_int(store.function(id).attrs, SIZE),
        _ => None,
    };
    let most = module.functions().iter().filter_map(|(_, function)| size_of(store, *function)).max().unwrap_or(0);
    if most <= 0 {
        return Ok(module.clone());
    }
    let builder = BlockBuilder::new(module);
    let mut under_way = Mutation::new(builder);
    let mut renamed: FxHashMap<Id<Name>, Id<Name>> = FxHashMap::default();
    for &(name, function) in module.functions() {
        if size_of(store, function).is_none() {
            continue;
        }
        under_way.forget();
        let new = rewrite(store, &mut under_way, &mut Extern { size: most, workspace: None }, function);
        let hint = store.str(name).to_owned();
        let global = under_way.builder.add_function(store, new, &hint);
        let Expr::Global(new_name) = store.expr(global) else { continue };
        let Expr::Function(id) = store.expr(new) else { continue };
        let attrs = store.with_attr(store.function(id).attrs, "global_symbol", AttrValue::Str(new_name));
        let new = with_attrs(store, new, Some(attrs));
        under_way.builder.update_function(store, new_name, new);
        under_way.builder.remove_function(name);
        renamed.insert(name, new_name);
    }
    for &(name, function) in module.functions() {
        let Expr::Function(id) = store.expr(function) else { continue };
        if is_extern(store, store.function(id).attrs) {
            continue;
        }
        under_way.forget();
        let mut provide = Provide { size: most, renamed: &renamed, workspace: None };
        let new = rewrite(store, &mut under_way, &mut provide, function);
        under_way.builder.update_function(store, name, new);
    }
    under_way.builder.finish()
}

/// True if a function is for an external code generator.
fn is_extern(store: &Store, attrs: Option<AttrsId>) -> bool {
    store.attr_str(attrs, "Codegen").is_some() || store.attr_str(attrs, "Composite").is_some()
}

/// Adds the parameter to a function for an external code generator.
struct Extern {
    size: i64,
    /// The parameter of the outer function.
    workspace: Option<VarId>,
}

fn workspace(store: &mut Store, size: i64) -> VarId {
    let ty = store.tensor_type(&[Dim::Int { value: size, bits: 64 }], DType::U8);
    store.relax_var("workspace", Some(ty), false)
}

impl BlockMutator for Extern {
    fn rule(&self) -> &'static str {
        "memory to work in"
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        if let Expr::Call { callee, info, .. } = store.expr(id)
            && let Expr::Var(var) = store.expr(callee)
        {
            // The callee has the parameter by now, so the call cannot be typed without it.
            let bound = cx.lookup_binding(store, var).map(|value| store.expr(value));
            let (Some(Expr::Function(function)), Some(workspace)) = (bound, self.workspace) else { return Visit::Descend };
            if store.attr_str(store.function(function).attrs, "Composite").is_none() {
                return Visit::Descend;
            }
            let mut operands = args(store, id);
            operands.push(store.use_var(workspace));
            let operands = store.list(&operands);
            let callee = cx.replaced(var).unwrap_or(callee);
            return Visit::Replace(store.add(Expr::Call { callee, args: operands, info }));
        }
        if let Expr::Function(function) = store.expr(id) {
            let attrs = store.function(function).attrs;
            if self.workspace.is_none() && store.attr_str(attrs, "Codegen").is_some() && store.attr_int(attrs, SIZE).is_some() {
                self.workspace = Some(workspace(store, self.size));
            }
        }
        Visit::Descend
    }

    fn leave(&mut self, store: &mut Store, _: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(post) {
            Expr::Function(id) => {
                let data = *store.function(id);
                if !is_extern(store, data.attrs) || store.attr_int(data.attrs, SIZE).is_none() {
                    return post;
                }
                let own = match self.workspace {
                    Some(outer) if store.attr_str(data.attrs, "Codegen").is_some() => outer,
                    _ => workspace(store, self.size),
                };
                let mut params: Vec<VarId> = store.items(data.params).collect();
                params.push(own);
                let params = store.list(&params);
                let attrs = data.attrs.map(|attrs| {
                    let Attrs { key, fields } = store.attrs_of_id(attrs).clone();
                    let fields = fields.into_vec().into_iter().filter(|(name, _)| store.str(*name) != SIZE).collect();
                    store.attrs(Attrs { key, fields })
                });
                crate::build::function_over(store, Some(pre), Function { params, attrs, ..data })
            }
            _ => post,
        }
    }
}

/// Allocates the memory and passes it to the calls.
struct Provide<'r> {
    size: i64,
    renamed: &'r FxHashMap<Id<Name>, Id<Name>>,
    workspace: Option<ExprId>,
}

impl BlockMutator for Provide<'_> {
    fn rule(&self) -> &'static str {
        "memory for a library"
    }

    fn begin_block(&mut self, store: &mut Store, cx: &mut Mutation, block: Id<BindingBlock>) {
        if self.workspace.is_some() || !store.block(block).dataflow {
            return;
        }
        let operands = [
            shape(store, &[Dim::Int { value: self.size, bits: 64 }]),
            dtype(store, DType::U8),
            int(store, 0),
            string(store, "global"),
        ];
        let alloc = call(store, "builtin.alloc_tensor", &operands);
        self.workspace = Some(cx.builder.emit(store, alloc, "workspace_main"));
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Expr::Call { callee, info, .. } = store.expr(post) else { return post };
        let Expr::Global(name) = store.expr(callee) else { return post };
        let Some(new) = self.renamed.get(&name) else { return post };
        let Some(workspace) = self.workspace else {
            cx.builder.error("allocate-workspace", "a call outside of dataflow blocks has no memory", store.source_span(post));
            return post;
        };
        let mut operands = args(store, post);
        operands.push(workspace);
        let operands = store.list(&operands);
        let callee = store.add(Expr::Global(*new));
        store.add(Expr::Call { callee, args: operands, info })
    }
}

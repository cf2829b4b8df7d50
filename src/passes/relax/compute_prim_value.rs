//! ComputePrimValue: replaces arithmetic on scalars by calls of functions of TIR.
//!
//! Source: `src/relax/transform/compute_prim_value.cc`.

use crate::build::{BlockBuilder, BlockMutator, Mutation, any_leaf, run as rewrite};
use crate::ir::rewrite::Visit;
use crate::ir::{AttrValue, Attrs, Expr, ExprId, Id, Module, PrimExpr, PrimFunc, PrimId, PrimParam, Stmt, Store, Symbol, Type};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir;
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.ComputePrimValue`.
pub static SPEC: PassSpec = PassSpec {
    name: "ComputePrimValue",
    info_name: "ComputePrimValue",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Computes scalars that are arithmetic in functions of TIR.",
    doc: explained(
        "A scalar such as `n % 16 == 0` that is a value of the program, and no extent of a shape, is computed by a function of \
TIR that runs on the host (`compute_symbolic_expr`); the variables in it are its parameters. Numbers and plain variables stay.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype=\"float32\"), n: T.int64) -> R.Tensor((4,), dtype=\"float32\"):
        R.assert_op(n % 16 == 0, format=R.str(\"\"))
        return x
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def compute_symbolic_expr(n: T.int64) -> T.bool:
        T.func_attr({\"tirx.is_host_func\": True})
        return n % T.int64(16) == T.int64(0)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype=\"float32\"), n: T.int64) -> R.Tensor((4,), dtype=\"float32\"):
        cls = Module
        gv: T.bool = cls.compute_symbolic_expr(n)
        R.assert_op(gv, format=R.str(\"\"))
        return x
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let builder = BlockBuilder::new(module);
    let mut under_way = Mutation::new(builder);
    for &(name, function) in module.functions() {
        let Expr::Function(id) = store.expr(function) else { continue };
        let mut compute = Compute { params: FxHashMap::default() };
        for param in store.items(store.function(id).params) {
            if let Some(symbol) = store.var_data(param).symbol {
                compute.params.insert(symbol, param);
            }
        }
        let new = rewrite(store, &mut under_way, &mut compute, function);
        under_way.builder.update_function(store, name, new);
    }
    under_way.builder.finish()
}

struct Compute {
    /// Variables of the program by the symbols that they hold.
    params: FxHashMap<Id<Symbol>, crate::ir::VarId>,
}

impl BlockMutator for Compute {
    fn rule(&self) -> &'static str {
        "scalar to function"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        any_leaf(store, id, &mut |leaf| matches!(store.expr(leaf), Expr::Prim(_)))
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        let Expr::Prim(prim) = store.expr(id) else { return Visit::Descend };
        if matches!(store.prim_of_id(prim), PrimExpr::Int { .. } | PrimExpr::Var(_)) {
            return Visit::Keep;
        }
        let symbols = symbols_of(store, prim);
        let function = host_function(store, prim, &symbols);
        let callee = cx.builder.add_function(store, function, "compute_symbolic_expr");
        let args: Vec<ExprId> = symbols
            .iter()
            .map(|symbol| match self.params.get(symbol) {
                Some(var) => store.use_var(*var),
                None => {
                    let value = store.prim(PrimExpr::Var(*symbol));
                    super::calls::prim(store, value)
                }
            })
            .collect();
        let ty = store.ty(Type::Prim(store.prim_dtype(prim)));
        let args = store.list(&args);
        Visit::Replace(store.add_typed(Expr::Call { callee, args, info: None }, Some(ty)))
    }
}

/// Returns the variables of an expression in the order in which they occur.
pub(super) fn symbols_of(store: &Store, prim: PrimId) -> Vec<Id<Symbol>> {
    let mut found = Vec::new();
    store.for_each_prim(prim, &mut |_, expr| {
        if let PrimExpr::Var(symbol) = expr
            && !found.contains(symbol)
        {
            found.push(*symbol);
        }
    });
    found
}

/// Makes a function that computes an expression from its variables.
fn host_function(store: &mut Store, prim: PrimId, symbols: &[Id<Symbol>]) -> ExprId {
    let mut own: FxHashMap<Id<Symbol>, PrimId> = FxHashMap::default();
    let mut params = Vec::with_capacity(symbols.len());
    for symbol in symbols {
        let data = store.symbol(*symbol).clone();
        let param = store.add_symbol(data);
        own.insert(*symbol, store.prim(PrimExpr::Var(param)));
        params.push(PrimParam::Var(param));
    }
    let value = tir::substitute(store, prim, &mut |_, symbol| own.get(&symbol).copied());
    let ret = store.ty(Type::Prim(store.prim_dtype(value)));
    let body = store.add_stmt(Stmt::Return(value));
    let attrs = host_attrs(store);
    let function = PrimFunc { params: params.into(), ret: Some(ret), attrs: Some(attrs), body };
    let function = store.add_prim_func(function);
    store.add(Expr::PrimFunc(function))
}

/// Returns the attributes of a function that runs on the host.
pub(super) fn host_attrs(store: &mut Store) -> crate::ir::AttrsId {
    let fields = ["s_tir", "tirx.is_host_func"].map(|name| (store.name(name), AttrValue::Bool(true)));
    let key = store.name("DictAttrs");
    store.attrs(Attrs { key, fields: fields.into() })
}

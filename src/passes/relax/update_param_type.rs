//! UpdateParamType: changes the types of parameters, and deduces the types of values that depend on them.
//!
//! TVM calls a function of Python for the type of each parameter. In a list of passes a dictionary has the types: by
//! the name of the parameter, or by function and parameter where only one function is meant. Scripts of the user may
//! pass a function, too. A symbol in a type is the one of that name in the function. TVM takes the function out of the
//! module and puts it back under a new `GlobalVar`, so calls of it lose their callee; here calls stay.
//!
//! Source: `src/relax/transform/update_param_type.cc`.

use super::support::type_error;
use crate::build::{BlockMutator, Mutation, defined_symbols, run as rewrite, signature};
use crate::infer::relax::types::{self, Bindings};
use crate::ir::rewrite::Visit;
use crate::ir::{Dim, Expr, ExprId, Module, Store, TypeId, VarId};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.UpdateParamType`.
pub static SPEC: PassSpec = PassSpec {
    name: "UpdateParamType",
    info_name: "UpdateParamType",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[Param {
        name: "ty_func",
        default: "{}",
        doc: explained(
            "Types by the names of parameters: {\"x\": \"R.Tensor((2,), 'float32')\"}, or {\"main.x\": ...} for one function's.",
        ),
    }],
    config: &[],
    summary: "Gives parameters other types.",
    doc: explained("Every parameter that has a type here has it from now on, and the types of what is computed from it follow."),
    example_before: explained(
        "\
# UpdateParamType(ty_func={\"x\": \"R.Tensor((4,), 'float16')\"})
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((\"n\",), dtype=\"float32\")) -> R.Tensor((\"n\",), dtype=\"float32\"):
        n = T.int64()
        y: R.Tensor((n,), dtype=\"float32\") = R.exp(x)
        return y
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype=\"float16\")) -> R.Tensor((4,), dtype=\"float16\"):
        y: R.Tensor((4,), dtype=\"float16\") = R.exp(x)
        return y
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let mut wanted: Vec<(String, TypeId)> = Vec::new();
    if let Literal::Dict(map) = args.get("ty_func") {
        for (key, value) in map {
            let (Literal::Str(key), Literal::Str(text)) = (key, value) else {
                return Err(type_error("a parameter is given by its name, and its type as a text"));
            };
            wanted.push((key.to_string(), annotation(store, text)?));
        }
    }
    if wanted.is_empty() {
        return Ok(module.clone());
    }
    let builder = crate::build::BlockBuilder::new(module);
    let mut mutation = Mutation::new(builder);
    for &(name, function) in module.functions() {
        if store.as_function(function).is_none() {
            continue;
        }
        let mut update =
            Update { function: store.str(name).to_owned(), whole: function, wanted: &wanted, new: FxHashMap::default() };
        let new = rewrite(store, &mut mutation, &mut update, function);
        if new != function {
            mutation.builder.update_function(store, name, new);
            let ty = signature(store, new);
            mutation.builder.set_signature(name, ty);
        }
    }
    mutation.builder.finish()
}

/// Parses a text as a parameter's annotation.
fn annotation(store: &mut Store, text: &str) -> Result<TypeId, PassError> {
    let line = text.replace(['\n', '\r'], " ");
    let mark = store.mark();
    let parsed = crate::parse::parse(store, &format!("@R.function(private=True)\ndef main(x: {line}):\n    return x\n"));
    store.disown(mark);
    if let Some(found) = parsed.diagnostics.iter().find(|found| found.is_error()) {
        return Err(type_error(format!("`{text}` is no type: {}", found.message)));
    }
    let function = parsed.program.module.functions().first().map(|(_, function)| *function).or(parsed.program.expr);
    let function = function.and_then(|function| store.as_function(function));
    let param = function.and_then(|function| store.items(function.params).next());
    param.and_then(|param| store.var_type(param)).ok_or_else(|| type_error(format!("`{text}` is no type")))
}

struct Update<'w> {
    function: String,
    whole: ExprId,
    wanted: &'w [(String, TypeId)],
    new: FxHashMap<VarId, TypeId>,
}

impl Update<'_> {
    fn wanted(&self, store: &Store, param: VarId) -> Option<TypeId> {
        let name = store.var_name(param);
        let fits = |key: &str| key == name || key.split_once('.').is_some_and(|(of, key)| of == self.function && key == name);
        self.wanted.iter().rev().find(|(key, _)| fits(key)).map(|(_, ty)| *ty)
    }

    /// Replaces symbols in a type by the function's own.
    fn here(&self, store: &mut Store, ty: TypeId) -> TypeId {
        let own = defined_symbols(store, self.whole);
        let mut to = Bindings::default();
        for symbol in types::symbols(store, ty, false) {
            let name = store.symbol(symbol).name;
            if let Some(known) = own.iter().find(|known| store.symbol(**known).name == name) {
                to.insert(symbol, Dim::Symbol(*known));
            }
        }
        types::substitute(store, ty, &to)
    }
}

impl BlockMutator for Update<'_> {
    fn rule(&self) -> &'static str {
        "type of a parameter"
    }

    fn enter(&mut self, store: &mut Store, _: &mut Mutation, id: ExprId) -> Visit {
        if let Expr::Function(function) = store.expr(id) {
            let params: Vec<VarId> = store.items(store.function(function).params).collect();
            for param in params {
                if let Some(ty) = self.wanted(store, param) {
                    let ty = self.here(store, ty);
                    self.new.insert(param, ty);
                }
            }
        }
        Visit::Descend
    }

    fn define_var(&mut self, store: &mut Store, cx: &mut Mutation, var: VarId) -> VarId {
        let Some(ty) = self.new.get(&var).copied().filter(|ty| store.var_type(var) != Some(*ty)) else {
            return cx.define_var(store, var);
        };
        let new = store.retyped_var(var, ty);
        let used = store.use_var(new);
        cx.replace(store, var, used);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn a_type_is_for_one_function_where_its_name_stands_in_front_and_has_the_symbols_of_the_function() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((\"n\",), dtype=\"float32\"), y: \
                    R.Tensor((\"n\",), dtype=\"float32\")) -> R.Tensor((\"n\",), dtype=\"float32\"):\n        n = T.int64()\n        \
                    z: R.Tensor((n,), dtype=\"float32\") = R.add(x, y)\n        return z\n\n    @R.function\n    def second(x: \
                    R.Tensor((3,), dtype=\"float32\")) -> R.Tensor((3,), dtype=\"float32\"):\n        y: R.Tensor((3,), \
                    dtype=\"float32\") = R.exp(x)\n        return y\n";
        let made = after(text, "UpdateParamType(ty_func={\"main.x\": \"R.Tensor((2, 'n'), 'float32')\"})");
        assert!(made.contains("def main(x: R.Tensor((2, n), dtype=\"float32\"), y: R.Tensor((n,)"), "{made}");
        assert!(made.contains("z: R.Tensor((2, n), dtype=\"float32\") = R.add(x, y)"), "{made}");
        assert!(made.contains("def second(x: R.Tensor((3,), dtype=\"float32\"))"), "{made}");
        // As in TVM, the result of operands that do not fit is known only in part.
        let made = after(text, "UpdateParamType(ty_func={\"x\": \"R.Tensor((4,), 'float32')\"})");
        assert!(made.contains("z: R.Tensor(dtype=\"float32\", ndim=1) = R.add(x, y)"), "{made}");
        assert!(made.contains("y: R.Tensor((4,), dtype=\"float32\") = R.exp(x)"), "{made}");
    }
}

//! Functions built from the outside in: TVM's `bb.function(...)`, `bb.dataflow()` and `bb.emit_func_output(...)`
//! (python/tvm/relax/block_builder.py).

use super::BlockBuilder;
use crate::ir::{AttrsId, BindingBlock, ExprId, Function, Id, Store, VarId};

/// A function that is being built.
pub(super) struct Open {
    name: String,
    /// `None` while they are not known: then they come with the result.
    params: Option<Vec<VarId>>,
    attrs: Option<AttrsId>,
    pure: bool,
    blocks: Vec<Id<BindingBlock>>,
    /// The name of the function in the module, once its result is known.
    result: Option<ExprId>,
}

impl BlockBuilder {
    /// Opens a function, in which bindings are emitted: until [`BlockBuilder::end_function`], and with
    /// [`BlockBuilder::emit_func_output`] in between. If it has no parameters here, they come with the result.
    pub fn begin_function(&mut self, store: &Store, name: &str, params: Option<&[VarId]>, attrs: Option<AttrsId>, pure: bool) {
        let open =
            Open { name: name.to_owned(), params: params.map(<[_]>::to_vec), attrs, pure, blocks: Vec::new(), result: None };
        self.functions.push(open);
        self.begin_scope(store, params.unwrap_or_default());
        self.begin_block(false);
    }

    /// Opens a dataflow block in the function that is being built, or closes it and continues outside of it. False if
    /// no function is being built.
    pub fn switch_block(&mut self, store: &mut Store, dataflow: bool) -> bool {
        let inside = self.close_block(store);
        if inside {
            self.begin_block(dataflow);
        }
        inside
    }

    fn close_block(&mut self, store: &mut Store) -> bool {
        let dataflow = self.is_dataflow();
        let Some(open) = self.functions.last_mut().filter(|open| open.result.is_none()) else { return false };
        let bindings = self.blocks.pop().map_or(Vec::new(), |frame| frame.bindings);
        if !bindings.is_empty() {
            open.blocks.push(store.add_block_of(&bindings, dataflow));
        }
        true
    }

    /// Sets the result of the function that is being built, adds it to the module, and returns the node of its name
    /// there. The error tells that this was called in a wrong place.
    pub fn emit_func_output(
        &mut self,
        store: &mut Store,
        output: ExprId,
        params: Option<&[VarId]>,
    ) -> Result<ExprId, &'static str> {
        let open = self.functions.last_mut().ok_or("emit_func_output is called in a function")?;
        if open.result.is_some() {
            return Err("emit_func_output must be called exactly once in a relax function.");
        }
        let params = match (&open.params, params) {
            (Some(_), Some(_)) => return Err("function parameters have been initialized in the function with scope."),
            (None, None) => return Err("Relax function must have parameter."),
            (Some(params), None) => params.clone(),
            (None, Some(params)) => params.to_vec(),
        };
        self.close_block(store);
        let Some(open) = self.functions.last_mut() else { return Err("emit_func_output is called in a function") };
        let (blocks, attrs, pure, name) = (std::mem::take(&mut open.blocks), open.attrs, open.pure, open.name.clone());
        let body = store.add_seq(&blocks, output);
        // Parameters that are known only now define the symbols in their types.
        self.begin_scope(store, &params);
        let list = store.list(&params);
        let type_params = store.list(&[]);
        let function = Function { params: list, type_params, ret: None, body, attrs, device: None, pure };
        let function = store.add_function(function);
        let function = store.add(crate::ir::Expr::Function(function));
        let function = self.normalize(store, function);
        self.end_scope();
        self.end_scope();
        let name = self.add_function(store, function, &name);
        if let Some(open) = self.functions.last_mut() {
            open.result = Some(name);
        }
        Ok(name)
    }

    /// Leaves the function that is being built: returns its name in the module, or `None` if it has no result. Then its
    /// bindings are dropped.
    pub fn end_function(&mut self) -> Option<ExprId> {
        let open = self.functions.pop()?;
        if open.result.is_none() {
            self.blocks.pop();
            self.end_scope();
        }
        open.result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, Dim, Expr, Module, Symbol};
    use crate::ops;
    use crate::print::{self, PrintOptions};

    fn call(store: &mut Store, name: &str, args: &[ExprId]) -> ExprId {
        let op = store.add(Expr::Op(ops::lookup_relax(name).expect("an operator")));
        store.add_call(op, args, None)
    }

    #[test]
    fn parameters_that_come_with_the_result_define_their_symbols() {
        let store = &mut Store::new();
        let name = store.name("n");
        let n = Dim::Symbol(store.add_symbol(Symbol { name, dtype: DType::I64, size: false }));
        let ty = store.tensor_type(&[n], DType::F32);
        let a = store.relax_var("a", Some(ty), false);
        let used = store.use_var(a);
        let mut builder = BlockBuilder::new(&Module::of(crate::ir::Dialect::Relax));
        builder.begin_function(store, "f", None, None, true);
        assert!(builder.switch_block(store, true));
        let exp = call(store, "exp", &[used]);
        let out = builder.emit_output(store, exp, "");
        assert!(builder.switch_block(store, false));
        assert_eq!(builder.emit_func_output(store, out, None), Err("Relax function must have parameter."));
        assert!(builder.emit_func_output(store, out, Some(&[a])).is_ok());
        let again = builder.emit_func_output(store, out, Some(&[a]));
        assert_eq!(again, Err("emit_func_output must be called exactly once in a relax function."));
        assert!(builder.end_function().is_some() && builder.end_function().is_none());
        let module = builder.finish().expect("nothing is wrong");
        let text = print::module(store, &module, &PrintOptions::default());
        assert!(text.contains("def f(a: R.Tensor((n,), dtype=\"float32\")) -> R.Tensor((n,), dtype=\"float32\"):"), "{text}");
    }

    #[test]
    fn a_function_without_a_result_leaves_nothing_behind() {
        let store = &mut Store::new();
        let ty = store.tensor_type(&[], DType::F32);
        let a = store.relax_var("a", Some(ty), false);
        let mut builder = BlockBuilder::new(&Module::of(crate::ir::Dialect::Relax));
        builder.begin_function(store, "f", Some(&[a]), None, true);
        let used = store.use_var(a);
        let exp = call(store, "exp", &[used]);
        builder.emit(store, exp, "");
        let used = store.use_var(a);
        let both = builder.emit_func_output(store, used, Some(&[a]));
        assert_eq!(both, Err("function parameters have been initialized in the function with scope."));
        assert_eq!(builder.end_function(), None);
        assert!(!builder.has_block() && !builder.switch_block(store, true));
        assert_eq!(builder.module().functions().len(), 0);
    }
}

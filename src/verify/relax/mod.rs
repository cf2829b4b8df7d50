//! Verifies programs of Relax, by the rules of TVM's `src/relax/analysis/well_formed.cc`.
//!
//! - Variables are bound once, and used where they are visible: those of branches in the branch, dataflow variables in their
//!   block. The same holds for symbolic variables, which parameters and `R.match_cast` define.
//! - Operands are variables, constants and similar leaves, or tuples of them (A-normal form). Sequences occur only as
//!   bodies of functions and branches.
//! - Dataflow blocks have no branches and no side effects; neither has a function that is marked as pure.
//! - Functions that are mentioned exist in the module, and `global_symbol` is their name.
//! - The rules about types in [`typed`].

#[cfg(test)]
mod tests;
mod typed;

pub(crate) use typed::impossible_casts;

use crate::diag::{Diagnostic, Span};
use crate::infer::relax::effects::is_pure_callee;
use crate::infer::relax::types::symbols;
use crate::ir::{
    AttrValue, AttrsId, Binding, BindingBlock, Dim, Expr, ExprId, Extents, Function, Id, IdMap, Module, Name, Store, Symbol,
    Type, TypeId, Var, VarId,
};

/// Returns all errors of a module of Relax, apart from arguments whose types do not fit.
pub(super) fn verify(store: &mut Store, module: &Module) -> Vec<Diagnostic> {
    let mut errors = structure(store, module);
    errors.extend(typed::verify(store, module));
    errors
}

fn structure(store: &Store, module: &Module) -> Vec<Diagnostic> {
    let mut check = Verifier {
        store,
        module,
        bound: IdMap::new(),
        visible: IdMap::new(),
        symbols: IdMap::new(),
        errors: Vec::new(),
        steps: Vec::new(),
    };
    for &(name, root) in module.functions() {
        if let Expr::Function(_) = store.expr(root) {
            check.global_symbol(name, root);
            check.run(root);
        }
    }
    check.errors
}

/// The context of the current expression.
#[derive(Clone, Copy)]
struct Place {
    /// True in a dataflow block.
    dataflow: bool,
    /// True if the function around is marked as free of side effects.
    pure: bool,
}

enum Step {
    Function(ExprId),
    Seq(ExprId, Place),
    /// Defines the variable of a binding, which is checked.
    Define(Binding, bool),
    Binding(Binding, Place),
    Operand(ExprId, Span),
    /// The end of a scope.
    Forget(Vec<VarId>, Vec<Id<Symbol>>),
}

struct Verifier<'a> {
    store: &'a Store,
    module: &'a Module,
    /// Variables that are bound somewhere.
    bound: IdMap<Var, ()>,
    /// Variables that are in scope.
    visible: IdMap<Var, ()>,
    symbols: IdMap<Symbol, ()>,
    errors: Vec<Diagnostic>,
    steps: Vec<Step>,
}

impl Verifier<'_> {
    fn error(&mut self, code: &'static str, message: String, span: impl Into<Option<Span>>) {
        self.errors.push(Diagnostic::error(code, message, span));
    }

    fn global_symbol(&mut self, name: Id<Name>, root: ExprId) {
        let attrs = self.store.as_function(root).and_then(|function| function.attrs);
        if let Some(AttrValue::Str(symbol)) = self.store.attr(attrs, "global_symbol")
            && *symbol != name
        {
            let message = format!("the function `{}` has the global symbol `{}`", self.store.str(name), self.store.str(*symbol));
            self.error("relax-global-symbol", message, self.store.source_span(root));
        }
    }

    fn run(&mut self, root: ExprId) {
        self.steps.push(Step::Function(root));
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Function(id) => self.function(id),
                Step::Seq(id, place) => self.seq(id, place),
                Step::Binding(binding, place) => self.binding(binding, place),
                Step::Define(binding, dataflow) => self.define_binding(binding, dataflow),
                Step::Operand(id, span) => self.operand(id, Some(span)),
                Step::Forget(vars, symbols) => {
                    for var in vars {
                        self.visible.remove(var);
                    }
                    for symbol in symbols {
                        self.symbols.remove(symbol);
                    }
                }
            }
        }
    }

    fn function(&mut self, id: ExprId) {
        let store = self.store;
        let Some(Function { params, ret, body, attrs, pure, .. }) = store.as_function(id) else { return };
        let span = store.source_span(id);
        let mut vars = Vec::new();
        let mut defined = Vec::new();
        for param in store.items(params) {
            if let Some(symbol) = store.var_data(param).symbol {
                self.define_symbol(symbol, &mut defined);
            }
            match store.var_type(param) {
                Some(ty) => {
                    for symbol in symbols(store, ty, true) {
                        self.define_symbol(symbol, &mut defined);
                    }
                }
                None => {
                    let message = format!("the parameter `{}` has no type", store.var_name(param));
                    self.error("relax-untyped", message, store.var_span(param).or(span));
                }
            }
        }
        for param in store.items(params) {
            if store.var_data(param).dataflow {
                let message = format!("the parameter `{}` is a dataflow variable", store.var_name(param));
                self.error("relax-dataflow-var", message, store.var_span(param).or(span));
            }
            if let Some(ty) = store.var_type(param) {
                self.ty(ty, store.var_span(param).or(span));
            }
            self.define(param, span);
            vars.push(param);
        }
        match ret {
            Some(ret) => self.ty(ret, span),
            None => self.error("relax-untyped", "a function has no result type".to_owned(), span),
        }
        let force_pure = matches!(self.flag(attrs, "relax.force_pure"), Some(true));
        if force_pure && !pure {
            self.error("relax-purity", "a function that is forced to be pure says that it is not".to_owned(), span);
        }
        self.steps.push(Step::Forget(vars, defined));
        if matches!(store.expr(body), Expr::Seq { .. }) {
            self.steps.push(Step::Seq(body, Place { dataflow: false, pure: pure && !force_pure }));
        } else {
            self.error("relax-body", "the body of a function is no sequence".to_owned(), span);
        }
    }

    fn flag(&self, attrs: Option<AttrsId>, name: &str) -> Option<bool> {
        self.store.attr(attrs, name)?.as_int().map(|value| value != 0)
    }

    fn seq(&mut self, id: ExprId, place: Place) {
        let store = self.store;
        let Expr::Seq { blocks, body } = store.expr(id) else { return };
        let span = store.source_span(body).or(store.source_span(id)).unwrap_or(Span { start: 0, end: 0 });
        let mut steps = Vec::new();
        let mut outer = Vec::new();
        let mut symbols_of_all = Vec::new();
        for block in store.items(blocks) {
            let BindingBlock { dataflow, .. } = *store.block(block);
            let mut local = Vec::new();
            for binding in store.block_bindings(block) {
                steps.push(Step::Binding(binding, Place { dataflow, ..place }));
                steps.push(Step::Define(binding, dataflow));
                if store.var_data(binding.var).dataflow {
                    local.push(binding.var);
                } else {
                    outer.push(binding.var);
                }
                symbols_of_all.extend(store.var_data(binding.var).symbol);
                symbols_of_all.extend(binding.cast.into_iter().flat_map(|ty| symbols(store, ty, true)));
            }
            steps.push(Step::Forget(local, Vec::new()));
        }
        // Symbols that were visible before stay visible.
        symbols_of_all.retain(|symbol| !self.symbols.contains(*symbol));
        steps.push(Step::Operand(body, span));
        steps.push(Step::Forget(outer, symbols_of_all));
        self.steps.extend(steps.into_iter().rev());
    }

    fn define(&mut self, var: VarId, span: Option<Span>) {
        if self.bound.insert(var, ()).is_some() {
            let message = format!("the variable `{}` is bound twice", self.store.var_name(var));
            self.error("relax-rebound-var", message, self.store.var_span(var).or(span));
        }
        self.visible.insert(var, ());
        if let Some(symbol) = self.store.var_data(var).symbol {
            self.symbols.insert(symbol, ());
        }
    }

    fn define_symbol(&mut self, symbol: Id<Symbol>, defined: &mut Vec<Id<Symbol>>) {
        if self.symbols.insert(symbol, ()).is_none() {
            defined.push(symbol);
        }
    }

    fn define_binding(&mut self, Binding { var, value, cast }: Binding, dataflow: bool) {
        let store = self.store;
        let span = store.var_span(var).or(store.source_span(value));
        for symbol in cast.into_iter().flat_map(|ty| symbols(store, ty, true)) {
            self.symbols.insert(symbol, ());
        }
        match store.var_type(var) {
            Some(ty) => {
                if let Some(Type::PartialTensor(info)) = store.var_type(var).map(|ty| store.type_of_id(ty))
                    && let Extents::Var(shape) = info.extents
                    && store.var_data(shape).dataflow
                {
                    let message = "DataflowVar cannot be used as a dependent type expression.".to_owned();
                    self.error("relax-dataflow-var", message, span);
                }
                self.ty(ty, span);
            }
            None => {
                let message = format!("the variable `{}` has no type", store.var_name(var));
                self.error("relax-untyped", message, span);
            }
        }
        if store.var_data(var).dataflow && !dataflow {
            let message = format!("the dataflow variable `{}` is bound outside of a dataflow block", store.var_name(var));
            self.error("relax-dataflow-var", message, span);
        }
        self.define(var, span);
    }

    fn binding(&mut self, Binding { var, value, .. }: Binding, place: Place) {
        let store = self.store;
        let span = store.source_span(value).or(store.var_span(var));
        match store.expr(value) {
            Expr::Call { callee, args, .. } => {
                self.callee(callee, span);
                for arg in store.items(args) {
                    self.operand(arg, span);
                }
                if !is_pure_callee(store, self.module, callee) {
                    if place.dataflow {
                        self.error("relax-purity", "a call with side effects stands in a dataflow block".to_owned(), span);
                    } else if place.pure {
                        let message = "a call with side effects stands in a function that says that it is pure".to_owned();
                        self.error("relax-purity", message, span);
                    }
                }
            }
            Expr::TupleGetItem { tuple, .. } => self.operand(tuple, span),
            Expr::If { cond, then, other } => {
                if place.dataflow {
                    self.error("relax-if", "a branch stands in a dataflow block".to_owned(), span);
                }
                self.operand(cond, span);
                for branch in [other, then] {
                    if matches!(store.expr(branch), Expr::Seq { .. }) {
                        self.steps.push(Step::Seq(branch, place));
                    } else {
                        self.error("relax-body", "a branch is no sequence".to_owned(), span);
                    }
                }
            }
            Expr::Function(_) => {
                // It may call itself, because its name is in scope inside of it.
                let visible = self.visible.insert(var, ()).is_some();
                if !visible {
                    self.steps.push(Step::Forget(vec![var], Vec::new()));
                }
                self.steps.push(Step::Function(value));
            }
            _ => self.operand(value, span),
        }
    }

    fn callee(&mut self, id: ExprId, span: Option<Span>) {
        match self.store.expr(id) {
            Expr::Op(_) | Expr::Extern(_) => {}
            _ => self.operand(id, span),
        }
    }

    /// Checks an operand: a variable, constant or similar leaf, or a tuple of such.
    fn operand(&mut self, id: ExprId, span: Option<Span>) {
        let store = self.store;
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            match store.expr(id) {
                Expr::Var(var) => self.used(var, span),
                Expr::Global(name) => {
                    if self.module.function(name).is_none() {
                        let message = format!("the module has no function `{}`", store.str(name));
                        self.error("relax-unbound-global", message, span);
                    }
                }
                Expr::Tuple(fields) => stack.extend(store.items(fields).rev()),
                Expr::Shape(dims) => self.dims(store.dims_of_id(dims), span),
                Expr::Prim(prim) => self.dims(&[store.dim_of_prim(prim)], span),
                Expr::Constant(_) | Expr::Str(_) | Expr::DataType(_) | Expr::Extern(_) | Expr::Op(_) => {}
                other => {
                    let message = format!("{:?} stands where a variable or constant is expected", other.kind());
                    self.error(super::NOT_NORMAL, message, store.source_span(id).or(span));
                }
            }
        }
    }

    fn used(&mut self, var: VarId, span: Option<Span>) {
        // A symbolic variable that a script makes is a variable, too: shapes define it.
        let symbol = self.store.var_data(var).symbol;
        if self.visible.contains(var) || symbol.is_some_and(|symbol| self.symbols.contains(symbol)) {
            return;
        }
        let name = self.store.var_name(var);
        let message = match self.bound.contains(var) {
            true if self.store.var_data(var).dataflow => format!("the dataflow variable `{name}` is used outside of its block"),
            true => format!("the variable `{name}` is not visible here"),
            false => format!("the variable `{name}` is used before it is bound"),
        };
        self.error("relax-unbound-var", message, span);
    }

    /// Checks that the symbolic variables of a type, and the variables that hold shapes, are in scope.
    fn ty(&mut self, ty: TypeId, span: Option<Span>) {
        let store = self.store;
        // The parameters of a function type define variables of its own.
        if matches!(store.type_of_id(ty), Type::Callable { .. }) {
            return;
        }
        for symbol in symbols(store, ty, false) {
            self.symbol(symbol, span);
        }
        if let Some(Extents::Var(var)) = store.tensor_info(ty).map(|info| info.extents) {
            self.used(var, span);
        }
    }

    fn dims(&mut self, dims: &[Dim], span: Option<Span>) {
        let store = self.store;
        for dim in dims {
            match dim {
                Dim::Symbol(symbol) => self.symbol(*symbol, span),
                Dim::Expr(id) => {
                    let mut found = Vec::new();
                    store.for_each_prim(*id, &mut |_, part| {
                        if let crate::ir::PrimExpr::Var(symbol) = part {
                            found.push(*symbol);
                        }
                    });
                    found.into_iter().for_each(|symbol| self.symbol(symbol, span));
                }
                Dim::Int { .. } | Dim::Any => {}
            }
        }
    }

    fn symbol(&mut self, symbol: Id<Symbol>, span: Option<Span>) {
        if !self.symbols.contains(symbol) {
            let message =
                format!("the symbolic variable `{}` is not defined here", self.store.str(self.store.symbol(symbol).name));
            // One report per symbol is enough.
            self.symbols.insert(symbol, ());
            self.error("relax-unbound-symbol", message, span);
        }
    }
}

//! Functions, blocks, bindings (`function.cc`, `region.cc`, `binding.cc`). Nested branches and inner functions are left
//! as steps, so depth costs no stack.

use super::super::LineRole;
use super::super::script::{Place, Script};
use crate::ir::sort::sort_by;
use crate::ir::{
    AttrValue, AttrsId, Binding, BindingBlock, Expr, ExprId, Function, Id, List, Module, Name, Store, Type, TypeId, VarId,
};
use std::rc::Rc;

/// The destination of the value of a sequence.
#[derive(Clone)]
enum End {
    /// `return value`
    Return,
    /// `name: type = value`
    Assign(Rc<str>),
    /// `value`, outside of functions.
    Value,
}

/// The remaining steps of printing.
enum Step {
    /// Blocks from this binding on, then the result.
    Seq { id: ExprId, block: u32, binding: u32, outputs: Vec<String>, end: End },
    /// `else:` and the other branch.
    Else { other: ExprId, end: End },
    /// The end of a branch.
    CloseBranch,
    /// The end of a function.
    CloseFunction(Box<Outer>),
}

/// The state of the outer function while an inner one is printed.
struct Outer {
    /// The place for the header of the inner function, if it has one.
    head: Option<Place>,
    /// The place for the declarations of the inner function.
    body: Place,
    prelude: Vec<String>,
    alias: bool,
    alone: bool,
    function_scope: usize,
}

impl Script<'_> {
    /// Prints the attributes and global infos of the module.
    pub(super) fn module_infos(&mut self, module: &Module) {
        let store = self.store;
        let infos = [("I.module_attrs(", module.attrs()), ("I.module_global_infos(", module.global_infos())];
        for (head, attrs) in infos {
            let Some(attrs) = attrs.map(|attrs| store.attrs_of_id(attrs)).filter(|attrs| !attrs.fields.is_empty()) else {
                continue;
            };
            let mut text = head.to_owned();
            self.dict(&attrs.fields, &mut text);
            text.push(')');
            self.text_line(LineRole::Definition, None, &text);
        }
    }

    /// Prints a member of the module.
    pub(super) fn global(&mut self, name: Id<Name>, id: ExprId) {
        let name = self.store.str(name).to_owned();
        if matches!(self.store.expr(id), Expr::Function(_)) {
            return self.function(id, &name, false);
        }
        if matches!(self.store.expr(id), Expr::PrimFunc(_)) {
            return self.prim_func(id, &name, false);
        }
        let mut text = format!("{name} = ");
        // Outside of functions TVM prints extents as TIR does.
        self.tir_ints = true;
        self.expr(id, &mut text);
        self.tir_ints = false;
        self.text_line(LineRole::Definition, Some(id), &text);
    }

    /// Prints a function that is no inner one. `alone`: in no module either, so it has a header of its own.
    pub(in super::super) fn function(&mut self, id: ExprId, name: &str, alone: bool) {
        let mut steps = Vec::new();
        self.open_function(id, name, alone, true, &mut steps);
        self.all(steps);
    }

    /// Prints an expression that is in no function. Names in it are declared before statements, and before a value on demand.
    pub(super) fn outside(&mut self, id: ExprId, verbose: bool) {
        self.alone = true;
        if matches!(self.store.expr(id), Expr::Seq { .. } | Expr::If { .. }) {
            return self.all(vec![Step::Seq { id, block: 0, binding: 0, outputs: Vec::new(), end: End::Value }]);
        }
        let mut text = String::new();
        self.expr(id, &mut text);
        if !verbose {
            self.pending.clear();
        }
        self.text_line(LineRole::Result, Some(id), &text);
    }

    fn all(&mut self, mut steps: Vec<Step>) {
        while let Some(step) = steps.pop() {
            match step {
                Step::Seq { id, block, binding, outputs, end } => self.seq(id, block, binding, outputs, end, &mut steps),
                Step::Else { other, end } => {
                    self.close_scope();
                    self.indent -= 4;
                    self.text_line(LineRole::Close, Some(other), "else:");
                    self.indent += 4;
                    self.open_scope();
                    steps.push(Step::CloseBranch);
                    steps.push(Step::Seq { id: other, block: 0, binding: 0, outputs: Vec::new(), end });
                }
                Step::CloseBranch => {
                    self.close_scope();
                    self.indent -= 4;
                }
                Step::CloseFunction(outer) => self.close_function(*outer),
            }
        }
    }

    /// Prints the head of a function, up to its attributes.
    fn open_function(&mut self, id: ExprId, name: &str, header: bool, top: bool, steps: &mut Vec<Step>) {
        let store = self.store;
        let Some(Function { params, ret, body, attrs, pure, .. }) = store.as_function(id) else { return };
        let head = header.then(|| {
            self.type_vars.push(Vec::new());
            self.place()
        });
        self.usage.relax = true;
        let function_scope = self.open_scope();
        let outer_scope = std::mem::replace(&mut self.function_scope, function_scope);
        let alias = std::mem::take(&mut self.alias);
        let alone = std::mem::take(&mut self.alone);
        let prelude = std::mem::take(&mut self.prelude);
        let declaring = self.declaring.replace(Vec::new());
        let mut text = format!("def {name}(");
        for (i, param) in store.items(params).enumerate() {
            text.push_str(if i > 0 { ", " } else { "" });
            // The symbols of its type get their names first.
            let mut annotation = String::new();
            if let Some(ty) = store.var_type(param) {
                annotation.push_str(": ");
                self.ty(ty, &mut annotation);
            }
            let name = self.define_param(param);
            text.push_str(&name);
            text.push_str(&annotation);
        }
        text.push(')');
        if let Some(ret) = ret {
            text.push_str(" -> ");
            self.ty(ret, &mut text);
        }
        text.push(':');
        let declared = std::mem::replace(&mut self.declaring, declaring).unwrap_or_default();
        let mut names: Vec<String> = declared.iter().filter_map(|symbol| self.symbol_name(*symbol)).map(str::to_owned).collect();
        sort_by(&mut names, Ord::cmp);
        if let Some(known) = self.type_vars.last_mut() {
            names.retain(|name| !known.contains(name));
            known.extend(names);
        }
        let symbol = global_symbol(store, attrs);
        let mut decorator = Vec::new();
        if !pure {
            decorator.push("pure=False");
        }
        if top && symbol.is_none() {
            decorator.push("private=True");
        }
        let arguments = if decorator.is_empty() { String::new() } else { format!("({})", decorator.join(", ")) };
        self.text_line(LineRole::Definition, Some(id), &format!("@R.function{arguments}"));
        self.text_line(LineRole::Definition, Some(id), &text);
        self.indent += 4;
        if let Some(attrs) = attrs {
            let hides = |field: &&(Id<Name>, AttrValue)| {
                top && store.str(field.0) == "global_symbol" && symbol.is_some_and(|symbol| store.str(symbol) == name)
            };
            let shown: Vec<_> = store.attrs_of_id(attrs).fields.iter().filter(|field| !hides(field)).cloned().collect();
            if !shown.is_empty() {
                let mut text = "R.func_attr(".to_owned();
                self.dict(&shown, &mut text);
                text.push(')');
                self.text_line(LineRole::Definition, Some(id), &text);
            }
        }
        let outer = Outer { head, body: self.place(), prelude, alias, alone, function_scope: outer_scope };
        steps.push(Step::CloseFunction(Box::new(outer)));
        self.open_scope();
        steps.push(Step::Seq { id: body, block: 0, binding: 0, outputs: Vec::new(), end: End::Return });
    }

    fn close_function(&mut self, outer: Outer) {
        self.close_scope();
        self.close_scope();
        let prelude = std::mem::replace(&mut self.prelude, outer.prelude);
        self.insert_lines(outer.body, LineRole::Definition, &prelude);
        self.alias = outer.alias;
        self.alone = outer.alone;
        self.function_scope = outer.function_scope;
        self.indent -= 4;
        if let Some(head) = outer.head {
            let declared = self.type_vars.pop().unwrap_or_default();
            let header = self.header(&declared);
            self.insert_lines(head, LineRole::Header, &header);
        }
        self.line(LineRole::Blank, None);
    }

    /// Prints the next binding of a sequence, or its result.
    fn seq(&mut self, id: ExprId, block: u32, binding: u32, mut outputs: Vec<String>, end: End, steps: &mut Vec<Step>) {
        let store = self.store;
        let (blocks, body) = match store.expr(id) {
            Expr::Seq { blocks, body } => (blocks, body),
            _ => (List::EMPTY, id),
        };
        if block as usize >= blocks.len() {
            let mut text = String::new();
            match end {
                End::Return => {
                    self.expr(body, &mut text);
                    self.text_line(LineRole::Result, Some(body), &format!("return {text}"));
                }
                End::Assign(target) => {
                    self.value(body, &mut text);
                    self.text_line(LineRole::Result, Some(body), &format!("{target} = {text}"));
                }
                End::Value => match store.expr(body) {
                    Expr::If { cond, then, other } => self.branches(body, [cond, then, other], end, steps),
                    _ => {
                        self.expr(body, &mut text);
                        self.text_line(LineRole::Result, Some(body), &text);
                    }
                },
            }
            return;
        }
        let BindingBlock { bindings, dataflow } = *store.block(store.item(blocks, block as usize));
        if dataflow && binding == 0 {
            // Statements define no variables: an output among them is declared like a free one.
            let void: Vec<VarId> = store
                .items(bindings)
                .map(|binding| *store.binding(binding))
                .filter(|binding| !store.var_data(binding.var).dataflow && is_void_statement(store, binding))
                .map(|binding| binding.var)
                .collect();
            for var in void {
                self.var(var, &mut String::new());
            }
            let place = self.place();
            self.relax_line("with R.dataflow():", id);
            self.indent += 4;
            self.flow = self.alone.then_some(place);
        }
        if binding as usize >= bindings.len() {
            if dataflow {
                self.flow = None;
                self.relax_line(&format!("R.output({})", outputs.join(", ")), id);
                self.indent -= 4;
            }
            steps.push(Step::Seq { id, block: block + 1, binding: 0, outputs: Vec::new(), end });
            return;
        }
        let item = *store.binding(store.item(bindings, binding as usize));
        let at = steps.len();
        let name = self.binding(item, steps);
        if dataflow && !store.var_data(item.var).dataflow {
            outputs.push(name);
        }
        steps.insert(at, Step::Seq { id, block, binding: binding + 1, outputs, end });
    }

    fn relax_line(&mut self, text: &str, node: ExprId) {
        self.usage.relax = true;
        self.text_line(LineRole::Close, Some(node), text);
    }

    /// Prints one binding; returns the name that it binds.
    fn binding(&mut self, Binding { var, value, cast }: Binding, steps: &mut Vec<Step>) -> String {
        let store = self.store;
        let ty = store.var_type(var);
        let mut text = String::new();
        if let Some(cast) = cast {
            let follows = !self.all_types && ty.is_some_and(|ty| crate::ir::equal::types(store, cast, ty));
            let annotation = if follows { String::new() } else { self.annotation(ty) };
            self.relax("match_cast(", &mut text);
            self.expr(value, &mut text);
            text.push_str(", ");
            self.ty(cast, &mut text);
            text.push(')');
            let name = self.define_var(var);
            self.text_line(LineRole::Binding, Some(value), &format!("{name}{annotation} = {text}"));
            return name;
        }
        match store.expr(value) {
            Expr::If { cond, then, other } => {
                let annotation = self.annotation(ty);
                let name = self.define_var(var);
                let end = End::Assign(format!("{name}{annotation}").into());
                self.branches(value, [cond, then, other], end, steps);
                name
            }
            Expr::Function(_) => {
                let name = self.define_var(var);
                self.open_function(value, &name, true, false, steps);
                name
            }
            _ => {
                self.value(value, &mut text);
                if is_void_statement(store, &Binding { var, value, cast }) {
                    self.text_line(LineRole::Binding, Some(value), &text);
                    return self.var_name(var).unwrap_or_default().to_owned();
                }
                let annotation = if self.hides_annotation(value, ty) { String::new() } else { self.annotation(ty) };
                let name = self.define_var(var);
                self.text_line(LineRole::Binding, Some(value), &format!("{name}{annotation} = {text}"));
                name
            }
        }
    }

    /// Prints the head of a conditional, whose branches come next.
    fn branches(&mut self, id: ExprId, [cond, then, other]: [ExprId; 3], end: End, steps: &mut Vec<Step>) {
        let mut text = String::new();
        self.expr(cond, &mut text);
        self.text_line(LineRole::Binding, Some(id), &format!("if {text}:"));
        self.indent += 4;
        self.open_scope();
        steps.push(Step::Else { other, end: end.clone() });
        steps.push(Step::Seq { id: then, block: 0, binding: 0, outputs: Vec::new(), end });
    }

    /// Returns `: type`.
    fn annotation(&mut self, ty: Option<TypeId>) -> String {
        let mut text = String::new();
        if let Some(ty) = ty {
            text.push_str(": ");
            self.ty(ty, &mut text);
        }
        text
    }

    /// Prints the right side of an assignment: a tuple has no parentheses.
    fn value(&mut self, value: ExprId, out: &mut String) {
        match self.store.expr(value) {
            Expr::Tuple(fields) if fields.len() > 1 => {
                let store = self.store;
                self.exprs(store.items(fields), out);
            }
            _ => self.expr(value, out),
        }
    }

    /// True if the type of a variable is not written: that of `R.call_tir` is in the call.
    fn hides_annotation(&self, value: ExprId, ty: Option<TypeId>) -> bool {
        let store = self.store;
        let follows = store.called_op(value).is_some()
            || matches!(store.expr(value), Expr::Tuple(_) | Expr::TupleGetItem { .. } | Expr::Var(_));
        let is_prim = ty.is_some_and(|ty| matches!(store.type_of_id(ty), Type::Prim(_)));
        if !self.all_types
            && follows
            && !is_prim
            && let (Some(own), Some(ty)) = (store.checked_type(value), ty)
            && crate::ir::equal::types(store, own, ty)
        {
            return true;
        }
        let Some(op) = store.called_op(value) else { return false };
        let name = crate::ops::info(op).relax.as_ref().map_or("", |op| op.name);
        if !matches!(name, "call_tir" | "call_dps_packed") || is_prim {
            return false;
        }
        let out = store.call(value).and_then(|call| call.info).and_then(|info| store.call_info(info).type_args.first().copied());
        match (out, ty) {
            (Some(out), Some(ty)) => crate::ir::equal::types(store, out, ty),
            (_, None) => true,
            (None, _) => false,
        }
    }
}

/// True if a binding prints as a statement: its value and its variable are the empty tuple.
fn is_void_statement(store: &Store, &Binding { var, value, cast }: &Binding) -> bool {
    let is_void = |ty: TypeId| matches!(store.type_of_id(ty), Type::Tuple(fields) if fields.is_empty());
    let special = matches!(store.expr(value), Expr::If { .. } | Expr::Function(_));
    let ty = store.var_type(var);
    cast.is_none() && !special && ty.is_some_and(is_void) && store.checked_type(value).or(ty).is_some_and(is_void)
}

/// Returns the name under which a function is known outside of its module.
pub(super) fn global_symbol(store: &Store, attrs: Option<AttrsId>) -> Option<Id<Name>> {
    match store.attr(attrs, "global_symbol")? {
        AttrValue::Str(name) => Some(*name),
        _ => None,
    }
}

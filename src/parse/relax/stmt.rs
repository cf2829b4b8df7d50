//! Statements of a function's body.

use super::scope::Meaning;
use super::value::Value;
use super::{Node, Read, Reader, Stop};
use crate::diag::Span;
use crate::ir::{Binding, Expr, ExprId, Id, List, Type, TypeId, VarId};
use crate::parse::script::MAX_BLOCKS;
use crate::parse::script::tree::{Arm, Stmt, StmtKind};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// The end of a block of statements.
pub(super) enum Flow {
    /// It has returned this.
    Return(ExprId),
    /// It continues.
    On,
}

/// Names that a dataflow block gives out, each with the last statement that binds it.
type Outputs<'s> = FxHashMap<&'s str, usize>;

impl<'s> Reader<'s, '_> {
    /// Reads the statements of a block.
    pub(super) fn statements(&mut self, body: List<Stmt>, outputs: &Outputs<'s>) -> Read<Flow> {
        let tree = self.tree;
        let stmts = tree.stmts(body);
        let mut failed = false;
        for (place, stmt) in stmts.iter().enumerate() {
            let local = |name: &str| outputs.get(name) != Some(&place);
            match self.statement(stmt, &local) {
                Ok(Flow::Return(value)) => {
                    if let Some(next) = stmts.get(place + 1) {
                        return Err(self.error("relax-syntax", "nothing may follow `return`", next.span));
                    }
                    return if failed { Err(Stop) } else { Ok(Flow::Return(value)) };
                }
                Ok(Flow::On) => {}
                Err(Stop) => {
                    failed = true;
                    self.define_broken(stmt);
                }
            }
        }
        if failed { Err(Stop) } else { Ok(Flow::On) }
    }

    /// Gives the names that a statement with an error in it would have bound a meaning, so that their uses are no errors too.
    fn define_broken(&mut self, stmt: &Stmt) {
        let (StmtKind::Assign { target, .. } | StmtKind::Annotated { target, .. }) = stmt.kind else { return };
        let names: Vec<Id<Node>> = match self.tree.expr(target) {
            Node::Name => vec![target],
            Node::Tuple(items) => self.tree.items(items).to_vec(),
            _ => return,
        };
        for name in names {
            if let Some(name) = self.tree.name(name) {
                let var = self.store.relax_var(name, None, false);
                self.scopes.define(name, Meaning::Var(var));
            }
        }
    }

    fn statement(&mut self, stmt: &Stmt, local: &dyn Fn(&str) -> bool) -> Read<Flow> {
        let span = stmt.span;
        match stmt.kind {
            StmtKind::Assign { target, value } => self.assign(target, None, value, local)?,
            StmtKind::Annotated { target, annotation, value: Some(value) } => {
                self.assign(target, Some(annotation), value, local)?;
            }
            StmtKind::Annotated { target, annotation, value: None } => self.free_variable(target, annotation)?,
            StmtKind::Expr(value) => {
                self.builder.begin();
                let value = self.eval(value)?;
                match value {
                    Value::Output if !self.builder.dataflow => {
                        let message = "`R.output` stands in a dataflow block: `with R.dataflow():`";
                        return Err(self.error("relax-output", message, span));
                    }
                    Value::None | Value::Output | Value::FuncAttr(_) => {}
                    Value::Expr(_) | Value::Call(_) | Value::Item(..) | Value::Tuple(_) => {
                        // Only values of the empty tuple type may stand alone, so the value gets that type.
                        let ty = self.store.tuple_type(&[]);
                        self.emit(value, Some("_"), Some(ty), true, span)?;
                    }
                    other => {
                        let message = format!("Unsupported Expr stmt type: {} stands alone", other.describe());
                        return Err(self.error("relax-syntax", message, span));
                    }
                }
            }
            StmtKind::Return(value) => {
                let value = match value {
                    Some(value) => self.eval(value)?.among_others(),
                    None => return Err(self.error("relax-syntax", "`return` needs a value", span)),
                };
                if matches!(value, Value::None) {
                    let message = "Cannot convert None with type <class 'NoneType'> to `relax.Expr: write `R.tuple()`";
                    return Err(self.error("relax-syntax", message, span));
                }
                return Ok(Flow::Return(self.operand(value, span)?));
            }
            StmtKind::With { items, body } => return self.with(span, self.tree.with_items(items), body),
            StmtKind::If { arms, other } => {
                self.branch(span, self.tree.arms(arms), other, local)?;
            }
            StmtKind::Def(def) => self.inner_function(def, local)?,
            StmtKind::Pass => {}
            StmtKind::Broken => return Err(Stop),
            StmtKind::Augmented { .. } => {
                return Err(self.error("relax-syntax", "`x += y` is not part of Relax: write `x = x + y`", span));
            }
            StmtKind::For { .. } | StmtKind::While { .. } | StmtKind::Break | StmtKind::Continue => {
                return Err(self.error("relax-syntax", "Relax has no loops: a function calls itself instead", span));
            }
            StmtKind::Assert { .. } => {
                return Err(self.error("relax-syntax", "write `R.assert_op(condition, format=\"...\")`", span));
            }
            StmtKind::Class(_) | StmtKind::Import { .. } => {
                return Err(self.error("relax-syntax", "this does not belong into a function", span));
            }
        }
        Ok(Flow::On)
    }

    /// Reads `x: Type` without a value: how TVM prints a variable that nothing binds.
    fn free_variable(&mut self, target: Id<Node>, annotation: Id<Node>) -> Read<()> {
        let ty = self.ty(annotation)?;
        if let Some(name) = self.tree.name(target) {
            let var = self.store.relax_var(name, Some(ty), false);
            self.define_var(name, var);
        }
        Ok(())
    }

    /// Gives a variable its name in the innermost scope.
    pub(super) fn define_var(&mut self, name: &'s str, var: VarId) {
        self.scopes.define(name, Meaning::Var(var));
        if let Some(symbol) = self.store.var_data(var).symbol {
            self.scopes.holds(symbol, var);
        }
    }

    fn assign(
        &mut self,
        target: Id<Node>,
        annotation: Option<Id<Node>>,
        value: Id<Node>,
        local: &dyn Fn(&str) -> bool,
    ) -> Read<()> {
        let span = self.span(target);
        let value_span = self.span(value);
        if self.type_variable(target, value)? {
            return Ok(());
        }
        self.builder.begin();
        let value = self.eval(value)?;
        match self.tree.expr(target) {
            Node::Name => {
                let name = self.tree.text(self.tree.span(target));
                let ty = match annotation {
                    Some(annotation) => Some(self.ty(annotation)?),
                    None => None,
                };
                self.assign_name(name, value, ty, local(name), span, value_span)
            }
            Node::Tuple(items) | Node::List(items) => {
                let targets = self.tree.items(items);
                self.unpack(targets, value, local, value_span)
            }
            _ => Err(self.error("relax-syntax", "only names can be assigned to", span)),
        }
    }

    fn assign_name(&mut self, name: &'s str, value: Value, ty: Option<TypeId>, local: bool, span: Span, at: Span) -> Read<()> {
        match value {
            Value::Module => {
                self.module_names.insert(name);
                return Ok(());
            }
            Value::NewSymbol(dtype) => {
                // The signature may have declared it, or a parameter be it.
                match self.scopes.get(name) {
                    Some(Meaning::Symbol(symbol)) => {
                        let known = self.store.symbol(*symbol).dtype;
                        if known != dtype {
                            let message = format!("Expected the same dtype for PrimType values but got {dtype} vs {known}");
                            return Err(self.error("relax-symbol", message, span));
                        }
                    }
                    Some(Meaning::Var(var)) if self.store.var_data(*var).symbol.is_none() => {
                        let message = "Cannot redefine a non-PrimType object to a PrimType value. Please define the PrimType \
                                       value with another name.";
                        return Err(self.error("relax-symbol", message, span));
                    }
                    Some(Meaning::Var(_)) => {}
                    _ => {
                        self.declare_symbol(name, dtype);
                    }
                }
                return Ok(());
            }
            Value::Attr(_) | Value::Type(_) | Value::Dict(_) | Value::List(_) | Value::Str(_) | Value::None => {
                self.scopes.define(name, Meaning::Value(value));
                return Ok(());
            }
            _ => {}
        }
        let value = match (value, ty.map(|ty| self.store.type_of_id(ty).clone())) {
            // A number that is annotated as a scalar is one; otherwise it is a constant.
            (Value::Int(value), Some(Type::Prim(dtype))) if dtype.is_float() => {
                Value::Prim(self.store.prim_float(value as f64, dtype))
            }
            (Value::Int(value), Some(Type::Prim(dtype))) => Value::Prim(self.store.prim_int(value, dtype)),
            (Value::Bool(value), Some(Type::Prim(dtype))) => Value::Prim(self.store.prim_int(i64::from(value), dtype)),
            (Value::Float(value), Some(Type::Prim(dtype))) => Value::Prim(self.store.prim_float(value, dtype)),
            (value @ (Value::Int(_) | Value::Float(_) | Value::Bool(_)), _) => self.constant(value, None, at)?,
            // A constant without a value has the type that is written for it.
            (Value::Expr(id), Some(_)) if self.is_unknown_constant(id) => Value::Expr(self.type_unknown_constant(id, ty)),
            (value, _) => value,
        };
        let var = self.emit(value, Some(name), ty, local, span)?;
        self.define_var(name, var);
        Ok(())
    }

    /// Reads `a, b = t`.
    fn unpack(&mut self, targets: &[Id<Node>], value: Value, local: &dyn Fn(&str) -> bool, at: Span) -> Read<()> {
        let values: Vec<Value> = match value {
            Value::Tuple(items) | Value::List(items) => items,
            // TVM counts the fields of a variable, and finds no end where it knows no type yet.
            Value::Expr(tuple) => {
                let count = match self.store.checked_type(tuple).map(|ty| self.store.type_of_id(ty)) {
                    Some(Type::Tuple(fields)) => fields.len(),
                    Some(_) => usize::MAX,
                    None => targets.len(),
                };
                self.unpackable(targets.len(), count, at)?;
                (0..targets.len() as u32).map(|index| Value::Item(Box::new(Value::Expr(tuple)), index)).collect()
            }
            _ => return self.unpackable(targets.len(), usize::MAX, at),
        };
        self.unpackable(targets.len(), values.len(), at)?;
        for (&target, value) in targets.iter().zip(values) {
            let span = self.span(target);
            let Some(name) = self.tree.name(target) else {
                return Err(self.error("relax-syntax", "only names can be assigned to", span));
            };
            self.assign_name(name, value, None, local(name), span, at)?;
        }
        Ok(())
    }

    /// Refuses to give so many values to so many names.
    fn unpackable(&mut self, names: usize, values: usize, at: Span) -> Read<()> {
        let message = match names.cmp(&values) {
            Ordering::Equal => return Ok(()),
            Ordering::Less => format!("too many values to unpack (expected {names})"),
            Ordering::Greater => format!("not enough values to unpack (expected {names}, got {values})"),
        };
        Err(self.error("relax-syntax", message, at))
    }

    /// Reads `with R.dataflow():`.
    fn with(&mut self, span: Span, items: &[crate::parse::script::tree::WithItem], body: List<Stmt>) -> Read<Flow> {
        let [item] = items else {
            return Err(self.error("relax-syntax", "one context is expected behind `with`", span));
        };
        if let Some(target) = item.target {
            let message = "Relax syntax doesn't allow binding expressions in `with` to variables";
            return Err(self.error_at("relax-syntax", message, target));
        }
        if !matches!(self.eval(item.context)?, Value::Dataflow) {
            return Err(self.error_at("relax-syntax", "the only context of Relax is `R.dataflow()`", item.context));
        }
        if self.builder.dataflow {
            return Err(self.error("relax-syntax", "a dataflow block cannot stand in another", span));
        }
        let outputs = self.outputs(body)?;
        self.scopes.open();
        self.builder.dataflow = true;
        self.builder.block += 1;
        let flow = self.statements(body, &outputs);
        self.builder.dataflow = false;
        let given: Vec<(&'s str, Option<Meaning>)> = outputs.keys().map(|name| (*name, self.scopes.get(name).cloned())).collect();
        self.scopes.close();
        for (name, meaning) in given {
            if let Some(meaning) = meaning {
                self.scopes.define(name, meaning);
            }
        }
        match flow? {
            // A value returned in a dataflow block is its output.
            Flow::Return(value) if outputs.values().all(|place| *place != usize::MAX) && !outputs.is_empty() => {
                Ok(Flow::Return(value))
            }
            Flow::On => Ok(Flow::On),
            Flow::Return(_) => Err(self.error("relax-syntax", "`return` stands behind a dataflow block, not in it", span)),
        }
    }

    /// Returns the names in `R.output(...)`, each with the statement that binds it last.
    fn outputs(&mut self, body: List<Stmt>) -> Read<Outputs<'s>> {
        let tree = self.tree;
        let stmts = tree.stmts(body);
        let mut outputs = Outputs::default();
        let mut ended = false;
        for stmt in stmts {
            if ended && !matches!(stmt.kind, StmtKind::Return(_) | StmtKind::Pass) {
                let message = "nothing is bound behind `R.output`, which stands at the end of its block, once";
                return Err(self.error("relax-output", message, stmt.span));
            }
            if let StmtKind::Return(Some(value)) = stmt.kind
                && let Some(name) = tree.name(value)
            {
                outputs.insert(name, usize::MAX);
            }
            let StmtKind::Expr(call) = stmt.kind else { continue };
            let Node::Call { callee, args } = tree.expr(call) else { continue };
            match tree.dotted(callee) {
                Some("R.output" | "relax.output") => {}
                Some("R.outputs") => self.hint("`R.outputs` is `R.output` today", stmt.span),
                _ => continue,
            }
            ended = true;
            for arg in tree.args(args) {
                match tree.name(arg.value) {
                    Some(name) => outputs.insert(name, usize::MAX),
                    None => return Err(self.error_at("relax-syntax", "`R.output` takes names", arg.value)),
                };
            }
        }
        for (place, stmt) in stmts.iter().enumerate() {
            let targets: Vec<&'s str> = match stmt.kind {
                StmtKind::Assign { target, .. } | StmtKind::Annotated { target, .. } => match tree.expr(target) {
                    Node::Tuple(items) => tree.items(items).iter().filter_map(|item| tree.name(*item)).collect(),
                    _ => tree.name(target).into_iter().collect(),
                },
                StmtKind::Def(def) => vec![tree.text(tree.def(def).name)],
                _ => continue,
            };
            for name in targets {
                if let Some(last) = outputs.get_mut(name) {
                    *last = place;
                }
            }
        }
        if let Some((name, _)) = outputs.iter().find(|(_, place)| **place == usize::MAX) {
            let message = format!("`{name}` is an output of this block, but is not bound in it");
            let span = stmts.last().map_or(Span { start: 0, end: 0 }, |stmt| stmt.span);
            return Err(self.error("relax-output", message, span));
        }
        Ok(outputs)
    }

    /// Reads `if cond:` with both branches. An `elif` is an `if` in the `else`.
    fn branch(&mut self, span: Span, arms: &[Arm], other: List<Stmt>, local: &dyn Fn(&str) -> bool) -> Read<()> {
        if self.builder.dataflow {
            return Err(self.error("relax-if", "Cannot create an IfFrame inside a dataflow block.", span));
        }
        let &[Arm { cond, body: then }, ref rest @ ..] = arms else { return Err(Stop) };
        if rest.len() > MAX_BLOCKS {
            return Err(self.error("script-too-deep", format!("more than {MAX_BLOCKS} branches stand here"), span));
        }
        if other.is_empty() {
            return Err(self.error("relax-if", "both branches of an `if` bind the result: `else` is missing", span));
        }
        let cond = self.eval(cond)?;
        let then = self.one_branch(&[], then, "_then", span);
        let other_body = other;
        let other = self.one_branch(rest, other_body, "_else", span);
        let ((then, name, first), (other, other_name, second)) = (then?, other?);
        if name != other_name {
            let message = format!(
                "both branches must provide the same variable. However, the R.Then branch provides variable {name}, while the \
                 R.Else branch provides variable {other_name}"
            );
            return Err(self.error("relax-if", message, span));
        }
        let cond = self.operand(cond, span)?;
        let ty = first.filter(|_| first == second);
        let node = self.store.add_typed(Expr::If { cond, then, other }, ty);
        self.store.set_span(node, span);
        let is_local = local(&name);
        let var = self.bind(node, None, Some(&name), ty, is_local, span);
        if let Some(name) = self.bound_name(other_body) {
            self.define_var(name, var);
        }
        Ok(())
    }

    /// Returns the name that a branch gives the result.
    fn bound_name(&self, body: List<Stmt>) -> Option<&'s str> {
        let tree = self.tree;
        let mut body = body;
        loop {
            match tree.stmts(body).last()?.kind {
                StmtKind::Assign { target, .. } | StmtKind::Annotated { target, .. } => {
                    return match tree.expr(target) {
                        Node::Tuple(items) => tree.items(items).last().and_then(|last| tree.name(*last)),
                        _ => tree.name(target),
                    };
                }
                StmtKind::If { other, .. } => body = other,
                // `R.output` ends a dataflow block, behind its last binding.
                StmtKind::With { body: inner, .. } => {
                    let outputs = matches!(tree.stmts(inner).last()?.kind, StmtKind::Expr(_));
                    let bound = &tree.stmts(inner)[..tree.stmts(inner).len() - usize::from(outputs)];
                    return match bound.last()?.kind {
                        StmtKind::Assign { target, .. } | StmtKind::Annotated { target, .. } => tree.name(target),
                        _ => None,
                    };
                }
                StmtKind::Def(def) => return Some(tree.text(tree.def(def).name)),
                _ => return None,
            }
        }
    }

    /// Reads a branch, or the arms and the `else` that are left; returns it with the name and type of its last binding, which is
    /// the value of the branch.
    fn one_branch(&mut self, arms: &[Arm], body: List<Stmt>, suffix: &str, span: Span) -> Read<(ExprId, String, Option<TypeId>)> {
        self.scopes.open();
        self.builder.open();
        let flow = match arms {
            [] => self.statements(body, &Outputs::default()),
            arms => self.branch(span, arms, body, &|_| true).map(|()| Flow::On),
        };
        self.scopes.close();
        let last = match flow {
            Ok(Flow::On) => self.builder.take_last(),
            Ok(Flow::Return(_)) => {
                self.drop_sequence();
                return Err(self.error("relax-if", "a branch does not return, it binds the result", span));
            }
            Err(stop) => {
                self.drop_sequence();
                return Err(stop);
            }
        };
        let Some(Binding { var, value, cast }) = last else {
            self.drop_sequence();
            return Err(self.error("relax-if", "a branch ends by binding the result", span));
        };
        let name = self.store.var_name(var).to_owned();
        let ty = self.store.var_type(var);
        let body = if cast.is_none() && self.is_leaf_or_tuple(value) {
            value
        } else {
            let new = self.store.relax_var(&format!("{name}{suffix}"), ty, false);
            // The end of a dataflow block stays in it, and is its output.
            self.builder.put_back(Binding { var: new, value, cast });
            self.store.use_var(new)
        };
        Ok((self.close_sequence(body), name, ty))
    }
}

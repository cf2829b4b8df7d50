//! Functions of Python that are written out where they are called: `@T.macro`, `@T.inline`, `lambda`.

use super::value::Value;
use super::{Node, Read, Reader, decorator};
use crate::diag::Span;
use crate::ir::{DType, Id, Symbol};
use crate::parse::effort::spend;
use crate::parse::script::tree::{Arg, Def, Tree};

/// The greatest nesting depth of macros and lambdas.
const MAX_DEPTH: usize = 32;

/// True if a function is decorated with `@T.macro` or `@T.inline`.
pub(in super::super) fn is_macro(tree: &Tree<'_>, def: &Def) -> bool {
    tree.items(def.decorators).iter().any(|id| {
        let name = decorator(tree, *id).unwrap_or_default();
        matches!(name.rsplit('.').next(), Some("macro" | "inline")) && name.contains('.')
    })
}

impl<'s> Reader<'_, 's, '_> {
    /// Returns the function of the text that has a name.
    pub(super) fn function_named(&self, name: &str) -> Option<Id<Def>> {
        let named = |id: &Id<Def>| self.tree.text(self.tree.def(*id).name) == name;
        self.tree.def_ids().find(|id| named(id) && !is_macro(self.tree, self.tree.def(*id)))
    }

    /// Returns the macro that stands outside of functions under a name.
    pub(super) fn macro_named(&self, name: &str) -> Option<Id<Def>> {
        if self.inside.is_some() {
            return None;
        }
        let all = || self.tree.def_ids().inspect(|_| spend(1)).filter(|id| is_macro(self.tree, self.tree.def(*id))).collect();
        let macros = self.tree.macros.get_or_init(all);
        macros.iter().copied().find(|id| self.tree.text(self.tree.def(*id).name) == name)
    }

    /// Returns the declared type of a function's result, if there is one.
    pub(super) fn result_of(&mut self, def: Id<Def>) -> Option<DType> {
        let ret = self.tree.def(def).ret?;
        if matches!(self.tree.expr(ret), Node::None) {
            return None;
        }
        let n_errors = self.diagnostics.len();
        let (failed, dtype) = (self.state.failed, self.dtype(ret).ok());
        // Its errors are reported at its definition.
        self.diagnostics.truncate(n_errors);
        self.state.failed = failed;
        dtype
    }

    /// Reads `def` in the body of a function: a macro.
    pub(super) fn inner_def(&mut self, id: Id<Def>, span: Span) -> Read<()> {
        let def = *self.tree.def(id);
        if !is_macro(self.tree, &def) {
            let message = "a function inside of one is decorated with `@T.macro` or `@T.inline`";
            return Err(self.error_at("tir-syntax", message, span));
        }
        self.give(self.tree.text(def.name), Value::Macro(id));
        Ok(())
    }

    /// Writes a macro out: its statements, with its parameters standing for the arguments.
    pub(super) fn macro_call(&mut self, id: Id<Def>, args: &[Arg], at: Id<Node>) -> Read<Value> {
        if self.inside.is_some() {
            return Err(self.error("tir-syntax", "nothing is called in the string of an extent", at));
        }
        let def = *self.tree.def(id);
        if def.broken {
            self.state.failed = true;
            return Err(super::Stop);
        }
        let name = self.tree.text(def.name);
        let params = self.tree.params(def.params).to_vec();
        let mut given = self.positional(args)?.into_iter().map(|(value, _)| value);
        let mut bound: Vec<(&'s str, Value)> = Vec::with_capacity(params.len());
        for param in &params {
            let key = self.tree.text(param.name);
            if param.stars == 1 {
                let rest: Vec<Value> = given.by_ref().collect();
                bound.push((key, Value::Tuple(rest.into())));
                continue;
            }
            let by_name = args.iter().find(|arg| arg.name().is_some_and(|name| self.tree.text(name) == key)).map(|arg| arg.value);
            let value = match (given.next(), by_name, param.default) {
                (Some(_), Some(twice), _) => {
                    return Err(self.error("tir-syntax", format!("`{name}` gets `{key}` twice"), twice));
                }
                (Some(value), ..) => value,
                (None, Some(value), _) => self.value(value)?,
                (None, None, Some(default)) => self.value(default)?,
                (None, None, None) => return Err(self.error("tir-syntax", format!("`{name}` needs `{key}`"), at)),
            };
            bound.push((key, value.bare()));
        }
        if given.next().is_some() {
            return Err(self.error("tir-syntax", format!("`{name}` takes {} arguments", params.len()), at));
        }
        if let Some(extra) = args.iter().find(|arg| {
            arg.name().is_some_and(|name| params.iter().all(|param| self.tree.text(param.name) != self.tree.text(name)))
        }) {
            let message = format!("`{name}` takes no such argument");
            return Err(self.error("tir-syntax", message, extra.value));
        }
        if self.state.depth >= MAX_DEPTH {
            return Err(self.error("tir-too-large", "macros call each other too deeply here", at));
        }
        let uses = self.state.uses.entry(id).or_insert(0);
        let suffix = if *uses > 0 { format!("_{uses}") } else { String::new() };
        *uses += 1;
        let outer = std::mem::replace(&mut self.state.suffix, suffix);
        self.state.depth += 1;
        self.open_scope();
        for (key, value) in bound {
            self.give(key, value);
        }
        self.lines(def.body);
        self.close_scope();
        self.state.depth -= 1;
        self.state.suffix = outer;
        Ok(Value::None)
    }

    /// Evaluates a lambda over variables that `make` makes from name and place; returns them and the result.
    pub(super) fn lambda(
        &mut self,
        lambda: &Value,
        mut make: impl FnMut(&mut Self, &str, usize) -> Id<Symbol>,
        at: Id<Node>,
    ) -> Read<(Vec<Id<Symbol>>, Vec<Value>)> {
        let names = self.lambda_params(lambda, at)?;
        let vars: Vec<Id<Symbol>> = names.iter().enumerate().map(|(i, name)| make(self, name, i)).collect();
        let values = vars.iter().map(|var| Value::Prim(self.store.prim(crate::ir::PrimExpr::Var(*var)))).collect();
        let result = self.lambda_call(lambda, values, at)?;
        let results = match &result {
            Value::Tuple(items) | Value::List(items) => items.to_vec(),
            _ => vec![result],
        };
        Ok((vars, results))
    }

    fn lambda_params(&mut self, lambda: &Value, at: Id<Node>) -> Read<Vec<&'s str>> {
        let Value::Lambda(id) = lambda else {
            return Err(self.error("tir-type", format!("expected a lambda, found {}", lambda.kind()), at));
        };
        if self.inside.is_some() {
            return Err(self.error("tir-syntax", "nothing is called in the string of an extent", at));
        }
        let Node::Lambda { params, .. } = self.tree.expr(*id) else { return Ok(Vec::new()) };
        Ok(self.tree.params(params).iter().map(|param| self.tree.text(param.name)).collect())
    }

    /// Evaluates a lambda with these values.
    pub(super) fn lambda_call(&mut self, lambda: &Value, values: Vec<Value>, at: Id<Node>) -> Read<Value> {
        let names = self.lambda_params(lambda, at)?;
        let (Value::Lambda(id), true) = (lambda, names.len() == values.len()) else {
            let message = format!("this lambda takes {} arguments, found {}", names.len(), values.len());
            return Err(self.error("tir-type", message, at));
        };
        let Node::Lambda { body, .. } = self.tree.expr(*id) else { return Ok(Value::None) };
        if self.state.depth >= MAX_DEPTH {
            return Err(self.error("tir-too-large", "lambdas call each other too deeply here", at));
        }
        self.state.depth += 1;
        self.open_scope();
        for (name, value) in names.into_iter().zip(values) {
            self.give(name, value);
        }
        let result = self.value(body);
        self.close_scope();
        self.state.depth -= 1;
        result
    }
}

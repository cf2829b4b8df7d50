//! Functions: signatures and bodies.

use super::scope::Meaning;
use super::stmt::Flow;
use super::value::Value;
use super::{Node, Read, Reader};
use crate::diag::Span;
use crate::ir::{AttrValue, Attrs, DType, ExprId, Function, Id, List, Name, Type, TypeId, VarId};
use crate::parse::script::tree::{Def, StmtKind};
use rustc_hash::FxHashSet;

/// The options of a decorator.
pub(super) struct Decorator {
    pub(super) pure: bool,
    pub(super) private: bool,
}

/// The signature of a function.
struct Signature {
    params: Vec<VarId>,
    ret: Option<TypeId>,
}

impl<'s> Reader<'s, '_> {
    /// Returns the options of a Relax function's decorators; nothing for any other definition.
    pub(super) fn decorator(&mut self, def: &Def) -> Option<Decorator> {
        let tree = self.tree;
        let mut found = None;
        for &decorator in tree.items(def.decorators) {
            let (callee, args) = match tree.expr(decorator) {
                Node::Call { callee, args } => (callee, tree.args(args)),
                _ => (decorator, &[][..]),
            };
            match tree.dotted(callee) {
                Some("R.function" | "relax.function" | "R.func" | "relax.script") => {}
                _ => continue,
            }
            if tree.dotted(callee) == Some("R.func") {
                self.hint("`@R.func` is `@R.function` today", tree.span(decorator));
            }
            for arg in args {
                let name = arg.name().map_or("", |name| tree.text(name));
                if !["pure", "private", "check_well_formed"].contains(&name) {
                    let message = format!("function() got an unexpected keyword argument '{name}'");
                    self.error_at("relax-unknown-arg", message, arg.value);
                }
            }
            let flag = |wanted: &str| {
                args.iter()
                    .find(|arg| arg.name().map(|name| tree.text(name)) == Some(wanted))
                    .and_then(|arg| tree.bool(arg.value))
            };
            found = Some(Decorator { pure: flag("pure").unwrap_or(true), private: flag("private").unwrap_or(false) });
        }
        found
    }

    /// Reads a function. `symbol`: the name under which it is known outside.
    pub(super) fn function(&mut self, def: &Def, decorator: &Decorator, symbol: bool) -> Read<ExprId> {
        let outer = std::mem::take(&mut self.builder);
        self.scopes.open();
        self.builder.open();
        let result = self.function_in_scope(def, decorator, symbol);
        self.scopes.close();
        self.builder = outer;
        result
    }

    fn function_in_scope(&mut self, def: &Def, decorator: &Decorator, symbol: bool) -> Read<ExprId> {
        let tree = self.tree;
        let signature = self.signature(def);
        if def.broken && signature.is_err() {
            return Err(super::Stop);
        }
        let flow = self.statements(def.body, &Default::default());
        let Signature { params, ret } = signature?;
        let body = match flow? {
            _ if def.broken => return Err(super::Stop),
            Flow::Return(body) => body,
            Flow::On => {
                let message = "a function ends with `return`";
                return Err(self.error("relax-return", message, def.name));
            }
        };
        let mut attrs: Vec<(Id<Name>, AttrValue)> = Vec::new();
        for stmt in tree.stmts(def.body) {
            if let StmtKind::Expr(call) = stmt.kind
                && let Node::Call { callee, .. } = tree.expr(call)
                && tree.dotted(callee).is_some_and(|name| name.ends_with(".func_attr"))
                && let Value::FuncAttr(fields) = self.eval(call)?
            {
                attrs.extend(fields);
            }
        }
        let key = self.store.name("global_symbol");
        if decorator.private && attrs.iter().any(|(name, _)| *name == key) {
            let message = "A private function may not have the kGlobalSymbol (\"global_symbol\") attribute: leave `private=True` or \
                           the attribute out";
            self.refused(message, def.name);
        }
        if symbol && !attrs.iter().any(|(name, _)| *name == key) {
            let name = self.store.name(tree.text(def.name));
            attrs.push((key, AttrValue::Str(name)));
        }
        let attrs = (!attrs.is_empty()).then(|| {
            let key = self.store.name("DictAttrs");
            self.store.attrs(Attrs { key, fields: attrs.into() })
        });
        let body = self.close_sequence(body);
        let ty = self.function_type(&params, ret, decorator.pure);
        let params = self.store.list(&params);
        let data = Function { params, type_params: List::EMPTY, ret, body, attrs, device: None, pure: decorator.pure };
        let data = self.store.add_function(data);
        let node = self.store.add_typed(crate::ir::Expr::Function(data), ty);
        self.store.set_span(node, def.span);
        Ok(node)
    }

    fn function_type(&mut self, params: &[VarId], ret: Option<TypeId>, pure: bool) -> Option<TypeId> {
        let params: Option<Box<[TypeId]>> = params.iter().map(|param| self.store.var_type(*param)).collect();
        let params = Some(params?);
        Some(self.store.ty(Type::Callable { params, ret: ret?, pure }))
    }

    fn signature(&mut self, def: &Def) -> Read<Signature> {
        let tree = self.tree;
        let params = tree.params(def.params);
        self.symbolic_variables(def);
        let mut vars = Vec::with_capacity(params.len());
        let mut failed = false;
        self.in_signature = true;
        for param in params {
            let name = tree.text(param.name);
            if param.stars > 0 {
                self.error("relax-syntax", "parameters have no stars", param.name);
                failed = true;
                continue;
            }
            let ty = match param.annotation {
                Some(annotation) => self.ty(annotation),
                None => Err(self.error("relax-annotation", format!("the parameter `{name}` needs a type"), param.name)),
            };
            if vars.iter().any(|var| self.store.var_name(*var) == name) {
                self.error("relax-duplicate", format!("Variable {name} already defined in current scope"), param.name);
                failed = true;
            }
            let known = match self.scopes.get(name) {
                Some(Meaning::Symbol(symbol)) => Some(*symbol),
                _ => None,
            };
            let Ok(ty) = ty else {
                failed = true;
                let var = self.store.relax_var(name, None, false);
                self.define_var(name, var);
                continue;
            };
            let var = self.store.relax_var(name, Some(ty), false);
            if let (Some(symbol), Type::Prim(_)) = (known, self.store.type_of_id(ty)) {
                self.store.set_var_symbol(var, Some(symbol));
            }
            self.store.set_var_span(var, param.name);
            self.define_var(name, var);
            vars.push(var);
        }
        let ret = match def.ret {
            Some(ret) => match self.ty(ret) {
                Ok(ret) => Some(ret),
                Err(_) => {
                    failed = true;
                    None
                }
            },
            None => None,
        };
        self.in_signature = false;
        if failed { Err(super::Stop) } else { Ok(Signature { params: vars, ret }) }
    }

    /// Declares the symbolic variables of a signature: parameters that hold scalars, type parameters, names made by `TypeVar`,
    /// and strings that are a name.
    fn symbolic_variables(&mut self, def: &Def) {
        let tree = self.tree;
        let params = tree.params(def.params);
        let mut names: FxHashSet<&'s str> = FxHashSet::default();
        for param in params {
            names.insert(tree.text(param.name));
            if let Some(dtype) = param.annotation.and_then(|annotation| self.scalar(annotation)) {
                self.declare_symbol(tree.text(param.name), dtype);
            }
        }
        for param in tree.params(def.type_params) {
            self.declare_symbol(tree.text(param.name), DType::I64);
        }
        let annotations = params.iter().map(|param| (param.annotation, Some(tree.text(param.name)))).chain([(def.ret, None)]);
        let mut stack: Vec<(Id<Node>, bool)> = Vec::new();
        let mut before: FxHashSet<&'s str> = FxHashSet::default();
        for (annotation, param) in annotations {
            stack.extend(annotation.map(|annotation| (annotation, false)));
            while let Some((id, in_shape)) = stack.pop() {
                let text = match tree.expr(id) {
                    Node::Name => tree.text(tree.span(id)),
                    Node::Str if in_shape => names.get(&*tree.string(id).unwrap_or_default()).copied().unwrap_or_default(),
                    _ => "",
                };
                // A parameter that holds a scalar is known to the types behind it.
                if names.contains(text) && !before.contains(text) && matches!(self.scopes.get(text), Some(Meaning::Symbol(_))) {
                    let message = format!("Variable {text} already defined in current scope: it stands before its parameter");
                    self.error_at("relax-duplicate", message, id);
                }
                let declared = match tree.expr(id) {
                    Node::Name => Some(tree.text(tree.span(id))).filter(|name| self.type_vars.contains(name)),
                    Node::Str if in_shape => {
                        let text = tree.string(id).unwrap_or_default();
                        match text {
                            std::borrow::Cow::Borrowed(text) if is_identifier(text) => Some(text),
                            _ => {
                                self.names_in_string(id, &names);
                                None
                            }
                        }
                    }
                    Node::Call { args, .. } => {
                        stack.extend(tree.args(args).iter().rev().map(|arg| (arg.value, false)));
                        None
                    }
                    Node::Tuple(items) | Node::List(items) => {
                        stack.extend(tree.items(items).iter().rev().map(|item| (*item, true)));
                        None
                    }
                    Node::Subscript { items, .. } => {
                        stack.extend(tree.items(items).iter().rev().map(|item| (*item, false)));
                        None
                    }
                    Node::Binary { left, right, .. } => {
                        stack.extend([(right, in_shape), (left, in_shape)]);
                        None
                    }
                    Node::Unary { value, .. } => {
                        stack.push((value, in_shape));
                        None
                    }
                    _ => None,
                };
                if let Some(name) = declared
                    && !names.contains(name)
                    && self.scopes.get(name).is_none()
                {
                    self.declare_symbol(name, DType::I64);
                }
            }
            before.extend(param);
        }
    }

    /// Declares the `TypeVar` names inside of a string, too.
    fn names_in_string(&mut self, id: Id<Node>, params: &FxHashSet<&'s str>) {
        let strings = self.strings;
        let Some(inner) = strings.get(&id) else { return };
        for index in 0..inner.len() {
            if let Some(name) = inner.name(Id::from_index(index))
                && self.type_vars.contains(name)
                && !params.contains(name)
                && self.scopes.get(name).is_none()
            {
                self.declare_symbol(name, DType::I64);
            }
        }
    }

    /// Returns the element type of an annotation that is a scalar: `T.int64`, `R.Prim("int64")`.
    fn scalar(&mut self, id: Id<Node>) -> Option<DType> {
        let tree = self.tree;
        let (name, args) = match tree.expr(id) {
            Node::Call { callee, args } => (tree.dotted(callee)?, tree.args(args)),
            _ => (tree.dotted(id)?, &[][..]),
        };
        let (prefix, rest) = name.split_once('.')?;
        match (prefix, rest, args) {
            ("T" | "tir" | "tirx" | "Tx", dtype, []) => DType::parse(dtype),
            ("R" | "relax", "Prim", [arg]) => DType::parse(&tree.string(arg.value)?),
            _ => None,
        }
    }

    /// Reads a function in a function: a binding. One that calls itself knows its own type.
    pub(super) fn inner_function(&mut self, id: Id<Def>, local: &dyn Fn(&str) -> bool) -> Read<()> {
        let def = *self.tree.def(id);
        let span: Span = def.name;
        let name = self.tree.text(def.name);
        let Some(decorator) = self.decorator(&def) else {
            return Err(self.error("relax-syntax", "a function in a function is decorated with `@R.function`", span));
        };
        let mut reserved = None;
        if self.scopes.get(name).is_none() && self.calls(&def, name) {
            self.scopes.open();
            let n_errors = self.diagnostics.len();
            let signature = self.signature(&def);
            self.diagnostics.truncate(n_errors);
            self.scopes.close();
            if let Ok(Signature { params, ret }) = signature {
                let ret = ret.unwrap_or_else(|| self.store.tuple_type(&[]));
                let ty = self.function_type(&params, Some(ret), true);
                let var = self.store.relax_var(name, ty, local(name) && self.builder.dataflow);
                self.scopes.define(name, Meaning::Var(var));
                reserved = Some(var);
            }
        }
        let dataflow = std::mem::replace(&mut self.builder.dataflow, false);
        let function = self.function(&def, &decorator, false);
        self.builder.dataflow = dataflow;
        let function = function?;
        match reserved {
            Some(var) => self.builder.push(crate::ir::Binding { var, value: function, cast: None }),
            None => {
                let var = self.bind(function, None, Some(name), None, local(name), span);
                self.define_var(name, var);
            }
        }
        Ok(())
    }

    /// True if a function calls `name` somewhere.
    fn calls(&self, def: &Def, name: &str) -> bool {
        let tree = self.tree;
        (0..tree.len()).map(Id::from_index).any(|id| match tree.expr(id) {
            Node::Call { callee, .. } => {
                let span = tree.span(id);
                tree.name(callee) == Some(name) && def.span.start <= span.start && span.end <= def.span.end
            }
            _ => false,
        })
    }
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

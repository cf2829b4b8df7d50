//! Reads files: a class with functions, or functions alone, and the statements around them.

use super::super::tir;
use super::scope::Meaning;
use super::value::Value;
use super::{Node, Read, Reader, Stop};
use crate::diag::Span;
use crate::ir::{AttrValue, Attrs, AttrsId, Expr, ExprId, Id, List};
use crate::parse::script::tree::{Class, Def, Stmt, StmtKind};

impl<'s> Reader<'s, '_> {
    /// Reads the whole file. A function that stands alone is an expression.
    pub(super) fn file(&mut self) -> Option<ExprId> {
        let tree = self.tree;
        self.scopes.open();
        self.define_given();
        let mut alone = Vec::new();
        let mut classes = 0;
        for stmt in tree.stmts(tree.top) {
            match stmt.kind {
                StmtKind::Class(class) => {
                    classes += 1;
                    if classes > 1 {
                        self.error("relax-syntax", "one module is expected in a text", stmt.span);
                        continue;
                    }
                    self.class(*tree.class(class));
                }
                StmtKind::Def(def) => alone.push(def),
                StmtKind::Assign { target, value } => {
                    let _ = self.top_assignment(target, value);
                }
                StmtKind::Import { .. } | StmtKind::Broken | StmtKind::Pass => {}
                StmtKind::Expr(value) if matches!(tree.expr(value), Node::Str) => {}
                _ => {
                    self.error("relax-syntax", "a class, a function or an assignment is expected here", stmt.span);
                }
            }
        }
        let result = self.functions_alone(&alone, classes > 0);
        self.scopes.close();
        if classes == 0 && alone.is_empty() && self.diagnostics.is_empty() {
            let end = tree.source.len() as u32;
            self.error("relax-syntax", "there is no module and no function in this text", Span { start: end, end });
        }
        result
    }

    /// Reads `n = TypeVar("n")`, `metadata = tvm.ir.load_json("...")`, other values.
    fn top_assignment(&mut self, target: Id<Node>, value: Id<Node>) -> Read<()> {
        let tree = self.tree;
        let Some(name) = tree.name(target) else {
            return Err(self.error_at("relax-syntax", "only names can be assigned to", target));
        };
        if self.type_variable(target, value)? {
            return Ok(());
        }
        if let Node::Call { callee, args } = tree.expr(value)
            && matches!(tree.dotted(callee), Some("tvm.ir.load_json" | "ir.load_json"))
        {
            let Some(json) = tree.args(args).first().and_then(|arg| tree.string(arg.value)) else {
                return Err(self.error_at("relax-metadata", "`load_json` takes a string", value));
            };
            let span = self.span(value);
            return self.read_metadata(&json, span);
        }
        let value = self.eval(value)?;
        self.scopes.define(name, Meaning::Value(value));
        Ok(())
    }

    /// Reads `n = TypeVar("n")`; false when it is something else. TVM prints it before inner functions too.
    pub(super) fn type_variable(&mut self, target: Id<Node>, value: Id<Node>) -> Read<bool> {
        let tree = self.tree;
        let Node::Call { callee, args } = tree.expr(value) else { return Ok(false) };
        let (Some("TypeVar" | "typing.TypeVar"), Some(name)) = (tree.dotted(callee), tree.name(target)) else { return Ok(false) };
        let args = tree.args(args);
        let Some(text) = args.first().and_then(|arg| tree.string(arg.value)) else {
            return Err(self.error_at("relax-typevar", "`TypeVar` takes its own name as a string", value));
        };
        if args.len() > 1 {
            return Err(self.error_at("relax-typevar", "a symbolic variable has no bounds and no default", value));
        }
        if text != name {
            let message = format!("`{name}` must be called the same: `{name} = TypeVar(\"{name}\")`");
            return Err(self.error_at("relax-typevar", message, value));
        }
        self.type_vars.insert(name);
        Ok(true)
    }

    /// Reads functions outside of a class: one is an expression, more are a module.
    fn functions_alone(&mut self, defs: &[Id<Def>], has_class: bool) -> Option<ExprId> {
        let tree = self.tree;
        if has_class {
            for def in defs {
                let span = tree.def(*def).name;
                self.error("relax-syntax", "functions of a module stand in its class", span);
            }
            return None;
        }
        if let [only] = defs
            && let def = *tree.def(*only)
            && let Some(decorator) = self.decorator(&def)
        {
            return self.function(&def, &decorator, !decorator.private).ok();
        }
        if let [only] = defs
            && let def = *tree.def(*only)
            && tir::is_prim_func(tree, &def)
        {
            return self.other_function(&def).ok();
        }
        for def in defs.iter().filter(|def| !tir::is_macro(tree, tree.def(**def))).skip(1) {
            let place = tree.def(*def).name;
            self.refused("Builder.result has already been set: functions of a module stand in a class", place);
        }
        for def in defs {
            self.globals.insert(tree.text(tree.def(*def).name));
        }
        for def in defs {
            self.member_function(*tree.def(*def));
        }
        None
    }

    /// Reads `@I.ir_module class Module:`; without any decorator TVM reads the same.
    fn class(&mut self, class: Class) {
        let tree = self.tree;
        let is_module = tree.items(class.decorators).iter().any(|decorator| {
            let callee = match tree.expr(*decorator) {
                Node::Call { callee, .. } => callee,
                _ => *decorator,
            };
            tree.dotted(callee).is_some_and(|name| name.rsplit('.').next() == Some("ir_module"))
        });
        if !is_module && !tree.items(class.decorators).is_empty() {
            self.error("relax-syntax", "the class of a module is decorated with `@I.ir_module`", class.name);
        }
        self.module_names.insert(tree.text(class.name));
        self.module_infos(class.body);
        self.python_module(&class);
        for stmt in tree.stmts(class.body) {
            match stmt.kind {
                StmtKind::Def(def) => {
                    let name = tree.def(def).name;
                    if !self.globals.insert(tree.text(name)) {
                        self.error("relax-duplicate", format!("`{}` is defined twice", tree.text(name)), name);
                    }
                }
                StmtKind::Assign { target, .. } => {
                    if let Some(name) = tree.name(target) {
                        self.globals.insert(name);
                    }
                }
                _ => {}
            }
        }
        for stmt in tree.stmts(class.body) {
            self.member(stmt);
        }
    }

    /// Reads `I.module_attrs(...)` and `I.module_global_infos(...)`: before everything, for types refer to them.
    fn module_infos(&mut self, body: List<Stmt>) {
        let tree = self.tree;
        let mut found = Vec::new();
        for stmt in tree.stmts(body) {
            let StmtKind::Expr(call) = stmt.kind else { continue };
            let Node::Call { callee, args } = tree.expr(call) else { continue };
            let name = tree.dotted(callee).and_then(|name| name.split_once('.')).map(|(_, name)| name);
            let Some(arg) = tree.args(args).first() else { continue };
            if let Some(name) = name.filter(|name| found.contains(name)) {
                let what = name.trim_start_matches("module_");
                self.error("relax-duplicate", format!("Duplicate module {what}, previous one stands above"), stmt.span);
            }
            found.extend(name);
            match name {
                Some("module_attrs") => {
                    if let Ok(attrs) = self.info(arg.value) {
                        self.module.set_attrs(Some(attrs));
                    }
                }
                Some("module_global_infos") => {
                    if let Ok(infos) = self.info(arg.value) {
                        self.module.set_global_infos(Some(infos));
                    }
                }
                _ => {}
            }
        }
    }

    fn info(&mut self, id: Id<Node>) -> Read<AttrsId> {
        let value = self.eval(id)?;
        let span = self.span(id);
        let AttrValue::Map(fields) = self.attr_value(&value, span)? else {
            return Err(self.error("relax-attr", "a dictionary is expected here", span));
        };
        let key = self.store.name("DictAttrs");
        Ok(self.store.attrs(Attrs { key, fields }))
    }

    fn member(&mut self, stmt: &Stmt) {
        let tree = self.tree;
        match stmt.kind {
            StmtKind::Def(def) => self.member_function(*tree.def(def)),
            StmtKind::Assign { target, value } => {
                let Some(name) = tree.name(target) else { return };
                match self.eval(value) {
                    Ok(Value::Expr(id)) if matches!(self.store.expr(id), Expr::Extern(_)) => {
                        let name = self.store.name(name);
                        self.module.set_function(name, id);
                    }
                    Ok(_) => {
                        self.error_at("relax-syntax", "a module holds functions and `R.ExternFunc`", value);
                    }
                    Err(Stop) => {
                        let name = self.store.name(name);
                        self.left_out.push(name);
                    }
                }
            }
            StmtKind::Expr(_) | StmtKind::Pass | StmtKind::Broken => {}
            _ => {
                self.error("relax-syntax", "a function is expected here", stmt.span);
            }
        }
    }

    fn member_function(&mut self, def: Def) {
        let tree = self.tree;
        if tir::is_macro(tree, &def) {
            // It is written out where it is used.
            return;
        }
        let name = self.store.name(tree.text(def.name));
        if self.is_python(&def) {
            let function = self.python_function(&def);
            self.module.set_function(name, function);
            return;
        }
        let function = match self.decorator(&def) {
            Some(decorator) => self.function(&def, &decorator, !decorator.private),
            None => self.other_function(&def),
        };
        match function {
            Ok(function) => self.module.set_function(name, function),
            Err(Stop) => self.left_out.push(name),
        }
    }

    /// Reads a function that is not one of Relax.
    fn other_function(&mut self, def: &Def) -> Read<ExprId> {
        if tir::is_prim_func(self.tree, def) {
            let around = tir::Around {
                modules: &self.module_names,
                type_vars: &self.type_vars,
                strings: &self.strings_of_metadata,
                given: self.given,
            };
            let function = tir::function(self.store, self.tree, def, around, &mut self.diagnostics).ok_or(Stop)?;
            return Ok(self.store.add(Expr::PrimFunc(function)));
        }
        Err(self.error("relax-syntax", "a function is decorated with `@R.function` or `@T.prim_func`", def.name))
    }
}

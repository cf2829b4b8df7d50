//! Writes the text that a [`Plan`] describes, from the first character to the last.

use super::meta::MetaKey;
use super::plan::{Item, Plan, own_attrs, sorted_adts, sorted_functions};
use super::{LineInfo, LineRole, NameInfo, Named, Printed, metadata};
use crate::ir::{Clause, Expr, ExprId, Function, IdMap, Module, PatternId, Store, Type};
use std::fmt::Write;

mod leaf;

pub(super) struct Emitter<'p> {
    plan: &'p Plan<'p>,
    store: &'p Store,
    out: String,
    lines: Vec<LineInfo>,
    names: Vec<NameInfo>,
    indent: usize,
    /// Texts of types, in one string.
    types: String,
    type_texts: IdMap<Type, (u32, u32)>,
    steps: Vec<Step>,
}

/// The remaining steps; the next one is on top.
enum Step {
    Text(&'static str),
    Indent,
    Dedent,
    /// A new line.
    Line(LineRole, ExprId),
    /// A node in full, with its type behind it.
    Full(ExprId),
    /// A scope of a node, from this item on, then its result.
    Scope {
        scope: u32,
        item: u32,
        result: ExprId,
    },
    Comment(ExprId),
    /// The lets of a node, from this one on. True if the line has begun.
    Lets(ExprId, u32, bool),
    /// The items of the scope after a let.
    Stretch(u32, u32),
    Pattern(ExprId, PatternId),
}

impl<'p> Emitter<'p> {
    pub(super) fn new(plan: &'p Plan<'p>) -> Self {
        Emitter {
            plan,
            store: plan.store,
            // Most lines bind a node and are about this long with their types.
            out: String::with_capacity(if plan.options.types { 96 } else { 32 } * plan.n_lines()),
            lines: Vec::with_capacity(plan.n_lines()),
            names: Vec::with_capacity(plan.n_lines()),
            indent: 0,
            types: String::new(),
            type_texts: IdMap::new(),
            steps: Vec::new(),
        }
    }

    /// Ends the text with the metadata section.
    pub(super) fn finish(mut self) -> Printed {
        if self.plan.options.metadata
            && !self.plan.meta.groups().is_empty()
            && let Some(json) = metadata::section(self.plan)
        {
            // A module ends with a newline, which makes this an empty line.
            if self.out.ends_with('\n') {
                self.begin(LineRole::Blank, None);
            }
            self.out.push('\n');
            self.begin(LineRole::Metadata, None);
            self.out.push_str("#[metadata]\n");
            for line in json.split_inclusive('\n') {
                self.begin(LineRole::Metadata, None);
                self.out.push_str(line);
            }
        }
        Printed { text: self.out, lines: self.lines, names: self.names }
    }

    fn begin(&mut self, role: LineRole, node: Option<ExprId>) {
        self.lines.push(LineInfo { start: self.out.len() as u32, role, node });
    }

    fn line(&mut self, role: LineRole, node: ExprId) {
        self.out.push('\n');
        self.begin(role, Some(node));
        self.out.extend(std::iter::repeat_n(' ', self.indent));
    }

    fn header(&mut self) {
        if self.plan.options.header {
            self.begin(LineRole::Header, None);
            self.out.push_str("#[version = \"0.0.5\"]\n");
        }
    }

    pub(super) fn module(&mut self, module: &Module) {
        self.header();
        let mut first = true;
        let store = self.store;
        for adt in sorted_adts(store, module) {
            self.separate(&mut first);
            let adt = store.adt(adt);
            self.begin(LineRole::Definition, None);
            let _ = write!(self.out, "type {}", store.str(adt.name));
            if !adt.type_params.is_empty() {
                let names: Vec<&str> = adt.type_params.iter().map(|p| store.str(store.type_var(*p).name)).collect();
                let _ = write!(self.out, "[{}]", names.join(", "));
            }
            self.out.push_str(" {\n  ");
            // TVM's empty definition has a line with only its indentation.
            self.lines.push(LineInfo { start: self.out.len() as u32 - 2, role: LineRole::Constructor, node: None });
            for (i, &ctor) in adt.ctors.iter().enumerate() {
                if i > 0 {
                    self.out.push('\n');
                    self.begin(LineRole::Constructor, None);
                    self.out.push_str("  ");
                }
                self.ctor(ctor);
                self.out.push(',');
            }
            self.out.push('\n');
            self.begin(LineRole::Close, None);
            self.out.push_str("}\n");
        }
        for (name, function) in sorted_functions(store, module) {
            self.separate(&mut first);
            let first = self.names.len();
            self.begin(LineRole::Definition, Some(function));
            let _ = write!(self.out, "def @{}", store.str(name));
            self.function(function);
            self.run();
            let end = self.lines.len() as u32;
            self.names[first..].iter_mut().for_each(|name| name.end = end);
            self.out.push('\n');
        }
    }

    fn separate(&mut self, first: &mut bool) {
        if !*first {
            self.begin(LineRole::Blank, None);
            self.out.push('\n');
        }
        *first = false;
    }

    pub(super) fn root(&mut self) {
        self.header();
        if let Some(root) = self.plan.root {
            let first = self.plan.scopes[0].items.first().copied();
            let (role, node) = self.line_of(first, root);
            self.begin(role, Some(node));
            self.steps.push(Step::Scope { scope: 0, item: 0, result: root });
            self.run();
        }
    }

    fn run(&mut self) {
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Text(text) => self.out.push_str(text),
                Step::Indent => self.indent += 2,
                Step::Dedent => self.indent -= 2,
                Step::Line(role, node) => self.line(role, node),
                Step::Full(id) => self.full(id, false),
                Step::Comment(id) => self.comment(id),
                Step::Scope { scope, item, result } => self.scope(scope, item, result),
                Step::Lets(owner, index, begun) => self.lets(owner, index, begun),
                Step::Stretch(scope, item) => self.stretch(scope, item),
                Step::Pattern(owner, pattern) => self.pattern(owner, pattern),
            }
        }
    }

    /// Writes the items of a scope one by one, then its result. The line has begun, so the first of
    /// them continues it.
    fn scope(&mut self, scope: u32, item: u32, result: ExprId) {
        let plan = self.plan;
        let data = &plan.scopes[scope as usize];
        if let Some(&next) = data.items.get(item as usize) {
            let after = data.items.get(item as usize + 1).copied();
            let (role, node) = self.line_of(after, result);
            self.steps.push(Step::Scope { scope, item: item + 1, result });
            self.steps.push(Step::Line(role, node));
            self.item(next);
        } else if data.inline {
            self.steps.push(Step::Full(result));
        } else {
            self.operand(result);
        }
    }

    /// Returns the role and node of a line that starts with this item, or with the result.
    fn line_of(&self, item: Option<Item>, result: ExprId) -> (LineRole, ExprId) {
        match item {
            Some(Item::Temp(id)) => (LineRole::Binding, id),
            Some(Item::FreeVar(var)) => (LineRole::FreeVar, self.store.var_use(var).unwrap_or(result)),
            None if matches!(self.store.expr(result), Expr::Let { .. }) => (LineRole::Let, result),
            None => (LineRole::Result, result),
        }
    }

    /// Writes `%0 = ...;` or `free_var %x: T;`.
    fn item(&mut self, item: Item) {
        match item {
            Item::Temp(id) => {
                let start = self.out.len();
                self.temp(id);
                self.note(start, Named::Node(id));
                self.out.push_str(" = ");
                self.steps.push(Step::Text(";"));
                self.full(id, true);
            }
            Item::FreeVar(var) => {
                self.out.push_str("free_var ");
                self.binder(var, false, false);
                self.out.push(';');
            }
        }
    }

    /// Writes a node in full. Nested nodes are left as steps.
    fn full(&mut self, id: ExprId, own_line: bool) {
        let store = self.store;
        match store.expr(id) {
            Expr::Var(_) | Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) | Expr::Constant(_) => self.operand(id),
            Expr::Tuple(fields) => {
                self.out.push('(');
                self.operands(store.items(fields));
                self.out.push_str(if fields.len() == 1 { ",)" } else { ")" });
                self.comment(id);
            }
            Expr::TupleGetItem { tuple, index } => {
                self.operand(tuple);
                let _ = write!(self.out, ".{index}");
                self.comment(id);
            }
            Expr::Call { .. } => {
                self.call(id);
                self.comment(id);
            }
            Expr::RefCreate(value) => self.wrapped("ref(", &[value]),
            Expr::RefRead(reference) => self.wrapped("ref_read(", &[reference]),
            Expr::RefWrite { reference, value } => self.wrapped("ref_write(", &[reference, value]),
            Expr::If { cond, then, other } => {
                self.out.push_str("if (");
                self.operand(cond);
                self.out.push_str(") ");
                self.body(id, 1, other);
                self.steps.push(Step::Text("else "));
                self.steps.push(Step::Text(" "));
                self.body(id, 0, then);
            }
            Expr::Function(_) => {
                self.steps.push(Step::Comment(id));
                self.out.push_str("fn ");
                self.function(id);
            }
            Expr::Match { data, clauses, complete } => {
                self.out.push_str(if complete { "match (" } else { "match? (" });
                self.operand(data);
                self.out.push_str(") {");
                self.steps.extend([Step::Text("}"), Step::Line(LineRole::Close, id), Step::Dedent]);
                for (i, clause) in store.items(clauses).enumerate().rev() {
                    let Clause { pattern, body } = *store.clause(clause);
                    self.steps.push(Step::Text(","));
                    self.body(id, i, body);
                    self.steps.extend([Step::Text(" => "), Step::Pattern(id, pattern), Step::Line(LineRole::Arm, body)]);
                }
                if clauses.is_empty() {
                    self.steps.push(Step::Line(LineRole::Arm, id));
                }
                self.steps.push(Step::Indent);
            }
            Expr::Let { .. } if own_line => {
                self.out.push('(');
                self.steps.extend([
                    Step::Text(")"),
                    Step::Line(LineRole::Close, id),
                    Step::Dedent,
                    Step::Lets(id, 0, true),
                    Step::Line(LineRole::Let, id),
                    Step::Indent,
                ]);
            }
            Expr::Let { .. } => self.steps.push(Step::Lets(id, 0, true)),
            // Expressions of Relax only, which its own printer writes.
            other => {
                let _ = write!(self.out, "{:?}", other.kind());
            }
        }
    }

    /// Writes `{`, a scope of `owner`, `}` as steps.
    fn body(&mut self, owner: ExprId, index: usize, result: ExprId) {
        let scope = self.plan.parts.get(&owner).and_then(|parts| parts.scopes.get(index)).copied().unwrap_or(0);
        let (role, node) = self.line_of(self.plan.scopes[scope as usize].items.first().copied(), result);
        self.steps.extend([
            Step::Text("}"),
            Step::Line(LineRole::Close, owner),
            Step::Dedent,
            Step::Scope { scope, item: 0, result },
            Step::Line(role, node),
            Step::Indent,
            Step::Text("{"),
        ]);
    }

    /// Writes the lets of a chain, one line each, then the body of the last one.
    fn lets(&mut self, owner: ExprId, index: u32, begun: bool) {
        let plan = self.plan;
        let Some(parts) = plan.parts.get(&owner) else { return };
        let Some(line) = parts.lets.get(index as usize) else {
            if let (Some(last), Some(&scope)) = (parts.last, parts.scopes.first()) {
                let (role, node) = self.line_of(plan.scopes[scope as usize].items.first().copied(), last);
                if !begun {
                    self.line(role, node);
                }
                self.steps.push(Step::Scope { scope, item: 0, result: last });
            }
            return;
        };
        if !begun {
            self.line(LineRole::Let, line.node);
        }
        let Expr::Let { var, value, body: _ } = self.store.expr(line.node) else { return };
        self.out.push_str("let ");
        self.binder(var, plan.malformed.contains(&(line.node, 0)), true);
        self.out.push_str(" = ");
        self.steps.extend([Step::Lets(owner, index + 1, false), Step::Stretch(line.scope, 0), Step::Text(";")]);
        if line.inline {
            self.full(value, false);
        } else {
            self.operand(value);
        }
    }

    fn stretch(&mut self, scope: u32, item: u32) {
        let plan = self.plan;
        if let Some(&next) = plan.scopes[scope as usize].items.get(item as usize) {
            self.steps.push(Step::Stretch(scope, item + 1));
            let (role, node) = match next {
                Item::Temp(id) => (LineRole::Binding, id),
                Item::FreeVar(var) => match self.store.var_use(var) {
                    Some(used) => (LineRole::FreeVar, used),
                    None => return,
                },
            };
            self.line(role, node);
            self.item(next);
        }
    }

    fn function(&mut self, id: ExprId) {
        let store = self.store;
        let Some(Function { params, type_params, ret, body, attrs, device, pure: _ }) = store.as_function(id) else { return };
        if !type_params.is_empty() {
            self.out.push('[');
            for (i, param) in store.items(type_params).enumerate() {
                self.comma(i);
                self.out.push_str(store.str(store.type_var(param).name));
            }
            self.out.push(']');
        }
        self.out.push('(');
        let mut count = 0;
        for param in store.items(params) {
            self.comma(count);
            self.binder(param, self.plan.malformed.contains(&(id, count as u32)), false);
            count += 1;
        }
        if let Some(attrs) = attrs {
            for (i, (name, value)) in store.attrs_of_id(attrs).fields.iter().enumerate() {
                self.comma(count);
                count += 1;
                let _ = write!(self.out, "{}=", store.str(*name));
                self.value(id, value, &mut vec![i as u32]);
            }
        }
        if let Some(device) = device {
            self.comma(count);
            self.out.push_str("virtual_device=");
            self.object(device);
        }
        self.out.push_str(") ");
        if let Some(ret) = ret {
            self.out.push_str("-> ");
            self.ty(ret);
            self.out.push(' ');
        }
        self.body(id, 0, body);
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(", ");
        }
    }

    fn call(&mut self, id: ExprId) {
        let store = self.store;
        let Some(call) = store.call(id) else { return };
        if let Expr::Ctor(ctor) = store.expr(call.callee) {
            self.out.push_str(store.str(store.ctor(ctor).name));
            if store.ctor(ctor).inputs.is_empty() {
                return;
            }
        } else {
            self.operand(call.callee);
        }
        self.out.push('(');
        self.operands(store.items(call.args));
        if let Some(attrs) = call.attrs {
            let count = call.args.len();
            if own_attrs(store, call.callee, attrs) {
                self.attrs(id, attrs, call.callee, count);
            } else {
                self.comma(count);
                self.meta(&MetaKey::Attrs(id));
            }
        }
        self.out.push(')');
    }
}

//! Expressions as JSON: those that an attribute holds, as the extent of an `arange` that a gradient makes, and whole programs for
//! tests of the reader. They get the fields that `VisitAttrs` of their C++ classes names.

#[cfg(test)]
use super::super::PrintOptions;
use super::super::meta::expr_key;
#[cfg(test)]
use super::Plan;
use super::node::{Node, Source};
use super::{Graph, Handle, Identity, NULL};
#[cfg(test)]
use crate::ir::{Adt, Module, Store};
use crate::ir::{AttrsId, CtorId, Expr, ExprId, Id, List, Name, Pattern, PatternId, VarId};

/// The JSON of a program of Relay.
#[cfg(test)]
pub(crate) fn save_json(store: &Store, module: &Module) -> String {
    let plan = Plan::of_module(store, module, &PrintOptions::default());
    let mut graph = Graph::new(&plan);
    let root = graph.module(module);
    graph.reach(root);
    graph.write(root)
}

impl Graph<'_> {
    #[cfg(test)]
    fn module(&mut self, module: &Module) -> Handle {
        let (mut functions, mut types) = (Vec::new(), Vec::new());
        for (name, function) in module.functions() {
            functions.extend([self.handle(Source::Global(*name)), self.part(*function)]);
        }
        for (name, adt) in module.adts() {
            types.extend([self.type_name(*name), self.adt(self.store.adt(*adt))]);
        }
        let functions = self.written(Node { data: functions, ..Node::new("Map") });
        let types = self.written(Node { data: types, ..Node::new("Map") });
        self.written(Node::new("IRModule").field("functions", functions).field("type_definitions", types))
    }

    /// Mentions a node that is made already.
    fn written(&mut self, node: Node) -> Handle {
        self.handle(Source::Written(node))
    }

    fn array<T>(&mut self, items: List<T>, mut make: impl FnMut(&mut Self, Id<T>) -> Handle) -> Handle {
        let items: Vec<Id<T>> = self.store.items(items).collect();
        let items = items.into_iter().map(|item| make(self, item)).collect();
        self.handle(Source::Array(items))
    }

    pub(super) fn part(&mut self, expr: ExprId) -> Handle {
        match self.store.expr(expr) {
            Expr::Global(name) => self.handle(Source::Global(name)),
            _ => self.shared(Identity::Expr(expr), Source::Expr(expr)),
        }
    }

    fn type_name(&mut self, name: Id<Name>) -> Handle {
        let name = self.string(self.store.str(name));
        self.written(Node::new("GlobalTypeVar").field("name_hint", name).text("kind", "5"))
    }

    #[cfg(test)]
    fn adt(&mut self, adt: &Adt) -> Handle {
        let header = self.type_name(adt.name);
        let params = adt.type_params.iter().map(|param| self.type_var(*param)).collect();
        let params = self.handle(Source::Array(params));
        let ctors = adt.ctors.iter().map(|ctor| self.ctor(*ctor)).collect();
        let ctors = self.handle(Source::Array(ctors));
        self.written(Node::new("TypeData").field("header", header).field("type_vars", params).field("constructors", ctors))
    }

    fn ctor(&mut self, ctor: CtorId) -> Handle {
        let node = self.ctor_node(ctor);
        self.written(node)
    }

    fn ctor_node(&mut self, ctor: CtorId) -> Node {
        let ctor = self.store.ctor(ctor);
        let (name, inputs) = (self.string(self.store.str(ctor.name)), self.types(&ctor.inputs));
        let adt = self.type_name(ctor.adt);
        let node = Node::new("relay.Constructor").field("name_hint", name).field("inputs", inputs);
        node.field("belong_to", adt).text("tag", ctor.tag.to_string())
    }

    fn pattern(&mut self, pattern: PatternId) -> Handle {
        let node = match *self.store.pattern(pattern) {
            Pattern::Wildcard => Node::new("relay.PatternWildcard"),
            Pattern::Var(var) => Node::new("relay.PatternVar").field("var", self.variable(var)),
            Pattern::Ctor { ctor, fields } => {
                let ctor = self.ctor(ctor);
                let fields = self.array(fields, Self::pattern);
                Node::new("relay.PatternConstructor").field("constructor", ctor).field("patterns", fields)
            }
            Pattern::Tuple(fields) => Node::new("relay.PatternTuple").field("patterns", self.array(fields, Self::pattern)),
        };
        self.written(node)
    }

    fn variable(&mut self, var: VarId) -> Handle {
        match self.store.var_use(var) {
            Some(expr) => self.part(expr),
            None => {
                let node = self.variable_node(var);
                self.written(node)
            }
        }
    }

    /// The node of an expression that no metadata section holds.
    pub(super) fn saved(&mut self, id: ExprId) -> Node {
        let store = self.store;
        let node = Node::new(expr_key(store, id));
        let node = match store.expr(id) {
            Expr::Ctor(ctor) => return self.ctor_node(ctor),
            Expr::Tuple(fields) => node.field("fields", self.array(fields, Self::part)),
            Expr::TupleGetItem { tuple, index } => node.field("tuple_value", self.part(tuple)).text("index", index.to_string()),
            Expr::Call { callee, args, .. } => {
                let call = store.call(id).expect("it is one");
                let (op, args) = (self.part(callee), self.array(args, Self::part));
                let attrs = call.attrs.map_or(NULL, |attrs| self.handle(Source::Attrs(attrs)));
                let types = call.info.map_or(&[][..], |info| &store.call_info(info).type_args);
                node.field("op", op).field("args", args).field("attrs", attrs).field("type_args", self.types(types))
            }
            Expr::Let { var, value, body } => {
                let (var, value) = (self.variable(var), self.part(value));
                node.field("var", var).field("value", value).field("body", self.part(body))
            }
            Expr::If { cond, then, other } => {
                let (cond, then) = (self.part(cond), self.part(then));
                node.field("cond", cond).field("true_branch", then).field("false_branch", self.part(other))
            }
            Expr::Function(function) => {
                let function = store.function(function);
                let params = self.array(function.params, Self::variable);
                let (body, ret) = (self.part(function.body), self.optional_type(function.ret));
                let type_params = self.array(function.type_params, Self::type_var);
                let attrs = function.attrs.map_or(NULL, |attrs| self.dictionary(attrs));
                let node = node.field("params", params).field("body", body).field("ret_type", ret);
                node.field("type_params", type_params).field("attrs", attrs)
            }
            Expr::Match { data, clauses, complete } => {
                let data = self.part(data);
                let clauses = self.array(clauses, |graph, clause| {
                    let clause = graph.store.clause(clause);
                    let (lhs, rhs) = (graph.pattern(clause.pattern), graph.part(clause.body));
                    graph.written(Node::new("relay.Clause").field("lhs", lhs).field("rhs", rhs))
                });
                node.field("data", data).field("clauses", clauses).text("complete", u8::from(complete).to_string())
            }
            Expr::RefCreate(value) => node.field("value", self.part(value)),
            Expr::RefRead(reference) => node.field("ref", self.part(reference)),
            Expr::RefWrite { reference, value } => {
                let (reference, value) = (self.part(reference), self.part(value));
                node.field("ref", reference).field("value", value)
            }
            _ => node,
        };
        let device = if let Expr::Function(function) = store.expr(id) { store.function(function).device } else { None };
        let (device, ty) = (self.device(device), self.optional_type(store.checked_type(id)));
        node.field("virtual_device_", device).field("span", NULL).field("_checked_type_", ty)
    }

    /// `DictAttrs`: its entries stand in a map.
    fn dictionary(&mut self, attrs: AttrsId) -> Handle {
        let attrs = self.store.attrs_of_id(attrs);
        let keys = attrs.fields.iter().map(|(name, _)| self.store.str(*name).to_owned()).collect();
        let data = attrs.fields.iter().map(|(_, value)| self.value(value)).collect();
        let map = self.handle(Source::Map(keys, data));
        self.written(Node::new("DictAttrs").field("__dict__", map))
    }
}

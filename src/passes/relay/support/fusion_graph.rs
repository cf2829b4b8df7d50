//! The dataflow graph that FuseOps partitions: consumers and producers, and the patterns of their edges.

use super::{is_external, tensor_type};
use crate::diag::Diagnostic;
use crate::ir::walk::for_each_child;
use crate::ir::{DType, Dim, Expr, ExprId, IdMap, Store, Type, TypeId};
use crate::ops::{self, OpPattern};
use crate::pass::PassError;
use crate::passes::any::fusion::Node;

/// The nodes in post-order, so producers come before their consumers.
pub struct Graph {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The expression of each.
    pub exprs: Vec<ExprId>,
    number: IdMap<Expr, usize>,
}

impl Graph {
    /// Returns the number of the node of an expression. Functions and operators have none.
    pub fn number(&self, id: ExprId) -> Option<usize> {
        self.number.get(id).copied()
    }

    /// Builds the graph of everything reachable from `root`. Fails on an operator without a pattern.
    pub fn build(store: &mut Store, root: ExprId) -> Result<Graph, PassError> {
        let mut builder = Builder { edges: Vec::new(), external: IdMap::new(), order: Vec::new() };
        builder.walk(store, root)?;
        let mut graph = Graph { nodes: Vec::new(), exprs: Vec::new(), number: IdMap::new() };
        for (expr, pattern) in builder.order {
            graph.number.insert(expr, graph.nodes.len());
            let external = builder.external.contains(expr);
            graph.nodes.push(Node { pattern, external, outputs: Vec::new() });
            graph.exprs.push(expr);
        }
        for (from, to, pattern) in builder.edges {
            if let (Some(from), Some(to)) = (graph.number(from), graph.number(to)) {
                graph.nodes[from].outputs.push((to, pattern));
            }
        }
        Ok(graph)
    }
}

struct Builder {
    edges: Vec<(ExprId, ExprId, OpPattern)>,
    external: IdMap<Expr, ()>,
    order: Vec<(ExprId, OpPattern)>,
}

enum Step {
    Enter(ExprId),
    Leave(ExprId, OpPattern),
}

impl Builder {
    fn walk(&mut self, store: &mut Store, root: ExprId) -> Result<(), PassError> {
        let mut seen: IdMap<Expr, ()> = IdMap::new();
        let mut stack = vec![Step::Enter(root)];
        self.keep(root);
        while let Some(step) = stack.pop() {
            let id = match step {
                Step::Leave(id, pattern) => {
                    self.order.push((id, pattern));
                    continue;
                }
                Step::Enter(id) => id,
            };
            if seen.insert(id, ()).is_some() {
                continue;
            }
            let Some(pattern) = self.enter(store, id)? else { continue };
            if !matches!(store.expr(id), Expr::Function(_)) {
                stack.push(Step::Leave(id, pattern));
            }
            let first = stack.len();
            for_each_child(store, id, |child| stack.push(Step::Enter(child)));
            stack[first..].reverse();
        }
        Ok(())
    }

    fn keep(&mut self, id: ExprId) {
        self.external.insert(id, ());
    }

    /// Notes the operands of a node and returns its pattern; `None` when the expression is no node
    /// and nothing inside it is to be visited.
    fn enter(&mut self, store: &mut Store, id: ExprId) -> Result<Option<OpPattern>, PassError> {
        let pattern = match store.expr(id) {
            Expr::Op(_) | Expr::Global(_) | Expr::Ctor(_) => return Ok(None),
            Expr::Function(function) => {
                if is_external(store, id) {
                    return Ok(None);
                }
                let function = *store.function(function);
                let params: Vec<_> = store.items(function.params).collect();
                for param in params {
                    let used = store.use_var(param);
                    self.keep(used);
                }
                self.keep(function.body);
                OpPattern::Opaque
            }
            Expr::Constant(tensor) => {
                let tensor = store.tensor(tensor);
                let simple = [DType::I32, DType::I64, DType::F32, DType::F64, DType::BOOL].contains(&tensor.dtype);
                if tensor.is_scalar() && simple { OpPattern::ElemWise } else { OpPattern::Opaque }
            }
            Expr::Call { callee, args, .. } => {
                let pattern = call_pattern(store, id, callee)?;
                let shape = tensor_type(store, id).map(|t| t.0);
                for arg in store.items(args) {
                    // A broadcast that keeps the shape of an input is element-wise towards it.
                    let same =
                        pattern == OpPattern::Broadcast && shape.is_some() && tensor_type(store, arg).map(|t| t.0) == shape;
                    self.edges.push((arg, id, if same { OpPattern::ElemWise } else { pattern }));
                }
                if !matches!(store.expr(callee), Expr::Op(_)) {
                    self.edges.push((callee, id, OpPattern::Opaque));
                }
                self.keep(callee);
                pattern
            }
            Expr::Tuple(fields) => {
                for field in store.items(fields) {
                    if tensor_type(store, field).is_some() {
                        self.edges.push((field, id, OpPattern::Injective));
                    } else {
                        self.keep(field);
                    }
                }
                OpPattern::Tuple
            }
            Expr::TupleGetItem { tuple, .. } => {
                if tuple_of_tensors(store, store.checked_type(tuple)) {
                    self.edges.push((tuple, id, OpPattern::Injective));
                    OpPattern::Injective
                } else {
                    self.keep(tuple);
                    OpPattern::Opaque
                }
            }
            Expr::Let { var, value, body } => {
                let used = store.use_var(var);
                self.keep(used);
                self.keep(value);
                self.keep(body);
                OpPattern::Opaque
            }
            _ => {
                for_each_child(store, id, |child| {
                    self.external.insert(child, ());
                });
                OpPattern::Opaque
            }
        };
        Ok(Some(pattern))
    }
}

fn call_pattern(store: &Store, call: ExprId, callee: ExprId) -> Result<OpPattern, PassError> {
    let Expr::Op(op) = store.expr(callee) else { return Ok(OpPattern::Opaque) };
    let info = ops::info(op);
    let dynamic = store.checked_type(call).is_some_and(|ty| is_dynamic(store, ty));
    if dynamic && is_data_dependent(info.name) {
        return Ok(OpPattern::Opaque);
    }
    info.pattern.ok_or_else(|| {
        let text = format!("Attribute TOpPattern has not been registered for {}", info.name);
        vec![Diagnostic::error("relay-no-fuse-pattern", text, store.source_span(call))]
    })
}

fn tuple_of_tensors(store: &Store, ty: Option<TypeId>) -> bool {
    match ty.map(|ty| store.type_of_id(ty)) {
        Some(Type::Tuple(fields)) => fields.iter().all(|f| matches!(store.type_of_id(*f), Type::Tensor { .. })),
        _ => false,
    }
}

/// True if a type has an extent that is not a number (TVM's `IsDynamic`). Types nest at most as
/// deep as the parser lets them, so this may recurse.
pub fn is_dynamic(store: &Store, ty: TypeId) -> bool {
    match store.type_of_id(ty) {
        Type::Tensor { shape, .. } => shape.iter().any(|dim| !matches!(dim, Dim::Int { .. })),
        Type::Tuple(fields) => fields.iter().any(|field| is_dynamic(store, *field)),
        Type::Ref(inner) => is_dynamic(store, *inner),
        Type::Func { params, ret, .. } => params.iter().any(|param| is_dynamic(store, *param)) || is_dynamic(store, *ret),
        _ => false,
    }
}

/// True if the shape of the result depends on the elements of an input (TVM's `IsDataDependent`).
fn is_data_dependent(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "arange",
        "argwhere",
        "broadcast_to",
        "dyn.broadcast_to",
        "dyn.expand_dims",
        "dyn.full",
        "dyn.image.resize2d",
        "dyn.nn.pad",
        "dyn.nn.upsampling",
        "dyn.nn.upsampling3d",
        "dyn.one_hot",
        "dyn.ones",
        "dyn.reshape",
        "dyn.sparse_to_dense",
        "dyn.squeeze",
        "dyn.strided_slice",
        "dyn.tile",
        "dyn.topk",
        "dyn.zeros",
        "sparse_fill_empty_rows",
        "stft",
    ];
    NAMES.contains(&name)
}

//! FuseOps: groups of calls that one kernel can compute become primitive functions.
//!
//! [`fusion`](crate::passes::any::fusion) decides which calls form a group. Here each group becomes a
//! call of a function literal with the attribute `Primitive=1`. Its inputs from outside the group become
//! the parameters `p0`, `p1`, ... in order of first use, each once. A group of calls that only change
//! the shape is marked `relay.reshape_only=1` as well.
//!
//! At level 0 every call is wrapped by itself. Functions that are primitive already stay, and
//! `annotation.stop_fusion` is removed after it has kept its two sides apart.
//!
//! Not modelled: the limit on arguments that a TVM target may set.
//!
//! Source: `src/relay/transforms/fuse_ops.cc`, `src/relay/analysis/graph_partitioner.cc`.

use super::support::fusion_graph::Graph;
use super::support::{dict_attrs, is_external, is_primitive, is_qnn_canonicalisable};
use crate::ir::rewrite::{ExprMutator, Visit, rewrite};
use crate::ir::{AttrValue, Expr, ExprId, Function, IdMap, List, Module, Store, Type, VarId};
use crate::ops;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::passes::any::fusion::{Groups, partition};
use rustc_hash::FxHashMap;

/// Wraps each group of calls that one kernel can compute in a primitive function.
pub static SPEC: PassSpec = PassSpec {
    name: "FuseOps",
    info_name: "FuseOps",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType"],
    params: &[Param {
        name: "fuse_opt_level",
        default: "-1",
        doc: explained("0 wraps each call by itself, more fuses; -1 takes the opt level of the context."),
    }],
    config: &["relay.FuseOps.max_depth", "relay.FuseOps.link_params"],
    summary: "Groups calls that one kernel can compute into primitive functions.",
    doc: explained(
        "Each operator has a pattern: element-wise, broadcast, injective, reduction, complex with \
element-wise work behind it, opaque. A call joins the group of its *post-dominator*, the call that everything \
computed from it goes through, if all calls between them are simple enough: element-wise and broadcasting \
calls into one another, into reductions and behind convolutions or dense layers; calls that move elements \
among each other; and at last calls into tuples that were fused themselves.\n\n\
A group becomes a function with `Primitive=1` that is called on the spot. Scalar constants stay inside; \
other constants are arguments, unless `relay.FuseOps.link_params` is set. A group has at most \
`relay.FuseOps.max_depth` (256) nodes. At level 0 each call is a group of its own.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
  %0 = add(%x, 1f);
  %1 = exp(%0);
  multiply(%1, %y)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %2 = fn (%p0: Tensor[(4), float32], %p1: Tensor[(4), float32], Primitive=1) -> Tensor[(4), float32] {
    %0 = add(%p0, 1f);
    %1 = exp(%0);
    multiply(%1, %p1)
  };
  %2(%x, %y)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let level = match arguments.int("fuse_opt_level") {
        -1 => cx.context.opt_level,
        level => level,
    };
    let max_depth = cx.config_int("relay.FuseOps.max_depth", 256);
    let link_params = cx.config_int("relay.FuseOps.link_params", i64::from(links_params(cx.store, module))) != 0;
    let graph = Graph::build(cx.store, function)?;
    let groups = partition(&graph.nodes, level != 0, usize::try_from(max_depth).unwrap_or(usize::MAX));
    let mut members = vec![Vec::new(); graph.nodes.len()];
    for node in 0..graph.nodes.len() {
        members[groups.root(node)].push(node);
    }
    let mut fuse = Fuse { graph, groups, members, link_params, done: IdMap::new() };
    Ok(rewrite(cx.store, function, &mut fuse))
}

/// True if the executor that the module names links parameters.
fn links_params(store: &Store, module: &Module) -> bool {
    let Some(AttrValue::Object(executor)) = store.attr(module.attrs(), "executor") else { return false };
    let fields = &store.object(*executor).fields;
    fields.iter().any(|(_, value)| match value {
        AttrValue::Map(entries) => {
            entries.iter().any(|(name, value)| store.str(*name) == "link-params" && store.value_int(value) == Some(1))
        }
        _ => false,
    })
}

struct Fuse {
    graph: Graph,
    groups: Groups,
    /// The nodes of each group in order, by its root.
    members: Vec<Vec<usize>>,
    link_params: bool,
    /// The replacement of each node, as nodes outside of its group see it.
    done: IdMap<Expr, ExprId>,
}

impl ExprMutator for Fuse {
    fn rule(&self) -> &'static str {
        "calls fused into one function"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        if is_external(store, id) || is_primitive(store, id) { Visit::Keep } else { Visit::Descend }
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let result = self.fuse(store, pre, post).unwrap_or(post);
        self.done.insert(pre, result);
        result
    }
}

impl Fuse {
    /// Returns the replacement of the last node of a group. A node inside a group is left as it is: the
    /// last node makes the whole function, so that it is one rewrite.
    fn fuse(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> Option<ExprId> {
        let node = self.graph.number(pre)?;
        let is_root = self.groups.root(node) == node;
        match store.expr(pre) {
            Expr::Call { callee, .. } => {
                let Expr::Op(op) = store.expr(callee) else { return None };
                let info = ops::info(op);
                if info.non_computational && !is_qnn_canonicalisable(info.name) {
                    return None;
                }
                if info.name == "annotation.stop_fusion" {
                    store.set_rule("stop_fusion removed");
                    return store.items(store.call(post)?.args).next();
                }
            }
            Expr::TupleGetItem { tuple, .. } => {
                // A projection from an opaque operator stays outside.
                let tuple = self.graph.number(tuple)?;
                if self.groups.root(tuple) != self.groups.root(node) {
                    return None;
                }
            }
            _ => return None,
        }
        if !is_root {
            return None;
        }
        if self.members[node].len() == 1 {
            store.set_rule("call wrapped as a primitive function");
        }
        Some(self.make_function(store, pre, node))
    }

    fn make_function(&mut self, store: &mut Store, pre: ExprId, root: usize) -> ExprId {
        let mut inside = Inside::default();
        let mut has_call = false;
        let mut reshape_only = true;
        for i in 0..self.members[root].len() {
            let member = self.members[root][i];
            let id = self.graph.exprs[member];
            let expr = match store.expr(id) {
                Expr::Call { callee, args, info } => {
                    has_call = true;
                    reshape_only &= matches!(store.expr(callee), Expr::Op(op) if ops::info(op).reshape);
                    Expr::Call { callee, args: self.arguments(store, root, args, &mut inside), info }
                }
                Expr::Tuple(fields) => Expr::Tuple(self.arguments(store, root, fields, &mut inside)),
                Expr::TupleGetItem { tuple, index } => {
                    Expr::TupleGetItem { tuple: self.argument(store, root, tuple, &mut inside), index }
                }
                _ => {
                    inside.made.insert(id, id);
                    continue;
                }
            };
            let ty = store.checked_type(id);
            let made = store.rebuild(id, expr, ty);
            inside.made.insert(id, made);
        }
        let tensors_only = inside.params.iter().all(|param| {
            let annotation = store.var_data(*param).annotation;
            annotation.is_some_and(|ty| matches!(store.type_of_id(ty), Type::Tensor { .. }))
        });
        let mut marks = vec![("Primitive", AttrValue::int(i64::from(has_call)))];
        if has_call && reshape_only && tensors_only {
            marks.push(("relay.reshape_only", AttrValue::int(1)));
        }
        let ret = store.checked_type(pre);
        let function = Function {
            params: store.list(&inside.params),
            type_params: List::EMPTY,
            ret,
            body: inside.made[&pre],
            attrs: Some(dict_attrs(store, &marks)),
            device: None,
            pure: true,
        };
        let callee = store.function_expr(function);
        let args = store.list(&inside.arguments);
        store.add_typed(Expr::Call { callee, args, info: None }, ret)
    }

    fn arguments(&self, store: &mut Store, root: usize, list: List<Expr>, inside: &mut Inside) -> List<Expr> {
        let old: Vec<ExprId> = store.items(list).collect();
        let new: Vec<ExprId> = old.into_iter().map(|arg| self.argument(store, root, arg, inside)).collect();
        store.list(&new)
    }

    /// Returns the operand of a group member in place of `arg`: another member, a linked constant or a parameter.
    fn argument(&self, store: &mut Store, root: usize, arg: ExprId, inside: &mut Inside) -> ExprId {
        if let Some(made) = inside.made.get(&arg)
            && self.graph.number(arg).is_some_and(|n| self.groups.root(n) == root)
        {
            return *made;
        }
        let outside = self.done.get(arg).copied().unwrap_or(arg);
        if self.link_params && matches!(store.expr(outside), Expr::Constant(_)) {
            return outside;
        }
        if let Some(param) = inside.param_of.get(&outside) {
            return store.use_var(*param);
        }
        let name = format!("p{}", inside.params.len());
        let ty = store.checked_type(arg);
        let param = store.var(&name, ty);
        inside.param_of.insert(outside, param);
        inside.params.push(param);
        inside.arguments.push(outside);
        store.use_var(param)
    }
}

/// The function of a group while it is built.
#[derive(Default)]
struct Inside {
    /// The replacement of each member of the group.
    made: FxHashMap<ExprId, ExprId>,
    params: Vec<VarId>,
    arguments: Vec<ExprId>,
    param_of: FxHashMap<ExprId, VarId>,
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, check, unchanged};

    #[test]
    fn an_element_wise_call_is_fused_behind_a_dense_layer_and_a_second_dense_layer_is_not() {
        check(
            "FuseOps(fuse_opt_level=2)",
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(4, 4), float32]) {
               %0 = nn.dense(%x, %w, units=4); %1 = nn.relu(%0); nn.dense(%1, %w, units=4)
             }",
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(4, 4), float32]) {
               %0 = fn (%p0: Tensor[(2, 4), float32], %p1: Tensor[(4, 4), float32], Primitive=1) {
                 nn.relu(nn.dense(%p0, %p1, units=4))
               };
               %1 = %0(%x, %w);
               %2 = fn (%p0: Tensor[(2, 4), float32], %p1: Tensor[(4, 4), float32], Primitive=1) {
                 nn.dense(%p0, %p1, units=4)
               };
               %2(%1, %w)
             }",
        );
    }

    #[test]
    fn at_level_0_every_call_is_a_function_of_its_own() {
        let fused = after("FuseOps(fuse_opt_level=0)", "def @main(%x: Tensor[(4), float32]) { exp(abs(%x)) }");
        assert_eq!(fused.matches("Primitive=1").count(), 2, "{fused}");
    }

    #[test]
    fn both_ways_of_a_diamond_are_fused_into_the_call_that_joins_them() {
        let program = "def @main(%x: Tensor[(4), float32]) { %0 = abs(%x); add(exp(%0), log(%0)) }";
        let fused = after("FuseOps()", program);
        assert_eq!(fused.matches("Primitive=1").count(), 1, "{fused}");
    }

    #[test]
    fn only_reshapes_are_marked_so() {
        let fused = after("FuseOps()", "def @main(%x: Tensor[(2, 2), int32]) { expand_dims(reshape(%x, newshape=[4]), axis=0) }");
        assert!(fused.contains("relay.reshape_only=1"), "{fused}");
    }

    #[test]
    fn stop_fusion_keeps_its_sides_apart_and_vanishes() {
        let fused = after("FuseOps()", "def @main(%x: Tensor[(4), float32]) { exp(annotation.stop_fusion(abs(%x))) }");
        assert_eq!(fused.matches("Primitive=1").count(), 2, "{fused}");
        assert!(!fused.contains("stop_fusion"), "{fused}");
    }

    #[test]
    fn primitive_functions_stay() {
        unchanged("FuseOps()", "def @main(%x: int32) { %0 = fn (%p0: int32, Primitive=1) -> int32 { add(%p0, 1) }; %0(%x) }");
    }
}

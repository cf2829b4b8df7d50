//! FuseOps: groups calls of tensor programs that one kernel can compute into functions, which FuseTIR makes kernels of.
//!
//! The groups are found as in Relay, see [`fusion`](crate::passes::any::fusion); the pattern of a program is its
//! attribute `op_pattern`, which AnnotateTIROpPattern sets. `grouping.rs` builds the functions.
//!
//! Source: `src/relax/transform/fuse_ops.cc`, `src/relax/analysis/graph_partitioner.cc`.

use super::grouping::{Partition, make_grouped_functions, may_be_grouped, used_vars};
use super::support::type_error;
use crate::ir::walk::{is_straight, post_order};
use crate::ir::{Expr, ExprId, Id, IdMap, Module, Name, Store, Var, VarId};
use crate::ops::OpPattern;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::passes::any::fusion::{Node, partition};
use rustc_hash::FxHashSet;

/// TVM's `relax.transform.FuseOps`.
pub static SPEC: PassSpec = PassSpec {
    name: "FuseOps",
    info_name: "FuseOps",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[Param {
        name: "fuse_opt_level",
        default: "-1",
        doc: explained("0 leaves each call by itself, more fuses; -1 takes the opt level of the context."),
    }],
    config: &["relax.FuseOps.max_depth"],
    summary: "Groups calls of tensor programs that one kernel can compute into functions.",
    doc: explained(
        "Each tensor program says how it computes in its attribute `op_pattern` (run *AnnotateTIROpPattern* before). A call joins \
the group of its *post-dominator*, the call that everything computed from it goes through, if all calls between them are simple \
enough: element-wise and broadcasting calls into one another, into reductions and behind matrix products or convolutions; \
calls that move elements among each other.\n\n\
A group becomes a private function with `Primitive` that is called in its place: what comes from outside are its parameters, \
constants too, and symbols that no parameter defines come as a shape. Equal groups share a function. Calls of operators, and \
everything that is used outside of its dataflow block, stay as they are. A group has at most `relax.FuseOps.max_depth` (256) \
members.",
    ),
    example_before: explained(EXAMPLE),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((T.int64(4),), \"float32\"), B: T.Buffer((T.int64(4),), \"float32\")):
        T.func_attr({\"op_pattern\": 0})
        for i in range(T.int64(4)):
            with T.sblock(\"exp\"):
                v_i = T.axis.spatial(T.int64(4), i)
                T.reads(A[v_i])
                T.writes(B[v_i])
                B[v_i] = T.exp(A[v_i])

    @R.function(private=True)
    def fused_exp_exp(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((4,), dtype=\"float32\"):
        R.func_attr({\"Primitive\": True})
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((4,), dtype=\"float32\"))
            gv = R.call_tir(cls.exp, (lv,), out_ty=R.Tensor((4,), dtype=\"float32\"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((4,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            gv: R.Tensor((4,), dtype=\"float32\") = cls.fused_exp_exp(x)
            R.output(gv)
        return gv
",
    ),
    run: Run::Module(run),
};

const EXAMPLE: &str = "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((T.int64(4),), \"float32\"), B: T.Buffer((T.int64(4),), \"float32\")):
        T.func_attr({\"op_pattern\": 0})
        for i in range(T.int64(4)):
            with T.sblock(\"exp\"):
                v_i = T.axis.spatial(T.int64(4), i)
                T.reads(A[v_i])
                T.writes(B[v_i])
                B[v_i] = T.exp(A[v_i])

    @R.function
    def main(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((4,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((4,), dtype=\"float32\"))
            gv = R.call_tir(cls.exp, (lv,), out_ty=R.Tensor((4,), dtype=\"float32\"))
            R.output(gv)
        return gv
";

/// Finds an unused variable of a dataflow block in a branch or an inner function: TVM's graph has only the used
/// variables there, and no group for such a variable.
fn unseen(store: &Store, function: ExprId) -> Option<VarId> {
    let body = store.as_function(function)?.body;
    if is_straight(store, body) {
        return None;
    }
    let mut nodes = post_order(store, body);
    nodes.retain(|id| matches!(store.expr(*id), Expr::Var(_) | Expr::Seq { .. }));
    let inner = |id: &&ExprId| **id != body && matches!(store.expr(**id), Expr::Seq { .. });
    if !nodes.iter().any(|id| inner(&id)) {
        return None;
    }
    let uses = nodes.iter().filter_map(|id| match store.expr(*id) {
        Expr::Var(var) => Some(var),
        _ => None,
    });
    let used: FxHashSet<VarId> = uses.collect();
    let mut bound = nodes.iter().filter(inner).flat_map(|id| match store.expr(*id) {
        Expr::Seq { blocks, .. } => {
            let flows = store.items(blocks).filter(|block| store.block(*block).dataflow);
            flows.flat_map(|block| store.block_bindings(block)).map(|binding| binding.var).collect::<Vec<_>>()
        }
        _ => Vec::new(),
    });
    bound.find(|var| !used.contains(var))
}

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let level = match arguments.int("fuse_opt_level") {
        -1 => cx.context.opt_level,
        level => level,
    };
    let max_depth = usize::try_from(cx.config_int("relax.FuseOps.max_depth", 256)).unwrap_or(usize::MAX);
    let store = &mut *cx.store;
    let mut graph = Graph { module, nodes: Vec::new(), vars: Vec::new(), number: IdMap::new(), packed: FxHashSet::default() };
    for (_, function) in module.functions() {
        if may_be_grouped(store, *function) {
            graph.add_function(store, *function);
            if let Some(var) = unseen(store, *function) {
                return Err(type_error(format!("Variable {} could not be found in any group", store.var_name(var))));
            }
        }
    }
    // Operators that are not legalised yet are not fused, whatever their users are.
    if graph.nodes.iter().any(|node| node.pattern != OpPattern::Opaque) {
        module.functions().iter().for_each(|(_, function)| graph.connect(store, *function));
    }
    let groups = partition(&graph.nodes, level != 0, max_depth);
    let mut result = Partition::default();
    result.group_of.reserve(graph.vars.len());
    let mut group_of_root: Vec<Option<usize>> = vec![None; graph.vars.len()];
    for (node, var) in graph.vars.iter().enumerate() {
        let group = *group_of_root[groups.root(node)].get_or_insert_with(|| result.add());
        result.sizes[group] += 1;
        result.group_of.insert(*var, group);
    }
    make_grouped_functions(store, module, &result, true, &[])
}

/// The bindings and their users. Parameters and constants are left out: they are never fused.
struct Graph<'m> {
    module: &'m Module,
    nodes: Vec<Node>,
    /// The variable of each node.
    vars: Vec<VarId>,
    number: IdMap<Var, usize>,
    /// Parameters that hold the weights of a model as a tuple.
    packed: FxHashSet<VarId>,
}

impl Graph<'_> {
    fn add_function(&mut self, store: &Store, function: ExprId) {
        let Expr::Function(id) = store.expr(function) else { return };
        let function = store.function(id);
        if let Some(inputs) = store.attr_int(function.attrs, "num_input") {
            self.packed.extend(store.items(function.params).skip(usize::try_from(inputs).unwrap_or(0)));
        }
        let Expr::Seq { blocks, .. } = store.expr(function.body) else { return };
        for binding in store.bindings(blocks) {
            let pattern = match store.expr(binding.value) {
                _ if binding.cast.is_some() => OpPattern::Opaque,
                Expr::Call { .. } => self.call_pattern(store, binding.value),
                Expr::TupleGetItem { tuple, .. } => match store.expr(tuple) {
                    Expr::Var(var) if self.packed.contains(&var) => OpPattern::Opaque,
                    _ => OpPattern::Injective,
                },
                _ => OpPattern::Opaque,
            };
            let external = binding.cast.is_none() && !store.var_data(binding.var).dataflow;
            self.number.insert(binding.var, self.nodes.len());
            self.nodes.push(Node { pattern, external, outputs: Vec::new() });
            self.vars.push(binding.var);
        }
    }

    /// Connects the values of a function to their users; its bindings are nodes.
    fn connect(&mut self, store: &Store, function: ExprId) {
        let Some(Expr::Seq { blocks, .. }) = store.as_function(function).map(|function| store.expr(function.body)) else {
            return;
        };
        for binding in store.bindings(blocks) {
            let Some(&number) = self.number.get(binding.var) else { continue };
            let pattern = self.nodes[number].pattern;
            let used = match store.expr(binding.value) {
                _ if binding.cast.is_some() => Vec::new(),
                Expr::Function(_) | Expr::If { .. } | Expr::Seq { .. } => {
                    let vars = post_order(store, binding.value).into_iter().filter_map(|id| match store.expr(id) {
                        Expr::Var(var) => Some(var),
                        _ => None,
                    });
                    vars.collect()
                }
                _ => used_vars(store, binding.value),
            };
            for var in used {
                // Only earlier producers count: a recursive use in an inner function is no edge.
                if let Some(producer) = self.number.get(var).filter(|producer| **producer < number) {
                    self.nodes[*producer].outputs.push((number, pattern));
                }
            }
        }
    }

    /// Returns the pattern of a call: that of its tensor program.
    fn call_pattern(&self, store: &Store, call: ExprId) -> OpPattern {
        if !["call_tir", "call_tir_inplace"].contains(&super::calls::op_name(store, call)) {
            return OpPattern::Opaque;
        }
        let program = store.call(call).and_then(|call| store.items(call.args).next());
        let name: Option<Id<Name>> = program.and_then(|program| match store.expr(program) {
            Expr::Global(name) => Some(name),
            _ => None,
        });
        let function = name.and_then(|name| self.module.function(name));
        let Some(Expr::PrimFunc(function)) = function.map(|function| store.expr(function)) else { return OpPattern::Opaque };
        match store.attr_int(store.prim_func(function).attrs, "op_pattern") {
            Some(0) => OpPattern::ElemWise,
            Some(1) => OpPattern::Broadcast,
            Some(2) => OpPattern::Injective,
            Some(3) => OpPattern::CommReduce,
            Some(4) => OpPattern::OutEWiseFusable,
            Some(7) => OpPattern::Tuple,
            _ => OpPattern::Opaque,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn nothing_is_fused_at_level_0() {
        assert!(!after(super::EXAMPLE, "FuseOps(fuse_opt_level=0)").contains("fused"));
    }

    #[test]
    fn what_is_used_outside_of_its_block_is_not_fused_into_what_follows() {
        let text = super::EXAMPLE.replace("R.output(gv)", "R.output(lv, gv)");
        assert!(!after(&text, "FuseOps()").contains("fused"));
    }

    #[test]
    fn constants_become_arguments() {
        let text = super::EXAMPLE.replace("cls.exp, (x,)", "cls.exp, (R.const([1.0, 2.0, 3.0, 4.0], \"float32\"),)");
        let made = after(&text, "FuseOps()");
        assert!(made.contains("def fused_exp_exp(param_0: R.Tensor((4,), dtype=\"float32\"))"), "{made}");
    }
}

//! AnnotateTarget: marks each operator with the compiler that is to compile it.
//!
//! From arguments to results every node gets a target. An operator that a compiler of the list supports gets that
//! compiler, another call gets `default`, and a tuple or reference gets the target that its arguments share. Each use
//! of a value ends the region of its own target and begins one for the target of its user.
//!
//! TVM registers the supported operators of a compiler in Python, some of them in code of TVM's users. Here only TVM's
//! own list for DNNL is known (`python/tvm/relay/op/contrib/dnnl.py`); any other compiler only gets the functions with
//! its name in `Composite`. Composite functions are not entered.
//!
//! Source: `src/relay/transforms/annotate_target.cc`.

use super::support::regions::{BEGIN, END, compiler};
use crate::ir::rewrite::{ExprMutator, Visit, rewrite};
use crate::ir::walk::for_each_child;
use crate::ir::{AttrValue, Attrs, DType, Expr, ExprId, Function, Id, IdMap, Module, Name, Store, Type, map_children};
use crate::ops::build::{args, call_attrs, is_call, op_name};
use crate::pass::spec::Literal;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Puts `compiler_begin` and `compiler_end` around operators that a compiler of the list supports.
pub static SPEC: PassSpec = PassSpec {
    name: "AnnotateTarget",
    info_name: "AnnotateTarget",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType"],
    params: &[
        Param { name: "targets", default: "", doc: "Compilers, the first choice first." },
        Param { name: "include_non_call_ops", default: "True", doc: "Whether tuples and references get targets." },
    ],
    config: &[],
    summary: "Marks what another compiler is to make.",
    doc: explained(
        "Puts marks around operators that a compiler of the list takes, for *MergeCompilerRegions* and *PartitionGraph*. Only \
the operators of `dnnl` are known here, and functions with the name of a compiler in `Composite`.",
    ),
    example_before: explained(
        "\
// AnnotateTarget(targets=\"dnnl\")
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  exp(%x)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = annotation.compiler_begin(%x, meta[relay.attrs.CompilerAttrs][0]);
  %1 = exp(%0);
  annotation.compiler_end(%1, meta[relay.attrs.CompilerAttrs][1])
}
",
    ),
    run: Run::Function(run),
};

/// The target of nodes that no compiler of the list supports.
const DEFAULT: &str = "default";

/// The operators that TVM registers for DNNL.
const DNNL: &str = "abs add clip exp log multiply nn.avg_pool2d nn.avg_pool3d nn.batch_matmul nn.batch_norm nn.conv1d nn.conv2d \
nn.conv2d_transpose nn.conv3d nn.conv3d_transpose nn.dense nn.global_avg_pool2d nn.layer_norm nn.leaky_relu nn.max_pool2d \
nn.max_pool3d nn.relu nn.softmax round sigmoid sqrt tanh";

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, given: &Args) -> Result<ExprId, PassError> {
    let targets = match given.get("targets") {
        Literal::Str(one) => vec![one.clone()],
        Literal::List(all) => {
            let text = |item: &Literal| match item {
                Literal::Str(text) => Some(text.clone()),
                _ => None,
            };
            all.iter().filter_map(text).collect()
        }
        _ => Vec::new(),
    };
    let all = !matches!(given.get("include_non_call_ops"), Literal::Bool(false) | Literal::Int(0));
    let targets: Vec<Id<Name>> = targets.iter().map(|target| cx.store.name(target)).collect();
    let default = cx.store.name(DEFAULT);
    Ok(rewrite(cx.store, function, &mut Annotate { targets, default, all, chosen: IdMap::new() }))
}

struct Annotate {
    targets: Vec<Id<Name>>,
    default: Id<Name>,
    /// True if nodes other than calls get targets.
    all: bool,
    /// The target of each node.
    chosen: IdMap<Expr, Id<Name>>,
}

fn sign(store: &mut Store, name: &str, value: ExprId, target: Id<Name>) -> ExprId {
    let (key, field) = (store.name("relay.attrs.CompilerAttrs"), store.name("compiler"));
    let attrs = store.attrs(Attrs { key, fields: [(field, AttrValue::Str(target))].into() });
    call_attrs(store, name, &[value], Some(attrs))
}

/// True if DNNL supports the operator of a call.
fn dnnl_takes(store: &Store, call: ExprId) -> bool {
    let name = op_name(store, call);
    let long = args(store, call).into_iter().any(|arg| {
        let ty = store.checked_type(arg).map(|ty| store.type_of_id(ty));
        matches!(ty, Some(Type::Tensor { dtype, .. }) if *dtype == DType::I64)
    });
    let attrs = store.call(call).and_then(|call| call.attrs);
    let rounded_up = name.contains("pool") && store.attr_int(attrs, "ceil_mode").is_some_and(|mode| mode != 0);
    DNNL.split(' ').any(|known| known == name) && !long && !rounded_up
}

fn composite(store: &Store, function: Id<Function>) -> Option<&str> {
    store.attr_str(store.function(function).attrs, "Composite")
}

impl Annotate {
    /// Returns the first compiler of the list that supports a call.
    fn taker(&self, store: &Store, call: ExprId, callee: ExprId) -> Id<Name> {
        let named = match store.expr(callee) {
            Expr::Function(function) => composite(store, function).and_then(|name| name.split_once('.')).map(|(name, _)| name),
            _ => None,
        };
        let takes = |target: &&Id<Name>| match store.expr(callee) {
            Expr::Op(_) => store.str(**target) == "dnnl" && dnnl_takes(store, call),
            _ => named == Some(store.str(**target)),
        };
        self.targets.iter().find(takes).copied().unwrap_or(self.default)
    }

    /// Ends arguments for their own targets and begins them for `target`; for the target that they share if it is `None`.
    fn arguments(&self, store: &mut Store, given: &[ExprId], target: Option<Id<Name>>) -> (Option<Id<Name>>, Vec<ExprId>) {
        let mut common = None;
        let (mut begun, mut ended) = (Vec::new(), Vec::new());
        for &arg in given {
            let mut own = self.default;
            if is_call(store, arg, BEGIN) {
                // An earlier run put it there. Only annotations for `default` are made anew.
                let inner = args(store, arg)[0];
                if compiler(store, arg) == DEFAULT {
                    ended.push(inner)
                } else {
                    begun.push(arg)
                }
                if is_call(store, inner, END) {
                    let name = compiler(store, inner).to_owned();
                    own = store.name(&name);
                }
            } else if let Some(&chosen) = self.chosen.get(arg) {
                own = chosen;
                let bare = store.call(arg).is_some() && args(store, arg).is_empty();
                ended.push(if bare { arg } else { sign(store, END, arg, chosen) });
            } else {
                ended.push(arg);
            }
            common = Some(match common {
                Some(other) if other != own => self.default,
                _ => own,
            });
        }
        let Some(found) = common else { return (target, given.to_vec()) };
        let target = target.unwrap_or(found);
        begun.extend(ended.into_iter().map(|end| sign(store, BEGIN, end, target)));
        (Some(target), begun)
    }

    /// Ends a value for its own target, where it leaves its region.
    fn ended(&mut self, store: &mut Store, value: ExprId) -> ExprId {
        let (inner, target) = match self.chosen.get(value).copied() {
            Some(target) => {
                let closed = match store.expr(value) {
                    Expr::Call { args, .. } => !args.is_empty(),
                    Expr::Tuple(fields) => !fields.is_empty(),
                    Expr::RefWrite { .. } | Expr::RefCreate(_) | Expr::RefRead(_) | Expr::TupleGetItem { .. } => true,
                    _ => false,
                };
                if !closed {
                    return value;
                }
                (value, target)
            }
            None if is_call(store, value, END) && compiler(store, value) == DEFAULT => {
                let inner = args(store, value)[0];
                (inner, self.chosen.get(inner).copied().unwrap_or(self.default))
            }
            None => return value,
        };
        let end = sign(store, END, inner, target);
        self.chosen.insert(end, target);
        end
    }

    fn call(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let Some(call) = store.call(post) else { return post };
        let given = args(store, post);
        if is_call(store, post, BEGIN) {
            return post;
        }
        if is_call(store, post, END) {
            let name = compiler(store, post).to_owned();
            let name = store.name(&name);
            if !self.chosen.contains(given[0]) {
                self.chosen.insert(given[0], name);
            }
            return post;
        }
        let first = args(store, pre).first().copied();
        if first.is_some_and(|first| is_call(store, first, BEGIN) && compiler(store, first) != DEFAULT) {
            return post;
        }
        if !self.all && matches!(store.expr(call.callee), Expr::Var(_)) {
            let ends: Vec<ExprId> = given.iter().map(|arg| self.ended(store, *arg)).collect();
            return store.add_call(call.callee, &ends, call.attrs);
        }
        let old = store.call(pre).map_or(call.callee, |call| call.callee);
        let target = self.taker(store, pre, old);
        let (_, begun) = self.arguments(store, &given, Some(target));
        let new = store.add_call(call.callee, &begun, call.attrs);
        self.chosen.insert(new, target);
        new
    }

    /// Rebuilds a node that is no call over its new children.
    fn other(&mut self, store: &mut Store, post: ExprId) -> ExprId {
        let mut children = Vec::new();
        for_each_child(store, post, |child| children.push(child));
        let (children, target) = match self.all {
            false => (children.iter().map(|child| self.ended(store, *child)).collect(), None),
            true => {
                let (target, begun) = self.arguments(store, &children, None);
                // A node without arguments has a target without a name, and no annotation ends it.
                (begun, Some(target.unwrap_or(self.default)))
            }
        };
        let new = map_children(store, post, &children, &|var| var).unwrap_or(store.expr(post));
        let new = store.add(new);
        if let Some(target) = target {
            self.chosen.insert(new, target);
        }
        new
    }
}

impl ExprMutator for Annotate {
    fn rule(&self) -> &'static str {
        "a target for an operator"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Function(function) if composite(store, function).is_some() => Visit::Keep,
            _ => Visit::Descend,
        }
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(post) {
            Expr::Call { .. } => self.call(store, pre, post),
            Expr::Tuple(_) | Expr::TupleGetItem { .. } => self.other(store, post),
            Expr::RefCreate(_) | Expr::RefRead(_) | Expr::RefWrite { .. } => self.other(store, post),
            Expr::Let { var, value, body } => {
                let body = self.ended(store, body);
                let value = match store.expr(value) {
                    Expr::Function(_) => value,
                    _ => self.arguments(store, &[value], None).1[0],
                };
                store.add(Expr::Let { var, value, body })
            }
            Expr::If { cond, then, other } => {
                let [cond, then, other] = [cond, then, other].map(|part| self.ended(store, part));
                store.add(Expr::If { cond, then, other })
            }
            Expr::Function(function) => {
                let data = *store.function(function);
                let body = self.ended(store, data.body);
                if body == data.body {
                    return post;
                }
                let new = store.add_function(Function { body, ..data });
                store.add(Expr::Function(new))
            }
            _ => post,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn an_operator_that_nobody_takes_is_made_by_default() {
        let source = "def @main(%x: Tensor[(4), float32]) {
  exp(%x)
}
";
        let text = after("AnnotateTarget(targets=\"nobody\")", source);
        assert_eq!(text.matches("compiler_begin(").count(), 1, "{text}");
        assert_eq!(text.matches("compiler_end(").count(), 1, "{text}");
    }

    #[test]
    fn the_name_before_the_point_of_a_composite_function_is_its_compiler() {
        let source = "def @main(%x: Tensor[(4), float32]) {
  %0 = fn (%y: Tensor[(4), float32], Composite=\"mine.exp\") {
    exp(%y)
  };
  %0(%x)
}
";
        let text = after("AnnotateTarget(targets=[\"mine\"])", source);
        assert_eq!(text.matches("compiler_begin(").count(), 1, "its body is not entered: {text}");
    }

    #[test]
    fn a_second_run_leaves_what_is_marked() {
        let source = "def @main(%x: Tensor[(4), float32]) {
  exp(%x)
}
";
        let once = after("AnnotateTarget(targets=\"dnnl\")", source);
        assert_eq!(once, after("AnnotateTarget(targets=\"dnnl\"), AnnotateTarget(targets=\"dnnl\")", source));
    }
}

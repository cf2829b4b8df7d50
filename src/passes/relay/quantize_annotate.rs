//! QuantizeAnnotate: says which values are to have few bits.
//!
//! A value knows what it is to the operators that take it: an input of few bits, or a result, which has many. Source:
//! `src/relay/quantize/annotate.cc`, `python/tvm/relay/quantize/_annotate.py`.

use super::fold_constant::is_known;
use super::support::forward::{Args as Given, Forward, Made, forward};
use super::support::quantizing::{Kind, simulated, wrong};
use crate::ir::walk::post_order;
use crate::ir::{AttrsId, Expr, ExprId, Function, Module, Store, VarId};
use crate::ops::build::{args as args_of, call_attrs, op_name};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// Puts simulated quantisation around the inputs of convolutions and of what follows them.
pub static SPEC: PassSpec = PassSpec {
    name: "QuantizeAnnotate",
    info_name: "QuantizeAnnotate",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[
        Param {
            name: "skip_conv_layers",
            default: "[0]",
            doc: explained("Convolutions that keep their types, by their number in the order of computation; `None` for none."),
        },
        Param { name: "skip_dense_layer", default: "True", doc: "Dense layers keep their types." },
        Param {
            name: "debug_enabled_ops",
            default: "None",
            doc: explained("Only these operators get few bits; `None` for all that can."),
        },
    ],
    config: &[],
    summary: "Says which values are to have few bits.",
    doc: explained(
        "The second step of `relay.quantize`. Data and weights of convolutions, dense layers and products go through \
`simulated_quantize`, which rounds to a grid of few values and stays in floating point. What follows a convolution goes along: \
its result has many bits until the next one takes it. The scale and bounds of each grid are parameters of the function, which \
QuantizeCalibrate fills in.\n\n\
The first convolution is left out (`skip_conv_layers`), as are dense layers, and all that follows a global pool. Parameters \
are those of TVM's `qconfig`.",
    ),
    example_before: explained(
        "\
// QuantizeAnnotate(skip_conv_layers=[])
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %w, channels=4, kernel_size=[1, 1]);
  nn.relu(%0)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32], %dom_scale: float32, %clip_min: float32, \
%clip_max: float32, %dom_scale1: float32, %clip_min1: float32, %clip_max1: float32) -> Tensor[(1, 4, 8, 8), float32] {
  %0 = relay.op.annotation.simulated_quantize(%x, %dom_scale, %clip_min, %clip_max, kind=1);
  %1 = relay.op.annotation.simulated_quantize(%w, %dom_scale1, %clip_min1, %clip_max1, kind=2);
  %2 = nn.conv2d(%0, %1, channels=4, kernel_size=[1, 1]);
  nn.relu(%2)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let skipped = match arguments.get("skip_conv_layers") {
        Literal::None => None,
        other => match other.ints() {
            Some(layers) => Some(layers),
            None => return Err(wrong("QuantizeAnnotate", &format!("skip_conv_layers is a list of integers, not {other}"))),
        },
    };
    let enabled = match arguments.get("debug_enabled_ops") {
        Literal::List(names) => Some(names.iter().map(|name| name.to_string().trim_matches(['"', '\'']).to_owned()).collect()),
        _ => None,
    };
    let skip_dense = arguments.bool("skip_dense_layer");
    let mut rules = Annotate { skipped, skip_dense, enabled, convolutions: 0, stopped: false, made: FxHashMap::default() };
    let new = forward(cx.store, function, &mut rules)?;
    Ok(with_free_variables(cx.store, new))
}

/// Makes variables that nothing binds parameters of a function.
fn with_free_variables(store: &mut Store, function: ExprId) -> ExprId {
    let Some(data) = store.as_function(function) else { return function };
    let nodes = post_order(store, function);
    let mut bound: FxHashSet<VarId> = FxHashSet::default();
    for id in &nodes {
        match store.expr(*id) {
            Expr::Function(inner) => bound.extend(store.items(store.function(inner).params)),
            Expr::Let { var, .. } => {
                bound.insert(var);
            }
            Expr::Match { clauses, .. } => {
                for clause in store.items(clauses) {
                    let pattern = store.clause(clause).pattern;
                    crate::ir::walk::for_each_pattern_var(store, pattern, &mut |var| {
                        bound.insert(var);
                    });
                }
            }
            _ => {}
        }
    }
    let mut params: Vec<VarId> = store.items(data.params).collect();
    let known = params.len();
    params.extend(nodes.iter().filter_map(|id| match store.expr(*id) {
        Expr::Var(var) if bound.insert(var) => Some(var),
        _ => None,
    }));
    if params.len() == known {
        return function;
    }
    let params = store.list(&params);
    let new = store.add_function(Function { params, ..data });
    store.rebuild(function, Expr::Function(new), None)
}

struct Annotate {
    skipped: Option<Vec<i64>>,
    skip_dense: bool,
    enabled: Option<Vec<String>>,
    /// The number of convolutions so far.
    convolutions: i64,
    /// True behind a global pool.
    stopped: bool,
    /// The simulated value of each value.
    made: FxHashMap<(ExprId, Kind), ExprId>,
}

/// An expression, and what it is.
type Value = (ExprId, Kind);

impl Annotate {
    /// True if a call is left as it is (TVM's `check_to_skip`).
    fn skips(&mut self, name: &str) -> bool {
        if self.stopped {
            return true;
        }
        let Some(skipped) = self.skipped.as_ref().filter(|_| name == "nn.conv2d") else { return false };
        self.convolutions += 1;
        skipped.contains(&(self.convolutions - 1))
    }

    fn attach(&mut self, store: &mut Store, data: ExprId, kind: Kind) -> ExprId {
        if let Some(&known) = self.made.get(&(data, kind)) {
            return known;
        }
        let made = simulated(store, data, kind);
        self.made.insert((data, kind), made);
        made
    }

    /// An operand of a product or a sum that has no kind yet.
    fn plain(&mut self, store: &mut Store, data: ExprId) -> ExprId {
        let kind = if is_known(store, data) { Kind::Weight } else { Kind::Input };
        self.attach(store, data, kind)
    }

    /// The data of an operator that takes few bits.
    fn input(&mut self, store: &mut Store, (data, kind): (ExprId, Option<Kind>)) -> ExprId {
        if kind == Some(Kind::Input) || kind == Some(Kind::Weight) { data } else { self.attach(store, data, Kind::Input) }
    }

    fn product(&mut self, store: &mut Store, given: [(ExprId, Option<Kind>); 2]) -> Result<Option<[ExprId; 2]>, String> {
        let [(x, x_kind), (y, y_kind)] = given;
        Ok(match (x_kind, y_kind) {
            (None, None) => None,
            (Some(_), None) => Some([self.input(store, given[0]), self.plain(store, y)]),
            (None, Some(_)) => {
                let y = self.input(store, given[1]);
                Some([self.plain(store, x), y])
            }
            _ => return Err("ValueError: both factors are the results of convolutions".to_owned()),
        })
    }

    fn sum(&mut self, store: &mut Store, given: [(ExprId, Option<Kind>); 2]) -> Option<[ExprId; 2]> {
        let [(x, x_kind), (y, y_kind)] = given;
        Some(match (x_kind, y_kind) {
            (None, None) => return None,
            (None, Some(_)) => [self.attach(store, x, Kind::Input), y],
            (Some(_), None) => [x, self.plain(store, y)],
            (Some(Kind::Activation), Some(Kind::Activation)) => [x, self.attach(store, y, Kind::Input)],
            _ => [x, y],
        })
    }
}

impl Forward for Annotate {
    type Value = Value;

    fn rule(&self) -> &'static str {
        "value of few bits simulated"
    }

    fn realize(&self, _: &mut Store, value: &Value) -> ExprId {
        value.0
    }

    fn counts(&self) -> bool {
        true
    }

    fn shared(&mut self, store: &mut Store, value: &Value) -> Option<Value> {
        Some((self.attach(store, value.0, Kind::Input), Kind::Input))
    }

    fn call(&mut self, store: &mut Store, pre: ExprId, args: &Given<'_, Value>) -> Result<Made<Value>, String> {
        let name = op_name(store, pre);
        let attrs = store.call(pre).and_then(|call| call.attrs);
        let given = |store: &Store, id: ExprId| args.value(store, id).map_or((id, None), |(data, kind)| (*data, Some(*kind)));
        let two = |store: &Store| [given(store, args.list[0]), given(store, args.list[1])];
        if !has_rule(name) {
            return Ok(Made::Kept);
        }
        if self.enabled.as_ref().is_some_and(|enabled| !enabled.iter().any(|known| known == name)) {
            let args: Vec<ExprId> = args.list.iter().map(|arg| given(store, *arg).0).collect();
            return Ok(Made::Expr(call_attrs(store, name, &args, attrs)));
        }
        if name == "nn.dense" && self.skip_dense {
            return Ok(Made::Kept);
        }
        if self.skips(name) {
            // A hint that is not followed goes.
            let data = given(store, args.list[0]).0;
            return Ok(if name == "annotation.cast_hint" { Made::Expr(data) } else { Made::Kept });
        }
        let over = |store: &mut Store, new: &[ExprId], attrs: Option<AttrsId>| match args_of(store, pre) == new {
            true => pre,
            false => call_attrs(store, name, new, attrs),
        };
        let first = given(store, args.list[0]);
        let kind = match (name, first.1) {
            ("nn.conv2d" | "nn.conv1d" | "nn.dense", _) => {
                let [data, (weight, kind)] = two(store);
                if kind.is_some() {
                    return Err("AssertionError: the weight is the result of a convolution".to_owned());
                }
                let data = self.input(store, data);
                let weight = self.attach(store, weight, Kind::Weight);
                return Ok(Made::Value((over(store, &[data, weight], attrs), Kind::Activation)));
            }
            ("nn.batch_matmul", _) => {
                let operands = two(store).map(|(data, kind)| match kind {
                    None | Some(Kind::Activation) => self.plain(store, data),
                    _ => data,
                });
                return Ok(Made::Value((over(store, &operands, attrs), Kind::Activation)));
            }
            ("multiply" | "add", _) => {
                let given = two(store);
                let made = if name == "add" { self.sum(store, given) } else { self.product(store, given)? };
                let Some(operands) = made else { return Ok(Made::Kept) };
                return Ok(Made::Value((over(store, &operands, attrs), Kind::Activation)));
            }
            ("concatenate", _) => return self.concatenate(store, args, attrs),
            // A hint over what has all its bits goes, anything else stays.
            ("annotation.cast_hint", None) => return Ok(Made::Expr(args.list[0])),
            (_, None) => return Ok(Made::Kept),
            ("nn.global_avg_pool2d", Some(_)) => {
                self.stopped = true;
                return Ok(Made::Expr(over(store, &[first.0], attrs)));
            }
            ("nn.max_pool2d" | "nn.max_pool1d" | "annotation.cast_hint", Some(_)) => {
                let data = self.input(store, first);
                return Ok(Made::Value((over(store, &[data], attrs), Kind::Input)));
            }
            (_, Some(kind)) => kind,
        };
        Ok(Made::Value((over(store, &[first.0], attrs), kind)))
    }
}

impl Annotate {
    fn concatenate(&mut self, store: &mut Store, args: &Given<'_, Value>, attrs: Option<AttrsId>) -> Result<Made<Value>, String> {
        let Expr::Tuple(fields) = store.expr(args.list[0]) else { return Ok(Made::Kept) };
        let fields: Vec<ExprId> = store.items(fields).collect();
        if fields.iter().all(|field| args.value(store, *field).is_none()) {
            return Ok(Made::Kept);
        }
        let mut new = Vec::with_capacity(fields.len());
        for field in fields {
            new.push(match args.value(store, field) {
                Some((data, _)) => *data,
                None => self.attach(store, field, Kind::Activation),
            });
        }
        let tuple = store.add_tuple(&new);
        Ok(Made::Value((call_attrs(store, "concatenate", &[tuple], attrs), Kind::Activation)))
    }
}

/// True for operators that can compute on few bits, or pass them on.
fn has_rule(name: &str) -> bool {
    matches!(
        name,
        "nn.conv2d"
            | "nn.conv1d"
            | "nn.dense"
            | "nn.batch_matmul"
            | "multiply"
            | "add"
            | "concatenate"
            | "reshape"
            | "clip"
            | "nn.relu"
            | "strided_slice"
            | "nn.avg_pool2d"
            | "nn.batch_flatten"
            | "transpose"
            | "annotation.stop_fusion"
            | "nn.max_pool2d"
            | "nn.max_pool1d"
            | "annotation.cast_hint"
            | "nn.global_avg_pool2d"
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, failure, unchanged};

    const CONV: &str = "channels=4, kernel_size=[1, 1]";

    fn program(body: &str) -> String {
        let body = body.replace("CONV", CONV);
        format!("def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32]) {{ {body} }}")
    }

    #[test]
    fn the_first_convolution_keeps_its_types_and_the_second_one_does_not() {
        let twice = program("nn.conv2d(nn.relu(nn.conv2d(%x, %w, CONV)), %w, CONV)");
        assert_eq!(after("QuantizeAnnotate()", &twice).matches("simulated_quantize").count(), 2);
        assert_eq!(after("QuantizeAnnotate(skip_conv_layers=None)", &twice).matches("simulated_quantize").count(), 3);
        unchanged("QuantizeAnnotate(skip_conv_layers=[0, 1])", &twice);
    }

    #[test]
    fn a_weight_that_is_used_twice_has_one_scale() {
        let made =
            after("QuantizeAnnotate(skip_conv_layers=[])", &program("add(nn.conv2d(%x, %w, CONV), nn.conv2d(%x, %w, CONV))"));
        // Data and weight, and the right side of the sum.
        assert_eq!(made.matches("simulated_quantize").count(), 3, "{made}");
        assert_eq!(made.matches("kind=1").count(), 2, "{made}");
    }

    #[test]
    fn what_follows_a_global_pool_keeps_its_types() {
        let made = after(
            "QuantizeAnnotate(skip_conv_layers=[])",
            &program("nn.conv2d(nn.global_avg_pool2d(nn.conv2d(%x, %w, CONV)), %w, CONV)"),
        );
        assert_eq!(made.matches("simulated_quantize").count(), 2, "{made}");
    }

    #[test]
    fn a_product_of_two_convolutions_is_refused() {
        let message = failure(
            "QuantizeAnnotate(skip_conv_layers=[])",
            &program("multiply(nn.conv2d(%x, %w, CONV), nn.conv2d(nn.relu(%x), %w, CONV))"),
        );
        assert!(message.contains("multiply: ValueError"), "{message}");
        let program = "def @main(%x: float32) { %x }";
        assert!(failure("QuantizeAnnotate(skip_conv_layers=1)", program).contains("list of integers"));
    }
}

//! QuantizeCalibrate: gives simulated values their scales and bounds.
//!
//! Known divergence: the modes `kl_divergence` and `percentile`, for which TVM runs the program on a data set, are refused.
//!
//! Source: `python/tvm/relay/quantize/_calibrate.py`.

use super::support::copy::substitute;
use super::support::quantizing::{SIMULATED, number, word, wrong};
use crate::diag::Diagnostic;
use crate::ir::walk::post_order;
use crate::ir::{DType, Expr, ExprId, Function, Module, Store, VarId};
use crate::ops::build::{args, constant, elements, is_call, scalar};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Fills in the scales of simulated values.
pub static SPEC: PassSpec = PassSpec {
    name: "QuantizeCalibrate",
    info_name: "QuantizeCalibrate",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[
        Param {
            name: "calibrate_mode",
            default: "\"global_scale\"",
            doc: explained("Only `global_scale`: the other modes of TVM run the program on a data set."),
        },
        Param { name: "global_scale", default: "8.0", doc: "The largest value of inputs and results that is expected." },
        Param {
            name: "weight_scale",
            default: "\"power2\"",
            doc: explained("The largest value of a weight: rounded up to a power of two (`power2`), or as it is (`max`)."),
        },
        Param { name: "nbit_input", default: "8", doc: "Bits of inputs." },
        Param { name: "nbit_weight", default: "8", doc: "Bits of weights." },
        Param { name: "nbit_activation", default: "32", doc: "Bits of results." },
    ],
    config: &[],
    summary: "Gives values of few bits their scales and bounds.",
    doc: explained(
        "The third step of `relay.quantize`. With 8 bits, of which one is the sign, there are 128 steps up to the largest value \
that is expected: the scale of an input is `global_scale / 128`, and results are clipped to -127 and 127. The largest value of a \
weight is known, because weights are constants. The parameters that QuantizeAnnotate made become constants.\n\n\
The modes `kl_divergence` and `percentile` need a data set and are refused.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32], %dom_scale: float32, %clip_min: float32, %clip_max: float32) {
  relay.op.annotation.simulated_quantize(%x, %dom_scale, %clip_min, %clip_max, kind=1)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  relay.op.annotation.simulated_quantize(%x, 0.0625f, -127f, 127f, kind=1)
}
",
    ),
    run: Run::Module(run),
};

const PASS: &str = "QuantizeCalibrate";

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    match word(PASS, arguments, "calibrate_mode", &["global_scale", "kl_divergence", "percentile"])? {
        "global_scale" => {}
        mode => return Err(wrong(PASS, &format!("the mode {mode} needs a data set, and there is none here"))),
    }
    let is_power = word(PASS, arguments, "weight_scale", &["power2", "max"])? == "power2";
    let global = number(PASS, arguments, "global_scale")?;
    let mut bits = [0; 3];
    for (bits, name) in bits.iter_mut().zip(["nbit_input", "nbit_weight", "nbit_activation"]) {
        *bits = arguments.int(name);
        if !(2..=64).contains(bits) {
            return Err(wrong(PASS, &format!("{name} is a number of bits from 2 to 64")));
        }
    }
    let main = cx.store.name("main");
    let Some(function) = module.function(main) else { return Err(wrong(PASS, "there is no @main")) };
    let mut constants: Vec<(VarId, ExprId)> = Vec::new();
    for id in post_order(cx.store, function) {
        if !is_call(cx.store, id, SIMULATED) {
            continue;
        }
        let failed =
            |store: &Store, message: &str| vec![Diagnostic::error("relay-quantize", message.to_owned(), store.source_span(id))];
        let attrs = cx.store.call(id).and_then(|call| call.attrs);
        let kind = cx.store.attr_int(attrs, "kind").unwrap_or(0);
        let Some(bits) = usize::try_from(kind - 1).ok().and_then(|kind| bits.get(kind)) else {
            return Err(failed(cx.store, "a simulated value of kind identity has no bits"));
        };
        let given = args(cx.store, id);
        let scale = match kind {
            2 => weight_scale(cx.store, given[0], is_power).ok_or_else(|| {
                failed(cx.store, "the scale of a weight that is no constant is not known: bind the parameters first")
            })?,
            _ => global,
        };
        let range = 2f64.powi((*bits - cx.store.attr_int(attrs, "sign").unwrap_or(1)) as i32);
        for (arg, value) in given[1..].iter().zip([scale / range, 1.0 - range, range - 1.0]) {
            let Expr::Var(var) = cx.store.expr(*arg) else { continue };
            if constants.iter().all(|(known, _)| *known != var) {
                let value = scalar(cx.store, DType::F32, value);
                constants.push((var, value));
            }
        }
    }
    let mut made = module.clone();
    if !constants.is_empty() {
        let new = bind(cx.store, function, &constants);
        made.set_function(main, new);
    }
    Ok(made)
}

/// Replaces parameters by constants.
fn bind(store: &mut Store, function: ExprId, by: &[(VarId, ExprId)]) -> ExprId {
    let Some(data) = store.as_function(function) else { return function };
    store.rewrite("scale filled in", function, function, |store| {
        let body = substitute(store, data.body, by);
        let params: Vec<VarId> = store.items(data.params).filter(|param| by.iter().all(|(var, _)| var != param)).collect();
        let params = store.list(&params);
        let new = store.add_function(Function { params, body, ..data });
        store.add_typed(Expr::Function(new), None)
    })
}

/// Returns the largest absolute value of a constant, rounded up to a power of two if it is to be.
fn weight_scale(store: &Store, weight: ExprId, is_power: bool) -> Option<f64> {
    let largest = elements(constant(store, weight)?)?.into_iter().map(f64::abs).fold(0.0, f64::max);
    Some(match (is_power, largest > 0.0) {
        (false, _) => largest,
        (true, false) => 1.0,
        // As Python computes the logarithm.
        (true, true) => 2f64.powi((largest.ln() / std::f64::consts::LN_2).ceil() as i32),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, failure};

    const WEIGHT: &str = "def @main(%s: float32, %l: float32, %h: float32) {
           relay.op.annotation.simulated_quantize(ones(shape=[4], dtype=\"float32\"), %s, %l, %h, kind=2)
         }";

    #[test]
    fn a_weight_has_the_scale_of_its_largest_value() {
        let tripled = "def @main(%s: float32, %l: float32, %h: float32) {
               %0 = stack((3f, -5f), axis=0);
               relay.op.annotation.simulated_quantize(%0, %s, %l, %h, kind=2)
             }";
        let run = |call: &str| after(&format!("FoldConstant(), {call}"), tripled);
        // 8 and 5 by 128 steps.
        assert!(run("QuantizeCalibrate()").contains("0.0625f, -127f, 127f, kind=2"), "{}", run("QuantizeCalibrate()"));
        assert!(run("QuantizeCalibrate(weight_scale=\"max\")").contains("0.0390625f, -127f"));
        assert!(run("QuantizeCalibrate(nbit_weight=4)").contains("1f, -7f, 7f"));
    }

    #[test]
    fn a_weight_that_is_no_constant_and_modes_with_data_are_refused() {
        assert!(failure("QuantizeCalibrate()", WEIGHT).contains("bind the parameters first"));
        let program = "def @main(%x: float32) { %x }";
        assert!(failure("QuantizeCalibrate(calibrate_mode=\"kl_divergence\")", program).contains("needs a data set"));
        assert!(failure("QuantizeCalibrate(weight_scale=\"min\")", program).contains("power2, max"));
        assert!(failure("QuantizeCalibrate(nbit_input=0)", program).contains("from 2 to 64"));
    }
}

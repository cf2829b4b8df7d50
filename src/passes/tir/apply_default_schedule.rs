//! ApplyDefaultSchedule: functions are scheduled by the rules of dlight.
//!
//! Source: `python/tvm/s_tir/dlight/base/transform.py`.

use super::{prim_func, targets, with_func};
use crate::diag::Diagnostic;
use crate::ir::{AttrValue, ExprId, Module, PrimFunc, Store};
use crate::parse::suggest;
use crate::pass::call::{CallArg, parse_calls};
use crate::pass::trace::Stage;
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::schedule::Step;
use crate::schedule::dlight::{Device, rule_names, schedule_by};

/// TVM's `s_tir.dlight.ApplyDefaultSchedule`.
pub static SPEC: PassSpec = PassSpec {
    name: "ApplyDefaultSchedule",
    info_name: "ApplyDefaultSchedule",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[
        Param {
            name: "*rules",
            default: "[]",
            doc: explained(
                "The rules, as `dlight.gpu.Matmul(), dlight.gpu.Fallback()`: of `dlight.cpu` *GEMV* and *Reduction*; of \
                  `dlight.gpu` *Matmul*, *GEMV*, *LowBatchGEMV*, *Reduction*, *GeneralReduction*, *Transpose*, *RMSNorm* and \
                  *Fallback*.",
            ),
        },
        Param { name: "target", default: "None", doc: TARGET },
    ],
    config: &[],
    summary: "Schedules functions by the first rule that fits each.",
    doc: explained(
        "Each function that is not marked `tirx.is_scheduled` is offered to one rule after the other. One that fits schedules it \
and marks it; a function that none fits stays. A rule is for CPUs or for GPUs, and does nothing for another target. Each \
instruction of the schedule is a rewrite, and the first 200 are steps.\n\n\
*Matmul* takes the matrix units of a GPU for float16 and int8: of CUDA from `sm_70` on, where no extent is known to be at most 64, and of \
Metal.",
    ),
    example_before: explained(
        "\
# ApplyDefaultSchedule(dlight.gpu.Fallback(), target=\"cuda\")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\")):
        for i, j in T.grid(64, 64):
            with T.sblock(\"B\"):
                vi, vj = T.axis.remap(\"SS\", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] + T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\")):
        T.func_attr({\"tirx.is_scheduled\": True})
        # with T.sblock(\"root\"):
        for ax0_ax1_fused_0 in T.thread_binding(4, thread=\"blockIdx.x\"):
            for ax0_ax1_fused_1 in T.thread_binding(1024, thread=\"threadIdx.x\"):
                with T.sblock(\"B\"):
                    v0 = T.axis.spatial(64, (ax0_ax1_fused_0 * 1024 + ax0_ax1_fused_1) // 64)
                    v1 = T.axis.spatial(64, (ax0_ax1_fused_0 * 1024 + ax0_ax1_fused_1) % 64)
                    T.reads(A[v0, v1])
                    T.writes(B[v0, v1])
                    B[v0, v1] = A[v0, v1] + T.float32(1.0)
",
    ),
    run: Run::Module(run),
};

/// The documentation of the argument `target` of such passes.
pub(super) const TARGET: &str = "The target of functions that name none, as `{\"kind\": \"cuda\", \"arch\": \"sm_80\"}` or a kind. \
                                 In TVM it is the one in scope: `with tvm.target.Target(...):`.";

/// A failure with TVM's words.
pub(super) fn failed<T>(message: impl Into<String>) -> Result<T, PassError> {
    Err(vec![Diagnostic::error("schedule-refused", message, None)])
}

/// The argument `target`.
pub(super) fn given(store: &mut Store, args: &Args) -> Result<Option<AttrValue>, PassError> {
    match args.get("target") {
        Literal::None => Ok(None),
        literal => match targets::read(store, literal) {
            Ok(target) => Ok(Some(target)),
            Err(message) => Err(vec![Diagnostic::error("pass-argument", format!("target: {message}"), None)]),
        },
    }
}

/// True if a function is marked.
pub(super) fn is_scheduled(store: &Store, func: &PrimFunc) -> bool {
    store.attr_int(func.attrs, "tirx.is_scheduled").is_some_and(|mark| mark != 0)
}

/// Marks a function.
pub(super) fn mark(store: &mut Store, func: ExprId) -> ExprId {
    with_func(store, "function marked as scheduled", func, |store, func| {
        let attrs = Some(store.with_attr(func.attrs, "tirx.is_scheduled", AttrValue::Bool(true)));
        PrimFunc { attrs, ..func }
    })
}

/// The rules that are written, each with its `bucket`.
fn rules(args: &Args) -> Result<Vec<(&'static str, i64)>, PassError> {
    let wrong = |message: String| Err(vec![Diagnostic::error("pass-argument", format!("ApplyDefaultSchedule: {message}"), None)]);
    let Literal::List(items) = args.get("*rules") else { return wrong("the rules are a list".to_owned()) };
    let mut found = Vec::new();
    for item in items {
        let Literal::Str(text) = item else { return wrong(format!("`{item}` is no rule")) };
        let calls = parse_calls(text).map_err(|error| vec![error])?;
        let [call] = &calls[..] else { return wrong(format!("`{text}` is no rule")) };
        let names: Vec<&str> = call.name.rsplit('.').take(2).collect();
        let short = if let [base, module] = names[..] { format!("{module}.{base}") } else { call.name.clone() };
        let Some(rule) = rule_names().find(|rule| *rule == short) else {
            let near = suggest::nearest(&short, rule_names()).map(|near| format!("; did you mean `dlight.{near}`?"));
            return wrong(format!("there is no rule `{}`{}", call.name, near.unwrap_or_default()));
        };
        let bucket = match &call.args[..] {
            [] => 4,
            [(name, CallArg::Literal(Literal::Int(bucket @ 1..)))]
                if rule == "gpu.LowBatchGEMV" && name.as_deref().is_none_or(|name| name == "bucket") =>
            {
                *bucket
            }
            _ => return wrong(format!("cannot use the arguments of `{text}`")),
        };
        found.push((rule, bucket));
    }
    Ok(found)
}

/// The number of instructions that become steps. A model has thousands of them, and no user walks through those.
const MOST_STEPS: usize = 200;

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let rules = rules(args)?;
    let default = given(cx.store, args)?;
    let mut new = module.clone();
    let mut seen = module.clone();
    let mut left = MOST_STEPS;
    for &(name, func) in module.functions() {
        let Some(data) = prim_func(cx.store, func).filter(|data| !is_scheduled(cx.store, data)) else { continue };
        let Some(target) = cx.store.attr(data.attrs, "target").cloned().or_else(|| default.clone()) else {
            return failed("ValueError: Target context required. Please set it by constructing a TVM Target");
        };
        let device = Device::of(cx.store, &target);
        let text = cx.store.str(name).to_owned();
        match schedule_by(cx.store, &new, &text, &rules, &device) {
            Err(refused) => return failed(format!("`{text}`: {}", refused.0)),
            Ok(None) => {}
            Ok(Some((scheduled, steps))) => {
                new = scheduled;
                for Step { name: step, func: (name, func), rewrites } in steps {
                    if left > 0 {
                        left -= 1;
                        seen.set_function(name, func);
                        cx.stages.push(Stage { name: step.to_owned(), result: Ok(seen.clone()), rewrites });
                    }
                }
                if let Some(func) = new.function(name).filter(|_| cx.store.log.has_fuel()) {
                    new.set_function(name, mark(cx.store, func));
                }
            }
        }
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::error;

    #[test]
    fn rules_that_nobody_knows_are_named() {
        let program = super::SPEC.example_before;
        let message = error(program, "ApplyDefaultSchedule(dlight.gpu.Matmull(), target=\"cuda\")");
        assert!(message.contains("did you mean `dlight.gpu.Matmul`?"), "{message}");
        let message = error(program, "ApplyDefaultSchedule(dlight.gpu.Matmul())");
        assert!(message.contains("Target context required"), "{message}");
    }

    #[test]
    fn each_instruction_of_a_rule_is_a_step() {
        let mut session = crate::session::Session::new(|| 0.0);
        let call = super::SPEC.example_call().to_owned();
        let rows = vec![crate::repro::DocumentRow { call, enabled: true }];
        let source = super::SPEC.example_before.to_owned();
        assert!(session.run(&crate::repro::Document { source, rows, ..Default::default() }, true));
        let steps: Vec<&str> = session.trace().steps.iter().skip(1).map(|step| &*step.name).collect();
        assert_eq!(steps, ["transform_block_layout", "reorder", "fuse", "split", "bind", "bind"]);
    }
}

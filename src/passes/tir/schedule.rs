//! Schedule: the instructions of a trace, one after the other.
//!
//! Source: `src/s_tir/schedule`; the pass itself is ours.

use crate::diag::Diagnostic;
use crate::ir::Module;
use crate::parse::trace::parse_trace;
use crate::pass::trace::Stage;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::schedule::{Refused, State, Tracer, changes};

/// The schedule of a trace, as a pass.
pub static SPEC: PassSpec = PassSpec {
    name: "Schedule",
    info_name: "Schedule",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param {
        name: "trace",
        default: "",
        doc: explained(
            "The instructions, as `sch.trace.as_python()` prints them: `b0 = sch.get_sblock(\"C\")` and so on, a line each.",
        ),
    }],
    config: &[],
    summary: "Applies the instructions of a schedule.",
    doc: explained(
        "Each instruction that changes the program is a step of its own and one rewrite, so that the schedule can be stepped through. One that TVM \
refuses fails the pass, with TVM's reason and its line; in a schedule of TVM those before it stand.\n\n\
`tensorize` takes the intrinsics that TVM registers, by their names, and those of the trace: two functions, `desc` and `impl`, under \
`@T.prim_func` and `TensorIntrin.register(\"name\", desc, impl)` in front of the instructions.",
    ),
    example_before: explained(
        "\
# Schedule(trace=\"b0 = sch.get_sblock('B')\\ni, = sch.get_loops(b0)\\ni0, i1 = sch.split(i, [None, 4])\\nsch.vectorize(i1)\")
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((32,), \"float32\"), B: T.Buffer((32,), \"float32\")):
        T.func_attr({\"s_tir\": True})
        for i in range(32):
            with T.sblock(\"B\"):
                vi = T.axis.spatial(32, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32,), \"float32\"), B: T.Buffer((32,), \"float32\")):
        for i_0 in range(8):
            for i_1 in T.vectorized(4):
                with T.sblock(\"B\"):
                    vi = T.axis.spatial(32, i_0 * 4 + i_1)
                    T.reads(A[vi])
                    T.writes(B[vi])
                    B[vi] = A[vi] * T.float32(2.0)
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let text = args.str("trace").unwrap_or_default();
    // Places in the trace are none in the program.
    let unplaced = |found: Vec<Diagnostic>| -> PassError {
        found.into_iter().map(|found| Diagnostic::error(found.code, found.message, None)).collect()
    };
    let trace = parse_trace(text).map_err(unplaced)?;
    let mut state = State::new(&mut *cx.store, module);
    let mut tracer = Tracer::default();
    for (done, instruction) in trace.iter().enumerate() {
        if !state.store.log.has_fuel() && !state.store.makes_products() {
            break;
        }
        let from = state.store.log.done.len();
        let applied = tracer.apply(&mut state, instruction);
        let rewrites = from..state.store.log.done.len();
        let name = || changes(instruction).unwrap_or(&instruction.name).to_owned();
        if let Err(Refused(message)) = applied {
            let line = text[instruction.span.start as usize..].lines().next().unwrap_or_default();
            let found = Diagnostic::error("schedule-refused", format!("instruction {}, `{line}`: {message}", done + 1), None);
            cx.stages.push(Stage { name: name(), result: Err(found.clone()), rewrites });
            return Err(vec![found]);
        }
        if changes(instruction).is_some() {
            cx.stages.push(Stage { name: name(), result: Ok(state.module()), rewrites });
        }
    }
    Ok(state.module())
}

#[cfg(test)]
mod tests {
    use crate::ir::Store;
    use crate::parse::trace::parse_trace;
    use crate::schedule::{State, apply_trace};
    use crate::session::open;

    #[test]
    fn an_instruction_that_is_refused_leaves_those_before_it() {
        let store = &mut Store::new();
        let module = open(store, super::SPEC.example_after).module;
        let trace = "b = sch.get_sblock('B')\nsch.annotate(b, 'key', 1)\nsch.compute_inline(b)\n";
        let trace = parse_trace(trace).expect("a trace");
        let mut state = State::new(store, &module);
        let failure = apply_trace(&mut state, &trace).expect_err("an output block cannot be inlined");
        assert_eq!((failure.done, &*failure.message), (2, "ScheduleError: Cannot operate on an output block"));
        assert_ne!(state.module(), module);
    }
}

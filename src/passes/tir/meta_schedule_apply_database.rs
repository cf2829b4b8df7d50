//! MetaScheduleApplyDatabase: tensor programs get the best schedules of a database.
//!
//! Source: `src/relax/transform/meta_schedule.cc`, `src/s_tir/meta_schedule/database`.

use super::apply_default_schedule::{failed, mark};
use super::prim_func;
use crate::diag::Diagnostic;
use crate::ir::{AttrValue, Dialect, Expr, ExprId, Module, PrimFunc, Store};
use crate::pass::trace::Stage;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::schedule::database::Database;
use crate::schedule::{Refused, State, Tracer, changes};

/// TVM's `relax.transform.MetaScheduleApplyDatabase`.
pub static SPEC: PassSpec = PassSpec {
    name: "MetaScheduleApplyDatabase",
    info_name: "MetaScheduleApplyDatabase",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[
        Param {
            name: "work_dir",
            default: "None",
            doc: explained("The folder of the database in TVM, which is not read here: `database` has what its files hold."),
        },
        Param { name: "enable_warning", default: "False", doc: explained("Says which functions the database does not have.") },
        Param {
            name: "database",
            default: "\"\"",
            doc: explained(
                "The lines of `database_workload.json` and `database_tuning_record.json`, as TVM writes them. TVM itself takes the \
                 database in scope (`with database:`) or the one in `work_dir`.",
            ),
        },
    ],
    config: &[],
    summary: "Applies the best schedules of a database of MetaSchedule.",
    doc: explained(
        "Each tensor program that the database has, by structural equality, gets the schedule that took the least time, and is \
marked `tirx.is_scheduled`; others stay. Times are those that TVM measured when the database was made, and the target of a record \
is not looked at, as in TVM. Each instruction is a step of its own.\n\n\
TVM puts the scheduled program of the database in the place of the function; here the function itself is scheduled, so that its \
variables keep their names. Databases that compare otherwise than `\"structural\"` are compared structurally, too.",
    ),
    example_before: explained(
        "\
# MetaScheduleApplyDatabase()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), dtype=\"float32\")) -> R.Tensor((3,), dtype=\"float32\"):
        return x
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), dtype=\"float32\")) -> R.Tensor((3,), dtype=\"float32\"):
        return x
",
    ),
    run: Run::Module(run),
};

/// A function as another one, with the same type.
fn with(store: &mut Store, func: ExprId, data: PrimFunc) -> ExprId {
    let ty = store.checked_type(func);
    let data = store.add_prim_func(data);
    store.rebuild(func, Expr::PrimFunc(data), ty)
}

/// A function as TVM's `normalize_mod` makes it before it asks for it.
fn normalized(store: &mut Store, func: ExprId, data: &PrimFunc) -> ExprId {
    let mut attrs = data.attrs;
    if store.attr(attrs, "global_symbol").is_none() {
        let main = AttrValue::Str(store.name("main"));
        attrs = Some(store.with_attr(attrs, "global_symbol", main));
    }
    let attrs = Some(store.with_attr(attrs, "tirx.noalias", AttrValue::Bool(true)));
    with(store, func, PrimFunc { attrs, ..data.clone() })
}

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let text = args.str("database").unwrap_or_default();
    let functions: Vec<_> =
        module.functions().iter().filter_map(|&(name, func)| Some((name, func, prim_func(cx.store, func)?))).collect();
    if functions.is_empty() {
        return Ok(module.clone());
    }
    if text.trim().is_empty() {
        let message = "there is no database: paste the lines of `database_workload.json` and `database_tuning_record.json` as \
                       `database=\"...\"`; files are not read here";
        return failed(message);
    }
    let database = match Database::read(cx.store, text) {
        Ok(database) => database,
        Err(message) => return failed(format!("ValueError: {message}")),
    };
    let mut new = module.clone();
    for (name, func, data) in functions {
        let text = cx.store.str(name).to_owned();
        let query = normalized(cx.store, func, &data);
        let Some(trace) = database.query(cx.store, query) else {
            if args.bool("enable_warning") {
                let message = format!("Tuning record is not found for primfunc: {text}");
                cx.diagnostics.emit(Diagnostic::warning("no-record", message, None));
            }
            continue;
        };
        // The trace knows the function by the name that every program of a database has.
        let mut alone = Module::of(Dialect::Relax);
        let main = cx.store.name("main");
        alone.set_function(main, func);
        let mut state = State::new(&mut *cx.store, &alone);
        let mut tracer = Tracer::default();
        for (done, instruction) in trace.iter().enumerate() {
            if !state.store.log.has_fuel() && !state.store.makes_products() {
                break;
            }
            let from = state.store.log.done.len();
            let applied = tracer.apply(&mut state, instruction);
            let rewrites = from..state.store.log.done.len();
            if let Err(Refused(message)) = applied {
                let step = &instruction.name;
                let message = format!("`{text}`: instruction {}, `{step}`: {message}", done + 1);
                let found = Diagnostic::error("schedule-refused", message, None);
                cx.stages.push(Stage { name: step.clone(), result: Err(found.clone()), rewrites });
                return Err(vec![found]);
            }
            if let (Some(step), Some(func)) = (changes(instruction), state.module().function(main)) {
                new.set_function(name, func);
                cx.stages.push(Stage { name: step.to_owned(), result: Ok(new.clone()), rewrites });
            }
        }
        let scheduled = state.module().function(main).unwrap_or(func);
        new.set_function(name, mark(cx.store, scheduled));
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::pass::Literal;
    use crate::passes::tir::testing::{after, error};

    /// The database that TVM 0.27 wrote for `double`: three schedules, of which it takes the second, and one was not measured.
    const DATABASE: &str = include_str!("../../../tests/databases/double.jsonl");

    fn call(database: &str) -> String {
        format!("{}(database={})", SPEC.name, Literal::Str(database.to_owned()))
    }

    const BEFORE: &str = include_str!("../../../tests/databases/double.txt");

    /// The result of TVM.
    const AFTER: &str = r#"
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def double(A: T.Buffer((2, 4, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        A_local = T.sblock_alloc_buffer((2, 4, 4), scope="local")
        for i_0 in T.serial(2, annotations={"note": [1, "s"]}):
            for ax0, ax1 in T.grid(4, 4):
                with T.sblock("A_local"):
                    v0, v1, v2 = T.axis.remap("SSS", [i_0, ax0, ax1])
                    T.reads(A[v0, v1, v2])
                    T.writes(A_local[v0, v1, v2])
                    A_local[v0, v1, v2] = A[v0, v1, v2]
            for i_1_j_fused in T.vectorized(16):
                with T.sblock("B"):
                    vi = T.axis.spatial(8, i_0 * 4 + i_1_j_fused // 4)
                    vj = T.axis.spatial(4, i_1_j_fused % 4)
                    T.reads(A_local[vi // 4, vj, vi % 4])
                    T.writes(B[vi, vj])
                    T.sblock_attr({"unroll": 16})
                    B[vi, vj] = A_local[vi // 4, vj, vi % 4] * T.float32(2.0)

    @T.prim_func(s_tir=True)
    def other(A: T.Buffer((8, 5), "float32"), B: T.Buffer((8, 5), "float32")):
        # with T.sblock("root"):
        for i, j in T.grid(8, 5):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * T.float32(2.0)
"#;

    #[test]
    fn a_function_gets_the_fastest_schedule_that_the_database_has_for_it() {
        let same = |found: String, wanted: &str| assert!(found.trim_end().ends_with(wanted.trim()), "{found}");
        same(after(BEFORE, &call(DATABASE)), AFTER);
        // The files may come one behind the other in any order.
        let mut lines: Vec<&str> = DATABASE.lines().collect();
        lines.rotate_left(1);
        same(after(BEFORE, &call(&lines.join("\n\n"))), AFTER);
        let without = BEFORE.replace("T.float32(2.0)", "T.float32(3.0)");
        same(after(&without, &call(DATABASE)), &without);
    }

    #[test]
    fn what_is_no_database_is_refused_with_its_line() {
        let (first, rest) = DATABASE.split_once('\n').expect("lines");
        for (database, message) in [
            ("", "there is no database: paste the lines of `database_workload.json`"),
            ("[1, 2", "ValueError: line 1 of the database: this is no JSON: expected `,` or the closing bracket"),
            ("{}", "ValueError: line 1 of the database: a line is `[\"hash\", \"program\"]`"),
            ("\n[\"1\", \"?\"]", "ValueError: line 2 of the database: the program is not in base64"),
            ("[\"1\", \"e30=\"]", "ValueError: line 1 of the database: the graph has no nodes"),
            (rest, "ValueError: line 1 of the database: there is no such program in the database"),
            (&format!("{first}\n[0, [[[[]], []], [1.0], null, null]]"), "ValueError: line 2 of the database: an instruction is"),
            (
                &format!("{first}\n[0, [[[[\"GetSBlock\", [], [\"C\", \"main\"], [\"b0\"]]], []], [1.0], null, null]]"),
                "`double`: instruction 1, `get_sblock`: ScheduleError: Cannot find a block with the name: C",
            ),
        ] {
            let found = error(BEFORE, &call(database));
            assert!(found.starts_with(message), "{found}");
        }
    }
}

//! The commands of the README. Each installs the tools that it needs on a machine that has only rustup and Node.js, and
//! announces each step.
//!
//! `engine` turns the crate into `www/pkg`, `setup` finds or installs tools, `sh` runs commands; `serve`, `build` and
//! `test` are made of those.

mod build;
mod engine;
mod fuzz;
mod kept;
mod linked;
mod order;
mod python;
mod serve;
mod setup;
mod sh;
mod split;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask serve [--port N] [--host H]   build the page, serve it, rebuild when a source changes
cargo xtask build                         static site in dist/, fit for any host and any sub-path
cargo xtask test [STAGE...]               every test, or only the stages named
cargo xtask engine                        the engine alone in www/pkg, quickly
cargo xtask python FILE...                files of Python, on the page's Python and engine
cargo xtask python --pytest [--json OUT] FILE...
                                          the same for tests
cargo xtask python --table [--check|--update] [FILTER]
                                          TVM's own tests: how many pass, by file
cargo xtask codegen                       the protocol and its checks for the page, from src/boundary
cargo xtask conformance [--check|--update] [FILTER]
                                          our passes against results that TVM itself gave
cargo xtask record [KIND...]              the suite in tests/conformance anew, by TVM in $PASSLAB_PYTHON
                                          (for the kind relay in $PASSLAB_RELAY_PYTHON)
cargo xtask bench [ARGUMENT...]           how fast the engine is: cargo bench
cargo xtask bench page                    how fast the page in dist/ answers, in a real browser
cargo xtask bench tvm [PART...]           passes of Relax beside TVM's own, where $PASSLAB_PYTHON has it
cargo xtask cross [ARGUMENT...]           random programs through our passes and TVM's; --help says more
cargo xtask fuzz TARGET [SECONDS]         a target of fuzz/fuzz_targets with libFuzzer; needs a C++ compiler";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let done = match command.as_str() {
        "serve" => serve::serve(&rest),
        "build" if rest.is_empty() => build::build(),
        "engine" if rest.is_empty() => engine::engine(engine::Goal::Serve),
        "python" => python::python(&rest),
        "test" => test::test(&rest),
        test::RUNNER => test::run_wasm_tests(),
        "codegen" if rest.is_empty() => sh::cargo().args(["test", "--quiet", "--test", "codegen"]).env("BLESS", "1").run(),
        "conformance" => test::conformance(&rest),
        "record" => test::record(&rest),
        "bench" if rest == ["page"] => test::bench_page(),
        "bench" if rest.first().is_some_and(|first| first == "tvm") => {
            sh::cargo().args(["bench", "--bench", "tvm", "--"]).args(&rest[1..]).run()
        }
        "cross" => sh::cargo().args(["test", "--quiet", "--test", "cross", "--"]).args(&rest).run(),
        "fuzz" => fuzz::fuzz(&rest),
        "bench" => sh::cargo().arg("bench").args(&rest).run(),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(())
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\nxtask: {message}");
            ExitCode::FAILURE
        }
    }
}

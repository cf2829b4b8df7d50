//! Runs wasm-bindgen tests: wasm-bindgen's own runner, built from source and locked by `Cargo.lock`,
//! so that nothing has to be installed globally.

fn main() {
    if let Err(error) = wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os()) {
        eprintln!("{error:?}");
        std::process::exit(1);
    }
}

//! Fuzzing: the targets of `fuzz/`, built for libFuzzer. cargo-fuzz builds the same, with a toolchain that is not stable.

use crate::sh::{Result, cargo, root, sh, target_dir};
use std::fs;

/// The flags by which libFuzzer learns of a run: the edges it took, and what it compared.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// Runs a target for some seconds; what crashes it or hangs is left in `fuzz/artifacts`.
pub fn fuzz(args: &[String]) -> Result {
    let [name, rest @ ..] = args else { return Err("which target? They are in `fuzz/fuzz_targets`".into()) };
    let seconds = rest.first().map_or("60", String::as_str);
    let folder = root().join("fuzz");
    let (built, found) = (target_dir().join("fuzz"), target_dir().join("fuzz-corpus").join(name));
    let artifacts = folder.join("artifacts").join(name);
    for folder in [&found, &artifacts] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    // With a target that is named, the flags are not those of build scripts.
    let version = sh("rustc").arg("-vV").read().unwrap_or_default();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc does not say its host")?;
    let manifest = folder.join("Cargo.toml");
    let build = cargo().args(["build", "--release", "--bin", name, "--target", host, "--manifest-path"]).arg(manifest);
    build.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", &built).run()?;
    let run = sh(built.join(host).join("release").join(name)).arg(&found).arg(folder.join("corpus").join(name));
    let dictionary = format!("-dict={}", folder.join("pieces.dict").display());
    let artifacts = format!("-artifact_prefix={}/", artifacts.display());
    run.args([dictionary, artifacts, format!("-max_total_time={seconds}")]).args(["-timeout=20", "-max_len=6000"]).run()
}

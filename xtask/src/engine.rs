//! From the crate to `www/pkg`: compile to WebAssembly, bind, and for production optimise.

use crate::order::order;
use crate::setup;
use crate::sh::{Result, Sh, cargo, root, sh, target_dir, without_lines};
use crate::split;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::Instant;
use wasm_bindgen_cli_support::Bindgen;

/// The purpose of a build of the engine; each is a profile of the root `Cargo.toml`.
#[derive(Clone, Copy, PartialEq)]
pub enum Goal {
    /// Quick to rebuild, with the names of functions in stack traces.
    Serve,
    /// Fast and small.
    Release,
}

/// The half that every program needs, and the half that is loaded at the first call into it (see `split`).
const FIRST: &str = "passlab_bg.wasm";
const SECOND: &str = "passlab_second.wasm";

/// The compiler's flags for the optimised engine. Relocations, which the linker keeps on demand, tell which statics a function
/// refers to (see `linked`). Inlining makes the engine fast and large; measures stand beside the profile, in `Cargo.toml`.
const FLAGS: &str = "-C link-arg=--emit-relocs -C llvm-args=-inline-threshold=60";

/// The arguments of wasm-opt. Higher levels make the file smaller and its brotli form larger (measured: -O1 527 KB, -Os 563 KB).
/// Small functions of other crates are put in where they are called, which the compiler did not do.
const OPTIMISATIONS: [&str; 7] = [
    "--inlining",
    "--always-inline-max-function-size",
    "10",
    "--one-caller-inline-max-function-size",
    "40",
    "-O1",
    "--duplicate-function-elimination",
];

impl Goal {
    const fn profile(self) -> &'static str {
        match self {
            Goal::Serve => "wasm-serve",
            Goal::Release => "wasm-release",
        }
    }
}

/// Returns a command of cargo about the engine of the page. All with the same goal agree in profile, features and flags, so that
/// tests use the library that the page does, compiled once.
pub fn of_page(command: &str, goal: Goal) -> Sh {
    let flags = if goal == Goal::Release { FLAGS } else { "" };
    cargo()
        .args([command, "--package", "passlab", "--no-default-features", "--features", "page"])
        .args(["--target", setup::WASM_TARGET, "--profile", goal.profile()])
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags)
}

/// Builds the engine into `www/pkg`.
pub fn engine(goal: Goal) -> Result {
    setup::wasm_target()?;
    let start = Instant::now();
    let profile = goal.profile();
    let compile = match goal {
        // Without what a library of Rust needs besides: no test links to it.
        Goal::Serve => of_page("rustc", goal).args(["--lib", "--crate-type", "cdylib"]),
        Goal::Release => of_page("build", goal).arg("--lib"),
    };
    compile.run()?;
    let compiled = target_dir().join(setup::WASM_TARGET).join(profile).join("passlab.wasm");
    // Bound beside the target first, so that a failure leaves the last good engine in place.
    let bound = target_dir().join("bindgen").join(profile);
    bind(&compiled, &bound, goal).map_err(|error| format!("wasm-bindgen: {error:#}"))?;
    let (first, second) = (bound.join(FIRST), bound.join(SECOND));
    if goal == Goal::Release {
        let halves = split::split(&read(&compiled)?, &read(&first)?).map_err(|error| format!("split: {error:#}"))?;
        write(&first, &halves.first)?;
        write(&second, &halves.second)?;
        optimise(&first)?;
        optimise(&second)?;
    } else {
        // In one piece, so that a stack trace reads well. Nothing asks for the other then.
        write(&second, b"\0asm\x01\0\0\0")?;
    }
    let bytes = publish(&bound)?;
    // While a developer edits passes, the texts of the start will do: they cost a native build.
    if goal == Goal::Serve && !root().join("www/pkg/docs.json").exists() {
        explanations()?;
    }
    let seconds = start.elapsed().as_secs_f32();
    println!("engine: {} and {} KB of WebAssembly in www/pkg, {seconds:.1} s", bytes[0] / 1000, bytes[1] / 1000);
    Ok(())
}

fn bind(wasm: &Path, out: &Path, goal: Goal) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Bindgen::new()
        .input_path(wasm)
        .web(true)?
        .typescript(true)
        // Without this the glue holds no `new URL("passlab_bg.wasm", ...)`, and Vite would leave
        // the engine out of the site without a word.
        .omit_default_module_path(false)
        // Splitting goes by the names as the linker has them, and drops them; stack traces are read.
        .demangle(goal == Goal::Serve)
        .remove_name_section(false)
        .remove_producers_section(true)
        .generate(out)?;
    Ok(())
}

/// Runs wasm-opt over a file in place, and orders its functions for compression. It takes many seconds, so results are kept by
/// content and by what is done.
fn optimise(wasm: &Path) -> Result {
    let tool = root().join("node_modules/binaryen/bin/wasm-opt");
    let mut hash = DefaultHasher::new();
    (OPTIMISATIONS, include_str!("order.rs"), read(wasm)?).hash(&mut hash);
    let kept = target_dir().join("wasm-opt").join(format!("{:016x}.wasm", hash.finish()));
    if !kept.exists() {
        fs::create_dir_all(kept.parent().expect("joined above")).map_err(|e| e.to_string())?;
        let partial = kept.with_extension("partial");
        let (tool, wasm) = (tool.as_os_str(), wasm.as_os_str());
        // The file lists the compiler's features; wasm-opt reads them there.
        sh("node").arg(tool).arg(wasm).args(OPTIMISATIONS).arg("-o").arg(&partial).run()?;
        write(&partial, &order(&read(&partial)?).map_err(|error| format!("order: {error}"))?)?;
        fs::rename(&partial, &kept).map_err(|error| error.to_string())?;
    }
    write(wasm, &read(&kept)?)
}

/// Writes the list of passes with the long texts about them, which the engine of the page does not hold. They come from the
/// command line, which cargo builds where it is not built as it is now.
pub fn explanations() -> Result {
    let list = cargo().args(["run", "--quiet", "--package", "passlab", "--", "passes", "--json"]);
    let list = without_lines(list).read();
    let list = list.ok_or("passlab passes --json failed")?;
    write_if_changed(&root().join("www/pkg/docs.json"), list.as_bytes()).map(drop)
}

/// Copies changed files into `www/pkg`; returns the sizes of the two wasm files in bytes.
fn publish(bound: &Path) -> Result<[usize; 2]> {
    let out = root().join("www/pkg");
    fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let (first, second) = (read(&bound.join(FIRST))?, read(&bound.join(SECOND))?);
    let types = ["passlab.d.ts", "passlab_bg.wasm.d.ts"];
    for name in types {
        write_if_changed(&out.join(name), &read(&bound.join(name))?)?;
    }
    let glue = read(&bound.join("passlab.js"))?;
    let changed = write_if_changed(&out.join(FIRST), &first)? | write_if_changed(&out.join(SECOND), &second)?;
    // The dev server watches modules, not the wasm that they name: the glue is written anew whenever the engine
    // changed, which makes the page reload.
    if changed {
        write(&out.join("passlab.js"), &glue)?;
    } else {
        write_if_changed(&out.join("passlab.js"), &glue)?;
    }
    Ok([first.len(), second.len()])
}

fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<bool> {
    let changed = fs::read(path).ok().as_deref() != Some(bytes);
    if changed {
        write(path, bytes)?;
    }
    Ok(changed)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

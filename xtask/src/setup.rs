//! Finds the tools that the commands need beyond rustup and Node.js, and installs missing ones.

use crate::sh::{Result, npm, root, sh, target_dir};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The target that the engine is compiled to for the page.
pub const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// Makes sure that rustc can compile to WebAssembly.
pub fn wasm_target() -> Result {
    let sysroot = sh("rustc").args(["--print", "sysroot"]).read().unwrap_or_default();
    if Path::new(&sysroot).join("lib/rustlib").join(WASM_TARGET).exists() {
        return Ok(());
    }
    println!("Rust's {WASM_TARGET} target is missing: installing it");
    sh("rustup").args(["target", "add", WASM_TARGET]).run()
}

/// Makes sure that `node_modules` matches `package-lock.json`.
pub fn npm_packages() -> Result {
    let version = sh("node").arg("--version").read().ok_or("Node.js 20.19 or later is needed")?;
    if !recent_enough(&version) {
        return Err(format!("Node.js 20.19 or later is needed; `node` is {version}"));
    }
    let changed = |path: &str| -> Option<SystemTime> { root().join(path).metadata().and_then(|file| file.modified()).ok() };
    // npm writes the second file at the end of every installation.
    if changed("package-lock.json") <= changed("node_modules/.package-lock.json") {
        return Ok(());
    }
    println!("npm packages are missing or out of date: installing them");
    npm().args(["ci", "--no-audit", "--no-fund"]).run()
}

/// True if Vite runs on `version` (`v20.20.2`).
fn recent_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (20, 19),
        _ => false,
    }
}

/// The version of ruff that is installed where there is none. Another one may find something else.
const RUFF: &str = "ruff==0.17.6";

/// Finds ruff, or installs it beside what is built; `None` without Python or a package index.
pub fn ruff() -> Option<PathBuf> {
    let here = target_dir().join("ruff");
    let installed = here.join("bin/ruff");
    let runs = |program: &Path| sh(program).arg("--version").read().is_some();
    if runs(&installed) {
        return Some(installed);
    }
    if runs(Path::new("ruff")) {
        return Some("ruff".into());
    }
    println!("no ruff found: installing it");
    sh("python3").args(["-m", "venv"]).arg(&here).run().ok()?;
    sh(here.join("bin/pip")).args(["install", "--quiet", "--disable-pip-version-check", RUFF]).run().ok()?;
    runs(&installed).then_some(installed)
}

/// A Chromium or Chrome, and its driver where there is one.
pub struct Browser {
    /// The browser's program.
    pub chrome: PathBuf,
    /// The same without all that a window needs, where it is installed: a test of the page costs it a quarter less.
    pub shell: Option<PathBuf>,
    /// `chromedriver`, of the same version if it came with the browser.
    pub driver: Option<PathBuf>,
}

const CHROMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const ELSEWHERE: &[&str] =
    &["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium"];

/// Finds a browser, or installs one where that takes no more than apt; else says how to get one.
pub fn browser() -> Result<Browser> {
    if let Some(found) = find_browser() {
        return Ok(found);
    }
    let is_root = sh("id").arg("-u").read().as_deref() == Some("0");
    if is_root && Path::new("/etc/debian_version").exists() && on_path("apt-get").is_some() {
        println!("no browser found: installing Chromium");
        let apt = || sh("apt-get").env("DEBIAN_FRONTEND", "noninteractive");
        apt().args(["update", "-qq"]).run()?;
        let install = ["install", "-y", "-qq", "--no-install-recommends"];
        apt().args(install).args(["chromium", "chromium-driver"]).run()?;
        if apt().args(install).arg("chromium-headless-shell").run().is_err() {
            println!("there is no chromium-headless-shell: the page is tested in Chromium itself");
        }
    }
    find_browser().ok_or_else(|| {
        "no browser found. Install Chromium or Chrome with its driver (Debian: `apt-get install \
         chromium chromium-driver`), or name them in the variables CHROME and CHROMEDRIVER"
            .to_owned()
    })
}

fn find_browser() -> Option<Browser> {
    let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let chrome = named("CHROME")
        .or_else(|| CHROMES.iter().find_map(|name| on_path(name)))
        .or_else(|| ELSEWHERE.iter().map(PathBuf::from).find(|path| path.exists()))?;
    let driver = named("CHROMEDRIVER").or_else(|| on_path("chromedriver"));
    let shell = if named("CHROME").is_some() { None } else { on_path("chromium-headless-shell") };
    Some(Browser { chrome, shell, driver })
}

fn on_path(program: &str) -> Option<PathBuf> {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(&file)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::recent_enough;

    #[test]
    fn node_20_19_is_the_first_that_is_recent_enough() {
        assert!(recent_enough("v20.19.0"));
        assert!(recent_enough("v22.1.0"));
        assert!(!recent_enough("v20.18.9"));
        assert!(!recent_enough("v18.20.0"));
        assert!(!recent_enough("not a version"));
    }
}

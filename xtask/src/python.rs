//! `cargo xtask python`: files of Python on the page's own Python and engine, in Node.

use crate::engine::{Goal, engine};
use crate::setup;
use crate::sh::{Result, root, sh};

/// Runs files, or tests in them; the arguments are those of `www/python/node/main.mjs`.
pub fn python(args: &[String]) -> Result {
    setup::npm_packages()?;
    if !root().join("www/pkg/passlab.js").exists() {
        engine(Goal::Serve)?;
    }
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    sh("node").arg(root().join("www/python/node/main.mjs")).args(args).env("PASSLAB_CWD", here).quiet().run()
}

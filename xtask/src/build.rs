//! `cargo xtask build`: the static site.

use crate::engine::{Goal, engine, explanations};
use crate::setup;
use crate::sh::{Result, npm, root, sh};

/// Builds the site into `dist/` and prints its size.
pub fn build() -> Result {
    setup::npm_packages()?;
    engine(Goal::Release)?;
    explanations()?;
    site()?;
    println!("\nthe site is in dist/: serve that folder from anywhere, under any path");
    Ok(())
}

/// Builds `dist/` around the engine in `www/pkg`, and holds it to the budget.
pub fn site() -> Result {
    npm().args(["run", "--silent", "build"]).run()?;
    budget()
}

/// Fails when the site weighs more than `budget.json` allows, lacks the engine, or names a file by
/// a path from the root of the host.
pub fn budget() -> Result {
    sh("node").arg(root().join("xtask/budget.mjs")).run()
}

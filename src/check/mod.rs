//! Checks a step by running the program before and after it on the same arguments, and generates programs for that.
//!
//! - [`compare`]: the distance between two values.
//! - [`step`]: two versions of a module, run on generated arguments.
//! - `memory`: results and arguments that are used again.
//! - `random`: pseudo-random numbers that are the same everywhere.
//! - `relay`, `relax`, `tir`: programs generated from a seed; not in the page.

pub mod compare;
mod memory;
#[cfg(not(target_arch = "wasm32"))]
pub mod random;
#[cfg(not(target_arch = "wasm32"))]
pub mod relax;
#[cfg(not(target_arch = "wasm32"))]
pub mod relay;
mod signature;
pub mod step;
#[cfg(not(target_arch = "wasm32"))]
pub mod tir;

//! Is a step right: it is run before and after on the same arguments, and the programs to try that on.
//!
//! - [`compare`]: how far two values are from each other.
//! - [`step`]: two versions of a module, run on made-up arguments.
//! - [`random`]: numbers that look random and are the same everywhere.
//! - [`relay`]: Relay programs made up from a seed.

pub mod compare;
#[cfg(not(target_arch = "wasm32"))]
pub mod random;
#[cfg(not(target_arch = "wasm32"))]
pub mod relay;
pub mod step;

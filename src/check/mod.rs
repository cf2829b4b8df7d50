//! Is a step right: what programs are tried on.
//!
//! - [`random`]: numbers that look random and are the same everywhere.
//! - [`relay`]: Relay programs made up from a seed.

pub mod random;
pub mod relay;

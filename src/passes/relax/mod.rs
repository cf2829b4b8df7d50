//! Passes of Relax, one file each, and what several of them need.

pub mod attach_global_symbol;
pub mod dead_code_elimination;
pub mod normalize;
pub mod normalize_global_var;
pub mod remove_purity_checking;
mod support;
pub mod to_non_dataflow;

#[cfg(test)]
mod testing;

//! Passes of Relax, one file each, and what several of them need.

pub mod annotate_tir_op_pattern;
pub mod attach_global_symbol;
pub mod dead_code_elimination;
pub mod normalize;
pub mod normalize_global_var;
pub mod remove_purity_checking;
pub mod rewrite_dataflow_reshape;
mod support;
pub mod to_non_dataflow;

#[cfg(test)]
mod testing;

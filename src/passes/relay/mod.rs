//! Passes over Relay programs.

pub mod canonicalize_ops;
pub mod eliminate_common_subexpr;
pub mod fast_math;
pub mod infer_type;
pub mod remove_unused_functions;
pub mod simplify_inference;
mod support;
pub mod to_graph_normal_form;

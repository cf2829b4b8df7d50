//! Passes over Relay programs.

pub mod backward_fold_scale_axis;
pub mod canonicalize_ops;
pub mod dead_code_elimination;
pub mod eliminate_common_subexpr;
pub mod fast_math;
pub mod fold_constant;
pub mod fold_scale_axis;
pub mod forward_fold_scale_axis;
pub mod fuse_ops;
pub mod infer_type;
pub mod remove_unused_functions;
pub mod simplify_expr;
pub mod simplify_expr_post_alter_op;
pub mod simplify_inference;
mod support;
pub mod to_a_normal_form;
pub mod to_basic_block_normal_form;
pub mod to_graph_normal_form;

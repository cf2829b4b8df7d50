//! Passes over Relay programs.

pub mod backward_fold_scale_axis;
pub mod canonicalize_cast;
pub mod canonicalize_ops;
pub mod combine_parallel_batch_matmul;
pub mod combine_parallel_conv2d;
pub mod combine_parallel_dense;
pub mod convert_layout;
pub mod dead_code_elimination;
pub mod defuse_ops;
pub mod div_to_mul;
pub mod dynamic_to_static;
pub mod eliminate_common_subexpr;
pub mod eta_expand;
pub mod fake_quantization_to_integer;
pub mod fast_math;
pub mod flatten_atrous_conv;
pub mod fold_constant;
pub mod fold_explicit_padding;
pub mod fold_scale_axis;
pub mod forward_fold_scale_axis;
pub mod fuse_ops;
pub mod infer_type;
pub mod inline;
pub mod lambda_lift;
pub mod remove_unused_functions;
pub mod simplify_expr;
pub mod simplify_expr_post_alter_op;
pub mod simplify_inference;
pub mod split_args;
pub(super) mod support;
#[cfg(test)]
pub(super) mod testing;
pub mod to_a_normal_form;
pub mod to_basic_block_normal_form;
pub mod to_graph_normal_form;
pub mod to_mixed_precision;

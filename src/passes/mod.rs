//! The passes, one file each, and the named pipelines.

pub mod any;
mod pipelines;
pub mod relax;
pub mod relay;

pub use pipelines::{PIPELINES, Pipeline, pipeline};

use crate::pass::PassSpec;

/// Every pass, in the order of the documentation. A new pass is one file and one line here.
pub static ALL: &[&PassSpec] = &[
    &relay::infer_type::SPEC,
    &relay::simplify_inference::SPEC,
    &relay::fold_constant::SPEC,
    &relay::simplify_expr::SPEC,
    &relay::simplify_expr_post_alter_op::SPEC,
    &relay::backward_fold_scale_axis::SPEC,
    &relay::forward_fold_scale_axis::SPEC,
    &relay::fold_scale_axis::SPEC,
    &relay::dead_code_elimination::SPEC,
    &relay::eliminate_common_subexpr::SPEC,
    &relay::canonicalize_ops::SPEC,
    &relay::fast_math::SPEC,
    &relay::canonicalize_cast::SPEC,
    &relay::fuse_ops::SPEC,
    &relay::defuse_ops::SPEC,
    &relay::combine_parallel_conv2d::SPEC,
    &relay::combine_parallel_dense::SPEC,
    &relay::combine_parallel_batch_matmul::SPEC,
    &relay::fold_explicit_padding::SPEC,
    &relay::flatten_atrous_conv::SPEC,
    &relay::div_to_mul::SPEC,
    &relay::to_mixed_precision::SPEC,
    &relay::dynamic_to_static::SPEC,
    &relay::split_args::SPEC,
    &relay::to_a_normal_form::SPEC,
    &relay::to_basic_block_normal_form::SPEC,
    &relay::to_graph_normal_form::SPEC,
    &relay::remove_unused_functions::SPEC,
    &relay::inline::SPEC,
    &relay::eta_expand::SPEC,
    &relay::lambda_lift::SPEC,
    &relax::normalize::SPEC,
    &relax::normalize_global_var::SPEC,
    &relax::attach_global_symbol::SPEC,
    &relax::dead_code_elimination::SPEC,
    &relax::to_non_dataflow::SPEC,
    &relax::remove_purity_checking::SPEC,
    &relax::annotate_tir_op_pattern::SPEC,
    &relax::fuse_ops::SPEC,
    &relax::fuse_tir_inner::SPEC,
    &relax::rewrite_dataflow_reshape::SPEC,
    &relax::call_tir_rewrite::SPEC,
    &relax::static_plan_block_memory::SPEC,
    &relax::lower_alloc_tensor::SPEC,
    &relax::lower_runtime_builtin::SPEC,
    &relax::compute_prim_value::SPEC,
    &relax::vm_shape_lower::SPEC,
    &relax::to_mixed_precision::SPEC,
    &any::sequential::SPEC,
    &any::print_ir::SPEC,
    &any::apply_pass_to_function::SPEC,
];

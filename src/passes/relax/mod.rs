//! Passes of Relax, one file each, and what several of them need.

pub mod annotate_tir_op_pattern;
pub mod attach_global_symbol;
pub mod bind_params;
pub mod bind_symbolic_vars;
pub mod bundle_model_params;
pub mod call_tir_rewrite;
mod calls;
pub mod canonicalize_bindings;
pub mod compute_prim_value;
pub mod convert_to_dataflow;
pub mod dead_code_elimination;
pub mod eliminate_common_subexpr;
pub mod expand_tuple_arguments;
pub mod fuse_ops;
pub mod fuse_tir_inner;
mod fused_program;
mod group_function;
mod grouping;
pub mod inline_private_functions;
pub mod lambda_lift;
pub mod lower_alloc_tensor;
pub mod lower_runtime_builtin;
pub mod normalize;
pub mod normalize_global_var;
pub mod remove_purity_checking;
pub mod remove_unused_outputs;
pub mod remove_unused_parameters;
pub mod rewrite_dataflow_reshape;
pub mod static_plan_block_memory;
mod support;
pub mod to_mixed_precision;
pub mod to_non_dataflow;
pub mod topological_sort;
pub mod vm_shape_lower;

#[cfg(test)]
mod testing;

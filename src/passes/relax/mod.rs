//! Passes of Relax, one file each, and what several of them need.

pub mod adjust_matmul_order;
pub mod allocate_workspace;
pub mod annotate_tir_op_pattern;
pub mod attach_attr_layout_free_buffers;
pub mod attach_global_symbol;
pub mod bind_params;
pub mod bind_symbolic_vars;
pub mod bundle_model_params;
pub mod call_tir_rewrite;
mod calls;
pub mod canonicalize_bindings;
pub mod combine_parallel_matmul;
mod compile_time;
pub mod compute_prim_value;
pub mod convert_layout;
pub mod convert_to_dataflow;
pub mod dead_code_elimination;
pub mod eliminate_common_subexpr;
pub mod expand_matmul_of_sum;
pub mod expand_tuple_arguments;
pub mod fold_batchnorm_to_conv2d;
pub mod fuse_ops;
pub mod fuse_tir;
pub mod fuse_tir_inner;
mod fused_program;
pub mod gradient;
mod group_function;
mod grouping;
pub mod inline_private_functions;
pub mod kill_after_last_use;
pub mod lambda_lift;
pub mod lower_alloc_tensor;
pub mod lower_gpu_ipc_alloc_storage;
pub mod lower_runtime_builtin;
pub mod normalize;
pub mod normalize_global_var;
pub mod optimize_layout_transform;
mod pattern_rewriting;
pub mod realize_vdevice;
pub mod remove_purity_checking;
pub mod remove_redundant_reshape;
pub mod remove_unused_outputs;
pub mod remove_unused_parameters;
pub mod reorder_permute_dims_after_concat;
pub mod reorder_take_after_matmul;
pub mod rewrite_dataflow_reshape;
pub mod static_plan_block_memory;
mod support;
pub mod to_mixed_precision;
pub mod to_non_dataflow;
pub mod topological_sort;
pub mod vm_shape_lower;

#[cfg(test)]
mod fuse_two_conv;
#[cfg(test)]
mod testing;

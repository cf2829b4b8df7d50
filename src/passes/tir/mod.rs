//! Passes over functions of TIR, one file each.

mod accesses;
pub mod annotate_entry_func;
pub mod annotate_irregular_loop;
pub mod apply_default_schedule;
pub mod bf16_compute_legalize;
pub mod bf16_storage_legalize;
pub mod bind_target;
pub mod canonicalize_loop;
pub mod common_subexpr_elim;
pub mod compact_buffer_allocation;
pub mod convert_blocks_to_opaque;
pub mod convert_ssa;
pub mod decorate_device_scope;
pub mod default_gpu_schedule;
mod emit;
pub mod flatten_buffer;
pub mod force_narrow_index_to_int32;
pub mod fp8_compute_legalize;
pub mod fp8_storage_legalize;
mod hash_order;
pub mod hoist_expression;
pub mod infer_fragment;
pub mod inject_double_buffer;
pub mod inject_permuted_layout;
pub mod inject_ptx_async_copy;
pub mod inject_ptx_ldg32;
pub mod inject_software_pipeline;
pub mod inject_virtual_thread;
pub mod inline_private_functions;
pub mod instrument_bound_checkers;
pub mod instrument_profile_intrinsics;
pub mod lift_thread_binding;
pub mod loop_partition;
pub mod lower_async_dma;
pub mod lower_auto_copy;
pub mod lower_cross_thread_reduction;
pub mod lower_init_block;
pub mod lower_intrin;
pub mod lower_match_buffer;
pub mod lower_opaque_block;
pub mod lower_thread_allreduce;
pub mod lower_tvm_builtin;
pub mod lower_vtcm_alloc;
pub mod lower_warp_memory;
pub mod make_packed_api;
pub mod manifest_shared_memory_local_stage;
pub mod merge_shared_memory_allocations;
pub mod meta_schedule_apply_database;
pub mod narrow_data_type;
pub mod plan_and_update_buffer_allocation_location;
pub mod pointer_value_type_rewrite;
pub mod remove_assume;
pub mod remove_no_op;
pub mod remove_store_undef;
pub mod remove_weight_layout_rewrite_block;
pub mod renormalize_split_pattern;
pub mod rewrite_unsafe_select;
pub mod schedule;
pub mod skip_assert;
mod small_floats;
pub mod split_host_device;
pub mod stmt_simplify;
pub mod storage_rewrite;
mod storage_scope;
mod targets;
#[cfg(test)]
pub(crate) mod testing;
pub mod thread_sync;
pub mod transform_mma_buffer_layout;
mod undefined;
pub mod unify_thread_binding;
pub mod unroll_loop;
pub mod use_assume_to_reduce_branches;
pub mod vectorize_loop;
pub mod verify_memory;
pub mod verify_vtcm_limit;

use crate::ir::{AttrsId, Block, Expr, ExprId, PrimFunc, Stmt, StmtId, Store};
use std::rc::Rc;

/// The block that a statement is.
fn block_of(store: &Store, id: StmtId) -> Option<Rc<Block>> {
    match store.stmt(id) {
        Stmt::Block(block) => Some(store.prim_block_rc(*block)),
        _ => None,
    }
}

/// The function of TIR that a function is.
fn prim_func(store: &Store, func: ExprId) -> Option<PrimFunc> {
    match store.expr(func) {
        Expr::PrimFunc(func) => Some(store.prim_func(func).clone()),
        _ => None,
    }
}

/// The attributes of a function of any dialect.
fn func_attrs(store: &Store, func: ExprId) -> Option<AttrsId> {
    match store.expr(func) {
        Expr::PrimFunc(func) => store.prim_func(func).attrs,
        Expr::Function(func) => store.function(func).attrs,
        _ => None,
    }
}

/// A function of TIR with other contents, as one rewrite; the same function when they are the same.
fn with_func(store: &mut Store, rule: &'static str, func: ExprId, f: impl FnOnce(&mut Store, PrimFunc) -> PrimFunc) -> ExprId {
    let Some(old) = prim_func(store, func) else { return func };
    store.rewrite(rule, func, func, |store| {
        let new = f(store, old.clone());
        if new == old {
            return func;
        }
        let ty = store.checked_type(func);
        let new = store.add_prim_func(new);
        store.add_typed(Expr::PrimFunc(new), ty)
    })
}

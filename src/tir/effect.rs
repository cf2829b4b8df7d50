//! The side effects of evaluating an expression (TVM's `SideEffect` in `src/tirx/analysis/side_effect.cc` and
//! `TCallEffectKind` of the intrinsics).

use crate::ir::{PrimExpr, PrimId, Store};

/// The effect of evaluating an expression, in order of harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It gives a value that depends on its variables alone.
    Pure,
    /// It reads memory.
    Reads,
    /// It writes, or its effect is unknown.
    Updates,
}

/// Intrinsics without effect, between spaces.
const PURE: &str = " likely bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right large_uint_imm address_of \
    if_then_else q_multiply_shift q_multiply_shift_per_axis isnullptr isnan popcount fma reinterpret filter call_pure_extern \
    call_llvm_pure_intrin call_spirv_pure_glsl450 ptr_byte_offset handle_add_byte_offset tvm_thread_invariant vectorhigh \
    vectorlow vectorcombine dp4a start_profile_intrinsic end_profile_intrinsic vscale get_active_lane_mask \
    ignore_loop_partition buffer_offset buffer_data type_annotation exp exp2 exp10 erf tanh sigmoid sqrt rsqrt log log2 log1p \
    log10 tan cos cosh sin sinh asin acos atan acosh asinh atanh atan2 nextafter hypot copysign ldexp clz ctpop popcount floor \
    ceil round trunc fabs abs nearbyint pow fmod isfinite isinf infinity max_value min_value shuffle ";

/// Intrinsics that read memory.
const READS: &str = " undef tvm_context_id tvm_struct_get anylist_getitem tvm_load_matrix_sync masked_load ";

/// Returns the effect of a call of an intrinsic, apart from its arguments. An unknown name may do anything.
pub fn effect_of_call(name: &str) -> Effect {
    let listed = |list: &str| {
        list.match_indices(name).any(|(at, _)| list[..at].ends_with(' ') && list[at + name.len()..].starts_with(' '))
    };
    match name {
        _ if listed(PURE) => Effect::Pure,
        _ if listed(READS) => Effect::Reads,
        _ => Effect::Updates,
    }
}

/// Returns the effect of evaluating an expression.
pub fn effect(store: &Store, root: PrimId) -> Effect {
    let mut effect = Effect::Pure;
    store.for_each_prim(root, &mut |_, expr| {
        let here = match expr {
            PrimExpr::Load { .. } => Effect::Reads,
            PrimExpr::Call { op, .. } => effect_of_call(store.str(*op)),
            _ => return,
        };
        effect = effect.max(here);
    });
    effect
}

/// True if an expression has no effect and its value depends on its variables alone.
pub fn is_pure(store: &Store, root: PrimId) -> bool {
    effect(store, root) == Effect::Pure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;

    #[test]
    fn the_worst_call_decides() {
        let store = &mut Store::new();
        let one = store.prim_int(1, DType::I32);
        let quiet = store.prim_call("likely", &[one], DType::I32);
        let read = store.prim_call("undef", &[], DType::I32);
        let sum = store.prim_binary(crate::ir::PrimOp::Add, quiet, read);
        assert_eq!([quiet, sum].map(|id| effect(store, id)), [Effect::Pure, Effect::Reads]);
        let loud = store.prim_call("call_extern", &[sum], DType::I32);
        assert_eq!(effect(store, loud), Effect::Updates);
        assert_eq!(effect_of_call("ex"), Effect::Updates, "part of a name is none");
        assert_eq!(effect_of_call(""), Effect::Updates);
    }
}

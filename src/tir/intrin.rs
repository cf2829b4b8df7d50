//! The intrinsics that programs call, as TVM 0.27's functions `T.exp` and so on make them (`python/tvm/tirx/op.py`): the names of
//! their arguments and the types of their results.

/// The type of a call's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// That of an argument, by number.
    Argument(usize),
    /// A truth value.
    Bool,
    /// `int32`
    I32,
    /// `uint32`
    U32,
    /// Nothing.
    Void,
    /// A pointer to nothing in particular.
    Handle,
    /// A pointer to 64 bit integers.
    Shape,
    /// The type in the first argument of the text, which is no argument of the call.
    Said,
    /// The type in the last argument of the text.
    SaidLast,
    /// It depends on the arguments: the code that reads the call decides.
    Special,
}

/// An intrinsic.
#[derive(Clone, Copy, Debug)]
pub struct Intrinsic {
    /// Its name without `T.`.
    pub name: &'static str,
    /// The names of its arguments, between blanks; `*` stands for any number of further ones, and an optional one is
    /// followed by its value: `num_blocks=-1`.
    pub params: &'static str,
    /// The type of the result.
    pub gives: Gives,
}

impl Intrinsic {
    /// Returns the intrinsic of a name.
    pub fn named(name: &str) -> Option<&'static Intrinsic> {
        INTRINSICS.iter().find(|known| known.name == name)
    }

    /// True if the text names the type of the result first.
    pub fn type_first(name: &str) -> bool {
        Intrinsic::named(name).is_some_and(|known| known.gives == Gives::Said)
    }

    /// True if the text names the type of the result last.
    pub fn type_last(name: &str) -> bool {
        Intrinsic::named(name).is_some_and(|known| known.gives == Gives::SaidLast)
    }
}

const fn row(name: &'static str, params: &'static str, gives: Gives) -> Intrinsic {
    Intrinsic { name, params, gives }
}

const SAME: Gives = Gives::Argument(0);

/// All of them but those of the device dialect, whose results are `void` or said.
pub const INTRINSICS: &[Intrinsic] = &[
    // Mathematics.
    row("acos", "x", SAME),
    row("acosh", "x", SAME),
    row("asin", "x", SAME),
    row("asinh", "x", SAME),
    row("atan", "x", SAME),
    row("atanh", "x", SAME),
    row("atan2", "x1 x2", SAME),
    row("clz", "x", Gives::I32),
    row("copysign", "x1 x2", SAME),
    row("cos", "x", SAME),
    row("cosh", "x", SAME),
    row("erf", "x", SAME),
    row("exp", "x", SAME),
    row("exp10", "x", SAME),
    row("exp2", "x", SAME),
    row("fabs", "x", SAME),
    row("fma", "x y z", SAME),
    row("fmod", "x y", SAME),
    row("hypot", "x1 x2", SAME),
    row("ldexp", "x1 x2", SAME),
    row("log", "x", SAME),
    row("log10", "x", SAME),
    row("log1p", "x", SAME),
    row("log2", "x", SAME),
    row("nextafter", "x1 x2", SAME),
    row("popcount", "x", SAME),
    row("q_multiply_shift", "x y q s", Gives::I32),
    row("q_multiply_shift_per_axis", "x y ls rs q is_lshift_required is_rshift_required", Gives::I32),
    row("rsqrt", "x", SAME),
    row("sigmoid", "x", SAME),
    row("sin", "x", SAME),
    row("sinh", "x", SAME),
    row("sqrt", "x", SAME),
    row("tan", "x", SAME),
    row("tanh", "x", SAME),
    row("vscale", "", Gives::I32),
    row("dp4a", "vec1 vec2 acc=0", Gives::I32),
    row("vectorcombine", "dtype vec1 vec2", Gives::Said),
    row("vectorhigh", "dtype vec", Gives::Said),
    row("vectorlow", "dtype vec", Gives::Said),
    row("get_active_lane_mask", "dtype base limit", Gives::Said),
    row("masked_load", "dtype buffer *", Gives::Said),
    row("masked_store", "buffer value *", Gives::Void),
    row("reinterpret", "dtype value", Gives::Said),
    // Calls of functions outside of the module.
    row("call_extern", "dtype func_name *", Gives::Said),
    row("call_pure_extern", "dtype func_name *", Gives::Said),
    row("call_llvm_intrin", "dtype name *", Gives::Said),
    row("call_llvm_pure_intrin", "dtype name *", Gives::Said),
    row("call_packed", "*", Gives::I32),
    row("call_cpacked", "*", Gives::I32),
    row("call_packed_lowered", "*", Gives::I32),
    row("call_cpacked_lowered", "*", Gives::I32),
    row("tvm_call_trace_packed", "*", Gives::I32),
    row("call_ffi_kernel", "*", Gives::Special),
    row("call_spirv_pure_glsl450", "dtype *", Gives::Special),
    // Memory and the arguments of functions.
    row("address_of", "obj", Gives::Special),
    row("isnullptr", "x", Gives::Bool),
    row("handle_add_byte_offset", "handle offset", Gives::Special),
    row("ptr_byte_offset", "data byte_offset dtype", Gives::Special),
    row("tvm_access_ptr", "ptype data offset extent rw_mask", Gives::Special),
    row("type_annotation", "dtype", Gives::Said),
    row("tvm_stack_alloca", "dtype_str num", Gives::Special),
    row("tvm_stack_make_array", "data shape strides ndim arr_dtype elem_offset", Gives::Handle),
    row("tvm_stack_make_shape", "*", Gives::Shape),
    row("tvm_struct_get", "arr index field dtype", Gives::SaidLast),
    row("tvm_struct_set", "arr index field value", Gives::I32),
    row("tvm_tuple", "*", Gives::Void),
    row("tvm_throw_last_error", "", Gives::Void),
    row("tvm_context_id", "", Gives::I32),
    row("tvm_static_handle", "", Gives::Handle),
    row("lookup_param", "param_name", Gives::Handle),
    row("anylist_getitem", "list_handle index", Gives::Handle),
    row("anylist_resetitem", "list_handle index", Gives::I32),
    row("anylist_setitem_call_packed", "list_handle index func_name *", Gives::I32),
    row("anylist_setitem_call_cpacked", "list_handle index func_name *", Gives::I32),
    row("TVMBackendAllocWorkspace", "device_type device_id nbytes dtype_code_hint dtype_bits_hint", Gives::Handle),
    row("TVMBackendFreeWorkspace", "device_type device_id ptr", Gives::I32),
    row("nd_mem_alloc_with_scope", "*", Gives::Handle),
    row("print_buffer", "*", Gives::Void),
    row("prefetch", "*", Gives::Void),
    row("texture2d_load", "*", Gives::Special),
    row("texture2d_store", "*", Gives::Void),
    // Hints to passes.
    row("assume", "cond", Gives::Bool),
    row("undef", "", Gives::I32),
    row("ignore_loop_partition", "predicate", Gives::Bool),
    row("filter", "var pred", Gives::Bool),
    row("selector", "var pred", SAME),
    row("start_profile_intrinsic", "id", Gives::Void),
    row("end_profile_intrinsic", "id", Gives::Void),
    row("thread_return", "", Gives::Void),
    // Threads.
    row("tvm_storage_sync", "storage_scope is_load=False num_blocks=-1", Gives::Void),
    row("tvm_thread_allreduce", "*", Gives::Void),
    row("tvm_thread_invariant", "cond", SAME),
    row("tvm_warp_activemask", "", Gives::U32),
    row("tvm_warp_shuffle", "mask value warp_id width warp_size", Gives::Argument(1)),
    row("tvm_warp_shuffle_up", "mask value offset width warp_size", Gives::Argument(1)),
    row("tvm_warp_shuffle_down", "mask value offset width warp_size", Gives::Argument(1)),
    row("tvm_warp_shuffle_xor", "mask value lane_mask width warp_size", Gives::Argument(1)),
    row("tvm_global_barrier_kinit", "", Gives::Void),
    row("tvm_kernel_replace_point", "", Gives::Void),
    row("atomic_add", "*", Gives::I32),
    // Matrices of a warp.
    row("tvm_load_matrix_sync", "fragment m n k index buffer_ptr stride layout", Gives::Void),
    row("tvm_store_matrix_sync", "fragment m n k index buffer_ptr stride layout", Gives::Void),
    row("tvm_fill_fragment", "fragment m n k index value", Gives::Void),
    row("tvm_mma_sync", "fragment_d index_d fragment_a index_a fragment_b index_b fragment_c index_c", Gives::Void),
    row("tvm_bmma_sync", "fragment_d index_d fragment_a index_a fragment_b index_b fragment_c index_c", Gives::Void),
    row("cooperative_tensor_fill", "*", Gives::Void),
    row("cooperative_tensor_load", "*", Gives::Void),
    row("cooperative_tensor_store", "*", Gives::Void),
    row("cooperative_tensor_multiply_accumulate", "*", Gives::Void),
    row("dma_copy", "*", Gives::I32),
    row("dma_wait", "*", Gives::I32),
    row("dma_start_group", "*", Gives::I32),
    row("dma_end_group", "*", Gives::I32),
    row("ptx_legacy.ldmatrix", "*", Gives::Special),
    row("ptx_legacy.mma", "*", Gives::Special),
    row("s_tir.cp_async_raw", "dtype *", Gives::Said),
    row("s_tir.ldg32", "*", SAME),
    row("cuda.mma_fill", "dtype *", Gives::Said),
    row("cuda.mma_store", "dtype *", Gives::Said),
    row("cuda.__activemask", "", Gives::U32),
    row("cuda.__shfl_sync", "mask var lane width", Gives::Argument(1)),
    row("cuda.__shfl_up_sync", "mask var delta width", Gives::Argument(1)),
    row("cuda.__shfl_down_sync", "mask var delta width", Gives::Argument(1)),
    row("cuda.__shfl_xor_sync", "mask var lane_mask width", Gives::Argument(1)),
    row("metal.simd_shuffle", "var lane", SAME),
    row("metal.simd_shuffle_up", "var delta", SAME),
    row("metal.simd_shuffle_down", "var delta", SAME),
    row("webgpu.subgroup_shuffle", "var lane", SAME),
    row("webgpu.subgroup_shuffle_up", "var delta", SAME),
    row("webgpu.subgroup_shuffle_down", "var delta", SAME),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_once_and_the_type_is_an_argument_where_it_is_said() {
        for (i, known) in INTRINSICS.iter().enumerate() {
            assert!(INTRINSICS[..i].iter().all(|other| other.name != known.name), "{}", known.name);
            let params: Vec<&str> = known.params.split(' ').collect();
            assert!(known.gives != Gives::Said || params[0] == "dtype", "{}", known.name);
            assert!(known.gives != Gives::SaidLast || params.last() == Some(&"dtype"), "{}", known.name);
            assert!(params.iter().rposition(|param| *param == "*").is_none_or(|at| at + 1 == params.len()), "{}", known.name);
        }
    }
}

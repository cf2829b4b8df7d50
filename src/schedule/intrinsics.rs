//! The tensor intrinsics that TVM registers (`python/tvm/s_tir/tensor_intrin`): what each computes, and how it is done.
//!
//! A name says what its intrinsic is about, so that most are made from it: `wmma_load_16x16x16_f16_b_trans_shared` loads
//! a tile of the second operand, of 16 x 16 half floats, transposed, from shared memory. They are written as programs, which
//! are read when one is asked for.

mod cpu;
mod cuda;
mod others;

use super::state::State;
use super::tensorize::Intrinsic;
use super::{Outcome, refuse};
use crate::ir::{Expr, Module, Store};
use crate::parse::{parse_script_in, suggest};

/// The names of all of them.
const NAMES: &str = "dot_16x4_vnni dot_16x4_avx512 dp4a_s8s8s32 dp4a_u8s8s32 dp4a_s8u8s32 dp4a_u8u8u32 sdot4 \
    dot_4x4_i8i8s32_neon dot_4x4_i8i8s32_sdot dot_4x4_u8u8u32_udot dot_4x4_u8u8i32_hdot sme_init \
    dot_32x4_u8u8i32_vrmpy dot_32x4_u8i8i32_vrmpy dot_product_32x2_i16i16i32_vdmpy dot_32x4_u8u8i32_vtcm_vrmpy \
    dot_32x4_u8i8i32_vtcm_vrmpy dma_read_128_u8 dma_read_128_i8 simdgroup_make_filled_8x8x8_f16 simdgroup_fill_8x8x8_f32 \
    simdgroup_fill_8x8x8_bf16 simdgroup_load_8x8x8_f16_shared simdgroup_load_8x8x8_f16_shared_trans \
    simdgroup_store_8x8x8_f16_global simdgroup_store_8x8x8_f16_shared simdgroup_multiply_accumulate_8x8x8_f16 \
    ROCM_mfma_fill_16x16_f32 ROCM_mfma_fill_16x16_i32 rocm_mfma_load_16x16_a_shared_s8 rocm_mfma_load_b_16x16_shared_s8 \
    rocm_mfma_load_16x16_a_shared_f16 rocm_mfma_load_b_16x16_shared_f16 rocm_mfma_load_16x4_a_shared_f32 \
    rocm_mfma_load_b_16x4_shared_f32 rocm_mfma_f32f32f32 rocm_mfma_f16f16f32 rocm_mfma_s8s8s32 rocm_mfma_store_16x16_s32 \
    rocm_mfma_store_16x16_f32 mma_ldmatrix_f16_a mma_ldmatrix_f16_b mma_ldmatrix_f16_a_trans mma_ldmatrix_f16_b_trans \
    mma_ldmatrix_f16_a_dyn mma_ldmatrix_f16_b_dyn mma_ldmatrix_f16_a_trans_dyn mma_ldmatrix_f16_b_trans_dyn mma_ldmatrix_i8_a \
    mma_ldmatrix_i8_b mma_ldmatrix_i8_b_trans mma_ldmatrix_e4m3_a mma_ldmatrix_e4m3_b mma_ldmatrix_e4m3_b_trans \
    mma_ldmatrix_e5m2_a mma_ldmatrix_e5m2_b mma_ldmatrix_e5m2_b_trans mma_f16f16f32 mma_f16f16f32_trans_b \
    mma_f16f16f32_trans_a mma_f16f16f32_trans_a_trans_b mma_f16f16f16 mma_f16f16f16_trans_b mma_f16f16f16_trans_a \
    mma_f16f16f16_trans_a_trans_b mma_i8i8i32 mma_i8i8i32_trans_b mma_e5m2e5m2f32 mma_e5m2e5m2f32_trans_b mma_e4m3e4m3f32 \
    mma_e4m3e4m3f32_trans_b mma_fill_16x16_f32 mma_fill_16x16_f16 mma_fill_16x16_i32 mma_store_16x16_f32_global_ \
    mma_store_16x16_f32_shared_dyn_ mma_store_16x16_f32_shared_dyn_simple_ mma_store_16x16_f16_shared_dyn_simple_ \
    mma_store_16x16_f16_global_ mma_store_16x16_i32_global_ wmma_sync_16x16x16_f16f16f32 wmma_sync_16x16x16_f16f16f32_trans \
    wmma_sync_16x16x16_f16f16f16 wmma_sync_16x16x16_f16f16f16_trans wmma_sync_16x16x16_s8s8s32 \
    wmma_sync_16x16x16_s8s8s32_trans wmma_sync_8x8x32_s4s4s32_trans wmma_load_16x16x16_f16_a_shared \
    wmma_load_16x16x16_f16_a_shared_dyn wmma_load_16x16x16_f16_b_shared wmma_load_16x16x16_f16_b_shared_dyn \
    wmma_load_16x16x16_f16_a_trans_shared wmma_load_16x16x16_f16_a_trans_shared_dyn wmma_load_16x16x16_f16_b_trans_shared \
    wmma_load_16x16x16_f16_b_trans_shared_dyn wmma_load_16x16x16_s8_a_shared wmma_load_16x16x16_s8_a_shared_dyn \
    wmma_load_16x16x16_s8_b_shared wmma_load_16x16x16_s8_b_shared_dyn wmma_load_16x16x16_s8_a_trans_shared \
    wmma_load_16x16x16_s8_a_trans_shared_dyn wmma_load_16x16x16_s8_b_trans_shared wmma_load_16x16x16_s8_b_trans_shared_dyn \
    wmma_load_8x8x32_s4_a_shared wmma_load_8x8x32_s4_a_shared_dyn wmma_load_8x8x32_s4_b_trans_shared \
    wmma_load_8x8x32_s4_b_trans_shared_dyn wmma_fill_16x16x16_f32 wmma_fill_16x16x16_f16 wmma_fill_16x16x16_s32 \
    wmma_fill_8x8x32_s32 wmma_store_16x16x16_f32_shared wmma_store_16x16x16_f32_shared_dyn wmma_store_16x16x16_f16_shared \
    wmma_store_16x16x16_f16_shared_dyn wmma_store_16x16x16_s32_shared wmma_store_16x16x16_s32_shared_dyn \
    wmma_store_8x8x32_s32_shared wmma_store_8x8x32_s32_shared_dyn wmma_store_16x16x16_f32_global \
    wmma_store_16x16x16_f16_global wmma_store_16x16x16_s32_global wmma_store_8x8x32_s32_global mma_init_m16n8k8_f16 \
    mma_init_m16n8k8_f32 mma_load_m16n8k8_f16_A_shared_dyn mma_load_m16n8k8_f16_B_shared_dyn mma_sync_m16n8k8_f16f16f16 \
    mma_sync_m16n8k8_f16f16f32 mma_store_m16n8k8_f16_global mma_store_m16n8k8_f32_global";

/// The names of the intrinsics that are registered.
pub fn intrinsic_names() -> impl Iterator<Item = &'static str> {
    NAMES.split_whitespace()
}

/// The parts of an intrinsic as text.
#[derive(Default)]
struct Parts {
    /// The parameters, as the description and as the implementation has them.
    params: [Vec<String>; 2],
    reads: String,
    writes: String,
    /// The extents of the loops of the description.
    grid: Vec<usize>,
    /// Its statement, over `vi`, `vj`, `vk`; the last of three loops reduces.
    computes: String,
    /// The lines of the implementation.
    lines: Vec<String>,
    /// The reads of the implementation, where they are written in another order.
    own_reads: String,
    /// The alignment of its parameters in bytes, if not the default.
    align: usize,
    /// True if it is about vectors of any length: two loops over `8 * T.vscale()`.
    scalable: bool,
}

impl Parts {
    /// A parameter: a buffer of a shape, a type, a kind of memory, a divisor of its offset, and names of its strides in the
    /// implementation.
    fn param(&mut self, name: &str, shape: &str, dtype: &str, scope: &str, factor: usize, strides: &str) {
        let scope = if scope == "global" { String::new() } else { format!(", scope=\"{scope}\"") };
        let align = if self.align == 0 { String::new() } else { format!(", align={}", self.align) };
        let scope = scope + &align;
        let offset = if factor == 0 { String::new() } else { format!(", offset_factor={factor}") };
        self.params[0].push(format!("{name}: T.Buffer({shape}, \"{dtype}\"{scope}{offset})"));
        let offset = format!(", offset_factor={}", factor.max(1));
        let strides = match strides.split_once(' ') {
            Some((outer, inner)) => format!(", strides=(\"{outer}\", \"{inner}\")"),
            None => String::new(),
        };
        self.params[1].push(format!("{name}: T.Buffer({shape}, \"{dtype}\"{strides}{scope}{offset})"));
    }

    fn text(&self) -> String {
        let mut grid: Vec<String> = self.grid.iter().map(usize::to_string).collect();
        if self.scalable {
            grid = vec!["8 * T.vscale()".to_owned(); 2];
        }
        let vars = &["i", "j", "k"][..grid.len()];
        let written = self.computes.split(" = ").next().unwrap_or_default();
        let mut body = format!("for {} in T.grid({}):\n", vars.join(", "), grid.join(", "));
        body += "    with T.sblock(\"update\"):\n";
        for (at, var) in vars.iter().enumerate() {
            // A variable of the sum is not in the place that is written.
            let kind = if written.contains(&format!("v{var}")) { "spatial" } else { "reduce" };
            body += &format!("        v{var} = T.axis.{kind}({}, {var})\n", grid[at]);
        }
        body += &format!("        {}", self.computes);
        let mut text = "@I.ir_module\nclass Module:\n".to_owned();
        let own_reads = if self.own_reads.is_empty() { &self.reads } else { &self.own_reads };
        let halves = [("desc", &self.params[0], &self.reads, body), ("impl", &self.params[1], own_reads, self.lines.join("\n"))];
        for (name, params, reads, body) in halves {
            text += &format!(
                "    @T.prim_func(s_tir=True)\n    def {name}({}):\n        with T.sblock(\"root\"):\n            \
                 T.reads({})\n            T.writes({})\n",
                params.join(", "),
                reads,
                self.writes
            );
            for line in body.lines() {
                text += &format!("            {line}\n");
            }
        }
        text
    }
}

/// The type of an abbreviation.
fn dtype(short: &str) -> &'static str {
    match short {
        "f16" => "float16",
        "f32" => "float32",
        "bf16" => "bfloat16",
        "s8" | "i8" => "int8",
        "u8" => "uint8",
        "s4" => "int4",
        "i16" => "int16",
        "u32" => "uint32",
        "e4m3" => "float8_e4m3fn",
        "e5m2" => "float8_e5m2",
        _ => "int32",
    }
}

/// The types of three operands that are written together: `f16f16f32`.
fn operands(short: &str) -> Option<[&'static str; 3]> {
    let all = ["bf16", "f16", "f32", "e4m3", "e5m2", "i16", "s8", "i8", "u8", "s4", "s32", "i32", "u32"];
    let mut rest = short;
    let mut found = [""; 3];
    for place in &mut found {
        let name = all.iter().find(|name| rest.starts_with(**name))?;
        rest = &rest[name.len()..];
        *place = dtype(name);
    }
    rest.is_empty().then_some(found)
}

fn zero(dtype: &str) -> String {
    if dtype == "int32" { "0".to_owned() } else { format!("T.{dtype}(0.0)") }
}

/// An operand in the type of the result.
fn converted(value: &str, from: &str, to: &str) -> String {
    if from == to { value.to_owned() } else { format!("T.Cast(\"{to}\", {value})") }
}

/// The number of a tile of a buffer in memory that is made of tiles.
fn tile(buffer: &str, rows: usize, cols: usize) -> String {
    format!(
        "{buffer}.elem_offset // {buffer}.strides[0] // {rows} * ({buffer}.strides[0] // {cols}) + \
         {buffer}.elem_offset % {buffer}.strides[0] // {cols}"
    )
}

/// A pointer to a tile that is read (1) or written (2).
fn pointer(buffer: &str, dtype: &str, rows: usize, mode: u8) -> String {
    format!(
        "T.tvm_access_ptr(T.type_annotation(\"{dtype}\"), {buffer}.data, {buffer}.elem_offset, {buffer}.strides[0] * {rows}, \
         {mode})"
    )
}

/// `16x16x16`
fn sizes(text: &str) -> Option<[usize; 3]> {
    let mut found = text.split('x').map(|size| size.parse().ok());
    Some([found.next()??, found.next()??, found.next()??])
}

/// The program of an intrinsic: its functions `desc` and `impl`.
fn program(name: &str) -> Option<String> {
    if !intrinsic_names().any(|known| known == name) {
        return None;
    }
    let words: Vec<&str> = name.trim_end_matches('_').split('_').collect();
    let parts = cuda::intrinsic(&words).or_else(|| others::intrinsic(&words)).or_else(|| cpu::intrinsic(&words))?;
    Some(parts.text())
}

/// The module of an intrinsic that TVM registers: `desc` says what it computes, `impl` how it is done. `None` for another name.
pub fn intrinsic_module(store: &mut Store, name: &str) -> Option<Module> {
    let parsed = parse_script_in(store, &program(name)?, &[]);
    (!parsed.has_errors()).then_some(parsed.program.module)
}

fn functions(store: &mut Store, name: &str) -> Option<Intrinsic> {
    let module = intrinsic_module(store, name)?;
    let mut get = |name: &str| {
        let id = store.name(name);
        match store.expr(module.function(id)?) {
            Expr::PrimFunc(func) => Some(store.prim_func(func).clone()),
            _ => None,
        }
    };
    Some(Intrinsic { desc: get("desc")?, imp: get("impl")? })
}

/// The one function of a text.
fn function(store: &mut Store, text: &str) -> Outcome<crate::ir::PrimFunc> {
    let parsed = parse_script_in(store, text, &[]);
    if let Some(found) = parsed.diagnostics.iter().find(|found| found.is_error()) {
        return refuse(format!("ValueError: the function of an intrinsic cannot be read: {}", found.message));
    }
    // One without a module around it is an expression.
    let only = parsed.program.module.functions().first().map(|(_, func)| *func);
    match only.or(parsed.program.expr).map(|func| store.expr(func)) {
        Some(Expr::PrimFunc(func)) => Ok(store.prim_func(func).clone()),
        _ => refuse("TypeError: what an intrinsic computes and how it does it are tensor programs"),
    }
}

impl State<'_> {
    /// Registers an intrinsic of the trace's own, as `TensorIntrin.register` does: the texts of its functions.
    pub(super) fn register(&mut self, name: &str, desc: &str, imp: &str, overrides: bool) -> Outcome<()> {
        let known = self.intrinsics.iter().position(|(known, _)| known == name);
        if !overrides && (known.is_some() || intrinsic_names().any(|known| known == name)) {
            return refuse(format!("ValueError: TensorIntrin '{name}' has already been registered"));
        }
        let made = Intrinsic { desc: function(self.store, desc)?, imp: function(self.store, imp)? };
        if made.desc.params.len() != made.imp.params.len() {
            return refuse(
                "ValueError: The number of parameters of the description and the implementation of the tensor intrinsic doesn't match.",
            );
        }
        known.into_iter().for_each(|at| drop(self.intrinsics.remove(at)));
        self.intrinsics.push((name.to_owned(), made));
        Ok(())
    }

    /// The intrinsic of a name.
    pub(super) fn intrinsic(&mut self, name: &str) -> Outcome<Intrinsic> {
        if let Some(known) = self.intrinsics.iter().find(|(known, _)| known == name) {
            return Ok(known.1.clone());
        }
        let Some(found) = functions(self.store, name) else {
            let mut all: Vec<&str> = intrinsic_names().collect();
            all.extend(self.intrinsics.iter().map(|(name, _)| name.as_str()));
            let near = suggest::nearest(name, all.iter().copied());
            let near = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
            return refuse(format!("ValueError: TensorIntrin '{name}' is not registered{near}"));
        };
        self.intrinsics.push((name.to_owned(), found.clone()));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_registered_intrinsic_is_a_program() {
        let store = &mut Store::new();
        for name in intrinsic_names() {
            let text = program(name).unwrap_or_else(|| panic!("{name} has no program"));
            assert!(functions(store, name).is_some(), "{name}:\n{text}");
        }
    }
}

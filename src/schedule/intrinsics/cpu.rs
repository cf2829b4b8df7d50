//! Dot products of CPUs and of GPUs without matrix units, and copies of a Hexagon's memory (`x86.py`, `arm_cpu.py`, `hexagon.py`,
//! `dot_product_common.py`).

use super::{Parts, dtype, operands};

pub(super) fn intrinsic(words: &[&str]) -> Option<Parts> {
    match words {
        ["dot", "16x4", kind] => Some(x86(*kind == "vnni")),
        ["dot", "4x4", types, kind] => arm(operands(types)?, kind),
        ["dot", "product", "32x2", types, _] => hexagon(operands(types)?, 2, "global"),
        ["dot", "32x4", types, rest @ ..] => {
            hexagon(operands(types)?, 4, if rest.contains(&"vtcm") { "global.vtcm" } else { "global" })
        }
        ["dp4a", types] => four(operands(types)?, false),
        ["sdot4"] => four(["int8", "int8", "int32"], true),
        ["dma", "read", size, short] => {
            let dtype = dtype(short);
            let mut parts = Parts { grid: vec![size.parse().ok()?], ..Parts::default() };
            parts.param("A", &format!("({size},)"), dtype, "global", 1, "");
            parts.param("C", &format!("({size},)"), dtype, "global.vtcm", 1, "");
            (parts.reads, parts.writes) = (format!("A[0:{size}]"), format!("C[0:{size}]"));
            parts.computes = "C[vi] = A[vi]".to_owned();
            let [to, from] = ["C", "A"].map(|name| {
                format!("T.tvm_stack_make_array(T.address_of({name}[0]), T.tvm_stack_make_shape({size}), 0, 1, T.{dtype}(0), 0)")
            });
            parts.lines =
                vec![format!("T.call_packed(\"device_api.hexagon.dma_copy_dltensor\", {to}, {from}, {size}, T.bool(False))")];
            Some(parts)
        }
        ["sme", "init"] => {
            let mut parts = Parts::default();
            parts.param("C", "(8 * T.vscale(), 8 * T.vscale())", "float32", "global", 1, "");
            parts.writes = "C[0:T.vscale() * 8, 0:T.vscale() * 8]".to_owned();
            parts.computes = "C[vi, vj] = T.float32(0.0)".to_owned();
            parts.scalable = true;
            parts.lines = vec![
                "clear_all_tiles: T.int32 = 255".to_owned(),
                "T.call_llvm_intrin(\"void\", \"llvm.aarch64.sme.zero\", clear_all_tiles)".to_owned(),
            ];
            Some(parts)
        }
        _ => None,
    }
}

/// Adds to each of `rows` sums the product of a row of `depth` numbers by a vector.
fn dot([a, b, c]: [&str; 3], rows: usize, depth: usize, scope: &str) -> Parts {
    let mut parts = Parts { grid: vec![rows, depth], ..Parts::default() };
    parts.param("A", &format!("({depth},)"), a, scope, 1, "");
    parts.param("B", &format!("({rows}, {depth})"), b, scope, 1, "");
    parts.param("C", &format!("({rows},)"), c, scope, 1, "");
    parts.reads = format!("C[0:{rows}], A[0:{depth}], B[0:{rows}, 0:{depth}]");
    parts.writes = format!("C[0:{rows}]");
    parts.computes = format!("C[vi] = C[vi] + T.Cast(\"{c}\", A[vj]) * T.Cast(\"{c}\", B[vi, vj])");
    parts
}

fn x86(vnni: bool) -> Parts {
    let mut parts = dot(["uint8", "int8", "int32"], 16, 4, "global");
    let lines: &[&str] = match vnni {
        true => &[
            "A_u8x4: T.uint8x4 = A[T.Ramp(0, 1, 4)]",
            "A_i32: T.int32 = T.reinterpret(\"int32\", A_u8x4)",
            "B_i8x64: T.int8x64 = B[0, T.Ramp(0, 1, 64)]",
            "B_i32x16: T.int32x16 = T.reinterpret(\"int32x16\", B_i8x64)",
            "C_i32x16: T.int32x16 = C[T.Ramp(0, 1, 16)]",
            "C[0:16] = T.call_llvm_pure_intrin(\"int32x16\", \"llvm.x86.avx512.vpdpbusd.512\", C_i32x16, T.Broadcast(A_i32, 16), B_i32x16)",
        ],
        false => &[
            "A_u8x4: T.uint8x4 = A[T.Ramp(0, 1, 4)]",
            "A_i32: T.int32 = T.reinterpret(\"int32\", A_u8x4)",
            "A_brdcst: T.int32x16 = T.Broadcast(A_i32, 16)",
            "A_u8x64: T.uint8x64 = T.reinterpret(\"uint8x64\", A_brdcst)",
            "B_i8x64: T.int8x64 = B[0, T.Ramp(0, 1, 64)]",
            "Red: T.int16x32 = T.call_llvm_pure_intrin(\"int16x32\", \"llvm.x86.avx512.pmaddubs.w.512\", A_u8x64, B_i8x64)",
            "C[0:16] = C[T.Ramp(0, 1, 16)] + T.call_llvm_pure_intrin(\"int32x16\", \"llvm.x86.avx512.pmaddw.d.512\", Red, T.Broadcast(T.int16(1), 32))",
        ],
    };
    parts.lines = lines.iter().map(|line| (*line).to_owned()).collect();
    parts
}

fn arm(types: [&str; 3], kind: &str) -> Option<Parts> {
    let [a, _, c] = types;
    let mut parts = dot(types, 4, 4, "global");
    if kind == "neon" {
        let call =
            |of: &str, name: &str, args: &str| format!("T.call_llvm_pure_intrin(\"{of}\", \"llvm.aarch64.neon.{name}\", {args})");
        parts.lines = vec![
            "A_int8: T.int8x4 = A[T.Ramp(0, 1, 4)]".to_owned(),
            "re_int32: T.int32 = T.reinterpret(\"int32\", A_int8)".to_owned(),
            "vec_ai32: T.int32x2 = T.Broadcast(re_int32, 2)".to_owned(),
            "vec_a: T.int8x8 = T.reinterpret(\"int8x8\", vec_ai32)".to_owned(),
            "vec_b: T.int8x16 = B[0, T.Ramp(0, 1, 16)]".to_owned(),
        ];
        for half in ["low", "high"] {
            parts.lines.extend([
                format!("vec_b_{half}: T.int8x8 = T.vector{half}(\"int8x8\", vec_b)"),
                format!("multiply_{half}: T.int16x8 = {}", call("int16x8", "smull", &format!("vec_a, vec_b_{half}"))),
                format!("pairwise_reduction_{half}: T.int32x4 = {}", call("int32x4", "saddlp", &format!("multiply_{half}"))),
            ]);
        }
        let sum = call("int32x4", "addp", "pairwise_reduction_low, pairwise_reduction_high");
        parts.lines.push(format!("C[0:4] = C[T.Ramp(0, 1, 4)] + {sum}"));
        return Some(parts);
    }
    let unit = if a == "int8" { "sdot" } else { "udot" };
    parts.lines = vec![
        format!("A_i8x4: T.{a}x4 = A[T.Ramp(0, 1, 4)]"),
        format!("A_i32: T.{c} = T.reinterpret(\"{c}\", A_i8x4)"),
        format!("vec_ai32: T.{c}x4 = T.Broadcast(A_i32, 4)"),
        format!("vec_a: T.{a}x16 = T.reinterpret(\"{a}x16\", vec_ai32)"),
        format!("vec_b: T.{a}x16 = B[0, T.Ramp(0, 1, 16)]"),
        format!("vec_c: T.{c}x4 = C[T.Ramp(0, 1, 4)]"),
        format!("C[0:4] = T.call_llvm_pure_intrin(\"{c}x4\", \"llvm.aarch64.neon.{unit}\", vec_c, vec_a, vec_b)"),
    ];
    Some(parts)
}

fn hexagon(types: [&str; 3], depth: usize, scope: &str) -> Option<Parts> {
    let [a, b, _] = types;
    let mut parts = dot(types, 32, depth, scope);
    let lanes = 32 * depth;
    let (unit, args) = match (a, b) {
        ("int16", _) => ("vdmpyhvsat", "T.Broadcast(A_i32, 32), B_i32x32"),
        (_, "int8") => ("vrmpybusv", "T.Broadcast(A_i32, 32), B_i32x32"),
        _ => ("vrmpyub", "B_i32x32, A_i32"),
    };
    let (short_a, short_b) = if depth == 2 { ("A_i16x2", "B_i16x64") } else { ("A_u8x4", "B_i8x128") };
    parts.lines = vec![
        format!("{short_a}: T.{a}x{depth} = A[T.Ramp(0, 1, {depth})]"),
        format!("A_i32: T.int32 = T.reinterpret(\"int32\", {short_a})"),
        format!("{short_b}: T.{b}x{lanes} = B[0, T.Ramp(0, 1, {lanes})]"),
        format!("B_i32x32: T.int32x32 = T.reinterpret(\"int32x32\", {short_b})"),
        format!(
            "C[0:32] = T.call_llvm_pure_intrin(\"int32x32\", \"llvm.hexagon.V6.{unit}.acc.128B\", C[T.Ramp(0, 1, 32)], {args})"
        ),
    ];
    Some(parts)
}

/// The dot product of four numbers.
fn four([a, b, c]: [&str; 3], amd: bool) -> Option<Parts> {
    let mut parts = Parts { grid: vec![4], align: 4, ..Parts::default() };
    parts.param("A", "(4,)", a, "shared", 1, "");
    parts.param("B", "(4,)", b, "shared", 1, "");
    parts.param("C", "(1,)", c, "local", 1, "");
    parts.reads = "C[0], A[0:4], B[0:4]".to_owned();
    parts.writes = "C[0]".to_owned();
    parts.computes = format!("C[0] = C[0] + T.Cast(\"{c}\", A[vi]) * T.Cast(\"{c}\", B[vi])");
    let none = if c == "uint32" { "T.uint32(0)" } else { "0" };
    parts.lines = vec![match amd {
        true => "C[0] = C[0] + T.call_llvm_pure_intrin(\"int32\", \"llvm.amdgcn.sdot4\", T.reinterpret(\"int32\", A[T.Ramp(0, 1, 4)]), \
                 T.reinterpret(\"int32\", B[T.Ramp(0, 1, 4)]), 0, T.bool(True))"
            .to_owned(),
        false => format!(
            "C[0] = C[0] + T.call_pure_extern(\"{c}\", \"__dp4a\", A[T.Ramp(0, 1, 4)], B[T.Ramp(0, 1, 4)], {none})"
        ),
    }];
    Some(parts)
}

//! Matrix units of Apple's and AMD's GPUs (`metal.py`, `rocm.py`).

use super::{Parts, converted, dtype, operands, pointer, tile, zero};

pub(super) fn intrinsic(words: &[&str]) -> Option<Parts> {
    match words {
        ["simdgroup", "make", "filled", _, short] | ["simdgroup", "fill", _, short] => {
            let dtype = dtype(short);
            let mut parts = simdgroups();
            parts.param("A", "(8, 8)", dtype, "metal.simdgroup", 1, "d1 d0");
            parts.writes = "A[0:8, 0:8]".to_owned();
            parts.computes = format!("A[vi, vj] = {}", zero(dtype));
            let tile = tile("A", 8, 8);
            parts.lines = vec![format!("T.metal.make_filled_simdgroup_matrix(A.data, {tile}, T.float32(0.0), 8, 8)")];
            Some(parts)
        }
        ["simdgroup", "multiply", "accumulate", _, short] => {
            let dtype = dtype(short);
            let mut parts = simdgroups();
            for (name, strides) in [("A", "a1 a0"), ("B", "b1 b0"), ("C", "c1 c0")] {
                parts.param(name, "(8, 8)", dtype, "metal.simdgroup", 1, strides);
            }
            parts.reads = "C[0:8, 0:8], A[0:8, 0:8], B[0:8, 0:8]".to_owned();
            parts.writes = "C[0:8, 0:8]".to_owned();
            parts.grid.push(8);
            parts.computes = "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]".to_owned();
            let [a, b, c] = ["A", "B", "C"].map(|name| tile(name, 8, 8));
            parts.lines =
                vec![format!("T.metal.simdgroup_multiply_accumulate(C.data, {c}, A.data, {a}, B.data, {b}, C.data, {c})")];
            Some(parts)
        }
        ["simdgroup", kind @ ("load" | "store"), _, short, scope, rest @ ..] => {
            let (dtype, trans, loads) = (dtype(short), rest == ["trans"], *kind == "load");
            let mut parts = simdgroups();
            let (from, to) = if loads { (*scope, "metal.simdgroup") } else { ("metal.simdgroup", *scope) };
            parts.param("A", "(8, 8)", dtype, from, 1, "s1 s0");
            parts.param("C", "(8, 8)", dtype, to, 1, "d1 d0");
            (parts.reads, parts.writes) = ("A[0:8, 0:8]".to_owned(), "C[0:8, 0:8]".to_owned());
            parts.computes = format!("C[{}] = A[vi, vj]", if trans { "vj, vi" } else { "vi, vj" });
            let (own, other, mode) = if loads { ("C", "A", 1) } else { ("A", "C", 2) };
            let (tile, pointer) = (tile(own, 8, 8), pointer(other, dtype, 8, mode));
            let trans = if trans { "True" } else { "False" };
            parts.lines = vec![format!(
                "T.metal.simdgroup_{kind}({own}.data, {tile}, {pointer}, {other}.strides[0], 8, 8, T.bool({trans}))"
            )];
            Some(parts)
        }
        ["ROCM", "mfma", "fill", _, short] => {
            let dtype = dtype(short);
            let mut parts = Parts { grid: vec![16, 16], ..Parts::default() };
            parts.param("C_warp", "(64, 4)", dtype, "warp", 0, "");
            parts.writes = "C_warp[0:64, 0:4]".to_owned();
            parts.computes = format!("C_warp[vj + vi // 4 * 16, vi % 4] = {}", zero(dtype));
            parts.lines = vec![
                THREADS.to_owned(),
                "for local_id in range(4):".to_owned(),
                format!("    C_warp[tx, local_id] = {}", zero(dtype)),
            ];
            Some(parts)
        }
        ["rocm", "mfma", "load", "b", size, _, short] => Some(mfma_load(size, dtype(short), true)),
        ["rocm", "mfma", "load", size, "a", _, short] => Some(mfma_load(size, dtype(short), false)),
        ["rocm", "mfma", "store", _, short] => {
            let dtype = dtype(short);
            let mut parts = Parts { grid: vec![16, 16], ..Parts::default() };
            parts.param("C_warp", "(64, 4)", dtype, "warp", 0, "");
            parts.param("C", "(16, 16)", dtype, "global", 0, "s0 s1");
            (parts.reads, parts.writes) = ("C_warp[0:64, 0:4]".to_owned(), "C[0:16, 0:16]".to_owned());
            parts.computes = "C[vi, vj] = C_warp[vj + vi // 4 * 16, vi % 4]".to_owned();
            parts.lines = vec![
                THREADS.to_owned(),
                "for i in range(4):".to_owned(),
                "    C[tx // 16 * 4 + i, tx % 16] = C_warp[tx, i]".to_owned(),
            ];
            Some(parts)
        }
        ["rocm", "mfma", types] => mfma(operands(types)?),
        _ => None,
    }
}

const THREADS: &str = "tx = T.launch_thread(\"threadIdx.x\", 64)";

fn simdgroups() -> Parts {
    Parts { grid: vec![8, 8], ..Parts::default() }
}

fn mfma_load(size: &str, dtype: &str, second: bool) -> Parts {
    let small = size == "16x4";
    let (local, depth) = if small { (1, 4) } else { (4, 16) };
    let (rows, cols) = if second { (depth, 16) } else { (16, depth) };
    let mut parts = Parts { grid: vec![rows, cols], ..Parts::default() };
    parts.param("reg", &format!("(64, {local})"), dtype, "warp", 1, "");
    parts.param("memory", &format!("({rows}, {cols})"), dtype, "shared", 1, "s0 s1");
    parts.reads = format!("memory[0:{rows}, 0:{cols}]");
    parts.writes = format!("reg[0:64, 0:{local}]");
    let (register, element) = match (small, second) {
        (true, false) => ("vj * 16 + vi, 0", "tx % 16, tx // 16 + local_id"),
        (true, true) => ("vi * 16 + vj, 0", "tx // 16, tx % 16 + local_id"),
        (false, false) => ("vi + 16 * (vj // 4), vj % 4", "tx % 16, tx // 16 * 4 + local_id"),
        (false, true) => ("vj + vi // 4 * 16, vi % 4", "local_id + tx // 16 * 4, tx % 16"),
    };
    parts.computes = format!("reg[{register}] = memory[vi, vj]");
    parts.lines = vec![
        format!("for local_id in range({local}):"),
        format!("    {THREADS}"),
        format!("    reg[tx, local_id] = memory[{element}]"),
    ];
    parts
}

fn mfma([a, b, c]: [&str; 3]) -> Option<Parts> {
    let small = a == "float32";
    let (local, k) = if small { (1, 4) } else { (4, 16) };
    let mut parts = Parts { grid: vec![16, 16, k], ..Parts::default() };
    let shape = format!("(64, {local})");
    parts.param("A", &shape, a, "warp", 1, "");
    parts.param("B", &shape, b, "warp", 1, "");
    parts.param("C", "(64, 4)", c, "warp", 1, "");
    let operands = format!("A[0:64, 0:{local}], B[0:64, 0:{local}]");
    parts.reads = format!("C[0:64, 0:4], {operands}");
    parts.own_reads = format!("{operands}, C[0:64, 0:4]");
    parts.writes = "C[0:64, 0:4]".to_owned();
    let (left, right) = match small {
        true => ("A[vk * 16 + vi, 0]", "B[vk * 16 + vj, 0]"),
        false => ("A[vi + 16 * (vk // 4), vk % 4]", "B[vj + vk // 4 * 16, vk % 4]"),
    };
    let at = "vj + vi // 4 * 16, vi % 4";
    parts.computes = format!("C[{at}] = C[{at}] + {} * {}", converted(left, a, c), converted(right, b, c));
    let lanes = |name: &str| match a {
        "float32" => format!("{name}[tx, 0]"),
        "int8" => format!("T.reinterpret(\"int32\", {name}[tx, T.Ramp(0, 1, 4)])"),
        _ => format!("{name}[tx, T.Ramp(0, 1, 4)]"),
    };
    let unit = match a {
        "float32" => "f32.16x16x4f32",
        "int8" => "i32.16x16x16i8",
        _ => "f32.16x16x16f16",
    };
    parts.lines = vec![
        THREADS.to_owned(),
        format!(
            "C[tx, 0:4] = T.call_llvm_pure_intrin(\"{c}x4\", \"llvm.amdgcn.mfma.{unit}\", {}, {}, C[tx, T.Ramp(0, 1, 4)], 0, 0, 0)",
            lanes("A"),
            lanes("B")
        ),
    ];
    Some(parts)
}

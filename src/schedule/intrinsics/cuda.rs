//! Matrix units of NVIDIA GPUs (`cuda.py`).

use super::{Parts, converted, dtype, operands, pointer, sizes, tile, zero};

/// The place of an element of a tile among the registers of a warp: the thread and its register.
fn place(layout: &str, i: &str, j: &str) -> String {
    match layout {
        "16x16" => format!("4 * ({i} % 8) + {j} % 8 // 2, 4 * ({j} // 8) + {i} // 8 * 2 + {j} % 2"),
        "16x32" => format!("4 * ({i} % 8) + {j} % 16 // 4, 8 * ({j} // 16) + {i} // 8 * 4 + {j} % 4"),
        _ => format!("{i} % 16 // 4 + 4 * ({j} % 8), 8 * ({j} // 8) + {i} // 16 * 4 + {i} % 4"),
    }
}

const WARP: &str = "for tx in T.thread_binding(32, thread=\"threadIdx.x\"):";

pub(super) fn intrinsic(words: &[&str]) -> Option<Parts> {
    match words {
        ["mma", "ldmatrix", short, which, rest @ ..] => Some(ldmatrix(short, which, rest)),
        ["mma", "fill", "16x16", short] => {
            let mut parts = Parts::default();
            parts.param("C_warp", "(32, 8)", dtype(short), "warp", 0, "");
            parts.writes = "C_warp[0:32, 0:8]".to_owned();
            parts.grid = vec![16, 16];
            parts.computes = format!("C_warp[{}] = {}", place("16x16", "vi", "vj"), zero(dtype(short)));
            parts.lines = vec![WARP.to_owned(), "    T.cuda.mma_fill_legacy(8, C_warp.data, C_warp.elem_offset)".to_owned()];
            Some(parts)
        }
        ["mma", "store", "16x16", short, rest @ ..] => Some(mma_store(dtype(short), rest)),
        ["mma", kind @ ("init" | "load" | "sync" | "store"), "m16n8k8", rest @ ..] => small(kind, rest),
        ["mma", types, rest @ ..] => mma(operands(types)?, rest),
        ["wmma", kind, size, rest @ ..] => wmma(kind, sizes(size)?, rest),
        _ => None,
    }
}

fn ldmatrix(short: &str, which: &str, rest: &[&str]) -> Parts {
    let (trans, scope) = (rest.contains(&"trans"), if rest.contains(&"dyn") { "shared.dyn" } else { "shared" });
    let (dtype, half) = (dtype(short), short == "f16");
    let local = if half { 8 } else { 16 };
    let (rows, cols, layout) = match (half, which == "b" && !trans) {
        (true, _) => (16, 16, "16x16"),
        (false, true) => (32, 16, "32x16"),
        (false, false) => (16, 32, "16x32"),
    };
    let turned = if which == "a" { trans } else { !trans };
    let step = "shared.strides[0]";
    let offset = match (half, trans, which) {
        (true, true, _) => format!("{step} * 8 * (tx // 16) + {step} * (tx % 8) + 8 * (tx % 16 // 8)"),
        (true, false, _) => format!("{step} * (tx % 16) + 8 * (tx // 16)"),
        (false, true, _) => format!("{step} * 8 * (tx // 16) + tx % 8 * {step} + 16 * (tx % 16 // 8)"),
        (false, false, "b") => step.to_owned(),
        (false, false, _) => format!("{step} * (tx % 16) + 16 * (tx // 16)"),
    };
    let mut parts = Parts::default();
    parts.param("warp", &format!("(32, {local})"), dtype, "warp", cols, "");
    parts.param("shared", &format!("({rows}, {cols})"), dtype, scope, cols, "s0 s1");
    parts.reads = format!("shared[0:{rows}, 0:{cols}]");
    parts.writes = format!("warp[0:32, 0:{local}]");
    parts.grid = vec![rows, cols];
    parts.computes = format!("warp[{}] = shared[vi, vj]", place(layout, "vi", "vj"));
    let (turned, pointer) = (if turned { "True" } else { "False" }, pointer("shared", dtype, rows, 1));
    parts.lines = vec![
        WARP.to_owned(),
        format!(
            "    T.ptx_legacy.ldmatrix(T.bool({turned}), 4, \".b16\", warp.data, warp.elem_offset + {local} * tx, {pointer}, {offset})"
        ),
    ];
    parts
}

fn mma_store(dtype: &str, rest: &[&str]) -> Parts {
    let scope = if rest[0] == "global" { "global" } else { "shared.dyn" };
    let mut parts = Parts::default();
    parts.param("C_warp", "(32, 8)", dtype, "warp", 0, "");
    parts.param("C", "(16, 16)", dtype, scope, 0, "s0 s1");
    parts.reads = "C_warp[0:32, 0:8]".to_owned();
    parts.writes = "C[0:16, 0:16]".to_owned();
    parts.grid = vec![16, 16];
    parts.computes = format!("C[vi, vj] = C_warp[{}]", place("16x16", "vi", "vj"));
    parts.lines = vec![WARP.to_owned()];
    if rest.contains(&"simple") {
        parts.lines.push("    for local_id in range(8):".to_owned());
        let at = "8 * (local_id % 4 // 2) + tx // 4, 8 * (local_id // 4) + tx % 4 * 2 + local_id % 2";
        parts.lines.push(format!("        C[{at}] = C_warp[tx, local_id]"));
    } else {
        let pointer = pointer("C", dtype, 16, 2);
        parts
            .lines
            .push(format!("    T.cuda.mma_store_legacy(16, 16, {pointer}, C_warp.data, C_warp.elem_offset, C.strides[0])"));
    }
    parts
}

fn mma([a, b, c]: [&str; 3], rest: &[&str]) -> Option<Parts> {
    let trans = |which: &str| rest.windows(2).any(|pair| pair == ["trans", which]);
    let (trans_a, trans_b) = (trans("a"), trans("b"));
    let k = if a == "float16" { 16 } else { 32 };
    let local = k / 2;
    let (layout_a, layout_b) = match (k, trans_b) {
        (16, _) => ("16x16", "16x16"),
        (_, true) => ("16x32", "16x32"),
        (_, false) => ("16x32", "32x16"),
    };
    let short = |dtype: &str| match dtype {
        "float16" => "fp16".to_owned(),
        "float32" => "fp32".to_owned(),
        other => other.trim_start_matches("float8_").trim_end_matches("fn").to_owned(),
    };
    let shape = format!("(32, {local})");
    let mut parts = Parts::default();
    parts.param("A", &shape, a, "warp", if trans_a { 16 } else { k }, "");
    parts.param("B", &shape, b, "warp", if trans_b { k } else { 16 }, "");
    parts.param("C", "(32, 8)", c, "warp", 16, "");
    parts.reads = format!("C[0:32, 0:8], A[0:32, 0:{local}], B[0:32, 0:{local}]");
    parts.writes = "C[0:32, 0:8]".to_owned();
    parts.grid = vec![16, 16, k];
    let (one, other) = (if trans_a { ("vk", "vi") } else { ("vi", "vk") }, if trans_b { ("vj", "vk") } else { ("vk", "vj") });
    let at = place("16x16", "vi", "vj");
    let left = converted(&format!("A[{}]", place(layout_a, one.0, one.1)), a, c);
    let right = converted(&format!("B[{}]", place(layout_b, other.0, other.1)), b, c);
    parts.computes = format!("C[{at}] = C[{at}] + {left} * {right}");
    parts.lines = vec![WARP.to_owned()];
    for (right, result) in [(String::new(), String::new()), (format!(" + {}", local / 2), " + 4".to_owned())] {
        parts.lines.push(format!(
            "    T.ptx_legacy.mma(\"m16n8k{k}\", \"row\", \"col\", \"{}\", \"{}\", \"{}\", A.data, A.elem_offset + tx * {local}, \
             B.data, B.elem_offset + tx * {local}{right}, C.data, C.elem_offset + tx * 8{result}, T.bool(False))",
            short(a),
            short(b),
            short(c)
        ));
    }
    Some(parts)
}

fn wmma(kind: &str, [m, n, k]: [usize; 3], rest: &[&str]) -> Option<Parts> {
    let trans = rest.contains(&"trans");
    let scope = match rest {
        [.., "global"] => "global",
        [.., "dyn"] => "shared.dyn",
        _ => "shared",
    };
    let mut parts = Parts { grid: vec![m, n], ..Parts::default() };
    let whole = |name: &str, rows: usize, cols: usize| format!("{name}[0:{rows}, 0:{cols}]");
    match kind {
        "sync" => {
            let [a, b, c] = operands(rest.first()?)?;
            let (rows, cols) = if trans { (n, k) } else { (k, n) };
            parts.param("A", &format!("({m}, {k})"), a, "wmma.matrix_a", k, "a1 a0");
            parts.param("B", &format!("({rows}, {cols})"), b, "wmma.matrix_b", cols, "b1 b0");
            parts.param("C", &format!("({m}, {n})"), c, "wmma.accumulator", n, "c1 c0");
            parts.reads = format!("{}, {}, {}", whole("C", m, n), whole("A", m, k), whole("B", rows, cols));
            parts.writes = whole("C", m, n);
            parts.grid.push(k);
            let left = converted("A[vi, vk]", a, c);
            let right = converted(if trans { "B[vj, vk]" } else { "B[vk, vj]" }, b, c);
            parts.computes = format!("C[vi, vj] = C[vi, vj] + {left} * {right}");
            let (a, b, c) = (tile("A", m, k), tile("B", rows, cols), tile("C", m, n));
            parts.lines = vec![format!("T.tvm_mma_sync(C.data, {c}, A.data, {a}, B.data, {b}, C.data, {c})")];
        }
        "load" => {
            let (dtype, which) = (dtype(rest.first()?), *rest.get(1)?);
            let (rows, cols) = if which == "b" { (k, n) } else { (m, k) };
            let (rows, cols) = if trans { (cols, rows) } else { (rows, cols) };
            let shape = format!("({rows}, {cols})");
            parts.param("A", &shape, dtype, scope, cols, "s1 s0");
            parts.param("C", &shape, dtype, &format!("wmma.matrix_{which}"), cols, "d1 d0");
            (parts.reads, parts.writes) = (whole("A", rows, cols), whole("C", rows, cols));
            parts.grid = vec![rows, cols];
            parts.computes = "C[vi, vj] = A[vi, vj]".to_owned();
            let (tile, pointer) = (tile("C", rows, cols), pointer("A", dtype, rows, 1));
            let major = if trans { "col_major" } else { "row_major" };
            parts.lines =
                vec![format!("T.tvm_load_matrix_sync(C.data, {m}, {n}, {k}, {tile}, {pointer}, A.strides[0], \"{major}\")")];
        }
        "fill" => {
            let dtype = dtype(rest.first()?);
            parts.param("C", &format!("({m}, {n})"), dtype, "wmma.accumulator", n, "d1 d0");
            parts.writes = whole("C", m, n);
            parts.computes = format!("C[vi, vj] = {}", zero(dtype));
            parts.lines = vec![format!("T.tvm_fill_fragment(C.data, {m}, {n}, {k}, {}, T.float32(0.0))", tile("C", m, n))];
        }
        _ => {
            let dtype = dtype(rest.first()?);
            let shape = format!("({m}, {n})");
            parts.param("A", &shape, dtype, "wmma.accumulator", n, "d1 d0");
            parts.param("C", &shape, dtype, scope, n, "s1 s0");
            (parts.reads, parts.writes) = (whole("A", m, n), whole("C", m, n));
            parts.computes = "C[vi, vj] = A[vi, vj]".to_owned();
            let (tile, pointer) = (tile("A", m, n), pointer("C", dtype, m, 2));
            parts.lines =
                vec![format!("T.tvm_store_matrix_sync(A.data, {m}, {n}, {k}, {tile}, {pointer}, C.strides[0], \"row_major\")")];
        }
    }
    Some(parts)
}

/// Products of 16 x 8 by 8 x 8, whose operands keep the shape that they have in memory.
fn small(kind: &str, rest: &[&str]) -> Option<Parts> {
    let mut parts = Parts::default();
    // The register of a thread in which an element of a tile is.
    let row = |buffer: &str| format!("{buffer}.elem_offset // {buffer}.strides[0]");
    let col = |buffer: &str| format!("{buffer}.elem_offset % {buffer}.strides[0]");
    let first = |buffer: &str| format!("({}) * 8 + {} % 32 // 16 * 4", tile(buffer, 32, 8), row(buffer));
    let second = |buffer: &str| format!("({}) * 8 + {} % 32 // 8 * 2", tile(buffer, 8, 32), col(buffer));
    match kind {
        "init" => {
            let dtype = dtype(rest.first()?);
            parts.param("dst", "(16, 8)", dtype, "m16n8k8.matrixC", 1, "");
            parts.writes = "dst[0:16, 0:8]".to_owned();
            parts.grid = vec![16, 8];
            parts.computes = format!("dst[vi, vj] = {}", zero(dtype));
            parts.lines = vec![
                WARP.to_owned(),
                "    for b in range(2):".to_owned(),
                "        for v in T.vectorized(2):".to_owned(),
                format!("            dst[b * 8 + tx // 4, tx % 4 * 2 + v] = {}", zero(dtype)),
            ];
        }
        "load" => {
            let (dtype, which) = (dtype(rest.first()?), *rest.get(1)?);
            let (rows, cols) = if which == "A" { (32, 8) } else { (8, 32) };
            let shape = format!("({rows}, {cols})");
            parts.param("src", &shape, dtype, "shared.dyn", 1, "s0 s1");
            parts.param("dst", &shape, dtype, &format!("m16n8k8.matrix{which}"), 1, "d0 d1");
            (parts.reads, parts.writes) = (format!("src[0:{rows}, 0:{cols}]"), format!("dst[0:{rows}, 0:{cols}]"));
            parts.grid = vec![rows, cols];
            parts.computes = "dst[vi, vj] = src[vi, vj]".to_owned();
            let (turned, register, offset) = match which {
                "A" => ("False", first("dst"), "tx * src.strides[0]"),
                _ => ("True", second("dst"), "tx % 8 * src.strides[0] + tx // 8 * 8"),
            };
            let pointer = pointer("src", dtype, rows, 1);
            parts.lines = vec![
                WARP.to_owned(),
                format!("    T.ptx_legacy.ldmatrix(T.bool({turned}), 4, \".b16\", dst.data, {register}, {pointer}, {offset})"),
            ];
        }
        "sync" => {
            let [a, b, c] = operands(rest.first()?)?;
            parts.param("A", "(16, 8)", a, "m16n8k8.matrixA", 1, "a0 a1");
            parts.param("B", "(8, 8)", b, "m16n8k8.matrixB", 1, "b0 b1");
            parts.param("C", "(16, 8)", c, "m16n8k8.matrixC", 1, "c0 c1");
            parts.reads = "C[0:16, 0:8], A[0:16, 0:8], B[0:8, 0:8]".to_owned();
            parts.writes = "C[0:16, 0:8]".to_owned();
            parts.grid = vec![16, 8, 8];
            let (left, right) = (converted("A[vi, vk]", a, c), converted("B[vk, vj]", b, c));
            parts.computes = format!("C[vi, vj] = C[vi, vj] + {left} * {right}");
            let (down, across) = (row("C"), col("C"));
            let result = format!("({down} // 8 // 2 * 2 * (C.strides[0] // 8) + {down} // 8 % 2 + {across} // 8 * 2) * 2");
            parts.lines = vec![format!(
                "T.ptx_legacy.mma(\"m16n8k8\", \"row\", \"col\", \"{a}\", \"{b}\", \"{c}\", A.data, {}, B.data, {}, C.data, {result}, \
                 T.bool(False))",
                first("A"),
                second("B")
            )];
        }
        _ => {
            let dtype = dtype(rest.first()?);
            parts.param("src", "(16, 8)", dtype, "m16n8k8.matrixC", 1, "");
            parts.param("dst", "(16, 8)", dtype, "shared.dyn", 1, "");
            (parts.reads, parts.writes) = ("src[0:16, 0:8]".to_owned(), "dst[0:16, 0:8]".to_owned());
            parts.grid = vec![16, 8];
            parts.computes = "dst[vi, vj] = src[vi, vj]".to_owned();
            parts.lines = vec![
                "for i, j in T.grid(16, 8):".to_owned(),
                "    with T.sblock(\"m16n8k8_store\"):".to_owned(),
                "        vi, vj = T.axis.remap(\"SS\", [i, j])".to_owned(),
                "        T.reads(src[vi, vj])".to_owned(),
                "        T.writes(dst[vi, vj])".to_owned(),
                "        dst[vi, vj] = src[vi, vj]".to_owned(),
            ];
        }
    }
    Some(parts)
}

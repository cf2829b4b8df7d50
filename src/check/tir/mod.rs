//! Tensor programs made up from a seed: blocks one after the other over buffers, elementwise, broadcast, transposed, gathered and
//! reduced, with conditions, `T.Select`, integer arithmetic of indices, and buffers in between; blocks in blocks, with
//! predicates and regions of buffers; symbolic extents; loops of all kinds and statements without blocks.

mod loops;

use super::random::Random;
use std::fmt::Write;

/// A buffer: its name and extents.
type Buffer = (String, Vec<i64>);

/// A module with one program, `main`.
pub fn program(seed: u64) -> String {
    let random = &mut Random::new(seed ^ 0x71c);
    let mut text =
        String::from("# from tvm.script import ir as I\n# from tvm.script import tirx as T\n\n@I.ir_module\nclass Module:\n");
    let extents = [4 + random.below(5) as i64, 3 + random.below(4) as i64];
    let params: Vec<Buffer> = vec![
        ("A".into(), extents.to_vec()),
        ("B".into(), vec![extents[1]]),
        ("C".into(), vec![extents[1], extents[0]]),
        ("D".into(), extents.to_vec()),
        ("E".into(), vec![extents[0]]),
    ];
    let mut heads: Vec<String> =
        params.iter().map(|(name, shape)| format!("{name}: T.Buffer({}, \"float32\")", tuple(shape))).collect();
    heads.push(format!("I: T.Buffer(({},), \"int32\")", extents[1]));
    let symbolic = random.chance(25);
    if symbolic {
        heads.extend(["g: T.handle".to_owned(), "h: T.handle".to_owned()]);
    }
    let _ = write!(text, "    @T.prim_func(s_tir=True)\n    def main({}):\n", heads.join(", "));
    if symbolic {
        text += "        n = T.int64()\n        G = T.match_buffer(g, (n, T.int64(3)))\n        H = T.match_buffer(h, (n, T.int64(3)))\n";
    }
    let mut known: Vec<Buffer> = params[..3].to_vec();
    let between: Vec<Buffer> = (0..random.below(3)).map(|at| (format!("F{at}"), extents.to_vec())).collect();
    for (name, shape) in &between {
        let scope = *random.pick(&["", "", ", scope=\"shared\"", ", scope=\"local\""]);
        let _ = writeln!(text, "        {name} = T.sblock_alloc_buffer({}{scope})", tuple(shape));
    }
    for (name, shape) in between.iter().chain([&params[3]]) {
        text += &match random.below(8) {
            0 => loops::statements(random, name, shape, &known),
            1 => loops::nested_block(random, name, shape, &known),
            2 => loops::guarded_block(random, name, shape, &known),
            _ => full_block(random, name, shape, &known),
        };
        known.push((name.clone(), shape.clone()));
    }
    text += &match random.below(4) {
        0 => loops::reduced(random, "E", &extents, &known),
        _ => reduced_block(random, "E", &extents, &known),
    };
    if symbolic {
        text += &symbolic_block(random, "H", "G", "n");
    }
    text
}

/// A program of two buffers of four by two, or of any number by three, into a third, to stand in a module of Relax.
pub fn elementwise(random: &mut Random, name: &str, symbolic: bool) -> String {
    let head = "    @T.prim_func(private=True, s_tir=True)\n";
    if symbolic {
        let params = ["A", "B", "D"].map(|buffer| format!("        {buffer} = T.match_buffer(p{buffer}, (k, T.int64(3)))\n"));
        let params = params.concat();
        return format!(
            "{head}    def {name}(pA: T.handle, pB: T.handle, pD: T.handle):\n        k = T.int64()\n{params}{}\n",
            symbolic_block(random, "D", "A", "k")
        );
    }
    let shape = vec![4, 2];
    let known: Vec<Buffer> = vec![("A".into(), shape.clone()), ("B".into(), shape.clone())];
    let buffer = "T.Buffer((4, 2), \"float32\")";
    let head = format!("{head}    def {name}(A: {buffer}, B: {buffer}, D: {buffer}):\n");
    head + &full_block(random, "D", &shape, &known) + "\n"
}

/// A block over a buffer whose rows are a symbol.
fn symbolic_block(random: &mut Random, name: &str, from: &str, rows: &str) -> String {
    let value = match random.below(3) {
        0 => format!("T.exp({from}[vi, vj])"),
        1 => format!("{from}[vi, 2 - vj] * T.float32(0.5)"),
        _ => format!("T.if_then_else(vi < 2, {from}[vi, vj], T.float32(1))"),
    };
    format!(
        "        for i, j in T.grid({rows}, 3):\n            with T.sblock(\"{name}\"):\n                vi, vj = T.axis.remap(\"SS\", [i, j])\n                \
         {name}[vi, vj] = {value}\n"
    )
}

fn tuple(shape: &[i64]) -> String {
    let shape: Vec<String> = shape.iter().map(i64::to_string).collect();
    format!("({}{})", shape.join(", "), if shape.len() == 1 { "," } else { "" })
}

/// A block that writes every element of a matrix.
fn full_block(random: &mut Random, name: &str, shape: &[i64], known: &[Buffer]) -> String {
    let value = expression(random, shape, known, 2);
    let grid = match random.below(4) {
        0 => format!("        for i in T.serial({}):\n            for j in T.serial({}):\n", shape[0], shape[1]),
        1 => format!("        for i, j in T.grid({}, {}):\n", shape[0], shape[1]),
        2 if shape[0] % 2 == 0 => {
            return format!(
                "        for io, ii, j in T.grid({}, 2, {}):\n            with T.sblock(\"{name}\"):\n                vi = T.axis.spatial({}, io * 2 + ii)\n                vj = T.axis.spatial({}, j)\n                {name}[vi, vj] = {value}\n",
                shape[0] / 2,
                shape[1],
                shape[0],
                shape[1]
            );
        }
        _ => {
            return format!(
                "        for k in range({}):\n            with T.sblock(\"{name}\"):\n                vi = T.axis.spatial({}, k // {})\n                vj = T.axis.spatial({}, k % {})\n                {name}[vi, vj] = {value}\n",
                shape[0] * shape[1],
                shape[0],
                shape[1],
                shape[1],
                shape[1]
            );
        }
    };
    let pad = if grid.lines().count() == 2 { "                " } else { "            " };
    format!(
        "{grid}{pad}with T.sblock(\"{name}\"):\n{pad}    vi, vj = T.axis.remap(\"SS\", [i, j])\n{pad}    {name}[vi, vj] = {value}\n"
    )
}

fn reduced_block(random: &mut Random, name: &str, shape: &[i64], known: &[Buffer]) -> String {
    let value = expression(random, shape, known, 1);
    let (start, step) = match random.below(3) {
        0 => ("T.float32(0)", format!("{name}[vi] + {value}")),
        1 => ("T.float32(-10000)", format!("T.max({name}[vi], {value})")),
        _ => ("T.float32(1)", format!("{name}[vi] + {value} * T.float32(0.5)")),
    };
    format!(
        "        for i, k in T.grid({}, {}):\n            with T.sblock(\"{name}\"):\n                vi, vj = T.axis.remap(\"SR\", [i, k])\n                with T.init():\n                    {name}[vi] = {start}\n                {name}[vi] = {step}\n",
        shape[0], shape[1]
    )
}

/// A float expression over `vi` and `vj`, which go through a shape.
fn expression(random: &mut Random, shape: &[i64], known: &[Buffer], depth: usize) -> String {
    if depth == 0 || random.chance(15) {
        let (name, of) = random.pick(known).clone();
        return match of.len() {
            1 => format!("{name}[vj]"),
            _ if of != shape => format!("{name}[vj, vi]"),
            // The programs for modules of Relax have no buffer of indices.
            _ if shape[1] > 2 && random.chance(10) => format!("{name}[T.min(T.max(I[vj], 0), {}), vj]", shape[0] - 1),
            _ if random.chance(25) => format!("{name}[{} - 1 - vi, vj]", shape[0]),
            _ if random.chance(25) => format!("{name}[(vi + 1) % {}, vj]", shape[0]),
            _ => format!("{name}[vi, vj]"),
        };
    }
    let mut inner = || expression(random, shape, known, depth - 1);
    let (a, b) = (inner(), inner());
    match random.below(10) {
        0 | 1 => format!("({a} + {b})"),
        2 => format!("({a} * {b})"),
        3 => format!("({a} - {b})"),
        4 => format!("T.max({a}, {b})"),
        5 => format!("T.exp({a})"),
        6 => format!("T.if_then_else(vi < {}, {a}, {b})", 1 + random.below(3)),
        7 => format!("T.Select(vj % 2 == 0, {a}, {b})"),
        8 => format!("({a} * T.float32({}))", random.below(3)),
        _ => format!("({a} + T.Cast(\"float32\", vi * {} + vj))", shape[1]),
    }
}

//! Statements without blocks, blocks in blocks, blocks with predicates.

use super::{Buffer, expression};
use crate::check::random::Random;

/// The ways to write a loop from 0.
const KINDS: &[&str] = &["range", "T.serial", "T.parallel", "T.unroll", "T.vectorized"];

/// Writes every element of a matrix by statements: loops, branches, variables, stores.
pub(super) fn statements(random: &mut Random, name: &str, shape: &[i64], known: &[Buffer]) -> String {
    let (value, other) = (expression(random, shape, known, 2), expression(random, shape, known, 1));
    let (outer, inner) = (*random.pick(&KINDS[..4]), *random.pick(KINDS));
    let head = format!("        for vi in {outer}({}):\n            for vj in {inner}({}):\n", shape[0], shape[1]);
    let body = match random.below(5) {
        0 => format!("                {name}[vi, vj] = {value}\n"),
        1 => format!(
            "                if vi + vj < {}:\n                    {name}[vi, vj] = {value}\n                else:\n                    \
             {name}[vi, vj] = {other}\n",
            1 + random.below(4)
        ),
        2 => format!(
            "                t: T.let[T.int32] = vi * {} + vj\n                {name}[vi, vj] = {value} + T.Cast(\"float32\", t % 5)\n",
            shape[1]
        ),
        3 => format!(
            "                {name}[vi, vj] = {other}\n                for r in {}({}):\n                    \
             {name}[vi, vj] = {name}[vi, vj] * T.float32(0.5) + T.Cast(\"float32\", r)\n",
            random.pick(&KINDS[..4]),
            1 + random.below(3)
        ),
        _ => format!(
            "                {name}[vi, vj] = {value}\n                if vj % 2 == 1:\n                    \
             {name}[vi, vj] = {name}[vi, vj] - {other}\n"
        ),
    };
    head + &body
}

/// A block of a row, with a block of an element in it; sometimes through a region of the buffer.
pub(super) fn nested_block(random: &mut Random, name: &str, shape: &[i64], known: &[Buffer]) -> String {
    let value = expression(random, shape, known, 2);
    let (rows, columns) = (shape[0], shape[1]);
    // A region has the scope of its buffer, which is not written here.
    let region = name == "D" && random.chance(40);
    let bound = if region {
        format!("                R = T.match_buffer({name}[vi, 0:{columns}], (1, {columns}), offset_factor=1)\n")
    } else {
        String::new()
    };
    let target = if region { "R[0, vj]".to_owned() } else { format!("{name}[vi, vj]") };
    format!(
        "        for i in range({rows}):\n            with T.sblock(\"{name}_row\"):\n                vi = T.axis.spatial({rows}, i)\n{bound}                \
         for j in range({columns}):\n                    with T.sblock(\"{name}\"):\n                        vj = T.axis.spatial({columns}, j)\n                        \
         {target} = {value}\n"
    )
}

/// A block in loops that go too far, with a predicate.
pub(super) fn guarded_block(random: &mut Random, name: &str, shape: &[i64], known: &[Buffer]) -> String {
    let value = expression(random, shape, known, 2);
    let (rows, columns) = (shape[0], shape[1]);
    let outer = (rows + 2) / 3;
    format!(
        "        for io, ii, j in T.grid({outer}, 3, {columns}):\n            with T.sblock(\"{name}\"):\n                \
         vi = T.axis.spatial({rows}, io * 3 + ii)\n                vj = T.axis.spatial({columns}, j)\n                \
         T.where(io * 3 + ii < {rows})\n                {name}[vi, vj] = {value}\n"
    )
}

/// A sum of rows: a start in a block of its own, or over two axes of reduction.
pub(super) fn reduced(random: &mut Random, name: &str, shape: &[i64], known: &[Buffer]) -> String {
    let value = expression(random, shape, known, 1);
    let (rows, columns) = (shape[0], shape[1]);
    if random.chance(50) {
        return format!(
            "        for i in range({rows}):\n            with T.sblock(\"{name}_init\"):\n                vi = T.axis.spatial({rows}, i)\n                \
             {name}[vi] = T.float32(0)\n        for i, k in T.grid({rows}, {columns}):\n            with T.sblock(\"{name}\"):\n                \
             vi, vj = T.axis.remap(\"SR\", [i, k])\n                {name}[vi] = {name}[vi] + {value}\n"
        );
    }
    format!(
        "        for i, k, l in T.grid({rows}, {columns}, 2):\n            with T.sblock(\"{name}\"):\n                \
         vi, vj, vl = T.axis.remap(\"SRR\", [i, k, l])\n                with T.init():\n                    {name}[vi] = T.float32(0)\n                \
         {name}[vi] = {name}[vi] + {value} * T.Cast(\"float32\", vl)\n"
    )
}

//! MergeComposite: calls that look like a pattern become functions for another compiler.
//!
//! The patterns are tried in their order; each match becomes a function with the name of the pattern as `Composite`, called with
//! what the leaves of the pattern matched. Inside of such functions nothing is looked for again. A match whose inner results are
//! used elsewhere is left.
//!
//! Known divergences: in TVM patterns are objects; here they are written as Python writes them, see [`notation`]. Products of
//! quotients are not regrouped to match. Checks of pattern tables are functions, for which there are scripts.
//!
//! Source: `src/relay/transforms/merge_composite.cc`, `src/relay/ir/dataflow_matcher.cc`.

mod matching;

use super::support::notation;
use crate::diag::Diagnostic;
use crate::ir::Module;
use crate::pass::manager::optimisable;
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};

/// Makes composite functions of matches.
pub static SPEC: PassSpec = PassSpec {
    name: "MergeComposite",
    info_name: "MergeComposite",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[Param {
        name: "pattern_table",
        default: "",
        doc: explained("Names with patterns, each written as in Python: `[[\"x.relu\", \"is_op(\\\"nn.relu\\\")(wildcard())\"]]`."),
    }],
    config: &[],
    summary: "Makes functions for another compiler of calls that look like a pattern.",
    doc: explained(
        "The first step to hand parts of a program to another compiler: groups of calls that it knows as one become functions with the \
attribute `Composite`, which AnnotateTarget and PartitionGraph keep together. A pattern table has names and patterns; they are tried \
in their order.\n\n\
A pattern is written as TVM's Python writes it: `is_op(\"nn.conv2d\")(wildcard(), is_constant())`, `is_var()`, `is_tuple([...])`, \
`is_tuple_get_item(p, 0)`, `p | q`, `p + q`, `.optional(lambda x: is_op(\"nn.relu\")(x))`, `.has_attr({\"groups\": 1})`, \
`.has_dtype(\"float32\")`. A bare name is a wildcard, the same one wherever it stands: `(x + y) * (x - y)`; `(c := is_constant())` \
names another pattern. Short for `is_op(\"nn.relu\")(x)` is `nn.relu(x)`.\n\n\
In TVM patterns are objects, and a third entry of a row may be a function that checks a match: scripts in Python have both. A product of \
a quotient is not tried as a quotient of a product, as TVM does.",
    ),
    example_before: explained(
        "\
# MergeComposite(pattern_table=[[\"mine.dense_relu\", \"is_op('nn.dense')(wildcard(), wildcard()).optional(lambda x: is_op('nn.relu')(x))\"]])
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(4, 4), float32]) -> Tensor[(2, 4), float32] {
  %0 = nn.dense(%x, %w, units=None);
  %1 = nn.relu(%0);
  exp(%1)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(4, 4), float32]) -> Tensor[(2, 4), float32] {
  %1 = fn (%FunctionVar_0_0: Tensor[(2, 4), float32], %FunctionVar_0_1: Tensor[(4, 4), float32], \
PartitionedFromPattern=\"nn.dense_nn.relu_\", Composite=\"mine.dense_relu\") -> Tensor[(2, 4), float32] {
    %0 = nn.dense(%FunctionVar_0_0, %FunctionVar_0_1, units=None);
    nn.relu(%0)
  };
  %2 = %1(%x, %w);
  exp(%2)
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let refused = |message: String| vec![Diagnostic::error("pass-argument", message, None)];
    let Literal::List(rows) = arguments.get("pattern_table") else {
        return Err(refused("pattern_table: a list of names and patterns was expected".to_owned()));
    };
    let mut table = Vec::with_capacity(rows.len());
    for row in rows {
        let Literal::List(row) = row else { return Err(refused("pattern_table: a row is [name, pattern]".to_owned())) };
        let [Literal::Str(name), Literal::Str(text)] = row.as_slice() else {
            return Err(refused("pattern_table: a row is [name, pattern], both texts; checks are for scripts".to_owned()));
        };
        let read = notation::parse(text, &mut |text| cx.store.name(text));
        table.push((name, read.map_err(|why| refused(format!("the pattern of {name}: {why}")))?));
    }
    let mut result = module.clone();
    for (name, read) in &table {
        for (function, id) in optimisable(cx.store, &result) {
            let new = matching::partition(cx.store, id, &read.patterns, read.whole, name).map_err(|error| vec![error])?;
            result.set_function(function, new);
        }
        result = cx.run("InferType()", &result)?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests;

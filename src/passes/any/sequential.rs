//! Sequential: runs a list of passes as one pass.
//!
//! The pass manager reads its call itself, because a list of passes is no literal; this declaration serves the page
//! and the command line.
//!
//! Source: `src/ir/transform.cc` (`SequentialNode`), `python/tvm/ir/transform.py`.

use crate::pass::{Args, Literal, Param, Part, PassSpec, Run, explained};

/// TVM's `transform.Sequential`.
pub static SPEC: PassSpec = PassSpec {
    name: "Sequential",
    info_name: "sequential",
    dialects: crate::pass::spec::BOTH,
    opt_level: 0,
    required: &[],
    params: &[
        Param { name: "passes", default: "[]", doc: "The passes, as calls." },
        Param { name: "opt_level", default: "0", doc: "The level from which a `Sequential` around it runs it." },
        Param { name: "name", default: "\"sequential\"", doc: "What it is called in lists and by instruments." },
        Param { name: "required", default: "[]", doc: "Names of passes that a `Sequential` around it runs right before it." },
        Param { name: "traceable", default: "False", doc: "Whether Relax's tuning records its decisions itself." },
    ],
    config: &[],
    summary: "Runs passes one after the other, as far as the context enables them.",
    doc: explained(
        "Before each pass, the context is asked: a *disabled* pass does not run, a *required* one does, any other when the \
opt level is at least its own. Then the passes that it requires run, each time anew and whatever the context says, and then \
the pass. The list of this page is the list of a `Sequential`.\n\n\
It may stand in another one, and is itself asked about as a pass of its own level there; the passes in it are asked about \
again. Called directly, its own `required` means nothing.",
    ),
    example_before: explained(
        "\
// Sequential([FoldConstant(), FastMath()], opt_level=0)
def @main(%x: Tensor[(4), float32]) {
  %0 = add(1f, 1f);
  %1 = multiply(%x, %0);
  tanh(%1)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = multiply(%x, 2f);
  tanh(%0)
}
",
    ),
    run: Run::Sequential(passes),
};

fn passes(arguments: &Args) -> Vec<Part> {
    let Literal::List(items) = arguments.get("passes") else { return Vec::new() };
    let call = |item: &Literal| if let Literal::Str(call) = item { Some(Part::call(call)) } else { None };
    items.iter().filter_map(call).collect()
}

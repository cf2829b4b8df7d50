//! Findings of the sweep that TVM has as well. Each names the rewrite, says what must stand in the program for TVM to do it, and
//! where TVM's source does it, so that another fault of the same pass is not taken for it.

use super::Culprit;
use crate::print::Numbering;
use crate::session::Session;

/// A finding that TVM has as well.
struct Known {
    /// The pass.
    pass: &'static str,
    /// `verify` or `check`.
    kind: &'static str,
    /// The rule of the rewrite to blame, or its beginning; empty where a pass does all in one.
    rule: &'static str,
    /// A part of what is said.
    said: &'static str,
    /// True if the program before and after the step is such that TVM does it.
    is: fn(&Told<'_>) -> bool,
    /// The function of TVM that does it, and the version in which it was seen.
    #[allow(dead_code, reason = "for readers")]
    source: &'static str,
}

/// A finding, as `is` looks at it.
struct Told<'a> {
    /// The message.
    why: &'a str,
    /// The program before the step, and after it.
    before: &'a str,
    after: &'a str,
}

impl Told<'_> {
    /// True if a part of the text stands there less often after the step.
    fn loses(&self, part: &str) -> bool {
        self.before.matches(part).count() > self.after.matches(part).count()
    }

    /// True if a part of the text stands there more often after the step.
    fn gains(&self, part: &str) -> bool {
        self.before.matches(part).count() < self.after.matches(part).count()
    }
}

const KNOWN: &[Known] = &[
    // A variable of a dataflow block stays one when the block is cut in two around the function that is put in.
    Known {
        pass: "InlinePrivateFunctions",
        kind: "verify",
        rule: "",
        said: "is used outside of its block",
        is: bound_beside_a_private_call,
        source: "inline_functions.cc, FunctionInliner, tried in 0.27",
    },
    // Regions of blocks name the buffer that was there before.
    Known {
        pass: "tirx.FlattenBuffer",
        kind: "verify",
        rule: "",
        said: "is used without a prior DeclBuffer",
        is: in_a_region,
        source: "flatten_buffer.cc, MutateBufferRegion, tried in 0.27",
    },
    // Bindings that nothing uses are left out, also those that write to a reference.
    Known {
        pass: "ToGraphNormalForm",
        kind: "check",
        rule: "let to its value",
        said: "different",
        is: |told| told.loses("ref_write("),
        source: "to_graph_normal_form.cc, GNF::VisitExpr_(LetNode), read in 0.19",
    },
    // Memory is allocated where a token is first met, and what comes behind a branch or an inner function takes what that one
    // allocated.
    Known {
        pass: "StaticPlanBlockMemory",
        kind: "verify",
        rule: "memory that is planned",
        said: "is not visible here",
        is: allocated_in_a_branch,
        source: "static_plan_block_memory.cc, StorageAllocationRewriter, token2storage_var_, tried in 0.27",
    },
    // A symbol of a parameter that is fetched where it is used is not bound where only the symbol is used.
    Known {
        pass: "LazyGetInput",
        kind: "verify",
        rule: "",
        said: "the symbolic variable",
        is: of_an_unused_parameter,
        source: "lazy_transform_params.cc, WithLazyInputs, tried in 0.27",
    },
    // A function in a function that another one calls stays a variable there, which nothing binds behind the pass.
    Known {
        pass: "LambdaLift",
        kind: "verify",
        rule: "",
        said: "is not visible here",
        is: called_by_another_inner_function,
        source: "lambda_lift.cc, LambdaLifter, tried in 0.27",
    },
    // The addend is divided by the scale, which may be zero.
    Known {
        pass: "ForwardFoldScaleAxis",
        kind: "check",
        rule: "scale moved into the weight behind it",
        said: "NaN after",
        is: |told| told.gains("divide("),
        source: "fold_scale_axis.cc, AddSubForwardRewrite, read in 0.19",
    },
    // A program gets the extents of one of its calls, whatever the others have.
    Known {
        pass: "SpecializePrimFuncBasedOnCallSite",
        kind: "check",
        rule: "",
        said: "is given a tensor of another shape",
        is: called_with_two_shapes,
        source: "specialize_primfunc_based_on_callsite.cc, tried in 0.27",
    },
    // The same for a type of arguments that does not depend on what the program computes: TVM fails.
    Known {
        pass: "SpecializePrimFuncBasedOnCallSite",
        kind: "verify",
        rule: "",
        said: "type mismatch: expected",
        is: called_with_two_shapes,
        source: "specialize_primfunc_based_on_callsite.cc, tried in 0.27: it fails",
    },
    // A shape that is bound in a block cannot stand in the type of another binding there: TVM fails.
    Known {
        pass: "CanonicalizeRelaxBindings",
        kind: "verify",
        rule: "",
        said: "cannot be used as a dependent type expression",
        is: |told| told.before.lines().any(|line| told.before.lines().any(|other| has_type_of_shape(line, other))),
        source: "canonicalize_bindings.cc, tried in 0.27: it fails",
    },
    // A value gets half precision where its block ends, and the next block takes that, which no other block sees.
    Known {
        pass: "ToMixedPrecision",
        kind: "verify",
        rule: "",
        said: "is used outside of its block",
        is: cast_in_another_block,
        source: "to_mixed_precision.cc, ToMixedPrecisionRewriter, fp16_map_, tried in 0.27",
    },
    // The product stands for the transposed matrix where something uses that and nothing the product.
    Known {
        pass: "FuseTransposeMatmul",
        kind: "check",
        rule: "product with a transposed matrix",
        said: "different",
        is: transposed_for_more,
        source: "fuse_transpose_matmul.py, tried in 0.27: it fails, or gives the product for the matrix",
    },
];

/// True if TVM has a finding as well.
pub(super) fn is_known(session: &Session, culprit: &Culprit, kind: &str) -> bool {
    let alike = |known: &&Known| {
        let (pass, rule) = (known.pass == culprit.name, culprit.rule.starts_with(known.rule));
        pass && rule && known.kind == kind && culprit.why.contains(known.said)
    };
    let Some(known) = KNOWN.iter().find(alike) else { return false };
    let Some(step) = culprit.step.and_then(|step| session.trace().steps.get(step)) else { return false };
    let text = |version| session.text(version, Numbering::Exact).unwrap_or_default();
    (known.is)(&Told { why: &culprit.why, before: &text(step.before), after: &text(step.after) })
}

/// A name without the number that a printer gives to the second of that name.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_')
}

/// The first name in backticks.
fn quoted(why: &str) -> &str {
    why.split('`').nth(1).unwrap_or("")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// True if a line of TVMScript binds a name.
fn binds(line: &str, name: &str) -> bool {
    line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(": ") || rest.starts_with(" = "))
}

/// The number of times that a name stands in a text.
fn uses(text: &str, name: &str) -> usize {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !part(c)).filter(|word| *word == name).count()
}

/// True if the variable is bound in a dataflow block in which a private function is called.
fn bound_beside_a_private_call(told: &Told<'_>) -> bool {
    let name = quoted(told.why);
    let lines: Vec<&str> = told.before.lines().collect();
    lines.iter().enumerate().filter(|(_, line)| binds(line, name)).any(|(at, line)| {
        let column = indent(line);
        let first = lines[..at].iter().rposition(|line| indent(line) < column);
        let Some(first) = first.filter(|first| lines[*first].trim() == "with R.dataflow():") else { return false };
        lines[first + 1..].iter().take_while(|line| indent(line) >= column).any(|line| line.contains(" = cls."))
    })
}

/// True if the buffer stands in what a block says that it reads or writes.
fn in_a_region(told: &Told<'_>) -> bool {
    let name = told.why.split("buffer ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("");
    let region = |line: &str| line.trim_start().starts_with("T.reads(") || line.trim_start().starts_with("T.writes(");
    let words = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| stem(word) == stem(name));
    !name.is_empty() && told.after.lines().any(|line| region(line) && words(line))
}

/// True if memory of that name is allocated inside of a branch or of a function in a function.
fn allocated_in_a_branch(told: &Told<'_>) -> bool {
    let name = quoted(told.why);
    let lines: Vec<&str> = told.after.lines().collect();
    lines.iter().enumerate().any(|(at, line)| {
        let head = || lines[..at].iter().rev().find(|head| indent(head) < indent(line)).map_or("", |head| head.trim());
        let bound = line.trim_start().split(':').next().is_some_and(|bound| stem(bound) == stem(name));
        bound
            && line.contains("R.memory.alloc_storage(")
            && ["else:", "if ", "def "].iter().any(|word| head().starts_with(word))
            && indent(line) > 8
    })
}

/// True if a function in a function has that name, and is called further inside than it is defined.
fn called_by_another_inner_function(told: &Told<'_>) -> bool {
    let name = quoted(told.why);
    let (head, call) = (format!("def {name}("), format!(" = {name}("));
    let lines = || told.before.lines();
    let Some(column) = lines().find(|line| line.trim_start().starts_with(&head)).map(indent) else { return false };
    lines().any(|line| line.contains(&call) && indent(line) > column)
}

/// True if a tensor program is called for results of two types.
fn called_with_two_shapes(told: &Told<'_>) -> bool {
    let call = |line: &'_ str| -> Option<(String, String)> {
        let (name, rest) = line.split_once("R.call_tir(cls.")?.1.split_once(',')?;
        Some((name.to_owned(), rest.split_once("out_ty=")?.1.to_owned()))
    };
    let calls: Vec<(String, String)> = told.before.lines().filter_map(call).collect();
    calls.iter().any(|(name, ty)| calls.iter().any(|(other, of)| name == other && ty != of))
}

/// True if a line binds a variable whose type is a tensor of the shape that the other line binds.
fn has_type_of_shape(line: &str, other: &str) -> bool {
    let Some((shape, _)) = other.trim_start().split_once(": R.Shape(") else { return false };
    line.contains(&format!(": R.Tensor({shape}, ")) || line.contains(&format!(": R.Tensor({shape})"))
}

/// True if the variable is a value of half precision in a dataflow block.
fn cast_in_another_block(told: &Told<'_>) -> bool {
    let name = quoted(told.why);
    told.after.lines().any(|line| binds(line, name) && line.contains("R.astype(") && line.ends_with("dtype=\"float16\")"))
}

/// True if the symbol was one of a parameter, and the function takes a function instead of it now.
fn of_an_unused_parameter(told: &Told<'_>) -> bool {
    let name = quoted(told.why);
    let head =
        |text: &str| text.lines().filter(|line| line.trim_start().starts_with("def ")).map(str::to_owned).collect::<Vec<_>>();
    let now = head(told.after);
    now.iter().any(|line| line.contains("fget_param")) && head(told.before).iter().any(|line| uses(line, name) > 0)
}

/// True if the product of a transposed matrix is used by nothing, and the matrix by something else.
fn transposed_for_more(told: &Told<'_>) -> bool {
    let product = |line: &str| {
        let (name, value) = line.trim_start().split_once(" = ")?;
        let name = name.split(':').next()?;
        let matrix = value.strip_prefix("R.matmul(")?.split(", ").nth(1)?;
        let transposed = told.before.lines().any(|line| binds(line, matrix) && line.contains("R.permute_dims("));
        Some(transposed && uses(told.before, name) == 1 && uses(told.before, matrix) > 2)
    };
    told.before.lines().any(|line| product(line) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_fault_of_the_same_pass_is_not_known() {
        let plan = |after: &str| {
            let told = Told { why: "the variable `storage1` is not visible here", before: "", after };
            allocated_in_a_branch(&told)
        };
        let storage = "storage1: R.Any = R.memory.alloc_storage(R.shape([8]), 0)\n";
        assert!(plan(&format!("        if c:\n            {storage}        else:\n            a = storage1\n")));
        assert!(!plan(&format!("        {storage}        if c:\n            a = storage2\n")));
        assert!(!plan("        a = storage1\n"));
    }

    #[test]
    fn only_a_write_that_is_lost_and_a_division_that_is_new_are_known() {
        let told = |before, after| Told { why: "", before, after };
        assert!(told("ref_write(%r, %x)", "()").loses("ref_write("));
        assert!(!told("ref_write(%r, %x)", "ref_write(%r, %x)").loses("ref_write("));
        assert!(told("add(%x, %y)", "add(%x, divide(%y, %s))").gains("divide("));
        assert!(!told("divide(%x, %y)", "divide(%y, %s)").gains("divide("));
    }

    #[test]
    fn a_tensor_of_a_bound_shape_is_told_from_any_other() {
        let bound = "        v13: R.Shape([1, 1]) = R.shape([1, 1])";
        assert!(has_type_of_shape("v14: R.Tensor(v13, dtype=\"float32\") = R.broadcast_to(x2, v13)", bound));
        assert!(!has_type_of_shape("v14: R.Tensor((1, 1), dtype=\"float32\") = R.broadcast_to(x2, v13)", bound));
    }

    #[test]
    fn names_are_counted_as_words() {
        assert_eq!(uses("lv = f(lv1, lv)", "lv"), 2);
        assert!(binds("    lv: R.Any = x", "lv") && !binds("    lv1 = x", "lv"));
    }
}

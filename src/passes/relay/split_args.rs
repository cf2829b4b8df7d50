//! SplitArgs: splits concatenations with too many inputs into several.
//!
//! Some targets limit how many arguments a kernel may have. A `concatenate` of more inputs becomes a
//! chain of concatenations that fusion may not join again (`annotation.stop_fusion`). An input of
//! unknown extents counts for its extents and strides as well.
//!
//! Also copies the attributes of the module onto every function, as TVM does. With a limit of 0 it
//! does nothing else.
//!
//! Source: `src/relay/transforms/split_args.cc`.

use super::support::{tensor_type, with_dict_attrs};
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{AttrValue, Dim, Expr, ExprId, Function, Module, Store, Type};
use crate::ops::build::{args, call, call_with, op_name};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Splits each `concatenate` with more inputs than the limit.
pub static SPEC: PassSpec = PassSpec {
    name: "SplitArgs",
    info_name: "SplitArgs",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &["InferType"],
    params: &[Param { name: "max_function_args", default: "", doc: "The most arguments a kernel may have; 0 is no limit." }],
    config: &[],
    summary: "Splits concatenations with more inputs than a kernel may have arguments.",
    doc: explained(
        "A `concatenate` whose inputs and outputs together exceed the limit becomes a chain of smaller ones, \
with `annotation.stop_fusion` between them. The attributes of the module are copied onto each function.",
    ),
    example_before: explained(
        "\
// SplitArgs(max_function_args=4)
def @main(%x: Tensor[(1), int32]) -> Tensor[(4), int32] {
  %0 = (%x, %x, %x, %x);
  concatenate(%0)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1), int32]) -> Tensor[(4), int32] {
  %0 = (%x, %x, %x);
  %1 = annotation.stop_fusion(%0);
  %2 = concatenate(%1);
  %3 = (%2, %x);
  %4 = annotation.stop_fusion(%3);
  concatenate(%4)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let limit = usize::try_from(arguments.int("max_function_args")).unwrap_or(0);
    let store = &mut *cx.store;
    let mut result = function;
    if limit > 0 {
        result = rewrite(store, function, &mut Splitter { limit });
    }
    let Some(attrs) = module.attrs() else { return Ok(result) };
    let fields = store.attrs_rc(attrs).fields.clone();
    let Some(old) = store.as_function(result).filter(|_| !fields.is_empty()) else { return Ok(result) };
    let attrs = with_dict_attrs(store, old.attrs, &fields);
    if old.attrs == Some(attrs) {
        return Ok(result);
    }
    Ok(store.rewrite("attributes of the module copied", result, result, |store| {
        let ty = store.checked_type(result);
        let new = store.add_function(Function { attrs: Some(attrs), ..old });
        store.rebuild(result, Expr::Function(new), ty)
    }))
}

struct Splitter {
    limit: usize,
}

impl ExprMutator for Splitter {
    fn rule(&self) -> &'static str {
        "concatenation split"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if op_name(store, pre) == "concatenate" { self.split(store, pre).unwrap_or(post) } else { post }
    }
}

impl Splitter {
    /// As in TVM the inputs are taken as they were before, so a concatenation among them stays whole.
    fn split(&self, store: &mut Store, pre: ExprId) -> Option<ExprId> {
        let Expr::Tuple(fields) = store.expr(*args(store, pre).first()?) else { return None };
        let fields: Vec<ExprId> = store.items(fields).collect();
        let outputs = 1 + match store.type_of_id(store.checked_type(pre)?) {
            Type::Tensor { shape, .. } if shape.contains(&Dim::Any) => shape.len(),
            _ => 0,
        };
        let limit = self.limit.checked_sub(outputs)?;
        let sizes: Vec<usize> = fields.iter().map(|field| 1 + unknown_extents(store, *field)).collect();
        if sizes.iter().sum::<usize>() < limit {
            return None;
        }
        let axis = store.attr(store.call(pre)?.attrs, "axis")?.clone();
        let mut group = Vec::new();
        let mut used = 0;
        for (field, size) in fields.into_iter().zip(sizes) {
            if used + size > limit {
                let joined = join(store, &group, &axis);
                group = vec![joined];
                used = size;
            }
            used += size;
            group.push(field);
        }
        Some(join(store, &group, &axis))
    }
}

/// Returns the additional cost of a tensor with unknown extents: those extents, and a stride for each axis.
fn unknown_extents(store: &Store, id: ExprId) -> usize {
    let Some((shape, _)) = tensor_type(store, id) else { return 0 };
    match shape.iter().filter(|dim| **dim == Dim::Any).count() {
        0 => 0,
        unknown => unknown + shape.len(),
    }
}

fn join(store: &mut Store, fields: &[ExprId], axis: &AttrValue) -> ExprId {
    let tuple = store.add_tuple(fields);
    let stop = call(store, "annotation.stop_fusion", &[tuple]);
    call_with(store, "concatenate", &[stop], &[("axis", axis.clone())])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, unchanged};

    const FOUR: &str = "def @main(%x: Tensor[(1), int32]) { concatenate((%x, %x, %x, %x)) }";

    #[test]
    fn a_concatenation_is_split_so_that_inputs_and_output_fit() {
        // A limit of 4 leaves 3 inputs beside the output.
        check(
            "SplitArgs(max_function_args=4)",
            FOUR,
            "def @main(%x: Tensor[(1), int32]) {
               %0 = concatenate(annotation.stop_fusion((%x, %x, %x)));
               concatenate(annotation.stop_fusion((%0, %x)))
             }",
        );
    }

    #[test]
    fn what_fits_stays() {
        unchanged("SplitArgs(max_function_args=6)", FOUR);
        unchanged("SplitArgs(max_function_args=0)", FOUR);
    }
}

//! LabelOps: functions that say what they hold, for profilers.
//!
//! Each function gets a `hash`, and the attributes with `layout` in their names of the calls in it. As in TVM, a function
//! also has those of the functions inside of it whose calls come before its own, and the last of several values counts.
//!
//! Does nothing to functions that have a `hash`.
//!
//! Known divergence: TVM's hash is its structural hash, whose numbers cannot be had here.
//!
//! Source: `src/relay/transforms/label_ops.cc`.

use super::support::text_hash::ExprHasher;
use super::support::with_dict_attrs;
use crate::ir::rewrite::{ExprMutator, Visit, rewrite};
use crate::ir::{AttrValue, Expr, ExprId, Function, Id, Module, Name, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Gives functions a hash and the layouts of their calls.
pub static SPEC: PassSpec = PassSpec {
    name: "LabelOps",
    info_name: "LabelOps",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Labels functions with a hash and the layouts of their calls, for the profiler.",
    doc: explained(
        "Every function gets the attribute `hash`, by which the profiler tells kernels apart, and the layouts that the calls in it \
have: `data_layout`, `kernel_layout` and others. Equal functions have equal hashes.\n\n\
The number is not TVM's: its structural hash is made of hashes of its own types. Of the bytes of a constant only the first count.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(1, 3, 8, 8), float32]) -> Tensor[(1, 3, 4, 4), float32] {
  nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0])
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 3, 8, 8), float32], hash=\"9291b41232ada2c2\", layout=\"NCHW\", out_layout=\"\") -> \
Tensor[(1, 3, 4, 4), float32] {
  nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0])
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    Ok(rewrite(cx.store, function, &mut Label::default()))
}

#[derive(Default)]
struct Label {
    hasher: ExprHasher,
    layouts: Vec<(Id<Name>, AttrValue)>,
}

fn is_labelled(store: &Store, id: ExprId) -> bool {
    let attrs = store.as_function(id).and_then(|function| function.attrs);
    store.attr(attrs, "hash").is_some()
}

impl ExprMutator for Label {
    fn rule(&self) -> &'static str {
        "labelled"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        if matches!(store.expr(id), Expr::Function(_)) && !is_labelled(store, id) {
            self.layouts.clear();
        }
        Visit::Descend
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if let Some(attrs) = store.call(pre).and_then(|call| call.attrs) {
            for (name, value) in &store.attrs_of_id(attrs).fields {
                if matches!(value, AttrValue::Str(_)) && store.str(*name).contains("layout") {
                    match self.layouts.iter_mut().find(|(known, _)| known == name) {
                        Some((_, slot)) => *slot = value.clone(),
                        None => self.layouts.push((*name, value.clone())),
                    }
                }
            }
        }
        let Some(function) = store.as_function(post) else { return post };
        if is_labelled(store, pre) {
            return post;
        }
        let text = format!("{:016x}", self.hasher.hash(store, post));
        let mut values = vec![(store.name("hash"), AttrValue::Str(store.name(&text)))];
        values.append(&mut self.layouts.clone());
        let attrs = Some(with_dict_attrs(store, function.attrs, &values));
        let new = store.add_function(Function { attrs, ..function });
        let ty = store.checked_type(post);
        store.add_typed(Expr::Function(new), ty)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, unchanged};

    #[test]
    fn equal_functions_have_equal_hashes_and_others_do_not() {
        let hash = |body: &str| {
            let text = after("LabelOps()", &format!("def @main(%x: Tensor[(4), float32]) {{ {body} }}"));
            text.split("hash=\"").nth(1).and_then(|rest| rest.get(..16)).unwrap_or_default().to_owned()
        };
        assert_eq!(hash("%0 = exp(%x); negative(%0)"), hash("%1 = exp(%x); negative(%1)"));
        assert_ne!(hash("exp(%x)"), hash("negative(%x)"));
        assert_ne!(hash("add(%x, 1f)"), hash("add(%x, 2f)"));
    }

    #[test]
    fn a_function_inside_leaves_its_layouts_to_the_one_around_it() {
        let text = after(
            "LabelOps()",
            "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
               %0 = fn (%p: Tensor[(1, 3, 8, 8), float32], %q: Tensor[(4, 3, 3, 3), float32], Primitive=1) {
                 nn.conv2d(%p, %q, padding=[0, 0, 0, 0], kernel_size=[3, 3])
               };
               %0(%x, %w)
             }",
        );
        assert_eq!(text.matches("kernel_layout=\"OIHW\"").count(), 2, "{text}");
    }

    #[test]
    fn a_function_with_a_hash_stays() {
        unchanged("LabelOps()", "def @main(%x: int32, hash=\"0\") -> int32 { abs(%x) }");
    }
}

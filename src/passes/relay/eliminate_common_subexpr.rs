//! EliminateCommonSubexpr: equal calls computed once.
//!
//! A call of an operator with the same attributes and the same arguments as an earlier one is
//! replaced by that one; likewise a projection of the same tuple. Arguments are the same when they
//! are one node, equal scalar constants, or tuples whose fields are.
//!
//! Does nothing to calls without arguments, of functions, or of stateful operators. Scopes are not
//! looked at, as in TVM: equal calls in two branches of an `if` become one shared node.
//!
//! TVM compares each call with every earlier one of the same operator; here a table finds it, with
//! the same outcome at linear cost. The callback `fskip` of TVM's Python interface is not offered.
//!
//! Source: `src/relay/transforms/eliminate_common_subexpr.cc`.

use crate::ir::equal;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{AttrValue, AttrsId, DType, Expr, ExprId, Module, OpId, Store};
use crate::ops;
use crate::ops::build::constant;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Replaces a call or projection by an earlier equal one.
pub static SPEC: PassSpec = PassSpec {
    name: "EliminateCommonSubexpr",
    info_name: "EliminateCommonSubexpr",
    dialects: crate::pass::spec::RELAY,
    opt_level: 3,
    required: &["InferType"],
    params: &[Param { name: "fskip", default: "None", doc: "A callback in TVM's Python interface; only None here." }],
    config: &[],
    summary: "Computes equal calls once.",
    doc: explained(
        "A call of an operator that was already made with the same attributes and arguments is replaced \
by the earlier call, and a projection `.i` by an earlier one of the same tuple. Scalar constants are the same \
when they are equal; any other argument must be the same node.\n\n\
Calls without arguments and stateful operators are left alone.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) {
  %0 = add(%x, 1f);
  %1 = add(%x, 1f);
  multiply(%0, %1)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = add(%x, 1f);
  multiply(%0, %0)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    Ok(rewrite(cx.store, function, &mut Eliminator::default()))
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Node(ExprId),
    Scalar(DType, Rc<[u8]>),
    Tuple(Box<[Key]>),
}

#[derive(Default)]
struct Eliminator {
    calls: FxHashMap<(OpId, Option<AttrsId>, Box<[Key]>), ExprId>,
    items: FxHashMap<(ExprId, u32), ExprId>,
    /// Attributes with objects in them (`runtime.BoxInt`), one of each content, by a hash of their numbers.
    attrs: FxHashMap<(OpId, u64), Vec<AttrsId>>,
}

impl Eliminator {
    /// Returns the first attributes of the operator that have this content.
    fn first_attrs(&mut self, store: &Store, op: OpId, attrs: AttrsId) -> AttrsId {
        let mut values: Vec<&AttrValue> = store.attrs_of_id(attrs).fields.iter().map(|(_, value)| value).collect();
        let (mut is_plain, mut numbers) = (true, FxHasher::default());
        while let Some(value) = values.pop() {
            match value {
                AttrValue::Array(items) => values.extend(items.iter()),
                AttrValue::Int { value, .. } => value.hash(&mut numbers),
                AttrValue::Object(object) => {
                    is_plain = false;
                    store.object(*object).repr.hash(&mut numbers);
                }
                AttrValue::Expr(_) => is_plain = false,
                _ => {}
            }
        }
        if is_plain {
            return attrs;
        }
        let known = self.attrs.entry((op, numbers.finish())).or_default();
        match known.iter().find(|other| equal::attrs(store, attrs, **other)) {
            Some(first) => *first,
            None => {
                known.push(attrs);
                attrs
            }
        }
    }
}

impl ExprMutator for Eliminator {
    fn rule(&self) -> &'static str {
        "same as an earlier expression"
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        match store.expr(post) {
            Expr::TupleGetItem { tuple, index } => *self.items.entry((tuple, index)).or_insert(post),
            Expr::Call { callee, args, .. } if !args.is_empty() => {
                let Expr::Op(op) = store.expr(callee) else { return post };
                if ops::info(op).stateful {
                    return post;
                }
                let attrs = store.call(post).and_then(|call| call.attrs).map(|attrs| self.first_attrs(store, op, attrs));
                let args = store.items(args).map(|arg| key(store, arg, true)).collect();
                *self.calls.entry((op, attrs, args)).or_insert(post)
            }
            _ => post,
        }
    }
}

/// Returns the key of an argument; equal keys mean the same argument. Looks into tuples one level deep.
fn key(store: &Store, arg: ExprId, open_tuples: bool) -> Key {
    match store.expr(arg) {
        Expr::Tuple(fields) if open_tuples => Key::Tuple(store.items(fields).map(|field| key(store, field, false)).collect()),
        _ => match constant(store, arg) {
            Some(tensor) if tensor.is_scalar() => match &tensor.data {
                Some(data) => Key::Scalar(tensor.dtype, data.clone()),
                None => Key::Node(arg),
            },
            _ => Key::Node(arg),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, unchanged};

    #[test]
    fn what_becomes_equal_by_merging_is_merged_too() {
        check(
            "EliminateCommonSubexpr()",
            "def @main(%x: Tensor[(4), float32]) {
               %0 = exp(%x); %1 = exp(%x); %2 = abs(%0); %3 = abs(%1); add(%2, %3)
             }",
            "def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); %1 = abs(%0); add(%1, %1) }",
        );
    }

    /// TVM compares attributes by content; the parts of a split are an object of their own in each call.
    #[test]
    fn two_splits_into_as_many_parts_are_one() {
        check(
            "EliminateCommonSubexpr()",
            "def @main(%x: Tensor[(4), float32]) {
               %0 = split(%x, indices_or_sections=2); %1 = split(%x, indices_or_sections=2); add(%0.0, %1.1)
             }",
            "def @main(%x: Tensor[(4), float32]) { %0 = split(%x, indices_or_sections=2); add(%0.0, %0.1) }",
        );
    }

    #[test]
    fn equal_projections_are_one() {
        check(
            "EliminateCommonSubexpr()",
            "def @main(%t: (Tensor[(4), float32], int32)) { %0 = %t.0; %1 = %t.0; add(%0, %1) }",
            "def @main(%t: (Tensor[(4), float32], int32)) { %0 = %t.0; add(%0, %0) }",
        );
    }

    #[test]
    fn stateful_operators_and_other_attributes_are_different() {
        unchanged(
            "EliminateCommonSubexpr()",
            "def @main(%x: Tensor[(4, 4), float32]) {
               %0 = nn.dropout(%x); %1 = nn.dropout(%x);
               %2 = sum(%0.0, axis=[0]); %3 = sum(%1.0, axis=[1]); add(%2, %3)
             }",
        );
        unchanged(
            "EliminateCommonSubexpr()",
            "def @main() { %0 = ones(shape=[2], dtype=\"int32\"); %1 = ones(shape=[2], dtype=\"int32\"); add(%0, %1) }",
        );
    }

    #[test]
    fn tuples_of_the_same_fields_are_the_same_argument() {
        check(
            "EliminateCommonSubexpr()",
            "def @main(%x: Tensor[(4), float32]) {
               %0 = (%x, %x); %1 = (%x, %x); %2 = concatenate(%0); %3 = concatenate(%1); add(%2, %3)
             }",
            "def @main(%x: Tensor[(4), float32]) { %0 = (%x, %x); %1 = concatenate(%0); add(%1, %1) }",
        );
    }
}

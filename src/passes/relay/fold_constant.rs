//! FoldConstant: evaluates expressions on constants.
//!
//! Calls of operators whose arguments are all constants (or tuples of constants) are evaluated.
//! Lets that bind constants are inlined, projections of tuple literals become the field, `if` on a
//! constant becomes the branch taken, and `shape_of` and `ndarray_size` of a static shape become
//! constants whatever their argument is.
//!
//! Does nothing to calls without arguments (`zeros`, `ones`), of functions, of stateful operators,
//! of operators that compute nothing themselves (memory, devices, and `qnn` unless `fold_qnn`), and in
//! primitive functions. If this program has no kernel for an operator, or a constant
//! has no value, the call stays and a warning says so.
//!
//! TVM also drops a `let` of a constant in a primitive function, whose calls then use a variable that nothing binds; here it
//! stays. TVM fails at a call of `annotation.compiler_begin` on a constant; here the call stays.
//! TVM before 0.8 had a list of names never folded (`zeros_like`, `ones_like`, `full_like`, `full`); 0.19, which this
//! follows, folds them.
//!
//! Source: `src/relay/transforms/fold_constant.cc`.

use super::support::{is_primitive, is_qnn_canonicalisable, strip_on_device, tensor_type};
use crate::diag::Diagnostic;
use crate::eval::{EvalOptions, eval_expr, value_to_expr};
use crate::ir::rewrite::{Bound, ExprMutator, Visit, rewrite};
use crate::ir::walk::post_order;
use crate::ir::{DType, Dim, Expr, ExprId, Module, Store};
use crate::ops;
use crate::ops::build::{arg, args, attrs_of, constant, int_tensor, op_name};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashSet;

/// Evaluates calls of operators on constants.
pub static SPEC: PassSpec = PassSpec {
    name: "FoldConstant",
    info_name: "FoldConstant",
    dialects: crate::pass::spec::RELAY,
    opt_level: 2,
    required: &[],
    params: &[Param { name: "fold_qnn", default: "False", doc: "Also evaluates quantised operators (`qnn.*`)." }],
    config: &[],
    summary: "Evaluates what depends on constants only.",
    doc: explained(
        "A call of an operator whose arguments are constants, or tuples of constants, is replaced by its \
value. A `let` that binds a constant is inlined; `(a, b).0` becomes `a`; an `if` whose condition is a constant \
becomes the branch that it takes; `shape_of` and `ndarray_size` need only the shape of their argument to be known.\n\n\
Left alone are calls without arguments, such as `zeros(shape=[4, 5])`, which are smaller than their value; \
calls of functions; stateful operators; operators on memory and devices; quantised operators unless \
`fold_qnn=True`; and calls in primitive functions.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) {
  let %two = add(1f, 1f);
  let %four = multiply(%two, 2f);
  add(%x, %four)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  add(%x, 4f)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let mut folder = Folder::new(module, arguments.bool("fold_qnn"));
    let result = rewrite(cx.store, function, &mut folder);
    cx.diagnostics.extend(folder.warnings);
    match folder.nested {
        Some(nested) => {
            let message = "a primitive function inside of a primitive function cannot be looked into";
            Err(vec![Diagnostic::error("relay-fold-constant", message, cx.store.source_span(nested))])
        }
        None => Ok(result),
    }
}

/// Folds the constants of an expression; other passes call it on expressions that they build.
pub fn fold_expr(store: &mut Store, module: &Module, expr: ExprId) -> ExprId {
    rewrite(store, expr, &mut Folder::new(module, false))
}

struct Folder<'a> {
    module: &'a Module,
    fold_qnn: bool,
    warnings: Vec<Diagnostic>,
    warned: FxHashSet<&'static str>,
    /// The primitive function that is being rewritten; its calls stay.
    primitive: Option<ExprId>,
    /// A primitive function inside of another one, at which TVM stops.
    nested: Option<ExprId>,
}

impl ExprMutator for Folder<'_> {
    fn rule(&self) -> &'static str {
        "constant folded"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Function(_) if is_primitive(store, id) => {
                let inner = post_order(store, id).into_iter().find(|inner| *inner != id && is_primitive(store, *inner));
                self.nested = self.nested.or(inner);
                self.primitive = Some(id);
                Visit::Descend
            }
            Expr::Call { args, .. } if args.is_empty() || self.primitive.is_some() => Visit::Keep,
            _ => Visit::Descend,
        }
    }

    fn bind(&mut self, store: &mut Store, _: ExprId, value: ExprId) -> Bound {
        if self.primitive.is_none() && constant(store, strip_on_device(store, value)).is_some() {
            store.set_rule("let of a constant inlined");
            return Bound::Substitute(value);
        }
        Bound::Keep
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if self.primitive == Some(pre) {
            self.primitive = None;
        }
        match store.expr(post) {
            Expr::Call { .. } => self.call(store, pre, post).unwrap_or(post),
            Expr::If { cond, then, other } => {
                let cond = constant(store, strip_on_device(store, cond));
                let Some(data) = cond.and_then(|tensor| tensor.data.as_ref()) else { return post };
                let taken = data.first().is_some_and(|byte| *byte != 0);
                store.set_rule("if on a constant");
                if taken { then } else { other }
            }
            Expr::TupleGetItem { tuple, index } => project(store, tuple, index).unwrap_or(post),
            _ => post,
        }
    }
}

/// The field of a tuple literal, on the device that the tuple was said to be on.
fn project(store: &mut Store, tuple: ExprId, index: u32) -> Option<ExprId> {
    let Expr::Tuple(fields) = store.expr(strip_on_device(store, tuple)) else { return None };
    if index as usize >= fields.len() {
        return None;
    }
    store.set_rule("projection of a tuple");
    let field = store.item(fields, index as usize);
    match store.call(tuple) {
        Some(on_device) => Some(store.add_call(on_device.callee, &[field], on_device.attrs)),
        None => Some(field),
    }
}

/// True for a constant, or a tuple of such.
pub fn is_known(store: &Store, id: ExprId) -> bool {
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        match store.expr(strip_on_device(store, id)) {
            Expr::Constant(_) => {}
            Expr::Tuple(fields) => stack.extend(store.items(fields)),
            _ => return false,
        }
    }
    true
}

impl<'a> Folder<'a> {
    fn new(module: &'a Module, fold_qnn: bool) -> Self {
        Folder { module, fold_qnn, warnings: Vec::new(), warned: FxHashSet::default(), primitive: None, nested: None }
    }

    fn call(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> Option<ExprId> {
        let info = ops::info(store.called_op(post)?);
        if info.stateful {
            return None;
        }
        match op_name(store, post) {
            "shape_of" | "vm.shape_of" => return self.shape(store, pre),
            "ndarray_size" => return self.size(store, pre),
            "device_copy" => return None,
            _ => {}
        }
        if info.non_computational && !(self.fold_qnn && is_qnn_canonicalisable(info.name)) {
            return None;
        }
        let arguments = args(store, post);
        if !arguments.iter().all(|arg| is_known(store, *arg)) {
            return None;
        }
        self.evaluate(store, post)
    }

    /// The value of a call of an operator on constants; `None`, with a warning, when there is none.
    fn evaluate(&mut self, store: &mut Store, call: ExprId) -> Option<ExprId> {
        match eval_expr(store, self.module, call, &[], EvalOptions::default()) {
            Ok(value) => value_to_expr(store, &value),
            Err(failure) => {
                let name = ops::info(store.called_op(call)?).name;
                if self.warned.insert(name) {
                    let text = format!("a call of `{name}` on constants was not folded: {}", failure.message);
                    self.warnings.push(Diagnostic::warning("relay-not-folded", text, store.source_span(call)));
                }
                None
            }
        }
    }

    fn shape(&mut self, store: &mut Store, pre: ExprId) -> Option<ExprId> {
        let shape = known_shape(store, arg(store, pre, 0))?;
        // TVM makes the shape of a scalar a scalar.
        let value = if shape.is_empty() {
            int_tensor(store, DType::I32, &[], &[0])
        } else {
            int_tensor(store, DType::I32, &[shape.len() as i64], &shape)
        };
        store.set_rule("shape that is known");
        self.cast(store, value, pre)
    }

    fn size(&mut self, store: &mut Store, pre: ExprId) -> Option<ExprId> {
        let shape = known_shape(store, arg(store, pre, 0))?;
        // TVM counts no element in a scalar, and 32 bit integers wrap.
        let size = match shape.as_slice() {
            [] => 0,
            extents => extents.iter().fold(1i32, |size, extent| size.wrapping_mul(*extent as i32)),
        };
        let value = int_tensor(store, DType::I32, &[], &[i64::from(size)]);
        store.set_rule("size that is known");
        self.cast(store, value, pre)
    }

    /// The value in the element type that the call `pre` asks for.
    fn cast(&mut self, store: &mut Store, value: ExprId, pre: ExprId) -> Option<ExprId> {
        let attrs = store.call(pre)?.attrs;
        let dtype = store.attr(attrs, "dtype")?.clone();
        if store.attr_dtype(attrs, "dtype") == Some(DType::I32) {
            return Some(value);
        }
        let attrs = attrs_of(store, "cast", &[("dtype", dtype)]);
        let call = crate::ops::build::call_attrs(store, "cast", &[value], Some(attrs));
        self.evaluate(store, call)
    }
}

fn known_shape(store: &Store, id: ExprId) -> Option<Vec<i64>> {
    if let Some(tensor) = constant(store, strip_on_device(store, id)) {
        return Some(tensor.shape.to_vec());
    }
    tensor_type(store, id)?.0.into_iter().map(Dim::known).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, check, failure, unchanged};

    #[test]
    fn a_projection_of_a_tuple_is_its_field_whatever_it_is() {
        check(
            "FoldConstant()",
            "def @main(%x: int32, %y: int32) { %0 = (%x, %y); %0.1 }",
            "def @main(%x: int32, %y: int32) { %y }",
        );
    }

    #[test]
    fn an_if_on_a_constant_becomes_the_branch_taken() {
        check("FoldConstant()", "def @main(%x: int32) { if (less(1, 2)) { %x } else { 0 } }", "def @main(%x: int32) { %x }");
    }

    #[test]
    fn shape_and_size_need_only_the_type() {
        check(
            "FoldConstant()",
            "def @main(%x: Tensor[(2, 3), float32]) { %0 = shape_of(%x, dtype=\"int64\"); (sum(%0), ndarray_size(%x, dtype=\"int32\")) }",
            "def @main(%x: Tensor[(2, 3), float32]) { (5i64, 6) }",
        );
    }

    #[test]
    fn tuples_of_constants_are_constants() {
        check(
            "FoldConstant()",
            "def @main() { max(concatenate((expand_dims(1f, axis=0), expand_dims(2f, axis=0)))) }",
            "def @main() { 2f }",
        );
    }

    #[test]
    fn calls_without_arguments_functions_and_stateful_operators_stay() {
        unchanged("FoldConstant()", "def @main() { zeros(shape=[2, 2], dtype=\"float32\") }");
        unchanged("FoldConstant()", "def @main() -> int32 { @f(1) } def @f(%x: int32) -> int32 { %x }");
        unchanged("FoldConstant()", "def @main() { nn.dropout(1f) }");
        unchanged("FoldConstant()", "def @main() { device_copy(1f, src_virtual_device=None, dst_virtual_device=None) }");
    }

    #[test]
    fn calls_in_a_primitive_function_stay_and_what_they_are_made_of_too() {
        unchanged("FoldConstant()", "def @main() { %0 = fn (%p: int32, Primitive=1) -> int32 { add(%p, add(1, 2)) }; %0(3) }");
        unchanged(
            "FoldConstant()",
            "def @main(%x: int32) { %0 = fn (%p: int32, Primitive=1) -> int32 { abs((%p, 1).0) }; %0(%x) }",
        );
    }

    /// TVM 0.19 gives this.
    #[test]
    fn a_field_of_a_tuple_that_a_primitive_function_returns_is_taken_out() {
        check(
            "FoldConstant()",
            "def @main(%x: int32) { %0 = fn (%p: int32, Primitive=1) -> int32 { %1 = abs(%p); ((%p, %1).0, %1).0 }; %0(%x) }",
            "def @main(%x: int32) { %0 = fn (%p: int32, Primitive=1) -> int32 { %p }; %0(%x) }",
        );
    }

    /// TVM subtracts from zero: 0 - 0 is 0, and not -0.
    #[test]
    fn the_opposite_of_zero_has_no_sign() {
        assert!(after("FoldConstant()", "def @main() { negative(0f) }").contains(" 0f"));
    }

    #[test]
    fn quantised_operators_are_folded_only_when_asked() {
        let program = "def @main() { qnn.dequantize(cast(3, dtype=\"int8\"), 0.5f, 1, out_dtype=\"float32\") }";
        assert!(after("FoldConstant()", program).contains("qnn.dequantize"));
        // (3 - 1) * 0.5
        check("FoldConstant(fold_qnn=True)", program, "def @main() { 1f }");
    }

    #[test]
    fn a_primitive_function_inside_of_a_primitive_one_is_refused() {
        let message = failure(
            "FoldConstant()",
            "def @main(%x: int32) {
               %1 = fn (%a: int32, Primitive=1) { %0 = fn (%b: int32, Primitive=1) { negative(%b) }; %0(%a) };
               %1(%x)
             }",
        );
        assert!(message.contains("inside of a primitive function"), "{message}");
    }
}

//! Evaluates operators of Relax by the kernels of Relay's.
//!
//! An operator of both dialects has one kernel. For most others a row names the equivalent operator of Relay;
//! attributes are matched by name, and the row may add some. The remaining ones are composed of several in
//! [`super::shaped`] and [`super::norm`]. Intermediate results are rounded to the element type, so the last digit may
//! differ from that of TVM, which fuses them.

use super::special::tensor_of;
use super::{norm, shaped};
use crate::eval::{EvalFailure, Value};
use crate::ir::{AttrValue, Attrs, AttrsId, DType, Extents, OpId, Store, Tensor, Type, TypeId};
use crate::ops::kernel::{read, read_scalar, write};
use crate::ops::{self, EvalError, KernelCx};

/// The result of an operator: tensors, more than one for a tuple.
pub(super) type Outputs = Result<Vec<Tensor>, EvalError>;

/// The operands of a call, all evaluated.
pub(crate) struct Operands<'a> {
    /// Arguments; none of them is a cell.
    pub args: &'a [Value],
    /// Attributes of the call.
    pub attrs: Option<AttrsId>,
    /// Type of the result as far as it is known.
    pub out: TypeId,
}

/// The context of a rule.
pub(super) struct Cx<'a> {
    pub store: &'a mut Store,
    pub args: &'a [Value],
    attrs: Option<AttrsId>,
    out: TypeId,
}

/// The evaluation of an operator.
pub(super) enum Rule {
    /// Runs the kernel of this operator of Relay on all tensors in the arguments.
    As(&'static str),
    /// Does the same, with these attributes converted.
    With(&'static str, fn(&mut Cx<'_>) -> Vec<(&'static str, AttrValue)>),
    /// Runs its own function.
    Own(fn(&mut Cx<'_>) -> Outputs),
}

/// Operators under other names and with other attributes.
static RENAMED: &[(&str, Rule)] = &[
    ("argmax", Rule::Own(|cx| place_of(cx, "argmax"))),
    ("argmin", Rule::Own(|cx| place_of(cx, "argmin"))),
    ("argsort", Rule::With("argsort", ascending)),
    (
        "bucketize",
        Rule::Own(|cx| {
            let dtype = if cx.flag("out_int32") { DType::I32 } else { DType::I64 };
            let (values, boundaries) = (cx.tensor(0)?, cx.tensor(1)?);
            cx.kernel("searchsorted", &[boundaries, values], &[("dtype", AttrValue::DType(Some(dtype)))])
        }),
    ),
    ("collapse_sum_like", Rule::As("collapse_sum_like")),
    ("dequantize", Rule::As("qnn.dequantize")),
    ("einsum", Rule::With("einsum", |cx| vec![("equation", cx.attr("subscripts"))])),
    ("flip", Rule::As("reverse")),
    ("gather_elements", Rule::As("gather")),
    ("grad.avg_pool2d_backward", Rule::As("nn.avg_pool2d_grad")),
    ("grad.max_pool2d_backward", Rule::As("nn.max_pool2d_grad")),
    ("image.grid_sample", Rule::As("image.grid_sample")),
    ("image.resize2d", Rule::With("image.resize2d", sized)),
    ("image.resize3d", Rule::With("image.resize3d", sized)),
    ("max", Rule::As("max")),
    ("mean", Rule::As("mean")),
    ("meshgrid", Rule::As("meshgrid")),
    ("min", Rule::As("min")),
    ("nn.cross_entropy_with_logits", Rule::As("nn.cross_entropy_with_logits")),
    ("nn.log_softmax", Rule::As("nn.log_softmax")),
    (
        "nn.pixel_shuffle",
        Rule::With("nn.depth_to_space", |cx| {
            vec![("block_size", cx.attr("upscale_factor")), ("mode", cx.word("CRD")), ("layout", cx.word("NCHW"))]
        }),
    ),
    ("nn.softmax", Rule::As("nn.softmax")),
    ("permute_dims", Rule::As("transpose")),
    ("prod", Rule::As("prod")),
    ("scatter_elements", Rule::As("scatter_elements")),
    ("sort", Rule::With("sort", ascending)),
    ("stack", Rule::As("stack")),
    ("sum", Rule::As("sum")),
    ("tile", Rule::With("tile", |cx| vec![("reps", cx.attr("repeats"))])),
    ("topk", Rule::With("topk", |cx| vec![("is_ascend", AttrValue::Bool(!cx.flag("largest")))])),
];

fn ascending(cx: &mut Cx<'_>) -> Vec<(&'static str, AttrValue)> {
    vec![("is_ascend", AttrValue::Bool(!cx.flag("descending")))]
}

fn sized(cx: &mut Cx<'_>) -> Vec<(&'static str, AttrValue)> {
    let size = cx.shape(1).unwrap_or_default();
    let mut extra = vec![("size", ops::build::ints(&size))];
    if !matches!(cx.attr("roi"), AttrValue::Array(region) if region.len() == 2 * size.len()) {
        extra.push(("roi", ops::build::ints(&vec![0; 2 * size.len()])));
    }
    extra
}

/// Reduces over one axis, with indices of 64 bits as in Relax.
fn place_of(cx: &mut Cx<'_>, relay: &str) -> Outputs {
    let axis = cx.attr_ints("axis").map_or(AttrValue::Null, |axes| ops::build::ints(&axes));
    let inputs = cx.tensors()?;
    let made = cx.kernel(relay, &inputs, &[("axis", axis)])?;
    shaped::one(cx.converted(&made[0], DType::I64))
}

fn rule(name: &str) -> Option<&'static Rule> {
    let tables = [RENAMED, shaped::RULES, norm::RULES];
    tables.into_iter().flatten().find(|(row, _)| *row == name).map(|(_, rule)| rule)
}

/// Evaluates an operator.
pub(crate) fn compute(store: &mut Store, op: OpId, operands: Operands<'_>) -> Result<Value, EvalFailure> {
    let info = ops::info(op);
    let name = info.relax.as_ref().map_or(info.name, |row| row.name);
    let Operands { args, attrs, out } = operands;
    let out = known(store, out);
    let mut cx = Cx { store, args, attrs, out };
    let made = match (rule(name), info.kernel) {
        (Some(Rule::As(relay)), _) => cx.tensors().and_then(|inputs| cx.kernel(relay, &inputs, &[])),
        (Some(Rule::With(relay, extra)), _) => {
            let extra = extra(&mut cx);
            cx.tensors().and_then(|inputs| cx.kernel(relay, &inputs, &extra))
        }
        (Some(Rule::Own(rule)), _) => rule(&mut cx),
        (None, Some(_)) if info.relax.is_none_or(|row| row.same_kernel) => {
            cx.tensors().and_then(|inputs| cx.kernel(info.name, &inputs, &[]))
        }
        (None, _) => {
            let failure = EvalFailure::new(format!("`R.{name}` cannot be evaluated here"));
            return Err(EvalFailure { code: "eval-no-kernel", ..failure });
        }
    };
    let made = made.map_err(|error| EvalFailure::new(format!("R.{name}: {}", error.0)))?;
    let is_tuple = matches!(store.type_of_id(out), Type::Tuple(_)) || made.len() != 1;
    let mut made: Vec<Value> = made.into_iter().map(Value::Tensor).collect();
    Ok(if is_tuple { Value::tuple(made) } else { made.swap_remove(0) })
}

/// Removes devices from a type, so that a completely known one is a plain tensor's.
fn known(store: &mut Store, ty: TypeId) -> TypeId {
    match store.type_of_id(ty).clone() {
        Type::PartialTensor(info) => match (&info.extents, info.dtype) {
            (Extents::Known(dims), Some(dtype)) => store.tensor_type(&dims.clone(), dtype),
            _ => ty,
        },
        Type::Tuple(fields) => {
            let fields: Vec<TypeId> = fields.iter().map(|field| known(store, *field)).collect();
            store.tuple_type(&fields)
        }
        _ => ty,
    }
}

impl Cx<'_> {
    /// Returns all tensors in the arguments, tuples flattened; scalars count as tensors of rank 0.
    pub fn tensors(&self) -> Result<Vec<Tensor>, EvalError> {
        let mut inputs = Vec::with_capacity(self.args.len());
        let mut left: Vec<&Value> = self.args.iter().rev().collect();
        while let Some(value) = left.pop() {
            match value {
                Value::Tuple(fields) => left.extend(fields.items().iter().rev()),
                // An argument that only gives a shape is no input of a kernel.
                Value::Shape(_) => {}
                other => match tensor_of(other) {
                    Some(tensor) => inputs.push(tensor),
                    None => return Err(EvalError(format!("an argument is {}, not a tensor", other.kind()))),
                },
            }
        }
        Ok(inputs)
    }

    /// Returns the tensor that argument `index` is.
    pub fn tensor(&self, index: usize) -> Result<Tensor, EvalError> {
        let value = self.args.get(index).ok_or_else(|| EvalError(format!("argument {index} is missing")))?;
        tensor_of(value).ok_or_else(|| EvalError(format!("argument {index} is {}, not a tensor", value.kind())))
    }

    /// Returns the shape, or other list of integers, that argument `index` is.
    pub fn shape(&self, index: usize) -> Result<Vec<i64>, EvalError> {
        match self.args.get(index) {
            Some(Value::Shape(shape)) => Ok(shape.to_vec()),
            Some(Value::Tuple(fields)) => {
                fields.items().iter().map(|field| read_scalar(&tensor_of(field).ok_or("a scalar is expected")?)).collect()
            }
            Some(Value::Tensor(tensor)) => read(tensor),
            _ => Err(EvalError(format!("argument {index} is no shape"))),
        }
    }

    /// Returns the integer that argument `index` is.
    pub fn int(&self, index: usize) -> Result<i64, EvalError> {
        read_scalar(&self.tensor(index)?)
    }

    /// An attribute; null where it is missing.
    pub fn attr(&self, name: &str) -> AttrValue {
        self.store.attr(self.attrs, name).cloned().unwrap_or(AttrValue::Null)
    }

    /// An integer attribute.
    pub fn attr_int(&self, name: &str) -> Option<i64> {
        self.store.attr_int(self.attrs, name)
    }

    /// A list of integers; a single one counts as a list.
    pub fn attr_ints(&self, name: &str) -> Option<Vec<i64>> {
        self.store.attr_ints(self.attrs, name).or_else(|| self.attr_int(name).map(|value| vec![value]))
    }

    /// A number.
    pub fn attr_float(&self, name: &str) -> Option<f64> {
        self.store.attr_float(self.attrs, name)
    }

    /// A text; empty where it is missing.
    pub fn text(&self, name: &str) -> &str {
        self.store.attr_str(self.attrs, name).unwrap_or("")
    }

    /// An element type, if it is set.
    pub fn attr_dtype(&self, name: &str) -> Option<DType> {
        self.store.attr_dtype(self.attrs, name).or_else(|| DType::parse(self.text(name)))
    }

    /// An attribute that is true.
    pub fn flag(&self, name: &str) -> bool {
        self.attr_int(name).is_some_and(|value| value != 0)
    }

    /// A text as an attribute.
    pub fn word(&mut self, text: &str) -> AttrValue {
        AttrValue::Str(self.store.name(text))
    }

    /// Element type of the result, if it is known.
    pub fn out_dtype(&self) -> Option<DType> {
        self.store.tensor_info(self.out).and_then(|info| info.dtype)
    }

    /// Runs the kernel of an operator of Relay on these inputs. Its attributes are `extra`, those of the call with the
    /// same names, and otherwise the defaults.
    pub fn kernel(&mut self, relay: &str, inputs: &[Tensor], extra: &[(&str, AttrValue)]) -> Outputs {
        let out = self.out;
        self.kernel_of(relay, inputs, extra, out)
    }

    fn kernel_of(&mut self, relay: &str, inputs: &[Tensor], extra: &[(&str, AttrValue)], out: TypeId) -> Outputs {
        let info = ops::lookup(relay).map(ops::info);
        let Some((info, kernel)) = info.and_then(|info| Some((info, info.kernel?))) else {
            return Err(EvalError(format!("there is no kernel for {relay}")));
        };
        let given = self.attrs.map(|attrs| self.store.attrs_rc(attrs));
        let names: Vec<(String, AttrValue)> = (given.iter().flat_map(|attrs| attrs.fields.iter()))
            .map(|(name, value)| (self.store.str(*name).to_owned(), value.clone()))
            .collect();
        let mut written: Vec<(&str, AttrValue)> = extra.to_vec();
        written
            .extend(names.iter().filter(|(name, _)| !extra.iter().any(|(n, _)| n == name)).map(|(n, v)| (n.as_str(), v.clone())));
        let attrs = match info.relay_attrs().map(|schema| schema.complete(self.store, &written)) {
            Some(Ok(attrs)) => attrs,
            // An operator without a schema gets only the written attributes.
            _ => {
                let fields = written.into_iter().map(|(name, value)| (self.store.name(name), value)).collect();
                Attrs { key: self.store.name(relay), fields }
            }
        };
        let attrs = Some(self.store.attrs(attrs));
        kernel(&KernelCx { store: self.store, attrs, out_type: out }, inputs)
    }

    /// Returns the only result of a kernel that needs no attributes of the call: an intermediate step.
    pub fn step(&mut self, relay: &str, inputs: &[Tensor]) -> Result<Tensor, EvalError> {
        self.step_with(relay, inputs, &[])
    }

    /// Does the same with attributes.
    pub fn step_with(&mut self, relay: &str, inputs: &[Tensor], extra: &[(&str, AttrValue)]) -> Result<Tensor, EvalError> {
        let attrs = self.attrs.take();
        let any = self.store.ty(Type::Any);
        let made = self.kernel_of(relay, inputs, extra, any);
        self.attrs = attrs;
        made?.into_iter().next().ok_or_else(|| EvalError(format!("{relay} gives nothing")))
    }

    /// A number of this element type.
    pub fn number(&self, dtype: DType, value: f64) -> Result<Tensor, EvalError> {
        write(dtype, &[], &[value])
    }

    /// Converts the elements of the tensor.
    pub fn converted(&mut self, tensor: &Tensor, dtype: DType) -> Result<Tensor, EvalError> {
        if tensor.dtype == dtype {
            return Ok(tensor.clone());
        }
        self.step_with("cast", std::slice::from_ref(tensor), &[("dtype", AttrValue::DType(Some(dtype)))])
    }
}

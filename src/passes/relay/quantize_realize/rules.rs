//! The rules of operators over integers that stand for real numbers.

use super::super::support::emit::{Emit, known};
use super::super::support::forward::{Args, Forward, Made};
use super::super::support::quantizing::SIMULATED;
use super::super::support::tensor_type;
use crate::ir::{AttrValue, AttrsId, DType, Double, Expr, ExprId, Store};
use crate::ops::build::{is_call, op_name};
use crate::passes::relay::qnn_legalize::{Factors, multiply_fixed, to_nearest};

pub(super) struct Realize {
    pub input: DType,
    pub weight: DType,
    pub activation: DType,
    /// The scale of a tuple that has other than two fields.
    pub many_scale: f64,
    pub round_for_shift: bool,
    pub is_upward: bool,
}

/// Integers, or whole numbers as floats, that are multiples of a scale (TVM's `QRealizeIntExpr`).
#[derive(Clone, Copy)]
pub(super) struct Value {
    data: ExprId,
    scale: f32,
    dtype: DType,
}

type Result<T> = std::result::Result<T, String>;

impl Forward for Realize {
    type Value = Value;

    fn rule(&self) -> &'static str {
        "computed on integers"
    }

    fn realize(&self, store: &mut Store, value: &Value) -> ExprId {
        let mut emit = Emit { store, target: None };
        let data = emit.cast(value.data, DType::F32);
        let scale = emit.number(DType::F32, f64::from(value.scale));
        emit.call("multiply", &[data, scale])
    }

    fn call(&mut self, store: &mut Store, pre: ExprId, args: &Args<'_, Value>) -> Result<Made<Value>> {
        let name = op_name(store, pre);
        let attrs = store.call(pre).and_then(|call| call.attrs);
        let value = |store: &Store, index: usize| args.list.get(index).and_then(|arg| args.value(store, *arg)).copied();
        let pair = value(store, 0).zip(value(store, 1));
        let first = value(store, 0);
        let mut emit = Emit { store, target: None };
        let one = |emit: &mut Emit<'_>, of: Option<Value>, dtype: Option<DType>| {
            let Some(of) = of else { return Made::Kept };
            let data = dtype.map_or(of.data, |dtype| emit.cast(of.data, dtype));
            let data = emit.over(name, &[data], attrs, &[]);
            Made::Value(Value { data, dtype: dtype.unwrap_or(of.dtype), ..of })
        };
        match name {
            SIMULATED => self.simulated(&mut emit, pre, args, first),
            "nn.conv2d" | "nn.dense" | "nn.batch_matmul" | "nn.conv1d" => match pair {
                Some(pair) => Ok(Made::Value(self.product(&mut emit, name, attrs, pair))),
                None if name == "nn.conv1d" && (first.is_some() || value(emit.store, 1).is_some()) => {
                    Err("one operand has few bits and the other one has not".to_owned())
                }
                None => Ok(Made::Kept),
            },
            "multiply" => {
                let Some((x, y)) = pair else { return Ok(Made::Kept) };
                let operands = [x, y].map(|value| self.as_activation(&mut emit, value));
                let data = emit.over(name, &operands, attrs, &[]);
                Ok(Made::Value(Value { data, scale: x.scale * y.scale, dtype: self.activation }))
            }
            "add" => {
                let given = [first, value(emit.store, 1)];
                self.sum(&mut emit, pre, attrs, given)
            }
            "concatenate" => self.concatenate(&mut emit, pre, args, attrs),
            "clip" => {
                let Some(of) = first else { return Ok(Made::Kept) };
                let bound = |name: &str| emit.store.attr_float(attrs, name).unwrap_or(0.0) / f64::from(of.scale);
                let (low, high) = (bound("a_min"), bound("a_max"));
                let changes = [("a_min", AttrValue::Float(Double(low))), ("a_max", AttrValue::Float(Double(high)))];
                let data = emit.over(name, &[of.data], attrs, &changes);
                Ok(Made::Value(Value { data, ..of }))
            }
            "nn.relu" | "reshape" | "strided_slice" | "nn.batch_flatten" | "transpose" | "annotation.stop_fusion" => {
                Ok(one(&mut emit, first, None))
            }
            "nn.max_pool2d" | "nn.max_pool1d" => Ok(one(&mut emit, first, Some(self.input))),
            "nn.avg_pool2d" | "nn.global_avg_pool2d" => {
                let cast = first.is_some_and(|of| of.dtype != self.activation).then_some(self.activation);
                Ok(one(&mut emit, first, cast))
            }
            "annotation.cast_hint" => {
                let Some(of) = first else { return Ok(Made::Kept) };
                let dtype = emit.store.attr_dtype(attrs, "dtype").ok_or("the hint has no type")?;
                let data = emit.cast(of.data, dtype);
                Ok(Made::Value(Value { data, dtype, ..of }))
            }
            _ => Ok(Made::Kept),
        }
    }
}

fn shape(store: &Store, id: ExprId) -> Result<Vec<i64>> {
    known(&tensor_type(store, id).ok_or("the type of an argument is not known")?.0)
}

impl Realize {
    fn as_activation(&self, emit: &mut Emit<'_>, value: Value) -> ExprId {
        if value.dtype == self.activation { value.data } else { emit.cast(value.data, self.activation) }
    }

    fn simulated(&self, emit: &mut Emit<'_>, pre: ExprId, args: &Args<'_, Value>, inner: Option<Value>) -> Result<Made<Value>> {
        let number = |index: usize| emit.value(args.list[index]).ok_or("Expr must be a constant expr");
        let (scale, low, high) = (number(1)? as f32, number(2)?, number(3)?);
        let Some(value) = inner else {
            let factor = emit.number(DType::F32, f64::from(1.0 / scale));
            let data = emit.call("multiply", &[args.list[0], factor]);
            let data = emit.call("round", &[data]);
            let data = emit.clip(data, low, high);
            return Ok(Made::Value(Value { data, scale, dtype: DType::F32 }));
        };
        let (mut data, dtype) = (value.data, value.dtype);
        if value.scale != scale {
            let shift = (scale / value.scale).log2();
            if shift == 0.0 {
                return Err("the scales are too close".to_owned());
            }
            if shift.trunc() == shift {
                let constant = |emit: &mut Emit<'_>, value: f64| emit.number(self.activation, value);
                if shift > 0.0 && self.round_for_shift {
                    let half = constant(emit, 2f64.powf(f64::from(shift) - 1.0).trunc());
                    data = emit.call("add", &[data, half]);
                }
                let by = constant(emit, f64::from(shift.abs()));
                data = emit.call(if shift > 0.0 { "right_shift" } else { "left_shift" }, &[data, by]);
            } else {
                data = emit.cast(data, DType::I64);
                let shape = shape(emit.store, pre)?;
                data = self.scaled(emit, data, f64::from(value.scale / scale), &shape);
                data = emit.clip(data, low, high);
                let data = emit.cast(data, dtype);
                return Ok(Made::Value(Value { data, scale, dtype }));
            }
        }
        let data = emit.clip(data, low, high);
        Ok(Made::Value(Value { data, scale, dtype }))
    }

    /// Multiplies integers with a factor that is no power of two.
    fn scaled(&self, emit: &mut Emit<'_>, data: ExprId, factor: f64, shape: &[i64]) -> ExprId {
        match self.is_upward {
            true => multiply_fixed(emit, data, factor),
            false => to_nearest(emit, data, &Factors { factors: &[factor], axis: None }, shape),
        }
    }

    fn product(&self, emit: &mut Emit<'_>, name: &str, attrs: Option<AttrsId>, (x, y): (Value, Value)) -> Value {
        let left = if x.dtype == self.input { x.data } else { emit.cast(x.data, self.input) };
        // The weight of a convolution is cast whatever type it has.
        let keeps = name == "nn.batch_matmul" && y.dtype == self.weight;
        let right = if keeps { y.data } else { emit.cast(y.data, self.weight) };
        let out = [("out_dtype", AttrValue::DType(Some(self.activation)))];
        let data = emit.over(name, &[left, right], attrs, &out);
        Value { data, scale: x.scale * y.scale, dtype: self.activation }
    }

    fn sum(&self, emit: &mut Emit<'_>, pre: ExprId, attrs: Option<AttrsId>, given: [Option<Value>; 2]) -> Result<Made<Value>> {
        let values = match given {
            [Some(x), Some(y)] => [x, y],
            [None, None] => return Ok(Made::Kept),
            _ => return Err("one side has few bits and the other one has not".to_owned()),
        };
        let refs = crate::ops::build::args(emit.store, pre);
        let (mut data, scale) = self.unified(emit, &refs, &values, self.activation)?;
        for (data, value) in data.iter_mut().zip(&values) {
            if value.dtype == DType::F32 {
                *data = emit.call("annotation.stop_fusion", &[*data]);
            }
        }
        let data = emit.over("add", &data, attrs, &[]);
        Ok(Made::Value(Value { data, scale, dtype: self.activation }))
    }

    fn concatenate(
        &self,
        emit: &mut Emit<'_>,
        pre: ExprId,
        args: &Args<'_, Value>,
        attrs: Option<AttrsId>,
    ) -> Result<Made<Value>> {
        let before = crate::ops::build::arg(emit.store, pre, 0);
        let (Expr::Tuple(fields), Expr::Tuple(refs)) = (emit.store.expr(args.list[0]), emit.store.expr(before)) else {
            return Ok(Made::Kept);
        };
        let (fields, refs): (Vec<ExprId>, Vec<ExprId>) = (emit.store.items(fields).collect(), emit.store.items(refs).collect());
        let values: Vec<Option<Value>> = fields.iter().map(|field| args.value(emit.store, *field).copied()).collect();
        if values.first().is_none_or(|first| first.is_none()) {
            return Ok(Made::Kept);
        }
        let Some(values) = values.into_iter().collect::<Option<Vec<Value>>>() else {
            return Err("some fields have few bits and others have not".to_owned());
        };
        let dtype = if values.len() == 2 && values[1].dtype == self.input { self.input } else { self.activation };
        let (data, scale) = self.unified(emit, &refs, &values, dtype)?;
        let tuple = emit.tuple(&data);
        let data = emit.over("concatenate", &[tuple], attrs, &[]);
        Ok(Made::Value(Value { data, scale, dtype }))
    }

    /// Brings values to one type and one scale.
    fn unified(&self, emit: &mut Emit<'_>, refs: &[ExprId], values: &[Value], dtype: DType) -> Result<(Vec<ExprId>, f32)> {
        let mut out = Vec::with_capacity(values.len());
        for (value, before) in values.iter().zip(refs) {
            let attrs = emit.store.call(*before).and_then(|call| call.attrs);
            let is_input = is_call(emit.store, *before, SIMULATED) && emit.store.attr_int(attrs, "kind") == Some(1);
            out.push(if value.dtype != dtype {
                emit.cast(value.data, dtype)
            } else if is_input {
                let narrow = emit.cast(value.data, self.input);
                let narrow = emit.call("annotation.stop_fusion", &[narrow]);
                emit.cast(narrow, dtype)
            } else {
                value.data
            });
        }
        let scale = match values {
            [x, y] => x.scale.min(y.scale),
            _ => self.many_scale as f32,
        };
        for ((data, value), before) in out.iter_mut().zip(values).zip(refs) {
            *data = self.multiplied(emit, *data, value.scale / scale, dtype, *before)?;
        }
        Ok((out, scale))
    }

    /// Multiplies by a factor of at least 1 (TVM's `MulAndDiv`).
    fn multiplied(&self, emit: &mut Emit<'_>, data: ExprId, factor: f32, dtype: DType, before: ExprId) -> Result<ExprId> {
        if factor == 1.0 {
            return Ok(data);
        }
        let shift = factor.log2();
        if shift.is_nan() || shift <= 0.0 {
            return Err(format!("the scale of a value is {factor} times the common one, which must be the smaller one"));
        }
        if shift.trunc() == shift {
            let by = emit.number(dtype, f64::from(shift));
            return Ok(emit.call("left_shift", &[data, by]));
        }
        if factor.trunc() == factor {
            let by = emit.number(dtype, f64::from(factor));
            return Ok(emit.call("multiply", &[data, by]));
        }
        let shape = shape(emit.store, before)?;
        let data = self.scaled(emit, data, f64::from(factor), &shape);
        Ok(emit.cast(data, dtype))
    }
}

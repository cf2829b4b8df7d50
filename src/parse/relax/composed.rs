//! Calls that stand for others: operators that TVM's functions in Python compose of operators.

use super::call::Args;
use super::value::{CallParts, Value};
use super::{Node, Read, Reader};
use crate::diag::Span;
use crate::ir::{DType, Id, TypeId};
use crate::parse::script::tree::Arg;

impl<'s> Reader<'s, '_> {
    /// Reads `R.emit_with_ty("relax.op", (x, y), (type,))`: a call of an operator by its name, with types that it is given.
    pub(super) fn emit_with_ty(&mut self, mut args: Args<'s>) -> Read<Value> {
        let span = args.span;
        let Some((Value::Str(op), _)) = args.next("op") else {
            return Err(self.error("relax-syntax", "`R.emit_with_ty` takes the name of an operator first", span));
        };
        let (operands, types) = self.operands_and_types(&mut args, "R.emit_with_ty")?;
        self.no_more(&args)?;
        let op = self.store.name_rc(op);
        self.op_value(op.0.strip_prefix("relax.").unwrap_or(&op.0), operands, None, types, span)
    }

    /// Reads `relax.Call(op, [x, y], attrs=None, ty_args=[type])`: a call as a node, whose operator or function is a value around
    /// the text.
    pub(super) fn whole_call(&mut self, mut args: Args<'s>) -> Read<Value> {
        let span = args.span;
        let Some((Value::Expr(callee), _)) = args.next("op") else {
            return Err(self.error("relax-syntax", "`relax.Call` takes an operator or a function first", span));
        };
        if let Some((given, place)) = args.take("attrs").filter(|(given, _)| !matches!(given, Value::None)) {
            let message = format!("`relax.Call` takes no attributes in a program here, found {}", given.describe());
            return Err(self.error("relax-syntax", message, place));
        }
        let (operands, ty_args) = self.operands_and_types(&mut args, "relax.Call")?;
        self.no_more(&args)?;
        Ok(Value::Call(Box::new(CallParts { callee, args: operands, attrs: None, ty_args, ty: None, span })))
    }

    /// Reads `relax.Tuple([x, y])`: a tuple of values as a node, or the type of one.
    pub(super) fn tuple_or_type(&mut self, id: Id<Node>, args: &[Arg]) -> Read<Value> {
        if let [only] = args
            && let Value::List(items) | Value::Tuple(items) = self.eval(only.value)?
            && !items.iter().any(|item| matches!(item, Value::Type(_)))
        {
            return Ok(Value::Tuple(items.into_iter().map(|item| self.narrow(item)).collect()));
        }
        Ok(Value::Type(self.ty(id)?))
    }

    fn operands_and_types(&mut self, args: &mut Args<'s>, of: &str) -> Read<(Vec<Value>, Vec<TypeId>)> {
        let span = args.span;
        let mut operands = Vec::new();
        match args.next("args") {
            Some((Value::Tuple(items) | Value::List(items), place)) => {
                for item in items {
                    operands.push(self.argument(item, place)?);
                }
            }
            Some((value, place)) => operands.push(self.argument(value, place)?),
            None => return Err(self.error("relax-missing-arg", format!("`{of}` needs `args`"), span)),
        }
        let named = args.types.pop();
        let types = match args.next("ty_args") {
            None if named.is_some() => return Ok((operands, named.map_or(Vec::new(), |(_, types, _)| types))),
            Some((Value::Tuple(items) | Value::List(items), _)) => items,
            Some((value, _)) => vec![value],
            None => Vec::new(),
        };
        let types: Option<Vec<TypeId>> =
            types.into_iter().map(|ty| if let Value::Type(ty) = ty { Some(ty) } else { None }).collect();
        match types {
            Some(types) => Ok((operands, types)),
            None => Err(self.error("relax-syntax", format!("`ty_args` of `{of}` are types"), span)),
        }
    }

    /// Reads `R.nn.relu6(x)`: the elements between 0 and 6.
    pub(super) fn relu6(&mut self, mut args: Args<'s>) -> Read<Value> {
        let (zero, six) = (Value::Int(0), Value::Int(6));
        args.positional.extend([(zero, args.span), (six, args.span)]);
        self.call_op("clip", args)
    }

    /// Reads `R.masked_fill(x, mask, value)`: the value where the mask is true.
    pub(super) fn masked_fill(&mut self, mut args: Args<'s>) -> Read<Value> {
        let span = args.span;
        let (Some((x, place)), Some(mask), Some((value, at))) = (args.next("x"), args.next("mask"), args.next("value")) else {
            return Err(self.error("relax-missing-arg", "`R.masked_fill` needs `x`, `mask` and `value`", span));
        };
        self.no_more(&args)?;
        let of = |positional| Args { positional, named: Vec::new(), types: Vec::new(), span };
        let value = self.constant(value, None, at)?;
        let filled = self.call_op("full_like", of(vec![(x.clone(), place), (value, at)]))?;
        self.call_op("where", of(vec![mask, (filled, span), (x, place)]))
    }

    /// Reads `R.linear(data, weight, bias=None, out_dtype=None)`: a product with the transposed weight, and a sum.
    pub(super) fn linear(&mut self, mut args: Args<'s>) -> Read<Value> {
        let span = args.span;
        let (Some(data), Some(weight)) = (args.next("data"), args.next("weight")) else {
            return Err(self.error("relax-missing-arg", "`R.linear` needs `data` and `weight`".to_owned(), span));
        };
        let bias = args.next("bias").filter(|(bias, _)| !matches!(bias, Value::None));
        let out_dtype = args.next("out_dtype");
        self.no_more(&args)?;
        let of = |positional| Args { positional, named: Vec::new(), types: Vec::new(), span };
        let transposed = self.call_op("permute_dims", of(vec![weight]))?;
        let mut product = of(vec![data, (transposed, span)]);
        product.named.extend(out_dtype.map(|(value, place)| ("out_dtype", value, place)));
        let product = self.call_op("matmul", product)?;
        match bias {
            Some(bias) => self.call_op("add", of(vec![(product, span), bias])),
            None => Ok(product),
        }
    }

    /// Reads `R.nn.attention(q, k, v, bias)`: TVM's function in Python stands for two operators.
    pub(super) fn attention(&mut self, mut args: Args<'s>) -> Read<Value> {
        let is_given = |(value, _): &(Value, Span)| !matches!(value, Value::None);
        if let Some((bias, place)) = args.take("bias").filter(is_given) {
            args.named.push(("bias", bias, place));
            return self.call_op("nn.attention_bias", args);
        }
        match args.positional.get(3).map(is_given) {
            Some(true) => return self.call_op("nn.attention_bias", args),
            Some(false) => drop(args.positional.remove(3)),
            None => {}
        }
        self.call_op("nn.attention", args)
    }

    /// Makes a number of Python a scalar of 32 bits, as TVM's functions do that take expressions.
    pub(super) fn narrow(&mut self, value: Value) -> Value {
        Value::Prim(match value {
            Value::Bool(on) => self.store.prim_int(i64::from(on), DType::BOOL),
            Value::Int(value) => self.store.prim_int(value, DType::I32),
            Value::Float(value) => self.store.prim_float(value, DType::F32),
            other => return other,
        })
    }

    /// Reads `R.print(x, format="...")`, `R.assert_op(condition, x, format="...")`: the format is a separate argument.
    pub(super) fn formatted(&mut self, name: &str, mut args: Args<'s>) -> Read<Value> {
        let span = args.span;
        let format = args.take("format").map_or(Value::Str(self.store.name("")), |(value, _)| value);
        let format = self.argument(format, span)?;
        let mut operands = Vec::new();
        for (value, place) in std::mem::take(&mut args.positional) {
            match value {
                Value::List(_) if name == "print" => {
                    return Err(self.error("relax-syntax", "`R.print` takes values, one by one", place));
                }
                Value::List(items) => operands.extend(items.into_iter().map(|item| self.narrow(item))),
                value => {
                    let value = self.narrow(value);
                    operands.push(self.argument(value, place)?);
                }
            }
        }
        self.no_more(&args)?;
        operands.insert(usize::from(name == "assert_op").min(operands.len()), format);
        let ty = self.store.tuple_type(&[]);
        let mut value = self.op_value(name, operands, None, Vec::new(), span)?;
        if let Value::Call(call) = &mut value {
            call.ty = Some(ty);
        }
        Ok(value)
    }
}

//! Random calls give errors: no relation and no kernel may end the process, whatever a program contains.

use super::{AttrDefault, AttrKind, KernelCx, OpInfo, RuleCx, all};
use crate::ir::{AttrValue, AttrsId, DType, DTypeCode, Dim, Double, Store, Tensor, TypeId};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// A small linear congruential generator, so that every run makes the same calls.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len())].clone()
    }

    fn number(&mut self) -> i64 {
        self.pick(&[0, 1, 1, 2, 2, 3, 4, -1, -1, -2, -3, -4, 7, 1 << 40, i64::MIN, i64::MAX])
    }

    fn small(&mut self) -> i64 {
        self.pick(&[0, 1, 1, 1, 2, 2, 3, -1])
    }

    fn numbers(&mut self, number: fn(&mut Dice) -> i64) -> AttrValue {
        let n = self.roll(5);
        AttrValue::Array((0..n).map(|_| AttrValue::int(number(self))).collect())
    }

    fn dtype(&mut self) -> DType {
        let f16 = DType::new(DTypeCode::Float, 16);
        let u64 = DType::new(DTypeCode::UInt, 64);
        self.pick(&[DType::F32, DType::F32, DType::I32, DType::I32, DType::I64, DType::U8, DType::BOOL, f16, DType::F64, u64])
    }

    fn shape(&mut self) -> Vec<i64> {
        let rank = self.roll(5);
        (0..rank).map(|_| self.pick(&[0, 1, 1, 2, 2, 3, 4])).collect()
    }

    fn tensor(&mut self, dtype: DType) -> Tensor {
        let shape = self.shape();
        let n = shape.iter().product::<i64>() as usize * dtype.bytes();
        // Mostly small numbers, so that indices and shapes are sometimes right.
        let wild = self.roll(4) == 0;
        let size = dtype.bytes();
        let bytes: Vec<u8> = (0..n)
            .map(|i| match wild {
                true => self.roll(256) as u8,
                false if i % size == 0 && !dtype.is_float() => self.roll(4) as u8,
                false => 0,
            })
            .collect();
        Tensor::new(dtype, shape, bytes)
    }
}

fn attrs(store: &mut Store, dice: &mut Dice, op: &OpInfo) -> Option<AttrsId> {
    let schema = op.relay_attrs()?;
    let mut written = Vec::new();
    for field in schema.fields {
        if field.default.is_some() && dice.roll(3) > 0 {
            continue;
        }
        let layouts = ["NCHW", "NHWC", "NCW", "NCDHW", "OIHW", "HWIO", "NCHW4c", "IHW", "N", ""];
        let number: fn(&mut Dice) -> i64 = if dice.roll(3) == 0 { Dice::number } else { Dice::small };
        let value = match field.kind {
            AttrKind::Int | AttrKind::Integer => AttrValue::int(number(dice)),
            AttrKind::Bool => AttrValue::Bool(dice.roll(2) == 0),
            AttrKind::Float => AttrValue::Float(Double(dice.pick(&[0.0, 1.0, -1.0, 0.5, f64::INFINITY, f64::NAN, 1e30]))),
            AttrKind::Str => match field.default {
                Some(AttrDefault::Str(text)) if dice.roll(2) == 0 => AttrValue::Str(store.name(text)),
                _ => AttrValue::Str(store.name(dice.pick(&layouts))),
            },
            AttrKind::DType => AttrValue::DType(Some(dice.dtype())),
            AttrKind::Ints => dice.numbers(number),
            AttrKind::Boxed | AttrKind::Any => match dice.roll(4) {
                0 => AttrValue::int(number(dice)),
                1 => AttrValue::Array((0..dice.roll(5)).map(|_| dice.numbers(Dice::small)).collect()),
                2 => AttrValue::Null,
                _ => dice.numbers(number),
            },
        };
        written.push((field.name, value));
    }
    let attrs = schema.complete(store, &written).ok()?;
    Some(store.attrs(attrs))
}

fn type_of(store: &mut Store, dice: &mut Dice, tensor: &Tensor) -> TypeId {
    let shape: Vec<Dim> = tensor.shape.iter().map(|e| if dice.roll(8) == 0 { Dim::Any } else { Dim::int(*e) }).collect();
    store.tensor_type(&shape, tensor.dtype)
}

fn try_once(op: &OpInfo, dice: &mut Dice) {
    let store = &mut Store::new();
    let attrs = attrs(store, dice, op);
    // Operators over a tuple name one argument; sometimes they get several tensors.
    let n = if op.relay_args().len() <= 1 { 1 + dice.roll(3) } else { op.relay_args().len() };
    let dtype = dice.dtype();
    let x: Vec<Tensor> = (0..n)
        .map(|_| {
            let dtype = if dice.roll(3) == 0 { dice.dtype() } else { dtype };
            dice.tensor(dtype)
        })
        .collect();
    let mut types: Vec<TypeId> = x.iter().map(|tensor| type_of(store, dice, tensor)).collect();
    if op.relay_args().len() == 1 && dice.roll(2) == 0 {
        types = vec![store.tuple_type(&types)];
    } else {
        types.truncate(op.relay_args().len());
    }
    if dice.roll(10) == 0 && !types.is_empty() {
        let place = dice.roll(types.len());
        types[place] = store.hole();
    }
    let n_inputs = types.len();
    let out_type = store.hole();
    types.push(out_type);
    if let Some(rule) = op.relay_rule().filter(|_| n_inputs == op.relay_args().len()) {
        let mut unify = |_: &mut Store, _: TypeId, _: TypeId| Ok(());
        let _ = rule(&mut RuleCx { store, types: &types, n_inputs, attrs, unify: &mut unify });
    }
    if let Some(kernel) = op.kernel {
        let _ = kernel(&KernelCx { store, attrs, out_type }, &x);
    }
}

#[test]
fn no_relation_and_no_kernel_panics_on_nonsense() {
    let hook = std::panic::take_hook();
    let place = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&place);
    std::panic::set_hook(Box::new(move |panic| {
        if let Ok(mut place) = seen.lock() {
            *place = panic.to_string();
        }
    }));
    let mut found = Vec::new();
    for (row, op) in all().iter().enumerate() {
        for round in 0..100u64 {
            let mut dice = Dice(row as u64 * 1_000_003 + round);
            for _ in 0..8 {
                dice.roll(2);
            }
            if catch_unwind(AssertUnwindSafe(|| try_once(op, &mut dice))).is_err() {
                let place = place.lock().map(|place| place.clone()).unwrap_or_default();
                found.push(format!("{} in round {round}: {place}", op.name));
                break;
            }
        }
    }
    std::panic::set_hook(hook);
    assert!(found.is_empty(), "{} operators panic:\n{}", found.len(), found.join("\n"));
}

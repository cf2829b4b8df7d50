//! Matches values with types: binds symbolic extents, and checks the rest (TVM:
//! `src/relax/backend/vm/vm_shape_lower.cc` for the order, `src/runtime/vm/builtin.cc` for the messages).

use super::{Machine, read_cells};
use crate::eval::{EvalFailure, Value};
use crate::infer::relax::types::substitute_dim;
use crate::ir::{DType, Dim, ExprId, Extents, Store, Type, TypeId};
use crate::ops::kernel::read_scalar;

/// An extent to check after all extents that are single symbols are known.
struct Open {
    dim: Dim,
    value: i64,
    axis: usize,
    row: usize,
}

/// Returns the beginning of a message about a row.
pub(super) type Place<'a> = &'a dyn Fn(&Store, usize) -> String;

/// A check that failed: in which row, and the end of the message.
struct Wrong(usize, String);

impl Machine<'_> {
    /// Matches values with types. Unknown symbols that are whole extents get their values; then the other extents have
    /// to agree.
    pub(super) fn match_all(&mut self, at: ExprId, rows: &[(TypeId, Value)], place: Place<'_>) -> Result<(), EvalFailure> {
        self.matched(rows).map_err(|Wrong(row, end)| {
            let begin = place(self.store, row);
            self.fail(at, begin + &end)
        })
    }

    fn matched(&mut self, rows: &[(TypeId, Value)]) -> Result<(), Wrong> {
        let mut open = Vec::new();
        let mut left: Vec<(TypeId, Value, usize)> =
            rows.iter().enumerate().rev().map(|(row, (ty, value))| (*ty, read_cells(value.clone()), row)).collect();
        while let Some((ty, value, row)) = left.pop() {
            let wrong = |end: String| Err(Wrong(row, end));
            match (self.store.type_of_id(ty).clone(), &value) {
                (Type::Tuple(types), Value::Tuple(fields)) => {
                    let fields = fields.items();
                    if fields.len() != types.len() {
                        let (wanted, given) = (types.len(), fields.len());
                        return wrong(format!(" expect a Tuple with {wanted} elements,  but get a Tuple with {given} elements."));
                    }
                    left.extend(types.iter().copied().zip(fields.iter().cloned()).rev().map(|(ty, value)| (ty, value, row)));
                }
                (Type::Tuple(_), other) => return wrong(format!(" expect a Tuple but get {}", kind(other))),
                (Type::Tensor { shape, dtype }, _) => {
                    self.tensor(&Extents::Known(shape), Some(dtype), &value, row, &mut open)?;
                }
                (Type::PartialTensor(info), _) => self.tensor(&info.extents, info.dtype, &value, row, &mut open)?,
                (Type::Distributed { tensor, .. }, _) => left.push((tensor, value, row)),
                (Type::Shape(extents), Value::Shape(given)) => {
                    if let Some(rank) = self.store.rank(&extents).filter(|rank| *rank != given.len()) {
                        return wrong(format!(" expect Shape with ndim {rank} but get {}", given.len()));
                    }
                    self.extents(&extents, given, row, &mut open)?;
                }
                (Type::Shape(_), other) => return wrong(format!(" expect a Shape but get {}", kind(other))),
                (Type::Prim(dtype), Value::Prim(given)) => {
                    let kind = |dtype: DType| (dtype.is_float(), dtype == DType::BOOL);
                    let fits = kind(dtype) == kind(given.dtype);
                    self.holds(fits, row, || format!(", expected dtype {dtype}, but received {}", given.dtype))?;
                }
                (Type::Prim(dtype), other) => {
                    return wrong(format!(", expected dtype {dtype}, but received ObjectRef of type {}", kind(other)));
                }
                (Type::Callable { .. } | Type::PackedFunc, Value::Closure(_) | Value::Op(_) | Value::Word(_)) => {}
                (Type::Callable { .. } | Type::PackedFunc, other) => {
                    return wrong(format!(" expect a Function but get {}", kind(other)));
                }
                _ => {}
            }
        }
        for Open { dim, value, axis, row } in open {
            let found = substitute_dim(self.store, dim, &self.now.symbols);
            // An extent with an unknown symbol cannot be checked yet.
            if found.known().is_some_and(|found| found != value) {
                let end = format!(" match_cast error,  shape[{axis}] mismatch to a previous populated value.");
                return Err(Wrong(row, end));
            }
        }
        Ok(())
    }

    fn holds(&self, fits: bool, row: usize, end: impl FnOnce() -> String) -> Result<(), Wrong> {
        if fits { Ok(()) } else { Err(Wrong(row, end())) }
    }

    fn tensor(
        &mut self,
        extents: &Extents,
        dtype: Option<DType>,
        value: &Value,
        row: usize,
        open: &mut Vec<Open>,
    ) -> Result<(), Wrong> {
        let wrong = |end: String| Err(Wrong(row, end));
        let Value::Tensor(given) = value else {
            return wrong(format!(" expect a Tensor but get {}", kind(value)));
        };
        if let Some(rank) = self.store.rank(extents).filter(|rank| *rank != given.shape.len()) {
            return wrong(format!(" expect Tensor with ndim {rank} but get {}", given.shape.len()));
        }
        if let Some(dtype) = dtype.filter(|dtype| *dtype != given.dtype) {
            return wrong(format!(" expect Tensor with dtype {dtype} but get {}", given.dtype));
        }
        self.extents(extents, &given.shape, row, open)
    }

    fn extents(&mut self, extents: &Extents, given: &[i64], row: usize, open: &mut Vec<Open>) -> Result<(), Wrong> {
        let dims: Vec<Dim> = match extents {
            Extents::Known(dims) => dims.to_vec(),
            // The variable holds the shape.
            Extents::Var(var) => match self.now.vars.get(&self.store.var_data(*var).vid) {
                Some(Value::Shape(dims)) => dims.iter().map(|value| Dim::Int { value: *value, bits: 64 }).collect(),
                _ => return Ok(()),
            },
            Extents::Unknown | Extents::Rank(_) => return Ok(()),
        };
        if dims.len() != given.len() {
            return Err(Wrong(row, " match_cast shape size mismatch.".to_owned()));
        }
        for (axis, (dim, value)) in dims.into_iter().zip(given.iter().copied()).enumerate() {
            match dim {
                Dim::Int { value: wanted, .. } if wanted != value => {
                    let end = format!(" match_cast error,  shape[{axis}] mismatch to specified constant.");
                    return Err(Wrong(row, end));
                }
                Dim::Symbol(symbol) if !self.now.symbols.contains_key(&symbol) => {
                    self.now.symbols.insert(symbol, Dim::Int { value, bits: 64 });
                }
                Dim::Symbol(_) | Dim::Expr(_) => open.push(Open { dim, value, axis, row }),
                Dim::Int { .. } | Dim::Any => {}
            }
        }
        Ok(())
    }
}

/// Returns TVM's name for the kind of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Tensor(_) => "ffi.Tensor",
        Value::Shape(_) => "ffi.Shape",
        Value::Tuple(_) => "ffi.Array",
        Value::Prim(number) if number.dtype.is_float() => "float",
        Value::Prim(number) if read_scalar::<i64>(number).is_ok() => "int",
        Value::Word(_) => "ffi.String",
        Value::Closure(_) => "relax.vm.Closure",
        other => other.kind(),
    }
}

/// Prints a type as in messages: outside of a signature, extents have no quotes.
pub(super) fn shown(store: &Store, ty: TypeId) -> String {
    let mut text = String::new();
    let (mut value, mut before) = (false, ' ');
    for letter in crate::print::relax_ty(store, ty).chars() {
        if letter == '"' {
            let begins = before == '=';
            if !begins && !value {
                before = letter;
                continue;
            }
            value = begins;
        }
        text.push(letter);
        before = letter;
    }
    text
}

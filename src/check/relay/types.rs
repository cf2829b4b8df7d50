//! Types of generated programs.

use super::Maker;
use std::fmt;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// Extents, -1 for `Any`, and the element type.
    Tensor(Vec<i64>, &'static str),
    Tuple(Vec<Ty>),
    /// Parameters, result, and true if calls have effects.
    Fn(Vec<Ty>, Box<Ty>, bool),
    Ref(Box<Ty>),
    List(Box<Ty>),
    /// The data type `Shape`.
    Shape,
}

/// Prints the type as in a program. References have no notation and are never printed.
impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, items: &[Ty]| {
            for (i, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
            }
            Ok(())
        };
        match self {
            Ty::Tensor(shape, dtype) if shape.is_empty() => f.write_str(dtype),
            Ty::Tensor(shape, dtype) => {
                let extent = |extent: &i64| if *extent < 0 { "?".to_owned() } else { extent.to_string() };
                let shape: Vec<String> = shape.iter().map(extent).collect();
                write!(f, "Tensor[({}), {dtype}]", shape.join(", "))
            }
            Ty::Tuple(fields) => {
                f.write_str("(")?;
                list(f, fields)?;
                f.write_str(if fields.len() == 1 { ",)" } else { ")" })
            }
            Ty::Fn(params, ret, _) => {
                f.write_str("fn (")?;
                list(f, params)?;
                write!(f, ") -> {ret}")
            }
            Ty::Ref(value) => write!(f, "ref({value})"),
            Ty::List(item) => write!(f, "List[{item}]"),
            Ty::Shape => f.write_str("Shape"),
        }
    }
}

impl Ty {
    pub const INT: Ty = Ty::Tensor(Vec::new(), "int32");
    pub const BOOL: Ty = Ty::Tensor(Vec::new(), "bool");
    pub const FLOAT: Ty = Ty::Tensor(Vec::new(), "float32");

    pub fn float(shape: &[i64]) -> Ty {
        Ty::Tensor(shape.to_vec(), "float32")
    }

    /// A matrix with any number of rows.
    pub fn unknown() -> Ty {
        Ty::float(&[-1, 3])
    }

    pub fn is_float(&self) -> bool {
        matches!(self, Ty::Tensor(_, "float32"))
    }

    /// True if the type can be written.
    pub fn has_text(&self) -> bool {
        match self {
            Ty::Tensor(..) | Ty::Shape => true,
            Ty::Tuple(fields) => fields.iter().all(Ty::has_text),
            Ty::Fn(params, ret, _) => params.iter().all(Ty::has_text) && ret.has_text(),
            Ty::Ref(_) => false,
            Ty::List(item) => item.has_text(),
        }
    }

    /// True if it contains a reference, which may have aliases.
    pub fn has_ref(&self) -> bool {
        match self {
            Ty::Tensor(..) | Ty::Shape => false,
            Ty::Tuple(fields) => fields.iter().any(Ty::has_ref),
            Ty::Fn(_, _, effect) => *effect,
            Ty::Ref(_) => true,
            Ty::List(item) => item.has_ref(),
        }
    }
}

const SHAPES: &[&[i64]] =
    &[&[1, 4, 6, 6], &[1, 4, 6, 6], &[2, 3], &[2, 3], &[3, 2], &[4], &[3], &[], &[2, 4], &[1, 4, 1, 1], &[2, 2, 3]];

impl Maker {
    /// Returns the type of a tensor, mostly of floats.
    pub(super) fn tensor_type(&mut self) -> Ty {
        match self.random.below(12) {
            0 => Ty::INT,
            1 => Ty::Tensor(vec![2, 3], "int32"),
            2 => Ty::BOOL,
            3 => Ty::Tensor(vec![2, 3], "bool"),
            _ => Ty::float(SHAPES[self.random.below(SHAPES.len())]),
        }
    }

    /// Returns a type that can be written.
    pub(super) fn param_type(&mut self, depth: usize) -> Ty {
        if depth == 0 || self.shape.first_order {
            return self.tensor_type();
        }
        match self.random.below(12) {
            0 => Ty::Tuple((0..1 + self.random.below(3)).map(|_| self.param_type(depth - 1)).collect()),
            1 | 2 => {
                let params = (0..1 + self.random.below(2)).map(|_| self.param_type(depth - 1)).collect();
                Ty::Fn(params, Box::new(self.param_type(depth - 1)), false)
            }
            3 if self.lists => Ty::List(Box::new(self.param_type(depth - 1))),
            4 if self.lists => Ty::Shape,
            _ => self.tensor_type(),
        }
    }

    /// Returns the type of a value to bind.
    pub(super) fn local_type(&mut self) -> Ty {
        match self.random.below(10) {
            0 if self.shape.first_order => Ty::Tuple((0..2).map(|_| self.tensor_type()).collect()),
            0 | 1 if !self.shape.pure && !self.shape.first_order => Ty::Ref(Box::new(self.param_type(1))),
            _ => self.param_type(2),
        }
    }
}

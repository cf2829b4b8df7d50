//! The messages between the page and the engine, stated once.
//!
//! A message is a struct here. Serde writes the answers of the engine, `wire` reads the requests, and from the same
//! definitions `cargo xtask codegen` writes their types for the page (`www/engine/protocol.ts`) and the checks that an
//! answer out of the sandbox has to pass (`www/sandbox/answers.ts`). A test fails when these files are stale.
//!
//! - [`messages`]: the parts of a run that the page shows.
//! - [`documents`]: a program with its list of passes, as the page keeps it.
//! - [`catalogue`]: everything there is to choose from.
//! - [`tensor`]: loops of tensor programs, schedules tried on them, and their cost.
//! - [`values`]: values of expressions.
//! - [`checks`]: steps that are checked by running them.
//! - [`requests`]: the requests of the page, with the answer to each.
//! - [`scripts`]: messages and numbers of a script to the engine.

pub mod catalogue;
pub mod checks;
#[cfg(not(target_arch = "wasm32"))]
pub mod codes;
pub mod documents;
pub mod messages;
pub mod requests;
pub mod rows;
pub mod scripts;
pub mod tensor;
#[cfg(not(target_arch = "wasm32"))]
pub mod typescript;
pub mod values;
#[cfg(feature = "page")]
pub mod wire;

use crate::words::{Worded, Words};

/// Entries of a list that the page draws only in part.
pub const MANY: usize = 2_000_000;
/// Entries of a list that the page draws whole, where its message says nothing else.
pub const SOME: usize = 20_000;
/// Characters of a name.
pub const NAME: usize = 300;
/// Characters of a sentence.
pub const SENTENCE: usize = 10_000;

/// The form of a value that crosses, and how much of it the page takes out of a sandbox.
#[derive(Clone)]
pub enum Shape {
    /// A truth value.
    Flag,
    /// A whole number, at least 0.
    Whole,
    /// A number, at least 0.
    Real,
    /// An element of a tensor. JSON has no infinities and NaN; they come as null.
    Element,
    /// A text, cut after so many characters.
    Text(Option<usize>),
    /// One of some words.
    Word(Words),
    /// A value or null.
    Maybe(Box<Shape>),
    /// A list of at most so many entries.
    List(Box<Shape>, usize),
    /// At most so many whole numbers, as a typed array where the way allows.
    Numbers(usize),
    /// Some values in a row.
    Tuple(Vec<Shape>),
    /// An object of any names with values of one form; at most so many.
    Record(Box<Shape>, usize),
    /// A message in a message.
    Message(fn() -> Message),
    /// A document of which something is looked at.
    Shared,
    /// One of several objects, told apart by their fields.
    Choice(fn() -> Choice),
}

impl Shape {
    /// Sets how much of it is taken: of a list first its entries, then what each of them says; of texts in a row each in turn.
    pub fn limit(&mut self, limits: &mut impl Iterator<Item = usize>) {
        match self {
            Shape::Text(most) => *most = limits.next().or(*most),
            Shape::Numbers(most) => *most = limits.next().unwrap_or(*most),
            Shape::Maybe(inner) => inner.limit(limits),
            Shape::List(inner, most) | Shape::Record(inner, most) => {
                *most = limits.next().unwrap_or(*most);
                inner.limit(limits);
            }
            Shape::Tuple(parts) => parts.iter_mut().for_each(|part| part.limit(limits)),
            _ => {}
        }
    }
}

/// A message: an object with these fields.
pub struct Message {
    /// Its name in TypeScript.
    pub name: &'static str,
    /// Lines of its documentation.
    pub doc: &'static [&'static str],
    /// Its fields in order.
    pub fields: Vec<Field>,
}

/// A field of a message.
#[derive(Clone)]
pub struct Field {
    /// The name in Rust.
    pub rust: &'static str,
    /// Lines of its documentation.
    pub doc: &'static [&'static str],
    /// The ways on which it is there.
    pub presence: Presence,
    /// The form of its value.
    pub shape: Shape,
}

impl Field {
    /// Returns the name in TypeScript.
    pub fn name(&self) -> String {
        camel(self.rust)
    }
}

/// Returns the name in JavaScript of a field in Rust, as serde writes it: `optLevel` for `opt_level`.
pub fn camel(rust: &str) -> String {
    let mut parts = rust.trim_start_matches("r#").split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| name + &part[..1].to_ascii_uppercase() + &part[1..])
}

/// The ways on which a field of a message is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Always.
    Always,
    /// It may be left out.
    Optional,
    /// It may be left out, and never comes out of a sandbox.
    Inside,
}

/// One of several objects.
pub struct Choice {
    /// Its name in TypeScript.
    pub name: &'static str,
    /// Lines of its documentation.
    pub doc: &'static [&'static str],
    /// The fields of each.
    pub arms: Vec<Vec<Field>>,
}

/// A type whose values cross.
pub trait Crosses {
    /// Returns the form in which they do.
    fn shape() -> Shape;
}

/// A variant of an enum with words; its word crosses.
#[derive(Clone, Copy, Debug)]
pub struct Word<T>(pub T);

/// Names with their values, which cross as an object.
#[derive(Clone, Debug, Default)]
pub struct Record<T>(pub Vec<(String, T)>);

/// An element of a tensor.
#[derive(Clone, Copy, Debug)]
pub struct Element(pub f64);

/// Whole numbers that cross in one block, beside the other fields of their message.
pub struct Numbers;

impl<T: Worded> Crosses for Word<T> {
    fn shape() -> Shape {
        Shape::Word(T::WORDS)
    }
}

impl<T: Crosses> Crosses for Record<T> {
    fn shape() -> Shape {
        Shape::Record(Box::new(T::shape()), SOME)
    }
}

macro_rules! crosses {
    ($($ty:ty => $shape:expr,)+) => {
        $(impl Crosses for $ty {
            fn shape() -> Shape {
                $shape
            }
        })+
    };
}

crosses! {
    bool => Shape::Flag,
    usize => Shape::Whole,
    u64 => Shape::Whole,
    u32 => Shape::Whole,
    i64 => Shape::Whole,
    f64 => Shape::Real,
    f32 => Shape::Real,
    String => Shape::Text(None),
    &str => Shape::Text(None),
    Element => Shape::Element,
    Numbers => Shape::Numbers(10 * MANY),
}

impl<T: Crosses> Crosses for Option<T> {
    fn shape() -> Shape {
        Shape::Maybe(Box::new(T::shape()))
    }
}

impl<T: Crosses> Crosses for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()), SOME)
    }
}

impl<T: Crosses> Crosses for &T {
    fn shape() -> Shape {
        T::shape()
    }
}

impl<T: Crosses> Crosses for &[T] {
    fn shape() -> Shape {
        Vec::<T>::shape()
    }
}

impl<A: Crosses, B: Crosses> Crosses for (A, B) {
    fn shape() -> Shape {
        Shape::Tuple(vec![A::shape(), B::shape()])
    }
}

impl<A: Crosses, B: Crosses, C: Crosses> Crosses for (A, B, C) {
    fn shape() -> Shape {
        Shape::Tuple(vec![A::shape(), B::shape(), C::shape()])
    }
}

/// Returns a field, with the limits that its message sets.
pub fn field<T: Crosses>(rust: &'static str, doc: &'static [&'static str], presence: Presence, limits: &[usize]) -> Field {
    let mut shape = T::shape();
    shape.limit(&mut limits.iter().copied());
    Field { rust, doc, presence, shape }
}

/// Defines a message as a struct and describes it ([`Crosses`]).
///
/// Before its name stands who says it: `answer` (the engine: it is written), `question` (the page: it is read), `both`, or
/// `outside`, a message between other parts of the page that no struct is needed for. Fields in `also` are those that
/// the worker adds. Behind a type stand its limits in brackets ([`Shape::limit`]), before a name `[optional]` for a field
/// that may be left out, and `[inside]` for one that never comes out of the sandbox.
macro_rules! message {
    (answer $($rest:tt)+) => {
        $crate::boundary::structure! { (derive(serde::Serialize), serde(rename_all = "camelCase")) $($rest)+ }
        $crate::boundary::described! { $($rest)+ }
    };
    (question $($rest:tt)+) => {
        $crate::boundary::structure! { () $($rest)+ }
        $crate::boundary::described! { $($rest)+ }
        $crate::boundary::read! { $($rest)+ }
    };
    (both $($rest:tt)+) => {
        $crate::boundary::structure! { (derive(serde::Serialize), serde(rename_all = "camelCase")) $($rest)+ }
        $crate::boundary::described! { $($rest)+ }
        $crate::boundary::read! { $($rest)+ }
    };
    (outside $(#[doc = $doc:literal])+ $name:ident $($rest:tt)+) => {
        $(#[doc = $doc])+
        pub struct $name;
        $crate::boundary::described! { $(#[doc = $doc])+ $name $($rest)+ }
    };
}

macro_rules! structure {
    (($($attribute:meta),*) $(#[doc = $doc:literal])+ $name:ident $(<$life:lifetime>)? {
        $($(#[doc = $said:literal])* $([$opt:ident])? $field:ident: $ty:ty $(=> [$($limit:expr),+])?,)*
    } $(also { $($also:tt)* })?) => {
        $(#[doc = $doc])+
        $(#[cfg_attr(feature = "page", $attribute)])*
        pub struct $name $(<$life>)? {
            $($(#[doc = $said])* #[allow(missing_docs, reason = "a name that says all")] pub $field: $ty,)*
        }
    };
}

macro_rules! described {
    ($(#[doc = $doc:literal])+ $name:ident $(<$life:lifetime>)? {
        $($(#[doc = $said:literal])* $([$opt:ident])? $field:ident: $ty:ty $(=> [$($limit:expr),+])?,)*
    } $(also {
        $($(#[doc = $said_also:literal])* $([$opt_also:ident])? $also:ident: $ty_also:ty $(=> [$($limit_also:expr),+])?,)*
    })?) => {
        impl $(<$life>)? $crate::boundary::Crosses for $name $(<$life>)? {
            fn shape() -> $crate::boundary::Shape {
                $crate::boundary::Shape::Message(|| $crate::boundary::Message {
                    name: stringify!($name),
                    doc: &[$($doc),+],
                    fields: vec![
                        $($crate::boundary::field::<$ty>(
                            stringify!($field), &[$($said),*], $crate::boundary::presence!($($opt)?), &[$($($limit),+)?],
                        ),)*
                        $($($crate::boundary::field::<$ty_also>(
                            stringify!($also), &[$($said_also),*], $crate::boundary::presence!($($opt_also)?),
                            &[$($($limit_also),+)?],
                        ),)*)?
                    ],
                })
            }
        }
    };
}

macro_rules! presence {
    () => {
        $crate::boundary::Presence::Always
    };
    (optional) => {
        $crate::boundary::Presence::Optional
    };
    (inside) => {
        $crate::boundary::Presence::Inside
    };
}

/// Reads a message out of an object of JavaScript, field by field. Derived code for a value that says by one of its fields
/// what it is keeps room for everything that might come, which was 15 KB of what the page loads.
macro_rules! read {
    ($(#[doc = $doc:literal])+ $name:ident {
        $($(#[doc = $said:literal])* $([$opt:ident])? $field:ident: $ty:ty $(=> [$($limit:expr),+])?,)*
    } $(also { $($also:tt)* })?) => {
        #[cfg(feature = "page")]
        impl $crate::boundary::wire::Read for $name {
            fn read(value: $crate::boundary::wire::JsValue, _: &str) -> $crate::boundary::wire::Js<$name> {
                let fields = $crate::boundary::wire::Fields(value);
                Ok($name { $($field: fields.read(stringify!($field))?,)* })
            }
        }
    };
}

pub(crate) use {described, message, presence, read, structure};

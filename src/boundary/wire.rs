//! Messages on their way: reads the fields of an object of JavaScript, writes words and records.

use super::requests::Place;
use super::{Element, Record, Word, camel};
use crate::words::Worded;
use js_sys::{Array, Error, Object, Reflect};
use serde::{Serialize, Serializer};
use std::marker::PhantomData;
use wasm_bindgen::JsCast;
pub use wasm_bindgen::JsValue;

/// A value, or what is thrown.
pub type Js<T> = Result<T, JsValue>;

/// An object of which fields are read.
pub struct Fields(pub JsValue);

impl Fields {
    /// Reads a field by its name in Rust; the error names one that is not as the protocol says.
    pub fn read<T: Read>(&self, rust: &str) -> Js<T> {
        let name = camel(rust);
        T::read(self.get(&name), &name)
    }

    fn get(&self, name: &str) -> JsValue {
        Reflect::get(&self.0, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
    }
}

/// A value that is read out of JavaScript.
pub trait Read: Sized {
    /// Reads a value; `name` is that of its field, for the error.
    fn read(value: JsValue, name: &str) -> Js<Self>;
}

/// The error of a field.
pub fn wrong(field: &str) -> JsValue {
    Error::new(&format!("what JavaScript says is not in the protocol: `{field}`")).into()
}

fn whole(value: JsValue, name: &str, least: f64, most: f64) -> Js<f64> {
    value.as_f64().filter(|x| x.trunc() == *x && (least..=most).contains(x)).ok_or_else(|| wrong(name))
}

/// The greatest whole number up to which JavaScript has all.
const SAFE: f64 = 9_007_199_254_740_991.0;

macro_rules! read_whole {
    ($($ty:ty: $least:expr, $most:expr;)+) => {
        $(impl Read for $ty {
            fn read(value: JsValue, name: &str) -> Js<$ty> {
                Ok(whole(value, name, $least, $most)? as $ty)
            }
        })+
    };
}

read_whole! {
    usize: 0.0, f64::from(u32::MAX);
    u32: 0.0, f64::from(u32::MAX);
    // A seed may be as large as a user types; the cast takes the nearest.
    u64: 0.0, f64::MAX;
    i64: -SAFE, SAFE;
}

impl Read for bool {
    fn read(value: JsValue, name: &str) -> Js<bool> {
        value.as_bool().ok_or_else(|| wrong(name))
    }
}

impl Read for f64 {
    fn read(value: JsValue, name: &str) -> Js<f64> {
        value.as_f64().ok_or_else(|| wrong(name))
    }
}

impl Read for String {
    fn read(value: JsValue, name: &str) -> Js<String> {
        value.as_string().ok_or_else(|| wrong(name))
    }
}

impl<T: Read> Read for Option<T> {
    fn read(value: JsValue, name: &str) -> Js<Option<T>> {
        if value.is_undefined() || value.is_null() { Ok(None) } else { T::read(value, name).map(Some) }
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(value: JsValue, name: &str) -> Js<Vec<T>> {
        let list = value.dyn_into::<Array>().map_err(|_| wrong(name))?;
        list.iter().map(|item| T::read(item, name)).collect()
    }
}

impl<T: Read> Read for Record<T> {
    fn read(value: JsValue, name: &str) -> Js<Record<T>> {
        let object = value.dyn_into::<Object>().map_err(|_| wrong(name))?;
        let entry = |entry: JsValue| {
            let entry = Array::from(&entry);
            Ok((String::read(entry.get(0), name)?, T::read(entry.get(1), name)?))
        };
        Object::entries(&object).iter().map(entry).collect::<Result<_, JsValue>>().map(Record)
    }
}

impl<T: Worded> Read for Word<T> {
    fn read(value: JsValue, name: &str) -> Js<Word<T>> {
        let word = String::read(value, name)?;
        T::ALL.iter().find(|known| known.word() == word).map(|known| Word(*known)).ok_or_else(|| wrong(name))
    }
}

impl Read for Place {
    fn read(value: JsValue, _: &str) -> Js<Place> {
        let fields = Fields(value);
        let is_there = |name: &str| fields.get(name).as_f64().is_some();
        Ok(if is_there("node") {
            Place::Node(fields.read("node")?)
        } else if is_there("offset") {
            Place::Offset(fields.read("offset")?)
        } else {
            Place::Line { line: fields.read("line")?, word: fields.read("word")?, stable: fields.read("stable")? }
        })
    }
}

/// A question that is read where it is answered.
pub struct Unread<T>(JsValue, PhantomData<T>);

impl<T: Read> Unread<T> {
    /// Keeps a question.
    pub fn new(value: JsValue) -> Unread<T> {
        Unread(value, PhantomData)
    }

    /// Reads it.
    pub fn read(self) -> Js<T> {
        T::read(self.0, "")
    }
}

impl<T: Worded> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<T: Serialize> Serialize for Record<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl Serialize for Element {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

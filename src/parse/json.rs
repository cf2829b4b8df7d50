//! JSON, as far as metadata sections and databases of schedules need it: flat, with long strings.

/// The greatest nesting depth of values; the metadata section has four levels, a database of schedules a few more.
const MAX_DEPTH: usize = 64;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string.
    Str(String),
    /// A list.
    Array(Vec<Json>),
    /// Keys and values; of a key that stands twice, the last counts.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Returns the value under a key of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(entries) => entries.iter().rev().find(|(k, _)| k == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the list under a key, taken out; empty when there is none.
    pub fn take_array(&mut self, key: &str) -> Vec<Json> {
        let Json::Object(entries) = self else { return Vec::new() };
        match entries.iter_mut().rev().find(|(k, _)| k == key) {
            Some((_, Json::Array(items))) => std::mem::take(items),
            _ => Vec::new(),
        }
    }

    /// Returns a number that can be an index.
    pub fn as_index(&self) -> Option<usize> {
        match self {
            Json::Int(number) => usize::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Returns a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the keys and values of an object.
    pub fn as_object(&self) -> Option<&[(String, Json)]> {
        match self {
            Json::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the elements of a list.
    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }
}

/// A syntax error of JSON, with its offset in bytes.
#[derive(Debug, PartialEq)]
pub struct JsonError {
    /// The place of the error.
    pub offset: usize,
    /// The expected token.
    pub message: &'static str,
}

/// Reads a text that is one value.
pub fn read(text: &str) -> Result<Json, JsonError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(MAX_DEPTH)?;
    reader.spaces();
    if reader.at < text.len() { Err(reader.wrong("expected the end")) } else { Ok(value) }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

type Read<T> = Result<T, JsonError>;

impl Reader<'_> {
    fn wrong(&self, message: &'static str) -> JsonError {
        JsonError { offset: self.at, message }
    }

    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn spaces(&mut self) {
        self.at += self.rest().iter().take_while(|b| b" \t\r\n".contains(b)).count();
    }

    /// Skips a byte if it comes next, after spaces.
    fn eat(&mut self, byte: u8) -> bool {
        self.spaces();
        let found = self.rest().first() == Some(&byte);
        self.at += usize::from(found);
        found
    }

    /// Parses a value; `depth` more levels may open, which bounds the call stack.
    fn value(&mut self, depth: usize) -> Read<Json> {
        self.spaces();
        match self.rest().first() {
            Some(b'[' | b'{') if depth == 0 => Err(self.wrong("values nest too deep")),
            Some(b'[') => {
                let mut items = Vec::new();
                self.items(b']', |reader| {
                    items.push(reader.value(depth - 1)?);
                    Ok(())
                })?;
                Ok(Json::Array(items))
            }
            Some(b'{') => {
                let mut entries = Vec::new();
                self.items(b'}', |reader| {
                    reader.spaces();
                    let key = reader.string()?;
                    if !reader.eat(b':') {
                        return Err(reader.wrong("expected `:`"));
                    }
                    entries.push((key, reader.value(depth - 1)?));
                    Ok(())
                })?;
                Ok(Json::Object(entries))
            }
            Some(b'"') => self.string().map(Json::Str),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let words = [
                    ("null", Json::Null),
                    ("true", Json::Bool(true)),
                    ("false", Json::Bool(false)),
                    // TVM writes these two.
                    ("NaN", Json::Float(f64::NAN)),
                    ("Infinity", Json::Float(f64::INFINITY)),
                ];
                for (word, value) in words {
                    if self.rest().starts_with(word.as_bytes()) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.wrong("expected a value"))
            }
        }
    }

    /// Parses the items between brackets, the first of which comes next, separated by commas.
    fn items(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.at += 1;
        if self.eat(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.eat(close) {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.wrong("expected `,` or the closing bracket"));
            }
        }
    }

    fn number(&mut self) -> Read<Json> {
        let length = self.rest().iter().take_while(|b| b"+-.0123456789eE".contains(b)).count();
        let text = &self.text[self.at..self.at + length];
        if text == "-" && self.rest().starts_with(b"-Infinity") {
            self.at += "-Infinity".len();
            return Ok(Json::Float(f64::NEG_INFINITY));
        }
        let Ok(float) = text.parse() else { return Err(self.wrong("expected a number")) };
        self.at += length;
        Ok(text.parse().map_or(Json::Float(float), Json::Int))
    }

    fn string(&mut self) -> Read<String> {
        if self.rest().first() != Some(&b'"') {
            return Err(self.wrong("expected a string"));
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let plain = self.rest().iter().take_while(|b| !matches!(b, b'"' | b'\\' | 0..0x20)).count();
            out.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.rest() {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(out);
                }
                [b'\\', code, ..] => {
                    let code = *code;
                    self.at += 2;
                    out.push(match code {
                        b'"' | b'\\' | b'/' => char::from(code),
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => self.unicode()?,
                        _ => return Err(self.wrong("this escape is not known")),
                    });
                }
                _ => return Err(self.wrong("the string does not end")),
            }
        }
    }

    /// Decodes the digits after `\u`: four, or two such groups for a character beyond 16 bits.
    fn unicode(&mut self) -> Read<char> {
        let first = self.hex()?;
        let code = match first {
            0xd800..0xdc00 if self.rest().starts_with(b"\\u") => {
                self.at += 2;
                0x10000 + ((first - 0xd800) << 10) + (self.hex()? & 0x3ff)
            }
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| self.wrong("half a character"))
    }

    fn hex(&mut self) -> Read<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok()).ok_or_else(|| self.wrong("expected four digits"))?;
        self.at += 4;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let json = read(" {\"a\": [1, -2, 3.5e1, null], \"b\": {\"c\": \"x\\n\\u00e9\\ud83d\\ude00\"}, \"a\": 7} ").unwrap();
        assert_eq!(json.get("a"), Some(&Json::Int(7)));
        assert_eq!(json.get("b").and_then(|b| b.get("c")).and_then(Json::as_str), Some("x\n\u{e9}\u{1f600}"));
        let Json::Object(entries) = json else { panic!("an object") };
        assert_eq!(entries[0].1, Json::Array(vec![Json::Int(1), Json::Int(-2), Json::Float(35.0), Json::Null]));
    }

    #[test]
    fn what_is_no_json_is_found_where_it_stands() {
        for (text, offset) in
            [("", 0), ("{\"a\" 1}", 5), ("[1,]", 3), ("[1 2]", 3), ("\"abc", 4), ("{} x", 3), ("\"\\q\"", 3), ("[-]", 1)]
        {
            assert_eq!(read(text).unwrap_err().offset, offset, "{text}");
        }
    }

    #[test]
    fn ten_thousand_brackets_are_an_error() {
        assert_eq!(read(&"[".repeat(10_000)).unwrap_err().message, "values nest too deep");
    }
}

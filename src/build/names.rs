//! A supply of free names.

use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Returns each name once (TVM's `UniqueNameSupply`): `lv`, `lv1`, `lv2`. It knows the names that it returned and the
/// reserved ones, but not those of a program; the printer makes names unique.
#[derive(Clone, Debug, Default)]
pub struct NameSupply {
    /// Requested and reserved names, each with the last number of its suffixes. A name with such a suffix is taken as
    /// well, and has no entry.
    counted: FxHashMap<String, u32>,
    /// True if one of them ends in a digit. If none does, a name with a number can only come from the name before the
    /// number, and the next one is free.
    any_numbered: bool,
}

impl NameSupply {
    /// Makes a supply without taken names.
    pub fn new() -> NameSupply {
        NameSupply::default()
    }

    /// Marks a name as taken.
    pub fn reserve(&mut self, name: &str) {
        if !self.counted.contains_key(name) {
            self.any_numbered |= ends_in_digit(name);
            self.counted.insert(name.to_owned(), 0);
        }
    }

    /// Returns a free name: the hint itself, or the hint with the next number. Dots become underscores, as in TVM.
    pub fn fresh(&mut self, hint: &str) -> String {
        let hint: Cow<'_, str> = match hint {
            "" => "v".into(),
            hint if hint.contains('.') => hint.replace('.', "_").into(),
            hint => hint.into(),
        };
        let mut name = String::with_capacity(hint.len() + 4);
        name.push_str(&hint);
        self.any_numbered |= ends_in_digit(&hint);
        if !self.any_numbered {
            match self.counted.get_mut(&*hint) {
                Some(last) => {
                    *last += 1;
                    push_number(&mut name, *last);
                }
                None => drop(self.counted.insert(hint.into_owned(), 0)),
            }
            return name;
        }
        let last = self.counted.get(&*hint).copied();
        if last.is_none() && !self.is_numbered(&hint) {
            self.counted.insert(hint.into_owned(), 0);
            return name;
        }
        let mut number = last.unwrap_or(0);
        loop {
            number += 1;
            name.truncate(hint.len());
            push_number(&mut name, number);
            if !self.counted.contains_key(&name) && !self.is_numbered(&name) {
                break;
            }
        }
        match self.counted.get_mut(&*hint) {
            Some(last) => *last = number,
            None => drop(self.counted.insert(hint.into_owned(), number)),
        }
        name
    }

    /// True if this is another name with a numeric suffix that was returned, or skipped because it was taken.
    fn is_numbered(&self, name: &str) -> bool {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (name.len() - digits..name.len()).any(|at| {
            let (base, number) = name.split_at(at);
            let last = || self.counted.get(base).copied().unwrap_or(0);
            !number.starts_with('0') && number.parse().is_ok_and(|number: u32| number <= last())
        })
    }
}

fn ends_in_digit(name: &str) -> bool {
    name.as_bytes().last().is_some_and(u8::is_ascii_digit)
}

/// Appends a number to a name. Every emitted binding gets its name this way, for which formatting would be too slow.
fn push_number(name: &mut String, number: u32) {
    if number >= 10 {
        push_number(name, number / 10);
    }
    name.push(char::from(b'0' + (number % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_up_for_each_name_and_step_over_what_is_taken() {
        let mut names = NameSupply::new();
        names.reserve("lv2");
        let given: Vec<String> = ["lv", "lv", "lv", "gv", "relax.add", ""].iter().map(|hint| names.fresh(hint)).collect();
        assert_eq!(given, ["lv", "lv1", "lv3", "gv", "relax_add", "v"]);
    }
    /// Remembers every name as it is, which is slower but obviously correct.
    #[derive(Default)]
    struct Remembering(std::collections::BTreeMap<String, u32>);

    impl Remembering {
        fn fresh(&mut self, hint: &str) -> String {
            let mut number = self.0.get(hint).copied().unwrap_or(0);
            let mut name = hint.to_owned();
            while self.0.contains_key(&name) {
                number += 1;
                name = format!("{hint}{number}");
            }
            self.0.insert(hint.to_owned(), number);
            self.0.entry(name.clone()).or_insert(0);
            name
        }
    }

    #[test]
    fn no_name_is_given_twice_whatever_is_asked_for() {
        let hints = ["lv", "lv1", "lv11", "lv01", "lv1_", "1", "lv10", "gv2"];
        let (mut names, mut model) = (NameSupply::new(), Remembering::default());
        let mut seed = 7_u32;
        for step in 0..3000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let hint = hints[(seed >> 24) as usize % hints.len()];
            if step % 41 == 0 {
                names.reserve(&format!("{hint}{}", step % 97));
                model.0.entry(format!("{hint}{}", step % 97)).or_insert(0);
            } else {
                assert_eq!(names.fresh(hint), model.fresh(hint), "step {step}");
            }
        }
    }
}

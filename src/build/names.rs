//! Names that nobody has yet.

use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::fmt::Write;

/// Gives names out once (TVM's `UniqueNameSupply`): `lv`, `lv1`, `lv2`. It knows the names that it gave or was told, and not
/// those of a program; the printer takes care of the rest.
#[derive(Clone, Debug, Default)]
pub struct NameSupply {
    /// For each name the last number that was put behind it.
    given: FxHashMap<String, u32>,
}

impl NameSupply {
    /// A supply from which nothing was taken.
    pub fn new() -> NameSupply {
        NameSupply::default()
    }

    /// Says that a name is taken.
    pub fn reserve(&mut self, name: &str) {
        self.given.insert(name.to_owned(), 0);
    }

    /// A name that was not given yet: the hint itself, or the hint with the next number. Dots become underscores, as in TVM.
    pub fn fresh(&mut self, hint: &str) -> String {
        let hint: Cow<'_, str> = match hint {
            "" => "v".into(),
            hint if hint.contains('.') => hint.replace('.', "_").into(),
            hint => hint.into(),
        };
        let mut name = hint.to_string();
        if let Some(&last) = self.given.get(&*hint) {
            let mut number = last;
            while self.given.contains_key(&name) {
                number += 1;
                name.truncate(hint.len());
                let _ = write!(name, "{number}");
            }
            if let Some(last) = self.given.get_mut(&*hint) {
                *last = number;
            }
        }
        self.given.insert(name.clone(), 0);
        name
    }
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
}

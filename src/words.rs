//! Enums whose variants have words: what a command line prints and a page shows.

/// The words of an enum, each with its meaning.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The name of the enum.
    pub name: &'static str,
    /// Lines of its documentation.
    pub doc: &'static [&'static str],
    /// Its words in the order of the variants, each with its documentation.
    pub words: &'static [(&'static str, &'static str)],
}

/// An enum with words, as [`words!`](crate::words!) makes it.
pub trait Worded: Copy + 'static {
    /// Its words.
    const WORDS: Words;
    /// Its variants in the same order.
    const ALL: &'static [Self];

    /// Returns the word of a variant.
    fn word(self) -> &'static str;

    /// Returns the variant with a number, counted from 0.
    fn at(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}

/// Defines an enum without data, the word of each variant, and the list of them ([`Worded`]).
#[macro_export]
macro_rules! words {
    ($(#[doc = $doc:literal])+ pub enum $name:ident { $($(#[doc = $said:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[doc = $said])+ $variant,)+ }

        impl $name {
            /// Returns its word.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }
        }

        impl $crate::words::Worded for $name {
            const WORDS: $crate::words::Words = $crate::words::Words {
                name: stringify!($name),
                doc: &[$($doc),+],
                words: &[$(($word, concat!($($said),+)),)+],
            };

            const ALL: &'static [$name] = &[$($name::$variant),+];

            fn word(self) -> &'static str {
                $name::word(self)
            }
        }
    };
}

//! The requests of the page, with the answer to each.

use super::catalogue::Catalogue;
use super::checks::{Blame, Checked, Reduced};
use super::documents::{DecodeResult, DumpFile, RunDocument};
use super::messages::{Beside, Comparison, Diff, Graph, History, LineNames, Look, PreviewWord, Recognised, Rewrite, Run};
use super::tensor::{Measure, MeasureQuestion, Nest, NestQuestion};
use super::values::{Question, Values};
use super::{Choice, Crosses, Field, MANY, NAME, Presence, SOME, Shape, Word, field};

/// A request: its `type`, what it says besides, and its answer.
pub struct Asked {
    /// The word that stands as its `type`.
    pub word: String,
    /// Lines of its documentation.
    pub doc: &'static [&'static str],
    /// Its fields, or the message that it is.
    pub body: Body,
    /// The form of the answer.
    pub answer: Shape,
    /// Asked of a sandbox, too.
    pub of_sandbox: bool,
}

/// The contents of a request.
pub enum Body {
    /// These fields.
    Fields(Vec<Field>),
    /// The fields of a message.
    Message(Shape),
}

macro_rules! answer_of {
    ($answer:ty) => {
        answer_of!($answer => [])
    };
    ($answer:ty => [$($limit:expr),*]) => {{
        let mut shape = <$answer as Crosses>::shape();
        shape.limit(&mut [$($limit as usize),*].into_iter());
        shape
    }};
}

macro_rules! requests {
    ($(
        $(#[doc = $doc:literal])*
        $([$place:ident])? $name:ident
        $({ $($field:ident: $ty:ty),* $(; $($outside:ident: $ty_outside:ty),+)? })? $(($message:ty))?
        -> $answer:ty $(=> [$($limit:expr),+])?;
    )+) => {
        /// A request, told by its `type`. Those in brackets are read where they are answered, in the second half of the engine.
        #[cfg(feature = "page")]
        pub enum Request {
            $($(#[doc = $doc])* #[allow(missing_docs, reason = "the table documents what is no word")]
            $name $({ $($field: $ty),* })? $((super::wire::Unread<$message>))?,)+
        }

        #[cfg(feature = "page")]
        impl Request {
            /// Reads a request. The error is what to throw: the request is not in the protocol.
            pub fn read(request: super::wire::JsValue) -> super::wire::Js<Request> {
                let fields = super::wire::Fields(request);
                let kind: String = fields.read("type")?;
                $(if kind.eq_ignore_ascii_case(stringify!($name)) {
                    return Ok(Request::$name $({ $($field: fields.read(stringify!($field))?),* })?
                        $((super::wire::Unread::<$message>::new(fields.0)))?);
                })+
                Err(super::wire::wrong("type"))
            }
        }

        /// Returns all requests in order.
        pub fn requests() -> Vec<Asked> {
            vec![$(Asked {
                word: stringify!($name).to_lowercase(),
                doc: &[$($doc),*],
                body: requests!(@body $({ $($field: $ty),* $(; $($outside: $ty_outside),+)? })? $(($message))?),
                answer: answer_of!($answer $(=> [$($limit),+])?),
                of_sandbox: !matches!(concat!($(stringify!($place))?), "page"),
            },)+]
        }
    };
    (@body) => { Body::Fields(Vec::new()) };
    (@body { $($field:ident: $ty:ty),* $(; $($outside:ident: $ty_outside:ty),+)? }) => {
        Body::Fields(vec![
            $(field::<$ty>(stringify!($field), &[], Presence::Always, &[]),)*
            $($(field::<$ty_outside>(stringify!($outside), &[], Presence::Optional, &[]),)+)?
        ])
    };
    (@body ($message:ty)) => { Body::Message(<$message as Crosses>::shape()) };
}

requests! {
    [page] Catalogue -> Catalogue;
    /// `look` is for the worker.
    Run { document: RunDocument; look: Option<Look> } -> Run;
    /// Another list of passes on the program of the last run. Its versions are numbered after those of the run.
    Beside { document: RunDocument } -> Beside;
    Text { version: usize, stable: bool } -> String;
    Diff { before: usize, after: usize } -> Diff<'static>;
    /// `line`: from 1, in the text with stable names.
    Names { version: usize, line: usize } -> LineNames;
    /// `shown`: versions in which its line is wanted.
    History { version: usize, place: Place, shown: Vec<usize> } -> Option<History>;
    Graph { before: usize, after: usize } -> Graph<'static>;
    /// The rewrites of a step, by its index.
    Rewrites { step: usize } -> Vec<Rewrite<'static>> => [MANY];
    /// Asks for the program after `fuel` of the step's rewrites. Null where it cannot be said: passes of a script are not run again.
    Partial { step: usize, fuel: u32 } -> Option<Diff<'static>>;
    /// Asks for the effect of a pass on a version.
    Preview { version: usize, call: String } -> Word<PreviewWord>;
    /// Asks for the numbers of calls of each operator: before, after.
    Operators { before: usize, after: usize } -> Vec<(String, usize, usize)> => [SOME, NAME];
    Eval (Question) -> Values;
    Nest (NestQuestion) -> Nest<'static>;
    Measure (MeasureQuestion) -> Measure;
    /// Runs the program before and after a step of the last run.
    Check { step: usize } -> Checked;
    /// Asks for the first step, and its rewrite, after which a property is lost.
    Bisect { property: String } -> Blame;
    /// Makes the program small: begins if a property is named, else tries so many candidates more.
    Reduce { property: String, tries: usize } -> Reduced;
    Dump -> Vec<DumpFile>;
    /// Asks for a hash of everything that the last run gave.
    Hash -> String => [6];
    Compare { version: usize, source: String } -> Comparison;
    /// Asks for the reproducer file of a document.
    [page] Write { document: RunDocument } -> String;
    /// Asks for the document of a reproducer file, or of a plain program.
    [page] Read { text: String } -> DecodeResult;
    /// Asks for the kind of a text from elsewhere.
    [page] Recognise { text: String } -> Recognised;
    [page] Encode { document: RunDocument } -> String;
    [page] Decode { link: String } -> DecodeResult;
}

/// An expression that the user points at.
pub enum Place {
    /// A word in a line of a version's text (`stable`: numbered as in a diff).
    Line {
        /// The line, from 1.
        line: usize,
        /// The word.
        word: String,
        /// The text is numbered as in a diff.
        stable: bool,
    },
    /// The `node` of an earlier answer to the same run.
    Node(usize),
    /// An offset into the source, in UTF-16 units.
    Offset(usize),
}

impl Crosses for Place {
    fn shape() -> Shape {
        Shape::Choice(|| {
            let always = Presence::Always;
            Choice {
                name: "Place",
                doc: &[
                    " An expression that the user points at: by a word in a line of a version's text (`stable`: numbered as in a diff),",
                    " by the `node` of an earlier answer to the same run, or by an offset into the source.",
                ],
                arms: vec![
                    vec![
                        field::<usize>("line", &[], always, &[]),
                        field::<String>("word", &[], always, &[]),
                        field::<bool>("stable", &[], always, &[]),
                    ],
                    vec![field::<usize>("node", &[], always, &[])],
                    vec![field::<usize>("offset", &[], always, &[])],
                ],
            }
        })
    }
}

/// Messages that are in no request and no answer: they come with a file of their own, or out of numbers.
pub fn beside_requests() -> Vec<Shape> {
    use super::catalogue::Explanation;
    use super::messages::DiffRow;
    vec![Explanation::shape(), DiffRow::shape(), Shape::Shared]
}

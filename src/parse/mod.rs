//! Text to programs.
//!
//! [`parse`] never fails and never panics: it returns what could be built and *every* problem with
//! its place. It does not infer types.
//!
//! The codes of the problems, for tests and links:
//!
//! | code | says |
//! |---|---|
//! | `script-lex`, `script-syntax`, `script-indent`, `script-too-deep` | TVMScript: not a token, a syntax error, wrong indentation, more than 256 brackets or 100 blocks |
//! | `relax-syntax` | TVMScript: a construct without a meaning here |
//! | `relax-unbound-var`, `relax-unbound-global`, `relax-unknown-op` | no variable, function, operator of that name |
//! | `relax-unknown-arg`, `relax-missing-arg`, `relax-duplicate` | arguments that do not fit; a duplicate |
//! | `relax-type`, `relax-dtype`, `relax-shape`, `relax-typevar`, `relax-annotation` | invalid or missing types |
//! | `relax-attr`, `relax-const`, `relax-number`, `relax-tuple-index` | values that do not fit |
//! | `relax-refused` | warning: TVM refuses this program |
//! | `relax-if`, `relax-output`, `relax-return` | branches, dataflow blocks and functions that do not end as they must |
//! | `relax-metadata`, `relax-global-info` | the metadata section or the global infos are damaged or lack an entry |
//! | `relax-old` | warning: notation of an older TVM, with today's |
//! | `tir-syntax`, `tir-type`, `tir-number`, `tir-undefined` | functions of TIR: a syntax error, a type that does not fit, an invalid number, an unknown name |
//! | `front-wrapped`, `front-text`, `front-python`, `front-decorator` | note: text around the program, which is not read |
//! | `front-saved` | note: JSON of `tvm.ir.save_json` is read; error: it cannot be read |
//! | `front-constant`, `front-several` | note: values that were put in, programs that were not read |
//! | `front-language`, `front-python`, `front-fragment`, `front-pseudo`, `front-comments`, `front-incomplete` | the text is no program that can be read, with its kind |
//! | `front-define`, `front-pick` | names that the text does not define; there is no program of that name |
//! | `relay-lex` | not a token: a stray character, a string or comment without an end |
//! | `relay-number` | a number that does not fit its width or is invalid |
//! | `relay-syntax` | a syntax error |
//! | `relay-too-deep` | more than 256 brackets are open |
//! | `relay-version` | the version header is missing or another one |
//! | `relay-unbound-var` | a variable that is not in scope |
//! | `relay-rebound-var` | warning: a name is bound again where TVM keeps its first meaning |
//! | `relay-free-var` | a function uses variables of another one |
//! | `relay-unknown-op`, `relay-unknown-ctor` | no operator, constructor of that name |
//! | `relay-type` | an unknown element type |
//! | `relay-unknown-attr`, `relay-missing-attr`, `relay-attr-type`, `relay-rebound-attr` | attributes that do not fit |
//! | `relay-duplicate` | something is defined twice |
//! | `relay-extern` | warning: TVM reads nothing behind an extern type |
//! | `relay-metadata` | the metadata section is missing, damaged, or does not match |

mod effort;
mod front;
pub mod graph;
pub mod json;
mod lex;
mod number;
mod relax;
mod relay;
#[allow(dead_code, reason = "the tree holds what stands in a text, whoever reads it")]
mod script;
pub(crate) mod suggest;
mod tir;
pub mod trace;

use crate::diag::Diagnostic;
use crate::ir::{AttrValue, ExprId, Id, Module, Name, Store, TypeId};
pub use front::{Choice, Options, Recognised, recognise};
pub use relax::REFUSED;

/// The contents of a text.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its definitions. A function or type with an error in it is left out.
    pub module: Module,
    /// A bare expression (TVM's `parse_expr`), when the text has no definitions.
    pub expr: Option<ExprId>,
    /// Names of the functions that were left out, so that their callers need no further error.
    pub left_out: Vec<Id<Name>>,
}

/// A program and the problems of its text.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The parts that could be built.
    pub program: Program,
    /// All problems, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The programs of a text that has several, the last first.
    pub choices: Vec<Choice>,
}

impl Parsed {
    /// True if the text has errors.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads a program: TVMScript when it begins like Python, Relay's text format otherwise, and what [`front`] finds in it when
/// it does not read as it stands.
///
/// Relay is read as TVM's `src/relay/parser/parser.cc` does, and also
/// what TVM prints and cannot read back: `ref(T)` and generic function types, `nanf`, escapes in
/// strings, a match as an operand, names with dots and dashes, and texts without their metadata
/// section.
pub fn parse(store: &mut Store, source: &str) -> Parsed {
    parse_with(store, source, &Options::default())
}

/// Reads the program of a text that the options choose, with values for names from around it.
pub fn parse_with(store: &mut Store, source: &str, options: &Options) -> Parsed {
    let options = options.with_head(source);
    if options != Options::default() || source.trim_start().starts_with('{') {
        return front::read(store, source, &options, None);
    }
    let mark = store.mark();
    let parsed = if is_script(source) { relax::parse(store, source) } else { relay::parse(store, source) };
    if !parsed.has_errors() {
        return parsed;
    }
    front::read(store, source, &options, Some((parsed, mark)))
}

impl Options {
    /// Adds the options in the first comments of a text: `# define: n=128`, `// pick: Before`. Options given elsewhere
    /// take precedence.
    fn with_head(&self, source: &str) -> Options {
        let mut options = self.clone();
        for line in source.lines() {
            let comment = line.strip_prefix("# ").or_else(|| line.strip_prefix("// "));
            let Some((key, value)) = comment.and_then(|comment| comment.split_once(':')) else {
                if line.is_empty() || comment.is_some() {
                    continue;
                }
                break;
            };
            match (key, value.split_once('=')) {
                ("pick", _) => options.pick = options.pick.or_else(|| Some(value.trim().to_owned())),
                ("define", Some((name, value))) if options.defines.iter().all(|(known, _)| known != name.trim()) => {
                    options.defines.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                _ => {}
            }
        }
        options
    }
}

/// Reads TVMScript among values that names around it have, and nothing but TVMScript.
pub fn parse_script_in<'s>(store: &mut Store, source: &'s str, given: &'s [(String, AttrValue)]) -> Parsed {
    relax::parse_in(store, source, given)
}

/// Reads `_ = value`, where the value is an expression of Relax, in which calls stand inside of each other, or a type.
pub fn parse_value<'s>(
    store: &mut Store,
    source: &'s str,
    given: &'s [(String, AttrValue)],
) -> (Option<AttrValue>, Vec<Diagnostic>) {
    relax::expression(store, source, given)
}

/// True if a text is TVMScript: it begins with a decorator, an import, a class or an assignment of Python.
pub fn is_script(source: &str) -> bool {
    for line in source.lines() {
        let line = line.trim();
        if line.is_empty() || (line.starts_with('#') && !line.starts_with("#[")) {
            // Relay has no such comments.
            if line.starts_with("# from tvm.script") {
                return true;
            }
            continue;
        }
        let decorators = ["@I.", "@R.", "@T.", "@tvm.", "@relax.", "@tir.", "@tirx.", "@ir_module", "@ir."];
        let statements = ["from ", "import ", "class ", "metadata =", "metadata="];
        return decorators.iter().chain(&statements).any(|start| line.starts_with(start)) || line.contains("TypeVar(");
    }
    false
}

/// Reads a type, such as `fn (Tensor[(?, 10), float32]) -> bool`.
pub fn parse_type(store: &mut Store, source: &str) -> Result<TypeId, Vec<Diagnostic>> {
    relay::parse_type(store, source)
}

/// Returns the beginning of a text, for messages.
fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    if line.len() == text.len() && line.chars().count() <= 40 {
        return line.into();
    }
    line.chars().take(40).chain("...".chars()).collect()
}

//! Texts that are no programs of TVM, or that need something which they do not have: one message each, that names the language
//! and says what can be done.

use crate::diag::{Diagnostic, Span};
use crate::parse::tir::{DEVICE_DIALECT, INSTEAD_OF_DEVICES};

/// A language or kind of text: what it is recognised by, how it is called, what can be done.
struct Language {
    /// One of these stands in it.
    marks: &'static [&'static str],
    /// And, if there are any, one of these.
    also: &'static [&'static str],
    what: &'static str,
    help: &'static str,
}

/// TVM's dialect for devices. The reader of tensor programs knows all of its names; these are told from TileLang's, and stand
/// in texts without a program that is decorated as one.
const TIRX: Language = Language {
    marks: &[
        "T.device_entry(",
        "T.cta_id(",
        "T.thread_id(",
        "T.warp_id(",
        "T.lane_id(",
        "@T.jit",
        "Tx.cta.",
        "Tx.warp.",
        "Tx.wg.",
    ],
    also: &[],
    what: DEVICE_DIALECT,
    help: INSTEAD_OF_DEVICES,
};

/// Texts with functions that are decorated as those of TVM are.
const SCRIPTS: &[Language] = &[
    TIRX,
    Language {
        marks: &["T.Kernel(", "T.alloc_fragment(", "T.Pipelined(", "tilelang", "T.use_swizzle(", "T.alloc_shared(", "T.clear("],
        also: &[],
        what: "this is TileLang, a language of its own that looks like TVMScript",
        help: "let TileLang lower the kernel and print the module it gives (`print(kernel.mod)` or `mod.script()`), which is TVMScript",
    },
    Language {
        marks: &["T.sp.", "T.dense_fixed(", "T.match_sparse_buffer(", "T.sp_iter(", "T.iter([", "T.alloc_sparse_buffer("],
        also: &["T.sp.", "dense_fixed", "sparse_"],
        what: "this is SparseTIR, a fork of TVM with axes and buffers of its own",
        help: "lower it with SparseTIR (`lower_sparse_iter`, `lower_sparse_buffer`): what it prints then is TVMScript",
    },
];

/// Texts without such functions.
const OTHERS: &[Language] = &[
    TIRX,
    Language {
        marks: &["The program has been annotated with them", "an internal invariant was violated while typechecking"],
        also: &[],
        what: "TVM wrote its errors into this program",
        help: "take them out, or paste what `print(mod)` prints",
    },
    Language {
        marks: &["FunctionNode(", "CallNode(", "IRModule({", "name_hint=\""],
        also: &[],
        what: "this is how C++ or `dump_ast` shows the nodes of a program, which no TVM reads back",
        help: "print the module: `print(mod)`, or `mod.script()`",
    },
    Language {
        marks: &["Relax VM executable", "rx.Builder()", " dst: %"],
        also: &[],
        what: "this is code of Relax's virtual machine, which TVM builds from a module",
        help: "paste the module: `mod.script()`",
    },
    Language {
        marks: &["def apply_trace(", "sch.get_block(", "sch.get_sblock("],
        also: &[],
        what: "this is the trace of a schedule, and the program that it schedules is not in the text",
        help: "paste the program; the trace goes into the pass `Schedule`",
    },
    Language {
        marks: &["primfn(", ": int32, 0, ", "// attr ["],
        also: &[],
        what: "this is how TVM 0.9 and before printed tensor programs (`primfn`), which no TVM reads back",
        help: "print the module with `mod.script()`, which is TVMScript",
    },
    Language {
        marks: &["hybrid.script", "output_tensor("],
        also: &["output_tensor(", "hybrid"],
        what: "this is hybrid script, Python that builds a tensor expression when TVM runs it",
        help: "make a function of it with `te.create_prim_func` and print that with `.script()`",
    },
    Language {
        marks: &["func.func", "stablehlo.", "mhlo.", "llvm.func", "linalg."],
        also: &["%", "module"],
        what: "this is MLIR, not a program of TVM",
        help: "import the model into TVM and print its module with `mod.script()`",
    },
    Language {
        marks: &["__global__", "__device__", "#include <", "__kernel void"],
        also: &[],
        what: "this is code of C or CUDA, which TVM writes and does not read",
        help: "paste the module that it was built from: `mod.script()`",
    },
    Language {
        marks: &[
            "tvm.tir.transform.prim_func_pass",
            "tvm.transform.module_pass",
            "relay.transform.function_pass",
            "stmt_functor",
        ],
        also: &[],
        what: "this is a pass written in Python, not a program that passes work on",
        help: "paste a program here; passes of your own go into *My passes*",
    },
    Language {
        marks: &[
            "StructuralEqual check failed",
            "Traceback (most recent call last)",
            "ValueError:",
            "TVMError",
            "InternalError:",
            "The Relay type checker is unable",
            "\n --> ",
        ],
        also: &[],
        what: "this is a message of TVM, and no whole program is in it",
        help: "paste the program that it is about",
    },
    Language {
        marks: &["te.compute(", "te.placeholder(", "te.create_schedule("],
        also: &[],
        what: "this builds a tensor expression when Python runs it; there is no program in the text",
        help: "print what `te.create_prim_func` makes of it with `.script()`",
    },
    Language {
        marks: &["relay.var(", "relay.Function(", "relay.nn.", "relay.Call("],
        also: &[],
        what: "this builds a program of Relay when Python runs it; there is no program in the text",
        help: "print the module: `print(mod)`",
    },
    Language {
        marks: &["BlockBuilder(", "bb.emit", "relax.Function(", "nn.Module"],
        also: &[],
        what: "this builds a program of Relax when Python runs it; there is no program in the text",
        help: "print the module: `mod.show()` or `mod.script()`",
    },
];

/// Says that a text is in another language.
pub(super) fn script(text: &str) -> Option<Diagnostic> {
    of(SCRIPTS, text)
}

/// Says what a text without a program is.
pub(super) fn other(text: &str) -> Option<Diagnostic> {
    // The metadata section is data.
    of(OTHERS, text.split("#[metadata]").next().unwrap_or(""))
}

fn of(languages: &[Language], text: &str) -> Option<Diagnostic> {
    for language in languages {
        let at = language.marks.iter().filter_map(|mark| text.find(mark).map(|at| (at, mark.len()))).min();
        if let Some((at, len)) = at
            && (language.also.is_empty() || language.also.iter().any(|mark| text.contains(mark)))
        {
            return Some(Diagnostic::error("front-language", language.what, Span::new(at, at + len)).with_note(language.help));
        }
    }
    None
}

/// Says that a text is a message of TVM that shows pieces of programs.
pub(super) fn message(text: &str) -> Option<Diagnostic> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let marks =
        ["ValueError:", "StructuralEqual check failed", "Traceback (most recent call last)", "TVMError", "InternalError:"];
    if marks.iter().any(|mark| first.contains(mark)) { other(first) } else { None }
}

/// Describes the fault of a text of Python that has no program in it.
pub(super) fn python(text: &str) -> Diagnostic {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    let start = text.find(first).unwrap_or(0);
    let place = Span::new(start, start + first.len());
    let fragment = ["block(", "sblock(", "grid(", "axis.", "serial(", "alloc_buffer(", "decl_buffer(", "allocate("];
    // A function that has types of TVM lacks its decorator alone.
    let typed = |line: &str| line.trim_start().starts_with("def ") && ["T.", "R."].iter().any(|of| line.contains(of));
    let bare = text.lines().any(typed);
    if !bare && fragment.iter().any(|mark| ["T.", "tir."].iter().any(|of| text.contains(&format!("{of}{mark}")))) {
        let message = "this is a piece of a tensor program: the function around it is missing";
        return Diagnostic::error("front-fragment", message, place)
            .with_note("put it into `@T.prim_func` `def main(...):` with the buffers that it uses as parameters");
    }
    if !bare && (text.contains("R.dataflow(") || text.contains("R.call_tir(")) {
        let message = "this is a piece of a program of Relax: the function around it is missing";
        return Diagnostic::error("front-fragment", message, place)
            .with_note("put it into `@R.function` `def main(...):` with the tensors that it uses as parameters");
    }
    let mut lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty());
    if lines.clone().all(|line| line.starts_with('#') || line.starts_with("//")) {
        return Diagnostic::error("front-comments", "all of this text is a comment", place)
            .with_note("take the marks of the comment away to read what it says");
    }
    if lines.any(|line| line.starts_with("def ") || line.starts_with("class ")) {
        let message = "no function of this text is a program of TVM: none is decorated with `@R.function` or `@T.prim_func`";
        return Diagnostic::error("front-python", message, place)
            .with_note("decorate the function that is to be read, or paste what `mod.script()` prints");
    }
    Diagnostic::error("front-python", "this is Python, and there is no program of TVM in it", place)
        .with_note("paste what `mod.script()` prints, or what `print(mod)` prints of Relay")
}

/// The message for a text that is nothing known.
pub(super) fn nothing(text: &str) -> Diagnostic {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    let start = text.find(first).unwrap_or(0);
    Diagnostic::error("front-text", "no program of TVM is found in this text", Span::new(start, start + first.len()))
        .with_note("paste what `mod.script()` or `print(mod)` prints: TVMScript, or Relay's text format")
}

/// Says that a text of Relay cannot be read as a whole: it is in the notation of books, or only a piece.
pub(super) fn relay(text: &str) -> Option<Diagnostic> {
    let at = |mark: &str| text.find(mark).map(|at| Span::new(at, at + mark.len()));
    let mut generic = text.match_indices("def @").filter_map(|(start, _)| {
        let rest = &text[start + 5..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
        rest[end..].starts_with('<').then(|| Span::new(start, start + 5 + end))
    });
    let case = text.match_indices("case ").find(|(start, _)| text[..*start].trim_end().ends_with(['{', '}']));
    let data = text.lines().any(|line| line.starts_with("data ")).then(|| at("data ")).flatten();
    let pseudo = generic.next().or(case.map(|(start, mark)| Span::new(start, start + mark.len()))).or(data);
    if let Some(place) = pseudo {
        let message = "this is the notation of TVM's language reference, which no TVM reads";
        return Some(Diagnostic::error("front-pseudo", message, place).with_note(
            "TVM reads `def @f[A](...)` for generic functions, `type Name { Ctor(...) }` and `match (%x) { Ctor(%y) => { ... } }`",
        ));
    }
    if let Some((start, mark)) = text.match_indices("/ ty=").find(|(start, _)| text[..*start].ends_with(' ')) {
        let message = "the comments of this text have lost their stars, as on pages that take them for emphasis";
        let place = Span::new(start, start + mark.len());
        return Some(Diagnostic::error("front-comments", message, place).with_note("write `/* ty=... */`, or leave them out"));
    }
    if let Some(place) = at("(...)").or_else(|| at(" ...\n")).or_else(|| at("{ ... }")) {
        let message = "the program is not complete: `...` stands where TVM has to know something";
        return Some(Diagnostic::error("front-incomplete", message, place).with_note("write what the text leaves out"));
    }
    let lines = || text.lines().map(str::trim_start).filter(|line| !line.is_empty());
    let is_comment = |line: &str| line.starts_with("//") || line.starts_with('#') && !line.starts_with("#[");
    if lines().next().is_some() && lines().all(is_comment) {
        return Some(
            Diagnostic::error("front-comments", "all of this text is a comment", Span::new(0, text.lines().next()?.len()))
                .with_note("take its marks away to read what it says"),
        );
    }
    let comment = text.match_indices('#').find(|(start, _)| {
        let rest = &text[start + 1..];
        !rest.starts_with('[') && text[..*start].ends_with(['\n', ' ', ',']) && rest.starts_with([' ', '#'])
    });
    if let Some((start, _)) = comment {
        let end = start + text[start..].find('\n').unwrap_or(text.len() - start);
        return Some(
            Diagnostic::error(
                "front-pseudo",
                "comments of Relay begin with `//`, and this text has others",
                Span::new(start, end),
            )
            .with_note("this is perhaps the notation of TVM's language reference, which no TVM reads as it stands"),
        );
    }
    None
}

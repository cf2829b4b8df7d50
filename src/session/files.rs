//! Makes a trace of files: the outputs of another compiler after each of its passes, stepped through like a run, even
//! if those passes are not here.

use super::{Opening, Session, open};
use crate::diag::Diagnostic;
use crate::eval;
use crate::ir::equal::{self, EqualOptions};
use crate::pass::trace::{Outcome, Role, Step, Trace};
use crate::repro::{Document, File};

impl Session {
    /// Reads the document's program and every one of its files as the versions of a run.
    pub(super) fn run_files(&mut self, document: &Document) -> Result<(), Vec<Diagnostic>> {
        let opening = Opening::new(&document.source, &document.reading);
        self.problems.clone_from(&opening.diagnostics);
        if !opening.is_ok() {
            return Err(Vec::new());
        }
        let Opening { mut store, module, .. } = opening;
        self.check(document, module.dialect())?;
        let mut trace = Trace::new(module);
        for (row, File { name, text }) in document.files.iter().enumerate() {
            let (name, micros) = pass_of(name);
            let before = trace.versions.len() - 1;
            let (module, found) = open(&mut store, text).into_module(&mut store);
            let same = EqualOptions::TEXTS;
            let (outcome, after) = if found.iter().any(Diagnostic::is_error) {
                (Outcome::Failed(placeless(found, text)), before)
            } else if equal::modules(&store, &trace.versions[before], &module, same).is_ok() {
                (Outcome::Ran, before)
            } else {
                trace.versions.push(module);
                (Outcome::Ran, before + 1)
            };
            let occurrence = 1 + trace.steps.iter().filter(|step| step.name == name).count();
            trace.steps.push(Step {
                id: format!("{name}#{occurrence}"),
                name: name.to_owned(),
                opt_level: 0,
                role: Role::Listed,
                parent: None,
                depth: 0,
                row,
                outcome,
                before,
                after,
                micros,
                rewrites: 0..0,
                reported: Vec::new(),
            });
        }
        self.store = store;
        self.trace = trace;
        self.document = document.clone();
        Ok(())
    }
}

fn wrong(message: &str) -> Diagnostic {
    Diagnostic::error("file-read", message, None)
}

/// Returns the errors of a file, with the line in words: the page shows places of the program only.
fn placeless(found: Vec<Diagnostic>, text: &str) -> Vec<Diagnostic> {
    let index = crate::diag::LineIndex::new(text);
    let line = |d: &Diagnostic| d.span.map_or(String::new(), |s| format!("line {}: ", index.line_column(text, s.start).0));
    let errors = found.into_iter().filter(Diagnostic::is_error).take(5);
    errors.map(|d| Diagnostic { message: format!("{}{}", line(&d), d.message), span: None, ..d }).collect()
}

/// Returns the pass that wrote a file, and how many microseconds it took: `003_FuseOps.relay` in some folder was written after
/// FuseOps, `003_FuseOps@1.5ms.relay` by a script that measured it.
fn pass_of(name: &str) -> (&str, f64) {
    let file = name.rsplit('/').next().unwrap_or(name);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let measured = stem.rsplit_once('@').and_then(|(stem, time)| Some((stem, time.strip_suffix("ms")?.parse::<f64>().ok()?)));
    let (stem, millis) = measured.filter(|(_, millis)| (0.0..1e9).contains(millis)).unwrap_or((stem, 0.0));
    let bare = stem.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(['_', '-', '.', ' ']);
    (if bare.is_empty() { stem } else { bare }, millis * 1000.0)
}

/// The comparison of a version with a program.
pub struct Comparison {
    /// The problems of that program; empty when it could be read.
    pub problems: Vec<Diagnostic>,
    /// The first difference by TVM's structural equality; empty when there is none.
    pub difference: String,
    /// True if `@main` gives the same on inputs made from a few seeds. None if one of them cannot be evaluated.
    pub same_values: Option<bool>,
}

impl Session {
    /// Compares a version with another program: its structure, and its results.
    pub fn compare(&mut self, version: usize, source: &str) -> Comparison {
        let mut store = std::mem::take(&mut self.store);
        let (read, found) = open(&mut store, source).into_module(&mut store);
        let module = self.trace.versions.get(version).cloned();
        let mut problems: Vec<Diagnostic> = found.into_iter().filter(Diagnostic::is_error).collect();
        let mut result = Comparison { problems: Vec::new(), difference: String::new(), same_values: None };
        match module {
            Some(module) if problems.is_empty() => {
                let options = EqualOptions::TEXTS;
                match equal::modules(&store, &module, &read, options) {
                    Ok(()) => result.same_values = Some(true),
                    Err(found) => {
                        result.difference = found.to_string();
                        result.same_values = same_values(&mut store, &module, &read);
                    }
                }
            }
            Some(_) => {}
            None => problems.push(wrong("there is no such version")),
        }
        self.store = store;
        result.problems = problems;
        result
    }
}

/// The limits of evaluation for comparing two programs: the answer is needed while the user types.
const PATIENCE: eval::EvalOptions = eval::EvalOptions { fuel: 500_000, work: u64::MAX };

/// Compares the results of `main`; nothing if a program has no `main` that can be run here within the limits. Values
/// that differ by no more than the error of another order of additions count as the same.
fn same_values(store: &mut crate::ir::Store, left: &crate::ir::Module, right: &crate::ir::Module) -> Option<bool> {
    for seed in 1..4 {
        let mut shown = [left, right].into_iter().map(|module| {
            let args = super::seeded_args(store, module, "main", seed).ok()?;
            let value = eval::eval_function(store, module, "main", &args, PATIENCE).ok()?;
            Some(eval::show(store, &value))
        });
        let (Some(Some(a)), Some(Some(b))) = (shown.next(), shown.next()) else { return None };
        if !close(&a, &b) {
            return Some(false);
        }
    }
    Some(true)
}

/// Compares two shown values word by word, numbers with a tolerance.
fn close(a: &str, b: &str) -> bool {
    let words = |text: &'_ str| -> Vec<String> {
        text.split(|c: char| c.is_whitespace() || "[](),".contains(c)).filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    let (a, b) = (words(a), words(b));
    let same = |x: &String, y: &String| match (x.parse::<f64>(), y.parse::<f64>()) {
        (Ok(x), Ok(y)) => (x - y).abs() <= 1e-4 * (1.0 + x.abs().max(y.abs())) || (x.is_nan() && y.is_nan()) || x == y,
        _ => x == y,
    };
    a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| same(x, y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::PassContext;
    use crate::session::document;

    const FIRST: &str = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) { add(%x, add(1f, 2f)) }\n";
    const SECOND: &str = "#[version = \"0.0.5\"]\ndef @main(%y: Tensor[(2), float32]) { add(%y, 3f) }\n";

    #[test]
    fn files_are_stepped_through_like_a_run() {
        let file = |name: &str, text: &str| File { name: name.into(), text: text.into() };
        let files = vec![
            file("dump/000_InferType.relay", FIRST),
            file("dump/001_TheirOwn.relay", SECOND),
            file("dump/002_Other.relay", "def @main("),
            file("003_TheirOwn@1.5ms.txt", SECOND),
        ];
        let document = Document { source: FIRST.into(), files, ..Document::default() };
        let mut session = Session::new(|| 0.0);
        assert!(session.run(&document, false));
        let steps: Vec<_> =
            session.trace().steps.iter().map(|s| (s.id.as_str(), s.outcome_words().0.word(), s.before, s.after)).collect();
        let expected = [
            ("InferType#1", "unchanged", 0, 0),
            ("TheirOwn#1", "changed", 0, 1),
            ("Other#1", "failed", 1, 1),
            ("TheirOwn#2", "unchanged", 1, 1),
        ];
        assert_eq!(steps, expected);
        assert!(session.diff(0, 1).is_some());
        assert_eq!(session.trace().steps.iter().map(|step| step.micros).collect::<Vec<_>>(), [0.0, 0.0, 0.0, 1500.0]);
        // Afterwards it runs passes as ever.
        assert!(session.run(&Document { source: FIRST.into(), ..Document::default() }, false));
        assert!(session.trace().steps.is_empty());
    }

    /// Such a row stood unread in the list, and the Python script that the page saves would have run it.
    #[test]
    fn the_rows_of_a_document_with_files_are_checked_like_all_others() {
        let head = "// passlab 1\n// pass: __import__('os').system('touch taken')\n// file: 1_FoldConstant.relay\n";
        let files = SECOND.lines().map(|line| format!("// file:|{line}\n")).collect::<String>();
        let (document, warnings) = crate::repro::text::read(&format!("{head}{files}{FIRST}")).unwrap();
        assert_eq!((document.files.len(), warnings.len()), (1, 0));
        let mut session = Session::new(|| 0.0);
        assert!(!session.run(&document, false));
        assert_eq!(session.problems()[0].code, "pass-syntax");
        let unknown = Document { rows: vec![crate::repro::DocumentRow { call: "Nothing()".into(), enabled: false }], ..document };
        assert!(!session.run(&unknown, false));
        let known = Document { rows: Vec::new(), ..unknown };
        assert!(session.run(&known, false));
        let much = Document { rows: Vec::new(), files: vec![File::default(); 2001], ..known };
        assert!(!session.run(&much, false));
        assert_eq!(session.problems()[0].message, "there are 2001 files, and at most 2000 are run");
    }

    #[test]
    fn a_version_is_compared_by_structure_and_by_values() {
        let mut session = Session::new(|| 0.0);
        assert!(session.run(&Document { source: FIRST.into(), ..Document::default() }, false));
        let other_name = session.compare(0, &FIRST.replace("%x", "%z"));
        assert_eq!((other_name.difference.as_str(), other_name.same_values), ("", Some(true)));
        let folded = session.compare(0, SECOND);
        assert!(!folded.difference.is_empty());
        assert_eq!(folded.same_values, Some(true));
        assert_eq!(session.compare(0, &SECOND.replace("3f", "4f")).same_values, Some(false));
        assert!(!session.compare(0, "def @main(").problems.is_empty());
    }

    /// The direct convolutions of a lesson take half a billion steps; the page waited for them behind every edit.
    #[test]
    fn a_program_that_takes_too_long_is_compared_by_structure_alone() {
        let program = |factor: &str| {
            format!(
                "@I.ir_module\nclass Module:\n    @T.prim_func\n    def long(A: T.Buffer((4,), \"float32\"), B: T.Buffer((4,), \
                 \"float32\")):\n        for i, j in T.grid(4, 100000000):\n            B[i] = A[i] * T.float32({factor})\n\n    \
                 @R.function\n    def main(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((4,), dtype=\"float32\"):\n        \
                 cls = Module\n        gv = R.call_tir(cls.long, (x,), out_ty=R.Tensor((4,), dtype=\"float32\"))\n        return gv\n"
            )
        };
        let mut session = Session::new(|| 0.0);
        assert!(session.run(&Document { source: program("2.0"), ..Document::default() }, false), "{:?}", session.problems());
        assert_eq!(session.compare(0, &program("2.0")).same_values, Some(true));
        let other = session.compare(0, &program("3.0"));
        assert!(other.problems.is_empty() && !other.difference.is_empty(), "{:?}", other.problems);
        assert_eq!(other.same_values, None);
    }

    fn shown(source: &str, calls: &str) -> (String, Vec<String>) {
        let mut session = Session::new(|| 0.0);
        session.run(&document(source, calls, PassContext::default()).expect("passes"), false);
        let last = session.trace().versions.len() - 1;
        let text = session.text(last, crate::print::Numbering::Exact).unwrap_or_default();
        (text, session.problems().iter().map(|d| d.message.clone()).collect())
    }

    /// Every pass saw an empty module, and said that it had changed nothing.
    #[test]
    fn passes_act_on_a_function_or_expression_that_stands_alone() {
        let relax = "# from tvm.script import relax as R\n\n@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    \
                     gv = R.add(x, x)\n    return gv\n";
        let (text, problems) = shown(relax, "LegalizeOps");
        assert!(text.contains("R.call_tir(cls.add, (x, x)") && text.contains("def f("), "{text}");
        assert!(problems.is_empty(), "{problems:?}");
        let (text, _) = shown("free_var %x: Tensor[(2), float32];\nadd(%x, 1f)", "FuseOps");
        assert!(text.contains("def @main(%x: Tensor[(2), float32]") && text.contains("Primitive=1"), "{text}");
        let (text, problems) = shown("fn (%x: Tensor[(2), float32]) { add(%x, %x, %x) }", "FuseOps");
        assert!(text.len() < 40 && problems.len() == 1, "{text} {problems:?}");
    }

    /// `CombineParallelConv2D` is the factory; the name that gates see has a small d, and nothing was said.
    #[test]
    fn a_required_or_disabled_name_that_no_pass_has_is_told() {
        let mut session = Session::new(|| 0.0);
        let context = PassContext {
            required: vec!["CombineParallelConv2D".into(), "FoldScaleAxis".into(), "sequential".into()],
            disabled: vec!["FoldConstnt".into(), "BackwardFoldScaleAxis".into(), "Mine".into()],
            ..PassContext::default()
        };
        assert!(session.run(&document(FIRST, "FoldConstant, Sequential([InferType])", context).expect("passes"), false));
        let told: Vec<String> = session.problems().iter().map(|d| format!("{} {}", d.message, d.notes.concat())).collect();
        assert_eq!(
            told,
            [
                "no pass is called `CombineParallelConv2D`, which is required did you mean `CombineParallelConv2d`?",
                "no pass is called `FoldConstnt`, which is disabled did you mean `FoldConstant`?",
                "no pass is called `Mine`, which is disabled ",
            ]
        );
    }

    /// The stack ended in one program of Relax, and memory in the other.
    #[test]
    fn tuples_of_tuples_end_at_a_limit_in_relax() {
        let program = |line: fn(usize) -> String, n: usize| {
            let lines: String = (1..n).map(line).collect();
            format!(
                "# from tvm.script import relax as R\n\n@R.function\ndef f(x0: R.Tensor((2,), \"float32\")):\n{lines}    return x0\n"
            )
        };
        let (_, deep) = shown(&program(|i| format!("    x{i} = (x{},)\n", i - 1), 2000), "Normalize");
        assert_eq!(deep, ["a type nests deeper than 256 levels"]);
        let (_, large) = shown(&program(|i| format!("    x{i} = (x{0}, x{0})\n", i - 1), 40), "Normalize");
        assert_eq!(large, ["a type has more than 65536 parts"]);
    }
}

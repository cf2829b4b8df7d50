//! The instruments that come with it: those of TVM (`src/ir/instrument.cc`, `python/tvm/ir/instrument.py`,
//! and `DumpIR` of later versions), and some that TVM does not have.

use super::instrument::{Instrument, InstrumentSpec, describe};
use super::spec::{Args, Literal, Param, PassError, PassInfo};
use crate::diag::{Diagnostic, LineIndex};
use crate::infer::infer_module;
use crate::ir::sort::sort_by;
use crate::ir::walk::post_order;
use crate::ir::{Dialect, Expr, ExprId, Module, Store};
use crate::ops;
use crate::print::{self, PrintOptions};
use crate::verify;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// The text that a hook prints, or the reason why it fails.
type Printed = Result<Option<String>, PassError>;

/// Every instrument. A new one is a struct here and a row of this table.
pub static ALL: &[InstrumentSpec] = &[
    InstrumentSpec {
        name: "PassTimingInstrument",
        params: &[],
        doc: "Prints how long each pass took as a tree: total time, time without nested passes, share of the whole and \
              of the parent. Rendered right before the context is left, as TVM demands it.",
        make: |_, _| Box::new(PassTiming),
    },
    InstrumentSpec {
        name: "PrintBeforeAll",
        params: &[],
        doc: "Prints the program before every pass.",
        make: |_, _| Box::new(PrintBeforeAll),
    },
    InstrumentSpec {
        name: "PrintAfterAll",
        params: &[],
        doc: "Prints the program after every pass.",
        make: |_, _| Box::new(PrintAfterAll),
    },
    InstrumentSpec {
        name: "PassPrintingInstrument",
        params: &[
            Param { name: "print_before_pass_names", default: "[]", doc: "Passes before which the program is printed." },
            Param { name: "print_after_pass_names", default: "[]", doc: "Passes after which the program is printed." },
        ],
        doc: "Prints the program before and after passes of these names.",
        make: |args, _| {
            let (before, after) = (names(args, "print_before_pass_names"), names(args, "print_after_pass_names"));
            Box::new(PassPrinting { before, after })
        },
    },
    InstrumentSpec {
        name: "DumpIR",
        params: &[
            Param { name: "dump_dir", default: "\"dump\"", doc: "The folder; TVM has no default." },
            Param { name: "refresh", default: "False", doc: "Whether TVM empties the folder first; it is always new here." },
        ],
        doc: "Writes the program after every pass to a file of its own, numbered in the order the passes end.",
        make: |args, _| Box::new(DumpIR { dir: args.str("dump_dir").unwrap_or("dump").to_owned(), counter: 0 }),
    },
    InstrumentSpec {
        name: "VerifyEach",
        params: &[],
        doc: "Fails the pass that leaves a program that is not well-formed or whose types do not fit.",
        make: |_, _| Box::new(VerifyEach::default()),
    },
    InstrumentSpec {
        name: "OpStatistics",
        params: &[],
        doc: "Counts the calls of each operator before and after every pass.",
        make: |_, _| Box::new(OpStatistics::default()),
    },
    InstrumentSpec {
        name: "PassMemoryInstrument",
        params: &[],
        doc: "Tells how many nodes every pass added to the session, and how many bytes they take with their tensors; what \
              passes inside of it added stands in brackets. Nothing is freed while a session lasts: the old version stays.",
        make: |_, _| Box::new(PassMemory::default()),
    },
    InstrumentSpec {
        name: "RewriteLog",
        params: &[],
        doc: "Lists what every pass replaced: the rule, and the place in the program that the code comes from.",
        make: |_, source| {
            let index = LineIndex::new(source);
            Box::new(RewriteLog { source: source.to_owned(), index, open: Vec::new(), told: 0 })
        },
    },
];

/// Returns the file that `DumpIR` writes as the `counter`th for a pass: TVMScript is Python, as TVM has it.
fn dump_name(counter: usize, pass: &str, dialect: Dialect) -> String {
    let name: String = pass.chars().map(|c| if "<>:\"/\\|?*".contains(c) || c.is_control() { '_' } else { c }).collect();
    format!("{counter:03}_{name}.{}", if dialect == Dialect::Relay { "relay" } else { "py" })
}

fn names(args: &Args, param: &str) -> Vec<String> {
    let Literal::List(items) = args.get(param) else { return Vec::new() };
    let name = |item: &Literal| match item {
        Literal::Str(name) => Some(name.clone()),
        _ => None,
    };
    items.iter().filter_map(name).collect()
}

/// Returns TVM's `str(module)`: no header, no metadata section.
fn module_text(store: &Store, module: &Module) -> String {
    print::module(store, module, &PrintOptions { header: false, metadata: false, ..PrintOptions::default() })
}

/// Is seen to be called; the times are in the trace anyway.
struct PassTiming;

impl Instrument for PassTiming {
    fn name(&self) -> &str {
        "PassTimingInstrument"
    }
}

struct PrintBeforeAll;

impl Instrument for PrintBeforeAll {
    fn name(&self) -> &str {
        "PrintBeforeAll"
    }

    fn run_before_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Printed {
        Ok(Some(format!("Before Running Pass: {}\n{}", describe(info), module_text(store, module))))
    }
}

struct PrintAfterAll;

impl Instrument for PrintAfterAll {
    fn name(&self) -> &str {
        "PrintAfterAll"
    }

    fn run_after_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Printed {
        Ok(Some(format!("After Running Pass: {}\n{}", describe(info), module_text(store, module))))
    }
}

struct PassPrinting {
    before: Vec<String>,
    after: Vec<String>,
}

impl Instrument for PassPrinting {
    fn name(&self) -> &str {
        "PassPrintingInstrument"
    }

    fn run_before_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Printed {
        let wanted = self.before.contains(&info.name);
        Ok(wanted.then(|| format!("Print IR before: {}\n{}\n\n", info.name, module_text(store, module))))
    }

    fn run_after_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Printed {
        let wanted = self.after.contains(&info.name);
        Ok(wanted.then(|| format!("Print IR after: {}\n{}\n\n", info.name, module_text(store, module))))
    }
}

/// Names the files. Their texts are those of the versions that the steps made.
struct DumpIR {
    dir: String,
    counter: usize,
}

impl Instrument for DumpIR {
    fn name(&self) -> &str {
        "DumpIR"
    }

    fn run_after_pass(&mut self, _: &mut Store, module: &Module, info: &PassInfo) -> Printed {
        let file = format!("{}/{}", self.dir, dump_name(self.counter, &info.name, module.dialect()));
        self.counter += 1;
        Ok(Some(file))
    }
}

#[derive(Default)]
struct VerifyEach {
    /// Passes that are running, the innermost last.
    open: Vec<String>,
    /// The last module that was found to be well-formed.
    verified: Option<Module>,
}

impl VerifyEach {
    fn verify(&mut self, store: &mut Store, module: &Module, blame: Option<&str>) -> Printed {
        if self.verified.as_ref() == Some(module) {
            return Ok(None);
        }
        let mut found: Vec<Diagnostic> = verify::verify(store, module).into_iter().filter(Diagnostic::is_error).collect();
        if found.is_empty() {
            found = infer_module(store, module).err().unwrap_or_default();
        }
        if found.is_empty() {
            self.verified = Some(module.clone());
            return Ok(None);
        }
        let blame = blame.map_or("the program was ill-formed from the beginning".to_owned(), |name| {
            format!("{name} left an ill-formed program")
        });
        Err(found.into_iter().map(|d| d.with_note(blame.clone())).collect())
    }
}

impl Instrument for VerifyEach {
    fn name(&self) -> &str {
        "VerifyEach"
    }

    fn run_before_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Printed {
        // A nested pass gets the module as its enclosing pass has made it so far.
        let blame = self.open.last().cloned();
        self.open.push(info.name.clone());
        self.verify(store, module, blame.as_deref())
    }

    fn run_after_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Printed {
        self.open.pop();
        self.verify(store, module, Some(&info.name))
    }
}

/// Calls by operator; functions that are called on the spot count as `fn`.
type Counts = FxHashMap<&'static str, usize>;

#[derive(Default)]
struct OpStatistics {
    /// The counts before each pass that is running.
    open: Vec<Counts>,
}

fn count_calls(store: &Store, module: &Module) -> Counts {
    let mut counts = Counts::default();
    for &(_, function) in module.functions() {
        for id in post_order(store, function) {
            let name = match store.call(id).map(|call| store.expr(call.callee)) {
                Some(Expr::Op(op)) => ops::info(op).name,
                Some(Expr::Function(_)) => "fn",
                _ => continue,
            };
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    counts
}

impl Instrument for OpStatistics {
    fn name(&self) -> &str {
        "OpStatistics"
    }

    fn run_before_pass(&mut self, store: &mut Store, module: &Module, _: &PassInfo) -> Printed {
        self.open.push(count_calls(store, module));
        Ok(None)
    }

    fn run_after_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Printed {
        let before = self.open.pop().unwrap_or_default();
        let after = count_calls(store, module);
        let total = |counts: &Counts| counts.iter().filter(|(name, _)| **name != "fn").map(|(_, n)| n).sum::<usize>();
        let mut text = format!("{}: {} operator calls before, {} after", info.name, total(&before), total(&after));
        let mut all: Vec<&str> = before.keys().chain(after.keys()).copied().collect();
        sort_by(&mut all, |a, b| a.cmp(b));
        all.dedup();
        for name in all {
            let (old, new) = (before.get(name).unwrap_or(&0), after.get(name).unwrap_or(&0));
            if old != new {
                let _ = write!(text, "\n  {name}: {old} -> {new}");
            }
        }
        Ok(Some(text))
    }
}

/// Nodes and bytes.
type Size = [usize; 2];

#[derive(Default)]
struct PassMemory {
    /// For each running pass: the session before it, and the part that nested passes have added.
    open: Vec<(Size, Size)>,
}

fn size_of_session(store: &Store) -> Size {
    [store.n_exprs(), store.bytes()]
}

impl Instrument for PassMemory {
    fn name(&self) -> &str {
        "PassMemoryInstrument"
    }

    fn run_before_pass(&mut self, store: &mut Store, _: &Module, _: &PassInfo) -> Printed {
        self.open.push((size_of_session(store), [0, 0]));
        Ok(None)
    }

    fn run_after_pass(&mut self, store: &mut Store, _: &Module, info: &PassInfo) -> Printed {
        let Some((before, inner)) = self.open.pop() else { return Ok(None) };
        let after = size_of_session(store);
        let added: Size = [0, 1].map(|i| after[i] - before[i]);
        if let Some((_, outer)) = self.open.last_mut() {
            *outer = [0, 1].map(|i| outer[i] + added[i]);
        }
        let inside = if inner == [0, 0] { String::new() } else { format!(" ({} nodes, {} bytes inside)", inner[0], inner[1]) };
        Ok(Some(format!("{}: +{} nodes, +{} bytes{inside}", info.name, added[0], added[1])))
    }
}

struct RewriteLog {
    source: String,
    index: LineIndex,
    /// Passes that are running, the innermost last.
    open: Vec<String>,
    /// The number of rewrites of the store's log that have been reported.
    told: usize,
}

impl RewriteLog {
    /// Tells the rewrites of the innermost pass since the last time.
    fn tell(&mut self, store: &Store) -> Option<String> {
        let pass = self.open.last()?;
        let rewrites = store.log.done.get(self.told..)?;
        let mut lines = Vec::new();
        for rewrite in rewrites {
            let place = store.source_span(rewrite.pre).map_or(String::new(), |span| {
                let (line, column) = self.index.line_column(&self.source, span.start);
                format!("{line}:{column} ")
            });
            let became = match rewrite.pre == rewrite.post {
                true => "is removed".to_owned(),
                false => format!("becomes {}", what(store, rewrite.post)),
            };
            lines.push(format!("{pass}: {place}{} {became} ({})", what(store, rewrite.pre), rewrite.rule));
        }
        self.told = store.log.done.len();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Names a node in a word: the operator that it calls, or TVM's name of its kind.
fn what(store: &Store, id: ExprId) -> String {
    store.called_op(id).map_or_else(|| format!("{:?}", store.expr(id).kind()), |op| ops::info(op).name.to_owned())
}

impl Instrument for RewriteLog {
    fn name(&self) -> &str {
        "RewriteLog"
    }

    fn run_before_pass(&mut self, store: &mut Store, _: &Module, info: &PassInfo) -> Printed {
        let text = self.tell(store);
        if self.open.is_empty() {
            self.told = store.log.done.len();
        }
        self.open.push(info.name.clone());
        Ok(text)
    }

    fn run_after_pass(&mut self, store: &mut Store, _: &Module, _: &PassInfo) -> Printed {
        let text = self.tell(store);
        self.open.pop();
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumped_files_are_numbered_and_have_no_character_that_a_file_system_refuses() {
        assert_eq!(dump_name(3, "FuseOps", Dialect::Relay), "003_FuseOps.relay");
        assert_eq!(dump_name(1234, " a/b:c", Dialect::Relay), "1234_ a_b_c.relay");
        assert_eq!(dump_name(0, "LegalizeOps", Dialect::Relax), "000_LegalizeOps.py");
        assert_eq!(dump_name(1, "a\nb\0", Dialect::Relax), "001_a_b_.py");
    }
}

//! A session: a program that is opened, run and inspected, again and again while it is edited.
//!
//! This is the one interface that the page and the command line use.

mod beside;
mod files;
mod graph;
mod history;
mod measure;
mod nest;
mod opening;
mod place;
mod trial;
mod values;

pub use files::Comparison;
pub use graph::{Graph, GraphNode, Graphs, Group, NodeFate};
pub use history::{Entry, Fate, History};
pub use measure::{Measure, widths};
pub use nest::{Nest, NestNode};
pub use place::{LineNames, Place, attributes, label, node_type};
pub use trial::{Preview, Rewritten};
pub use values::{Part, Values};

use crate::diag::Diagnostic;
use crate::diff::{self, Diff};
use crate::eval::{self, Value};
use crate::infer;
use crate::ir::walk::{free_vars, post_order};
use crate::ir::{Dialect, Expr, ExprId, Function, Id, List, Module, Name, Store};
use crate::parse;
use crate::pass::PassContext;
use crate::pass::call::parse_calls;
use crate::pass::config::{self, OwnKey};
use crate::pass::instrument::{self, Instrument};
use crate::pass::manager::{Pass, Registry, Row, Runner, resolve_in};
use crate::pass::trace::{LogKind, Step, Trace, Version};
use crate::passes;
use crate::print::{self, Naming, Numbering, PrintOptions};
use crate::repro::{self, Document, DocumentRow};
use opening::Opening;
use std::cell::OnceCell;
use std::rc::Rc;

/// A program that was read: parsed and, when that went well, typed, as TVM's `relay.parse` does.
#[derive(Clone)]
pub struct Opened {
    /// The definitions.
    pub module: Module,
    /// The expression, when the text is one instead of a module. It is not typed, as in TVM's `parse_expr`.
    pub expr: Option<ExprId>,
    /// The problems of the program.
    pub diagnostics: Vec<Diagnostic>,
    /// The programs of a text that has several, the last first.
    pub choices: Vec<parse::Choice>,
}

impl Opened {
    /// True if it can be run.
    pub fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Turns the program into a typed module, and adds its problems to the diagnostics. An expression becomes the module
    /// of TVM's `IRModule.from_expr`: a function has the name in its `global_symbol`, else it is `@main`; anything else
    /// is the body of a `@main` with its free variables as parameters.
    pub fn into_module(mut self, store: &mut Store) -> (Module, Vec<Diagnostic>) {
        let Some(expr) = self.expr.filter(|_| self.is_ok()) else { return (self.module, self.diagnostics) };
        let attrs = match store.expr(expr) {
            Expr::PrimFunc(func) => Some(store.prim_func(func).attrs),
            _ => store.as_function(expr).map(|function| function.attrs),
        };
        let (name, function) = match attrs {
            Some(attrs) => (store.attr_str(attrs, "global_symbol").unwrap_or("main").to_owned(), expr),
            None => ("main".to_owned(), function_of(store, expr)),
        };
        let name = store.name(&name);
        self.module.set_function(name, function);
        match infer::infer_module(store, &self.module) {
            Ok(typed) => self.module = typed,
            Err(found) => self.diagnostics.extend(found),
        }
        (self.module, self.diagnostics)
    }
}

/// Makes a function of the free variables of an expression.
fn function_of(store: &mut Store, expr: ExprId) -> ExprId {
    let free = free_vars(store, expr);
    let params = store.list(&free);
    let function = Function { params, type_params: List::EMPTY, ret: None, body: expr, attrs: None, device: None, pure: true };
    store.function_expr(function)
}

/// Reads a program: parses it and infers its types.
pub fn open(store: &mut Store, source: &str) -> Opened {
    open_with(store, source, &parse::Options::default())
}

/// Reads the program of a text that the options choose, with values for names from around it.
pub fn open_with(store: &mut Store, source: &str, options: &parse::Options) -> Opened {
    let parsed = parse::parse_with(store, source, options);
    open_parsed(store, parsed)
}

/// Infers the types of a program that was read.
pub fn open_parsed(store: &mut Store, parsed: parse::Parsed) -> Opened {
    let parse::Parsed { program, mut diagnostics, choices } = parsed;
    let parsed_well = !diagnostics.iter().any(Diagnostic::is_error);
    if diagnostics.iter().any(|d| d.is_error() && d.code.starts_with("front-")) {
        // The kind of the text has been reported; its types add nothing.
        return Opened { module: program.module, expr: program.expr, diagnostics, choices };
    }
    let mut module = program.module;
    match infer::infer_module(store, &module) {
        Ok(typed) => module = typed,
        Err(found) if parsed_well => {
            // That a type is not known follows from a function that does not exist.
            let lost = found.iter().any(|d| d.code == "relay-unbound-global");
            diagnostics.extend(found.into_iter().filter(|d| !lost || d.code != "relay-type-unknown"));
        }
        // Relax is inferred as a whole.
        Err(_) if module.dialect() == Dialect::Relax => {}
        Err(_) => {
            for &(_, function) in module.functions() {
                // Errors about calls of functions that could not be parsed only repeat the parser's.
                let repeats = mentions(store, function, &program.left_out);
                if let (false, Err(found)) = (repeats, infer::infer_expr(store, &module, function)) {
                    // Unknown types follow from the parts that could not be read.
                    diagnostics.extend(found.into_iter().filter(|d| d.code != "relay-type-unknown"));
                }
            }
        }
    }
    let mut expr = program.expr;
    // A function of Relax that stands alone is typed while it is read, as TVM does; an expression of Relay is not.
    let typed = |expr: &ExprId| module.dialect() == Dialect::Relax && parsed_well && store.as_function(*expr).is_some();
    if let Some(function) = expr.filter(typed) {
        match infer::infer_expr(store, &module, function) {
            Ok(typed) => expr = Some(typed),
            Err(found) => diagnostics.extend(found),
        }
    }
    Opened { module, expr, diagnostics, choices }
}

/// True if a function names one of these.
fn mentions(store: &Store, function: ExprId, names: &[Id<Name>]) -> bool {
    let named = |id: ExprId| matches!(store.expr(id), Expr::Global(name) if names.contains(&name));
    post_order(store, function).into_iter().any(named)
}

/// Reads the rows of a list of passes; the error says which row is wrong.
fn resolve_rows(registry: &Registry, rows: &[DocumentRow]) -> Result<Vec<Row>, Diagnostic> {
    let mut resolved = Vec::with_capacity(rows.len());
    for row in rows {
        let calls = parse_calls(&row.call).map_err(|e| e.with_note(format!("in the row `{}`", row.call)))?;
        let [call] = calls.as_slice() else {
            return Err(Diagnostic::error("pass-syntax", format!("`{}` is not one pass", row.call), None));
        };
        resolved.push(Row { pass: resolve_in(registry, call)?, enabled: row.enabled });
    }
    Ok(resolved)
}

/// Past this many nodes a session starts over instead of continuing: every version ever made is
/// kept, and an afternoon of edits should not fill the memory.
const MAX_NODES: usize = 4_000_000;

/// A program and its run. Runs again only the part that an edit affects: from the first row that is different on, or
/// everything when the program itself is. While the newest document cannot be run, the results of the last one that
/// could stay in place.
pub struct Session {
    store: Store,
    document: Document,
    trace: Trace,
    /// Findings about the newest document.
    problems: Vec<Diagnostic>,
    /// Notes and warnings about the program of the trace.
    about: Vec<Diagnostic>,
    /// True if the newest document could be run.
    ok: bool,
    clock: fn() -> f64,
    /// The graphs of the trace, once they were asked for.
    graphs: Option<Graphs>,
    /// A program that was opened to be run next.
    opening: Option<Opening>,
    /// Versions of a list that was run beside the document's.
    beside: Vec<Module>,
    /// The stable names in the versions of the trace, computed on first use.
    naming: OnceCell<Naming>,
    /// The same with the names in the versions beside it.
    naming_beside: OnceCell<Naming>,
    /// Runs of tensor programs that were measured.
    ran: Vec<measure::Ran>,
    user: User,
}

/// The passes and instruments of a document's script.
#[derive(Clone)]
pub struct User {
    /// Passes, with names that no other pass has.
    pub passes: Vec<Pass>,
    /// Makes the instrument of a name, if it is one of the script's.
    pub instrument: Rc<dyn Fn(&str) -> Option<Box<dyn Instrument>>>,
    /// Keys of the configuration that its passes read.
    pub keys: Vec<OwnKey>,
}

impl Default for User {
    fn default() -> User {
        User { passes: Vec::new(), instrument: Rc::new(|_| None), keys: Vec::new() }
    }
}

impl Session {
    /// Makes a session with the empty program. `clock` tells microseconds since some fixed moment.
    pub fn new(clock: fn() -> f64) -> Session {
        let trace = Trace::new(Module::new());
        Session {
            store: Store::new(),
            document: Document::default(),
            trace,
            problems: Vec::new(),
            about: Vec::new(),
            ok: true,
            clock,
            graphs: None,
            opening: None,
            beside: Vec::new(),
            naming: OnceCell::new(),
            naming_beside: OnceCell::new(),
            ran: Vec::new(),
            user: User::default(),
        }
    }

    /// Opens a program that is to be run next, and gives away the memory that it will be run in: a script makes its passes
    /// in it before. Until [`Session::take_back`] the session is not to be used.
    pub fn lend(&mut self, source: &str) -> Store {
        if !self.must_open(source) {
            self.opening = None;
            return std::mem::take(&mut self.store);
        }
        let opened = self.opening.take().filter(|opening| opening.source == source);
        let opening = self.opening.insert(opened.unwrap_or_else(|| Opening::new(source, &parse::Options::default())));
        std::mem::take(&mut opening.store)
    }

    /// Takes the memory back that was lent.
    pub fn take_back(&mut self, store: Store) {
        match &mut self.opening {
            Some(opening) => opening.store = store,
            None => self.store = store,
        }
    }

    /// Sets the passes and instruments of the script of the next document.
    pub fn set_user(&mut self, user: User) {
        self.user = user;
    }

    fn must_open(&self, source: &str) -> bool {
        source != self.document.source || self.store.n_nodes() > MAX_NODES || self.store.n_nodes() == 0
    }

    /// Opens the document's program, unless it is open already, and runs its passes as the children of a
    /// `Sequential`, or each directly. False when program, list or context is wrong; then nothing ran.
    pub fn run(&mut self, document: &Document, direct: bool) -> bool {
        self.problems.clear();
        self.set_beside(Vec::new());
        self.naming = OnceCell::new();
        let ran = match document.files.is_empty() {
            true => self.prepare(document).map(|(rows, instruments)| self.run_rows(document, &rows, instruments, direct)),
            false => self.run_files(document),
        };
        self.ok = ran.is_ok();
        self.problems.extend(ran.err().into_iter().flatten());
        self.ok
    }

    /// Checks the document without its program. Decides alone which documents are run, here and on the command line. A
    /// document from a file or a link may have been written by anyone.
    fn check(&self, document: &Document, dialect: Dialect) -> Result<Vec<Row>, Vec<Diagnostic>> {
        document.check_size().map_err(|e| vec![e])?;
        let rows = resolve_rows(&self.registry(dialect), &document.rows).map_err(|e| vec![e])?;
        let wrong = config::validate(&document.context.config, &self.user.keys).into_iter();
        let wrong: Vec<Diagnostic> = wrong
            .map(|(key, e)| {
                let error = Diagnostic::error("pass-config", e, None).with_note(format!("in the configuration: {key}"));
                let near = config::nearest_key(key, &self.user.keys);
                near.into_iter().fold(error, |error, near| error.with_note(format!("did you mean `{near}`?")))
            })
            .collect();
        if wrong.is_empty() { Ok(rows) } else { Err(wrong) }
    }

    /// Reports names in the context that no pass has: gates would never see them.
    fn unknown_names(&self, document: &Document, rows: &[Row], dialect: Dialect) -> Vec<Diagnostic> {
        let registry = self.registry(dialect);
        let mut parts = Vec::new();
        for row in rows {
            row.pass.for_each_name(&mut |name| parts.push(name.to_owned()));
        }
        let PassContext { required, disabled, .. } = &document.context;
        let all = required.iter().map(|name| ("required", name)).chain(disabled.iter().map(|name| ("disabled", name)));
        let unknown = all.filter(|(_, name)| !parts.contains(name)).filter_map(|(what, name)| {
            let near = registry.gate_name(name).err()?;
            let warning = Diagnostic::warning("pass-name", format!("no pass is called `{name}`, which is {what}"), None);
            Some(near.into_iter().fold(warning, |warning, near| warning.with_note(format!("did you mean `{near}`?"))))
        });
        unknown.collect()
    }

    /// Checks everything, and brings program and trace to where the rows can be run from.
    fn prepare(&mut self, document: &Document) -> Result<(Vec<Row>, Vec<Box<dyn Instrument>>), Vec<Diagnostic>> {
        let must_open = self.must_open(&document.source) || document.reading != self.document.reading;
        let opening = must_open.then(|| {
            let same = |opening: &Opening| opening.source == document.source && opening.reading == document.reading;
            let opened = self.opening.take().filter(same);
            opened.unwrap_or_else(|| Opening::new(&document.source, &document.reading))
        });
        self.problems.clone_from(opening.as_ref().map_or(&self.about, |opening| &opening.diagnostics));
        if opening.as_ref().is_some_and(|opening| !opening.is_ok()) {
            self.opening = opening;
            return Err(Vec::new());
        }
        if opening.is_none() {
            self.opening = None;
        }
        if document.script.is_empty() {
            self.user = User::default();
        }
        let module = opening.as_ref().map_or(&self.trace.versions[0], |opening| &opening.module);
        let rows = match self.check(document, module.dialect()) {
            Ok(rows) => rows,
            Err(wrong) => {
                // It need not be read again once the list is mended.
                self.opening = opening;
                return Err(wrong);
            }
        };
        let unknown = self.unknown_names(document, &rows, module.dialect());
        self.problems.extend(unknown);
        let made = document.instruments.iter().map(|call| self.instrument(call, &document.source));
        let instruments = made.collect::<Result<_, _>>().map_err(|e| vec![e])?;
        match opening {
            Some(opening) => {
                self.store = opening.store;
                self.about = opening.diagnostics;
                self.ran.clear();
                self.trace = Trace::new(opening.module);
            }
            // Instruments see every pass from the first on, or their counts and numbers would be wrong.
            None if !document.instruments.is_empty() || !self.document.instruments.is_empty() => {
                self.trace = Trace::new(self.trace.versions[0].clone());
            }
            None => self.trace.truncate_to_row(self.first_different_row(document)),
        }
        Ok((rows, instruments))
    }

    fn registry(&self, dialect: Dialect) -> Registry {
        Registry::from(passes::ALL).of(dialect).with_user(self.user.passes.clone())
    }

    fn run_rows(&mut self, document: &Document, rows: &[Row], instruments: Vec<Box<dyn Instrument>>, direct: bool) {
        self.document = document.clone();
        self.graphs = None;
        let done = self.trace.steps.last().map_or(0, |step| step.row + 1);
        let timed = instruments.iter().any(|i| i.name() == "PassTimingInstrument");
        let mut runner =
            Runner::new(self.registry(self.trace.versions[0].dialect()), self.clock, std::mem::take(&mut self.trace));
        let entered = runner.enter(document.context.clone(), instruments);
        if entered.is_ok() {
            runner.run_rows(&mut self.store, rows, done, direct);
            if timed {
                // Prints the timings as a script does with `render()`, which is empty once the context is left.
                runner.trace.print(runner.trace.render_timing());
            }
        }
        let left = runner.exit();
        self.trace = runner.trace;
        for failed in [entered, left].into_iter().filter_map(Result::err) {
            self.problems.extend(failed);
        }
    }

    /// Makes the instrument of a call: one of the script's, which take no arguments, or one that is built in.
    fn instrument(&self, call: &str, source: &str) -> Result<Box<dyn Instrument>, Diagnostic> {
        let of_the_user = (self.user.instrument)(call.trim().trim_end_matches("()"));
        of_the_user.map_or_else(|| instrument::resolve(call, source), Ok)
    }

    fn first_different_row(&self, document: &Document) -> usize {
        // Passes of a script may keep state of their own, so all of it runs again, as if for the first time.
        if !document.script.is_empty() || !self.document.script.is_empty() {
            return 0;
        }
        if document.context != self.document.context {
            return 0;
        }
        let pairs = document.rows.iter().zip(&self.document.rows);
        pairs.take_while(|(new, old)| new == old).count()
    }

    /// Returns the session's memory, to run programs in, and the versions of the last run.
    pub fn split(&mut self) -> (&mut Store, &[Module]) {
        (&mut self.store, &self.trace.versions)
    }

    /// Makes a new session with what this one's script defines.
    pub fn like(&self) -> Session {
        Session { user: self.user.clone(), ..Session::new(self.clock) }
    }

    /// Returns the last document that could be run.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Returns the session's memory.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the language of the last program that could be run.
    pub fn dialect(&self) -> Dialect {
        self.trace.versions.first().map_or(Dialect::Relay, Module::dialect)
    }

    /// Returns the trace of the last document that could be run.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns the program that the versions were made from.
    pub fn source(&self) -> &str {
        &self.document.source
    }

    /// True if the newest document could be run.
    pub fn is_ok(&self) -> bool {
        self.ok
    }

    /// Findings about the newest document: its program, list of passes and context.
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Returns the text of a version as TVM prints it, or with numbers that stay the same from version to version.
    pub fn text(&self, version: Version, numbering: Numbering) -> Option<String> {
        let module = self.version(version)?;
        Some(print::module(&self.store, module, &PrintOptions { numbering, ..PrintOptions::default() }))
    }

    /// Returns a hash of the run's results: the steps with their outcomes, and every version as TVM prints it. Six
    /// digits, which is enough to notice a difference; the same in every build of an engine.
    pub fn result_hash(&self) -> String {
        let mut all = String::new();
        for step in &self.trace.steps {
            all += &format!("{} {}\n", step.id, step.outcome_words().0.word());
        }
        for version in 0..self.trace.versions.len() {
            all += &self.text(version, Numbering::Exact).unwrap_or_default();
        }
        format!("{:06x}", repro::hash(all.as_bytes()) >> 8)
    }

    /// Returns the functions of the module that a step changed, made or took away.
    pub fn changed_functions(&self, step: &Step) -> Vec<&str> {
        let (Some(before), Some(after)) = (self.version(step.before), self.version(step.after)) else { return Vec::new() };
        let gone = before.functions().iter().filter(|(name, _)| after.function(*name).is_none());
        let changed = after.functions().iter().filter(|(name, root)| before.function(*name) != Some(*root));
        changed.chain(gone).map(|(name, _)| self.store.str(*name)).collect()
    }

    /// Returns the files of the `DumpIR` instrument: name and text, in the order they are numbered.
    pub fn dump(&self) -> Vec<(String, String)> {
        let pairs = self.trace.log.windows(2).filter(|pair| pair[0].text.starts_with("DumpIR.run_after_pass("));
        let named = pairs.filter(|pair| pair[1].kind == LogKind::Printed).filter_map(|pair| {
            let step = self.trace.steps.get(pair[1].step?)?;
            Some((pair[1].text.clone(), self.text(step.after, Numbering::Exact)?))
        });
        named.collect()
    }

    /// Returns the difference between two versions.
    pub fn diff(&self, before: Version, after: Version) -> Option<Diff> {
        let naming = self.naming(before.max(after));
        let (before, after) = (self.version(before)?, self.version(after)?);
        Some(diff::diff(&self.store, naming, before, after))
    }

    /// Returns the names of temporaries and variables that stay the same from version to version. They depend on the
    /// program and the list alone.
    pub fn naming(&self, version: Version) -> &Naming {
        let naming = self.naming.get_or_init(|| Naming::of(&self.store, &self.trace.versions));
        if version < self.trace.versions.len() {
            return naming;
        }
        self.naming_beside.get_or_init(|| {
            let mut more = naming.clone();
            self.beside.iter().for_each(|module| more.add(&self.store, module));
            more
        })
    }

    /// Returns the dataflow graph between two versions. Nodes of all versions of a run get their places at once.
    pub fn graph(&mut self, before: Version, after: Version) -> Option<Graph> {
        let dialect = self.dialect();
        let graphs = self.graphs.get_or_insert_with(|| Graphs::of(&self.store, &self.trace));
        graphs.step(&self.store, dialect, before, after)
    }

    /// Returns the history of an expression of a version; none if the place has no expression.
    pub fn history(&self, version: Version, place: &Place) -> Option<History> {
        let node =
            place::resolve(&self.store, self.trace.versions.get(version)?, &self.document.source, place, self.naming(version))?;
        (node.index() < self.store.n_exprs()).then(|| history::history(&self.store, &self.trace, version, node))
    }

    /// Returns the names in a line, from 1, of a version's text with stable names or TVM's; none if there is no such line.
    pub fn names_in(&self, version: Version, line: usize, stable: bool) -> Option<LineNames> {
        let naming = stable.then(|| self.naming(version));
        place::names_in(&self.store, self.trace.versions.get(version)?, naming, line)
    }

    /// Returns the line, from 1, of a history's expression in a version's text with stable names.
    pub fn line_in(&self, history: &History, version: Version) -> Option<usize> {
        let node = history.entries.iter().find(|entry| entry.version == version)?.node?;
        place::Lines::of(&self.store, self.trace.versions.get(version)?, Some(self.naming(version))).line_of(&self.store, node)
    }
}

/// Makes made-up arguments for a function of a module.
pub fn seeded_args(store: &mut Store, module: &Module, function: &str, seed: u64) -> Result<Vec<Value>, Diagnostic> {
    let name = store.name(function);
    let root = module.function(name);
    let root = root.ok_or_else(|| Diagnostic::error("eval-failed", module.has_no_function(store, function), None))?;
    eval::made_args(store, module, root, eval::Making::random(seed)).map_err(|e| e.to_diagnostic())
}

/// Makes a document that runs `calls` on `source`.
pub fn document(source: &str, calls: &str, context: PassContext) -> Result<Document, Diagnostic> {
    let rows = parse_calls(calls)?.iter().map(|call| DocumentRow { call: call.to_string(), enabled: true }).collect();
    Ok(Document { source: source.to_owned(), rows, context, ..Document::default() })
}

//! Answers to the page: the engine's types as the messages of [`boundary`](crate::boundary).

use crate::boundary::Word;
use crate::boundary::catalogue as lists;
use crate::boundary::documents::{DecodeResult, DumpFile};
use crate::boundary::messages::{self as says, Language};
use crate::diag::{Diagnostic, Fix, LineIndex, Span};
use crate::diff::Diff;
use crate::ir::Dialect;
use crate::pass::instrument::InstrumentSpec;
use crate::pass::trace::{LogEntry, Outcome, Step, Trace};
use crate::pass::{Param, PassSpec, built_in, config};
use crate::passes::{self, Pipeline};
use crate::repro::Document;
use crate::session::{self, Entry, Graph, GraphNode, History, LineNames, Rewritten, Session};
use crate::{ops, print};

/// Converts findings about one text.
pub(super) struct Problems<'t> {
    text: &'t str,
    index: LineIndex,
}

impl<'t> Problems<'t> {
    pub(super) fn new(text: &'t str) -> Problems<'t> {
        Problems { text, index: LineIndex::new(text) }
    }

    pub(super) fn view(&self, found: &Diagnostic) -> says::Problem {
        let place = found.span.map(|span| self.index.line_column(self.text, span.start));
        says::Problem {
            severity: Word(found.severity),
            code: found.code,
            message: found.message.clone(),
            from: found.span.map(|span| self.index.utf16(self.text, span.start)),
            to: found.span.map(|span| self.index.utf16(self.text, span.end)),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            notes: found.notes.clone(),
            fixes: Some(found.fixes.iter().map(|fix| self.fix(fix)).collect()),
        }
    }

    fn fix(&self, fix: &Fix) -> says::Fix {
        let place = |at| self.index.utf16(self.text, at);
        let edit = |(span, text): &(Span, String)| (place(span.start), place(span.end), text.clone());
        says::Fix { title: fix.title.clone(), edits: fix.edits.iter().map(edit).collect(), asks: fix.asks.clone() }
    }

    pub(super) fn all(&self, found: &[Diagnostic]) -> Vec<says::Problem> {
        found.iter().map(|d| self.view(d)).collect()
    }
}

fn step(session: &Session, step: &Step, problems: &Problems<'_>) -> says::Step {
    let (outcome, reason) = step.outcome_words();
    let mut found = problems.all(&step.reported);
    if let Outcome::Failed(failures) = &step.outcome {
        found.extend(problems.all(failures));
    }
    says::Step {
        id: step.id.clone(),
        name: step.name.clone(),
        depth: step.depth,
        parent: step.parent,
        row: step.row,
        role: Word(step.role),
        outcome: Word(outcome),
        reason,
        opt_level: step.opt_level,
        before: step.before,
        after: step.after,
        micros: step.micros,
        rewrites: step.rewrites.len(),
        functions: session.changed_functions(step).into_iter().map(str::to_owned).collect(),
        problems: found,
    }
}

fn log(entry: &LogEntry) -> says::LogEntry {
    says::LogEntry { kind: Word(entry.kind), text: entry.text.clone(), step: entry.step }
}

/// Offers to write a program as TVM prints it today, when its text has older spellings or other things beside it.
fn today(session: &Session, problems: &Problems<'_>) -> Option<says::Problem> {
    let (len, text) = session.today()?;
    let whole = Span { start: 0, end: len as u32 };
    let help = Diagnostic::help("front-today", "this can be written as TVM prints it today, without what stands beside it", None);
    Some(problems.view(&help.with_fix("Write it as today", vec![(whole, text)])))
}

/// The language of a program. TIR stands in programs of Relax.
fn language(dialect: Dialect) -> Word<Language> {
    Word(match dialect {
        Dialect::Relay => Language::Relay,
        Dialect::Relax | Dialect::Tir => Language::Relax,
    })
}

/// The answer to a run: steps only when it could be run.
pub(super) fn run(session: &Session, source: &str, millis: f64) -> says::Run {
    let problems = Problems::new(source);
    let nothing = Trace::default();
    let trace = if session.is_ok() { session.trace() } else { &nothing };
    says::Run {
        dialect: language(session.dialect()),
        problems: problems.all(session.problems()).into_iter().chain(today(session, &problems)).collect(),
        ok: session.is_ok(),
        steps: trace.steps.iter().map(|s| step(session, s, &problems)).collect(),
        versions: trace.versions.len(),
        log: trace.log.iter().map(log).collect(),
        timing: trace.render_timing(),
        millis,
    }
}

/// The answer to a list that is run beside the run that is shown.
pub(super) fn beside(session: &mut Session, document: &Document) -> says::Beside {
    let beside = session.beside(document);
    let problems = Problems::new(session.source());
    match beside {
        Ok(trace) => {
            let steps = trace.steps.iter().map(|s| step(session, s, &problems)).collect();
            says::Beside { problem: String::new(), steps }
        }
        Err(found) => says::Beside { problem: found.message, steps: Vec::new() },
    }
}

/// A diff but for its rows.
pub(super) fn diff(diff: &Diff) -> says::Diff<'_> {
    says::Diff {
        before: &diff.before.text,
        after: &diff.after.text,
        added: diff.added,
        removed: diff.removed,
        changed: diff.changed,
        moved: diff.moved,
        renumbered: diff.renumbered,
        summary: &diff.summary,
    }
}

/// The rows of a diff, one after the other: its kind, its lines from 1 (0 for none), how many numbers tell the words that
/// differ before and after, and those numbers.
pub(super) fn diff_rows(diff: &Diff) -> Vec<u32> {
    let mut numbers = Vec::with_capacity(5 * diff.rows.len());
    for row in &diff.rows {
        let line = |line: Option<usize>| line.unwrap_or(0) as u32;
        numbers.extend([row.kind as u32, line(row.left), line(row.right)]);
        numbers.extend([row.left_words.len() as u32, row.right_words.len() as u32]);
        numbers.extend(&row.left_words);
        numbers.extend(&row.right_words);
    }
    numbers
}

/// The names in a line.
pub(super) fn names(found: LineNames) -> says::LineNames {
    says::LineNames { names: found.names, own: found.own }
}

/// The rewrites of a step.
pub(super) fn rewrites(rewrites: &[Rewritten]) -> Vec<says::Rewrite<'_>> {
    rewrites.iter().map(|r| says::Rewrite { rule: r.rule, pre: &r.pre, post: &r.post }).collect()
}

fn params(params: &'static [Param]) -> Vec<lists::PassParam> {
    params.iter().map(|p| lists::PassParam { name: p.name, default: p.default, doc: p.doc }).collect()
}

fn pass(spec: &PassSpec) -> lists::PassDoc {
    lists::PassDoc {
        name: spec.name,
        info_name: spec.info_name,
        // Those of whose programs the page offers the pass: TIR stands in programs of Relax.
        dialects: [Dialect::Relay, Dialect::Relax].into_iter().filter(|d| spec.works_on(*d)).map(language).collect(),
        kind: Word(spec.run.kind()),
        opt_level: spec.opt_level,
        required: spec.required,
        config_keys: spec.config,
        params: params(spec.params),
        summary: spec.summary,
        call: spec.example_call(),
        available: true,
    }
}

fn pipeline(pipeline: &Pipeline) -> lists::PipelineDoc {
    lists::PipelineDoc {
        name: pipeline.name,
        title: pipeline.title,
        dialect: language(pipeline.dialect),
        opt_level: pipeline.opt_level,
        passes: pipeline.calls(),
        missing: pipeline.missing(),
    }
}

/// An operator, once for each dialect that has it: names, arguments and attributes may differ.
fn op(op: &ops::OpInfo) -> impl Iterator<Item = lists::OpDoc> {
    let attr = |field: &ops::AttrField| lists::AttrDoc {
        name: field.name,
        r#type: field.kind.to_string(),
        default: field.default.map(|d| d.to_string()),
    };
    let view = |name: String, dialect, args: Vec<&'static str>, attrs: Option<&ops::AttrsSchema>| lists::OpDoc {
        name,
        dialects: vec![language(dialect)],
        args,
        attrs: attrs.map_or(Vec::new(), |schema| schema.fields.iter().map(attr).collect()),
        pattern: op.pattern.map(|p| format!("{p:?}")),
        has_kernel: op.kernel.is_some(),
        doc: op.doc,
    };
    let relay = op.relay.map(|row| view(op.written_in(Dialect::Relay), Dialect::Relay, row.args.to_vec(), row.attrs));
    let relax = |row: &ops::RelaxOp| {
        view(op.written_in(Dialect::Relax), Dialect::Relax, row.args.iter().map(|arg| arg.name).collect(), row.attrs)
    };
    relay.into_iter().chain(op.relax.as_ref().map(relax))
}

/// Everything there is to choose from.
pub(super) fn catalogue() -> lists::Catalogue {
    let key = |key: &config::ConfigKey| lists::ConfigKey {
        key: key.key,
        r#type: Word(key.ty.word()),
        default: key.default(),
        doc: key.doc,
    };
    let instrument = |spec: &InstrumentSpec| lists::InstrumentDoc { name: spec.name, params: params(spec.params), doc: spec.doc };
    lists::Catalogue {
        version: env!("CARGO_PKG_VERSION"),
        passes: passes::ALL.iter().map(|spec| pass(spec)).collect(),
        pipelines: passes::PIPELINES.iter().map(pipeline).collect(),
        ops: ops::all().iter().copied().flat_map(op).collect(),
        config: config::KEYS.iter().map(key).collect(),
        instruments: built_in::ALL.iter().map(instrument).collect(),
    }
}

/// With the lines that it stands in, in the versions that are `shown`.
pub(super) fn history(session: &Session, history: &History, shown: &[usize]) -> says::History {
    let (store, node, text) = (session.store(), history.node, session.source());
    let index = LineIndex::new(text);
    let ty = session::node_type(store, node);
    let print = if session.dialect() == Dialect::Relax { print::relax_ty } else { print::ty };
    let entry = |entry: &Entry| says::HistoryEntry {
        version: entry.version,
        step: entry.step,
        fate: Word(entry.fate),
        rule: entry.rule,
        node: entry.node.map(|node| node.index()),
        label: entry.label.clone(),
    };
    says::History {
        version: history.version,
        node: node.index(),
        label: session::label(store, node),
        op: store.called_op(node).map(|op| ops::info(op).written_in(session.dialect())),
        ty: ty.map_or(String::new(), |ty| print(store, ty)),
        attrs: session::attributes(store, node),
        source: history.source.map(|span| says::SourcePlace {
            from: index.utf16(text, span.start),
            to: index.utf16(text, span.end),
            line: index.line_column(text, span.start).0,
        }),
        entries: history.entries.iter().map(entry).collect(),
        lines: shown.iter().map(|version| session.line_in(history, *version)).collect(),
    }
}

/// The graph of a step.
pub(super) fn graph(graph: &Graph) -> says::Graph<'_> {
    says::Graph {
        nodes: graph.nodes.iter().map(graph_node).collect(),
        edges: graph.edges.iter().flat_map(|&(from, to)| [from, to]).collect(),
        groups: graph
            .groups
            .iter()
            .map(|group| says::GraphGroup { parent: group.parent, title: &group.title, made: group.made })
            .collect(),
    }
}

fn graph_node(node: &GraphNode) -> says::GraphNode<'_> {
    says::GraphNode {
        node: node.expr.index(),
        version: node.version,
        label: &node.label,
        leaves: &node.leaves,
        ty: &node.ty,
        group: node.group,
        result: node.result,
        fate: Word(node.fate),
        x: node.x,
        y: node.y,
    }
}

/// The files of `DumpIR`.
pub(super) fn dump(session: &Session) -> Vec<DumpFile> {
    session.dump().into_iter().map(|(name, text)| DumpFile { name, text }).collect()
}

impl From<(Document, Vec<Diagnostic>)> for DecodeResult {
    /// The message says what was left out of a document that could be read.
    fn from((document, warnings): (Document, Vec<Diagnostic>)) -> DecodeResult {
        let said: Vec<String> = warnings.into_iter().map(|warning| warning.message).collect();
        DecodeResult { document: Some(document.into()), error: "", message: said.join("; ") }
    }
}

pub(super) fn recognised(text: &str) -> says::Recognised {
    let crate::parse::Recognised { script, inner } = crate::parse::recognise(text);
    says::Recognised { dialect: Word(if script { Language::Relax } else { Language::Relay }), inner }
}

//! Answers to the page: plain views of the engine's types, named as in `www/engine/protocol.ts`.

use super::request::DocumentView;
use crate::diag::{Diagnostic, Fix, LineIndex, Span};
use crate::diff::Diff;
use crate::ir::Dialect;
use crate::pass::instrument::InstrumentSpec;
use crate::pass::trace::{LogEntry, Outcome, Role, Step, Trace};
use crate::pass::{Param, PassSpec, built_in, config};
use crate::passes::{self, Pipeline};
use crate::repro::Document;
use crate::session::{self, Entry, Graph, GraphNode, History, Rewritten, Session};
use crate::{ops, print};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct ProblemView {
    severity: &'static str,
    code: &'static str,
    message: String,
    from: Option<u32>,
    to: Option<u32>,
    line: Option<usize>,
    column: Option<usize>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<FixView>,
}

/// Edits that put a text right: places with what stands there afterwards.
#[derive(Serialize)]
struct FixView {
    title: String,
    edits: Vec<(u32, u32, String)>,
    asks: Vec<(String, String)>,
}

/// Converts findings about one text.
pub(super) struct Problems<'t> {
    text: &'t str,
    index: LineIndex,
}

impl<'t> Problems<'t> {
    pub(super) fn new(text: &'t str) -> Problems<'t> {
        Problems { text, index: LineIndex::new(text) }
    }

    pub(super) fn view(&self, found: &Diagnostic) -> ProblemView {
        let place = found.span.map(|span| self.index.line_column(self.text, span.start));
        ProblemView {
            severity: found.severity.word(),
            code: found.code,
            message: found.message.clone(),
            from: found.span.map(|span| self.index.utf16(self.text, span.start)),
            to: found.span.map(|span| self.index.utf16(self.text, span.end)),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            notes: found.notes.clone(),
            fixes: found.fixes.iter().map(|fix| self.fix(fix)).collect(),
        }
    }

    fn fix(&self, fix: &Fix) -> FixView {
        let place = |at| self.index.utf16(self.text, at);
        let edit = |(span, text): &(Span, String)| (place(span.start), place(span.end), text.clone());
        FixView { title: fix.title.clone(), edits: fix.edits.iter().map(edit).collect(), asks: fix.asks.clone() }
    }

    pub(super) fn all(&self, found: &[Diagnostic]) -> Vec<ProblemView> {
        found.iter().map(|d| self.view(d)).collect()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StepView {
    id: String,
    name: String,
    depth: usize,
    parent: Option<usize>,
    row: usize,
    role: &'static str,
    outcome: &'static str,
    reason: String,
    opt_level: i64,
    before: usize,
    after: usize,
    micros: f64,
    rewrites: usize,
    functions: Vec<String>,
    problems: Vec<ProblemView>,
}

#[derive(Serialize)]
struct LogView {
    kind: &'static str,
    text: String,
    step: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct RunView {
    dialect: &'static str,
    problems: Vec<ProblemView>,
    ok: bool,
    steps: Vec<StepView>,
    versions: usize,
    log: Vec<LogView>,
    timing: String,
    millis: f64,
}

fn step(session: &Session, step: &Step, problems: &Problems<'_>) -> StepView {
    let (outcome, reason) = step.outcome_words();
    let mut found = problems.all(&step.reported);
    if let Outcome::Failed(failures) = &step.outcome {
        found.extend(problems.all(failures));
    }
    StepView {
        id: step.id.clone(),
        name: step.name.clone(),
        depth: step.depth,
        parent: step.parent,
        row: step.row,
        role: match step.role {
            Role::Listed => "listed",
            Role::Required => "required",
            Role::Nested => "nested",
        },
        outcome,
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

fn log(entry: &LogEntry) -> LogView {
    LogView { kind: entry.kind.word(), text: entry.text.clone(), step: entry.step }
}

/// Offers to write a program as TVM prints it today, when its text has older spellings or other things beside it.
fn today(session: &Session, problems: &Problems<'_>) -> Option<ProblemView> {
    let (len, text) = session.today()?;
    let whole = Span { start: 0, end: len as u32 };
    let help = Diagnostic::help("front-today", "this can be written as TVM prints it today, without what stands beside it", None);
    Some(problems.view(&help.with_fix("Write it as today", vec![(whole, text)])))
}

/// The answer to a run: steps only when it could be run.
pub(super) fn run(session: &Session, source: &str, millis: f64) -> RunView {
    let problems = Problems::new(source);
    let nothing = Trace::default();
    let trace = if session.is_ok() { session.trace() } else { &nothing };
    RunView {
        dialect: session.dialect().word(),
        problems: problems.all(session.problems()).into_iter().chain(today(session, &problems)).collect(),
        ok: session.is_ok(),
        steps: trace.steps.iter().map(|s| step(session, s, &problems)).collect(),
        versions: trace.versions.len(),
        log: trace.log.iter().map(log).collect(),
        timing: trace.render_timing(),
        millis,
    }
}

/// Another list beside the run: its steps, or why there are none.
#[derive(Serialize)]
pub(super) struct BesideView {
    problem: String,
    steps: Vec<StepView>,
}

/// The answer to a list that is run beside the run that is shown.
pub(super) fn beside(session: &mut Session, document: &Document) -> BesideView {
    let beside = session.beside(document);
    let problems = Problems::new(session.source());
    match beside {
        Ok(trace) => {
            let steps = trace.steps.iter().map(|s| step(session, s, &problems)).collect();
            BesideView { problem: String::new(), steps }
        }
        Err(found) => BesideView { problem: found.message, steps: Vec::new() },
    }
}

/// A diff but for its rows.
#[derive(Serialize)]
pub(super) struct DiffView<'d> {
    before: &'d str,
    after: &'d str,
    added: usize,
    removed: usize,
    changed: usize,
    moved: usize,
    renumbered: usize,
    summary: &'d [String],
}

/// A diff but for its rows.
pub(super) fn diff(diff: &Diff) -> DiffView<'_> {
    DiffView {
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

#[derive(Serialize)]
pub(super) struct RewriteView<'r> {
    rule: &'r str,
    pre: &'r str,
    post: &'r str,
}

/// The rewrites of a step.
pub(super) fn rewrites(rewrites: &[Rewritten]) -> Vec<RewriteView<'_>> {
    rewrites.iter().map(|r| RewriteView { rule: r.rule, pre: &r.pre, post: &r.post }).collect()
}

#[derive(Serialize)]
struct ParamView {
    name: &'static str,
    default: &'static str,
    doc: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PassView {
    name: &'static str,
    info_name: &'static str,
    dialects: Vec<&'static str>,
    kind: &'static str,
    opt_level: i64,
    required: &'static [&'static str],
    config_keys: &'static [&'static str],
    params: Vec<ParamView>,
    summary: &'static str,
    call: &'static str,
    available: bool,
}

fn params(params: &'static [Param]) -> Vec<ParamView> {
    params.iter().map(|p| ParamView { name: p.name, default: p.default, doc: p.doc }).collect()
}

fn pass(spec: &PassSpec) -> PassView {
    PassView {
        name: spec.name,
        info_name: spec.info_name,
        // Those of whose programs the page offers the pass: TIR stands in programs of Relax.
        dialects: [Dialect::Relay, Dialect::Relax].into_iter().filter(|d| spec.works_on(*d)).map(Dialect::word).collect(),
        kind: spec.run.kind().word(),
        opt_level: spec.opt_level,
        required: spec.required,
        config_keys: spec.config,
        params: params(spec.params),
        summary: spec.summary,
        call: spec.example_call(),
        available: true,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PipelineView {
    name: &'static str,
    title: &'static str,
    dialect: &'static str,
    opt_level: i64,
    passes: Vec<&'static str>,
    missing: Vec<&'static str>,
}

fn pipeline(pipeline: &Pipeline) -> PipelineView {
    PipelineView {
        name: pipeline.name,
        title: pipeline.title,
        dialect: pipeline.dialect.word(),
        opt_level: pipeline.opt_level,
        passes: pipeline.calls(),
        missing: pipeline.missing(),
    }
}

#[derive(Serialize)]
struct AttrView {
    name: &'static str,
    #[serde(rename = "type")]
    ty: String,
    default: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpView {
    name: String,
    dialects: Vec<&'static str>,
    args: Vec<&'static str>,
    attrs: Vec<AttrView>,
    pattern: Option<String>,
    has_kernel: bool,
    doc: &'static str,
}

/// An operator, once for each dialect that has it: names, arguments and attributes may differ.
fn op(op: &ops::OpInfo) -> impl Iterator<Item = OpView> {
    let attr = |field: &ops::AttrField| AttrView {
        name: field.name,
        ty: field.kind.to_string(),
        default: field.default.map(|d| d.to_string()),
    };
    let view = |name: String, dialect, args: Vec<&'static str>, attrs: Option<&ops::AttrsSchema>| OpView {
        name,
        dialects: vec![dialect],
        args,
        attrs: attrs.map_or(Vec::new(), |schema| schema.fields.iter().map(attr).collect()),
        pattern: op.pattern.map(|p| format!("{p:?}")),
        has_kernel: op.kernel.is_some(),
        doc: op.doc,
    };
    let relay = op.relay.map(|row| view(op.written_in(Dialect::Relay), "relay", row.args.to_vec(), row.attrs));
    let relax = |row: &ops::RelaxOp| {
        view(op.written_in(Dialect::Relax), "relax", row.args.iter().map(|arg| arg.name).collect(), row.attrs)
    };
    relay.into_iter().chain(op.relax.as_ref().map(relax))
}

#[derive(Serialize)]
struct ConfigView {
    key: &'static str,
    #[serde(rename = "type")]
    ty: &'static str,
    default: String,
    doc: &'static str,
}

#[derive(Serialize)]
struct InstrumentView {
    name: &'static str,
    params: Vec<ParamView>,
    doc: &'static str,
}

#[derive(Serialize)]
pub(super) struct CatalogueView {
    version: &'static str,
    passes: Vec<PassView>,
    pipelines: Vec<PipelineView>,
    ops: Vec<OpView>,
    config: Vec<ConfigView>,
    instruments: Vec<InstrumentView>,
}

/// Everything there is to choose from.
pub(super) fn catalogue() -> CatalogueView {
    let key = |key: &config::ConfigKey| ConfigView { key: key.key, ty: key.ty.word(), default: key.default(), doc: key.doc };
    let instrument = |spec: &InstrumentSpec| InstrumentView { name: spec.name, params: params(spec.params), doc: spec.doc };
    CatalogueView {
        version: env!("CARGO_PKG_VERSION"),
        passes: passes::ALL.iter().map(|spec| pass(spec)).collect(),
        pipelines: passes::PIPELINES.iter().map(pipeline).collect(),
        ops: ops::all().iter().copied().flat_map(op).collect(),
        config: config::KEYS.iter().map(key).collect(),
        instruments: built_in::ALL.iter().map(instrument).collect(),
    }
}

#[derive(Serialize)]
struct EntryView {
    version: usize,
    step: Option<usize>,
    fate: &'static str,
    rule: &'static str,
    node: Option<usize>,
    label: String,
}

#[derive(Serialize)]
struct SourceView {
    from: u32,
    to: u32,
    line: usize,
}

/// The history of an expression, and what it is.
#[derive(Serialize)]
pub(super) struct HistoryView {
    version: usize,
    node: usize,
    label: String,
    op: Option<String>,
    ty: String,
    attrs: Vec<(String, String)>,
    source: Option<SourceView>,
    entries: Vec<EntryView>,
    lines: Vec<Option<usize>>,
}

/// With the lines that it stands in, in the versions that are `shown`.
pub(super) fn history(session: &Session, history: &History, shown: &[usize]) -> HistoryView {
    let (store, node, text) = (session.store(), history.node, session.source());
    let index = LineIndex::new(text);
    let ty = session::node_type(store, node);
    let print = if session.dialect() == Dialect::Relax { print::relax_ty } else { print::ty };
    let entry = |entry: &Entry| EntryView {
        version: entry.version,
        step: entry.step,
        fate: entry.fate.word(),
        rule: entry.rule,
        node: entry.node.map(|node| node.index()),
        label: entry.label.clone(),
    };
    HistoryView {
        version: history.version,
        node: node.index(),
        label: session::label(store, node),
        op: store.called_op(node).map(|op| ops::info(op).written_in(session.dialect())),
        ty: ty.map_or(String::new(), |ty| print(store, ty)),
        attrs: session::attributes(store, node),
        source: history.source.map(|span| SourceView {
            from: index.utf16(text, span.start),
            to: index.utf16(text, span.end),
            line: index.line_column(text, span.start).0,
        }),
        entries: history.entries.iter().map(entry).collect(),
        lines: shown.iter().map(|version| session.line_in(history, *version)).collect(),
    }
}

#[derive(Serialize)]
struct NodeView<'g> {
    node: usize,
    version: usize,
    label: &'g str,
    leaves: &'g str,
    ty: &'g str,
    group: usize,
    result: bool,
    fate: &'static str,
    x: f32,
    y: u32,
}

#[derive(Serialize)]
struct GroupView<'g> {
    parent: Option<usize>,
    title: &'g str,
    made: bool,
}

#[derive(Serialize)]
pub(super) struct GraphView<'g> {
    nodes: Vec<NodeView<'g>>,
    edges: Vec<usize>,
    groups: Vec<GroupView<'g>>,
}

/// The graph of a step.
pub(super) fn graph(graph: &Graph) -> GraphView<'_> {
    GraphView {
        nodes: graph.nodes.iter().map(graph_node).collect(),
        edges: graph.edges.iter().flat_map(|&(from, to)| [from, to]).collect(),
        groups: graph
            .groups
            .iter()
            .map(|group| GroupView { parent: group.parent, title: &group.title, made: group.made })
            .collect(),
    }
}

fn graph_node(node: &GraphNode) -> NodeView<'_> {
    NodeView {
        node: node.expr.index(),
        version: node.version,
        label: &node.label,
        leaves: &node.leaves,
        ty: &node.ty,
        group: node.group,
        result: node.result,
        fate: node.fate.word(),
        x: node.x,
        y: node.y,
    }
}

#[derive(Serialize)]
pub(super) struct FileView {
    name: String,
    text: String,
}

/// The files of `DumpIR`.
pub(super) fn dump(session: &Session) -> Vec<FileView> {
    session.dump().into_iter().map(|(name, text)| FileView { name, text }).collect()
}

/// The comparison of a version with a program.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompareView {
    pub problems: Vec<ProblemView>,
    pub difference: String,
    pub same_values: Option<bool>,
}

#[derive(Serialize)]
pub(super) struct DecodeView {
    pub(super) document: Option<DocumentView>,
    pub(super) error: &'static str,
    pub(super) message: String,
}

impl From<(Document, Vec<Diagnostic>)> for DecodeView {
    /// Of a whole document the message says what was left out of it.
    fn from((document, warnings): (Document, Vec<Diagnostic>)) -> DecodeView {
        let said: Vec<String> = warnings.into_iter().map(|warning| warning.message).collect();
        DecodeView { document: Some(document.into()), error: "", message: said.join("; ") }
    }
}

/// What a text is that somebody brings.
#[derive(Serialize)]
pub(super) struct RecognisedView {
    dialect: &'static str,
    /// The program without what it was wrapped in, and what that was.
    inner: Option<(String, String)>,
}

pub(super) fn recognised(text: &str) -> RecognisedView {
    let crate::parse::Recognised { script, inner } = crate::parse::recognise(text);
    RecognisedView { dialect: if script { "relax" } else { "relay" }, inner }
}

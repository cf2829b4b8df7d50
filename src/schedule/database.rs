//! Databases of tuned schedules as TVM's MetaSchedule writes them (`JSONDatabase`, `src/s_tir/meta_schedule/database`): lines of
//! JSON, of which one kind has a program and the other a trace for one of the programs, with the times that it took.

use crate::diag::Span;
use crate::ir::equal::{self, EqualOptions};
use crate::ir::sort::sort_by;
use crate::ir::{ExprId, Store};
use crate::parse::graph::{self, Root};
use crate::parse::json::{self, Json};
use crate::parse::trace::{Instruction, Node, NodeKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Programs, and what is known to be fast for each.
pub struct Database {
    workloads: Vec<ExprId>,
    /// The best ones first: the number of the program, and the trace.
    records: Vec<(usize, Vec<Instruction>)>,
}

/// The span of an instruction that comes from JSON, which has no place in the text.
const NOWHERE: Span = Span { start: 0, end: 0 };

/// TVM's mark of a time that was not measured.
const NEVER: f64 = 1e10;

impl Database {
    /// Reads the lines of both files of a database, in any order as long as those of a file are in theirs.
    pub fn read(store: &mut Store, text: &str) -> Result<Database, String> {
        let mut workloads = Vec::new();
        let mut records = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |message: &str| format!("line {} of the database: {message}", at + 1);
            let value = json::read(line).map_err(|error| wrong(&format!("this is no JSON: {}", error.message)))?;
            match value.as_array() {
                Some([Json::Str(_), Json::Str(program)]) => workloads.push(workload(store, program).map_err(|m| wrong(&m))?),
                Some([Json::Int(of), Json::Array(record)]) => records.push((at + 1, *of, record.clone())),
                _ => return Err(wrong("a line is `[\"hash\", \"program\"]` or `[number, [trace, times, target, arguments]]`")),
            }
        }
        let mut found = Vec::new();
        for (line, of, record) in records {
            let wrong = |message: String| format!("line {line} of the database: {message}");
            let of = usize::try_from(of).ok().filter(|of| *of < workloads.len());
            let of = of.ok_or_else(|| wrong("there is no such program in the database".to_owned()))?;
            let [trace, times, ..] = &record[..] else { return Err(wrong("a record has four parts".to_owned())) };
            let times: Vec<f64> = times.as_array().unwrap_or_default().iter().filter_map(number).collect();
            let trace = instructions(store, trace).map_err(wrong)?;
            let real = trace.iter().take_while(|one| one.name != "enter_postproc").count();
            if real > 0 && times.iter().any(|time| *time != NEVER) {
                found.push((times.iter().sum::<f64>() / times.len() as f64, of, trace));
            }
        }
        sort_by(&mut found, |a, b| a.0.total_cmp(&b.0));
        Ok(Database { workloads, records: found.into_iter().map(|(_, of, trace)| (of, trace)).collect() })
    }

    /// The best trace for a program, which is compared as TVM compares by `"structural"`.
    pub fn query(&self, store: &Store, program: ExprId) -> Option<&[Instruction]> {
        let is_it = |workload: &ExprId| equal::exprs(store, *workload, program, EqualOptions::default()).is_ok();
        let same: Vec<bool> = self.workloads.iter().map(is_it).collect();
        self.records.iter().find(|(of, _)| same[*of]).map(|(_, trace)| &trace[..])
    }
}

fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Int(value) => Some(*value as f64),
        Json::Float(value) => Some(*value),
        _ => None,
    }
}

/// The program of a workload: the graph of its module in base64, behind eight bytes that say how long it is.
fn workload(store: &mut Store, text: &str) -> Result<ExprId, String> {
    let bytes = STANDARD.decode(text.trim()).map_err(|_| "the program is not in base64")?;
    let start = bytes.iter().position(|byte| *byte == b'{').ok_or("the program is no graph")?;
    let text = std::str::from_utf8(&bytes[start..]).map_err(|_| "the program is no text")?;
    match graph::read(store, text)? {
        Root::Module(module) => match module.functions() {
            [(_, func)] => Ok(*func),
            _ => Err("a program of a database is one tensor program".to_owned()),
        },
        Root::IndexMap(_) => Err("the program is a map of indices".to_owned()),
    }
}

/// The name of an instruction in Python: `reverse_compute_at` for `ReverseComputeAt`.
fn python_name(kind: &str) -> String {
    match kind {
        "GetSBlock" | "GetBlock" => return "get_sblock".to_owned(),
        "ReIndex" => return "reindex".to_owned(),
        "RFactor" => return "rfactor".to_owned(),
        "UnsafeSetDType" => return "unsafe_set_dtype".to_owned(),
        _ => {}
    }
    let mut name = String::new();
    for (at, letter) in kind.char_indices() {
        if at > 0 && letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// The instructions of a trace as JSON: those, and decisions by their numbers.
fn instructions(store: &mut Store, json: &Json) -> Result<Vec<Instruction>, String> {
    let Some([Json::Array(all), Json::Array(decisions)]) = json.as_array() else {
        return Err("a trace has two lists, of instructions and of decisions".to_owned());
    };
    let mut found = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let Some([Json::Str(kind), Json::Array(inputs), Json::Array(attrs), Json::Array(outs)]) = one.as_array() else {
            return Err("an instruction is `[name, inputs, attributes, results]`".to_owned());
        };
        let inputs = inputs.iter().map(|input| node(store, input, true)).collect::<Result<Vec<_>, _>>()?;
        let attrs = attrs.iter().map(|attr| node(store, attr, false)).collect::<Result<Vec<_>, _>>()?;
        let mut args = arguments(kind, inputs, attrs);
        let decision = decisions.iter().find_map(|decision| match decision.as_array() {
            Some([Json::Int(of), decision]) if usize::try_from(*of) == Ok(at) => Some(decision),
            _ => None,
        });
        if let Some(decision) = decision {
            args.push((Some("decision".to_owned()), node(store, decision, true)?));
        }
        let mut outs: Vec<String> = outs.iter().filter_map(|out| Some(out.as_str()?.to_owned())).collect();
        if let [only] = &mut outs[..]
            && !matches!(&**kind, "GetSBlock" | "GetBlock")
        {
            only.push(',');
        }
        let name = python_name(kind);
        found.push(Instruction { outs, name, pick: None, args, nested: Vec::new(), span: NOWHERE });
    }
    Ok(found)
}

/// The arguments of a call in Python: inputs first, except where Python has them elsewhere.
fn arguments(kind: &str, mut inputs: Vec<Node>, mut attrs: Vec<Node>) -> Vec<(Option<String>, Node)> {
    let list = |items: Vec<Node>| Node { kind: NodeKind::List(items), span: NOWHERE };
    let mut named = Vec::new();
    match kind {
        "Split" | "LoopPartition" => {
            let factors = inputs.split_off(inputs.len().min(1));
            inputs.push(list(factors));
        }
        "Fuse" => named.extend(attrs.pop().map(|keep| (Some("preserve_unit_iters".to_owned()), keep))),
        "Annotate" | "CacheRead" | "CacheWrite" | "ReindexCacheRead" | "ReindexCacheWrite" => attrs.extend(inputs.pop()),
        "ReIndex" | "TransformLayout" if attrs.len() > 1 => {
            // `("write", 0)`, of which JSON has two numbers.
            let which = if matches!(attrs[1].kind, NodeKind::Int(0)) { "read" } else { "write" };
            attrs[1].kind = NodeKind::Str(which.to_owned());
            let index = attrs.remove(0);
            attrs[0] = list(vec![attrs[0].clone(), index]);
            if let [_, _, injective] = &attrs[..] {
                named.push((Some("assume_injective_transform".to_owned()), injective.clone()));
                attrs.pop();
                attrs.splice(1..1, inputs.pop());
            }
        }
        "AnnotateBufferAccess" => {
            if let Some(which @ Node { kind: NodeKind::Int(_), .. }) = inputs.get_mut(2) {
                let name = if matches!(which.kind, NodeKind::Int(0)) { "read" } else { "write" };
                which.kind = NodeKind::Str(name.to_owned());
            }
        }
        _ => {}
    }
    inputs.into_iter().chain(attrs).map(|arg| (None, arg)).chain(named).collect()
}

/// An argument. Among inputs a string is in quotes, and what is not is a name.
fn node(store: &mut Store, json: &Json, is_input: bool) -> Result<Node, String> {
    let kind = match json {
        Json::Null => NodeKind::None,
        Json::Bool(known) => NodeKind::Bool(*known),
        Json::Int(value) => NodeKind::Int(*value),
        Json::Float(value) => NodeKind::Float(*value),
        Json::Str(text) if text.starts_with('{') && text.contains("\"root_index\"") => match graph::read(store, text)? {
            Root::IndexMap(map) => NodeKind::IndexMap(map),
            Root::Module(_) => return Err("a map of indices is expected".to_owned()),
        },
        Json::Str(text) if !is_input => NodeKind::Str(text.clone()),
        Json::Str(text) if text == "None" => NodeKind::None,
        Json::Str(text) => match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(text) => NodeKind::Str(text.to_owned()),
            None => NodeKind::Name(text.clone()),
        },
        Json::Array(items) => NodeKind::List(items.iter().map(|item| node(store, item, is_input)).collect::<Result<_, _>>()?),
        Json::Object(entries) => {
            let mut pairs = Vec::new();
            for (key, value) in entries {
                let key = Node { kind: NodeKind::Str(key.clone()), span: NOWHERE };
                pairs.push((key, node(store, value, is_input)?));
            }
            NodeKind::Dict(pairs)
        }
    };
    Ok(Node { kind, span: NOWHERE })
}

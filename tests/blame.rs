//! Traces the bindings of a program after all passes back to the user's lines, where the diff draws them, on the
//! networks that are bundled with TVM.

mod beside;

use beside::text_beside;
use passlab::ir::{Expr, ExprId, Module, Store};
use passlab::pass::PassContext;
use passlab::passes::pipeline;
use passlab::print::{self, LineRole, PrintOptions};
use passlab::session::{Graph, NodeFate, Place, Session, attributes, document};
use std::collections::{HashMap, HashSet};

/// Returns the bindings on the lines of a program.
fn bindings(store: &Store, module: &Module) -> Vec<ExprId> {
    let printed = print::module_lines(store, module, &PrintOptions { metadata: false, ..PrintOptions::default() });
    let bound = printed.lines.iter().filter(|line| matches!(line.role, LineRole::Binding | LineRole::Let | LineRole::Result));
    bound.filter_map(|line| line.node).collect()
}

/// Runs a program through the passes and returns how many bindings there are, and how many lead to the source.
fn measure(name: &str, source: &str, calls: &str) -> (usize, usize) {
    let mut session = Session::new(|| 0.0);
    let context = PassContext { opt_level: 3, ..PassContext::default() };
    assert!(session.run(&document(source, calls, context).expect("a list of passes"), false), "{name}: {:?}", session.problems());
    let last = session.trace().versions.len() - 1;
    let all = bindings(session.store(), &session.trace().versions[last]);
    let mut reached = 0;
    for &node in &all {
        let history = session.history(last, &Place::Node(node)).expect("it is in the version");
        assert_eq!(history.entries.iter().filter(|entry| entry.version == last && entry.node == Some(node)).count(), 1, "{name}");
        if history.source.is_some() {
            reached += 1;
        } else {
            let what = session.store().expr(node);
            assert!(history.introduced_by().is_some(), "{name}: nothing is known of {what:?}: {:?}", history.entries);
        }
    }
    (all.len(), reached)
}

fn corpus(kind: &str, names: &[&str], calls: &str) {
    let (mut bindings, mut reached) = (0, 0);
    for name in names {
        let Some(source) = text_beside(&format!("corpus/{kind}/{name}")) else { return };
        let (all, found) = measure(name, &source, calls);
        println!("{name}: {found} of {all} bindings lead to the source");
        bindings += all;
        reached += found;
    }
    println!("{kind}: {:.1} %", 100.0 * reached as f64 / bindings as f64);
    assert!(reached * 100 >= bindings * 95, "{kind}: {reached} of {bindings}");
}

#[test]
fn bindings_of_relay_after_o3_lead_to_the_source() {
    let calls = pipeline("relay.build.O3").expect("TVM's pipeline").calls().join(", ");
    corpus("relay", &["dqn.relay", "mlp.relay", "lstm.relay", "dcgan.relay", "resnet-18.relay", "synthetic.relay"], &calls);
}

#[test]
fn bindings_of_relax_lead_to_the_source() {
    let calls = "Normalize, DeadCodeElimination, ToNonDataflow, RemovePurityChecking";
    corpus("relax", &["resnet18.py", "hf_bert_2layer.py", "nn_mlp_tutorial.py", "lstm.py"], calls);
}

/// Returns a line without its indentation, its number and its end, which follow from its position.
fn said(line: &str) -> &str {
    let line = line.trim().trim_end_matches(';');
    match line.split_once(" = ") {
        Some((name, value)) if name.starts_with('%') && !name.contains(' ') => value,
        _ => line,
    }
}

/// The weight of a convolution was replaced in the diff, and the history of the convolution said that it was kept.
#[test]
fn what_reads_otherwise_after_a_step_has_that_step_in_its_history() {
    let calls = pipeline("relay.build.O3").expect("TVM's pipeline").calls().join(", ");
    let scaled = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32], \
                  %s: Tensor[(4, 1, 1), float32]) {\n  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, \
                  3]);\n  %1 = multiply(%0, %s);\n  nn.relu(%1)\n}\n";
    let of_corpus = ["dqn.relay", "lstm.relay", "resnet-18.relay"].map(|name| text_beside(&format!("corpus/relay/{name}")));
    for source in of_corpus.into_iter().flatten().chain([scaled.to_owned()]) {
        let mut session = Session::new(|| 0.0);
        let context = PassContext { opt_level: 3, ..PassContext::default() };
        assert!(session.run(&document(&source, &calls, context).expect("passes"), false));
        let mut seen = 0;
        for version in 1..session.trace().versions.len() {
            let diff = session.diff(version - 1, version).expect("two versions");
            let changed = diff.rows.iter().filter(|row| row.left.is_some() && row.right.is_some());
            let lines: Vec<usize> = changed
                .filter(|row| said(diff.left_text(row)) != said(diff.right_text(row)))
                .filter_map(|row| row.right)
                .filter(|line| matches!(diff.after.lines[line - 1].role, LineRole::Binding | LineRole::Result | LineRole::Let))
                .collect();
            // Of a step that changed hundreds of lines, some.
            for line in lines.iter().step_by(1 + lines.len() / 8) {
                let node = diff.after.lines[line - 1].node.expect("a binding");
                let history = session.history(version, &Place::Node(node)).expect("it is in the version");
                let entry = history.entries.iter().find(|entry| entry.version == version).expect("this version");
                let by = session.trace().steps[entry.step.expect("a step made it")].name.clone();
                assert_ne!(entry.fate.word(), "kept", "{by}: {}", diff.after.line(line - 1));
                seen += 1;
            }
        }
        assert!(seen > 0);
    }
}

#[test]
fn nodes_of_the_graph_stay_where_they_are_from_step_to_step() {
    let calls = pipeline("relay.build.O3").expect("TVM's pipeline").calls().join(", ");
    for name in ["dqn.relay", "lstm.relay", "resnet-18.relay"] {
        let Some(source) = text_beside(&format!("corpus/relay/{name}")) else { return };
        let mut session = Session::new(|| 0.0);
        let context = PassContext { opt_level: 3, ..PassContext::default() };
        assert!(session.run(&document(&source, &calls, context).expect("a list of passes"), false), "{name}");
        let last = session.trace().versions.len() - 1;
        let mut nodes = 0;
        for version in 1..last {
            let places = |graph: &Graph| -> HashMap<ExprId, (f32, u32)> {
                let there = graph.nodes.iter().filter(|node| node.fate != NodeFate::Removed || node.version == version);
                there.map(|node| (node.expr, (node.x, node.y))).collect()
            };
            let before = session.graph(version - 1, version).expect("a step");
            let after = session.graph(version, version + 1).expect("a step");
            let (here, there) = (places(&before), places(&after));
            for node in before.nodes.iter().filter(|node| node.version == version) {
                // In the next step it is drawn itself, as gone, or as the one that it became.
                assert!(there.get(&node.expr).is_none_or(|place| *place == here[&node.expr]), "{name}: {node:?}");
            }
            let taken: HashSet<(u32, u32)> = after.nodes.iter().map(|node| ((node.x * 2.0) as u32, node.y)).collect();
            assert_eq!(taken.len(), after.nodes.len(), "{name}: two nodes in one place");
            nodes += after.nodes.len();
        }
        assert!(nodes > 10 * last, "{name}: {nodes}");
    }
}

#[test]
fn the_graph_of_a_fused_group_is_a_box_without_an_edge_of_its_own() {
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  %0 = add(%x, 1f);\n  nn.relu(%0)\n}\n";
    let mut session = Session::new(|| 0.0);
    let context = PassContext { opt_level: 3, ..PassContext::default() };
    assert!(session.run(&document(source, "FuseOps", context).expect("passes"), false));
    let last = session.trace().versions.len() - 1;
    let graph = session.graph(0, last).expect("a step");
    let labels: Vec<(&str, &str)> = graph.nodes.iter().map(|node| (node.label.as_str(), node.leaves.as_str())).collect();
    assert_eq!(labels.len(), 2);
    assert!(labels.contains(&("add", "%x, 1f")) && labels.contains(&("nn.relu", "")), "{labels:?}");
    assert_eq!(graph.edges.len(), 1);
    assert_eq!(graph.groups.iter().map(|group| group.title.as_str()).collect::<Vec<_>>(), ["@main", "add → nn.relu"]);
    assert!(graph.nodes.iter().all(|node| node.group == 1 && node.fate == NodeFate::Same));
}

#[test]
fn a_parameter_that_is_used_once_more_is_not_made_and_once_less_is_not_removed() {
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  %0 = add(%x, 1f);\n  %1 = add(%x, 1f);\n  multiply(%0, %1)\n}\n";
    let mut session = Session::new(|| 0.0);
    let calls = "InferType, EliminateCommonSubexpr";
    let context = PassContext { opt_level: 3, ..PassContext::default() };
    assert!(session.run(&document(source, calls, context).expect("passes"), false));
    let last = session.trace().versions.len() - 1;
    let fates = |graph: Graph| {
        let mut fates: Vec<_> = graph.nodes.iter().map(|node| (node.label.clone(), node.fate)).collect();
        fates.sort_by(|a, b| a.0.cmp(&b.0));
        fates
    };
    // Both sums are one now, and the parameter stands in it.
    let ahead = fates(session.graph(0, last).expect("a step"));
    assert_eq!(ahead.iter().filter(|(label, _)| label == "%x").count(), 0, "{ahead:?}");
    let back = fates(session.graph(last, 0).expect("a step"));
    assert_eq!(back[0], ("%x".to_owned(), NodeFate::Same), "{back:?}");
}

#[test]
fn an_expression_is_followed_from_its_line_through_every_step() {
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  %0 = add(%x, 1f);\n  %1 = add(%x, 1f);\n  multiply(%0, %1)\n}\n";
    let mut session = Session::new(|| 0.0);
    let context = PassContext { opt_level: 3, ..PassContext::default() };
    let calls = "InferType, EliminateCommonSubexpr, FuseOps";
    assert!(session.run(&document(source, calls, context).expect("passes"), false));
    let at = |needle: &str| Place::Source(source.find(needle).expect("in the program") as u32);
    let told = |place: &Place| {
        let history = session.history(0, place).expect("it is there");
        let fates = history.entries.iter().map(|entry| {
            let step = entry.step.map_or("source", |step| session.trace().steps[step].name.as_str());
            format!("{step}: {} {}", entry.fate.word(), entry.label)
        });
        (history.source.map(|span| &source[span.start as usize..span.end as usize]), fates.collect::<Vec<_>>())
    };
    // The second of two equal sums is gone: the first is used in its place.
    let (span, fates) = told(&at("%1 = add"));
    assert_eq!(span, Some("add(%x, 1f)"));
    assert_eq!(fates[..2], ["source: source add", "EliminateCommonSubexpr: rewritten add"]);
    // Its operand is another sum now.
    let (_, fates) = told(&at("multiply"));
    assert_eq!(fates[..2], ["source: source multiply", "EliminateCommonSubexpr: rebuilt multiply"]);
    assert!(fates.iter().any(|fate| fate.starts_with("FuseOps: ")), "{fates:?}");
    // A word of the text as the place: `%1` in the last line leads to its value.
    let by_word = session.history(0, &Place::Line { line: 5, word: "%1".to_owned(), stable: true }).expect("it is bound above");
    assert!(matches!(session.store().expr(by_word.node), Expr::Call { .. }));
    assert_eq!(session.line_in(&by_word, 0), Some(4));
}

#[test]
fn a_number_in_a_box_is_told_as_that_number() {
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(4), float32]) {\n  split(%x, indices_or_sections=[1, 3])\n}\n";
    let mut session = Session::new(|| 0.0);
    assert!(session.run(&document(source, "InferType", PassContext::default()).expect("passes"), false));
    let place = Place::Source(source.find("split").expect("in the program") as u32);
    let node = session.history(0, &place).expect("it is there").node;
    assert_eq!(attributes(session.store(), node)[0], ("indices_or_sections".to_owned(), "[1, 3]".to_owned()));
}

/// A sum over rows.
const SUM: &str = "\
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def sum(A: T.Buffer((8, 4), \"float32\"), B: T.Buffer((8,), \"float32\")):
        # with T.sblock(\"root\"):
        for i in range(8):
            for j in range(4):
                with T.sblock(\"B\"):
                    vi, vj = T.axis.remap(\"SR\", [i, j])
                    T.reads(A[vi, vj])
                    T.writes(B[vi])
                    with T.init():
                        B[vi] = T.float32(0.0)
                    B[vi] = B[vi] + A[vi, vj]
";

fn lowered() -> Session {
    let mut session = Session::new(|| 0.0);
    let calls = "tir.LowerInitBlock(), tir.ConvertBlocksToOpaque()";
    assert!(session.run(&document(SUM, calls, PassContext::default()).expect("passes"), false), "{:?}", session.problems());
    assert!(session.trace().is_complete(), "{:?}", session.trace().failures());
    session
}

#[test]
fn a_statement_of_tir_is_followed_from_its_line_through_every_step() {
    let session = lowered();
    let last = session.trace().versions.len() - 1;
    let text = print::module(session.store(), &session.trace().versions[last], &PrintOptions::default());
    let line_of = |wanted: &str| 1 + text.lines().position(|line| line.trim_start().starts_with(wanted)).expect("it is there");
    let follow = |wanted: &str| {
        let place = Place::Line { line: line_of(wanted), word: String::new(), stable: false };
        let history = session.history(last, &place).expect("something stands there");
        let source = history.source.map(|span| session.source()[span.start as usize..].lines().next().unwrap_or("").to_owned());
        (source.unwrap_or_default(), history.entries.iter().map(|entry| (entry.fate.word(), entry.rule)).collect::<Vec<_>>())
    };
    let (source, entries) = follow("with T.sblock(\"B\")");
    assert_eq!(source.trim(), "with T.sblock(\"B\"):");
    assert_eq!(entries, [("source", ""), ("rewritten", "init lowered"), ("rewritten", "block variables substituted")]);
    let (source, entries) = follow("B[i] = B[i] + A[i, j]");
    assert_eq!(source.trim(), "B[vi] = B[vi] + A[vi, vj]");
    assert_eq!(entries, [("source", ""), ("kept", ""), ("kept", "")]);
    let (source, entries) = follow("if j == 0:");
    assert_eq!((source.trim(), entries[1]), ("with T.sblock(\"B\"):", ("made", "init lowered")));
}

#[test]
fn steps_inside_a_pass_of_tir_stop_after_as_many_blocks() {
    let mut session = lowered();
    assert_eq!(session.rewrites(0).len(), 1);
    assert_eq!(session.rewrites(0)[0].pre, "block B");
    assert_eq!(session.partial(0, 0).expect("it is run again").rows.len(), 0);
    let partial = session.partial(0, 1).expect("it is run again");
    assert_eq!((partial.added, partial.removed, partial.changed), (1, 1, 0), "{:?}", partial.rows);
}

#[test]
fn lines_of_tir_that_moved_out_of_a_block_are_the_same_lines() {
    let session = lowered();
    let diff = session.diff(0, 1).expect("two versions");
    let changed: Vec<(&str, &str)> = diff
        .rows
        .iter()
        .filter(|row| row.kind != passlab::diff::DiffKind::Same)
        .map(|row| (diff.left_text(row).trim(), diff.right_text(row).trim()))
        .collect();
    assert_eq!(changed, [("with T.init():", ""), ("", "if vj == 0:")]);
}

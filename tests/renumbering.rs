//! Edits that renumber everything behind them: a diff shows as many changed lines as there are changed bindings, on the
//! networks that are bundled with TVM.

mod beside;

use beside::text_beside;
use passlab::diff::Diff;
use passlab::infer::infer_module;
use passlab::ir::rewrite::{ExprMutator, rewrite};
use passlab::ir::{ExprId, Module, Store};
use passlab::ops::build;
use passlab::pass::PassContext;
use passlab::print::Naming;
use passlab::session::{Session, document, open};
use passlab::{diff, ops};

/// An edit of one call: its input replaces it, another operator replaces it, or its result is negated.
#[derive(Clone, Copy)]
enum Edit {
    Drop,
    Swap,
    Insert,
}

struct Editor {
    edit: Edit,
    at: ExprId,
}

impl ExprMutator for Editor {
    fn rule(&self) -> &'static str {
        "edit"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if pre != self.at {
            return post;
        }
        match self.edit {
            Edit::Drop => build::arg(store, post, 0),
            Edit::Swap => {
                let input = build::arg(store, post, 0);
                build::call(store, "exp", &[input])
            }
            Edit::Insert => build::call(store, "negative", &[post]),
        }
    }
}

/// Returns the number of lines that a diff shows as changed.
fn shown(diff: &Diff) -> usize {
    // The numbers of the rows index the lines of the texts.
    let (before, after): (Vec<_>, Vec<_>) = (diff.before.text.split('\n').collect(), diff.after.text.split('\n').collect());
    for row in &diff.rows {
        assert_eq!(row.left.map_or("", |line| before[line - 1]), diff.left_text(row));
        assert_eq!(row.right.map_or("", |line| after[line - 1]), diff.right_text(row));
    }
    diff.added + diff.removed + diff.changed
}

/// Calls of operators with the type of their operand: one can be left out, or doubled, without another type anywhere.
fn places(store: &Store, module: &Module) -> Vec<ExprId> {
    let all = module.functions().iter().flat_map(|(_, function)| passlab::ir::walk::post_order(store, *function));
    let fits = |id: &ExprId| {
        store.called_op(*id).is_some_and(|op| ["nn.relu", "nn.batch_flatten", "sigmoid", "tanh"].contains(&ops::info(op).name))
    };
    let same_type = |id: &ExprId| store.checked_type(*id) == store.checked_type(build::arg(store, *id, 0));
    all.filter(|id| fits(id) && same_type(id)).collect()
}

/// Counts the bindings that an edit changes: the removed, added or replaced one; and the users of a negated value,
/// which now read another one. The users of a dropped value read its replacement, which is no change of their own.
fn changed(store: &Store, module: &Module, edit: Edit, at: ExprId) -> usize {
    let mut users = 0;
    for (_, function) in module.functions() {
        for id in passlab::ir::walk::post_order(store, *function) {
            let mut uses = false;
            passlab::ir::walk::for_each_child(store, id, |child| uses |= child == at);
            users += usize::from(uses);
        }
    }
    if matches!(edit, Edit::Insert) { 1 + users } else { 1 }
}

/// Returns the number of edits that show exactly the bindings that they change, and of all edits.
fn relay(name: &str, wanted: usize) -> Option<(usize, usize)> {
    let source = text_beside(&format!("corpus/{name}"))?;
    let mut store = Store::new();
    let module = open(&mut store, &source).module;
    let places = places(&store, &module);
    assert!(!places.is_empty(), "{name}");
    let (mut exact, mut all) = (0, 0);
    for turn in 0..wanted {
        let at = places[turn * 7 % places.len()];
        let edit = [Edit::Drop, Edit::Swap, Edit::Insert][turn % 3];
        let mut edited = module.clone();
        for (global, function) in module.functions().to_vec() {
            let function = rewrite(&mut store, function, &mut Editor { edit, at });
            edited.set_function(global, function);
        }
        let edited = infer_module(&mut store, &edited).expect("it has types");
        let found = diff::diff(&store, &Naming::of(&store, [&module, &edited]), &module, &edited);
        all += 1;
        if shown(&found) == changed(&store, &module, edit, at) {
            exact += 1;
        } else {
            println!("{name}, edit {turn}: {} lines are shown, {:?}", shown(&found), found.summary);
        }
    }
    Some((exact, all))
}

/// Doubles a binding, so that the second takes another name everywhere, and removes the first, which has no uses.
fn relax(name: &str, wanted: usize) -> Option<(usize, usize)> {
    let source = text_beside(&format!("corpus/{name}"))?;
    let lines: Vec<&str> = source.lines().collect();
    let binds = |line: &&str| line.trim_start().starts_with("lv") && line.contains(" = R.") && line.contains(": R.Tensor");
    let places: Vec<usize> = (0..lines.len()).filter(|line| binds(&lines[*line])).collect();
    let (mut exact, mut all) = (0, 0);
    for turn in 0..wanted {
        let at = places[turn * 5 % places.len()];
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        let mut session = Session::new(|| 0.0);
        let list = document(&doubled.join("\n"), "DeadCodeElimination", PassContext::default()).expect("a pass");
        assert!(session.run(&list, false), "{name}: {:?}", session.problems());
        let step = &session.trace().steps[0];
        let found = session.diff(step.before, step.after).expect("two versions");
        all += 1;
        if (found.removed, shown(&found)) == (1, 1) {
            exact += 1;
        } else {
            println!("{name}, line {}: {} lines are shown, {:?}", at + 1, shown(&found), found.summary);
        }
    }
    Some((exact, all))
}

#[test]
fn an_edit_that_renumbers_everything_shows_the_bindings_that_it_changed() {
    let (mut exact, mut all) = (0, 0);
    let relay_programs = [("dqn.relay", 12), ("resnet-18.relay", 21), ("resnet-50.relay", 12), ("vgg-16.relay", 15)];
    let relax_programs =
        [("resnet18.py", 16), ("mobilenet_v2.py", 8), ("torch_transformer_encoder.py", 8), ("hf_bert_2layer.py", 8)];
    let relay = relay_programs.iter().filter_map(|(name, wanted)| relay(&format!("relay/{name}"), *wanted));
    let relax = relax_programs.iter().filter_map(|(name, wanted)| relax(&format!("relax/{name}"), *wanted));
    for (some, of) in relay.chain(relax) {
        exact += some;
        all += of;
    }
    println!("{exact} of {all} edits show exactly the bindings that they changed");
    assert!(exact * 100 >= all * 99, "{exact} of {all}");
}

/// Returns every diff of a run, as text.
fn diffs(session: &Session) -> Vec<String> {
    let steps = &session.trace().steps;
    let rows = |diff: Diff| -> String {
        diff.rows.iter().map(|row| format!("{:?} {}|{}\n", row.kind, diff.left_text(row), diff.right_text(row))).collect()
    };
    steps.iter().map(|step| rows(session.diff(step.before, step.after).expect("both are there"))).collect()
}

#[test]
fn names_in_a_diff_follow_from_the_program_and_the_list_alone() {
    let small = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {\n  \
                 %0 = nn.dense(%x, %w, units=None);\n  %1 = nn.dense(%x, multiply(%w, add(1f, 1f)), units=None);\n  \
                 %2 = nn.relu(%0);\n  %3 = nn.dropout(%1);\n  %4 = add(%2, %3.0);\n  let %y = nn.softmax(%4);\n  \
                 add(%y, %y)\n}\n";
    let calls = "SimplifyInference, CombineParallelDense, FoldConstant, FuseOps, ToANormalForm";
    let sources = [Some(small.to_owned()), text_beside("corpus/relay/lstm.relay"), text_beside("corpus/relay/resnet-18.relay")];
    for source in sources.into_iter().flatten() {
        let at = |opt_level| {
            let context = PassContext { opt_level, ..PassContext::default() };
            document(&source, calls, context).expect("a list of passes")
        };
        let fresh = |level| {
            let mut session = Session::new(|| 0.0);
            assert!(session.run(&at(level), false), "{:?}", session.problems());
            session
        };
        let expected = diffs(&fresh(3));
        let mut used = fresh(1);
        let _ = (diffs(&used), used.graph(0, 1));
        assert!(used.run(&at(3), false));
        for step in 0..used.trace().steps.len() {
            let _ = (used.partial(step, 1), used.preview(0, "FuseOps"));
        }
        assert!(used.beside(&at(2)).is_ok());
        assert_eq!(diffs(&used), expected);
        // Nor do steps before it depend on later rows of the list.
        let mut shorter = fresh(3);
        assert!(
            shorter.run(&document(&source, "SimplifyInference, CombineParallelDense", at(3).context).expect("a list"), false)
        );
        let first = diffs(&shorter);
        assert_eq!(first, expected[..first.len()]);
    }
}

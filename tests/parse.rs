//! The parser on whole files: TVM's networks, TVM's own parser tests, and damaged programs.

mod beside;

use beside::beside;
use passlab::diag::Severity;
use passlab::ir::Store;
use passlab::parse::{Parsed, parse};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == extension));
    paths.sort();
    paths
}

fn cases(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn read(text: &str) -> Parsed {
    parse(&mut Store::new(), text)
}

fn first_problem(parsed: &Parsed, text: &str) -> String {
    passlab::diag::render(&parsed.diagnostics[..1], "text", text)
}

#[test]
fn every_network_of_the_corpus_is_read_without_a_problem() {
    let Some(folder) = beside("corpus/relay") else { return };
    for path in files(&folder, "relay") {
        let text = fs::read_to_string(&path).unwrap();
        let parsed = read(&text);
        assert!(parsed.diagnostics.is_empty(), "{}:\n{}", path.display(), first_problem(&parsed, &text));
        assert_eq!(parsed.program.module.functions().len(), 1);
    }
}

#[test]
fn where_tvm_reads_so_do_we_and_where_it_refuses_so_do_we() {
    let Some(folder) = beside("cases/relay") else { return };
    for case in cases(&folder.join("parse.jsonl")) {
        let source = case["source"].as_str().unwrap();
        let parsed = read(source);
        let wanted = case.get("error").is_some();
        assert_eq!(parsed.has_errors(), wanted, "{} {}\n{source}\n{:#?}", case["id"], case["test"], parsed.diagnostics);
        let is_expr = case["fn"] == "parse_expr";
        assert_eq!(parsed.program.expr.is_some(), is_expr && !wanted, "{}", case["id"]);
    }
}

#[test]
fn every_text_that_tvm_printed_is_read() {
    let Some(folder) = beside("cases/relay") else { return };
    let mut wrong = Vec::new();
    let mut n = 0;
    for path in files(&folder, "jsonl") {
        for case in cases(&path) {
            for text in ["before", "after", "printed"].iter().filter_map(|key| case[key].as_str()) {
                n += 1;
                let parsed = read(text);
                if parsed.has_errors() {
                    wrong.push(format!("{} {}\n{}", path.display(), case["id"], first_problem(&parsed, text)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {n} texts\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
}

/// A generator that gives the same numbers on every run (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

const PROGRAMS: [&str; 4] = [
    r#"#[version = "0.0.5"]
type List[A] {
  Cons(A, List[A]),
  Nil,
}
extern type Storage
def @length[A](%l: List[A], Primitive=1, Compiler="x\"y") -> int32 {
  match? (%l) {
    Cons(_, %rest: List[A]) => {
      let %v: () = ();
      %0 = @length(%rest) /* ty=int32 */;
      add(1, %0)
    },
    Nil => 0,
  }
}
"#,
    r#"#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, ?, 8i64), float32] /* ty=Tensor[(1, 3, 8, 8), float32] */, %w: Tensor[(4, 3, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], out_dtype="float32");
  %1 = (%0, -1.5e-3f, 2i64, True, inff, nanf16);
  %2 = if (1 <= 2 * 3 - 4) { %1.0 } else { let %f = fn [A](%y: A) -> A { %y }; %f(%0) };
  ref_write(ref(%2), ref_read(ref(%2)));
  %3 = meta[relay.Constant][0] /* ty=Tensor[(3), float32] */;
  (%2, %3)
}
"#,
    "free_var %base/x: fn (int32, (bool,)) -> ref(int32); // to the end\n%base/x(1, (False,)) /* a /* b */ */",
    r##"#[version = "0.0.5"]
def @main(%x: Tensor[(meta[tir.Var][0]), int16]) { add(%x, meta[relay.Constant][0]) }
#[metadata]
{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["relay.Constant", "tir.Var"], "data": [2, 4]},
{"type_key": "Array", "data": [3]}, {"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": "0", "span": "0"}},
{"type_key": "Array", "data": [5]}, {"type_key": "tir.Var", "attrs": {"dtype": "int32", "name": "6", "span": "0"}},
{"type_key": "runtime.String", "repr_str": "n"}],
"b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAAQAQACAAAAAAAAAAQAAAAAAAAAAQACAA=="]}
"##,
];

/// Characters with a meaning for the parser, and some without.
const PIECES: [&str; 40] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "/*",
    "*/",
    "//",
    "\"",
    "\\",
    "%",
    "@",
    "#",
    "#[",
    "meta[",
    "][",
    ";",
    ",",
    "=",
    ":",
    ".",
    "-",
    "->",
    "=>",
    "<",
    "let",
    "def",
    "fn",
    "if",
    "match",
    "%0",
    "%x",
    "@main",
    "9",
    "1e400f",
    "\r",
    "\u{e9}",
    "\u{1f600}",
    "\0",
];

/// Parses a damaged text; the findings must lie inside it.
fn survive(text: &str) -> usize {
    let store = &mut Store::new();
    let parsed = parse(store, text);
    for found in &parsed.diagnostics {
        let span = found.span.unwrap_or_else(|| panic!("{found:?} has no place in {text:?}"));
        assert!(span.start <= span.end && span.end as usize <= text.len() + 1, "{found:?} in {text:?}");
    }
    passlab::diag::render(&parsed.diagnostics, "text", text);
    parsed.diagnostics.iter().filter(|d| d.severity == Severity::Error).count()
}

#[test]
fn programs_cut_off_anywhere_are_refused_without_a_panic() {
    for program in PROGRAMS {
        assert_eq!(survive(program), 0, "{program}");
        for end in (0..program.len()).filter(|end| program.is_char_boundary(*end)) {
            survive(&program[..end]);
        }
    }
}

#[test]
fn damaged_programs_are_read_without_a_panic() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for round in 0..4000 {
        let mut text = PROGRAMS[round % PROGRAMS.len()].to_string();
        for _ in 0..=random.below(4) {
            let mut at = random.below(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let mut end = (at + random.below(12)).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            match random.below(4) {
                0 => text.replace_range(at..end, ""),
                1 => text.insert_str(at, PIECES[random.below(PIECES.len())]),
                2 => text.replace_range(at..end, PIECES[random.below(PIECES.len())]),
                _ => {
                    let copy = text[at..end].to_string();
                    text.insert_str(at, &copy.repeat(1 + random.below(3)));
                }
            }
        }
        survive(&text);
    }
}

#[test]
fn text_that_is_no_program_at_all_is_refused() {
    let mut random = Random(42);
    for _ in 0..2000 {
        let text: String = (0..random.below(60)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        survive(&text);
    }
}

/// `tests/saved/record.py` made both files with TVM 0.27.
#[test]
fn a_program_that_tvm_saved_as_json_is_the_one_that_it_prints() {
    let mut store = Store::new();
    let parsed = parse(&mut store, include_str!("saved/everything.json"));
    let said: Vec<&str> = parsed.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(said, ["front-saved"]);
    let text = passlab::print::module(&store, &parsed.program.module, &passlab::print::PrintOptions::default());
    let class = |text: &str| text[text.find("@I.ir_module").expect("a module")..].trim_end().to_owned();
    assert_eq!(class(&text), class(include_str!("saved/everything.expected")));
    assert!(text.contains("metadata[\"ir.GenericConst\"][0]"), "the constant has its values");
}

#[test]
fn saved_json_that_cannot_be_read_says_why() {
    for (text, wanted) in [
        (r#"{"root_index": 0, "nodes": [{"type": "te.Tensor"}]}"#, "objects of type `te.Tensor` are not read here"),
        (r#"{"root_index": 5, "nodes": []}"#, "the graph has no root"),
        (
            r#"{"root_index": 0, "nodes": [{"type": "ir.IRModule", "data": {"functions": 7}}]}"#,
            "`functions` names no node before it",
        ),
        (r#"{"root": 1, "nodes": [{"type_key": ""}], "attrs": {"tvm_version": "0.19.0"}}"#, "the graph has no root"),
        (r#"{"root_index": 0, "nodes": [{"type": "#, "this is no JSON"),
    ] {
        let parsed = read(text);
        let [error] = &parsed.diagnostics[..] else { panic!("{text}: {:?}", parsed.diagnostics) };
        assert!(error.code == "front-saved" && error.message.contains(wanted), "{text}: {}", error.message);
    }
}

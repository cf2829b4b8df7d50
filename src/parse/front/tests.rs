use crate::diag::Diagnostic;
use crate::ir::Store;
use crate::parse::{Options, Parsed, effort, parse, parse_with, recognise};

const ADD: &str = "@R.function\ndef main(x: R.Tensor((n, 4), dtype)):\n    y = R.add(x, x)\n    return y\n";
const RELAY: &str = "def @main(%x: Tensor[(2), float32]) {\n  add(%x, %x)\n}\n";

fn read(text: &str) -> Parsed {
    parse(&mut Store::new(), text)
}

fn codes(parsed: &Parsed) -> Vec<&'static str> {
    parsed.diagnostics.iter().map(|d| d.code).collect()
}

/// The one error of a text.
fn refused(text: &str) -> Diagnostic {
    let errors: Vec<Diagnostic> = read(text).diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.into_iter().next().unwrap()
}

#[test]
fn what_stands_around_a_program_is_left_out_with_a_note() {
    let constants = "n = 2 * 4\ndtype = \"float32\"\n";
    let function = read(&format!("import tvm\n{constants}{ADD}main.show()\nf\"{{x}}\"\n"));
    assert_eq!(codes(&function), ["front-constant", "front-python"]);
    assert!(function.diagnostics[0].message.ends_with("`dtype` is \"float32\", `n` is 8"));
    let log = read(&format!("[00:11:22] a.cc:6: PrintIR():\n{RELAY}The type checker is unable to\n"));
    assert!(!log.has_errors() && log.program.module.functions().len() == 1);
    assert!(codes(&log).contains(&"front-text"));
}

#[test]
fn a_program_is_found_in_notebooks_markdown_strings_and_logs() {
    let plain = "@R.function\ndef main(x: R.Tensor((2,), \"float32\")):\n    return x\n";
    let escaped = plain.replace('\n', "\\n").replace('"', "\\\"");
    let colours = plain.replace("def", "\x1b[1mdef\x1b[0m");
    let texts = [
        format!("{{\"cells\": [{{\"cell_type\": \"code\", \"source\": [\"{escaped}\"]}}], \"nbformat\": 4}}"),
        format!("Here it is:\n\n```python\n{plain}```\nThanks!\n"),
        format!("\"{escaped}\""),
        format!("mod = from_source(\"\"\"\n{plain}\"\"\")\n"),
        format!("import tvm\nmod = parse(\"\"\"\n{RELAY}\"\"\")\nparams = {{}}\n"),
        plain.lines().map(|line| format!(">>> {line}\n")).collect(),
        plain.lines().map(|line| format!("    {line}\n")).collect(),
        colours,
        plain.lines().map(|line| format!("2024-01-02 03:04:05,678 DEBUG {line}\n")).collect(),
        plain.lines().map(|line| format!("2024-01-02 03:04:05,678 - my.passes - INFO - {line}\n")).collect(),
        format!(
            "--- a/m.py\n+++ b/m.py\n@@ -1,3 +1,3 @@\n{}",
            plain.lines().map(|line| format!("-gone\n+{line}\n")).collect::<String>()
        ),
    ];
    for text in texts {
        let found = read(&text);
        let program = found.program;
        let is_there = program.expr.is_some() || !program.module.functions().is_empty();
        assert!(!found.diagnostics.iter().any(Diagnostic::is_error) && is_there, "{text}\n{:?}", found.diagnostics);
    }
}

#[test]
fn a_text_is_recognised_by_its_look() {
    let look = |text: &str| recognise(text).script;
    assert!(look("# from tvm\n@I.ir_module\nclass M: pass") && look("n = 3\n@T.prim_func\ndef f(): pass"));
    assert!(!look(RELAY) && !look("fn (%x) { %x }") && !look("mod = parse(\"\"\"\ndef @main() { 1 }\n\"\"\")\n"));
    let notebook = "{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"@R.function\\n\", \"def f(): pass\"]}]}";
    let found = recognise(notebook);
    assert!(found.script && found.inner.is_some_and(|(text, _)| text.trim() == "@R.function\ndef f(): pass"));
}

#[test]
fn places_are_those_of_the_text_that_was_pasted() {
    let text = format!("> noise\n> {}", "#[version = \"0.0.5\"]\n> def @main() {\n>   %lost\n> }\n");
    let error = refused(&text);
    let span = error.span.unwrap();
    assert_eq!(&text[span.start as usize..span.end as usize], "%lost");
}

#[test]
fn the_last_of_several_programs_is_read_unless_another_is_picked() {
    let module = |name: &str, op: &str| {
        let body = format!("    @R.function\n    def f(x: R.Tensor((2,), \"float32\")):\n        return R.{op}(x)\n");
        format!("@I.ir_module\nclass {name}:\n{body}")
    };
    let text = format!("{}\n{}", module("Before", "exp"), module("After", "log"));
    let found = read(&text);
    assert_eq!(
        found.choices.iter().map(|c| (c.name.as_str(), c.chosen)).collect::<Vec<_>>(),
        [("After", true), ("Before", false)]
    );
    let pick = |name: &str| Options { pick: Some(name.to_owned()), ..Options::default() };
    assert!(!parse_with(&mut Store::new(), &text, &pick("Before")).has_errors());
    let wrong = parse_with(&mut Store::new(), &text, &pick("Bfore"));
    assert_eq!(codes(&wrong), ["front-pick"]);
}

#[test]
fn a_module_of_2021_is_a_class_of_bare_functions() {
    let function = "    def f(a: ty.handle) -> None:\n        A = tir.match_buffer(a, [4], \"float32\")\n        A[0] = 1.0\n";
    let found = read(&format!("@tvm.script.tir\nclass Module:\n{function}{}", function.replace("def f", "def g")));
    assert!(!found.has_errors(), "{:?}", found.diagnostics);
    assert_eq!(found.program.module.functions().len(), 2);
}

#[test]
fn a_name_without_a_value_asks_for_it_and_takes_it() {
    let error = refused(ADD);
    assert_eq!(error.code, "front-define");
    assert!(error.message.starts_with("`n`, `dtype` come from around the program"), "{}", error.message);
    let defines = vec![("n".to_owned(), "8".to_owned()), ("dtype".to_owned(), "float16".to_owned())];
    let given = parse_with(&mut Store::new(), ADD, &Options { pick: None, defines });
    assert!(!given.has_errors(), "{:?}", given.diagnostics);
    let fixed = |fix: &crate::diag::Fix| read(&format!("{}{ADD}", fix.edits[0].1));
    assert_eq!(error.fixes[0].asks, [("n".to_owned(), "128".to_owned()), ("dtype".to_owned(), "float32".to_owned())]);
    assert!(!fixed(&error.fixes[0]).has_errors(), "{:?}", error.fixes);
}

#[test]
fn the_only_unknown_name_asks_for_a_value_unless_another_was_meant() {
    let text = |size: &str| format!("@R.function\ndef f(x: R.Tensor(({size}, 4), \"float32\")):\n    return x\n");
    assert_eq!(refused(&text("size")).fixes[0].asks, [("size".to_owned(), "128".to_owned())]);
    let text = "@R.function\ndef f(value: R.Tensor((4,), \"float32\")):\n    y = R.add(value, valeu)\n    return y\n";
    assert!(refused(text).fixes.is_empty());
}

#[test]
fn another_program_of_a_text_is_read_by_a_line_at_its_top() {
    let part = |name: &str, op: &str| {
        format!(
            "@I.ir_module\nclass {name}:\n    @R.function\n    def main(x: R.Tensor((4,), \"float32\")):\n        return R.{op}(x)\n\n"
        )
    };
    let mut text = format!("# A test.\n{}{}{}", part("Before", "abs"), part("Middle", "exp"), part("After", "sin"));
    for (read_now, others) in [("After", ["Middle", "Before"]), ("Before", ["After", "Middle"]), ("Middle", ["After", "Before"])]
    {
        let found = read(&text);
        let note = found.diagnostics.iter().find(|d| d.code == "front-several").expect("three programs");
        assert!(note.message.contains(&format!("`{read_now}` is read")), "{}", note.message);
        let titles: Vec<&str> = note.fixes.iter().map(|fix| fix.title.as_str()).collect();
        assert_eq!(titles, others.map(|name| format!("Read {name}")));
        let (place, line) = &note.fixes[1].edits[0];
        text.replace_range(place.start as usize..place.end as usize, line);
    }
    assert_eq!(text.matches("pick:").count(), 1);
}

#[test]
fn a_name_in_a_type_of_relay_asks_for_its_value() {
    let text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(n, 4), float32]) {\n  nn.relu(%x)\n}\n";
    let error = refused(text);
    assert!(error.code == "front-define" && error.message.starts_with("`n` comes from around"), "{}", error.message);
    let given = read(&format!("// define: n=8\n{text}"));
    assert!(!given.has_errors(), "{:?}", given.diagnostics);
}

#[test]
fn what_a_web_page_did_to_comments_and_a_name_before_a_type_are_said() {
    let text = |ty: &str| format!("def @main(%x: {ty}) {{\n  nn.relu(%x)\n}}\n");
    let lost = refused(&text("Tensor[(2), float32] / ty=Tensor[(2), float32] /"));
    assert!(lost.code == "front-comments" && lost.message.contains("lost their stars"), "{}", lost.message);
    assert_ne!(refused(&text("Tensor[(2), dtype=bool]")).code, "front-define");
}

#[test]
fn functions_of_python_are_not_asked_for_as_numbers() {
    let error = refused("@R.function\ndef f(x: R.Tensor((4,), \"float32\")):\n    y = foo(x)\n    z = bar(y)\n    return z\n");
    assert!(error.notes.iter().all(|note| !note.contains("128")), "{:?}", error.notes);
}

#[test]
fn other_languages_are_named() {
    let kernel = "@T.prim_func\ndef k(A: T.Tensor((4,), \"float32\")):\n    with T.Kernel(4) as bx:\n        A[bx] = 1\n";
    let device = "@T.prim_func\ndef k(a: T.handle):\n    A = T.match_buffer(a, (4,), \"float32\")\n    T.device_entry()\n    \
                  i = T.thread_id([4])\n    B = T.alloc_shared((4,), \"float32\")\n    B[i] = A[i]\n";
    let texts = [
        (kernel, "TileLang"),
        (device, "TIRx"),
        ("@T.jit\ndef k(A: T.Buffer((N,), \"float32\"), *, N: T.constexpr):\n    A[0] = T.float32(0)\n", "TIRx"),
        ("primfn(a: handle) -> ()\n  attr = {}\n", "primfn"),
        ("@te.hybrid.script\ndef f(a):\n    c = output_tensor((1,), 'float32')\n    return c\n", "hybrid script"),
        ("def @f<a>(%l : List[a]) -> a {\n  match(%l) {\n    case Nil() { 1 }\n  }\n}\n", "language reference"),
        ("with T.block(\"a\"):\n    T.reads()\n", "piece of a tensor program"),
        ("with tir.block([4], \"a\") as [i]:\n    C[i] = 0.0\n", "piece of a tensor program"),
        ("import numpy as np\nx = np.array([1])\n", "Python"),
        ("@T.prim_func\ndef f(A: T.Buffer((2,), \"float32\")):\n    ...\n", "not complete"),
    ];
    for (text, words) in texts {
        let error = refused(text);
        assert!(error.message.contains(words), "{text}: {}", error.message);
        assert!(!error.notes.is_empty(), "{text}");
    }
}

#[test]
fn a_comment_behind_a_decorator_or_a_head_changes_nothing() {
    let function =
        "@T.prim_func  # on the device\n    def f(A: T.Buffer((4,), \"float32\")):  # writes\n        A[0] = T.float32(0)\n";
    let text = format!("import numpy as np\nif True:  # always\n    {function}    x = 1\n");
    let found = read(&text);
    assert!(!found.has_errors(), "{:?}", found.diagnostics);
}

#[test]
fn constants_of_one_line_count_and_lines_are_those_of_the_source() {
    let function = "@T.prim_func\ndef f(A: T.Buffer((N, M), \"float32\")):\n    A[0, 0] = T.float32(0)\n";
    let found = read(&format!("import numpy\nN = 4; M = 2 * N  # rows; columns\n{function}"));
    assert!(!found.has_errors(), "{:?}", found.diagnostics);
    let error = refused(&format!("import numpy\nx = 1\ny = 2\n{function}"));
    assert!(error.notes.iter().any(|note| note == "first used: `N` in line 5, `M` in line 5"), "{:?}", error.notes);
    let twice = "    y = R.nosuch(x)\n    z = R.nosuch(x)\n    return z\n";
    let error = refused(&format!("import numpy\n@R.function\ndef f(x: R.Tensor((4,), \"float32\")):\n{twice}"));
    assert!(error.notes.iter().any(|note| note == "the same in line 5"), "{:?}", error.notes);
}

#[test]
fn no_text_makes_it_fail() {
    let pieces = [
        "```",
        "\"\"\"",
        "{\"cells\"",
        "\\",
        "\x1b[",
        "é",
        "def @",
        "@T.prim_func\n",
        "class A:\n",
        "#[metadata]",
        "(",
        "'",
        "\n",
    ];
    for a in pieces {
        for b in pieces {
            for c in pieces {
                read(&format!("{a}{b}{c}{a}"));
            }
        }
    }
}

#[test]
fn older_texts_that_lack_what_is_asked_today_open() {
    let texts = [
        "#[version = \"0.0.5\"]\ndef @main(%x: List[int32]) -> int32 {\n  match (%x) { Cons(%a, _) => %a, Nil => 0 }\n}\n",
        "def @main(%x: Tensor[(1, 3, 4, 4), float32]) {\n  image.resize(%x, size=[8, 8], method=\"BILINEAR\", align_corners=True)\n}\n",
        "@relax.function\ndef foo(x: Tensor((4, 8), \"float32\"), z: Tensor(_, \"float32\")):\n    gv = relax.add(x, x)\n    return gv\n",
        "@R.function\ndef f(x: R.Tensor((2, 3), \"float32\")):\n    y = R.emit_te(topi.transpose, x, axes=[1, 0])\n    return topi.nn.relu(y)\n",
        "@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    p = T.allocate([1], \"float32\", \"local\")\n    B = T.buffer_decl([1], \"float32\", data=p, scope=\"local\")\n    B[0] = A[0]\n",
        "@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    T.func_attr({\"target\": T.target(\"llvm -mcpu=skylake -num-cores=8\")})\n    A[0] = T.float32(0)\n",
        "@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    A[0] = T.call_llvm_pure_intrin(T.llvm_lookup_intrinsic_id(\"llvm.fabs\"), T.uint32(1), A[1], dtype=\"float32\")\n",
    ];
    for text in texts {
        let found = read(text);
        assert!(!found.has_errors(), "{text}\n{:?}", found.diagnostics);
    }
}

#[test]
fn a_function_of_topi_without_an_operator_is_named() {
    let error =
        refused("@R.function\ndef f(x: R.Tensor((2, 3), \"float32\")):\n    y = R.emit_te(topi.nn.pool2d, x)\n    return y\n");
    assert!(error.message.contains("topi.nn.pool2d"), "{}", error.message);
}

#[test]
fn work_grows_with_the_text_and_not_faster() {
    let patterns = ["\x1b[", "@T.prim_func\ndef f():\n    pass\n", "@T.prim_func\ndef f():\n    T.evaluate(n)\nn = 1\n"];
    let work = |pattern: &str, times: usize| {
        let text = pattern.repeat(times);
        effort::of(|| drop(parse(&mut Store::new(), &text)))
    };
    for pattern in patterns {
        let (few, many) = (work(pattern, 100), work(pattern, 1_600));
        assert!(few >= 100 && many <= few * 17, "{pattern:?}: {few} for 100, {many} for 1,600");
    }
}

#[test]
fn a_function_is_a_value_without_an_annotation() {
    let text = "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Tensor((4,), \"float32\")) -> R.Tensor((4,), \"float32\"):\n        \
                return R.add(x, x)\n\n    @R.function\n    def main(x: R.Tensor((4,), \"float32\")):\n        inner = M.f\n        \
                return inner(x)\n";
    let store = &mut Store::new();
    let opened = crate::session::open(store, text);
    assert!(opened.is_ok(), "{:?}", opened.diagnostics);
    let printed = crate::print::module(store, &opened.module, &Default::default());
    let ty = "R.Tensor((4,), dtype=\"float32\")";
    assert!(printed.contains(&format!("inner: R.Callable(({ty},), {ty}, True) = cls.f\n")), "{printed}");
}

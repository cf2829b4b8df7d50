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
        "R\"(",
        "<br>&lt;",
        "[1m",
        "\u{201c}",
        "^^^\n",
        " 1 ",
        "=[VirtualDevice(",
        "1e-",
        "> \u{2502} ",
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
        "@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    y = R.call_dps_packed(\"env.f\", (x,), relax.TensorStructInfo((2,), \"float32\"))\n    return y\n",
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
    let patterns = [
        "\x1b[",
        "@T.prim_func\ndef f():\n    pass\n",
        "@T.prim_func\ndef f():\n    T.evaluate(n)\nn = 1\n",
        "> @T.a(x)\n",
        " R\"(@T.a",
        "\"@T.a\", ",
    ];
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

/// Programs of both dialects, each as a function of the lines around it.
fn reads_alike(wrap: impl Fn(&str) -> String) {
    let script =
        "@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    for i in range(4):\n        A[i] = A[i] + T.float32(1)\n";
    let relay = "def @main(%x: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] {\n  %0 = add(%x, -1f);\n  \
                 nn.relu(%0)\n}\n\ndef @other() {\n  1\n}\n";
    let function = "fn (%x: Tensor[(2), float32]) {\n  if (True) {\n    %x\n  } else {\n    negative(%x)\n  }\n}\n";
    for plain in [script, relay, function] {
        let print = |text: &str| {
            let store = &mut Store::new();
            let found = parse(store, text);
            assert!(!found.has_errors(), "{text}\n{:?}", found.diagnostics);
            let options = crate::print::PrintOptions::default();
            match found.program.expr {
                Some(expr) => crate::print::expr(store, expr, &options),
                None => crate::print::module(store, &found.program.module, &options),
            }
        };
        assert_eq!(print(&wrap(plain)), print(plain));
    }
}

/// Puts something before each line, which may depend on its number.
fn before_lines(text: &str, prefix: impl Fn(usize) -> String) -> String {
    text.lines().enumerate().map(|(index, line)| format!("{}{line}\n", prefix(index + 1))).collect()
}

#[test]
fn whatever_stands_before_each_line_is_left_out() {
    for prefix in ["> ", "> > ", "E       ", "app_1  | ", "INFO:root:", "[2024-04-08 16:00:09] INFO compile.py:137: ", "\t", "+"]
    {
        reads_alike(|text| before_lines(text, |_| prefix.to_owned()));
    }
    reads_alike(|text| before_lines(text, |line| format!("{line:3} ")));
    reads_alike(|text| before_lines(text, |line| format!("{line}. ")));
    reads_alike(|text| before_lines(text, |line| format!("{line:2} \u{2502} ")));
    reads_alike(|text| before_lines(text, |line| format!("May 13 08:22:{line:02} host python[1234]: ")));
    reads_alike(|text| before_lines(text, |line| format!("{line}\n")));
    reads_alike(|text| format!("@someone wrote:\n{}\nThanks!\n", before_lines(text, |_| "> ".to_owned())));
}

#[test]
fn what_stands_before_the_first_line_alone_is_left_out() {
    for title in ["Out[3]: ", "after fusion: ", "[16:49:04] /src/transform.cc:133: ", "test_fuse.py "] {
        reads_alike(|text| format!("{title}{text}"));
    }
    // A comment stays one, and so does what is said of a program.
    assert_eq!(refused("# def @main() {\n#   1\n# }\n").code, "front-comments");
    assert!(!read("# See @T.prim_func\n@T.prim_func\ndef f():\n    T.evaluate(0)\n").has_errors());
    assert!(!codes(&read("Frames:\n  one \u{2190} @T.prim_func\nand so on\n")).contains(&"front-wrapped"));
}

#[test]
fn what_pages_editors_and_terminals_do_to_characters_is_undone() {
    let quotes = |text: &str| {
        text.split('"').enumerate().fold(String::new(), |all, (index, part)| match index % 2 {
            _ if index == 0 => part.to_owned(),
            1 => format!("{all}\u{201c}{part}"),
            _ => format!("{all}\u{201d}{part}"),
        })
    };
    reads_alike(quotes);
    reads_alike(|text| text.replace("->", "\u{2192}").replace("-1", "\u{2212}1").replace(", ", "\u{ff0c}"));
    reads_alike(|text| text.replace('_', "\\_").replace('[', "\\[").replace(']', "\\]"));
    reads_alike(|text| text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;"));
    reads_alike(|text| format!("<pre><span class=\"k\">{}</span></pre>\n", text.replace('>', "&gt;").replace('\n', "<br>")));
    reads_alike(|text| format!("\u{feff}{}", text.replace('\n', "\r")));
    for (on, off) in [("[38;5;28;01m", "[39m"), ("^[[1m", "^[[0m"), ("\\033[1m", "\\033[0m"), ("\u{241b}[1m", "\u{241b}[0m")] {
        reads_alike(|text| text.replace("def", &format!("{on}def{off}")).replace("fn", &format!("{on}fn{off}")));
    }
    let comment = "@T.prim_func\ndef f():\n    # one \u{2192} two\n    T.evaluate(n)\n";
    assert!(!codes(&read(comment)).contains(&"front-wrapped"));
}

#[test]
fn a_program_in_strings_of_other_languages_is_read() {
    let quoted = |text: &str| format!("{text:?}");
    reads_alike(|text| format!("s = b{}\n", quoted(text)));
    reads_alike(|text| format!("{{\"name\": \"x\", \"ir\": {}, \"n\": 1}}\n", quoted(text)));
    let lines =
        |text: &str, end: &str| text.lines().map(|line| format!("  {}{end}\n", quoted(&format!("{line}\n")))).collect::<String>();
    reads_alike(|text| format!("std::string text =\n{};\n", lines(text, "")));
    reads_alike(|text| format!("[\n{}]\n", lines(text, ",")));
    reads_alike(|text| format!("`{}`\n", text.trim_end()));
}

#[test]
fn messages_around_a_program_of_relay_do_not_hide_it() {
    let before = "Running pass: {} The meta data of the pass - pass name: FuseOps\n";
    let after = "{'w': <tvm.nd.NDArray shape=(2, 1)>\narray([[0.1],\n       [0.3]], dtype=float32)}\nTraceback (most recent call last):\n  \
                 File \"a.py\", line 3, in <module>\n  3: tvm::relay::InferType(tvm::IRModule const&)::{lambda(int)#1}\nTVMError: {x}\n";
    reads_alike(|text| format!("{before}{text}{}", if text.starts_with('@') { "" } else { after }));
    let two = read("Before:\nfn (%x) {\n  %x\n}\n\nAfter:\nfn (%x) {\n  nn.relu(%x)\n}\n(Pdb) c\n");
    assert!(!two.has_errors() && two.choices.len() == 2, "{:?}", two.diagnostics);
    let printed = read("free_var %x: Tensor[(2), float32];\nnn.relu(%x)\n\ndef @main() {\n  1\n}\n");
    assert!(!printed.has_errors() && printed.program.module.functions().len() == 1, "{:?}", printed.diagnostics);
}

#[test]
fn what_was_typed_at_a_prompt_is_read_among_what_was_printed() {
    let typed = "@T.prim_func\n... def f(A: T.Buffer((4,), \"float32\")):\n...     A[0] = T.float32(0)\n... \n";
    let text = format!(">>> import tvm\n>>> {typed}>>> print(f)\n<tvm.tir.PrimFunc object>\n");
    assert!(!read(&text).has_errors(), "{:?}", read(&text).diagnostics);
}

#[test]
fn a_first_line_without_its_indentation_is_the_head_of_what_follows() {
    let text = "@T.prim_func\n    def f(A: T.Buffer((4,), \"float32\")):\n        A[0] = T.float32(0)\n";
    assert!(!read(text).has_errors(), "{:?}", read(text).diagnostics);
}

#[test]
fn a_patch_without_heads_is_read_as_it_is_afterwards() {
    let text = "  @R.function\n  def f(x: R.Tensor((4,), \"float32\")):\n-     return R.nosuch(x)\n+     return R.exp(x)\n";
    assert!(!read(text).has_errors(), "{:?}", read(text).diagnostics);
}

#[test]
fn an_open_bracket_is_named_by_its_line_in_the_pasted_text() {
    let script =
        "import numpy\nx = 1\n\n@R.function\ndef f(x: R.Tensor((4,), \"float32\")):\n    y = R.add(x, (x\n    return y\n";
    let error = refused(script);
    assert!(error.notes.iter().any(|note| note.starts_with("`(` in line 6, column ")), "{:?}", error.notes);
    let relay = "[00:11:22] a.cc:6: PrintIR():\n#[version = \"0.0.5\"]\ndef @main(%x: int32) {\n  add(%x, (%x\n}\n";
    let error = refused(relay);
    assert!(error.notes.iter().any(|note| note.starts_with("`(` in line 4, column 11")), "{:?}", error.notes);
}

#[test]
fn a_program_in_a_raw_string_of_another_language_is_read() {
    reads_alike(|text| {
        format!("#include <x>\nauto code = R\"d({text})d\";\n\nint main() {{\n  if (a.failed()) Fatal(\"b\");\n}}\n")
    });
    reads_alike(|text| {
        format!("#[test]\nfn f() {{\n    let relay = r#\"\n{text}\"#;\n    let mut m = HashMap::default();\n}}\n")
    });
    // The quote behind an `R` is the end of a string of Python.
    let block = "        with T.block(\"a\"):\n            vi, vj = T.axis.remap(\"SR\", [i, j])\n            A[vi] = A[vi]\n";
    let text = format!("@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    for i, j in T.grid(4, 4):\n{block}n = 1\n");
    assert!(!codes(&read(&text)).contains(&"front-wrapped"));
}

#[test]
fn the_underlined_program_of_a_message_is_read() {
    let body = "        for i in range(4):\n        ^^^^^^^^^^^^^^^^^^\n            A[i] = T.float32(0)\n            ^^^^^^^^^^^^^^^^^^^\n";
    let program = format!("@I.ir_module\nclass Module:\n    @T.prim_func\n    def f(A: T.Buffer((4,), \"float32\")):\n{body}");
    let message = format!("ScheduleError: An error occurred\n\nThe IR with diagnostic is:\n{program}Error message: The loop\n");
    assert!(!read(&message).has_errors(), "{:?}", read(&message).diagnostics);
    let equal =
        format!("ValueError: StructuralEqual check failed, caused by lhs at <root>:\n{program}and rhs at <root>:\n{program}");
    assert!(!read(&equal).has_errors(), "{:?}", read(&equal).diagnostics);
}

#[test]
fn relay_of_an_old_log_has_numbers_and_devices_that_no_tvm_reads() {
    let device = "VirtualDevice(device_type=1, virtual_device_id=0, target=Target(id=55d0, kind='llvm', keys={'cpu'}))";
    let text = format!(
        "v0.0.4\ndef @main(%x {{virtual_device={device}}}: Tensor[(2), float32], hash=\"a\", param_se_scopes=[{0}, {0}], \
         virtual_device={device}) -> Tensor[(2), float32] {{\n  nn.leaky_relu(%x, alpha=1e-05)\n}}\n",
        device.replace("VirtualDevice", "SEScope"),
    );
    let store = &mut Store::new();
    let found = parse(store, &text);
    assert!(!found.has_errors(), "{:?}", found.diagnostics);
    let printed = crate::print::module(store, &found.program.module, &Default::default());
    assert!(printed.contains("hash=\"a\") ->") && printed.contains("alpha=1e-05f") && !printed.contains("Device"), "{printed}");
}

#[test]
fn what_is_no_program_is_named_as_what_it_is() {
    let texts = [
        ("def apply_trace(sch: tir.Schedule) -> None:\n    b0 = sch.get_block(name=\"a\")\n", "trace of a schedule"),
        ("for (i: int32, 0, 1024) {\n  C[i] = A[i]\n}\n", "printed tensor programs"),
        ("The Relay type checker is unable to show the following types match:\n  Tensor[(1), int32]\n", "message of TVM"),
        ("error: Undefined variable: m\n --> a.py:8:13\n   |  \n 8 |      for i in range(m):\n", "message of TVM"),
        ("v0.0.4\nfn (%x: int32) {\n  add(%x) an internal invariant was violated while typechecking ; ;\n}\n", "its errors"),
        ("IRModule({GlobalVar(main): FunctionNode([Var(x)], CallNode(Op(nn.relu), [Var(x)]))})\n", "nodes of a program"),
        (
            "class M:\n    def f(A: T.Buffer((4,), \"float32\")):\n        for i in T.grid(4):\n            A[i] = T.float32(0)\n",
            "none is decorated",
        ),
        ("@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    A[0] = max(A[1], 0.0)\n", "there is `T.max`"),
        ("@main:\n  call  vm.builtin.match_shape in: %0, i2, c[1] dst: %void\n  ret   %5\n", "virtual machine"),
        ("##subgraphs[0])\n# def @main() {\n#   1\n# }\n", "all of this text is a comment"),
        ("def @main(%x: int32) {\n  @f(%x)\n}\ndef @f(%p: int32) { ... }\n", "not complete"),
        ("let %a: int32 = add(%b, %c);\nlet %d: int32 = add(%a, %b);\n", "piece of a function"),
    ];
    for (text, words) in texts {
        let error = refused(text);
        assert!(error.message.contains(words), "{text}: {}", error.message);
    }
    let error = refused(
        "@R.function\ndef f(x: R.Tensor((4,), \"float32\")):\n    y = R.call_tir(add, (x,), R.Tensor((4,), \"float32\"))\n    z = R.call_tir(exp, (y,), R.Tensor((4,), \"float32\"))\n    return z\n",
    );
    assert!(error.notes.iter().all(|note| !note.contains("128")), "{:?}", error.notes);
}

#[test]
fn each_of_several_modules_of_one_name_can_be_picked() {
    let module = |op: &str| {
        format!(
            "@I.ir_module\nclass Module:\n    @R.function\n    def f(x: R.Tensor((2,), \"float32\")):\n        return R.{op}(x)\n\n"
        )
    };
    let text = format!("Before:\n{}After:\n{}", module("exp"), module("log"));
    let found = read(&text);
    assert_eq!(found.choices.iter().map(|c| (c.name.as_str(), c.chosen)).collect::<Vec<_>>(), [("2", true), ("1", false)]);
    let store = &mut Store::new();
    let first = parse_with(store, &text, &Options { pick: Some("1".to_owned()), defines: Vec::new() });
    assert!(crate::print::module(store, &first.program.module, &Default::default()).contains("R.exp(x)"));
    let none = parse_with(store, &text, &Options { pick: Some("7".to_owned()), defines: Vec::new() });
    assert_eq!(none.diagnostics[0].notes, ["it has `1`, `2`"]);
}

#[test]
fn functions_from_the_middle_of_a_module_may_name_it() {
    let tensor = "    @T.prim_func\n    def g(A: T.Buffer((4,), \"float32\"), B: T.Buffer((4,), \"float32\")):\n        for i in range(4):\n            \
                  with T.sblock(\"B\"):\n                v = T.axis.spatial(4, i)\n                B[v] = A[v]\n\n";
    let ty = "R.Tensor((4,), \"float32\")";
    let graph = format!(
        "    @R.function\n    def f(x: {ty}) -> {ty}:\n        cls = Module\n        y = R.call_tir(cls.g, (x,), out_ty={ty})\n        return y\n"
    );
    let found = read(&format!("{tensor}{graph}"));
    assert!(!found.has_errors(), "{:?}", found.diagnostics);
}

#[test]
fn a_variable_with_a_type_is_not_asked_for_where_a_function_is_unknown() {
    let ty = "R.Tensor((4,), dtype=\"float32\")";
    let body = format!(
        "    lv: {ty} = R.exp(x)\n    lv1 = R.call_tir(relu, (lv,), out_ty={ty})\n    lv2: {ty} = R.add(lv1, lv)\n    return lv2\n"
    );
    let error = refused(&format!("@R.function\ndef main(x: {ty}) -> {ty}:\n{body}"));
    let notes = error.notes.concat();
    assert!(error.message.contains("`relu`") && notes.contains("`relu` is a function"), "{error:?}");
    assert!(!error.message.contains("`lv") && !notes.contains("`lv"), "{error:?}");
}

#[test]
fn a_text_that_reads_as_it_stands_is_not_changed_when_it_is_opened() {
    let text = "@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    T.func_attr({\"note\": \"it\u{2019}s\"})\n    A[0] = T.float32(0)\n";
    assert!(codes(&read(text)).is_empty() && recognise(text).inner.is_none(), "{:?}", recognise(text));
    assert!(recognise(&text.replace("4,", "4,\u{a0}")).inner.is_some());
    assert!(recognise("-1f\n").inner.is_none());
}

use crate::diag::Diagnostic;
use crate::ir::Store;
use crate::parse::parse;
use crate::print::{PrintOptions, expr_lines, module_lines};

/// Returns the text that a program prints as, without its metadata section.
fn printed(source: &str) -> (String, Vec<Diagnostic>) {
    let mut store = Store::new();
    let parsed = parse(&mut store, source);
    let options = PrintOptions { metadata: false, header: false, ..PrintOptions::default() };
    let text = match parsed.program.expr {
        Some(expr) => expr_lines(&store, expr, &options).text,
        None => module_lines(&store, &parsed.program.module, &options).text,
    };
    (text, parsed.diagnostics)
}

/// Returns the lines of a function's body, as they print.
fn body(source: &str) -> Vec<String> {
    let (text, found) = printed(source);
    assert!(!found.iter().any(Diagnostic::is_error), "{found:?}");
    let lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with("def")).skip(1);
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn codes(source: &str) -> Vec<&'static str> {
    printed(source).1.iter().map(|d| d.code).collect()
}

#[test]
fn nested_calls_take_names_of_the_builder_and_written_names_use_one_up() {
    let lines = body(
        "@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    \
         y = R.add(R.multiply(x, x), R.nn.relu(x))\n    z = R.add(R.exp(y), y)\n    return z\n",
    );
    assert_eq!(
        lines,
        ["gv = R.multiply(x, x)", "gv1 = R.nn.relu(x)", "y = R.add(gv, gv1)", "gv3 = R.exp(y)", "z = R.add(gv3, y)", "return z"]
    );
}

#[test]
fn variables_that_a_dataflow_block_does_not_give_out_are_gone_behind_it() {
    let source = "@R.function\ndef f(x: R.Tensor):\n    with R.dataflow():\n        a = R.exp(x)\n        b = R.exp(a)\n        \
                  R.output(b)\n    return a\n";
    assert_eq!(codes(source), ["relax-unbound-var"]);
    assert_eq!(body(&source.replace("return a", "return b"))[3], "R.output(b)");
}

#[test]
fn the_three_spellings_of_symbolic_variables_mean_the_same() {
    let new = "n = TypeVar(\"n\")\n@R.function\ndef f(x: R.Tensor((n, \"n + 1\"))) -> R.Shape([n]):\n    return R.shape([n])\n";
    let generic = "@R.function\ndef f[n](x: R.Tensor((n, n + 1))) -> R.Shape([n]):\n    return R.shape([n])\n";
    let old =
        "@R.function\ndef f(x: R.Tensor((\"n\", \"n + 1\"))) -> R.Shape([\"n\"]):\n    n = T.int64()\n    return R.shape([n])\n";
    let (text, found) = printed(new);
    assert!(found.is_empty(), "{found:?}");
    assert!(text.contains("x: R.Tensor((n, \"n + 1\"))"), "{text}");
    assert_eq!(printed(generic).0, text);
    assert_eq!(printed(old).0, text);
}

#[test]
fn the_notation_of_2022_is_read_with_hints() {
    let source = "@R.func\ndef f(x: R.Tensor[(n, k), \"f32\"], w: R.Tensor[(k, m), \"f32\"]):\n    with R.dataflow():\n        \
                  a: R.Tensor[(n, m), \"f32\"] = R.dot(x, w)\n        R.outputs(a)\n    return a\n";
    let (text, found) = printed(source);
    assert!(found.iter().all(|d| d.code == "relax-old"), "{found:?}");
    assert!(found.len() >= 4, "{found:?}");
    assert!(text.contains("a: R.Tensor((n, m), dtype=\"float32\") = R.matmul(x, w, out_dtype=None)"), "{text}");
}

#[test]
fn branches_give_the_result_a_name_and_their_own_a_suffix() {
    let source = "@R.function\ndef f(c: R.Tensor((), \"bool\"), x: R.Tensor):\n    if c:\n        y = R.exp(x)\n    else:\n        \
                  y = x\n    return y\n";
    assert_eq!(body(source), ["if c:", "y_then = R.exp(x)", "y = y_then", "else:", "y = x", "return y"]);
    assert_eq!(codes(&source.replace("        y = x", "        z = x")), ["relax-if", "relax-unbound-var"]);
}

#[test]
fn one_bad_function_does_not_hide_the_others() {
    let source = "@I.ir_module\nclass Module:\n    @R.function\n    def bad(x: R.Tensor):\n        y = R.addd(x, x)\n        \
                  return y\n    @R.function\n    def good(x: R.Tensor) -> R.Tensor:\n        cls = Module\n        \
                  y: R.Tensor = cls.bad(x)\n        return y\n";
    let (text, found) = printed(source);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].message, "there is no operator `R.addd`");
    assert_eq!(found[0].notes, ["did you mean `R.add`?"]);
    assert!(text.contains("def good"), "{text}");
}

#[test]
fn a_constant_without_its_section_has_the_type_that_is_written() {
    let source =
        "@R.function\ndef f():\n    c: R.Tensor((2,), dtype=\"float32\") = metadata[\"ir.GenericConst\"][3]\n    return c\n";
    let (text, found) = printed(source);
    assert!(found.is_empty(), "{found:?}");
    assert!(text.contains("c: R.Tensor((2,), dtype=\"float32\") = metadata[\"ir.GenericConst\"][0]"), "{text}");
    assert!(text.ends_with("# Metadata omitted. Use show_meta=True in script() method to show it."), "{text}");
}

#[test]
fn a_constant_that_the_text_lacks_fits_an_operator_that_asks_for_its_type() {
    let source = "@R.function\ndef f(x: R.Tensor((1, 2, 4, 4), \"float32\"), w: R.Tensor((2,), \"float32\")):\n    \
                  y = R.nn.batch_norm(x, w, w, metadata[\"ir.GenericConst\"][0], metadata[\"ir.GenericConst\"][1], axis=1)\n    \
                  return y\n";
    let (text, found) = printed(source);
    assert!(found.is_empty(), "{found:?}");
    assert!(text.contains("metadata[\"ir.GenericConst\"][1], axis=1"), "{text}");
}

#[test]
fn short_forms_of_attributes_become_what_tvm_makes_of_them() {
    let lines = body(
        "@R.function\ndef f(x: R.Tensor, w: R.Tensor):\n    y = R.nn.conv2d(x, w, strides=2, padding=(1, 2))\n    return y\n",
    );
    assert_eq!(
        lines[0],
        "y = R.nn.conv2d(x, w, strides=[2, 2], padding=[1, 2, 1, 2], dilation=[1, 1], groups=1, data_layout=\"NCHW\", \
         kernel_layout=\"OIHW\", out_layout=\"NCHW\", out_dtype=None)"
    );
}

#[test]
fn nonsense_is_an_error_with_a_place_and_no_panic() {
    for source in [
        "@R.function\ndef f(x):\n    return x\n",
        "@R.function\ndef f(x: 3) -> R.Tuple(1, 2):\n    return x[9999999999999999999999]\n",
        "@R.function\ndef f(x: R.Tensor((\"(\",))):\n    return R.const([[1], [2, 3]])\n",
        "@R.function\ndef f():\n    return metadata[1][2]\n",
        "@I.ir_module\nclass M:\n    def f():\n        pass\n    f = 3\n",
        "metadata = tvm.ir.load_json(\"{}\")\n@R.function\ndef f():\n    return metadata[\"ir.GenericConst\"][0]\n",
        "@R.function\ndef f(x: R.Tensor(vdevice=\"cuda:7\")):\n    with R.dataflow():\n        R.output(y)\n    return x\n",
        "@R.function\ndef f(x: R.Tensor):\n    if x:\n        return x\n    else:\n        pass\n",
        "@R.function\ndef f(x: R.Tensor):\n    return T.index_map(lambda i: i)\n",
        "@R.function\n",
    ] {
        let (_, found) = printed(source);
        assert!(found.iter().any(|d| d.is_error() && d.span.is_some()), "{source}: {found:?}");
    }
}

#[test]
fn a_packed_function_that_says_no_type_gives_what_its_variable_is_annotated_with() {
    let source = "@I.ir_module\nclass Module:\n    @R.function(pure=False)\n    def f(x: R.Tensor((4,), \"float32\")):\n        \
                  a: R.Tensor((4, 1), \"float32\") = R.call_packed(\"view\", x)\n        \
                  b = R.call_packed(\"view\", x)\n        return b\n";
    let store = &mut Store::new();
    let module = parse(store, source).program;
    let module = crate::infer::infer_module(store, &module.module).expect("types");
    let text = module_lines(store, &module, &PrintOptions { metadata: false, ..PrintOptions::default() }).text;
    assert!(text.contains("a: R.Tensor((4, 1), dtype=\"float32\") = R.call_packed(\"view\", x)"), "{text}");
    assert!(text.contains("b: R.Any = R.call_packed(\"view\", x)"), "{text}");
}

#[test]
fn a_target_is_an_attribute_of_a_module_or_function() {
    let target = "T.target({\"host\": {\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"}, \"kind\": \"cuda\", \"max_num_threads\": 1024})";
    let source = format!(
        "@I.ir_module\nclass Module:\n    I.module_attrs({{\"target\": {target}}})\n    @R.function\n    def main(x: \
         R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):\n        R.func_attr({{\"target\": \
         {target}}})\n        return x"
    );
    let (text, found) = printed(&source);
    assert_eq!((text.trim_end(), found.len()), (&*source, 0));
}

#[test]
fn a_part_of_an_image_is_numbers_of_32_bits_and_the_whole_image_four_zeros() {
    let roi = |written: &str| {
        let call = format!("R.image.resize2d(x, (8, 8){written})");
        let lines = body(&format!("@R.function\ndef f(x: R.Tensor((1, 3, 4, 4), \"float32\")):\n    return {call}\n"));
        let start = lines[0].find("roi=").expect("it is printed");
        lines[0][start..lines[0].find(", layout").expect("it is printed")].to_owned()
    };
    let numbers = |n: [&str; 4]| format!("roi=[{}]", n.map(|n| format!("T.float32({n})")).join(", "));
    assert_eq!(roi(""), numbers(["0.0"; 4]));
    assert_eq!(roi(", roi=(0.5, 1, 0.0, 2.0)"), numbers(["0.5", "1.0", "0.0", "2.0"]));
    assert_eq!(roi(", roi=0.5"), numbers(["0.5"; 4]));
}

#[test]
fn what_tvm_refuses_of_dataflow_blocks_and_tensor_types_is_refused() {
    let text = |ty: &str, body: &str| format!("@R.function\ndef f(x: R.Tensor({ty})):\n{body}\n    return gv\n");
    let block = "    with R.dataflow():\n        gv = R.exp(x)\n        R.output(gv)\n";
    let tensor = "(4,), \"float32\"";
    for (source, code) in [
        (text(tensor, &format!("{block}        lv = R.exp(gv)")), "relax-output"),
        (text(tensor, &format!("{block}        R.output(gv)")), "relax-output"),
        (text(tensor, "    gv = R.exp(x)\n    R.output(gv)"), "relax-output"),
        (text("(4,), \"float32\", ndim=2", block), "relax-shape"),
        (text("(4,), \"float32\", rank=1", block), "relax-unknown-arg"),
    ] {
        assert_eq!(codes(&source).first(), Some(&code), "{source}");
    }
    assert!(codes(&text(tensor, block)).is_empty());
    let private = text(tensor, &format!("    R.func_attr({{\"global_symbol\": \"f\"}})\n{block}"));
    assert_eq!(codes(&private.replace("R.function", "R.function(private=True)")), ["relax-refused"]);
}

/// TVM 0.27 reads it so, too, and prints the device by its kind.
#[test]
fn a_device_may_be_named_by_its_place_among_all() {
    let source = "@I.ir_module\nclass Module:\n    I.module_global_infos({\"vdevice\": [I.vdevice(\"llvm\"), I.vdevice(\"cuda\", 0), \
                  I.vdevice(\"cuda\", 1)]})\n    @R.function\n    def f(x: R.Tensor((4,), \"float32\", \"vdevice:2\")):\n        return x\n";
    let (text, found) = printed(source);
    assert!(found.is_empty(), "{found:?}");
    assert!(text.contains("def f(x: R.Tensor((4,), dtype=\"float32\", vdevice=\"cuda:1:global\"))"), "{text}");
    let (_, found) = printed(&source.replace("vdevice:2", "vdevice:3"));
    assert!(found.iter().any(|found| found.message.contains("no device `vdevice:3`")), "{found:?}");
}

/// Each `elif` is an `if` in the `else`, and a hundred thousand of them were as many calls deep.
#[test]
fn more_branches_than_blocks_may_nest_are_refused() {
    let arms: String = (0..1000).map(|_| "    elif c:\n        y = x\n").collect();
    let source = format!(
        "@R.function\ndef f(x: R.Tensor((2,), \"float32\"), c: R.Tensor((), \"bool\")):\n    if c:\n        y = x\n{arms}    else:\n        \
         y = x\n    return y\n"
    );
    assert_eq!(codes(&source).first(), Some(&"script-too-deep"));
}

"""Places that nodes of Relay are given, and how programs are printed with them."""

import tvm
import tvm.relay.testing
from tvm import relay


def place(name):
    return relay.Span(relay.SourceName(name), 3, 3, 5, 7)


def program():
    x = relay.var("x", shape=(2,))
    first = relay.nn.relu(x)
    first = relay.Call(first.op, first.args, first.attrs, first.type_args, place("first"))
    last = relay.add(first, x)
    return relay.Function([x], relay.Call(last.op, last.args, last.attrs, last.type_args, place("last")))


def test_places_stand_in_comments():
    text = program().astext()
    assert "%0 = nn.relu(%x) /* span=first:3:5 */;" in text
    assert "add(%0, %x) /* span=last:3:5 */" in text
    assert "span=last:3:5" in str(tvm.IRModule.from_expr(program()))


def test_a_node_that_a_pass_rebuilds_keeps_its_place():
    body = relay.transform.InferType()(tvm.IRModule.from_expr(program()))["main"].body
    assert body.span.source_name.name == "last" and body.args[0].span.line == 3
    assert "/* ty=Tensor[(2), float32] span=last:3:5 */" in body.astext()


def test_annotations_take_the_place_of_types():
    func = relay.transform.InferType()(tvm.IRModule.from_expr(program()))["main"]
    text = func.astext(annotate=lambda node: " /* here */" if isinstance(node, relay.Call) else "")
    assert "nn.relu(%x) /* here */;" in text and "ty=" not in text and text.count("here") == 2


def test_texts_may_name_what_a_module_has():
    mod = tvm.IRModule()
    assert "main" in relay.parse('#[version = "0.0.5"]\ndef @main(%x: int32) { %x }', init_module=mod)
    mod.import_from_std("prelude.rly")
    made = relay.parse('#[version = "0.0.5"]\ndef @main() { @length(Cons(1, Nil)) }', init_module=mod)
    assert made["main"].body.op == mod.get_global_var("length") and len(made["length"].body.clauses) == 2


def test_products_are_counted_by_layout():
    data, weight = relay.var("d", shape=(1, 2, 8, 8, 4)), relay.var("w", shape=(3, 2, 3, 3, 4, 4))
    conv = relay.nn.conv2d(data, weight, kernel_size=(3, 3), channels=12, data_layout="NCHW4c", kernel_layout="OIHW4i4o")
    func = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([data, weight], conv)))["main"]
    assert relay.analysis.get_total_mac_number(func) == 12 * 6 * 6 * 9 * 8


def test_a_product_need_not_say_its_units():
    out = relay.nn.matmul(relay.var("x", shape=(3, 4)), relay.var("y", shape=(4, 5)))
    assert relay.testing.run_infer_type(out).checked_type == relay.TensorType((3, 5))

"""Programs of Relay that were built, saved, loaded and run, and what is asked about their functions and regions."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.contrib import graph_executor, utils


def program():
    x = relay.var("x", shape=(2, 2))
    return tvm.IRModule.from_expr(relay.Function([x], relay.add(x, relay.const(np.ones((2, 2), "float32")))))


ZEROS = np.zeros((2, 2), "float32")


def test_a_built_program_is_three_values():
    graph, lib, params = relay.build(program(), target="llvm")
    path = utils.tempdir().relpath("lib.so")
    lib.export_library(path)
    machine = graph_executor.create(graph, tvm.runtime.load_module(path), tvm.cpu())
    machine.set_input("x", ZEROS)
    machine.set_input(**params)
    machine.run()
    assert machine.get_output(0, tvm.nd.empty((2, 2))).numpy().tolist() == [[1, 1], [1, 1]]
    assert (machine.get_num_inputs(), machine.get_input_index("x")) == (1, 0)


def test_a_virtual_machine_runs_what_was_saved():
    code, lib = relay.vm.compile(program(), target="llvm").save()
    path = utils.tempdir().relpath("lib.so")
    lib.export_library(path)
    executable = tvm.runtime.vm.Executable.load_exec(code, tvm.runtime.load_module(path))
    machine = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())
    assert machine.run(x=ZEROS).numpy().sum() == 4
    machine.set_input("main", ZEROS)
    assert machine.invoke("main").numpy().sum() == 4


def test_a_build_flattens_dilated_convolutions():
    x = relay.var("x", shape=(1, 5, 5, 4))
    w = relay.const(np.ones((3, 3, 4, 1), "float32"))
    body = relay.nn.space_to_batch_nd(x, block_shape=[2, 2], paddings=[[2, 3], [2, 3]])
    body = relay.nn.conv2d(body, w, groups=4, channels=4, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWOI")
    body = relay.nn.batch_to_space_nd(body, block_shape=[2, 2], crops=[[0, 1], [0, 1]])
    graph, _, _ = relay.build(tvm.IRModule.from_expr(relay.Function([x], body)), target="llvm")
    assert "space_to_batch_nd" not in graph


def test_an_external_compiler_changes_its_functions():
    x, y = relay.var("x", shape=(2, 2)), relay.var("y", shape=(2, 2))
    begun = [relay.annotation.compiler_begin(var, "changes_its_own") for var in (x, y)]
    end = relay.annotation.compiler_end(relay.add(*begun), "changes_its_own")
    tvm.register_func("relay.ext.changes_its_own.optimize", relay.transform.FoldConstant())
    func = relay.build_module.bind_params_by_name(relay.Function([x, y], end), {"x": ZEROS + 1, "y": ZEROS + 1})
    made = relay.transform.PartitionGraph()(relay.transform.InferType()(tvm.IRModule.from_expr(func)))
    body = made["tvmgen_default_changes_its_own_main_0"].body
    assert isinstance(body, relay.Constant) and body.data.numpy().tolist() == [[2, 2], [2, 2]]


def test_functions_that_call_each_other():
    mod = tvm.IRModule()
    x = relay.var("x", shape=())
    one, two = relay.GlobalVar("one"), relay.GlobalVar("two")
    mod[one] = relay.Function([x], relay.exp(x))
    mod[two] = relay.Function([x], one(one(two(x))))
    graph = relay.analysis.CallGraph(mod)
    assert graph.is_recursive("two") and not graph.is_recursive(one)
    assert (graph.ref_count("one"), graph.global_call_count("two")) == (1, 2)
    assert "call site: <one> calls one" in str(graph)


def test_regions_between_annotations():
    x = relay.var("x", shape=(2,))
    begin = relay.annotation.compiler_begin(x, "a")
    inner = relay.exp(begin)
    end = relay.annotation.compiler_end(inner, "a")
    ops = [relay.op.get(f"annotation.compiler_{name}") for name in ("begin", "end")]
    regions = relay.analysis.AnnotatedRegionSet(relay.Function([x], relay.tanh(end)), *ops)
    region = regions.get_region(inner)
    assert len(regions) == 1 and len(region.nodes) == 3
    assert region.args[0].same_as(begin) and region.rets[0].same_as(end)
    assert regions.get_region(x) is None


def test_variables_of_large_shared_programs():
    x = relay.var("x", shape=())
    body = x
    for _ in range(60):
        body = relay.add(body, body)
    assert list(relay.analysis.free_vars(relay.Function([x], body))) == []
    assert list(relay.analysis.all_vars(body)) == [x]


def test_fields_are_changed_in_a_copy():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    call = relay.add(x, y)
    assert relay.expr.CallWithFields(call) is call
    assert relay.expr.CallWithFields(call, args=[x, y]) is call
    assert relay.expr.CallWithFields(call, args=[y, x]).args[0] is y
    func = relay.function.FunctionWithFields(relay.Function([x, y], call), body=x)
    assert func.body is x and list(func.params) == [x, y]


def test_a_loop_is_a_function():
    i = relay.var("i", shape=(), dtype="int32")
    loop = relay.loops.while_loop(lambda i: relay.less(i, relay.const(10)), [i], lambda i: [relay.add(i, relay.const(3))])
    result = relay.create_executor().evaluate(relay.TupleGetItem(relay.Call(loop, [relay.const(0)]), 0))
    assert result.numpy() == 12


def test_names_of_functions_are_given_once():
    mod = program()
    supply = tvm.ir.supply.GlobalVarSupply(mod)
    assert supply.unique_global_for("main", False).same_as(mod.get_global_var("main"))
    assert supply.fresh_global("main", False).name_hint == "main_1"
    assert supply.fresh_global("main").name_hint == "tvmgen_default_main"
    with pytest.raises(tvm.TVMError):
        supply.reserve_global(relay.GlobalVar("main"))


def test_folds_over_lists():
    prelude = relay.Prelude(tvm.IRModule())
    _, cons, nil = prelude.mod.get_type("List")
    x, y = relay.var("x", "int32"), relay.var("y", "int32")
    three = cons(relay.const(1), cons(relay.const(2), cons(relay.const(4), nil())))
    run = relay.create_executor(mod=prelude.mod).evaluate
    assert run(prelude.foldr1(relay.Function([x, y], relay.subtract(x, y)), three)).numpy() == 3
    step = relay.Function([x, y], relay.Tuple([relay.add(x, y), relay.multiply(x, y)]))
    assert run(prelude.map_accuml(step, relay.const(0), three))[0].numpy() == 7


def test_an_operator_computes_on_another_type():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(3, 3, 3, 3))
    func = relay.Function([x, w], relay.nn.relu(relay.nn.conv2d(x, w, kernel_size=(3, 3))))
    body = relay.transform.recast(func, "int8", "int32").body.args[0]
    assert body.op.name == "cast" and body.args[0].attrs.out_dtype == "int32"
    assert body.args[0].args[0].attrs.dtype == "int8"


def test_reference_results():
    from tvm.topi import testing as reference

    x = np.array([[0.0, 1.0], [2.0, 2.0]], "float32")
    np.testing.assert_allclose(reference.softmax_python(x)[1], [0.5, 0.5])
    np.testing.assert_allclose(reference.log_softmax_python(x).sum(axis=1)[1], 2 * np.log(np.float32(0.5)), rtol=1e-5)
    assert reference.dense(x, x, np.array([-9.0, 0.0], "float32"), True, True).tolist() == [[0, 2], [0, 8]]
    assert reference.batch_matmul(x.reshape(1, 2, 2), np.ones((3, 1, 2), "float32")).tolist() == [[[1], [4]]] * 3
    normal = reference.layer_norm_python(x, np.ones(2, "float32"), None, 1)
    np.testing.assert_allclose(normal, [[-1, 1], [0, 0]], atol=1e-3)


def test_a_text_names_functions_of_another_module():
    head = '#[version = "0.0.5"]\n'
    first = relay.parse(head + "type Box { Full(int32), Empty }\ndef @inc(%x: int32) { add(%x, 1) }")
    text = "def @open(%b: Box) { match (%b) { Full(%y) => @inc(%y), Empty => 0 } }"
    both = relay.parse(head + text, "from_string", first)
    assert sorted(var.name_hint for var in both.functions) == ["inc", "open"]
    assert len(first.functions) == 1
    with pytest.raises(tvm.error.DiagnosticError):
        relay.parse(head + "def @g(%x: int32) { @missing(%x) }", "from_string", first)

"""Programs and metadata that TVM saved as JSON, in scripts. Expected values are what TVM 0.27 prints of them."""

import json

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

# The text that TVM 0.27 prints before a program that adds [1.0, 2.0] to its argument.
METADATA = """{
  "root_index": 6,
  "nodes": [
    {"type": "ffi.String", "data": "ir.GenericConst"},
    {"type": "None"},
    {"type": "int", "data": 2},
    {"type": "ffi.Tensor", "data": "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA="},
    {"type": "ir.GenericConst", "data": {"span": 1, "value": 3}},
    {"type": "ffi.Array", "data": [4]},
    {"type": "ffi.Map", "data": [0, 5]}
  ],
  "metadata": {"tvm_version": "0.27.0.post1"}
}"""


def test_metadata_before_a_program_gives_its_constants():
    metadata = tvm.ir.load_json(METADATA)

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            y: R.Tensor((2,), dtype="float32") = R.add(x, metadata["ir.GenericConst"][0])
            return y

    constant = Module["main"].body.blocks[0].bindings[0].value.args[1]
    assert list(constant.data.numpy()) == [1.0, 2.0]
    assert list(metadata.keys()) == ["ir.GenericConst"] and len(metadata["ir.GenericConst"]) == 1


def test_a_module_of_an_older_tvm_is_a_program_of_relay():
    # An operator of Relax that was used before has another name.
    assert relax.op.exp(relax.Var("x", relax.TensorType((2,), "float32"))).op.name == "relax.exp"
    nodes = [
        {"type_key": ""},
        {"type_key": "IRModule", "attrs": {"functions": "2", "type_definitions": "0"}},
        {"type_key": "Map", "data": [3, 4]},
        {"type_key": "GlobalVar", "attrs": {"name_hint": "12"}},
        {"type_key": "relay.Function", "attrs": {"params": "5", "body": "10", "ret_type": "0", "type_params": "0", "attrs": "0"}},
        {"type_key": "Array", "data": [6]},
        {"type_key": "relay.Var", "attrs": {"vid": "7", "type_annotation": "8", "_checked_type_": "0"}},
        {"type_key": "relay.Id", "attrs": {"name_hint": "x"}},
        {"type_key": "relay.TensorType", "attrs": {"dtype": "float32", "shape": "9"}},
        {"type_key": "Array", "data": []},
        {"type_key": "relay.Call", "attrs": {"op": "11", "args": "5", "attrs": "0", "type_args": "0"}},
        {"type_key": "Op", "repr_str": "exp"},
        {"type_key": "runtime.String", "repr_str": "main"},
    ]
    text = json.dumps({"root": 1, "nodes": nodes, "b64ndarrays": [], "attrs": {"tvm_version": "0.19.0"}})
    module = tvm.ir.load_json(text)
    assert module["main"].body.op.name == "exp"
    assert relax.op.exp(relax.Var("x", relax.TensorType((2,), "float32"))).op.name == "relax.exp"


def test_what_is_saved_comes_back():
    module = tvm.relay.parse('#[version = "0.0.5"]\ndef @main(%x: float32) { exp(%x) }')
    assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(module)), module)


def test_any_other_object_is_named():
    with pytest.raises(ValueError, match="an object of type `te.Tensor` is not read here"):
        tvm.ir.load_json('{"root_index": 0, "nodes": [{"type": "te.Tensor"}]}')

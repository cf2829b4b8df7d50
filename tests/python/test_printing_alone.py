"""Parts of programs that are printed alone."""

from tvm import ir, s_tir, tirx
from tvm.ir import Range


def test_a_buffer_that_is_a_part_of_another():
    whole = tirx.decl_buffer((128, 128), "float32", name="whole")
    part = tirx.decl_buffer((64, 64), "float32", name="part")
    region = tirx.BufferRegion(whole, [Range(64, 128), Range(64, 128)])
    text = s_tir.MatchBufferRegion(part, region).script().strip()
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    assert lines == [
        "whole = T.Buffer((128, 128))",
        "part = T.match_buffer(whole[64:128, 64:128], (64, 64))",
    ]


def test_types_of_pointers_and_texts():
    assert ir.PointerType(ir.PrimType("int32"), "global").script() == 'T.handle("int32", "global")'
    assert ir.PointerType(ir.PrimType("void")).script() == "T.handle"
    assert ir.PointerType(ir.PrimType("void"), "shared").script() == 'T.handle(storage_scope="shared")'
    assert ir.StringImm('a "text"').script() == '"a \\"text\\""'


def test_an_attribute_is_a_statement_with_a_body():
    body = tirx.Evaluate(tirx.IntImm("int32", 0))
    attribute = tirx.AttrStmt(ir.StringImm("pragma"), "unroll", tirx.IntImm("int32", 1), body)
    text = attribute.script()
    assert text.split("\n")[-1] == "    T.evaluate(0)" and ":" in text.split("\n")[-2]

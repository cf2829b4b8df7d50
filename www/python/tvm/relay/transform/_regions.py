"""A pass that numbers expressions, and one that lets an external compiler change its functions."""

from ...ir.base import SourceName, Span
from ...ir.module import IRModule
from ...ir.op import Op
from ...ir.transform import PassInfo, PyModulePass
from ...runtime.registry import get_global_func
from .. import _walk
from ..adt import Constructor
from ..expr import Function


def CapturePostDfsIndexInSpans():
    """Writes the number of each expression in post order, and that of the one that dominates it, where its place would stand."""

    def capture(mod, ctx):
        from . import _built_in
        from ..dataflow_pattern._graph import Graph

        made = _built_in("CapturePostDfsIndexInSpans")(mod)
        source = SourceName("index")
        for func in made.functions.values():
            if not isinstance(func, Function):
                continue
            graph = Graph(func)
            above = graph.dominators()
            for at, node in enumerate(graph.order):
                if not isinstance(node, (Op, Constructor)):
                    over = above[id(node)]
                    outer = -1 if over is None else graph.index[id(over)]
                    node.span = Span(source, at, at, outer, outer)
        return made

    return PyModulePass(capture, PassInfo(0, "CapturePostDfsIndexInSpans"))


def PartitionGraph(mod_name="default", bind_constants=True):
    """Regions of other compilers become functions; `relay.ext.<compiler>.optimize`, if it is registered, is applied to each."""

    def partition(mod, ctx):
        from . import InferType, _built_in

        made = _built_in("PartitionGraph", mod_name=mod_name, bind_constants=bool(bind_constants))(mod)
        changed = False
        for var, func in list(made.functions.items()):
            compiler = func.attrs.get("Compiler") if isinstance(func, Function) and var.name_hint not in mod else None
            improve = compiler and get_global_func(f"relay.ext.{compiler}.optimize", allow_missing=True)
            if improve:
                bare = Function(func.params, func.body, func.ret_type, func.type_params)
                made[var] = improve(InferType()(IRModule.from_expr(bare)))["main"].with_attrs(dict(func.attrs.items()))
                changed = True
        return InferType()(made) if changed else made

    return PyModulePass(partition, PassInfo(0, "PartitionGraph"))

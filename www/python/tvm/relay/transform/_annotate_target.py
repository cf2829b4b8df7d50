"""AnnotateTarget with operators that a program registers under `target.<compiler>` (`src/relay/transforms/annotate_target.cc`)."""

from ...ir.op import Op, _attributes
from .. import _walk
from ..expr import Call, Function, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var
from ..expr_functor import ExprMutator
from ..op.annotation import compiler_begin, compiler_end

_DEFAULT = "default"


def rules(targets):
    """Rules that are registered for the compilers, by operator and compiler."""
    keys = {f"target.{target}": target for target in targets}
    return {(op, keys[key]): rule for (op, key), (rule, _) in _attributes.items() if key in keys and callable(rule)}


class AnnotateTarget(ExprMutator):
    """Marks where each compiler's regions begin and end."""

    def __init__(self, targets, known, include_non_call_ops):
        super().__init__()
        self.targets, self.known, self.all = targets, known, include_non_call_ops
        self.chosen = {}

    def _arguments(self, args, target=None):
        """The target of a node and its arguments, which end the regions of their own targets and begin one of this."""
        common, begun, ended = None, [], []
        for arg in args:
            own = _DEFAULT
            if _is(arg, "begin"):
                # An earlier run put it there: only annotations for `default` are made anew.
                inner = arg.args[0]
                if arg.attrs.compiler == _DEFAULT:
                    ended.append(inner)
                else:
                    begun.append(arg)
                if _is(inner, "end"):
                    own = str(inner.attrs.compiler)
            elif arg in self.chosen:
                own = self.chosen[arg]
                bare = isinstance(arg, Call) and not len(arg.args)
                ended.append(arg if bare else self._end(arg, own))
            else:
                ended.append(arg)
            common = own if common in (None, own) else _DEFAULT
        if common is None:
            return target or "", list(args)
        target = target or common
        return target, begun + [compiler_begin(end, target) for end in ended]

    @staticmethod
    def _end(expr, target):
        made = compiler_end(expr, target)
        made.__dict__["_from"] = expr
        return made

    def _leave(self, expr):
        """An expression that ends its region; it stays where it has no arguments, since no region begins there."""
        if expr in self.chosen:
            closed = isinstance(expr, (RefWrite, RefCreate, RefRead, TupleGetItem))
            closed = closed or isinstance(expr, (Call, Tuple)) and len(_operands(expr)) > 0
            if not closed:
                return expr
            inner, target = expr, self.chosen[expr]
        elif _is(expr, "end") and expr.attrs.compiler == _DEFAULT:
            inner = expr.args[0]
            target = self.chosen.get(inner, "")
        else:
            return expr
        made = self._end(inner, target)
        self.chosen[made] = target
        return made

    def _taker(self, call):
        """The first compiler that takes a call."""
        if isinstance(call.op, Op):
            for target in self.targets:
                rule = self.known.get((call.op.name, target))
                if rule is not None and rule(call):
                    return target
        elif isinstance(call.op, Function) and call.op.attrs.get("Composite") is not None:
            name, point, _ = str(call.op.attrs["Composite"]).partition(".")
            if point and name in self.targets:
                return name
        return _DEFAULT

    def visit_call(self, call):
        post = self._parts(call)
        if _is(call, "begin"):
            return post
        if _is(call, "end"):
            self.chosen.setdefault(post.args[0], str(post.attrs.compiler))
            return post
        if len(call.args) and _is(call.args[0], "begin") and call.args[0].attrs.compiler != _DEFAULT:
            return post
        if isinstance(call.op, Var) and not self.all:
            return Call(post.op, [self._leave(arg) for arg in post.args], post.attrs)
        target = self._taker(call)
        made = Call(post.op, self._arguments(post.args, target)[1], post.attrs, None, call.span)
        made.__dict__["_from"] = call
        self.chosen[made] = target
        return made

    def _other(self, node):
        parts = _operands(self._parts(node))
        if self.all:
            target, parts = self._arguments(parts)
        else:
            target, parts = None, [self._leave(part) for part in parts]
        made = _walk.rebuild(node, parts)
        if target is not None:
            self.chosen[made] = target
        return made

    visit_tuple = visit_tuple_getitem = visit_ref_create = visit_ref_read = visit_ref_write = _other

    def visit_let(self, let):
        var, value, body = _walk.children(self._parts(let))
        body = self._leave(body)
        if not isinstance(value, Function):
            value = self._arguments([value])[1][0]
        return Let(var, value, body, let.span)

    def visit_if(self, node):
        return If(*(self._leave(part) for part in _walk.children(self._parts(node))), node.span)

    def visit_function(self, fn):
        if fn.attrs.get("Composite") is not None:
            return fn
        return _walk.rebuild(fn, [*fn.params, self._leave(self.visit(fn.body))])


def _is(expr, which):
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == f"annotation.compiler_{which}"


def _operands(node):
    return list(node.args) if isinstance(node, Call) else _walk.children(node)

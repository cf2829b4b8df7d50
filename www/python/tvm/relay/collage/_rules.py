"""Rules that say which parts of an expression could go to a compiler (`collage/partition_rule.cc`, `combiner_rule.cc`)."""

import math

from ...error import TVMError
from ...ir.op import Op
from ...ir.transform import PassContext
from ..dataflow_pattern import WildcardPattern
from ..dataflow_pattern._match import Matcher
from ..expr import Call, Function, Tuple, TupleGetItem
from ._sub_graph import (
    BROADCAST,
    INJECTIVE,
    OUT_FUSABLE,
    REDUCE,
    SubGraph,
    can_inline,
    indexes,
    joined,
    kind_and_label,
    kind_and_label_of,
    nested,
)

UNKNOWN = math.nan
"""The cost of a part that was not looked at yet."""


class Candidate:
    """A part of an expression for a compiler."""

    def __init__(self, rule, sub, spec, cost=UNKNOWN):
        self.rule, self.sub, self.spec, self.cost = rule, sub, spec, cost

    def named(self, name):
        """The same under a rule around its own."""
        return Candidate(nested(name, self.rule), self.sub, self.spec, self.cost)

    def touches(self, other):
        """True if both can be one, of which the other uses results of this one."""
        return self.spec is other.spec and self.sub.touches(other.sub)

    def union(self, other):
        """Both as one."""
        return Candidate(joined(self.rule, other.rule), self.sub.union(other.sub), self.spec, self.cost + other.cost)

    order = property(lambda self: (self.sub.order, self.rule))


class CandidateSet:
    """Candidates that grow by rounds."""

    def __init__(self, found):
        self._seen = {one.sub.key for one in found}
        self._new, self._gone = list(found), []
        self.now, self.first_new = [], 0

    def add(self, candidate):
        """Adds one that is new, for the next round."""
        if candidate.sub.key not in self._seen:
            self._seen.add(candidate.sub.key)
            self._new.append(candidate)

    def remove(self, candidate):
        """Removes one, in the next round."""
        self._gone.append(candidate)

    def next_round(self):
        """Begins a round; false if nothing changed."""
        changed = bool(self._new or self._gone)
        self.now = [one for one in self.now if not any(one is gone for gone in self._gone)]
        self.first_new = len(self.now)
        self.now += self._new
        self._new, self._gone = [], []
        return changed

    def by(self, field, keep=lambda one: True):
        """For each node the numbers of the candidates that have it in a field."""
        found = {}
        for at, one in enumerate(self.now):
            if keep(one):
                for index in indexes(getattr(one.sub, field)):
                    found.setdefault(index, []).append(at)
        return found


def by_kinds(*pairs, max_depth):
    """Joins candidates of one kind with those of another that use them."""

    def combine(graph, known):
        entries = known.by("entry")
        for i, upstream in enumerate(known.now):
            if i < known.first_new:
                continue
            for j in sorted({j for index in indexes(upstream.sub.output) for j in entries.get(index, ())} - {i}):
                downstream = known.now[j]
                if upstream.sub.depth + downstream.sub.depth > max_depth or not upstream.touches(downstream):
                    continue
                if any(upstream.sub.kind <= above and downstream.sub.kind <= below for above, below in pairs):
                    known.add(upstream.union(downstream))

    return combine


def _is_injective(candidate):
    return candidate.sub.kind <= INJECTIVE


def tuple_arguments(graph, known):
    """Joins what uses a tuple with the tuple and what makes its fields."""
    exits = known.by("exit", _is_injective)
    for i, user in enumerate(known.now):
        if not _is_injective(user) or i < known.first_new:
            continue
        for index in indexes(user.sub.input):
            if not isinstance(graph.refs[index], Tuple):
                continue
            whole = Candidate("", SubGraph(graph, 1 << index, INJECTIVE, "tuple"), user.spec)
            unions = [[user, whole]]
            for field in graph.refs[index].fields:
                makers = [known.now[j] for j in exits.get(graph.at(field), ()) if j != i]
                unions = [[*union, maker] for maker in makers for union in unions]
            for union in unions:
                if len(union) > 2:
                    result = union[0]
                    for one in union[1:]:
                        result = result.union(one)
                    known.add(result)


def projections(graph, known):
    """Joins what makes a tuple with what takes a field of it."""
    for base in known.now[known.first_new :]:
        for index in indexes(base.sub.output):
            if isinstance(graph.refs[index], TupleGetItem):
                field = SubGraph(graph, 1 << index, INJECTIVE, "proj")
                known.add(base.union(Candidate("", field, base.spec)))


def combined(rule, combiners):
    """A rule for the candidates of another one, and for those that combiners make of them."""
    if not combiners:
        return rule

    def find(graph, spec):
        known = CandidateSet(rule(graph, spec))
        while known.next_round():
            for combiner in combiners:
                combiner(graph, known)
        return known.now

    return find


def calls_of_operators(graph, spec):
    """Every call that can be fused."""
    found = []
    for at, ref in enumerate(graph.refs):
        if isinstance(ref, Call):
            kind, label = kind_and_label(ref)
            if kind <= OUT_FUSABLE:
                found.append(Candidate(label, SubGraph(graph, 1 << at, kind, label), spec))
    return found


def looks_like(name, pattern, predicate=None):
    """A rule for the parts that look like a pattern, as functions with a name."""

    def find(graph, spec):
        found, matcher = [], Matcher(graph.expr)
        for ref in graph.refs:
            matched = matcher.match(pattern, ref)
            if matched is None or predicate is not None and not predicate(ref):
                continue
            inside = 0
            for part, exprs in matched.items():
                for expr in exprs:
                    if not can_inline(expr) and not isinstance(part, WildcardPattern):
                        inside |= 1 << graph.at(expr)
            kind, label = kind_and_label_of(graph, inside)
            sub = SubGraph(graph, inside, kind, label).with_attrs({"Composite": name})
            found.append(Candidate(nested(name, label), sub, spec))
        return found

    return find


def only_valid(rule, max_depth):
    """A rule for the candidates that can become a function with one result."""
    return lambda graph, spec: [one for one in rule(graph, spec) if one.sub.is_valid(1, False, max_depth)]


def _depth(key):
    depth = PassContext.current().config.get(f"relay.collage.{key}")
    if depth is None:
        raise TVMError(f"missing binding for 'relay.collage.{key} in pass context")
    if int(depth) <= 0:
        raise TVMError(f"invalid value for 'relay.collage.{key} in pass context")
    return int(depth)


_AS_TVM = ((OUT_FUSABLE, BROADCAST), (BROADCAST, REDUCE), (INJECTIVE, INJECTIVE))
"""The pairs of kinds that TVM fuses."""


def tvm_rule():
    """The rule for the parts that TVM itself would fuse."""
    depth = _depth("tvm_max_depth")
    combiners = [by_kinds(*_AS_TVM, max_depth=depth), tuple_arguments, projections]
    return only_valid(combined(calls_of_operators, combiners), depth)


_STYLES = {"cutlass": "NoFusion", "cublas": "NoFusion", "cudnn": "NoFusion", "tensorrt": "TVMFusion"}
"""The way in which compilers fuse the parts that they take, where they do not fuse everything."""


def _style(compiler):
    for given in PassContext.current().config.get("relay.collage.byoc_fusion_style") or ():
        name, _, style = str(given).partition(".")
        if name == compiler:
            if style not in ("NoFusion", "TVMFusion", "ArbitraryFusion"):
                raise TVMError(f"Invalid fusion name for compiler {name} in pass context")
            return style
    return _STYLES.get(compiler, "ArbitraryFusion")


def compiler_rule(compiler, rows):
    """The rule for the parts that another compiler takes, by its patterns, as functions for it."""
    depth = _depth("byoc_max_depth")
    rules = [looks_like(*row) for row in rows]
    style = _style(compiler)
    pairs = _AS_TVM if style == "TVMFusion" else ((OUT_FUSABLE, OUT_FUSABLE),)
    combiners = [] if style == "NoFusion" else [by_kinds(*pairs, max_depth=depth)]

    def every(graph, spec):
        return [one for rule in rules for one in rule(graph, spec)]

    valid = only_valid(combined(every, combiners), depth)

    def find(graph, spec):
        attrs = {"Primitive": 1, "Compiler": compiler}
        return [Candidate(one.rule, one.sub.with_attrs(attrs), spec, one.cost) for one in valid(graph, spec)]

    return find


_NOT_COMPUTED = ("on_device", "device_copy", "shape_of", "vm.shape_of", "call_lowered", "annotation.compiler_begin", "annotation.compiler_end")
"""Operators that no kernel is made for."""


def host_rule(graph, spec):
    """Every node that may be left behind: it costs nothing."""
    found = []
    for at, ref in enumerate(graph.refs):
        if isinstance(ref, Call):
            if isinstance(ref.op, Function) and ref.op.attrs.get("Primitive") or isinstance(ref.op, Op) and ref.op.name not in _NOT_COMPUTED:
                continue
        kind, label = kind_and_label_of(graph, 1 << at)
        found.append(Candidate(label, SubGraph(graph, 1 << at, kind, label), spec, 0.0))
    return found

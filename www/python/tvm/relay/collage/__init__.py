"""Collage: which parts of a program go to which compiler, by what they cost (`src/relay/collage`)."""

import math

from ...error import TVMError
from ...ir.base import structural_equal, structural_hash
from ...ir.expr import GlobalVar
from ...ir.module import IRModule
from ...ir.op import Op
from ...ir.transform import PassInfo, PyModulePass
from ...runtime.registry import get_global_func, register_func
from ...target import EXTERNAL
from .. import _walk
from ..expr import Call, Function, Tuple, Var
from ..expr_functor import ExprMutator, substitute
from ..ty import TensorType
from ._rules import CandidateSet, compiler_rule, host_rule, tvm_rule
from ._sub_graph import Dataflow, Nested, SubGraph, indexes, kind_and_label_of, order_key, rewrite_all


class CostEstimator:
    """Would build and time programs; nothing is compiled here."""

    def estimate(self, mod, target):
        """The seconds that a program takes."""
        return float(get_global_func("tvm.relay.collage.estimate_seconds")(mod, target))


class MockCostEstimator(CostEstimator):
    """Costs by the target and the number of operators in each function."""

    def __init__(self, target_costs, max_estimates=0):
        self.target_costs = {str(name): int(cost) for name, cost in dict(target_costs).items()}
        self.max_estimates = int(max_estimates)
        self._estimates = 0

    def estimate(self, mod, target):
        """A number of its own for each operator of the target; each further operator of a function costs less."""
        if self.max_estimates and self._estimates >= self.max_estimates:
            raise TVMError(f"At most {self.max_estimates} non-trivial distinct candidates should have been generated.")
        self._estimates += 1
        each = self.target_costs[target.kind.name]
        total = 0.0
        for func in mod.functions.values():
            if isinstance(func, Function):
                calls = [node for node in _walk.post_order(func.body) if isinstance(node, Call) and isinstance(node.op, Op)]
                total += sum(each * 0.9**at for at in range(len(calls)))
        return total


class CustomCostEstimator(CostEstimator):
    """Costs by a function that was registered."""

    def __init__(self, py_fn_estimator="tvm.relay.collage.estimate_seconds_custom"):
        self.py_fn_estimator = py_fn_estimator

    def estimate(self, mod, target):
        """The cost that the function says."""
        return float(get_global_func(self.py_fn_estimator)(mod, target))


@register_func("tvm.relay.collage.estimate_seconds")
def estimate_seconds(mod, target):
    """Would time a program."""
    raise NotImplementedError("programs are evaluated here, not compiled: there is no time to measure")


class _Spec:
    """A target with the rule for what it takes."""

    def __init__(self, name, target, rule):
        self.name, self.target, self.rule = name, target, rule

    def candidates(self, graph):
        """The parts of an expression that it takes; predicates see its target."""
        with self.target:
            return [one.named(self.name) for one in self.rule(graph, self)]


def _specs(config):
    from ..op import contrib

    found = []
    for target in config.primitive_targets:
        name = target.kind.name
        if name in EXTERNAL:
            rows = contrib.get_pattern_table(name)
            if rows is None:
                raise AssertionError(f"No pattern table entry was found for BYOC compiler {name}")
            found.append(_Spec(name, target, compiler_rule(name, rows)))
        else:
            found.append(_Spec(f"tvm_{name}", target, tvm_rule()))
    return [*found, _Spec("host", config.host_target, host_rule)]


class _Names:
    """Names and costs of functions; equal functions have one."""

    def __init__(self):
        self._known, self._counts = {}, {}

    def _fresh(self, *hints):
        parts = [hint if hint[0].isalpha() else f"_{hint}" for hint in ("collage", *hints) if hint]
        name = "".join(char if char.isascii() and char.isalnum() else "_" for char in "_".join(parts))
        count = self._counts.get(name, 0)
        self._counts[name] = count + 1
        return f"{name}_{count}" if count else name

    def entry(self, func, label=""):
        """The name and the cost of a function, in a list."""
        known = self._known.setdefault(structural_hash(func), [])
        for other, entry in known:
            if structural_equal(func, other):
                return entry
        entry = [self._fresh(str(func.attrs.get("Compiler", "tvm")), label), None]
        known.append((func, entry))
        return entry


class _Outline(ExprMutator):
    """Moves functions for compilers into the module."""

    def __init__(self, mod, names):
        super().__init__()
        self.mod, self.names = mod, names

    def visit_call(self, call):
        new = super().visit_call(call)
        if not isinstance(new.op, Function) or new.op.attrs.get("Compiler") is None:
            return new
        name = self.names.entry(new.op)[0]
        if name not in self.mod:
            self.mod[GlobalVar(name)] = new.op.with_attr("global_symbol", name)
        return Call(self.mod.get_global_var(name), new.args, new.attrs, new.type_args, new.span)


def _outlined(mod, names):
    made = mod.clone()
    for var, func in mod.functions.items():
        if isinstance(func, Function) and not func.attrs.get("Compiler"):
            made[var] = _Outline(made, names).visit(func)
    return made


def _without_tuples(func):
    """A function of which each parameter is a tensor."""
    params, binds = [], {}
    for param in func.params:
        fields = _flat(param.type_annotation)
        if len(fields) == 1:
            params.append(param)
        else:
            parts = [Var(f"{param.name_hint}_{at}", ty) for at, ty in enumerate(fields)]
            params += parts
            binds[param] = Tuple(parts)
    return Function(params, substitute(func.body, binds), func.ret_type, func.type_params, func.attrs) if binds else func


def _flat(ty):
    return [ty] if isinstance(ty, TensorType) else [part for field in ty.fields for part in _flat(field)]


class _Partitioner:
    """Finds the cheapest candidates that cover an expression, none of its nodes twice."""

    def __init__(self, specs, estimator, names, expr):
        self.estimator, self.names = estimator, names
        self.graph = Dataflow(expr)
        self.specs = specs

    def cost(self, candidate):
        """The cost of a candidate, which then knows it."""
        if math.isnan(candidate.cost):
            func = _without_tuples(Nested(candidate.sub, {}).extract(self.graph))
            called = func.body.op if isinstance(func.body, Call) else None
            inner = called if isinstance(called, Function) and called.attrs.get("Primitive") else func
            entry = self.names.entry(inner, candidate.sub.label)
            if entry[1] is None:
                mod = _outlined(IRModule.from_expr(func), self.names)
                entry[1] = self.estimator.estimate(mod, candidate.spec.target)
            candidate.cost = entry[1]
        return candidate.cost

    def run(self):
        """The expression, partitioned."""
        found = _pruned([one for spec in self.specs for one in spec.candidates(self.graph)])
        by_first = {}
        for one in found:
            by_first.setdefault(one.sub.first, []).append(one)
        for first in sorted(by_first):
            for one in by_first[first]:
                self.cost(one)
        size, best, open_ = self.graph.size, {0: (0.0, None, None)}, {0}
        while open_:
            state = min(open_, key=lambda mask: (best[mask][0], order_key(mask, size)))
            open_.remove(state)
            at = (~state & (state + 1)).bit_length() - 1
            if at >= size:
                return self._finish(best, state)
            fires = 0
            for one in by_first.get(at, ()):
                if one.sub.inside & state:
                    continue
                fires += 1
                after, cost = state | one.sub.inside, best[state][0] + self.cost(one)
                if after not in best or cost < best[after][0]:
                    best[after] = (cost, state, one)
                    open_.add(after)
            if not fires:
                raise TVMError(f"No candidate was found covering sub-expression at index {at}, suggesting the partition rules are incomplete for the given targets.")
        raise TVMError("should have reached end state in which all sub-expressions are covered")

    def _finish(self, best, state):
        chosen = []
        while state:
            _, before, one = best[state]
            chosen.append(one)
            state = before
        return rewrite_all(self.graph, [one.sub for one in _coalesced(chosen)])


def _coalesced(candidates):
    """Neighbours for the same target as one."""
    known = CandidateSet(candidates)
    while known.next_round():
        gone, entries = set(), known.by("entry")
        for i, upstream in enumerate(known.now):
            if i in gone:
                continue
            for j in sorted({j for index in indexes(upstream.sub.output) for j in entries.get(index, ())} - {i}):
                downstream = known.now[j]
                if j not in gone and upstream.touches(downstream):
                    known.add(upstream.union(downstream))
                    known.remove(upstream)
                    known.remove(downstream)
                    gone |= {i, j}
    return sorted(known.now, key=lambda one: one.order)


def _maximal(candidates):
    """Those that are not inside of another one for the same target."""

    def inside(one, other):
        return one is not other and one.spec is other.spec and not one.sub.inside & ~other.sub.inside

    return [one for one in candidates if not any(inside(one, other) for other in candidates)]


def _pruned(candidates):
    """The largest candidates, and smaller ones that fill the gaps between those that overlap."""
    kept = {}
    while True:
        before = len(kept)
        for one in _maximal(candidates):
            kept.setdefault(one.sub.key, one)
        if len(kept) == before:
            return sorted(kept.values(), key=lambda one: one.order)
        masks = {one.sub.inside for one in kept.values()}
        overlapping = {key for key, one in kept.items() if any(one.sub.inside & mask and mask != one.sub.inside for mask in masks)}
        candidates = [one for one in candidates if one.sub.key not in overlapping]


def partition_pass(config, cost_estimator):
    """The pass CollagePartition."""

    def partition(mod, ctx):
        from ..transform import InferType, _is_open

        mod = InferType()(mod)
        specs, names, made = _specs(config), _Names(), mod.clone()
        for var, func in mod.functions.items():
            if _is_open(func):
                made[var] = _Partitioner(specs, cost_estimator, names, func).run()
        return InferType()(_outlined(made, names))

    return PyModulePass(partition, PassInfo(0, "CollagePartition"))


@register_func("relay.collage.PartitionForTesting")
def _partition_for_testing(max_exits, allow_taps, compiler, numbers, labels):
    """A pass that makes a function of the nodes with some numbers, and functions inside of it for those with labels."""

    def partition(func):
        graph = Dataflow(func)
        inside, named = 0, {}
        for number, label in zip(numbers, labels):
            inside |= 1 << int(number)
            if label:
                named[str(label)] = named.get(str(label), 0) | 1 << int(number)
        inner = [Nested(SubGraph(graph, mask), {"Composite": label}) for label, mask in named.items()]
        kind, label = kind_and_label_of(graph, inside)
        whole = SubGraph(graph, inside, kind, label, inner)
        overall = SubGraph(graph, inside, kind, label, [Nested(whole, {"Compiler": compiler})])
        return overall.rewrite(func) if overall.is_valid(int(max_exits), bool(allow_taps)) else func

    def run(mod, ctx):
        from ..transform import InferType, _is_open

        made = mod.clone()
        for var, func in mod.functions.items():
            if _is_open(func):
                made[var] = partition(func)
        return InferType()(made)

    return PyModulePass(run, PassInfo(0, "PartitionForTesting"))

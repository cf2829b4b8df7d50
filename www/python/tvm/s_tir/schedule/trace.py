"""Traces: the instructions of a schedule, which can be applied to another one."""

from ..._node import Object
from ..._values import Array, Map
from ...ir.expr import Expr, StringImm, Var
from .instruction import RV, ExprRV, Instruction, InstructionKind, LoopRV, SBlockRV

_HEAD = "# from tvm import s_tir\ndef apply_trace(sch: s_tir.Schedule) -> None:\n"


def _json(value, names):
    from ...tirx.function import IndexMap

    if isinstance(value, RV) or isinstance(value, Var):
        return names(value)
    if isinstance(value, IndexMap):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return [_json(item, names) for item in value]
    if isinstance(value, dict):
        return {str(key): _json(item, names) for key, item in value.items()}
    if isinstance(value, StringImm):
        return value.value
    number = getattr(value, "value", None)
    return number if isinstance(value, Expr) and isinstance(number, int) else value


class _Names:
    """Names of results, by their order: the letter of their kind and a number."""

    def __init__(self):
        self.known = {}

    def __call__(self, item):
        found = self.known.get(id(item))
        if found is None:
            letter = getattr(item, "letter", "v")
            found = self.known[id(item)] = f"{letter}{len(self.known)}"
        return found


class Trace(Object):
    """Instructions, and what was decided by those that sample."""

    def __init__(self, insts=(), decisions=None):
        self.insts, self.decisions = Array(insts), Map(decisions or {})

    def get_decision(self, inst):
        """The decision of an instruction; None where it decided nothing."""
        return self.decisions.get(inst)

    def append(self, inst, decision=None):
        """Adds an instruction."""
        self.insts.append(inst)
        if decision is not None:
            self.decisions[inst] = decision

    def pop(self):
        """Takes the last instruction away; None where there is none."""
        if not self.insts:
            return None
        inst = self.insts.pop()
        self.decisions.pop(inst, None)
        return inst

    def with_decision(self, inst, decision, remove_postproc):
        """The trace with another decision of an instruction."""
        made = Trace(self._kept(remove_postproc), self.decisions)
        made.decisions[inst] = decision
        return made

    def _kept(self, remove_postproc):
        found = []
        for inst in self.insts:
            if remove_postproc and inst.kind.name == "EnterPostproc":
                break
            found.append(inst)
        return found

    def as_python(self, remove_postproc=False):
        """The lines, as Python writes them."""
        names = _Names()
        lines = []
        for inst in self._kept(remove_postproc):
            for item in inst.outputs:
                names(item)
            lines.append(inst.text(names, self.decisions.get(inst)))
        return lines

    def as_json(self, remove_postproc=False):
        """The instructions as lists, and the decisions by the places of theirs."""
        names = _Names()
        rows, decisions = [], []
        for at, inst in enumerate(self._kept(remove_postproc)):
            inputs, attrs = _json(inst.inputs, names), _json(inst.attrs, names)
            rows.append([inst.kind.name, inputs, attrs, [names(item) for item in inst.outputs]])
            decision = self.decisions.get(inst)
            if decision is not None:
                decisions.append([at, _json(decision, names)])
        return [rows, decisions]

    def apply_to_schedule(self, sch, remove_postproc=False, decision_provider=None):
        """Applies the instructions to another schedule."""
        known = {}
        given = lambda item: known.get(id(item), item)  # noqa: E731
        for inst in self._kept(remove_postproc):
            inputs = [_over(item, given) for item in inst.inputs]
            attrs = [_over(item, given) for item in inst.attrs]
            decision = self.decisions.get(inst)
            if decision_provider is not None and inst.kind.name.startswith("Sample"):
                decision = decision_provider(inst, inputs, attrs, decision)
            outputs = _apply(sch, Instruction(inst.kind, inputs, attrs, []), decision)
            known.update((id(old), new) for old, new in zip(inst.outputs, outputs))

    @staticmethod
    def apply_json_to_schedule(json_obj, sch):
        """Applies instructions that `as_json` wrote."""
        rows, decisions = json_obj
        decided = dict((at, decision) for at, decision in decisions)
        known = {}
        given = lambda item: known.get(item, item) if isinstance(item, str) else item  # noqa: E731
        for at, (name, inputs, attrs, outputs) in enumerate(rows):
            inputs = [_over(item, given) for item in inputs]
            inst = Instruction(InstructionKind.get(name), inputs, attrs, [])
            known.update(zip(outputs, _apply(sch, inst, decided.get(at))))

    def simplified(self, remove_postproc=False):
        """The trace without instructions that only look for what nothing uses."""
        kept, used = [], set()
        for inst in reversed(self._kept(remove_postproc)):
            if inst.kind.is_pure and inst.kind.name.startswith("Get") and not any(id(item) in used for item in inst.outputs):
                continue
            kept.append(inst)
            _mark(inst.inputs, used)
            _mark(inst.attrs, used)
        kept.reverse()
        chosen = {id(inst) for inst in kept}
        return Trace(kept, {inst: value for inst, value in self.decisions.items() if id(inst) in chosen})

    def show(self, style=None, black_format=False):
        """Prints the instructions."""
        print(self)

    def __str__(self):
        return _HEAD + "\n".join(f"  {line}" for line in self.as_python() or ["pass"])

    __repr__ = __str__


def _mark(value, used):
    if isinstance(value, (list, tuple)):
        for item in value:
            _mark(item, used)
    else:
        used.add(id(value))


def _over(value, given):
    if isinstance(value, (list, tuple)):
        return type(value)(_over(item, given) for item in value)
    return given(value)


def _apply(sch, inst, decision):
    args, kwargs = inst.call()
    if decision is not None:
        kwargs["decision"] = decision
    if inst.kind.name == "Annotate":
        kwargs["ann_val"] = kwargs.get("ann_val", "")
    made = getattr(sch, inst.kind.method)(*args, **kwargs)
    return [] if made is None else list(made) if isinstance(made, (list, tuple)) else [made]


_ = (ExprRV, LoopRV, SBlockRV)

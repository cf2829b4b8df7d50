"""Operators."""

from .. import _engine
from .._codes import ExprKind
from .._node import ATTRS, EXPR, TYPE, forget, get, name_of
from .._node import number as number_of
from .._catalogue import relay_operators
from .._values import Array
from ..error import InternalError
from ..runtime.registry import get_global_func
from .expr import Expr, expr_makers, _head

_ops = {}
_attributes = {}


def _is_intrinsic(name):
    """True for the name of an intrinsic of tensor programs."""
    dialect, _, tail = name.partition(".")
    if dialect not in ("tirx", "prim") or not tail.isidentifier():
        return False
    from ..tirx import intrin, op
    from ..tirx._intrinsics import _PRIM

    return (tail in _PRIM) == (dialect == "prim") and (tail in _PRIM or callable(getattr(op, tail, None)) or callable(vars(intrin).get(tail)))


class Op(Expr):
    """An operator. The same name is always the same object."""

    def __init__(self):
        raise RuntimeError("Cannot create Op object, use Op.get")

    @staticmethod
    def get(op_name):
        """The operator of a name."""
        found = _ops.get(op_name)
        if found is None:
            if _is_intrinsic(op_name):
                return _named(op_name)
            facts = _facts(op_name)
            found = _named(op_name)
            found.__dict__["_facts"] = facts
        return found

    @staticmethod
    def list_op_names():
        """Names of all operators."""
        from .._catalogue import operators

        return Array(f"relax.{op['name']}" for op in operators())

    def _fact(self, index):
        if "_facts" not in self.__dict__:
            self.__dict__["_facts"] = _facts(self.name)
        return self._facts[index]

    description = property(lambda self: self._fact(0), doc="What it computes.")
    attrs_type_key = property(lambda self: self.__dict__.get("_attrs_key", ""))

    @property
    def arguments(self):
        """The inputs that have to be given."""
        return Array(_Argument(*((item,) if isinstance(item, str) else item)) for item in self._fact(1))

    @property
    def num_inputs(self):
        """The number of inputs that it needs."""
        known = self.__dict__.get("_inputs")
        return len(self._fact(1)) if known is None else known

    @property
    def support_level(self):
        """The level of support, from 1 for what every target has on."""
        from ..relay.op._levels import LEVELS

        return self.__dict__.get("_level") or LEVELS.get(self.name, 10)

    def set_num_inputs(self, n):
        """Sets the number of inputs."""
        self.__dict__["_inputs"] = int(n)

    def set_support_level(self, level):
        """Sets the level of support."""
        self.__dict__["_level"] = int(level)

    def add_argument(self, name, type, description):  # noqa: A002 - TVM's name
        """Describes an input of an operator that was registered here."""
        self._check_registered("arguments")
        self._facts[1].append((name, type, description))

    def set_attrs_type_key(self, key):
        """Names the attributes of calls of an operator that was registered here."""
        self._check_registered("attributes")
        self.__dict__["_attrs_key"] = key

    def _tell(self):
        """Tells the engine of what was registered, when a program first has it and when more was registered since."""
        name, function = self.__dict__.get("_relation", (None, None))
        if function is not None:
            # No relation that TVM has by name is called so.
            name = "of the script"
        pattern = _attribute(self.name, "TOpPattern")
        facts = (self.num_inputs, name, -1 if pattern is None else int(pattern), bool(_attribute(self.name, "TOpIsStateful")))
        if self.__dict__.get("_told") != facts:
            from .transform import _setup

            _setup()
            _engine.call("user_register_relay_op", self.name, *facts)
            self.__dict__["_told"] = facts

    def _check_registered(self, what):
        if not self.__dict__.get("_registered"):
            raise NotImplementedError(f"the {what} of {self.name} are the engine's and cannot be changed")

    def get_attr(self, attr_name):
        """The value that was registered about the operator under a name; None where none was."""
        own = _attributes.get((self.name, attr_name))
        if own is not None:
            return own[0]
        match attr_name:
            case "TOpPattern":
                return None if self._fact(3) < 0 else self._fact(3)
            case "TOpIsStateful":
                return self._fact(2)
            case "TNonComputational":
                return self._fact(5)
            case "FPurity":
                return self._fact(6)
            case "FInferType" if self.name.startswith("relax."):
                return _type_of_call
            case "FLegalize":
                from ..relax.transform.legalize import default_rule

                return default_rule(self.name)
        return _FACTS.get(attr_name, {}).get(self.name)

    def has_attr(self, attr_name):
        """True if something was registered under a name."""
        return self.get_attr(attr_name) is not None

    def set_attr(self, attr_name, value, plevel=10):
        """Registers something under a name."""
        register_op_attr(self.name, attr_name, value, plevel)

    def reset_attr(self, attr_name):
        """Forgets what there is under a name, also what the engine knows."""
        _attributes[self.name, attr_name] = (None, -1)

    def add_type_rel(self, rel_name, type_rel_func=None):
        """Sets the relation of the types of a registered operator: one that TVM has by name, or a function of the types of the
        inputs and the attributes, which gives the type of a call or, where it is not known yet, None."""
        self._check_registered("type relations")
        if type_rel_func is None and get_global_func(f"tvm.relay.type_relation.{rel_name}", True) is None:
            raise InternalError("Check failed: (f != nullptr) is false: AddTypeRel error: no type_relation registered.")
        self.__dict__["_relation"] = (rel_name, type_rel_func)

    def __str__(self):
        return self.name

    __repr__ = __str__

    def __eq__(self, other):
        return self is other or (isinstance(other, Op) and self.name == other.name)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.name)

    def _row_e(self, w):
        if self.__dict__.get("_registered"):
            self._tell()
        _head(w, ExprKind.OP, self)
        w.text(self.name)


_INSPECTIONS = "tensor_byte_offset tensor_dtype_bits tensor_dtype_code tensor_dtype_lanes tensor_elem_offset tensor_ndim tensor_shape_i tensor_stride_i"
_FACTS = {
    "FCallPacked": {f"relax.{name}": f"relax.run.{name}" for name in "nonzero unique shape_to_tensor assert_op print".split()},
    "FDataDependent": dict.fromkeys(("relax.dynamic_strided_slice", "relax.full"), True),
    "RequiresArgumentShapes": dict.fromkeys(
        ["relax.full", "relax.memory.ensure_zero_offset", "relax.memory.view", *(f"relax.inspect.{name}" for name in _INSPECTIONS.split())],
        False,
    ),
}
"""Facts that TVM notes of a few operators and the engine knows otherwise."""


class _Argument:
    def __init__(self, name, type_info="", description=""):
        self.name = name
        self.description = description
        self.type_info = type_info


def _facts(name):
    was = _engine.is_relax()
    _engine.dialect(name not in relay_operators())
    try:
        return _engine.call("user_op", name)
    except _engine.EngineError as exc:
        raise AttributeError(f"Operator {name} is not registered: {exc}") from None
    finally:
        _engine.dialect(was)


def _named(name):
    found = _ops.get(name)
    if found is None:
        found = _ops[name] = Op.__new__(Op)
        found.__dict__["name"] = name
    return found


def register_op(op_name, description=""):
    """Registers an operator of Relay, of which inputs, attributes and the relation of its types are said later."""
    if op_name in _ops or _is_known(op_name):
        raise InternalError(f"Operator {op_name} is registered before")
    made = _named(op_name)
    made.__dict__.update(_facts=[description, [], False, -1, None, False, None], _registered=True)


def _is_known(name):
    try:
        _facts(name)
    except AttributeError:
        return False
    return True


def register_op_attr(op_name, attr_key, value=None, level=10):
    """Registers something about an operator; without a value, as a decorator."""

    def register(value):
        key = (op_name, attr_key)
        if key not in _attributes or _attributes[key][1] <= level:
            _attributes[key] = (value, level)
        if attr_key in _OF_RELAX:
            _register_own(op_name)
        return value

    return register(value) if value is not None else register


def _register_own(name):
    """Tells the engine of an operator that it does not have; it then asks for types and normal forms of calls."""
    pure = _attribute(name, "FPurity")
    pure = True if pure is None else bool(pure)
    of_tir = name.startswith(("tir.", "tirx.", "s_tir."))
    if of_tir or _own.get(name) == pure or name not in _own and _is_known(name):
        return
    from .transform import _setup

    _setup()
    _own[name] = pure
    _engine.call("user_register_op", name, pure)
    known = _ops.get(name)
    if known is not None:
        forget(EXPR, known.__dict__.pop("_e", None))
        known.__dict__.pop("_facts", None)
        known.__dict__.pop("_registered", None)


_OF_RELAX = ("FInferType", "FNormalize", "FPurity", "FLegalize")
"""Attributes that make a name an operator of Relax, which programs may have."""


def _attribute(name, key):
    return _attributes.get((name, key), (None,))[0]


def _type_of_call(call, _):
    """The type that the engine gives a call."""
    from ..relax.block_builder import BlockBuilder

    return BlockBuilder().normalize(call).ty


_own = {}
"""The purity of the operators that the engine was told of."""


def asked(what, number):
    """The type of a call of an operator of the script, or what stands for it in normal form, if that is another call."""
    from ..relax.block_builder import BlockBuilder

    call = get(EXPR, number)
    name = call.op.name
    key = "FInferType" if what == "infer" else "FNormalize"
    function = _attribute(name, key)
    if function is None:
        if what == "normalize":
            return None
        raise InternalError(f"Check failed: (op_map_infer_ty.count(op)) is false: Cannot find the FInferType attribute registered to op: {name}")
    if what == "infer":
        return number_of(TYPE, function(call, BlockBuilder()))
    new = function(BlockBuilder(), call)
    return None if new is call else number_of(EXPR, new)


def tell_registered():
    """Tells the engine of all registered operators, before a text is read that may name them."""
    for found in _ops.values():
        if found.__dict__.get("_relation"):
            found._tell()


def related(name, words):
    """The type of a call of an operator of Relay that the script registered; None while it is not known."""
    found = _ops[name].__dict__["_relation"][1]([get(TYPE, number) for number in words[1:]], get(ATTRS, words[0] - 1) if words[0] else None)
    return None if found is None else number_of(TYPE, found)


def has_own_normal_form(value):
    """True for a call of an operator for which a script registered a normal form."""
    op = getattr(value, "op", None)
    return isinstance(op, Op) and _attribute(op.name, "FNormalize") is not None


def register_intrin_lowering(op_name, target, *, f=None, level=10):
    """Lowering rules of one's own are not used here."""
    return f if f is not None else (lambda func: func)


def _make_op(number, words):
    name = name_of(words[2])
    if name.startswith("relax.") and not _engine.is_relax():
        name = _engine.call("table_print_node", 0, number, 0)
    elif _engine.is_relax() and name in relay_operators():
        name = "relax." + _engine.call("table_print_node", 0, number, 0).removeprefix("R.")
    found = _named(name)
    found.__dict__["_e"] = number
    return found


def _forget():
    """An operator of both dialects is one thing of the engine, which told its name in one of them."""
    for found in _ops.values():
        forget(EXPR, found.__dict__.get("_e"))


_engine.when_dialect_changes.append(_forget)
expr_makers[ExprKind.OP] = _make_op
_ = EXPR

"""Long short-term memory (Hochreiter and Schmidhuber, 1997): a cell as a function, called once for each step."""

from .. import analysis
from ..expr import Call, Function, Tuple, TupleGetItem, Var, var
from ..op import sigmoid, split, tanh, zeros
from ..scope_builder import ScopeBuilder
from ..ty import TensorType, TupleType
from .init import create_workload
from .layers import dense_add_bias


def _weights(num_hidden, dtype, step=""):
    """Variables for a weight and a bias of the input, then of the state."""
    shapes = {"weight": (4 * num_hidden, num_hidden), "bias": (4 * num_hidden,)}
    return [var(f"{of}{step}_{kind}", shape=shape, dtype=dtype) for of in ("i2h", "h2h") for kind, shape in shapes.items()]


def lstm_cell(num_hidden, batch_size=1, dtype="float32", name=""):
    """A step as a function of the input, two states and weights: its output, and the next states."""
    units = 4 * num_hidden
    one, wide = (TensorType((batch_size, count), dtype) for count in (num_hidden, units))
    pair = TupleType([one, one])
    result = TupleType([one, pair])
    builder = ScopeBuilder()
    let = builder.let
    inputs, states = Var("inputs", one), Var("states", pair)
    weights = _weights(num_hidden, dtype)
    i2h = let(("i2h", wide), dense_add_bias(inputs, *weights[:2], units, name=f"{name}i2h"))
    h2h = let(("h2h", wide), dense_add_bias(TupleGetItem(states, 0), *weights[2:], units, name=f"{name}h2h"))
    gates = let(("gates", wide), i2h + h2h)
    parts = let(("slice_gates", TupleType([one] * 4)), split(gates, indices_or_sections=4, axis=1).astuple())
    names = {"in_gate": sigmoid, "forget_gate": sigmoid, "in_transform": tanh, "out_gate": sigmoid}
    taken, kept, new, shown = (let((gate, one), op(TupleGetItem(parts, at))) for at, (gate, op) in enumerate(names.items()))
    next_c = let(("next_c", one), kept * TupleGetItem(states, 1) + taken * new)
    next_h = let(("next_h", one), shown * tanh(next_c))
    builder.ret(let(("ret", result), Tuple([next_h, Tuple([next_h, next_c])])))
    return Function([inputs, states, *weights], builder.get(), result)


def get_net(iterations, num_hidden, batch_size=1, dtype="float32"):
    """A number of steps from states of zeros, as a function of an input and weights for each."""
    one = TensorType((batch_size, num_hidden), dtype)
    pair = TupleType([one, one])
    builder = ScopeBuilder()
    let = builder.let
    start = let(("zeros", one), zeros((batch_size, num_hidden), dtype))
    states, out = let(("init_states", pair), Tuple([start, start])), None
    for at in range(iterations):
        args = [Var("data", one), states, *_weights(num_hidden, dtype, f"_{at}")]
        call = Call(lstm_cell(num_hidden, batch_size, dtype, f"lstm_{at}"), args)
        call = let((f"call_{at}", TupleType([one, pair])), call)
        out = let((f"out_{at}", one), TupleGetItem(call, 0))
        states = let((f"states_{at}", pair), TupleGetItem(call, 1))
    builder.ret(out)
    body = builder.get()
    return Function(analysis.free_vars(body), body, one)


def get_workload(iterations, num_hidden, batch_size=1, dtype="float32"):
    """The network as a module, with parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))

"""Code of a virtual machine, instruction by instruction, and a machine that follows it."""

from enum import IntEnum

from .._node import Object
from .._values import Array, DataType
from ..error import InternalError
from ..runtime.registry import get_global_func
from ..runtime.tensor import Tensor, empty, tensor


class SpecialReg(IntEnum):
    """Registers that stand for no value, and for the machine itself."""

    VOID_ARG = (1 << 54) + 0
    VM_STATE = (1 << 54) + 1


class VMFuncKind(IntEnum):
    """A function of Python, or one of these instructions."""

    PACKED_FUNC = 0
    VM_FUNC = 1


_REGISTER, _IMM, _CONST, _FUNC = range(4)
_BITS = 56


def _coded(kind, value):
    return kind << _BITS | value & ((1 << _BITS) - 1)


def _decoded(arg):
    """The kind of an operand, and its value."""
    value = arg & ((1 << _BITS) - 1)
    return arg >> _BITS, value - (1 << _BITS) if value >> (_BITS - 1) else value


class VMFuncScope:
    """A function that is open; instructions are written in one only."""

    stack = []

    def __init__(self, exit_callback):
        self.exit_callback = exit_callback

    def __enter__(self):
        VMFuncScope.stack.append(self)
        return self

    def __exit__(self, kind, value, trace):
        VMFuncScope.stack.pop()
        self.exit_callback()


class _Function:
    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.num_inputs, self.params, self.code, self.done = None, [], [], False


class ExecBuilder(Object):
    """Writes instructions, and makes an executable of them."""

    def __init__(self):
        self._functions, self._constants, self._current = {}, [], None
        self._places = {}

    def r(self, idx):
        """A register."""
        return _coded(_REGISTER, int(idx))

    def imm(self, value):
        """A number."""
        if not isinstance(value, int):
            raise TypeError(f"Mismatched type on argument #1 when calling: `relax.ExecBuilderImm`. Expected `int` but got `{type(value).__name__}`")
        return _coded(_IMM, value)

    def c(self, idx):
        """A constant that there is."""
        return _coded(_CONST, idx)

    def f(self, name):
        """A function by its name."""
        return _coded(_FUNC, list(self._functions).index(self._declared(name).name))

    def void_arg(self):
        """No value."""
        return self.r(SpecialReg.VOID_ARG)

    def vm_state(self):
        """The machine itself."""
        return self.r(SpecialReg.VM_STATE)

    def _declared(self, name, kind=VMFuncKind.PACKED_FUNC):
        return self._functions.setdefault(name, _Function(name, kind))

    def declare_function(self, func_name, kind=VMFuncKind.PACKED_FUNC):
        """Names a function."""
        self._declared(func_name, kind)

    def function(self, func_name, num_inputs=0, param_names=None):
        """Opens a function: `with ib.function("main", 2):`."""
        found = self._functions.get(func_name)
        if found is not None and found.num_inputs is not None:
            raise InternalError(f"Check failed: vmfunc.num_args == -2 ({found.num_inputs} vs. -2) : Function {func_name} already defined")
        made = self._declared(func_name)
        made.kind, made.num_inputs, made.params = VMFuncKind.VM_FUNC, num_inputs, list(param_names or [])
        self._current = made

        def done():
            made.done = True

        return VMFuncScope(done)

    def convert_constant(self, const):
        """A value as a constant, the same for equal ones; a whole number stands for itself."""
        if type(const) is int:
            return self.imm(const)

        is_tensor = isinstance(const, Tensor)
        key = ("tensor", str(const.dtype), const.numpy().tobytes(), tuple(const.shape)) if is_tensor else (type(const).__name__, const)
        place = self._places.setdefault(key, len(self._constants))
        if place == len(self._constants):
            self._constants.append(const)
        return _coded(_CONST, place)

    def _emit(self, *words):
        self._check_scope()
        self._current.code.append(list(words))

    def _check_scope(self):
        if not VMFuncScope.stack:
            raise ValueError("emit should happen in a function scope")

    def emit_call(self, name, args=None, dst=None):
        """Calls a function."""
        self._check_scope()
        words = [self.convert_constant(arg) if isinstance(arg, (tuple, Tensor, DataType)) else arg for arg in args or ()]
        self._declared(name)
        self._emit("call", int(SpecialReg.VOID_ARG if dst is None else dst), name, words)

    def emit_ret(self, result):
        """Returns a register."""
        self._emit("ret", int(result))

    def emit_goto(self, pc_offset):
        """Goes on at another instruction."""
        self._emit("goto", pc_offset)

    def emit_if(self, cond, false_offset):
        """Goes on with the next instruction if a register holds, else at another one."""
        self._emit("if", int(cond), false_offset)

    def get(self):
        """The executable."""
        made = VMExecutable(self._functions, self._constants)
        for function in self._functions.values():
            if function.kind == VMFuncKind.VM_FUNC:
                _check(function, made)
        for function in self._functions.values():
            _formalize(function)
        return made


def _check(function, executable):
    """Raises where a register is read before anything is written there."""
    if not function.code or not function.done:
        raise InternalError(f"Check failed: start_instr < end_instr: Function {function.name} EndFunction has not be been called")
    written = set(range(function.num_inputs))

    def read(arg):
        kind, value = _decoded(arg)
        if kind == _CONST and value >= len(executable._constants):
            raise InternalError(f"Check failed: Constant index {value} exceed size of constant pool. Dump:\n{executable.as_text()}")
        if kind == _REGISTER and value < SpecialReg.VOID_ARG and value not in written:
            raise InternalError(f'register r({value}) in VM function "{function.name}" is used as input while it is never defined as a destination. Dump:\n{executable.as_text()}')

    for words in function.code:
        if words[0] == "call":
            for arg in words[3]:
                read(arg)
            written.add(words[1])
        elif words[0] in ("ret", "if"):
            read(words[1])
        if words[0] == "if" and words[2] <= 1:
            raise InternalError(f"Check failed: instr.false_offset > 1 ({words[2]} vs. 1) : ")
        if words[0] == "goto" and words[1] == 0:
            raise InternalError("Check failed: instr.pc_offset != 0 (0 vs. 0) : ")


def _formalize(function):
    """Numbers registers in the order in which they are written."""
    if function.kind != VMFuncKind.VM_FUNC:
        return
    known = {}
    for words in function.code:
        if words[0] == "call":
            words[3] = [known.get(arg, arg) for arg in words[3]]
            if function.num_inputs <= words[1] < SpecialReg.VOID_ARG:
                words[1] = known.setdefault(words[1], function.num_inputs + len(known))
        elif words[0] in ("ret", "if"):
            words[1] = known.get(words[1], words[1])


def _register(value):
    return {int(SpecialReg.VOID_ARG): "%void", int(SpecialReg.VM_STATE): "%vm"}.get(value, f"%{value}")


class VMExecutable(Object):
    """Functions of instructions, with their constants."""

    def __init__(self, functions, constants):
        self._functions, self._constants = functions, constants
        self.mod = self

    def _shown(self, arg):
        kind, value = _decoded(arg)
        names = list(self._functions)
        return [_register, lambda v: f"i{v}", lambda v: f"c[{v}]", lambda v: f"f[{names[v]}]"][kind](value)

    def as_text(self):
        """The instructions as a text."""
        lines = []
        for function in self._functions.values():
            if function.kind != VMFuncKind.VM_FUNC:
                lines += [f"@{function.name} packed_func;", ""]
                continue
            lines.append(f"@{function.name}:")
            for words in function.code:
                match words:
                    case ["call", dst, name, args]:
                        lines.append(f"  call  {name:<16} in: {', '.join(map(self._shown, args)):<12} dst: {_register(dst)}")
                    case ["ret", result]:
                        lines.append(f"  ret   {_register(result)}")
                    case ["goto", offset]:
                        lines.append(f"  goto  {offset}")
                    case ["if", cond, offset]:
                        lines.append(f"  If    {_register(cond)}, {offset}")
            lines.append("")
        return "\n".join(lines) + "\n"

    def as_python(self):
        """The calls of a builder that write these instructions."""

        def written(arg):
            kind, value = _decoded(arg)
            if arg == SpecialReg.VM_STATE:
                return "ib.r(vm)"
            name = f'"{list(self._functions)[value]}"' if kind == _FUNC else value
            return f"ib.{['r', 'imm', 'c', 'f'][kind]}({name})"

        lines = ["ib = rx.Builder()"]
        for function in self._functions.values():
            if function.kind != VMFuncKind.VM_FUNC:
                continue
            lines.append(f'with ib.function("{function.name}", num_inputs={function.num_inputs}):')
            for words in function.code:
                match words:
                    case ["call", dst, name, args]:
                        end = "" if dst == SpecialReg.VOID_ARG else f", dst={written(dst)}"
                        lines.append(f'    ib.emit_call("{name}", args=[{", ".join(map(written, args))}]{end})')
                    case ["ret", result]:
                        lines.append(f"    ib.emit_ret({written(result)})")
                    case ["goto", offset]:
                        lines.append(f"    ib.emit_goto({offset})")
                    case ["if", cond, offset]:
                        lines.append(f"    ib.emit_if({written(cond)}, {offset})")
        return "\n".join(lines) + "\n"

    def stats(self):
        """Counts of constants and of functions, with what they are."""

        def constant(value):
            if isinstance(value, Tensor):
                return f"[{', '.join(map(str, value.shape))}]" if len(value.shape) else "scalar"
            if isinstance(value, tuple):
                return f"shapetuple[{', '.join(map(str, value))}]"
            return f'"{value}"' if type(value) is str else str(value)

        constants = ", ".join(map(constant, self._constants))
        return f"Relax VM executable statistics:\n  Constant pool (# {len(self._constants)}): [{constants}]\n  Globals (#{len(self._functions)}): [{', '.join(self._functions)}]\n"

    def jit(self, *args, **kwargs):
        """The executable itself."""
        return self

    def __contains__(self, name):
        return name in self._functions

    def params_of(self, name):
        """Names of the parameters of a function."""
        found = self._function(name)
        return found.params or [f"p{at}" for at in range(found.num_inputs)]

    def implements_function(self, name, query_imports=False):
        """True if there is a function of a name."""
        found = self._functions.get(name)
        return found is not None and found.kind == VMFuncKind.VM_FUNC

    def _function(self, name):
        if not self.implements_function(name):
            raise AttributeError(f"Module has no function '{name}'")
        return self._functions[name]

    def __getitem__(self, name):
        function = self._function(name)
        return lambda *args: self._run(function, args)

    def _run(self, function, args):
        if len(args) != function.num_inputs:
            names = ", ".join(function.params)
            raise InternalError(
                f"Check failed: static_cast<size_t>(gfunc.num_args) == args.size() ({function.num_inputs} vs. {len(args)}) : Invoking function "
                f"{function.name} expects {function.num_inputs} arguments ({names}), but {len(args)} arguments were provided."
            )
        registers, at = dict(enumerate(args)), 0

        def value(arg):
            kind, word = _decoded(arg)
            if kind == _IMM:
                return word
            if kind == _CONST:
                return self._constants[word]
            if kind == _FUNC:
                return self._callee(list(self._functions)[word])
            return self if word == SpecialReg.VM_STATE else registers.get(word)

        while True:
            match function.code[at]:
                case ["call", dst, name, operands]:
                    registers[dst] = self._callee(name)(*map(value, operands))
                    at += 1
                case ["ret", result]:
                    return registers.get(result)
                case ["goto", offset]:
                    at += offset
                case ["if", cond, offset]:
                    held = registers.get(cond)
                    at += 1 if (held.numpy().any() if isinstance(held, Tensor) else held) else offset

    def _callee(self, name):
        if self.implements_function(name):
            return self[name]
        found = get_global_func(name, allow_missing=True) or _BUILTINS.get(name)
        if found is None:
            raise InternalError(
                f"Check failed: (func.has_value()) is false: Error: Cannot find ffi::Function {name} in either Relax VM kernel library, or in TVM "
                "runtime ffi::Function registry, or in global Relax functions of the VM executable"
            )
        return found


def _closure(function, *held):
    return lambda *args: function(*args, *held)


_BUILTINS = {
    "vm.builtin.shape_of": lambda value: tuple(value.shape),
    "vm.builtin.copy": lambda value: value,
    "vm.builtin.null_value": lambda: None,
    "vm.builtin.read_if_cond": lambda value: bool(value.numpy().any()) if isinstance(value, Tensor) else bool(value),
    "vm.builtin.make_tuple": lambda *values: Array(values),
    "vm.builtin.tuple_getitem": lambda value, at: value[at],
    "vm.builtin.reshape": lambda value, shape: tensor(value.numpy().reshape(tuple(shape))),
    "vm.builtin.make_closure": _closure,
    "vm.builtin.invoke_closure": lambda machine, closure, *args: closure(*args),
    "vm.builtin.alloc_storage": lambda machine, size, *rest: tuple(size),
    "vm.builtin.alloc_tensor": lambda storage, offset, shape, dtype, *rest: empty(tuple(shape), str(dtype)),
}
"""Functions of the machine itself that programs are written with by hand."""

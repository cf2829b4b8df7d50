"""Builds a module of Relax from methods of a module."""

import threading

from .... import ir, relax as rx, tirx
from ...block_builder import BlockBuilder
from . import core
from . import spec as _spec
from .modules import IOEffect


def add_extern(mod):
    """Adds an external module to the one that is being exported."""
    if Exporter._tls.__dict__.get("current") is None:
        raise RuntimeError("`nn.add_extern` should only be invoked when exporting a module.")
    Exporter.current().add_external_module(mod)


class Exporter:
    """The export that is under way."""

    _tls = threading.local()

    def __init__(self, debug):
        self.builder = BlockBuilder()
        self.io_effect = IOEffect() if debug else None
        self.extern_mods = []

    @staticmethod
    def current():
        """The one whose methods run."""
        return Exporter._tls.current

    def __enter__(self):
        Exporter._tls.current = self
        return self

    def __exit__(self, kind, value, trace):
        del Exporter._tls.current

    def add_external_module(self, mod):
        """Adds an external module."""
        known = {symbol for other in self.extern_mods for symbol in other._symbols}
        twice = list(known & set(mod._symbols))
        if twice:
            raise ValueError(f"Duplicate symbols: {twice}")
        self.extern_mods.append(mod)

    def build(self, spec):
        """Builds all methods; returns the module, the parameters and the external modules."""
        params = None
        effects = [] if self.io_effect is None else [("", self.io_effect)]
        effects += core.find(spec.module, "", core.Effect)
        builder = self.builder
        with self:
            if effects:
                with builder.function("_initialize_effect"):
                    with builder.dataflow():
                        states = [state for name, effect in effects for state in effect.emit_init(name, builder)]
                        outputs = builder.emit_output(builder.emit(rx.Tuple(states)))
                    builder.emit_func_output(outputs, params=[])
            for name, method in zip(spec.method_names, spec.method_specs):
                # Anew, so that methods share no symbolic extents.
                params = list(core.find(spec.module, "", core.Parameter))
                states = {"packed": 1, "none": 0, "plain": len(effects)}[method.effect_mode]
                with builder.function(name, attrs={"num_input": len(method.arg_specs) + states}):
                    with builder.dataflow():
                        outputs, inputs = _Method(builder, method).emit(params, effects)
                    builder.emit_func_output(outputs, inputs)
        mod = builder.finalize()
        rx.analysis.well_formed(mod)
        return mod, params, self.extern_mods


class _Method:
    """One method that is being exported."""

    def __init__(self, builder, spec):
        self.builder = builder
        self.spec = spec

    def emit(self, params, effects):
        """Runs the method; returns its outputs and inputs."""
        spec = self.spec
        symbols = {}
        given = [self._argument(name, arg, symbols) for name, arg in zip(spec.arg_names, spec.arg_specs)]
        inputs = [self._input(arg) for arg in given]
        states = self._effects(effects)
        weights = self._parameters(params)
        arguments = [
            self._parts(arg, var) if isinstance(arg, _spec.Tuple) else arg for arg, var in zip(given, inputs)
        ]
        outputs = _returned(spec.method(*arguments))
        results = [state for _, effect in effects for state in effect.finalize()]
        if results and spec.effect_mode != "none":
            outputs = rx.Tuple([outputs, rx.Tuple(results)])
        return self.builder.emit_output(outputs), [*inputs, *states, *weights]

    def _argument(self, name, spec, symbols):
        """The value that the method gets for an input."""

        def symbol(extent):
            return symbols.setdefault(extent, tirx.Var(extent, "int64"))

        if isinstance(spec, _spec.Int):
            return symbol(name)
        if isinstance(spec, _spec.Tensor):
            shape = [symbol(extent) if isinstance(extent, str) else extent for extent in spec.shape]
            return core.Tensor.placeholder(shape, spec.dtype, name)
        if isinstance(spec, _spec.Object):
            return spec.object_type(_expr=rx.Var(name, rx.AnyType()), _name=name)
        if isinstance(spec, _spec.Tuple):
            items = [self._argument(f"{name}_{at}", item, symbols) for at, item in enumerate(spec.elements)]
            return _spec.Tuple(name, type(spec.elements)(items))
        raise TypeError(f"Invalid spec for argument {name}: {spec}")

    def _input(self, arg):
        """The parameter of the function for it."""
        if isinstance(arg, (core.Tensor, core.Object)):
            return arg._expr
        if isinstance(arg, _spec.Tuple):
            return rx.Var(arg.name, rx.TupleType([self._input(item).ty for item in arg.elements]))
        if isinstance(arg, ir.Var):
            return rx.Var(arg.name, rx.ShapeType(values=[arg]))
        raise TypeError(f"Unsupported input type: {type(arg)}")

    def _parts(self, arg, var):
        """The parts of a tuple that is one input."""
        if isinstance(arg, _spec.Tuple):
            parts = []
            for at, item in enumerate(arg.elements):
                field = self.builder.emit(rx.TupleGetItem(var, at), name_hint=f"{arg.name}_{at}")
                parts.append(self._parts(item, field))
            return type(arg.elements)(parts)
        return core.Tensor(_expr=var) if isinstance(arg, core.Tensor) else arg

    def _packed(self, name, vars, names):
        """One parameter for several; returns it and its parts."""
        whole = rx.Var(name, rx.TupleType([var.ty for var in vars]))
        return whole, [
            self.builder.emit(rx.TupleGetItem(whole, at), name_hint=hint) for at, hint in enumerate(names)
        ]

    def _effects(self, effects):
        created = [effect.create(name) for name, effect in effects]
        flat = [var for vars in created for var in vars]
        inputs = {"plain": flat, "none": []}.get(self.spec.effect_mode)
        if inputs is None:
            whole, flat = self._packed("packed_effects", flat, [var.name for var in flat])
            inputs = [whole]
        parts = iter(flat)
        for vars, (_, effect) in zip(created, effects):
            effect.set_state([next(parts) for _ in vars])
        return inputs

    def _parameters(self, params):
        symbols = {}
        flat = []
        for name, param in params:
            # Parameters share the extents that have the same name.
            shape = [
                symbols.setdefault(extent.name, tirx.Var(extent.name, "int64")) if isinstance(extent, ir.Var) else extent
                for extent in param.shape
            ]
            flat.append(core.Tensor.placeholder(shape, param.dtype, name)._expr)
        inputs = {"plain": flat, "none": []}.get(self.spec.param_mode)
        if inputs is None:
            whole, flat = self._packed("packed_params", flat, [name for name, _ in params])
            inputs = [whole]
        for (_, param), var in zip(params, flat):
            param._expr = var
        return inputs


def _returned(value):
    if isinstance(value, (core.Tensor, core.Object)):
        return value._expr
    if isinstance(value, (tuple, list)):
        return rx.Tuple([_returned(item) for item in value])
    raise TypeError(f"Unsupported return type: {type(value)}")

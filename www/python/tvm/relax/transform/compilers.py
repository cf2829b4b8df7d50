"""Passes that need a compiler or a machine. They do what can be done without one, and say so where nothing can."""

from ...error import InternalError
from ...ir.transform import PassInfo, PyModulePass, module_pass
from ...target import Target


@module_pass(opt_level=0, name="AttachExternalModules")
class AttachExternModules:
    """A pass that adds compiled modules of other languages to the module."""

    def __init__(self, extern_modules):
        self.extern_modules = extern_modules

    def transform_module(self, mod, ctx):
        """The module with its list of other modules."""
        from ..frontend.nn import ExternModule

        for item in self.extern_modules:
            if not isinstance(item, ExternModule):
                raise AssertionError(f"an ExternModule is needed here, not {item}")
            raise NotImplementedError(f"{type(item).__name__} cannot be loaded: nothing is compiled here")
        return mod.with_attr("external_mods", list(mod.get_attr("external_mods") or ()))


@module_pass(opt_level=0, name="IPCAllReduceRewrite")
class IPCAllReduceRewrite:
    """A pass that has devices reduce together through shared memory, where the runtime has a function for that. None has it here."""

    def __init__(self, allreduce_strategy):
        self.allreduce_strategy = allreduce_strategy

    def transform_module(self, mod, ctx):
        """The module as it is."""
        return mod


def _refused(name, reason):
    def refuse(mod, ctx):
        raise NotImplementedError(f"{name} does not run here: {reason}")

    return PyModulePass(refuse, PassInfo(0, name))


def _tuned(name):
    if Target.current() is None:
        raise InternalError("Check failed: Target context required. Please set it by constructing a TargetContext")
    return _refused(name, "tuning measures programs on machines")


def MetaScheduleTuneTIR(work_dir, max_trials_global):
    """A pass that looks for good schedules of tensor programs; it says that it cannot when it runs."""
    return _tuned("MetaScheduleTuneTIR")


def MetaScheduleTuneIRMod(params, work_dir, max_trials_global, max_trials_per_task=None, op_names=None):
    """A pass that looks for good schedules of what a module calls; it says that it cannot when it runs."""
    return _tuned("MetaScheduleTuneIRMod")


def SplitCallTIRByPattern(patterns, fcodegen):
    """A pass that takes out of tensor programs what a compiler knows. Without patterns the module stays as it is; with some the pass
    says that it cannot when it runs."""
    if not patterns:
        return PyModulePass(lambda mod, ctx: mod, PassInfo(0, "SplitCallTIRByPattern"))
    return _refused("SplitCallTIRByPattern", "tensor programs are not matched with patterns")

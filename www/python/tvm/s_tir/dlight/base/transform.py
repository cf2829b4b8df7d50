"""The pass that applies rules."""

from ....ir.transform import BuiltInPass, module_pass
from ....target import Target
from .schedule_rule import BuiltInRule


def scheduled(mod, rules, target):
    """A module after rules of the engine's."""
    arguments = [rule._call() for rule in rules]
    if target is not None:
        arguments.append(f"target={target._as_attr()!r}")
    return BuiltInPass(f"dlight.ApplyDefaultSchedule({', '.join(arguments)})", True, "tir")(mod)


@module_pass(opt_level=0, name="ApplyDefaultSchedule")
class _Apply:
    """Schedules each function by the first rule that fits it."""

    def __init__(self, *rules):
        self.rules = list(rules)

    def transform_module(self, mod, ctx):
        """Applies the rules to all functions that are not scheduled yet."""
        target = Target.current(allow_none=True)
        if all(isinstance(rule, BuiltInRule) for rule in self.rules):
            return scheduled(mod, self.rules, target)
        from ....tirx.function import PrimFunc

        made = mod.clone()
        for var, func in mod.functions.items():
            if not isinstance(func, PrimFunc) or "tirx.is_scheduled" in (func.attrs or {}):
                continue
            for rule in self.rules:
                schedule = rule.apply(func, target, False)
                if schedule is not None:
                    new = schedule.mod[schedule.func_working_on or "main"].with_attr("tirx.is_scheduled", True)
                    if "global_symbol" not in (func.attrs or {}):
                        new = new.without_attr("global_symbol")
                    made.update_func(var, new)
                    break
        return made


class ApplyDefaultSchedule(_Apply):
    """Schedules each function by the first rule that fits it. As in TVM, the module that is given has the new functions, too."""

    def __call__(self, mod):
        made = super().__call__(mod)
        mod.update(made)
        return made

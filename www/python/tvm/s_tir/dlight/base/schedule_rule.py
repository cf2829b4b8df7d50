"""The base of rules."""


class ScheduleRule:
    """Schedules a function, or leaves it."""

    def apply(self, func, target, tunable):
        """A schedule of the function, or nothing where the rule does not fit it."""
        raise NotImplementedError

    @staticmethod
    def from_callable(name):
        """Makes a rule of a function."""

        def decorator(function):
            def apply(self, func, target, tunable):
                return function(func, target, tunable)

            return type(name, (ScheduleRule,), {"apply": apply})()

        return decorator

    def is_target_available(self, target):
        """True if the rule is for this target."""
        return True


class BuiltInRule(ScheduleRule):
    """A rule of the engine's, by its name in a pass list: `dlight.gpu.Matmul`."""

    _name = ""

    def _call(self):
        return f"{self._name}()"

    def apply(self, func, target, tunable):
        """A schedule of the function, or nothing where the rule does not fit it."""
        from ....ir.module import IRModule
        from ...schedule import Schedule
        from .transform import scheduled

        made = scheduled(IRModule({"main": func.with_attr("global_symbol", "main")}), [self], target)
        done = "tirx.is_scheduled" in (made["main"].attrs or {})
        return Schedule(made) if done else None


def rules(module, device, names):
    """Puts the rules of a device into a module."""
    for name in names:
        fields = {"_name": f"dlight.{device}.{name}", "__doc__": f"TVM's rule {name}.", "__module__": module.__name__}
        setattr(module, name, type(name, (BuiltInRule,), fields))

"""An instrument that checks programs."""

from ...ir.instrument import PassInstrument


class WellFormedInstrument(PassInstrument):
    """Checks the module before and after every pass."""

    def __init__(self, check_ty=True, validate_before_transform=True):
        super().__init__("WellFormedInstrument")
        self.validate_before_transform = validate_before_transform
        self.skipped = ("Normalize", "NormalizeGlobalVar", "ResolveGlobals")

    def _check(self, mod, info):
        from .. import analysis

        if info.name not in self.skipped:
            analysis.well_formed(mod)

    def run_before_pass(self, mod, info):
        if self.validate_before_transform:
            self._check(mod, info)

    def run_after_pass(self, mod, info):
        self._check(mod, info)

"""The samplers: each stands for a `method` of a sweep (docs/search.md), which has its own settings."""
import warnings
from typing import Any, Optional


class BaseSampler:
    """The base of the others."""

    method = ""
    tells = True

    def __init__(self, *, seed: Optional[int] = None, **settings: Any) -> None:
        if not self.method:
            raise NotImplementedError("a sampler of your own needs Optuna: pip install optuna")
        self.seed = seed
        if settings:
            warnings.warn(f"{type(self).__name__}: {', '.join(sorted(settings))}: without effect, the daemon's method "
                          f"{self.method!r} has its own settings", stacklevel=2)


for _name, _method in (("TPE", "tpe"), ("Random", "random"), ("GP", "bayes"), ("QMC", "sobol")):
    globals()[_name + "Sampler"] = type(_name + "Sampler", (BaseSampler,), {"method": _method, "__doc__": f"{_method}."})

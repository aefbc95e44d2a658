"""The samplers: each stands for a `method` of a sweep (docs/search.md), which has its own settings."""
from __future__ import annotations

import warnings
from typing import Any, Dict, Mapping, Optional, Sequence


class BaseSampler:
    """The base of the others. A sampler of your own cannot run in the daemon."""

    method = ""

    def __init__(self, seed: Optional[int] = None, **settings: Any) -> None:
        self.seed = seed
        if not self.method:
            raise NotImplementedError("a sampler of your own does not run in the daemon: drive a sweep by "
                                      "sweepd.Client, and enqueue() the points that you choose")
        if settings.get("constraints_func") is not None:
            raise NotImplementedError("constraints_func is not carried over: a sweep's `constraints` (docs/spec.md) compare "
                                      "parameters; for outcomes return a bad value")
        settings.pop("n_startup_trials", None)
        changed = sorted(name for name, value in settings.items() if value is not None)
        if changed:
            warnings.warn(f"{type(self).__name__}: {', '.join(changed)}: without effect, the daemon's "
                          f"method {self.method!r} has its own settings", stacklevel=3)


class TPESampler(BaseSampler):
    """Method "tpe": multivariate, and it knows of trials that still run."""

    method = "tpe"

    def __init__(self, *, seed: Optional[int] = None, multivariate: bool = True, group: bool = False,
                 constant_liar: bool = True, warn_independent_sampling: bool = True, **settings: Any) -> None:
        del multivariate, group, constant_liar, warn_independent_sampling
        super().__init__(seed, **settings)


class RandomSampler(BaseSampler):
    """Method "random"."""

    method = "random"


class GPSampler(BaseSampler):
    """Method "bayes": Gaussian processes."""

    method = "bayes"

    def __init__(self, *, seed: Optional[int] = None, **settings: Any) -> None:
        settings.pop("deterministic_objective", None)
        super().__init__(seed, **settings)


class QMCSampler(BaseSampler):
    """Method "sobol"."""

    method = "sobol"

    def __init__(self, *, qmc_type: str = "sobol", scramble: bool = True, seed: Optional[int] = None,
                 warn_asynchronous_seeding: bool = True, warn_independent_sampling: bool = True) -> None:
        del scramble, warn_asynchronous_seeding, warn_independent_sampling
        if qmc_type != "sobol":
            raise NotImplementedError(f'qmc_type={qmc_type!r} is not carried over: "sobol" is')
        super().__init__(seed)


class GridSampler(BaseSampler):
    """Method "grid": every combination of the lists, once. The study stops after the last."""

    method = "grid"

    def __init__(self, search_space: Mapping[str, Sequence[Any]], seed: Optional[int] = None) -> None:
        super().__init__(seed)
        self.search_space: Dict[str, Sequence[Any]] = {name: list(values) for name, values in search_space.items()}


_INSTEAD = {name: "TPESampler (tpe) and GPSampler (bayes) do what it is for" for name in
            ("CmaEsSampler", "NSGAIISampler", "NSGAIIISampler", "PartialFixedSampler")}
_INSTEAD["BruteForceSampler"] = "GridSampler tries every combination of given lists"


def __getattr__(name: str) -> Any:
    if name in _INSTEAD:
        raise NotImplementedError(f"optuna.samplers.{name} is not carried over: {_INSTEAD[name]}")
    raise AttributeError(f"sweepd.optuna.samplers has no {name!r}")

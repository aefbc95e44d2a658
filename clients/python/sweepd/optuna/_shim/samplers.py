"""The samplers: each stands for a `method` of a sweep (docs/search.md), which has its own settings."""
from __future__ import annotations

import warnings
from typing import Any, Optional


class BaseSampler:
    """The base of the others."""

    method = ""
    tells = True

    def __init__(self, *, seed: Optional[int] = None, **settings: Any) -> None:
        self.seed = seed
        if not self.method:
            raise NotImplementedError("a sampler of your own needs Optuna: pip install optuna")
        if settings:
            warnings.warn(f"{type(self).__name__}: {', '.join(sorted(settings))}: without effect, the daemon's method "
                          f"{self.method!r} has its own settings", stacklevel=2)


class TPESampler(BaseSampler):
    """Method "tpe": multivariate, and it knows of trials that still run."""

    method = "tpe"


class RandomSampler(BaseSampler):
    """Method "random"."""

    method = "random"


class GPSampler(BaseSampler):
    """Method "bayes": Gaussian processes."""

    method = "bayes"


class QMCSampler(BaseSampler):
    """Method "sobol"."""

    method = "sobol"

"""The pruners: each stands for an `early_terminate` of a sweep (docs/spec.md)."""
from __future__ import annotations

import math
from typing import Any, Dict, Optional, Union


class BasePruner:
    """The base of the others. `shift` is what a sweep adds to a study's steps, which count from 0."""

    shift = 1
    early_terminate: Optional[Dict[str, Any]] = None

    def _set(self, kind: str, n_warmup_steps: int = 0, **settings: Any) -> None:
        warmup = {"n_warmup_steps": n_warmup_steps + 1} if n_warmup_steps else {}
        self.early_terminate = {"type": kind, **warmup,
                                **{name: value for name, value in settings.items() if value is not None}}


class NopPruner(BasePruner):
    """Never prunes."""


class MedianPruner(BasePruner):
    """Prunes a trial below the median of what the completed ones had at this step."""

    def __init__(self, n_startup_trials: int = 5, n_warmup_steps: int = 0, interval_steps: int = 1) -> None:
        self._set("median", n_warmup_steps, n_startup_trials=n_startup_trials, interval_steps=interval_steps)


class ThresholdPruner(BasePruner):
    """Prunes a trial outside fixed bounds."""

    def __init__(self, lower: Optional[float] = None, upper: Optional[float] = None, n_warmup_steps: int = 0) -> None:
        self._set("threshold", n_warmup_steps, lower=lower, upper=upper)


class SuccessiveHalvingPruner(BasePruner):
    """ASHA that stops: rungs at min_resource, times reduction_factor, and so on."""

    shift = 0  # rungs are numbers of steps, so step 0 is never judged, there as here

    def __init__(self, min_resource: Union[str, int] = "auto", reduction_factor: int = 4, *,
                 brackets: Optional[int] = None) -> None:
        self._set("asha", grace_period=1 if min_resource == "auto" else int(min_resource), max_t=10 ** 9,
                  reduction_factor=reduction_factor, brackets=brackets)


class HyperbandPruner(SuccessiveHalvingPruner):
    """The same with brackets."""

    def __init__(self, min_resource: int = 1, max_resource: int = 100, reduction_factor: int = 3) -> None:
        super().__init__(min_resource, reduction_factor,
                         brackets=int(math.log(max_resource / min_resource, reduction_factor) + 1e-9) + 1)

"""The pruners: each stands for an `early_terminate` of a sweep (docs/spec.md).

`shift` is what a sweep adds to a study's steps, which count from 0; a sweep's count from 1.
"""
from __future__ import annotations

import math
from typing import Any, Dict, Optional, Union

FAR = 10 ** 9  # a sweep's last step: a study does not know how long its trials are


class BasePruner:
    """The base of the others."""

    shift = 1
    early_terminate: Optional[Dict[str, Any]] = None


class NopPruner(BasePruner):
    """Never prunes."""


class MedianPruner(BasePruner):
    """Prunes a trial below the median of what the completed ones had at this step."""

    def __init__(self, n_startup_trials: int = 5, n_warmup_steps: int = 0, interval_steps: int = 1, *,
                 n_min_trials: int = 1) -> None:
        self.early_terminate = {"type": "median", "n_startup_trials": n_startup_trials, "n_min_trials": n_min_trials,
                                "n_warmup_steps": n_warmup_steps and n_warmup_steps + 1, "interval_steps": interval_steps}


class ThresholdPruner(BasePruner):
    """Prunes a trial outside fixed bounds."""

    def __init__(self, lower: Optional[float] = None, upper: Optional[float] = None, n_warmup_steps: int = 0,
                 interval_steps: int = 1) -> None:
        bounds = {name: value for name, value in (("lower", lower), ("upper", upper)) if value is not None}
        if not bounds:
            raise TypeError("ThresholdPruner needs lower, upper or both")
        self.early_terminate = {"type": "threshold", "n_warmup_steps": n_warmup_steps and n_warmup_steps + 1,
                                "interval_steps": interval_steps, **bounds}


class SuccessiveHalvingPruner(BasePruner):
    """ASHA that stops: rungs at min_resource, times reduction_factor, and so on."""

    shift = 0  # rungs are numbers of steps, so step 0 is never judged, there as here

    def __init__(self, min_resource: Union[str, int] = "auto", reduction_factor: int = 4,
                 min_early_stopping_rate: int = 0) -> None:
        first = 1 if min_resource == "auto" else int(min_resource)
        self.early_terminate = {"type": "asha", "grace_period": first * reduction_factor ** min_early_stopping_rate,
                                "reduction_factor": reduction_factor, "max_t": FAR}


class HyperbandPruner(SuccessiveHalvingPruner):
    """The same with brackets."""

    def __init__(self, min_resource: int = 1, max_resource: int = 100, reduction_factor: int = 3) -> None:
        super().__init__(min_resource, reduction_factor)
        assert self.early_terminate is not None
        self.early_terminate["brackets"] = int(math.log(max_resource / min_resource, reduction_factor) + 1e-9) + 1

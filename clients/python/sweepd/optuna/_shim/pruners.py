"""The pruners: each stands for an `early_terminate` of a sweep (docs/spec.md).

`shift` is what a sweep adds to a study's steps, which count from 0; a sweep's count from 1.
"""
from __future__ import annotations

import math
from typing import Any, Dict, Optional, Union

FAR = 10 ** 9  # a sweep's last step: a study does not know how long its trials are


def _shifted(steps: int) -> int:
    return steps + 1 if steps > 0 else 0


class BasePruner:
    """The base of the others. A pruner of your own cannot run in the daemon."""

    shift = 1

    def spec(self) -> Optional[Dict[str, Any]]:
        """The `early_terminate` of a sweep."""
        raise NotImplementedError("a pruner of your own does not run in the daemon: raise TrialPruned in the objective "
                                  "when a trial is to end")


class NopPruner(BasePruner):
    """Never prunes."""

    def spec(self) -> None:
        return None


class MedianPruner(BasePruner):
    """Prunes a trial below the median of what the completed ones had at this step."""

    def __init__(self, n_startup_trials: int = 5, n_warmup_steps: int = 0, interval_steps: int = 1, *,
                 n_min_trials: int = 1) -> None:
        self.settings = {"n_startup_trials": n_startup_trials, "n_warmup_steps": _shifted(n_warmup_steps),
                         "interval_steps": interval_steps, "n_min_trials": n_min_trials}

    def spec(self) -> Dict[str, Any]:
        return {"type": "median", **self.settings}


class PercentilePruner(MedianPruner):
    """With percentile 50: the median."""

    def __init__(self, percentile: float, n_startup_trials: int = 5, n_warmup_steps: int = 0, interval_steps: int = 1,
                 *, n_min_trials: int = 1) -> None:
        if percentile != 50:
            raise NotImplementedError(f"PercentilePruner({percentile:g}) is not carried over, only 50, the median: for a "
                                      "share of the best use SuccessiveHalvingPruner(reduction_factor=...)")
        super().__init__(n_startup_trials, n_warmup_steps, interval_steps, n_min_trials=n_min_trials)


class ThresholdPruner(BasePruner):
    """Prunes a trial outside fixed bounds."""

    def __init__(self, lower: Optional[float] = None, upper: Optional[float] = None, n_warmup_steps: int = 0,
                 interval_steps: int = 1) -> None:
        if lower is None and upper is None:
            raise TypeError("ThresholdPruner needs lower, upper or both")
        bounds = {"lower": lower, "upper": upper}
        self.settings = {"n_warmup_steps": _shifted(n_warmup_steps), "interval_steps": interval_steps,
                         **{name: value for name, value in bounds.items() if value is not None}}

    def spec(self) -> Dict[str, Any]:
        return {"type": "threshold", **self.settings}


class PatientPruner(BasePruner):
    """Prunes a trial that no longer improves. Around another pruner it is not carried over."""

    def __init__(self, wrapped_pruner: Optional[BasePruner], patience: int, min_delta: float = 0.0) -> None:
        if wrapped_pruner is not None:
            raise NotImplementedError("PatientPruner around another pruner is not carried over: give None, or use the "
                                      "other one with n_warmup_steps")
        self.settings = {"patience": patience + 1, "min_delta": min_delta}

    def spec(self) -> Dict[str, Any]:
        return {"type": "patience", **self.settings}


class SuccessiveHalvingPruner(BasePruner):
    """ASHA that stops: rungs at min_resource, times reduction_factor, and so on."""

    shift = 0  # rungs are numbers of steps, so step 0 is never judged, there as here

    def __init__(self, min_resource: Union[str, int] = "auto", reduction_factor: int = 4,
                 min_early_stopping_rate: int = 0, bootstrap_count: int = 0) -> None:
        if bootstrap_count:
            raise NotImplementedError("bootstrap_count is not carried over: until a rung has reduction_factor values "
                                      "every trial goes on")
        first = 1 if min_resource == "auto" else int(min_resource)
        self.settings = {"grace_period": first * reduction_factor ** min_early_stopping_rate,
                         "reduction_factor": reduction_factor, "max_t": FAR}

    def spec(self) -> Dict[str, Any]:
        return {"type": "asha", **self.settings}


class HyperbandPruner(SuccessiveHalvingPruner):
    """The same with brackets. max_resource "auto" is 100 steps."""

    def __init__(self, min_resource: int = 1, max_resource: Union[str, int] = "auto", reduction_factor: int = 3,
                 bootstrap_count: int = 0) -> None:
        super().__init__(min_resource, reduction_factor, 0, bootstrap_count)
        most = 100 if max_resource == "auto" else int(max_resource)
        if most < min_resource:
            raise ValueError(f"max_resource must be at least min_resource: {most} < {min_resource}")
        self.settings["brackets"] = int(math.log(most / min_resource, reduction_factor) + 1e-9) + 1


def __getattr__(name: str) -> Any:
    if name == "WilcoxonPruner":
        raise NotImplementedError("optuna.pruners.WilcoxonPruner is not carried over: MedianPruner compares by step")
    raise AttributeError(f"sweepd.optuna.pruners has no {name!r}")

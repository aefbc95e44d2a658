"""The schedulers: each stands for an `early_terminate` of a sweep (docs/spec.md)."""
import math
import warnings
from typing import Any, Dict, Mapping, Optional, Sequence

from .._names import stands_for
from ._results import Text
from ._session import ITERATION
from ._space import uniform


class TrialScheduler:
    """The base of the others. A scheduler of your own cannot run in the daemon."""

    kind: Optional[str] = ""  # of a sweep's early_terminate; None: it has none
    mutations: Optional[Mapping[str, Any]] = None

    def __init__(self, metric: Text = None, mode: Text = None, time_attr: str = ITERATION, **settings: Any) -> None:
        if time_attr == "time_total_s":
            raise NotImplementedError(f'{type(self).__name__}: time_attr="time_total_s" is not carried over: a sweep counts '
                                      f'steps. Give time_attr="{ITERATION}", and its limits in reports')
        self.metric, self.mode, self.time_attr, self.settings = metric, mode, time_attr, settings

    def spec(self, mutable: Sequence[str] = ()) -> Optional[Dict[str, Any]]:
        """The `early_terminate` of a sweep. `mutable`: the parameters that a population may change."""
        if self.kind == "":
            raise NotImplementedError("a scheduler of your own does not run in the daemon: sweepd.Client's loop() "
                                      "takes decisions of yours")
        spec = {"type": self.kind, **self.settings, **({"hyperparam_mutations": mutable} if mutable else {})}
        return spec if self.kind else None


class FIFOScheduler(TrialScheduler):
    """Every trial runs to its end."""

    kind = None


class AsyncHyperBandScheduler(TrialScheduler):
    """ASHA that stops the losers at each rung."""

    kind = "asha"

    def __init__(self, time_attr: str = ITERATION, metric: Text = None, mode: Text = None, max_t: int = 100,
                 grace_period: int = 1, reduction_factor: float = 4, brackets: int = 1,
                 stop_last_trials: bool = True) -> None:
        if not stop_last_trials:
            raise NotImplementedError("stop_last_trials=False is not carried over: a trial ends at max_t, so raise that")
        if int(reduction_factor) != reduction_factor:
            raise NotImplementedError(f"reduction_factor={reduction_factor} is not carried over: a whole number is")
        super().__init__(metric, mode, time_attr, max_t=int(max_t), grace_period=int(grace_period),
                         reduction_factor=int(reduction_factor), brackets=brackets)


ASHAScheduler = AsyncHyperBandScheduler


class HyperBandScheduler(AsyncHyperBandScheduler):
    """The same with all of Hyperband's brackets; no trial waits for the others of its bracket."""

    def __init__(self, time_attr: str = ITERATION, metric: Text = None, mode: Text = None,
                 max_t: int = 81, reduction_factor: float = 3, stop_last_trials: bool = True) -> None:
        brackets = int(math.log(max_t, reduction_factor) + 1e-9) + 1
        super().__init__(time_attr, metric, mode, max_t, 1, reduction_factor, brackets, stop_last_trials)


class MedianStoppingRule(TrialScheduler):
    """Stops a trial below the median of the others' means."""

    kind = "median"

    def __init__(self, time_attr: str = "time_total_s", metric: Text = None, mode: Text = None,
                 grace_period: float = 60.0, min_samples_required: int = 3, min_time_slice: int = 0,
                 hard_stop: bool = True) -> None:
        if min_time_slice or not hard_stop:
            raise NotImplementedError("min_time_slice and hard_stop=False are not carried over")
        super().__init__(metric, mode, time_attr, grace_period=max(1, int(grace_period)),
                         min_samples_required=min_samples_required)


class PopulationBasedTraining(TrialScheduler):
    """The worst of a population go on as changed copies of the best."""

    kind = "pbt"

    def __init__(self, time_attr: str = "time_total_s", metric: Text = None, mode: Text = None,
                 perturbation_interval: float = 60.0, burn_in_period: float = 0.0,
                 hyperparam_mutations: Optional[Mapping[str, Any]] = None, quantile_fraction: float = 0.25,
                 resample_probability: float = 0.25, perturbation_factors: Any = (1.2, 0.8),
                 custom_explore_fn: Any = None, log_config: bool = True, require_attrs: bool = True,
                 synch: bool = False) -> None:
        if custom_explore_fn is not None or synch:
            raise NotImplementedError("custom_explore_fn and synch=True are not carried over")
        if not hyperparam_mutations:
            raise ValueError("PopulationBasedTraining needs hyperparam_mutations")
        super().__init__(metric, mode, time_attr, perturbation_interval=int(perturbation_interval),
                         burn_in_period=int(burn_in_period), quantile_fraction=quantile_fraction,
                         resample_probability=resample_probability, perturbation_factors=list(perturbation_factors))
        self.mutations = dict(hyperparam_mutations)


class HyperBandForBOHB(HyperBandScheduler):
    """HyperBandScheduler, for TuneBOHB."""

    def __init__(self, *arguments: Any, stop_last_trials: bool = True, **settings: Any) -> None:
        warnings.warn("HyperBandForBOHB is HyperBandScheduler here, where no trial waits for the others of its bracket "
                      "and each ends at max_t", stacklevel=2)
        super().__init__(*arguments, **settings)


class PB2(PopulationBasedTraining):
    """PopulationBasedTraining within bounds."""

    def __init__(self, *arguments: Any, hyperparam_bounds: Mapping[str, Any], **settings: Any) -> None:
        warnings.warn("PB2 is PopulationBasedTraining here: a change is drawn, and no model says which", stacklevel=2)
        super().__init__(*arguments, hyperparam_mutations=_uniform(hyperparam_bounds), **settings)


def _uniform(bounds: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: _uniform(each) if isinstance(each, Mapping) else uniform(*each) for name, each in bounds.items()}


__getattr__ = stands_for(__name__, "ray.tune.schedulers", {
    "PopulationBasedTrainingReplay": "see a trial's params in `sweep show`",
    "ResourceChangingScheduler": "see resources_per_trial",
}, "ASHAScheduler, HyperBandScheduler, MedianStoppingRule and PopulationBasedTraining are")

"""Callbacks and stoppers: the driver calls them in the script's own process, at each report."""
import warnings
from typing import Any, Callable, Dict, Mapping, Union

from ._results import Trial

Reached = Union[None, Mapping[str, float], Callable[[str, Dict[str, Any]], bool]]


class Callback:
    """The base of your callbacks. on_trial_result(iteration, trials, trial, result, **info) and its like are called with
    these names; on_experiment_end with trials, setup with nothing. result["should_checkpoint"] = True in on_trial_result
    asks a Trainable for a checkpoint."""

    def _nothing(self, *arguments: Any, **info: Any) -> None:
        """A subclass may have its own."""

    setup = on_trial_start = on_trial_result = on_checkpoint = on_trial_complete = on_trial_error = _nothing
    on_experiment_end = _nothing


def _to(name: str, **more: Any) -> Callable[..., None]:
    return lambda self, *_, trial, **info: getattr(self, name)(trial, **more)


class LoggerCallback(Callback):
    """The base of your loggers."""

    log_trial_start = log_trial_result = log_trial_save = log_trial_end = Callback._nothing

    def on_trial_result(self, *_: Any, iteration: int, trial: Trial, result: Dict[str, Any], **info: Any) -> None:
        self.log_trial_result(iteration, trial, result)

    on_trial_start, on_checkpoint = _to("log_trial_start"), _to("log_trial_save")
    on_trial_complete, on_trial_error = _to("log_trial_end"), _to("log_trial_end", failed=True)


class KeptAnyway(LoggerCallback):
    """A logger of Ray's own: nothing is left to do for it."""

    def __init__(self, *_: Any, **settings: Any) -> None:
        warnings.warn("Ray's loggers do nothing here: the daemon keeps every report, and sends none anywhere", stacklevel=2)


class Stopper:
    """The base of your stoppers."""

    def __call__(self, trial_id: str, result: Dict[str, Any]) -> bool:
        """Is this trial to end?"""
        raise NotImplementedError("a Stopper needs __call__()")

    def stop_all(self) -> bool:
        """Is the whole run to end?"""
        return False


class MaximumIterationStopper(Stopper):
    """So many reports of each trial."""

    def __init__(self, max_iter: int) -> None:
        self.most = max_iter

    def __call__(self, trial_id: str, result: Dict[str, Any]) -> bool:
        return bool(result["training_iteration"] >= self.most)


def reached(stop: Reached, trial_id: str, result: Dict[str, Any]) -> bool:
    """Is a trial to end by RunConfig(stop=)?"""
    if callable(stop):
        return bool(stop(trial_id, result))
    return any(name in result and result[name] >= value for name, value in (stop or {}).items())

"""Tells of a run in the script's own process: by callbacks and stoppers at each report, and by the table that it prints."""
import statistics
import time
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .._wire import as_number
from ._results import Text, Trial, best_of

Columns = Union[Sequence[str], Mapping[str, str], None]
ORDER = ("RUNNING", "PAUSED", "PENDING", "TERMINATED", "ERROR")
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


class FunctionStopper(Stopper):
    """Your function, of a trial's id and its report."""

    def __init__(self, function: Callable[[str, Dict[str, Any]], bool]) -> None:
        self.function = function

    def __call__(self, trial_id: str, result: Dict[str, Any]) -> bool:
        return bool(self.function(trial_id, result))


class TimeoutStopper(Stopper):
    """Ends the whole run so many seconds (or a timedelta) after the first report."""

    def __init__(self, timeout: Any) -> None:
        self.seconds = timeout.total_seconds() if hasattr(timeout, "total_seconds") else float(timeout)
        self.since: Optional[float] = None

    def __call__(self, trial_id: str, result: Dict[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        self.since = time.monotonic() if self.since is None else self.since
        return time.monotonic() - self.since >= self.seconds


class TrialPlateauStopper(Stopper):
    """Ends a trial whose last num_results reports have a standard deviation below `std`, after grace_period reports, and
    only while it is at least as good as metric_threshold, if that is given."""

    def __init__(self, metric: str, std: float = 0.01, num_results: int = 4, grace_period: int = 4,
                 metric_threshold: Optional[float] = None, mode: Text = None) -> None:
        if metric_threshold and mode not in ("min", "max"):
            raise ValueError(f'with metric_threshold mode is "min" or "max", not {mode!r}')
        self.metric, self.std, self.n, self.grace, self.threshold, self.mode = (
            metric, std, num_results, grace_period, metric_threshold, mode)
        self.values: Dict[str, List[Any]] = {}

    def __call__(self, trial_id: str, result: Dict[str, Any]) -> bool:
        values = self.values.setdefault(trial_id, [])
        values.append(as_number(result.get(self.metric)))
        last = values[-self.n:]
        if len(values) < max(self.grace, self.n) or None in last:
            return False
        worse = self.threshold is not None and (last[-1] > self.threshold if self.mode == "min" else last[-1] < self.threshold)
        return not worse and statistics.pstdev(last) < self.std


class ExperimentPlateauStopper(Stopper):
    """Ends the whole run once its `top` best values have had a standard deviation of `std` at most for more than
    `patience` reports."""

    def __init__(self, metric: str, std: float = 0.001, top: int = 10, mode: str = "min", patience: int = 0) -> None:
        if mode not in ("min", "max") or top <= 1 or patience < 0 or std <= 0:
            raise ValueError('mode is "min" or "max", top above 1, patience 0 or more, std above 0')
        self.metric, self.std, self.top, self.mode, self.patience = metric, std, top, mode, patience
        self.best: List[float] = []
        self.flat = 0  # reports since the best ones changed

    def __call__(self, trial_id: str, result: Dict[str, Any]) -> bool:
        self.best = sorted([*self.best, result[self.metric]], reverse=self.mode == "max")[:self.top]
        self.flat = self.flat + 1 if len(self.best) == self.top and statistics.pstdev(self.best) <= self.std else 0
        return self.stop_all()

    def stop_all(self) -> bool:
        return self.flat > 0 and self.flat >= self.patience


class CombinedStopper(Stopper):
    """Ends what any of these would."""

    def __init__(self, *stoppers: Stopper) -> None:
        self.stoppers = stoppers

    def __call__(self, trial_id: str, result: Dict[str, Any]) -> bool:
        return any([each(trial_id, result) for each in self.stoppers])  # each one counts its reports

    def stop_all(self) -> bool:
        return any([each.stop_all() for each in self.stoppers])


STOPPERS = {each.__name__: each for each in (CombinedStopper, ExperimentPlateauStopper, FunctionStopper, MaximumIterationStopper,
                                             Stopper, TimeoutStopper, TrialPlateauStopper)}


def reached(stop: Reached, trial_id: str, result: Dict[str, Any]) -> bool:
    """Is a trial to end by RunConfig(stop=)?"""
    if callable(stop):
        return bool(stop(trial_id, result))
    values = {name: as_number(result.get(name)) for name in stop or {}}
    return any(value is not None and value >= (stop or {})[name] for name, value in values.items())


class CLIReporter:
    """Prints the trials every max_report_frequency seconds, and at the end."""

    def __init__(self, *, metric_columns: Columns = None, parameter_columns: Columns = None,
                 max_progress_rows: int = 20, max_column_length: int = 20, max_report_frequency: float = 5,
                 metric: Text = None, mode: Text = None, **_: Any) -> None:
        self.metric_columns, self.parameter_columns = _named(metric_columns), _named(parameter_columns)
        self.rows, self.length, self.every = max_progress_rows, max_column_length, max_report_frequency
        self.metric, self.mode = metric, mode
        self._started = self._said = time.monotonic()

    def due(self) -> bool:
        return time.monotonic() - self._said >= self.every

    def report(self, trials: List[Trial], planned: Optional[int], sweep: int) -> None:
        self._said = time.monotonic()
        counts = {status: sum(trial.status == status for trial in trials) for status in ORDER}
        said = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
        print(f"== Status of sweep {sweep} after {self._said - self._started:.0f} s ==")
        best = best_of(trials, self.metric, self.mode, "last") if self.metric and self.mode in ("min", "max") else None
        if best is not None and self.metric is not None:
            print(f"Current best trial: {best.trial_id} with {self.metric}={best.value(self.metric, str(self.mode))} and "
                  f"parameters={best.config}")
        print(f"Number of trials: {len(trials)}/{planned if planned is not None else 'infinite'} ({said})")
        shown = sorted(trials, key=lambda trial: (ORDER.index(trial.status), trial.number))[:self.rows]
        print(*self._table(shown), sep="\n")
        if len(trials) > len(shown):
            print(f"... {len(trials) - len(shown)} more trials not shown: sweep show {sweep}")
        for trial in trials:
            if trial.error_msg:
                print(f"{trial.trial_id}: {trial.error_msg}")
        print(flush=True)

    def _table(self, trials: List[Trial]) -> List[str]:
        reported = sorted({name for trial in trials for name, value in trial.last_result.items()
                           if isinstance(value, (int, float))})
        metrics = self.metric_columns or {name: name for name in reported
                                          if name not in ("timestamp", "pid", "time_this_iter_s")}
        parameters = self.parameter_columns or {name: name for name in sorted({n for t in trials for n in t.config})}
        table = [["Trial name", "status", *parameters.values(), *metrics.values()]]
        for trial in trials:
            table.append([trial.trial_id, trial.status,
                          *(self._cell(trial.config.get(name)) for name in parameters),
                          *(self._cell(trial.last_result.get(name)) for name in metrics)])
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        return ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in table]

    def _cell(self, value: Any) -> str:
        text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        return text if len(text) <= self.length else "..." + text[len(text) - self.length + 3:]


def _named(columns: Columns) -> Dict[str, str]:
    return dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns or ()}

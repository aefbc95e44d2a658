"""Tells of a run in the script's own process: by callbacks and stoppers at each report, and by the table that it prints."""
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

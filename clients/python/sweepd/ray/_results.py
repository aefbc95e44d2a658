"""What a run found, in the words of tune.run() and of Tuner.fit()."""
from __future__ import annotations

import math
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ._checkpoint import Checkpoint

SCOPES = ("last", "all", "avg", "last-5-avg", "last-10-avg")


class TuneError(Exception):
    """A run, or a trial of it, failed."""


class Trial:
    """One trial. `status` is PENDING, RUNNING, TERMINATED or ERROR; `state` the daemon's word, which tells PRUNED
    from COMPLETED."""

    def __init__(self, trial_id: str, number: int, config: Dict[str, Any]) -> None:
        self.trial_id = trial_id
        self.number = number
        self.config = config
        self.results: List[Dict[str, Any]] = []
        self.checkpoints: List[Tuple[int, str]] = []
        self.state = "RUNNING"
        self.error_msg: Optional[str] = None
        self.local_path = self.trainable_name = ""

    evaluated_params = property(lambda self: self.config, doc="The config.")
    logdir = property(lambda self: self.local_path, doc="The folder of its checkpoints.")

    @property
    def last_result(self) -> Dict[str, Any]:
        """What it reported last; {} if nothing."""
        return self.results[-1] if self.results else {}

    @property
    def checkpoint(self) -> Optional[Checkpoint]:
        """Its last checkpoint; None if it has none."""
        return Checkpoint(self.checkpoints[-1][1]) if self.checkpoints else None

    @property
    def status(self) -> str:
        """Ray's word for its state."""
        if self.state in ("PENDING", "RUNNING", "PAUSED"):
            return self.state
        return "ERROR" if self.state in ("FAILED", "INFEASIBLE") else "TERMINATED"

    def value(self, metric: str, mode: str, scope: str = "last") -> Optional[float]:
        """The metric over the reports that `scope` names."""
        if scope not in SCOPES:
            raise ValueError(f"scope must be one of {', '.join(SCOPES)}, not {scope!r}")
        values = [float(row[metric]) for row in self.results if metric in row]
        values = [value for value in values if math.isfinite(value)]
        if not values or scope == "last" and not math.isfinite(float(self.last_result.get(metric, math.nan))):
            return None
        if scope == "last":
            return values[-1]
        if scope == "all":
            return min(values) if mode == "min" else max(values)
        part = values if scope == "avg" else values[-int(scope.split("-")[1]):]
        return sum(part) / len(part)

    def best_checkpoint(self, metric: str, mode: str) -> Optional[Checkpoint]:
        """The checkpoint of its best report that has one."""
        by_step = {row["\0step"]: row for row in self.results if metric in row and math.isfinite(float(row[metric]))}
        scored = [(by_step[step][metric], path) for step, path in self.checkpoints if step in by_step]
        if not scored:
            return self.checkpoint
        pick = min if mode == "min" else max
        return Checkpoint(pick(scored, key=lambda pair: float(pair[0]))[1])

    def __repr__(self) -> str:
        return self.trial_id


def shown(row: Dict[str, Any]) -> Dict[str, Any]:
    """A report as its user has it."""
    return {name: value for name, value in row.items() if name != "\0step"}


def best_of(trials: List[Trial], metric: Optional[str], mode: Optional[str], scope: str) -> Optional[Trial]:
    """The best trial; None if none has the metric."""
    if metric is None or mode not in ("min", "max"):
        raise ValueError('give metric, and mode "min" or "max", here or to the run')
    scored = [(trial.value(metric, mode, scope), trial) for trial in trials]
    having = [(value, trial) for value, trial in scored if value is not None]
    pick = min if mode == "min" else max
    return pick(having, key=lambda pair: pair[0])[1] if having else None


def frame(trials: List[Trial]) -> Any:
    """The last results as a pandas.DataFrame, with a config/ column for each key."""
    import pandas  # type: ignore
    return pandas.json_normalize([{**shown(trial.last_result), "trial_id": trial.trial_id,
                                   "config": trial.config} for trial in trials], sep="/")


class ExperimentAnalysis:
    """What tune.run() gives. `sweep` is the number of its sweep, for `sweep show`."""

    def __init__(self, sweep: int, trials: List[Trial], metric: Optional[str], mode: Optional[str]) -> None:
        self.sweep, self.trials = sweep, trials
        self.default_metric, self.default_mode = metric, mode
        self.experiment_path = ""

    def get_best_trial(self, metric: Optional[str] = None, mode: Optional[str] = None, scope: str = "last",
                       filter_nan_and_inf: bool = True) -> Optional[Trial]:
        """The trial with the best metric: in its last report, or over those that `scope` names."""
        del filter_nan_and_inf
        return best_of(self.trials, metric or self.default_metric, mode or self.default_mode, scope)

    def get_best_config(self, metric: Optional[str] = None, mode: Optional[str] = None,
                        scope: str = "last") -> Optional[Dict[str, Any]]:
        """The config of that trial."""
        best = self.get_best_trial(metric, mode, scope)
        return best.config if best else None

    def get_best_checkpoint(self, trial: Trial, metric: Optional[str] = None,
                            mode: Optional[str] = None) -> Optional[Checkpoint]:
        """A trial's checkpoint of its best report."""
        return trial.best_checkpoint(metric or self.default_metric or "", mode or self.default_mode or "min")

    def get_last_checkpoint(self, trial: Optional[Trial] = None, metric: Optional[str] = None,
                            mode: Optional[str] = None) -> Optional[Checkpoint]:
        """A trial's last checkpoint; of the best trial if you name none."""
        best = trial or self.get_best_trial(metric, mode)
        return best.checkpoint if best else None

    def get_all_configs(self) -> Dict[str, Dict[str, Any]]:
        """The configs by trial."""
        return {trial.trial_id: trial.config for trial in self.trials}

    best_trial = property(lambda self: self.get_best_trial(), doc="The best by the run's metric.")
    best_config = property(lambda self: self.get_best_config(), doc="Its config.")
    best_result = property(lambda self: shown(self.get_best_trial().last_result), doc="Its last report.")
    best_checkpoint = property(lambda self: self.get_best_checkpoint(self.get_best_trial()),
                               doc="Its checkpoint of its best report.")
    results = property(lambda self: {trial.trial_id: shown(trial.last_result) for trial in self.trials},
                       doc="The last reports by trial.")
    results_df = property(lambda self: frame(self.trials), doc="The last reports as a pandas.DataFrame.")

    def dataframe(self, metric: Optional[str] = None, mode: Optional[str] = None) -> Any:
        """The same."""
        del metric, mode
        return frame(self.trials)


class Result:
    """One trial of a ResultGrid."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.config = trial.config
        self.metrics = shown(trial.last_result)
        self.checkpoint = trial.checkpoint
        self.path = trial.local_path
        self.error = TuneError(trial.error_msg) if trial.error_msg else None

    @property
    def best_checkpoints(self) -> List[Tuple[Checkpoint, Dict[str, Any]]]:
        """Its checkpoints that are kept, each with the report that it came with."""
        rows = {row["\0step"]: shown(row) for row in self._trial.results}
        return [(Checkpoint(path), rows[step]) for step, path in self._trial.checkpoints if step in rows]

    @property
    def metrics_dataframe(self) -> Any:
        """All of its reports as a pandas.DataFrame."""
        import pandas  # type: ignore
        return pandas.DataFrame([shown(row) for row in self._trial.results])

    def get_best_checkpoint(self, metric: str, mode: str) -> Optional[Checkpoint]:
        """Its checkpoint of its best report."""
        return self._trial.best_checkpoint(metric, mode)

    def __repr__(self) -> str:
        return f"Result(metrics={self.metrics}, config={self.config})"


class ResultGrid:
    """What Tuner.fit() gives: its results, one for each trial."""

    def __init__(self, analysis: ExperimentAnalysis) -> None:
        self._analysis = analysis
        self._results = [Result(trial) for trial in analysis.trials]

    def get_best_result(self, metric: Optional[str] = None, mode: Optional[str] = None, scope: str = "last",
                        filter_nan_and_inf: bool = True) -> Result:
        """The best trial's."""
        best = self._analysis.get_best_trial(metric, mode, scope, filter_nan_and_inf)
        if best is None:
            raise RuntimeError("no trial has reported the metric")
        return Result(best)

    def get_dataframe(self, filter_metric: Optional[str] = None, filter_mode: Optional[str] = None) -> Any:
        """The last reports as a pandas.DataFrame."""
        del filter_metric, filter_mode
        return self._analysis.results_df

    experiment_path = property(lambda self: self._analysis.experiment_path, doc="The folder of its trials.")
    errors = property(lambda self: [each.error for each in self._results if each.error], doc="Of trials that failed.")
    num_errors = property(lambda self: len(self.errors), doc="How many failed.")
    num_terminated = property(lambda self: len(self) - len(self.errors), doc="How many did not.")

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, i: int) -> Result:
        return self._results[i]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

"""The outcome of a run, in the words of tune.run() and of Tuner.fit(): trials, and their checkpoints, which are folders."""
import contextlib
import math
import os
import pathlib
import pickle
import shutil
import tempfile
import weakref
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from .._wire import as_number

Text = Optional[str]
SCOPES = ("last", "all", "avg", "last-5-avg", "last-10-avg")
DICT = "dict_checkpoint.pkl"  # of from_dict()


class TuneError(Exception):
    """A run, or a trial of it, failed."""


class Checkpoint:
    """A folder, as a trial reported it."""

    def __init__(self, path: str) -> None:
        self.path = self.value = self.dir_or_data = os.fspath(path)

    @classmethod
    def from_directory(cls, path: str) -> "Checkpoint":
        """A folder as a checkpoint; it is copied when it is reported."""
        return cls(path)

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "Checkpoint":
        """A dict as a checkpoint. Its folder goes with the object: what is reported is copied."""
        made = cls(tempfile.mkdtemp(prefix="sweepd-"))
        weakref.finalize(made, shutil.rmtree, made.path, ignore_errors=True)
        made.write(data)
        return made

    def write(self, data: Any) -> None:
        """Stores the dict that to_dict() gives."""
        with open(os.path.join(self.path, DICT), "wb") as file:
            pickle.dump(data, file)

    def __fspath__(self) -> str:
        return self.path

    def to_dict(self) -> Dict[str, Any]:
        """The dict that from_dict() was given."""
        with open(os.path.join(self.path, DICT), "rb") as file:
            return pickle.load(file)

    def to_air_checkpoint(self) -> "Checkpoint":
        """Itself."""
        return self

    def to_directory(self, path: Optional[str] = None) -> str:
        """Copies it into a folder."""
        path = path or tempfile.mkdtemp(prefix="sweepd-")
        shutil.copytree(self.path, path, dirs_exist_ok=True)
        return path

    @contextlib.contextmanager
    def as_directory(self) -> Iterator[str]:
        """Its folder, to read."""
        yield self.path

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r})"


class Trial:
    """One trial: a Trial of tune.run(), and a Result of Tuner.fit(). `status` is PENDING, RUNNING, TERMINATED or ERROR;
    `state` the daemon's word, which tells PRUNED from COMPLETED; `path` the folder of its checkpoints."""

    def __init__(self, trial_id: str, number: int, config: Dict[str, Any], path: str, trainable_name: str) -> None:
        self.trial_id, self.number, self.trainable_name = trial_id, number, trainable_name
        self.config = self.evaluated_params = config
        self.path = self.local_path = self.logdir = path
        self.log_dir = pathlib.Path(path)  # of Ray 2.0 to 2.6
        self.results: List[Dict[str, Any]] = []
        self.steps: List[int] = []  # of the results
        self.checkpoints: List[Tuple[int, str]] = []
        self.state = "RUNNING"
        self.error_msg: Optional[str] = None
        self.cause: Optional[str] = None  # the daemon's, of its state

    error = property(lambda self: TuneError(self.error_msg) if self.error_msg else None, doc="Why it failed, or None.")
    last_result = property(lambda self: self.results[-1] if self.results else {}, doc="What it reported last, or {}.")
    metrics = last_result

    checkpoint = property(lambda self: Checkpoint(self.checkpoints[-1][1]) if self.checkpoints else None,
                          doc="Its last checkpoint; None if it has none.")

    @property
    def status(self) -> str:
        """Ray's word for its state."""
        if self.state in ("PENDING", "RUNNING", "PAUSED"):
            return self.state
        wrong = self.state == "FAILED" or self.state == "INFEASIBLE" and self.cause != "diverged"  # NaN is no error there
        return "ERROR" if wrong else "TERMINATED"

    def value(self, metric: str, mode: str, scope: str = "last", finite: bool = True) -> Optional[float]:
        """The metric over the reports that `scope` names; `finite`: those that are NaN or infinite do not count."""
        if scope not in SCOPES:
            raise ValueError(f"scope must be one of {', '.join(SCOPES)}, not {scope!r}")
        values = [value for value in (as_number(row.get(metric)) for row in self.results) if value is not None]
        values = [value for value in (values[-1:] if scope == "last" else values) if not finite or math.isfinite(value)]
        if not values or scope == "last":
            return values[0] if values else None
        if scope == "all":
            return min(values) if mode == "min" else max(values)
        part = values if scope == "avg" else values[-int(scope.split("-")[1]):]
        return sum(part) / len(part)

    @property
    def best_checkpoints(self) -> List[Tuple[Checkpoint, Dict[str, Any]]]:
        """Its checkpoints that are kept, each with the report that it came with."""
        rows = dict(zip(self.steps, self.results))
        return [(Checkpoint(path), rows[step]) for step, path in self.checkpoints if step in rows]

    def get_best_checkpoint(self, metric: str, mode: str) -> Optional[Checkpoint]:
        """The checkpoint of its best report that has one."""
        values = [(as_number(row.get(metric)), kept) for kept, row in self.best_checkpoints]
        scored = [(value, kept) for value, kept in values if value is not None and math.isfinite(value)]
        pick = min if mode == "min" else max
        return pick(scored, key=lambda pair: pair[0])[1] if scored else self.checkpoint

    @property
    def metrics_dataframe(self) -> Any:
        """All of its reports as a pandas.DataFrame."""
        import pandas  # type: ignore
        return pandas.DataFrame(self.results)

    def __repr__(self) -> str:
        return f"{self.trial_id}(metrics={self.metrics}, config={self.config})"


Result = Trial


def best_of(trials: List[Trial], metric: Optional[str], mode: Optional[str], scope: str, finite: bool = True) -> Optional[Trial]:
    """The trial with the best value; None if none has one."""
    if metric is None or mode not in ("min", "max"):
        raise ValueError('give metric, and mode "min" or "max", here or to the run')
    scored = [(trial.value(metric, mode, scope, finite), trial) for trial in trials]
    having = [(value, trial) for value, trial in scored if value is not None]
    pick = min if mode == "min" else max
    return pick(having, key=lambda pair: pair[0])[1] if having else None


class ExperimentAnalysis(Sequence[Trial]):
    """The answer of tune.run(), and, as a ResultGrid, of Tuner.fit(): the trials. `sweep` is the number of its sweep, for
    `sweep show`, `experiment_path` the folder of its trials."""

    def __init__(self, sweep: int, trials: List[Trial], metric: Optional[str], mode: Optional[str], path: str) -> None:
        self.sweep, self.trials, self.experiment_path = sweep, trials, path
        self.default_metric, self.default_mode = metric, mode

    def get_best_trial(self, metric: Text = None, mode: Text = None, scope: str = "last",
                       filter_nan_and_inf: bool = True) -> Optional[Trial]:
        """The trial with the best metric: in its last report, or over those that `scope` names."""
        return best_of(self.trials, metric or self.default_metric, mode or self.default_mode, scope, filter_nan_and_inf)

    def get_best_result(self, metric: Text = None, mode: Text = None, scope: str = "last",
                        filter_nan_and_inf: bool = True) -> Trial:
        """The same; RuntimeError if no trial has reported the metric."""
        best = self.get_best_trial(metric, mode, scope, filter_nan_and_inf)
        if best is None:
            raise RuntimeError("no trial has reported the metric")
        return best

    def get_best_config(self, metric: Text = None, mode: Text = None, scope: str = "last") -> Optional[Dict[str, Any]]:
        """The config of that trial."""
        best = self.get_best_trial(metric, mode, scope)
        return best.config if best else None

    def get_best_checkpoint(self, trial: Trial, metric: Text = None, mode: Text = None) -> Optional[Checkpoint]:
        """A trial's checkpoint of its best report."""
        return trial.get_best_checkpoint(metric or self.default_metric or "", mode or self.default_mode or "min")

    def get_last_checkpoint(self, trial: Optional[Trial] = None, metric: Text = None,
                            mode: Text = None) -> Optional[Checkpoint]:
        """A trial's last checkpoint; of the best trial if you name none."""
        best = trial or self.get_best_trial(metric, mode)
        return best.checkpoint if best else None

    def get_all_configs(self) -> Dict[str, Dict[str, Any]]:
        """The configs by trial."""
        return {trial.trial_id: trial.config for trial in self.trials}

    def dataframe(self, *_: Any, **__: Any) -> Any:
        """The last reports as a pandas.DataFrame, with a config/ column for each key."""
        import pandas  # type: ignore
        return pandas.json_normalize([{**trial.last_result, "trial_id": trial.trial_id, "config": trial.config}
                                      for trial in self.trials], sep="/")

    get_dataframe = dataframe
    results_df = property(dataframe, doc="The same.")
    best_trial = property(lambda self: self.get_best_trial(), doc="The best by the run's metric.")
    best_config = property(lambda self: self.get_best_config(), doc="Its config.")
    best_result = property(lambda self: self.get_best_trial().last_result, doc="Its last report.")
    best_checkpoint = property(lambda self: self.get_best_checkpoint(self.get_best_trial()),
                               doc="Its checkpoint of its best report.")
    results = property(lambda self: {trial.trial_id: trial.last_result for trial in self.trials},
                       doc="The last reports by trial.")
    errors = property(lambda self: [each.error for each in self.trials if each.error], doc="Of trials that failed.")
    num_errors = property(lambda self: len(self.errors), doc="How many failed.")
    num_terminated = property(lambda self: len(self) - len(self.errors), doc="How many did not.")

    def __len__(self) -> int:
        return len(self.trials)

    def __getitem__(self, i: Any) -> Any:
        return self.trials[i]


ResultGrid = ExperimentAnalysis

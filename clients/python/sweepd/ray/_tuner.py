"""Tuner, and what it is configured with."""
import contextlib
import dataclasses
import os
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional

from .._client import Client
from ._callbacks import CLIReporter
from ._results import ResultGrid
from ._run import SAVED, find, run
from .schedulers import TrialScheduler
from .search import Searcher

try:
    import cloudpickle as pickle  # type: ignore  # takes functions of the script, too
except ImportError:
    import pickle


@dataclasses.dataclass
class CheckpointConfig:
    """Which checkpoints are kept: a trial's last and best, and with a num_to_keep above 1 so many, the newest or those with
    the highest (or lowest) checkpoint_score_attribute. checkpoint_frequency and checkpoint_at_end are for classes."""

    num_to_keep: Optional[int] = None
    checkpoint_score_attribute: Optional[str] = None
    checkpoint_score_order: Optional[str] = None
    checkpoint_frequency: Optional[int] = 0
    checkpoint_at_end: Optional[bool] = None


@dataclasses.dataclass
class FailureConfig:
    """How often a trial that failed runs again, from its last checkpoint."""

    max_failures: int = 0
    fail_fast: Any = False


@dataclasses.dataclass
class RunConfig:
    """The name of a run, when a trial stops, and what is kept. storage_path gets a link to the run, which the daemon keeps;
    what trials print is in `sweep log`, whatever log_to_file says."""

    name: Optional[str] = None
    storage_path: Optional[str] = None
    stop: Any = None
    checkpoint_config: Optional[CheckpointConfig] = None
    failure_config: Optional[FailureConfig] = None
    progress_reporter: Optional[CLIReporter] = None
    verbose: Optional[int] = None
    callbacks: Optional[List[Any]] = None
    local_dir: Optional[str] = None
    sync_config: Any = None
    log_to_file: Any = False


@dataclasses.dataclass
class TuneConfig:
    """How a run searches."""

    metric: Any = None
    mode: Any = None
    search_alg: Optional[Searcher] = None
    scheduler: Optional[TrialScheduler] = None
    num_samples: int = 1
    max_concurrent_trials: Optional[int] = None
    time_budget_s: Any = None
    reuse_actors: bool = False
    trial_name_creator: Any = None
    trial_dirname_creator: Any = None


class Tuner:
    """A run that fit() starts."""

    def __init__(self, trainable: Callable[..., Any], *, param_space: Optional[Mapping[str, Any]] = None,
                 tune_config: Optional[TuneConfig] = None, run_config: Optional[RunConfig] = None) -> None:
        self._trainable, self._space = trainable, param_space
        self._tune, self._run = tune_config or TuneConfig(), run_config or RunConfig()
        self._results: Optional[ResultGrid] = None
        self._restored: Dict[str, Any] = {}

    def fit(self) -> ResultGrid:
        """Runs all trials. One that failed has an error in its result."""
        self._results = self._search(False)
        return self._results

    def _search(self, only_read: bool) -> ResultGrid:
        how = dict(vars(self._run))
        kept = how.pop("checkpoint_config") or CheckpointConfig()
        failures = how.pop("failure_config") or FailureConfig()
        how.update(vars(self._tune), config=self._space, keep_checkpoints_num=kept.num_to_keep,
                   checkpoint_freq=kept.checkpoint_frequency or 0, checkpoint_at_end=bool(kept.checkpoint_at_end))
        if kept.checkpoint_score_attribute:
            how["checkpoint_score_attr"] = "min-" * (kept.checkpoint_score_order == "min") + kept.checkpoint_score_attribute
        how.update({**vars(failures), **self._restored})
        return run(self._trainable, raise_on_failed_trial=False, _saved=_pickled(how), _only_read=only_read, **how)

    def get_results(self) -> ResultGrid:
        """The answer of fit(); of a restored run what it has come to so far."""
        if self._results is None and self._restored:
            return self._search(True)
        if self._results is None:
            raise RuntimeError("call fit() first")
        return self._results

    @classmethod
    def can_restore(cls, path: str) -> bool:
        """Is there a run whose folder, or name, this is?"""
        return find(Client(), os.fspath(path)) is not None

    @classmethod
    def restore(cls, path: str, trainable: Callable[..., Any], resume_unfinished: bool = True, resume_errored: bool = False,
                restart_errored: bool = False, param_space: Optional[Mapping[str, Any]] = None, **_: Any) -> "Tuner":
        """A run that was interrupted, by its folder or by its name; fit() goes on with it. With resume_errored
        trials that have failed go on from their last checkpoints, with restart_errored from scratch."""
        client = Client()
        sweep = find(client, os.fspath(path))
        if sweep is None:
            raise ValueError(f"{path}: there is no run of this folder or name")
        out = cls(trainable)
        try:
            with open(os.path.join(client.info()["state_dir"], "tune", str(sweep), SAVED), "rb") as file:
                saved = pickle.load(file)
        except FileNotFoundError:
            raise ValueError(f"{path}: its run was no Tuner's: tune.run(..., resume=True) goes on with it") from None
        out._restored = {name: pickle.loads(value) for name, value in saved.items() if value is not None}
        out._restored.update({"_sweep": sweep, "_errored": "resume" if resume_errored else "restart" if restart_errored else "",
                              **({} if param_space is None else {"config": param_space})})
        lost = sorted(saved.keys() - out._restored.keys())
        if "config" in lost:
            raise ValueError("give Tuner.restore() the param_space, because that of the run could not be pickled")
        if lost:
            warnings.warn(f"Tuner.restore goes on without {', '.join(lost)}, which could not be pickled", stacklevel=2)
        return out


def _pickled(arguments: Mapping[str, Any]) -> bytes:
    """Each argument that can be."""
    out: Dict[str, Optional[bytes]] = {}
    for name, value in arguments.items():
        out[name] = None
        with contextlib.suppress(Exception):  # whatever an object of the user's raises
            out[name] = pickle.dumps(value)
    return pickle.dumps(out)

"""Tuner, and what it is configured with."""
from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional

from .._client import Client
from ._reporter import CLIReporter
from ._results import ExperimentAnalysis, ResultGrid
from ._run import SAVED, find, run
from .schedulers import TrialScheduler
from .search import Searcher

try:
    import cloudpickle as pickle  # type: ignore  # takes functions of the script, too
except ImportError:
    import pickle


class CheckpointConfig:
    """Which checkpoints are kept: the last, with num_to_keep=1; else all. checkpoint_frequency and checkpoint_at_end are
    for classes."""

    def __init__(self, num_to_keep: Optional[int] = None, checkpoint_score_attribute: Optional[str] = None,
                 checkpoint_score_order: Optional[str] = None, checkpoint_frequency: int = 0,
                 checkpoint_at_end: Optional[bool] = None) -> None:
        del checkpoint_score_attribute, checkpoint_score_order
        self.num_to_keep, self.checkpoint_frequency = num_to_keep, checkpoint_frequency or 0
        self.checkpoint_at_end = bool(checkpoint_at_end)


class FailureConfig:
    """How often a trial that failed runs again, from its last checkpoint."""

    def __init__(self, max_failures: int = 0, fail_fast: Any = False) -> None:
        self.max_failures, self.fail_fast = max_failures, fail_fast


class RunConfig:
    """The name of a run, when a trial stops, and what is kept. storage_path gets a link to the run, which the daemon keeps;
    what trials print is in `sweep log`, whatever log_to_file says."""

    def __init__(self, name: Optional[str] = None, storage_path: Optional[str] = None, stop: Any = None,
                 checkpoint_config: Optional[CheckpointConfig] = None, failure_config: Optional[FailureConfig] = None,
                 progress_reporter: Optional[CLIReporter] = None, verbose: Optional[int] = None,
                 callbacks: Optional[List[Any]] = None, local_dir: Optional[str] = None, sync_config: Any = None,
                 log_to_file: Any = False) -> None:
        del log_to_file
        self.storage_path = storage_path or local_dir
        self.name, self.stop, self.progress_reporter, self.callbacks = name, stop, progress_reporter, callbacks
        self.sync_config = sync_config
        self.verbose = 1 if verbose is None else verbose
        self.checkpoint_config = checkpoint_config or CheckpointConfig()
        self.failure_config = failure_config or FailureConfig()


class TuneConfig:
    """How a run searches."""

    def __init__(self, metric: Any = None, mode: Any = None, search_alg: Optional[Searcher] = None,
                 scheduler: Optional[TrialScheduler] = None, num_samples: int = 1,
                 max_concurrent_trials: Optional[int] = None, time_budget_s: Any = None, reuse_actors: bool = False,
                 trial_name_creator: Any = None, trial_dirname_creator: Any = None) -> None:
        del reuse_actors, trial_name_creator, trial_dirname_creator
        self.settings = {"metric": metric, "mode": mode, "search_alg": search_alg, "scheduler": scheduler,
                         "num_samples": num_samples, "max_concurrent_trials": max_concurrent_trials,
                         "time_budget_s": time_budget_s}


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
        how = self._run
        arguments: Dict[str, Any] = {
            **self._tune.settings, "config": self._space, "name": how.name, "stop": how.stop, "verbose": how.verbose,
            "progress_reporter": how.progress_reporter, "callbacks": how.callbacks,
            "storage_path": how.storage_path, "sync_config": how.sync_config,
            "keep_checkpoints_num": how.checkpoint_config.num_to_keep,
            "checkpoint_freq": how.checkpoint_config.checkpoint_frequency,
            "checkpoint_at_end": how.checkpoint_config.checkpoint_at_end,
            "max_failures": how.failure_config.max_failures, "fail_fast": how.failure_config.fail_fast}
        arguments = {**arguments, **self._restored}
        analysis: ExperimentAnalysis = run(self._trainable, raise_on_failed_trial=False, _saved=_pickled(arguments), **arguments)
        self._results = ResultGrid(analysis)
        return self._results

    def get_results(self) -> ResultGrid:
        """What fit() gave."""
        if self._results is None:
            raise RuntimeError("call fit() first")
        return self._results

    @classmethod
    def can_restore(cls, path: str) -> bool:
        """Is there a run whose folder, or name, this is?"""
        return find(Client(), os.fspath(path)) is not None

    @classmethod
    def restore(cls, path: str, trainable: Callable[..., Any], resume_unfinished: bool = True, resume_errored: bool = False,
                restart_errored: bool = False, param_space: Optional[Mapping[str, Any]] = None,
                **more: Any) -> "Tuner":
        """A run that was interrupted, by its folder or by its name; fit() goes on with it."""
        del resume_unfinished, more
        client = Client()
        sweep = find(client, os.fspath(path))
        if sweep is None:
            raise ValueError(f"{path}: there is no run of this folder or name")
        if resume_errored or restart_errored:
            warnings.warn("Tuner.restore: a trial that has FAILED is not run again: give a run max_failures", stacklevel=2)
        out = cls(trainable)
        try:
            with open(os.path.join(client.info()["state_dir"], "tune", str(sweep), SAVED), "rb") as file:
                saved = pickle.load(file)
        except FileNotFoundError:
            raise ValueError(f"{path}: its run was no Tuner's: tune.run(..., resume=True) goes on with it") from None
        out._restored = {name: pickle.loads(value) for name, value in saved.items() if value is not None}
        lost = [name for name, value in saved.items() if value is None and (name != "config" or param_space is None)]
        if "config" in lost:
            raise ValueError("give Tuner.restore() the param_space, because that of the run could not be pickled")
        if lost:
            warnings.warn(f"Tuner.restore goes on without {', '.join(lost)}, which could not be pickled", stacklevel=2)
        out._restored.update({"_sweep": sweep, **({} if param_space is None else {"config": param_space})})
        return out


def _pickled(arguments: Mapping[str, Any]) -> bytes:
    """Each argument that can be."""
    out: Dict[str, Optional[bytes]] = {}
    for name, value in arguments.items():
        try:
            out[name] = pickle.dumps(value)
        except Exception:  # pylint: disable=broad-except; whatever an object of the user's raises
            out[name] = None
    return pickle.dumps(out)

"""Tuner, and what it is configured with."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional

from ._reporter import CLIReporter
from ._results import ExperimentAnalysis, ResultGrid
from ._run import run
from .schedulers import TrialScheduler
from .search import Searcher


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
    """The name of a run, when a trial stops, and what is kept. storage_path is not used: the daemon keeps the run."""

    def __init__(self, name: Optional[str] = None, storage_path: Optional[str] = None, stop: Any = None,
                 checkpoint_config: Optional[CheckpointConfig] = None, failure_config: Optional[FailureConfig] = None,
                 progress_reporter: Optional[CLIReporter] = None, verbose: Optional[int] = None,
                 callbacks: Optional[List[Any]] = None, local_dir: Optional[str] = None, sync_config: Any = None,
                 log_to_file: Any = False) -> None:
        del storage_path, local_dir, log_to_file
        self.name, self.stop, self.progress_reporter, self.callbacks = name, stop, progress_reporter, callbacks
        self.sync_config = sync_config
        self.verbose = 1 if verbose is None else verbose
        self.checkpoint_config = checkpoint_config or CheckpointConfig()
        self.failure_config = failure_config or FailureConfig()


class TuneConfig:
    """How a run searches."""

    def __init__(self, metric: Optional[str] = None, mode: Optional[str] = None, search_alg: Optional[Searcher] = None,
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

    def fit(self) -> ResultGrid:
        """Runs all trials. One that failed has an error in its result."""
        how = self._run
        arguments: Dict[str, Any] = {
            **self._tune.settings, "config": self._space, "name": how.name, "stop": how.stop, "verbose": how.verbose,
            "progress_reporter": how.progress_reporter, "callbacks": how.callbacks, "sync_config": how.sync_config,
            "keep_checkpoints_num": how.checkpoint_config.num_to_keep,
            "checkpoint_freq": how.checkpoint_config.checkpoint_frequency,
            "checkpoint_at_end": how.checkpoint_config.checkpoint_at_end,
            "max_failures": how.failure_config.max_failures, "fail_fast": how.failure_config.fail_fast}
        analysis: ExperimentAnalysis = run(self._trainable, raise_on_failed_trial=False, **arguments)
        self._results = ResultGrid(analysis)
        return self._results

    def get_results(self) -> ResultGrid:
        """What fit() gave."""
        if self._results is None:
            raise RuntimeError("call fit() first")
        return self._results

    @classmethod
    def restore(cls, *arguments: Any, **settings: Any) -> "Tuner":
        """Not carried over."""
        raise NotImplementedError("Tuner.restore is not carried over: the trials of a run are processes of its script "
                                  "and end with it; a sweep of a `program` outlives both (docs/spec.md)")

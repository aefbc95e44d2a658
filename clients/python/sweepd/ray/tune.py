"""The names of `ray.tune`."""
from __future__ import annotations

import sys

from .._names import also, stands_for
from . import schedulers, search
from ._checkpoint import Checkpoint
from ._reporter import CLIReporter
from ._results import ExperimentAnalysis, ResultGrid, TuneError
from ._run import run, with_parameters, with_resources
from ._session import (Trainable, checkpoint_dir, get_checkpoint, get_context, get_trial_id, report)
from ._space import (choice, grid_search, lograndint, loguniform, qlograndint, qloguniform, qrandint, qrandn, quniform,
                      randint, randn, sample_from, uniform)
from ._tuner import CheckpointConfig, FailureConfig, RunConfig, TuneConfig, Tuner

JupyterNotebookReporter = CLIReporter
__all__ = ["CLIReporter", "Checkpoint", "CheckpointConfig", "ExperimentAnalysis", "FailureConfig",
           "JupyterNotebookReporter", "ResultGrid", "RunConfig", "Trainable", "TuneConfig", "TuneError", "Tuner",
           "checkpoint_dir", "choice", "get_checkpoint", "get_context", "get_trial_id", "grid_search", "lograndint",
           "loguniform", "qlograndint", "qloguniform", "qrandint", "qrandn", "quniform", "randint", "randn", "report",
           "run", "sample_from", "schedulers", "search", "uniform", "with_parameters", "with_resources"]

# Where Ray's versions have them: ray.tune.schedulers, ray.tune.tuner, ray.tune.search.optuna and so on.
also(__name__, "schedulers", schedulers)
for _name in ("tuner", "tune_config", "progress_reporter"):
    also(__name__, _name, sys.modules[__name__])
for _name in ("search", "suggest"):
    also(__name__, _name, search)
    for _part in ("optuna", "hyperopt", "bohb", "bayesopt", "ax", "hebo", "basic_variant"):
        also(__name__, f"{_name}.{_part}", search)

__getattr__ = stands_for(__name__, "ray.tune", {
    "integration": "sweepd.callbacks has Keras, Lightning and Hugging Face",
    "logger": "the daemon keeps every report, and sweepd.Client().trials() gives them",
    "stopper": "give stop a dict or a function of the trial's id and a result; a sweep has `plateau` (docs/spec.md)",
    "Callback": "the daemon keeps every report, and sweepd.Client().watch() tells of them",
    "PlacementGroupFactory": 'give {"cpu": 2, "gpu": 0.5}',
    "run_experiments": "call run() for each",
    "register_trainable": "give run() the function itself",
}, "the names that are stand in clients/python/README.md")

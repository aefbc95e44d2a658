"""The names of `ray.tune`."""
import sys
import types

from .._names import also, stands_for
from . import schedulers, search
from ._callbacks import STOPPERS, Callback, CLIReporter, KeptAnyway, LoggerCallback, Stopper
from ._results import Checkpoint, ExperimentAnalysis, ResultGrid, Trial, TuneError
from ._run import run, with_parameters, with_resources
from ._session import (ITERATION, SHOULD_CHECKPOINT, Trainable, checkpoint_dir, get_checkpoint, get_context,
                       get_trial_id, report, validate_save_restore)
from ._space import (choice, grid_search, lograndint, loguniform, qlograndint, qloguniform, qrandint, qrandn, quniform,
                      randint, randn, sample_from, uniform)
from ._tuner import CheckpointConfig, FailureConfig, RunConfig, TuneConfig, Tuner

JupyterNotebookReporter = CLIReporter
__all__ = ["CLIReporter", "Callback", "Checkpoint", "CheckpointConfig", "ExperimentAnalysis", "FailureConfig",
           "JupyterNotebookReporter", "ResultGrid", "RunConfig", "Stopper", "Trainable", "TuneConfig", "TuneError", "Tuner",
           "checkpoint_dir", "choice", "get_checkpoint", "get_context", "get_trial_id", "grid_search", "lograndint",
           "loguniform", "qlograndint", "qloguniform", "qrandint", "qrandn", "quniform", "randint", "randn", "report",
           "run", "sample_from", "schedulers", "search", "uniform", "with_parameters", "with_resources"]

__getattr__ = stands_for(__name__, "ray.tune", {
    "PlacementGroupFactory": 'give {"cpu": 2, "gpu": 0.5}',
    "run_experiments": "call run() for each",
    "register_trainable": "give run() the function itself",
}, "the names that are stand in clients/python/README.md")

# At the places of Ray's versions: ray.tune.schedulers, ray.tune.tuner, ray.tune.search.optuna and so on.
also(__name__, "schedulers", schedulers)
for _name in ("tuner", "tune_config", "progress_reporter", "trainable", "experiment", "callback", "analysis"):
    also(__name__, _name, sys.modules[__name__])
for _name in ("search", "suggest"):
    also(__name__, _name, search)
    for _part in ("optuna", "hyperopt", "bohb", "bayesopt", "ax", "hebo", "basic_variant"):
        also(__name__, f"{_name}.{_part}", search)
for _part in ("async_hyperband", "hyperband", "hb_bohb", "median_stopping_rule", "pbt", "pb2"):
    also(__name__, f"schedulers.{_part}", schedulers)
also(__name__, "logger", {"LoggerCallback": LoggerCallback,
                          **{_name: KeptAnyway for _name in ("CSVLoggerCallback", "JsonLoggerCallback", "TBXLoggerCallback")}})
also(__name__, "stopper", STOPPERS)
also(__name__, "result", {"SHOULD_CHECKPOINT": SHOULD_CHECKPOINT, "TRAINING_ITERATION": ITERATION, "DONE": "done"})
also(__name__, "trial", {"ExportFormat": types.SimpleNamespace(MODEL="model", CHECKPOINT="checkpoint"), "Trial": Trial})
also(__name__, "utils", {"validate_save_restore": validate_save_restore})

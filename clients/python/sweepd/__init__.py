"""sweepd: hyperparameter tuning by a daemon of this machine.

Inside a trial that the daemon runs: params(), report(), progress(), trial_dir(), checkpoint_dir(), resume_dir(). Everywhere
else: Client, whose loop() drives a sweep from this process; tune(), which runs a function's trials as processes; load(),
a model of a table that sweepd has trained.
Coming from other libraries: sweepd.ray and sweepd.optuna have their names.
"""
from ._client import Client
from ._errors import Pruned, SweepdError
from ._loop import Trial
from ._model import load
from ._trial import checkpoint_dir, in_trial, params, progress, report, resume_dir, resume_step, trial_dir
from ._tune import TuneResult, tune

__all__ = ["Client", "Pruned", "SweepdError", "Trial", "TuneResult", "checkpoint_dir", "in_trial", "load", "params", "progress",
           "report", "resume_dir", "resume_step", "trial_dir", "tune"]
__version__ = "0.1.0"

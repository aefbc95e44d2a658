"""The names of Optuna's tutorials over sweepd: write `import sweepd.optuna as optuna`.

The objective runs in this process; the daemon suggests, prunes and keeps every trial, so that `sweep watch` shows a
study while it runs. A study's first trial tells which parameters there are; when a later one has a new parameter, the
study goes on in a wider sweep, which is told all trials so far. What is not carried over is named by an error.
"""
from __future__ import annotations

from typing import Any

from . import distributions, exceptions, logging, pruners, samplers, study, trial
from .exceptions import TrialPruned
from .study import Study, create_study, load_study
from .trial import Trial, create_trial

__all__ = ["Study", "Trial", "TrialPruned", "create_study", "create_trial", "distributions", "exceptions",
           "load_study", "logging", "pruners", "samplers", "study", "trial"]

_INSTEAD = {
    "visualization": "`sweep watch` shows a study, and Study.trials_dataframe() is for your own plots",
    "importance": "Study.trials_dataframe() has what it needs",
    "integration": "call trial.report() and trial.should_prune() in a callback of yours",
    "storages": "the daemon keeps every study by its study_name",
    "terminator": "a sweep's `plateau` (docs/spec.md) or Study.stop()",
    "artifacts": "keep your files yourself, and their paths by Trial.set_user_attr()",
    "copy_study": "study.add_trials(other.trials)",
    "delete_study": "the daemon keeps what was run",
    "get_all_study_names": "sweepd.Client().sweeps() has them",
    "get_all_study_summaries": "sweepd.Client().sweeps() has them",
}


def __getattr__(name: str) -> Any:
    if name in _INSTEAD:
        raise NotImplementedError(f"optuna.{name} is not carried over: {_INSTEAD[name]}")
    raise AttributeError(f"sweepd.optuna has no {name!r}")

"""The names of Optuna's tutorial, for where it is not installed. What they lack an error names."""
from __future__ import annotations

from typing import Any

from . import distributions, exceptions, logging, pruners, samplers, study, trial
from .exceptions import TrialPruned
from .study import Study, create_study
from .trial import Trial

__all__ = ["Study", "Trial", "TrialPruned", "create_study", "distributions", "exceptions", "logging", "pruners",
           "samplers", "study", "trial"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(f"optuna.{name} needs Optuna itself, which is not installed: pip install optuna")


for _module in (distributions, exceptions, logging, pruners, samplers, study, trial):
    _module.__getattr__ = __getattr__  # type: ignore[attr-defined]

"""The exceptions that scripts catch or raise."""
from __future__ import annotations


class OptunaError(Exception):
    """The base of the others."""


class TrialPruned(OptunaError):
    """Raise it in an objective to end the trial as PRUNED."""


class DuplicatedStudyError(OptunaError):
    """A study of this name exists, and load_if_exists is false."""

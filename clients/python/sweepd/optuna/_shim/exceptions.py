"""The exceptions that scripts catch or raise."""


class OptunaError(Exception):
    """The base of the others."""


class TrialPruned(OptunaError):
    """Raise it in an objective to end the trial as PRUNED."""

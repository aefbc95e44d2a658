"""The exception that scripts raise."""


class TrialPruned(Exception):
    """Raise it in an objective to end the trial as PRUNED."""

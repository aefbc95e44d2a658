"""What a study says on stderr, and how much of it."""
import logging as _logging
from logging import CRITICAL, DEBUG, ERROR, INFO, WARNING  # noqa: F401

_root = _logging.getLogger("sweepd.optuna")
_handler = _logging.StreamHandler()
_handler.setFormatter(_logging.Formatter("[%(levelname).1s %(asctime)s] %(message)s"))
_root.addHandler(_handler)
_root.setLevel(INFO)
_root.propagate = False
set_verbosity, get_verbosity = _root.setLevel, _root.getEffectiveLevel


def get_logger(name: str) -> _logging.Logger:
    """A logger that speaks where the studies do."""
    return _root.getChild(name)

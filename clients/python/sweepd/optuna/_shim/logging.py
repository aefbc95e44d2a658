"""What a study says on stderr, and how much of it."""
from __future__ import annotations

import logging as _logging

CRITICAL, ERROR, WARNING, INFO, DEBUG = (_logging.CRITICAL, _logging.ERROR, _logging.WARNING, _logging.INFO,
                                         _logging.DEBUG)
_root = _logging.getLogger("sweepd.optuna")
_handler = _logging.StreamHandler()
_handler.setFormatter(_logging.Formatter("[%(levelname).1s %(asctime)s] %(message)s"))
_root.addHandler(_handler)
_root.setLevel(INFO)
_root.propagate = False


def get_logger(name: str = "") -> _logging.Logger:
    """A logger that speaks where the studies do."""
    return _root.getChild(name) if name not in ("", "optuna") else _root


def get_verbosity() -> int:
    """The level below which nothing is said."""
    return _root.level


def set_verbosity(verbosity: int) -> None:
    """Says nothing below this level."""
    _root.setLevel(verbosity)

"""What a study says on stderr, and how much of it."""
from __future__ import annotations

import logging as _logging
import sys

CRITICAL, FATAL, ERROR, WARNING, WARN, INFO, DEBUG = (_logging.CRITICAL, _logging.FATAL, _logging.ERROR,
                                                      _logging.WARNING, _logging.WARNING, _logging.INFO, _logging.DEBUG)
_root = _logging.getLogger("sweepd.optuna")


class _Stderr(_logging.StreamHandler):  # type: ignore[type-arg]
    """The stderr of now, not that of the import."""

    def emit(self, record: _logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


_handler = _Stderr()
_handler.setFormatter(_logging.Formatter("[%(levelname).1s %(asctime)s] %(message)s"))
_root.addHandler(_handler)
_root.setLevel(_logging.INFO)
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


def disable_default_handler() -> None:
    """Says nothing on stderr."""
    _root.removeHandler(_handler)


def enable_default_handler() -> None:
    """Speaks on stderr again."""
    _root.addHandler(_handler)


def enable_propagation() -> None:
    """Hands everything to the root logger, too."""
    _root.propagate = True


def disable_propagation() -> None:
    """Hands nothing to the root logger."""
    _root.propagate = False

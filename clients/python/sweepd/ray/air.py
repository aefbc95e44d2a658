"""The names of `ray.air`, which came before `ray.train`."""
from __future__ import annotations

from .._names import also, stands_for
from . import train as session
from ._checkpoint import Checkpoint
from ._results import Result
from ._tuner import CheckpointConfig, FailureConfig, RunConfig

__all__ = ["Checkpoint", "CheckpointConfig", "FailureConfig", "Result", "RunConfig", "session"]

__getattr__ = stands_for(__name__, "ray.air", {}, "sweepd.ray is Ray Tune alone, on one machine")
also(__name__, "session", session)

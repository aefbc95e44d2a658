"""The names of `ray.train` that a trial of one process uses."""
from __future__ import annotations

from .._names import stands_for
from ._checkpoint import Checkpoint
from ._results import Result
from ._session import get_checkpoint, get_context, report
from ._tuner import CheckpointConfig, FailureConfig, RunConfig

__all__ = ["Checkpoint", "CheckpointConfig", "FailureConfig", "Result", "RunConfig", "get_checkpoint", "get_context",
           "report"]


__getattr__ = stands_for(__name__, "ray.train", {}, "a trial is one process, which may start more of its own (torchrun)")

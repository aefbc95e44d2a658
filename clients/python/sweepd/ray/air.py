"""The names of `ray.air`, which came before `ray.train`."""
from __future__ import annotations

from . import train as session
from ._checkpoint import Checkpoint
from ._results import Result
from ._tuner import CheckpointConfig, FailureConfig, RunConfig

__all__ = ["Checkpoint", "CheckpointConfig", "FailureConfig", "Result", "RunConfig", "session"]

"""The names of `ray.train` that a trial of one process uses."""
from __future__ import annotations

from typing import Any

from ._checkpoint import Checkpoint
from ._results import Result
from ._session import get_checkpoint, get_context, report
from ._tuner import CheckpointConfig, FailureConfig, RunConfig

__all__ = ["Checkpoint", "CheckpointConfig", "FailureConfig", "Result", "RunConfig", "get_checkpoint", "get_context",
           "report"]


def __getattr__(name: str) -> Any:
    if name in ("torch", "ScalingConfig", "DataConfig", "lightning", "huggingface", "xgboost", "get_dataset_shard"):
        raise NotImplementedError(f"ray.train.{name} is not carried over: a trial is one process, which may start more "
                                  "of its own (torchrun)")
    raise AttributeError(f"sweepd.ray.train has no {name!r}")

"""The names of Ray Tune's tutorials over sweepd: write sweepd.ray for ray in the import lines.

`from sweepd.ray import tune` and `from sweepd import ray as tune` both work. Trials are processes of the script,
forked, so that functions need not be pickled; the daemon suggests, stops and keeps each, and `sweep watch` shows them.
What is not carried over is named by an error.
"""
import pickle
from typing import Any, Optional

from .._names import also, stands_for
from . import schedulers, search, tune
from ._integration import MODULES as _MODULES
from ._run import cluster
from .schedulers import (ASHAScheduler, AsyncHyperBandScheduler, FIFOScheduler, HyperBandScheduler, MedianStoppingRule,
                         PopulationBasedTraining)
from .tune import *  # noqa: F401,F403
from .tune import __all__ as _of_tune

__all__ = [*_of_tune, "ASHAScheduler", "AsyncHyperBandScheduler", "FIFOScheduler", "HyperBandScheduler",
           "MedianStoppingRule", "PopulationBasedTraining", "air", "cloudpickle", "get", "init", "is_initialized", "put",
           "schedulers", "search", "shutdown", "train", "tune"]
_ALONE = "sweepd.ray is Ray Tune alone, on one machine"
_configs = {"Result": tune.Trial, **{_name: getattr(tune, _name) for _name in (
    "Checkpoint", "CheckpointConfig", "FailureConfig", "RunConfig")}}
also(__name__, "train", {**_configs, "get_checkpoint": tune.get_checkpoint, "get_context": tune.get_context,
                         "report": tune.report}, "a trial is one process, which may start more of its own (torchrun)")
train = globals()["train"]
also(__name__, "air", {**_configs, "session": train}, _ALONE)
also(__name__, "air.session", train)
also(__name__, "cloudpickle", pickle)
for _of in ("tune.integration", "air.integrations"):
    also(__name__, _of, {}, f"{', '.join(_MODULES)} are, and sweepd.callbacks has Hugging Face")
    for _library, _names in _MODULES.items():
        also(__name__, f"{_of}.{_library}", _names)


def init(*address: Any, num_cpus: Optional[int] = None, num_gpus: Optional[int] = None, **_: Any) -> None:
    """Says how many cores and GPUs a run may use; by default all. Nothing is started."""
    if any(each not in (None, "local", "auto") for each in address):
        raise NotImplementedError("ray.init(address) is not carried over: a run is of one machine")
    cluster.update(num_cpus=num_cpus, num_gpus=num_gpus, initialized=True)


def is_initialized() -> bool:
    """Was init() called?"""
    return bool(cluster["initialized"])


def put(value: Any) -> Any:
    """The value itself: trials are forked, and have what the script has."""
    return value


def get(value: Any, **_: Any) -> Any:
    """The value that put() gave, or a list of such values."""
    return value


def shutdown() -> None:
    """Forgets what init() said."""
    cluster.update(dict.fromkeys(cluster))


__getattr__ = stands_for(__name__, "ray", {
    "remote": "a trial is a process of its own: start what it needs in the function",
}, _ALONE)

"""Inside a trial: report(), checkpoints, and what a trainable is called with."""
from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
import pickle
import shutil
import signal
import socket
import time
from typing import Any, Callable, Dict, Iterator, Mapping, Optional

from .. import _trial
from .._metrics import to_wire
from ._checkpoint import DICT, Checkpoint

ITERATION = "training_iteration"
OURS = ("step", "checkpoint")  # words of the wire, which no metric can be there


class Session:
    """One trial's. `stop` is a dict of results to reach, or a function of the trial's id and a result."""

    def __init__(self, trial_id: str, name: str, time_attr: str, metric: str, stop: Any) -> None:
        self.trial_id, self.name, self.time_attr, self.metric, self.stop = trial_id, name, time_attr, metric, stop
        # A trial without a checkpoint begins again: its first reports are known, and answered with "continue".
        self.iteration = _trial.resume_step() if _trial.resume_dir() and time_attr == ITERATION else 0
        self.step = self.iteration
        self.started = self.last = time.time()

    def report(self, metrics: Mapping[str, Any], checkpoint: Optional[Checkpoint]) -> None:
        """Sends a result. SystemExit if the trial is to end."""
        live = _trial.checkpoint_dir()
        if checkpoint is not None:
            shutil.copytree(checkpoint.path, live, dirs_exist_ok=True)
        self.iteration += 1
        now = time.time()
        result = {**metrics, ITERATION: self.iteration, "time_this_iter_s": now - self.last,
                  "time_total_s": now - self.started, "timestamp": int(now), "pid": os.getpid(),
                  "hostname": socket.gethostname(), "trial_id": self.trial_id}
        self.last = now
        self.step = step = int(result[self.time_attr]) if self.time_attr in result else self.iteration
        numbers = {name: value for name, value in metrics.items() if name not in OURS and _is_number(value)}
        if self.metric == ITERATION:
            numbers[ITERATION] = self.iteration
        more = {name: _plain(value) for name, value in result.items() if name not in numbers}
        _trial.send({"step": step, **({"checkpoint": True} if os.listdir(live) else {}), **to_wire(numbers),
                     "\0more": more})
        if result.get("done") or self._reached(result):
            raise SystemExit(0)

    def _reached(self, result: Dict[str, Any]) -> bool:
        if callable(self.stop):
            return bool(self.stop(self.trial_id, result))
        return any(name in result and result[name] >= value for name, value in (self.stop or {}).items())


_session: Optional[Session] = None


def _is_number(value: Any) -> bool:
    if isinstance(value, (str, bytes, Mapping)):
        return False
    try:
        float(value)
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


def _plain(value: Any) -> Any:
    """What JSON can carry of a value that is no metric."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, (bool, int, str)) or isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)


def report(metrics: Any = None, *, checkpoint: Optional[Checkpoint] = None, **named: Any) -> None:
    """Reports a trial's metrics, as a dict or by name, with a checkpoint. Outside a trial they are printed."""
    result = dict(metrics) if isinstance(metrics, Mapping) else {} if metrics is None else {"_metric": metrics}
    result.update(named)
    if _session is not None:
        _session.report(result, checkpoint)
    else:
        _trial.send(to_wire({name: value for name, value in result.items() if _is_number(value)}))


def get_checkpoint() -> Optional[Checkpoint]:
    """What the trial goes on from; None: it starts from scratch."""
    folder = _trial.resume_dir()
    return Checkpoint(folder) if folder else None


@contextlib.contextmanager
def checkpoint_dir(step: Optional[int] = None) -> Iterator[str]:
    """A folder to write a checkpoint into. The next report() takes it."""
    del step
    yield _trial.checkpoint_dir()


def get_trial_id() -> str:
    """The trial's id; "default" outside a trial."""
    return _session.trial_id if _session else "default"


class Context:
    """Who the trial is."""

    def get_trial_id(self) -> str:
        """The trial's id."""
        return get_trial_id()

    def get_trial_name(self) -> str:
        """The trial's name: its id."""
        return get_trial_id()

    def get_experiment_name(self) -> str:
        """The name of the run."""
        return _session.name if _session else "default"

    def get_trial_dir(self) -> str:
        """The folder of its checkpoints."""
        return _trial.checkpoint_dir()

    def get_world_size(self) -> int:
        """A trial is one process."""
        return 1

    def get_world_rank(self) -> int:
        """And this is it."""
        return 0


def get_context() -> Context:
    """Who the trial is."""
    return Context()


class Trainable:
    """The class to derive a trainable from: setup(), step(), save_checkpoint(), load_checkpoint(), cleanup()."""

    config: Dict[str, Any]
    training_iteration = 0

    def setup(self, config: Dict[str, Any]) -> None:
        """Called once, before step()."""

    def step(self) -> Dict[str, Any]:
        """One iteration; gives its result."""
        raise NotImplementedError("a Trainable needs step()")

    def save_checkpoint(self, checkpoint_dir: str) -> Optional[Dict[str, Any]]:
        """Writes into the folder, or gives a dict."""

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Takes what save_checkpoint() wrote or gave."""

    def cleanup(self) -> None:
        """Called at the end."""


def _save(it: Trainable, folder: str) -> None:
    data = it.save_checkpoint(folder)
    if isinstance(data, dict):
        with open(os.path.join(folder, DICT), "wb") as file:
            pickle.dump(data, file)


def _save_end(it: Trainable, kept: str) -> None:
    """The last checkpoint, where the driver keeps them; it gives a trial that was told to end some seconds."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.mkdir(f"{kept}.part")
    _save(it, f"{kept}.part")
    os.rename(f"{kept}.part", kept)


def _loop(kind: Callable[[], Trainable], every: int, at_end: bool, config: Dict[str, Any]) -> None:
    it = kind()
    it.config = config
    it.setup(config)
    folder = _trial.resume_dir()
    assert _session is not None
    if folder:
        it.training_iteration = _session.iteration
        path = os.path.join(folder, DICT)
        it.load_checkpoint(Checkpoint(folder).to_dict() if os.path.exists(path) else folder)
    try:
        while True:
            result = it.step()
            it.training_iteration += 1
            if every and it.training_iteration % every == 0:
                _save(it, _trial.checkpoint_dir())
            report(result)
    except SystemExit as end:
        kept = f"{_trial.checkpoint_dir()}-{_session.step}.ckpt"
        if at_end and getattr(end, "decision", "stop") == "stop" and not os.path.isdir(kept):
            _save_end(it, kept)
        raise
    finally:
        it.cleanup()


def trial_main(trainable: Callable[..., Any], session: Callable[[], Session], every: int, at_end: bool,
               config: Dict[str, Any]) -> None:
    """What a trial's process runs."""
    global _session
    _session = session()
    if isinstance(trainable, type):
        _loop(trainable, every, at_end, config)  # type: ignore[arg-type]
        return
    keywords = {"checkpoint_dir": _trial.resume_dir()} if takes(trainable, "checkpoint_dir") else {}
    value = trainable(config, **keywords)
    if value is not None:
        report(value)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Has a function a parameter of this name that is not given yet?"""
    given = function.keywords if isinstance(function, functools.partial) else {}
    try:
        return name in inspect.signature(function).parameters and name not in given
    except ValueError:
        return False

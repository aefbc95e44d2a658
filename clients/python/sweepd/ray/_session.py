"""Inside a trial: report(), checkpoints, and what a trainable is called with."""
import contextlib
import inspect
import json
import os
import shutil
import signal
import socket
import tempfile
import time
from typing import Any, Callable, Dict, Iterator, Mapping, Optional

from .. import _trial
from .._wire import reportable, to_wire
from ._results import DICT, Checkpoint

ITERATION, SHOULD_CHECKPOINT = "training_iteration", "should_checkpoint"


class Session:
    """One trial's."""

    def __init__(self, trial_id: str, name: str, time_attr: str, metric: str) -> None:
        self.trial_id, self.name, self.time_attr, self.metric = trial_id, name, time_attr, metric
        self.wants_checkpoint = False  # the last result, or a callback, asks for one
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
        given = reportable(metrics, "/", self.metric)
        if self.metric == ITERATION:
            given[ITERATION] = self.iteration
        more = {name: value for name, value in result.items() if name not in given}
        answer = _trial.send({"step": step, **({"checkpoint": True} if os.listdir(live) else {}), **to_wire(given),
                              "\0more": json.loads(json.dumps(more, default=str, skipkeys=True))})
        self.wants_checkpoint = bool(result.get(SHOULD_CHECKPOINT) or answer.get("save"))
        if result.get("done") or answer.get("end"):
            raise SystemExit(0)


_session: Optional[Session] = None


def report(metrics: Any = None, *, checkpoint: Optional[Checkpoint] = None, **named: Any) -> None:
    """Reports a trial's metrics, as a dict or by name, with a checkpoint. Outside a trial they are printed."""
    result = dict(metrics) if isinstance(metrics, Mapping) else {} if metrics is None else {"_metric": metrics}
    result.update(named)
    if _session is not None:
        _session.report(result, checkpoint)
    else:
        _trial.send(to_wire(reportable(result, "/")))


def get_checkpoint() -> Optional[Checkpoint]:
    """The checkpoint that the trial goes on from; None: it starts from scratch."""
    folder = _trial.resume_dir()
    return Checkpoint(folder) if folder else None


@contextlib.contextmanager
def checkpoint_dir(step: Optional[int] = None) -> Iterator[str]:
    """A folder to write a checkpoint into. The next report() takes it, whatever the step."""
    yield _trial.checkpoint_dir()


def get_trial_id() -> str:
    """The trial's id; "default" outside a trial."""
    return _session.trial_id if _session else "default"


class Context:
    """A trial is one process: this is its place among the workers that Ray would have."""

    get_trial_id = get_trial_name = staticmethod(get_trial_id)
    get_experiment_name = staticmethod(lambda: _session.name if _session else "default")
    get_trial_dir = staticmethod(_trial.checkpoint_dir)  # of its checkpoints
    get_world_size = staticmethod(lambda: 1)
    get_world_rank = staticmethod(lambda: 0)


get_context = Context


class Trainable:
    """The class to derive a trainable from: setup(), step(), save_checkpoint(), load_checkpoint(), cleanup()."""

    training_iteration = 0
    iteration = property(lambda self: self.training_iteration, doc="How many steps there were.")

    def __init__(self, config: Optional[Dict[str, Any]] = None) -> None:
        self.config = config or {}
        self.setup(self.config)

    def train(self) -> Dict[str, Any]:
        """One step outside of a run."""
        result = self.step()
        self.training_iteration += 1
        return {**result, ITERATION: self.training_iteration}

    def save(self, folder: Optional[str] = None) -> Checkpoint:
        """Writes a checkpoint."""
        made = Checkpoint(folder or tempfile.mkdtemp(prefix="sweepd-"))
        data = self.save_checkpoint(made.path)
        if isinstance(data, dict):
            made.write(data)
        elif isinstance(data, str) and os.path.dirname(data) == made.path:  # as Ray 1 had it: load_checkpoint() gets it
            made.write(os.path.basename(data))
        return made

    def restore(self, checkpoint: Any) -> None:
        """Goes on from one."""
        folder, data = os.fspath(checkpoint), None
        if os.path.exists(os.path.join(folder, DICT)):
            data = Checkpoint(folder).to_dict()
        self.load_checkpoint(os.path.join(folder, data) if isinstance(data, str) else folder if data is None else data)

    def setup(self, config: Dict[str, Any]) -> None:
        """Called once, before step()."""

    def step(self) -> Dict[str, Any]:
        """One iteration; gives its result."""
        raise NotImplementedError("a Trainable needs step()")

    def save_checkpoint(self, checkpoint_dir: str) -> Any:
        """Writes into the folder, or gives a dict."""

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Takes what save_checkpoint() wrote or gave."""

    def cleanup(self) -> None:
        """Called at the end."""


def validate_save_restore(kind: Callable[[], Trainable], **_: Any) -> bool:
    """Does a Trainable go on from its own checkpoint?"""
    first, second = kind(), kind()
    first.train()
    second.restore(first.save())
    second.train()
    return True


def _keep(it: Trainable, step: int) -> None:
    """A checkpoint of a step that is reported already, where the driver keeps them."""
    kept = f"{_trial.checkpoint_dir()}-{step}.ckpt"
    if not os.path.isdir(kept):
        os.mkdir(f"{kept}.part")
        it.save(f"{kept}.part")
        os.rename(f"{kept}.part", kept)


def _loop(kind: Callable[..., Trainable], every: int, at_end: bool, config: Dict[str, Any]) -> None:
    it = kind(config)
    folder = _trial.resume_dir()
    assert _session is not None
    if folder:
        it.restore(folder)
        it.training_iteration = _session.iteration
    try:
        while True:
            result = it.step()
            it.training_iteration += 1
            if every and it.training_iteration % every == 0 or result.get(SHOULD_CHECKPOINT):
                it.save(_trial.checkpoint_dir())
            report(result)
            if _session.wants_checkpoint:
                _keep(it, _session.step)
    except SystemExit as end:
        if at_end and getattr(end, "decision", "stop") == "stop":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a trial that was told to end has some seconds for it
            _keep(it, _session.step)
        raise
    finally:
        it.cleanup()


def trial_main(trainable: Callable[..., Any], session: Callable[[], Session], every: int, at_end: bool,
               config: Dict[str, Any]) -> None:
    """The main function of a trial's process."""
    global _session
    _session = session()
    if isinstance(trainable, type):
        _loop(trainable, every, at_end, config)  # type: ignore[arg-type]
        return
    keywords = {}
    with contextlib.suppress(ValueError):  # of a builtin
        words = inspect.signature(trainable).parameters.keys() - getattr(trainable, "keywords", {}).keys()
        if "checkpoint_dir" in words:
            keywords["checkpoint_dir"] = _trial.resume_dir()  # as Ray 1 has it
    value = trainable(config, **keywords)
    if value is not None:
        report(value)

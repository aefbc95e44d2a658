"""W&B's names over sweepd: write `import sweepd.wandb as wandb` for `import wandb`. No account, no network, no wandb.

In a trial wandb.config has its parameters, and log() reports to the daemon. A report is a call whose numbers have the
sweep's metric (the sweep names none: every call), with all that was logged since the last one. sweep() and agent() run
a function's trials from a script. Images, tables, artifacts and the like pass quietly. Outside of a sweep nothing is
reported.
"""
import argparse
import atexit
import contextlib
import json
import math
import os
import sys
import time
import uuid
from types import SimpleNamespace
from typing import Any, Callable, ContextManager, Dict, List, Mapping, Optional, Union

from . import _trial
from ._client import ENDED, Client
from ._driver import Driver
from ._errors import SweepdError
from ._loop import end
from ._names import stands_for
from ._tune import check_fork
from ._wire import Attributes, reportable

__all__ = ["Config", "Error", "Run", "agent", "finish", "init", "log", "sweep"]


class Error(SweepdError):
    """Stands for W&B's own errors, too."""


class Quiet(ContextManager["Quiet"]):
    """An image, a table, an artifact: takes every call, keeps nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> "Quiet":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> "Quiet":
        return self

    def __exit__(self, *_: Any) -> None:
        """Keeps nothing."""

    def download(self, *_: Any, **__: Any) -> str:
        """Error: what another run has logged lies on W&B's server."""
        raise Error("an artifact's files lie on W&B's server, and sweepd keeps none: put their folder's path into the config")

    file = get_path = download


class Config(Attributes):
    """The trial's parameters, over what the script sets: as in W&B, a script cannot change what the sweep chose."""

    def __init__(self, given: Any = None) -> None:
        super().__init__()
        self.update(given)

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def update(self, given: Any = None, allow_val_change: Optional[bool] = None, **more: Any) -> None:  # type: ignore
        """Takes a dict, an argparse.Namespace or the path of a JSON file."""
        super().update({**_mapping(given), **more})
        super().update(_trial.params({}))

    def setdefaults(self, given: Any) -> None:
        """update() of what is not there."""
        self.update({**_mapping(given), **self})

    as_dict = dict.copy


class Run(ContextManager["Run"]):
    """A trial, or a script of its own. W&B's settings are attributes; one that this class has no name for does nothing."""

    def __init__(self, given: Any = None, name: Optional[str] = None, **settings: Any) -> None:
        trial = os.environ.get("SWEEPD_TRIAL", "")
        self.sweep_id: Optional[str] = trial.partition("/")[0] or None
        self.id: str = settings.pop("id", None) or (f"sweep-{trial}".replace("/", "-") if trial else uuid.uuid4().hex[:8])
        self.name: str = name or self.id
        self.config, self.summary = Config(given), Attributes()
        self.project = self.entity = self.group = self.job_type = self.notes = self.url = None
        self.tags: List[str] = []
        self.step, self.resumed, self.disabled, self.offline, self.start_time = 0, False, False, True, time.time()
        self.__dict__.update(settings)
        self._metric = os.environ.get("SWEEPD_METRIC")
        self._pending: Dict[str, float] = {}
        self._seen = self._ended = False

    def __exit__(self, *_: Any) -> None:
        self.finish()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Quiet()

    @property
    def dir(self) -> str:
        """A folder for the run's files, below the script's, as W&B's is."""
        path = os.path.join(os.getcwd(), "wandb", self.id, "files")
        os.makedirs(path, exist_ok=True)
        return path

    def log(self, data: Mapping[str, Any], step: Optional[int] = None, commit: Optional[bool] = None, **_: Any) -> None:
        """Reports, as above. A trial that is to end does so here, by sweepd.Pruned, a SystemExit."""
        self.summary.update(data)
        self.step = max(self.step + (commit is not False), step or 0)
        self._report(reportable(data, ".", self._metric))

    def finish(self, exit_code: Optional[int] = None, quiet: Optional[bool] = None) -> None:
        """Reports what is left: of a metric that was never logged, what the summary has."""
        ended, self._ended = self._ended, True
        if not ended and self._metric is not None:
            found = {} if self._seen else reportable(self.summary, ".", self._metric)
            with contextlib.suppress(_trial.Pruned):  # it ends anyway
                self._report({name: value for name, value in found.items() if name == self._metric}, last=True)

    def _report(self, numbers: Dict[str, float], last: bool = False) -> None:
        self._pending.update(numbers)
        due = last or self._metric is None or self._metric in numbers
        if not due or not self._pending or not _trial.in_trial():
            return
        self._seen = self._seen or self._metric in numbers
        line = reportable(self._pending, ".", self._metric)
        if self._metric is not None:  # without one each report has all: the last is what tables show
            self._pending = {}
        _trial.report(**line)


def _mapping(given: Any) -> Dict[str, Any]:
    if isinstance(given, str):
        with open(given, encoding="utf-8") as file:
            return dict(json.load(file))
    return dict(vars(given) if isinstance(given, argparse.Namespace) else given or {})


run: Optional[Run] = None
config, summary = Config(), Attributes()
errors = SimpleNamespace(Error=Error, UsageError=Error, CommError=Error)
util = SimpleNamespace(generate_id=lambda length=8: uuid.uuid4().hex[:length])


def init(project: Optional[str] = None, config: Any = None, reinit: Any = None,  # pylint: disable=redefined-outer-name
         **settings: Any) -> Run:
    """Begins the run of this process; again before finish(): gives the same one."""
    global run
    settings.pop("settings", None)
    if run is None or run._ended or reinit in (True, "finish_previous", "create_new"):
        run = Run(config, project=project, **{key: value for key, value in settings.items() if value is not None})
        atexit.register(run.finish)
        globals().update(config=run.config, summary=run.summary)
    else:
        run.config.update(config)
    return run


def log(data: Mapping[str, Any], step: Optional[int] = None, commit: Optional[bool] = None, **_: Any) -> None:
    """Run.log() of the run that init() began."""
    if run is None:
        raise Error("wandb.log() needs a run: call wandb.init() first")
    run.log(data, step, commit)


def finish(exit_code: Optional[int] = None, quiet: Optional[bool] = None) -> None:
    """Run.finish() of the run that init() began."""
    if run is not None:
        run.finish(exit_code, quiet)


def sweep(sweep: Union[Mapping[str, Any], Callable[[], Any]],  # pylint: disable=redefined-outer-name
          entity: Optional[str] = None, project: Optional[str] = None, prior_runs: Any = None) -> str:
    """Submits a configuration; gives the sweep's number. One with a `program` begins to run at once."""
    spec = dict(sweep() if callable(sweep) else sweep)
    number = Client().submit({key: value for key, value in spec.items() if key not in ("project", "entity")})
    print(f"sweepd: sweep {number}; `sweep watch {number}` shows it", file=sys.stderr)
    return str(number)


class _Agent(Driver):
    """`most` is this agent's own count, and not the sweep's: several may run at once."""

    def reopened(self) -> bool:
        """Did another agent end the sweep, while this one was between two trials?"""
        for _ in range(20):  # others are quicker, to make it go on or to end it
            row = self.client.sweep(self.sweep)
            cap, edits = row["spec"].get("run_cap") or 10 ** 9, row["edits"]
            if row["state"] not in ENDED:
                return True
            if self.most == math.inf or row["state"] != "COMPLETED" or sum(row["counts"].values()) >= cap or not edits or \
                    edits[-1]["time_ms"] != row["ended_ms"]:  # a cap that a person set ends it later, with what runs then
                break
            with contextlib.suppress(SweepdError):
                self.client.extend(self.sweep, cap)
        return False

    def leave(self) -> None:
        """Ends the sweep if no other agent is at work."""
        if self.most <= 0 and end(self.client, self.sweep) and self.client.sweep(self.sweep)["counts"]["PAUSED"]:
            self.most = math.inf
            self.run()


def agent(sweep_id: Union[str, int], function: Optional[Callable[[], Any]] = None, entity: Optional[str] = None,
          project: Optional[str] = None, count: Optional[int] = None, **_: Any) -> None:
    """Runs a sweep's trials until it ends, `count` more at most: each calls function() in a process of its own, one on
    each core; on a machine with a GPU one at a time. Without a function the daemon runs the sweep's program."""
    last = str(sweep_id).rpartition("/")[2]
    if not last.isdigit():
        raise Error(f"{sweep_id!r} is no sweep of sweepd, which have numbers: wandb.sweep() gives one, `sweep ls` shows all")
    client, number = Client(), int(last)
    row = client.sweep(number)
    metric, most = row["metric"], row["spec"].get("run_cap")
    if function is None:
        if count:
            edited = any(change["key"] == "run_cap" for edit in row["edits"] for change in edit["changes"])
            cap = (row["run_cap"] if edited else sum(row["counts"].values())) + count  # of earlier agents, and of this one
            (client.extend if row["state"] in ENDED else client.edit)(number, run_cap=min(cap, most or cap))
        client.wait(number)
        return
    check_fork()

    def trial(_: Dict[str, Any]) -> None:
        global run
        run = None  # that of the script itself
        os.environ.pop("SWEEPD_METRIC", None)
        os.environ.update({"SWEEPD_METRIC": metric} if metric else {})
        function()
        finish()

    driver = _Agent(client, number, trial, metric or "loss", 1 if os.path.exists("/dev/nvidia0") else
                    len(os.sched_getaffinity(0)))
    driver.most = count or math.inf
    driver.run()
    driver.leave()


_CALLBACKS = "sweepd.callbacks has those of Keras, Lightning and Hugging Face"
_missing = stands_for(__name__, "wandb", {"integration": _CALLBACKS, "keras": _CALLBACKS},
                      "the daemon has the trials, and sweepd.Client reads them")


def __getattr__(name: str) -> Any:
    if name in _QUIET:
        return Quiet if name[0].isupper() else Quiet()
    return _missing(name)


_QUIET = frozenset(
    "Settings Image Table Video Audio Histogram Html Object3D Molecule Plotly Graph Artifact AlertLevel watch unwatch save plot "
    "define_metric log_artifact use_artifact log_code log_model link_artifact link_model alert mark_preempting termlog termwarn "
    "termerror login require teardown setup data_types sklearn tensorboard plots plot_table gym sdk".split())

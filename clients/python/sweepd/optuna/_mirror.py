"""A study's sweep, in which the daemon has its trials: it suggests, prunes, and is shown by `sweep watch`.

A study learns its parameters trial by trial, and a sweep has all of them from the start. So the first sweep is
submitted after the first trial, and when a trial has had a parameter that the sweep lacks, the study goes on in a wider
one, which is told all trials so far; the narrower one is deleted once none of its trials runs. The processes of one study agree by a journal of their own, in which the first
entry counts: who may submit the next sweep, which one that is, and who has told it which trial.
"""
import atexit
import contextlib
import copy
import hashlib
import json
import os
import threading
import time
import uuid
import warnings
import weakref
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from .. import _distributions
from .._errors import CONFLICT, INVALID_PARAMS, NOT_FOUND, SweepdError
from .._loop import Trial as Handle
from .._loop import end, hand
from .._wire import wire_names
from ._journal import Journal

MARK = "a study of Optuna"
PATIENCE_S = 60  # for a process that has said that it submits a sweep
_mirrors: "weakref.WeakKeyDictionary[Any, Dict[Any, Mirror]]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()
_left: List[Any] = []  # studies that the script has let go of: their sweeps end with the next study, or with the script
_held: List[Any] = []  # what puts a study there


def mirror_of(study: Any, search: Optional[Dict[str, Any]] = None) -> "Mirror":
    """This process's mirror of a study. `search`: what its sampler says of the spec."""
    with _lock:
        mine = _mirrors.setdefault(study._storage, {})
        key = study._study_id, os.getpid()
        if key not in mine:
            _close_left()
            mine[key] = Mirror(study, search or {"method": "random"})
            _held.append(weakref.finalize(study, _left.append, copy.copy(study)))
        return mine[key]


def known(study: Any) -> Optional["Mirror"]:
    """The same, if the study has one already."""
    return _mirrors.get(study._storage, {}).get((study._study_id, os.getpid()))


def close(study: Any) -> None:
    """No more trials for now: the sweep ends with those that it has, if none runs in another process."""
    mirror = known(study)
    if mirror is not None:
        with mirror.lock:
            mirror.settle(study)
            mirror._catch_up(study)
            mirror.close()


def _close_all() -> None:
    for let_go in _held:  # the interpreter's own turn comes later if a library has used weakref.finalize() before
        let_go()
    _close_left(1)


def _close_left(patience_s: float = 600) -> None:
    while _left:
        study = _left.pop()
        with contextlib.suppress(Exception):  # the interpreter ends, and so may the daemon have
            known(study).journal.client().patience_s = patience_s  # type: ignore[union-attr]
            close(study)


atexit.register(_close_all)


class Ended:
    """A trial with the state and the values that it ends with. `why`: it is infeasible."""

    def __init__(self, trial: Any, state: str = "", values: Any = None) -> None:
        self.number, self.params, self.distributions = trial.number, trial.params, trial.distributions
        self.state, self.values = state or trial.state.name, values if state else trial.values
        broken = max(trial.system_attrs.get("constraints") or [0.0])
        self.why = f"constraint broken by {broken:g}" if broken > 0 else ""
        self.reports = sorted(trial.intermediate_values.items())
        self.teaches = self.state in ("COMPLETE", "PRUNED")


class Mirror:
    """Threads may share it: a call holds the lock."""

    def __init__(self, study: Any, search: Dict[str, Any]) -> None:
        self.name, self.search = study.study_name, search
        first = next((str(trial.datetime_start) for trial in study.get_trials(deepcopy=False)), "")
        key = hashlib.sha256(f"{self.name} {first}".encode()).hexdigest()[:32]
        self.journal, self.read, self.me = Journal(f"optuna-study/{key}"), 0, uuid.uuid4().hex
        self.lock = threading.RLock()
        n = len(study.directions)
        self.metrics = [{"name": "value" if n == 1 else f"value_{i}", "goal": goal.name.lower()}
                        for i, goal in enumerate(study.directions)]
        self.early_terminate = getattr(study.pruner, "early_terminate", None) if n == 1 else None
        self.shift = getattr(study.pruner, "shift", 1)  # a study's steps count from 0, a sweep's from 1
        self.sweep: Optional[int] = None
        self.before: Set[int] = set()  # the sweeps before it
        self.generation = 0
        self.claim: Tuple[str, float] = ("", 0.0)  # the process that may submit the next, and since when
        self.space: Dict[str, Any] = {}
        self.names: Dict[str, str] = {}
        self.whens: Dict[str, Tuple[str, List[Any]]] = {}
        self.told: Dict[int, str] = {}  # the trials that the sweep has, each with the process that told it
        self.seen: Set[int] = set()  # those that any of the sweeps had
        self.behind = False  # some of these may have to be told
        self.running: Dict[int, Handle] = {}  # by the study's numbers
        self.stopped: Set[int] = set()
        self.refused = False

    def refresh(self, study: Any) -> None:
        entries = self.journal.read(self.read)
        self.read += len(entries)
        for entry in map(json.loads, entries):
            if "claim" in entry:
                if entry["claim"] == self.generation + 1 and (
                        self.claim[0] in ("", entry["by"]) or entry["at"] - self.claim[1] > PATIENCE_S):
                    self.claim = entry["by"], entry["at"]
            elif "generation" in entry:
                if entry["generation"] == self.generation + 1 and self.claim[0] == entry["by"]:
                    self._adopt_sweep(study, entry)
            else:
                self.seen.add(entry["trial"])
                if entry["sweep"] == self.sweep:
                    self.told.setdefault(entry["trial"], entry["by"])

    def _adopt_sweep(self, study: Any, entry: Dict[str, Any]) -> None:
        if self.sweep not in (None, entry["sweep"]):
            self.before.add(self.sweep)
        self.generation, self.sweep, self.claim = entry["generation"], entry["sweep"], ("", 0.0)
        self.names, self.behind = entry["names"], True
        if entry["by"] != self.me:
            trials = study.get_trials(deepcopy=False)
            self.space = _distributions.ranges([trials[number] for number in entry["of"]], entry["names"])
            self.whens = {name: tuple(when) for name, when in entry["whens"].items()}
        self.told = {number: entry["by"] for number in entry["told"]}
        self.seen.update(self.told)

    def _say(self, study: Any, **entry: Any) -> None:
        self.journal.append(json.dumps({**entry, "by": self.me}))
        self.refresh(study)

    def _take(self, study: Any, number: int) -> bool:
        """Is it this process that tells the sweep a trial? The first one that says so."""
        if number not in self.told:
            self._say(study, trial=number, sweep=self.sweep)
        return self.told.get(number) == self.me

    def _catch_up(self, study: Any) -> None:
        """Tells the sweep what had ended while it was made, in this process or another."""
        if not self.behind:
            return
        for trial in study.get_trials(deepcopy=False):
            if trial.number not in self.told and trial.number not in self.running and Ended(trial).teaches and \
                    self.space.keys() >= trial.params.keys() and self._take(study, trial.number):
                self._replay(Ended(trial))
        self.behind = bool(self.seen - set(self.told))

    def known(self, study: Any) -> Dict[str, Any]:
        """The parameters that the sweep has."""
        with self.lock:
            self.refresh(study)
            return dict(self.space) if self.sweep is not None else {}

    def ask(self, study: Any, number: int, fixed: Dict[str, Any]) -> Dict[str, Any]:
        """The daemon's values for a trial; those of `fixed` stay if the sweep can have them. None before a sweep."""
        with self.lock:
            if self.sweep is None:
                return {}
            self._catch_up(study)
            given = {self.names[name]: _distributions.to_wire(self.space[name], value) for name, value in fixed.items()
                     if name in self.space and _distributions.contains(self.space[name], value)}
            asked = self.sweep
            try:
                handle = self._hand(given)
            except SweepdError:
                self.refresh(study)
                if self.sweep == asked:
                    raise
                return {}  # another process has just made a wider one, and deleted this
            if handle is None:
                with contextlib.suppress(RuntimeError):  # it is not in optimize()
                    study.stop()
                return {}
            self.running[number] = handle
            return self._values(handle)

    def _values(self, handle: Handle) -> Dict[str, Any]:
        return _distributions.values(self.space, self.names, handle.params)

    def judge(self, study: Any, trial: Any) -> bool:
        """Reports what is new of a running trial. Is it to end?"""
        with self.lock:
            self.settle(study)
            if trial.intermediate_values and self.early_terminate is not None and trial.number not in self.stopped:
                if trial.number not in self.running:
                    self._adopt(study, Ended(trial))
                handle = self.running.get(trial.number)
                if handle is not None and self._send(handle, sorted(trial.intermediate_values.items())):
                    self.stopped.add(trial.number)
            return trial.number in self.stopped

    def _adopt(self, study: Any, trial: Ended) -> None:
        """Makes a running trial of the study, suggested by another sampler, one of the sweep."""
        self.refresh(study)
        with self._refusing():
            self._cover(study, trial)
            handle = self._enqueue(trial) if self.sweep is not None else None
            if handle is not None:
                self.running[trial.number] = handle

    def end(self, study: Any, trial: Ended) -> None:
        """Tells the sweep how a trial of this process ends."""
        with self.lock:
            handle = self.running.pop(trial.number, None)
            self.stopped.discard(trial.number)
            self.refresh(study)
            if not trial.teaches:
                if handle is not None:
                    handle.failed("the objective failed")
                return
            given = {name for name in self.space if handle is not None and self.names.get(name) in handle.params}
            other = handle is not None and any(
                not _distributions.same(self.space[name], value, trial.params.get(name, value))
                for name, value in self._values(handle).items())
            mine = handle is not None and not other and handle.sweep == self.sweep and given >= set(trial.params)
            if mine:
                self._take(study, trial.number)
            if handle is not None and other:
                handle.failed("the objective had other values")
            elif handle is not None:
                self._tell(handle, trial)
            if not (mine and given == set(trial.params)) and not (self.refused and self.sweep is None):
                with self._refusing():  # now the sweep gets the trial with all of its parameters
                    if not self._cover(study, trial) and self.sweep is not None and not mine and \
                            self._take(study, trial.number):
                        self._replay(trial)
            self._catch_up(study)

    def settle(self, study: Any) -> None:
        """Ends those whose sampler did not tell: it is not of this package."""
        if self.running and not getattr(study.sampler, "tells", False):
            trials = study.get_trials(deepcopy=False)
            for number in [number for number in self.running if trials[number].state.is_finished()]:
                self.end(study, Ended(trials[number]))

    def close(self) -> None:
        """Ends the sweep if none of its trials runs."""
        self._drop()
        if self.sweep is not None:
            end(self.journal.client(), self.sweep)

    def _drop(self) -> None:
        """Deletes the sweeps before it."""
        client = self.journal.client()
        for sweep in sorted(self.before):
            try:
                for lost in client.trials(sweep, state="PENDING"):  # with its process: nobody asks this sweep for it again
                    if lost["attempt"]:
                        client.call("trial.cancel", sweep=sweep, trial=lost["trial"])
                if end(client, sweep):
                    client.delete(sweep)
                    self.before.discard(sweep)
            except SweepdError as error:
                if error.code not in (CONFLICT, NOT_FOUND):  # another process goes on with it, or was quicker
                    raise

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """A trial that the daemon refuses is known to the study alone. If the trouble may pass, the next trial tries again."""
        try:
            yield
        except (SweepdError, KeyError, ValueError) as error:
            passes = isinstance(error, SweepdError) and error.code not in (CONFLICT, INVALID_PARAMS)
            if not self.refused and not passes:
                self.refused = True
                warnings.warn(f"the daemon cannot have all of study {self.name!r}, whose trials are drawn at random "
                              f"where it cannot: {error}", stacklevel=2)

    def _send(self, handle: Handle, reports: List[Tuple[int, float]]) -> bool:
        for step, value in reports:
            if step + self.shift > handle.step and value == value and abs(value) != float("inf") and \
                    handle.report(step + self.shift, False, **{self.metrics[0]["name"]: value}) != "continue":
                return True
        return False

    def _tell(self, handle: Handle, trial: Ended) -> None:
        if len(self.metrics) == 1 and trial.state == "PRUNED":  # the sweep's pruner does not end what is whole
            self._send(handle, trial.reports)
        if trial.why:
            handle.failed(trial.why, "INFEASIBLE")
        elif trial.state == "PRUNED":
            handle.failed("pruned by the objective", "PRUNED")
        else:
            handle.done(**{metric["name"]: value for metric, value in zip(self.metrics, trial.values)})

    def _hand(self, given: Dict[str, Any]) -> Optional[Handle]:
        return hand(self.journal.client(), int(self.sweep or 0), given)

    def _enqueue(self, trial: Ended) -> Optional[Handle]:
        return self._hand({self.names[name]: _distributions.to_wire(self.space[name], value)
                           for name, value in trial.params.items()} or {self.names[""]: 0})

    def _replay(self, trial: Ended) -> None:
        """Tells the sweep a trial that has ended."""
        with self._refusing():
            handle = self._enqueue(trial)
            if handle is not None:
                self._tell(handle, trial)

    def _cover(self, study: Any, trial: Ended) -> bool:
        """Makes the sweep one that has a trial's parameters; True if that took a new one, which was told of all that
        have ended."""
        deadline = time.monotonic() + 10
        while True:
            ended = [each for each in map(Ended, study.get_trials(deepcopy=False))
                     if each.teaches and each.number != trial.number] + [trial]
            ended.sort(key=lambda each: each.number)
            wider = _distributions.ranges(ended)
            whens = _distributions.whens(wider, ended)
            if self.sweep is not None and wider == self.space and whens == self.whens:
                return False
            if self.claim[0] in ("", self.me) or time.time() - self.claim[1] > PATIENCE_S:
                self._say(study, claim=self.generation + 1, at=time.time())
            if self.claim[0] == self.me:
                self._submit(study, ended, wider, whens)
                return True
            if time.monotonic() > deadline:
                return False  # the process that makes one tells it this trial
            time.sleep(0.02)
            self.refresh(study)

    def _submit(self, study: Any, ended: List[Ended], space: Dict[str, Any], whens: Dict[str, Any]) -> None:
        names = wire_names(space) or {"": "nothing"}
        spec = {"name": self.name.encode()[:64].decode(errors="ignore"), "description": MARK, **self.search,
                **({"metric": self.metrics[0]} if len(self.metrics) == 1 else {"metrics": self.metrics}),
                "parameters": _distributions.parameters(space, names, whens),
                **({"early_terminate": self.early_terminate} if self.early_terminate else {})}
        sweep = int(self.journal.client().call("sweep.submit", spec=spec)["sweep"])
        self.before |= {self.sweep} - {None}  # type: ignore[arg-type]
        self.space, self.names, self.whens, self.sweep = space, names, whens, sweep
        told = [each for each in ended if each.teaches]
        for each in told:
            self._replay(each)
        self._say(study, generation=self.generation + 1, sweep=self.sweep, names=names,
                  of=[each.number for each in ended], told=[each.number for each in told], whens=whens)
        self._drop()

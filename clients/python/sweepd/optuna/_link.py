"""A study's sweep. A study learns its parameters trial by trial, and a sweep is submitted with all of them: when a
trial has had one that the sweep lacks, the study goes on in a wider sweep, which is told all trials so far.
"""
from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Set, Tuple

from .._client import Client
from .._errors import CONFLICT, SweepdError
from .._loop import Trial as Handle
from .._space import wire_names
from .distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from .pruners import BasePruner
from .samplers import BaseSampler, GridSampler
from .trial import FrozenTrial, TrialState

if TYPE_CHECKING:
    from .study import Study

MARK = "a study of sweepd.optuna"
FEW = 100  # values that a condition may list


class Exhausted(Exception):
    """The sweep has no more trials: its grid is done, or somebody cancelled it."""


class Link:
    """Threads may share it: what makes or adds trials holds the lock."""

    def __init__(self, study: "Study", name: str, sampler: BaseSampler, pruner: BasePruner) -> None:
        self.study, self.name, self.sampler = study, name, sampler
        self.early_terminate = pruner.spec() if len(study.directions) == 1 else None
        self.shift = pruner.shift
        self.rng = random.Random(sampler.seed)
        self.lock = threading.RLock()
        self.client: Optional[Client] = None
        self.sweep: Optional[int] = None
        self.made = 0  # trials of the sweep
        self.replayed: Set[int] = set()  # the study's trials that this sweep was told after their end
        self.cap: Optional[int] = None  # its run_cap
        self.want: Optional[int] = None  # how many trials the study will have, if that is known
        self.space: Dict[str, BaseDistribution] = {}
        self.names: Dict[str, str] = {}
        self.whens: Dict[str, Tuple[str, List[Any]]] = {}
        self.metrics = ["value"] if len(study.directions) == 1 else [f"value_{i}" for i in range(len(study.directions))]
        if isinstance(sampler, GridSampler):
            self.space = {name: CategoricalDistribution(values) for name, values in sampler.search_space.items()}

    # Trials

    def ask(self, fixed: Dict[str, Any]) -> Optional[Handle]:
        """The next trial, with the values of `fixed` that the sweep can have; None before there is a sweep."""
        with self.lock:
            if self.sweep is None and not isinstance(self.sampler, GridSampler):
                return None
            self._open()
            known = {self.names[name]: self.space[name].to_wire(value) for name, value in fixed.items()
                     if name in self.space and self.space[name].contains(value)}
            if known:
                try:
                    self._client().enqueue(self._sweep(), known)
                except SweepdError as error:
                    if error.code == CONFLICT:
                        raise Exhausted from error
            return self._hand()

    def value(self, handle: Optional[Handle], name: str, distribution: BaseDistribution) -> Any:
        """A trial's value of a parameter: the sweep's, or if that has none one drawn here."""
        known = self.space.get(name)
        if isinstance(self.sampler, GridSampler):
            if known is None:
                raise ValueError(f"the grid of GridSampler has no {name!r}")
        elif known is not None and known != distribution and known.spec() == distribution.spec():
            self.space[name] = known = distribution  # of a study that was loaded: the wire does not tell them apart
        elif known is not None and known != distribution:
            known.union(distribution)  # or it says why there is none
        if handle is not None and known is not None:
            try:
                value = known.from_wire(handle.params[self.names[name]])
                if distribution.contains(value):
                    return value
            except (KeyError, ValueError, TypeError):
                pass  # a wider sweep came between: the trial is of the one before
        return distribution.sample(self.rng)

    def adopt(self, trial: FrozenTrial) -> Optional[Handle]:
        """Makes a trial of the study one of the sweep, with its parameters; None if the sweep cannot have them."""
        with self.lock:
            try:
                self._cover(trial)
                return self._enqueue(trial)
            except SweepdError:
                if self.sweep is None:
                    raise  # the daemon refuses the study, not the trial
                return None

    def send(self, handle: Handle, reports: Sequence[Tuple[int, float]]) -> bool:
        """Reports values by step; True if the trial is to end."""
        for step, value in reports:
            at = step + self.shift
            if at > handle.step and handle.report(at, False, **{self.metrics[0]: value}) != "continue":
                return True
        return False

    def tell(self, handle: Handle, trial: FrozenTrial, cause: Optional[str]) -> None:
        """Ends a trial of the sweep as the study's has ended."""
        if self._differ(handle, trial):
            handle.failed("the objective had other values")
        elif trial.state == TrialState.COMPLETE and trial.values is not None:
            handle.done(**dict(zip(self.metrics, trial.values)))
        elif trial.state == TrialState.PRUNED:
            handle.failed("pruned by the objective", "PRUNED")
        else:
            handle.failed(cause or "failed")

    def learn(self, trial: FrozenTrial, handle: Optional[Handle]) -> None:
        """After its end: the sweep of now has the trial with all of its parameters."""
        with self.lock:
            if trial.state not in (TrialState.COMPLETE, TrialState.PRUNED) or trial.number in self.replayed:
                return
            mine = {self.names.get(name) for name in trial.params}
            given = None
            if handle is not None and handle.sweep == self.sweep and not self._differ(handle, trial):
                given = set(handle.params)
            if mine == given:
                return
            try:
                if not self._cover(trial) and not (given and mine < given):
                    self._replay(trial)
            except SweepdError:
                if self.sweep is None:
                    raise

    def _differ(self, handle: Handle, trial: FrozenTrial) -> bool:
        """Had the trial other values than the sweep gave it?"""
        both = [name for name in trial.params if name in self.space and self.names[name] in handle.params]
        return any(not self.space[name].contains(trial.params[name]) or
                   self.space[name].to_wire(trial.params[name]) != handle.params[self.names[name]] for name in both)

    def close(self) -> None:
        """No more trials for now: the sweep ends with those that it has."""
        with self.lock:
            if self.sweep is not None and self.made and (self.cap is None or self.cap > self.made):
                try:
                    self._client().edit(self.sweep, run_cap=self.made)
                    self.cap = self.made
                except SweepdError:
                    pass  # it has ended already

    # The sweep

    def _client(self) -> Client:
        self.client = self.client or Client()
        return self.client

    def _sweep(self) -> int:
        assert self.sweep is not None
        return self.sweep

    def _open(self) -> None:
        """A sweep that takes one more trial."""
        if self.sweep is None:
            self._submit()
        elif self.cap is not None and self.made >= self.cap:
            cap = max(self.made + 1, self.want or 0)
            try:
                self._client().extend(self.sweep, cap)
                self.cap = cap
            except SweepdError as error:
                if error.code != CONFLICT or isinstance(self.sampler, GridSampler):
                    raise Exhausted from error
                self._submit()  # all of its trials had failed, which is final

    def _hand(self) -> Handle:
        pause = 0.002
        while True:
            answer = self._client().ask(self._sweep())
            for handed in answer["trials"]:
                self.made += 1
                return Handle(self._client(), self._sweep(), handed)
            if answer.get("reason") == "done":
                raise Exhausted
            time.sleep(pause)
            pause = min(0.2, pause * 1.5)

    def _enqueue(self, trial: FrozenTrial) -> Handle:
        self._open()
        params = {self.names[name]: self.space[name].to_wire(value) for name, value in trial.params.items()}
        number = self._client().enqueue(self._sweep(), params)
        handle = self._hand()
        assert handle.number == number, (handle.number, number)
        return handle

    def _replay(self, trial: FrozenTrial) -> None:
        """Tells the sweep a trial that has ended. A failed one teaches nothing."""
        if trial.state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        self.replayed.add(trial.number)
        try:
            handle = self._enqueue(trial)
        except (SweepdError, KeyError, ValueError):
            return  # outside of what the sweep can have: the study alone knows it
        self.send(handle, sorted(trial.intermediate_values.items()))
        self.tell(handle, trial, None)

    def _cover(self, trial: FrozenTrial) -> bool:
        """Makes the sweep one that has all of a trial's parameters; True if that took a new one, with all that ended."""
        wider = dict(self.space)
        for name, distribution in trial.distributions.items():
            if isinstance(self.sampler, GridSampler):
                continue
            wider[name] = wider[name].union(distribution) if wider.get(name, distribution) != distribution else distribution
        ended = [each for each in self.study.trials if each.state.is_finished() and each is not trial]
        whens = _conditions(wider, ended + [trial])
        if self.sweep is not None and wider == self.space and whens == self.whens:
            return False
        self.close()
        before = self.space, self.names, self.whens, self.sweep
        self.space, self.whens = wider, whens
        try:
            self._submit()
        except SweepdError:
            self.space, self.names, self.whens, self.sweep = before
            raise
        return True

    def _submit(self) -> None:
        study, client = self.study, self._client()
        ended = [trial for trial in study.trials if trial.state.is_finished()]
        goals = [{"name": name, "goal": direction.name.lower()} for name, direction in zip(self.metrics, study.directions)]
        self.names = wire_names(self.space)
        if not self.space:
            raise SweepdError("a study needs a parameter: the objective suggested none")
        spec: Dict[str, Any] = {
            "name": self.name.encode()[:64].decode(errors="ignore"), "description": MARK, "method": self.sampler.method,
            **({"metric": goals[0]} if len(goals) == 1 else {"metrics": goals}),
            "parameters": {self.names[name]: {**distribution.spec(), **self._when(name)}
                           for name, distribution in self.space.items()},
            **({"seed": self.sampler.seed} if self.sampler.seed is not None else {}),
            **({"early_terminate": self.early_terminate} if self.early_terminate else {})}
        self.made, self.cap, self.replayed = 0, None, set()
        if self.want is not None and not isinstance(self.sampler, GridSampler):
            spec["run_cap"] = self.cap = max(self.want, len(ended) + 1)
        self.sweep = int(client.call("sweep.submit", spec=spec)["sweep"])
        for trial in ended:
            self._replay(trial)

    def _when(self, name: str) -> Dict[str, Any]:
        if name not in self.whens:
            return {}
        on, values = self.whens[name]
        return {"when": {self.names[on]: [self.space[on].to_wire(value) for value in values]}}


def _conditions(space: Dict[str, BaseDistribution], trials: List[FrozenTrial]) -> Dict[str, Tuple[str, List[Any]]]:
    """What decides whether a trial has a parameter, by the trials so far: {parameter: (another, its values)}."""
    out: Dict[str, Tuple[str, List[Any]]] = {}
    names = list(space)
    trials = [trial for trial in trials if trial.state != TrialState.FAIL]
    for at, name in enumerate(names):
        having = [trial for trial in trials if name in trial.params]
        lacking = [trial for trial in trials if name not in trial.params]
        for on in names[:at] if having and lacking else ():
            if any(on not in trial.params for trial in trials):
                continue
            active = [value for value in _listed(space[on]) if all(trial.params[on] != value for trial in lacking)]
            if active and all(trial.params[on] in active for trial in having):
                out[name] = (on, active)
                break
    return out


def _listed(distribution: BaseDistribution) -> List[Any]:
    """The values that a condition can name."""
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if isinstance(distribution, IntDistribution) and distribution.step == 1 and not distribution.single():
        return list(range(distribution.low, distribution.high + 1)) if distribution.high - distribution.low < FEW else []
    return []

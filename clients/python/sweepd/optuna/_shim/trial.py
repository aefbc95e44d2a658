"""A trial while it runs, and what is left of it."""
from __future__ import annotations

import datetime
import enum
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from .. import _mirror, _wire
from .distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution, draw

if TYPE_CHECKING:
    from .study import Study


class TrialState(enum.IntEnum):
    """What became of a trial."""

    RUNNING = 0
    COMPLETE = 1
    PRUNED = 2
    FAIL = 3
    WAITING = 4

    def is_finished(self) -> bool:
        """Has it ended?"""
        return self not in (TrialState.RUNNING, TrialState.WAITING)


class FrozenTrial:
    """What a study knows of a trial."""

    def __init__(self, number: int = -1, state: TrialState = TrialState.RUNNING, params: Optional[Dict[str, Any]] = None,
                 distributions: Optional[Dict[str, BaseDistribution]] = None, values: Optional[Sequence[float]] = None,
                 intermediate_values: Optional[Dict[int, float]] = None,
                 user_attrs: Optional[Dict[str, Any]] = None) -> None:
        self.number, self.state = number, state
        self.params, self.distributions = dict(params or {}), dict(distributions or {})
        self.values: Optional[List[float]] = None if values is None else [float(value) for value in values]
        self.intermediate_values, self.user_attrs = dict(intermediate_values or {}), dict(user_attrs or {})
        self.datetime_start: Optional[datetime.datetime] = datetime.datetime.now()
        self.datetime_complete = self.datetime_start if state.is_finished() else None

    @property
    def value(self) -> Optional[float]:
        """The objective's value; None if there is none."""
        if self.values is not None and len(self.values) > 1:
            raise RuntimeError("the study has several objectives: see values")
        return self.values[0] if self.values else None

    @property
    def last_step(self) -> Optional[int]:
        """The highest step reported."""
        return max(self.intermediate_values, default=None)

    @property
    def duration(self) -> Optional[datetime.timedelta]:
        """How long it took."""
        return self.datetime_complete and self.datetime_start and self.datetime_complete - self.datetime_start

    def __repr__(self) -> str:
        return f"FrozenTrial(number={self.number}, state={self.state.name}, values={self.values}, params={self.params})"


def create_trial(*, state: TrialState = TrialState.COMPLETE, value: Optional[float] = None,
                 values: Optional[Sequence[float]] = None, **more: Any) -> FrozenTrial:
    """A trial for Study.add_trial(). Its params need their distributions."""
    if set(more.get("params") or {}) != set(more.get("distributions") or {}):
        raise ValueError("params and distributions must have the same names")
    return FrozenTrial(-1, state, values=values if value is None else [value], **more)


class Trial:
    """A trial that runs."""

    def __init__(self, study: "Study", frozen: FrozenTrial, fixed: Dict[str, Any]) -> None:
        self.study, self._frozen, self._fixed = study, frozen, fixed
        self._given: Optional[Dict[str, Any]] = None

    number = property(lambda self: self._frozen.number, doc="Counts from 0.")
    params = property(lambda self: dict(self._frozen.params), doc="What has been suggested.")
    distributions = property(lambda self: dict(self._frozen.distributions), doc="And from what.")
    user_attrs = property(lambda self: self._frozen.user_attrs, doc="What set_user_attr() kept.")

    def suggest_float(self, name: str, low: float, high: float, *, step: Optional[float] = None,
                      log: bool = False) -> float:
        """A real from low to high."""
        return float(self._suggest(name, FloatDistribution(low, high, log, step)))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """An integer from low to high, both included."""
        return int(self._suggest(name, IntDistribution(low, high, log, step)))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """One of the choices."""
        return self._suggest(name, CategoricalDistribution(choices))

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        frozen = self._frozen
        if name in frozen.params:
            return frozen.params[name]
        if self._given is None:
            mirror = self.study._mirror()
            self._given = mirror.ask(self.study, self.number, self._fixed) if mirror.known(self.study) else {}
        value = {**self._given, **self._fixed}.get(name, self)
        if value is self or name not in self._fixed and not _wire.contains(distribution, value):
            value = draw(distribution, self.study._rng)
        frozen.params[name], frozen.distributions[name] = value, distribution
        return value

    def set_user_attr(self, key: str, value: Any) -> None:
        """Keeps a value with the trial, in this process."""
        self._frozen.user_attrs[key] = value

    def report(self, value: float, step: int) -> None:
        """Reports a value at a step. Steps count from 0; a second value of one step is ignored."""
        self._frozen.intermediate_values.setdefault(int(step), float(value))

    def should_prune(self) -> bool:
        """Is the trial to end, by what it reported?"""
        return _mirror.mirror_of(self.study).judge(self.study, self._frozen)

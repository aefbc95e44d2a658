"""A trial, while it runs and afterwards."""
from __future__ import annotations

import datetime
import enum
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence

from .. import _mirror, _wire
from .distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution, draw

if TYPE_CHECKING:
    from .study import Study


class TrialState(enum.IntEnum):
    """What became of a trial."""

    RUNNING, COMPLETE, PRUNED, FAIL = range(4)

    def is_finished(self) -> bool:
        """Has it ended?"""
        return self != TrialState.RUNNING


class Trial:
    """One of Study.trials. `params` is what has been suggested, `distributions` from what."""

    def __init__(self, study: "Study", number: int, fixed: Mapping[str, Any]) -> None:
        self.study, self.number, self.state = study, number, TrialState.RUNNING
        self.params: Dict[str, Any] = {}
        self.distributions: Dict[str, BaseDistribution] = {}
        self.values: Optional[List[float]] = None
        self.intermediate_values: Dict[int, float] = {}
        self.user_attrs: Dict[str, Any] = {}
        self.datetime_start = datetime.datetime.now()
        self.datetime_complete: Optional[datetime.datetime] = None
        self._fixed, self._given = fixed, None

    @property
    def value(self) -> Optional[float]:
        """The objective's value; None if there is none."""
        return self.values[0] if self.values else None

    @property
    def last_step(self) -> Optional[int]:
        """The highest step reported."""
        return max(self.intermediate_values, default=None)

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
        if name in self.params:
            return self.params[name]
        if self._given is None:
            mirror = self.study._mirror()
            self._given = mirror.ask(self.study, self.number, self._fixed) if mirror.known(self.study) else {}
        value = {**self._given, **self._fixed}.get(name, self)
        if value is self or name not in self._fixed and not _wire.contains(distribution, value):
            value = draw(distribution, self.study._rng)
        self.params[name], self.distributions[name] = value, distribution
        return value

    def set_user_attr(self, key: str, value: Any) -> None:
        """Keeps a value with the trial, in this process."""
        self.user_attrs[key] = value

    def report(self, value: float, step: int) -> None:
        """Reports a value at a step. Steps count from 0; a second value of one step is ignored."""
        self.intermediate_values.setdefault(int(step), float(value))

    def should_prune(self) -> bool:
        """Is the trial to end, by what it reported?"""
        return self.study._mirror().judge(self.study, self)

    def __repr__(self) -> str:
        return f"Trial(number={self.number}, state={self.state.name}, values={self.values}, params={self.params})"


FrozenTrial = Trial

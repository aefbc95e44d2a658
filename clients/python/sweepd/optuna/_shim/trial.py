"""A trial while it runs, and what is left of it."""
from __future__ import annotations

import datetime
import enum
import math
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

if TYPE_CHECKING:
    from .._loop import Trial as Handle
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

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"TrialState.{self.name}"


class _Suggest:
    """The suggest_ calls, over _suggest(name, distribution)."""

    params: Dict[str, Any]

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        raise NotImplementedError

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

    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        """The old name of suggest_float(name, low, high)."""
        return self.suggest_float(name, low, high)

    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        """The old name of suggest_float(name, low, high, log=True)."""
        return self.suggest_float(name, low, high, log=True)

    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        """The old name of suggest_float(name, low, high, step=q)."""
        return self.suggest_float(name, low, high, step=q)


class FixedTrial(_Suggest):
    """A trial with parameters of your own, to call an objective with."""

    def __init__(self, params: Mapping[str, Any], number: int = 0) -> None:
        self._given = dict(params)
        self.params: Dict[str, Any] = {}
        self.number = number
        self.user_attrs: Dict[str, Any] = {}

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        if name not in self._given:
            raise ValueError(f"the trial has no value for {name!r}")
        self.params[name] = self._given[name]
        return self._given[name]

    def report(self, value: float, step: int) -> None:
        """Does nothing."""

    def should_prune(self) -> bool:
        """Never."""
        return False

    def set_user_attr(self, key: str, value: Any) -> None:
        """Keeps a value with the trial."""
        self.user_attrs[key] = value


class FrozenTrial:
    """What a study knows of a trial."""

    def __init__(self, number: int, state: TrialState, params: Optional[Dict[str, Any]] = None,
                 distributions: Optional[Dict[str, BaseDistribution]] = None, values: Optional[Sequence[float]] = None,
                 intermediate_values: Optional[Dict[int, float]] = None,
                 user_attrs: Optional[Dict[str, Any]] = None) -> None:
        self.number = number
        self.state = state
        self.params = params if params is not None else {}
        self.distributions = distributions if distributions is not None else {}
        self.values: Optional[List[float]] = None if values is None else [float(value) for value in values]
        self.intermediate_values = intermediate_values if intermediate_values is not None else {}
        self.user_attrs = user_attrs if user_attrs is not None else {}
        self.system_attrs: Dict[str, Any] = {}
        self.datetime_start: Optional[datetime.datetime] = datetime.datetime.now()
        self.datetime_complete: Optional[datetime.datetime] = None

    @property
    def value(self) -> Optional[float]:
        """The objective's value; None if there is none."""
        if self.values is not None and len(self.values) > 1:
            raise RuntimeError("the study has several objectives: see values")
        return self.values[0] if self.values else None

    @property
    def last_step(self) -> Optional[int]:
        """The highest step reported."""
        return max(self.intermediate_values) if self.intermediate_values else None

    @property
    def duration(self) -> Optional[datetime.timedelta]:
        """How long it took."""
        if self.datetime_start is None or self.datetime_complete is None:
            return None
        return self.datetime_complete - self.datetime_start

    def __repr__(self) -> str:
        return (f"FrozenTrial(number={self.number}, state={self.state}, values={self.values}, params={self.params}, "
                f"user_attrs={self.user_attrs}, intermediate_values={self.intermediate_values})")


def create_trial(*, state: TrialState = TrialState.COMPLETE, value: Optional[float] = None,
                 values: Optional[Sequence[float]] = None, params: Optional[Dict[str, Any]] = None,
                 distributions: Optional[Dict[str, BaseDistribution]] = None,
                 user_attrs: Optional[Dict[str, Any]] = None,
                 intermediate_values: Optional[Dict[int, float]] = None) -> FrozenTrial:
    """A trial for Study.add_trial(). Its parameters need their distributions."""
    if set(params or {}) != set(distributions or {}):
        raise ValueError("params and distributions must have the same names")
    if value is not None and values is not None:
        raise ValueError("give value or values, not both")
    trial = FrozenTrial(-1, state, params, distributions, values if value is None else [value], intermediate_values,
                        user_attrs)
    trial.datetime_complete = datetime.datetime.now() if state.is_finished() else None
    return trial


class Trial(_Suggest):
    """A trial that runs. `handle` is the daemon's trial; until there is one, the study has no sweep yet."""

    def __init__(self, study: "Study", frozen: FrozenTrial, fixed: Dict[str, Any], handle: Optional["Handle"]) -> None:
        self.study = study
        self._frozen = frozen
        self._fixed = fixed
        self._handle = handle
        self._alone = False  # the daemon cannot have its parameters
        self._unsent: List[Tuple[int, float]] = []
        self._stopped = False

    number = property(lambda self: self._frozen.number, doc="Counts from 0.")
    params = property(lambda self: dict(self._frozen.params), doc="What has been suggested.")  # type: ignore
    distributions = property(lambda self: dict(self._frozen.distributions), doc="And from what.")
    user_attrs = property(lambda self: dict(self._frozen.user_attrs), doc="What set_user_attr() kept.")
    datetime_start = property(lambda self: self._frozen.datetime_start, doc="When it began.")

    def set_user_attr(self, key: str, value: Any) -> None:
        """Keeps a value with the trial, in this process."""
        self._frozen.user_attrs[key] = value

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        frozen = self._frozen
        if name in frozen.params:
            if not distribution.contains(frozen.params[name]):
                raise ValueError(f"the trial's {name} is {frozen.params[name]!r} already, which {distribution!r} does "
                                 "not contain")
            return frozen.params[name]
        if name in self._fixed:
            value = self._fixed[name]
            if not distribution.contains(value):
                warnings.warn(f"the enqueued {name}={value!r} is outside {distribution!r}: it is used, but the sampler "
                              "does not learn from this trial", stacklevel=4)
        else:
            value = self.study._link.value(self._handle, name, distribution)
        frozen.params[name], frozen.distributions[name] = value, distribution
        return value

    def report(self, value: float, step: int) -> None:
        """Reports a value at a step. Steps count from 0 and rise; a second value of one step is ignored."""
        if len(self.study.directions) > 1:
            raise NotImplementedError("Trial.report is not for studies of several objectives")
        number = float(value)
        if int(step) < 0:
            raise ValueError(f"step must be at least 0, not {step}")
        if int(step) in self._frozen.intermediate_values:
            warnings.warn(f"step {step} of trial {self.number} is reported already: ignored", stacklevel=2)
            return
        self._frozen.intermediate_values[int(step)] = number
        self._unsent.append((int(step), number))
        if self.study._link.early_terminate is None:
            self._send()

    def should_prune(self) -> bool:
        """Is the trial to end, by what it reported?"""
        if len(self.study.directions) > 1:
            raise NotImplementedError("Trial.should_prune is not for studies of several objectives")
        self._send()
        return self._stopped

    def _send(self) -> None:
        """Not before should_prune(): a trial that never asks is not to be stopped."""
        if self._handle is None and not self._alone:
            self._handle = self.study._link.adopt(self._frozen)
            self._alone = self._handle is None
        unsent, self._unsent = self._unsent, []
        if self._handle is not None and not self._stopped:
            self._stopped = self.study._link.send(self._handle, unsent)

    def __repr__(self) -> str:
        return f"Trial(number={self.number}, params={self.params})"


def checked(result: Any, n: int) -> Union[List[float], str]:
    """What an objective returned as n values, or what is wrong with it."""
    results = list(result) if n > 1 and isinstance(result, (list, tuple)) else [result]
    if len(results) != n:
        return f"the objective returned {len(results)} values, and the study has {n} objectives"
    try:
        values = [float(value) for value in results]
    except (TypeError, ValueError):
        return f"the objective returned {result!r}, which is no number"
    return "the objective returned NaN" if any(math.isnan(value) for value in values) else values

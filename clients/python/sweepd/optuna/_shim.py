"""The names of Optuna's tutorial, for where it is not installed: studies of one process. Their sweeps are in the daemon,
and stay there. What they lack an error names."""
import dataclasses
import datetime
import decimal
import enum
import logging
import math
import random
import time
import uuid
import warnings
from typing import Any, Callable, Container, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

from .. import _distributions
from . import _mirror

__all__ = ["Study", "Trial", "TrialPruned", "create_study"]
_log = logging.getLogger("sweepd.optuna")
_log.addHandler(logging.StreamHandler())
_log.handlers[0].setFormatter(logging.Formatter("[%(levelname).1s %(asctime)s] %(message)s"))
_log.setLevel(logging.INFO)
_log.propagate = False


class TrialPruned(Exception):
    """Raise it in an objective to end the trial as PRUNED."""


class TrialState(enum.IntEnum):
    """What became of a trial."""

    RUNNING, COMPLETE, PRUNED, FAIL = range(4)

    def is_finished(self) -> bool:
        """Has it ended?"""
        return self != TrialState.RUNNING


class StudyDirection(enum.IntEnum):
    """Whether the best value is the smallest."""

    NOT_SET, MINIMIZE, MAXIMIZE = range(3)


# What a parameter may be

class BaseDistribution:
    """The base of the others."""


@dataclasses.dataclass
class FloatDistribution(BaseDistribution):
    """A real from low to high; with step a multiple of it from low on."""

    low: float
    high: float
    log: bool = False
    step: Optional[float] = None

    def __post_init__(self) -> None:
        low, high, step = self.low, self.high, self.step
        if low > high or self.log and low <= 0 or step is not None and step <= 0 or self.log and step not in (None, 1):
            raise ValueError(f"{self}: low must not be above high, and above 0 with log=True, which does not go with a "
                             "step; a step must be above 0")
        kind = int if _distributions.is_int(self) else float
        self.low, self.high = kind(low), kind(high)
        if step is not None:  # 0.7 - 0.1 is no multiple of 0.2 in binary numbers
            start, end, by = (decimal.Decimal(str(number)) for number in (low, high, step))
            self.high = kind(high if (end - start) % by == 0 else start + (end - start) // by * by)

    def single(self) -> bool:
        """Is there only one value?"""
        return self.low == self.high


@dataclasses.dataclass
class IntDistribution(FloatDistribution):
    """An integer from low to high, both included; with step a multiple of it from low on."""

    step: int = 1


@dataclasses.dataclass
class CategoricalDistribution(BaseDistribution):
    """One of the choices, which may be any objects."""

    choices: Sequence[Any]

    def __post_init__(self) -> None:
        self.choices = tuple(self.choices)
        if not self.choices:
            raise ValueError("choices must not be empty")


def _draw(distribution: Any, rng: random.Random) -> Any:
    """A value drawn here: of a parameter that the study has met for the first time."""
    if _distributions.is_category(distribution):
        return rng.choice(distribution.choices)
    low, high, step = distribution.low, distribution.high, distribution.step
    if not distribution.log:
        value = rng.uniform(low, high) if step is None else low + rng.randint(0, round((high - low) / step)) * step
    else:
        value = math.exp(rng.uniform(math.log(low), math.log(high + (step or 0))))
    return _distributions.nearest(distribution, int(value) if distribution.log and step else value)


# Samplers and pruners: each stands for a `method` or an `early_terminate` of a sweep (docs/spec.md), which has its own
# settings.

class BaseSampler:
    """The base of the others."""

    method = ""
    tells = True

    def __init__(self, *, seed: Optional[int] = None, **settings: Any) -> None:
        if not self.method:
            raise NotImplementedError("a sampler of your own needs Optuna: pip install optuna")
        self.seed = seed
        if settings:
            warnings.warn(f"{type(self).__name__}: {', '.join(sorted(settings))}: without effect, the daemon's method "
                          f"{self.method!r} has its own settings", stacklevel=2)


SAMPLERS: Dict[str, Type[BaseSampler]] = {
    f"{name}Sampler": type(f"{name}Sampler", (BaseSampler,), {"method": method, "__doc__": f"{method}."})
    for name, method in (("TPE", "tpe"), ("Random", "random"), ("GP", "bayes"), ("QMC", "sobol"))}


class BasePruner:
    """The base of the others."""


class NopPruner(BasePruner):
    """Never prunes."""


class MedianPruner(_distributions.Rule, BasePruner):
    """Prunes a trial below the median of what the completed ones had at this step."""

    def __init__(self, n_startup_trials: int = 5, n_warmup_steps: int = 0, interval_steps: int = 1) -> None:
        super().__init__("median", n_startup_trials=n_startup_trials, n_warmup_steps=n_warmup_steps,
                         interval_steps=interval_steps)


class ThresholdPruner(_distributions.Rule, BasePruner):
    """Prunes a trial outside fixed bounds."""

    def __init__(self, lower: Optional[float] = None, upper: Optional[float] = None, n_warmup_steps: int = 0) -> None:
        super().__init__("threshold", lower=lower, upper=upper, n_warmup_steps=n_warmup_steps)


class SuccessiveHalvingPruner(_distributions.Rule, BasePruner):
    """ASHA that stops: rungs at min_resource, times reduction_factor, and so on."""

    def __init__(self, min_resource: Union[str, int] = "auto", reduction_factor: int = 4, *,
                 brackets: Optional[int] = None) -> None:
        super().__init__("asha", grace_period=1 if min_resource == "auto" else int(min_resource),
                         reduction_factor=reduction_factor, brackets=brackets)


class HyperbandPruner(SuccessiveHalvingPruner):
    """The same with brackets."""

    def __init__(self, min_resource: int = 1, max_resource: int = 100, reduction_factor: int = 3) -> None:
        super().__init__(min_resource, reduction_factor,
                         brackets=int(math.log(max_resource / min_resource, reduction_factor) + 1e-9) + 1)


# Trials and studies

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

    value = property(lambda self: self.values[0] if self.values else None, doc="The objective's; None: there is none.")
    last_step = property(lambda self: max(self.intermediate_values, default=None), doc="The highest step reported.")

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
        if value is self or name not in self._fixed and not _distributions.contains(distribution, value):
            value = _draw(distribution, self.study._rng)
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


class Study:
    """Made by create_study(). `sweep` is the number of its sweep, for `sweep watch`; None before a trial has ended."""

    def __init__(self, study_name: str, directions: List[StudyDirection], sampler: Any, pruner: BasePruner) -> None:
        self.study_name, self.directions, self.sampler, self.pruner = study_name, directions, sampler, pruner
        self.user_attrs: Dict[str, Any] = {}
        self.trials: List[Trial] = []
        self._queue: List[Dict[str, Any]] = []
        self._stop = False
        self._rng = random.Random(sampler.seed)
        self._storage, self._study_id = self._rng, 0  # as _mirror knows a study

    def _mirror(self) -> _mirror.Mirror:
        seed = {} if self.sampler.seed is None else {"seed": self.sampler.seed}
        return _mirror.mirror_of(self, {"method": self.sampler.method, **seed})

    sweep = property(lambda self: getattr(_mirror.known(self), "sweep", None))
    direction = property(lambda self: self.directions[0])
    best_params = property(lambda self: self.best_trial.params)
    best_value = property(lambda self: self.best_trial.value)

    def get_trials(self, deepcopy: bool = True, states: Optional[Container[TrialState]] = None) -> List[Trial]:
        """The trials in these states."""
        return [trial for trial in self.trials if states is None or trial.state in states]

    @property
    def best_trials(self) -> List[Trial]:
        """The trials that no other beats."""
        costs = [([value if goal == StudyDirection.MINIMIZE else -value
                   for value, goal in zip(trial.values or (), self.directions)], trial)
                 for trial in self.get_trials(states=(TrialState.COMPLETE,))]
        return [trial for mine, trial in costs if not any(
            its != mine and all(x <= y for x, y in zip(its, mine)) for its, _ in costs)]

    @property
    def best_trial(self) -> Trial:
        """The completed trial with the best value."""
        if len(self.directions) > 1:
            raise RuntimeError("best_trial is for one objective: see best_trials")
        if not self.best_trials:
            raise ValueError("no trial is completed yet")
        return self.best_trials[0]

    def set_user_attr(self, key: str, value: Any) -> None:
        """Keeps a value with the study, in this process."""
        self.user_attrs[key] = value

    def enqueue_trial(self, params: Dict[str, Any]) -> None:
        """Parameters to try next; those that are missing are suggested."""
        self._queue.append(dict(params))

    def stop(self) -> None:
        """Makes optimize() return once the trial that runs has ended."""
        self._stop = True

    def ask(self, fixed_distributions: Optional[Mapping[str, Any]] = None) -> Trial:
        """A trial for tell()."""
        trial = Trial(self, len(self.trials), self._queue.pop(0) if self._queue else {})
        self.trials.append(trial)
        for name, distribution in (fixed_distributions or {}).items():
            trial._suggest(name, distribution)
        return trial

    def tell(self, trial: Union[Trial, int], values: Any = None, state: Optional[TrialState] = None,
             why: str = "") -> Trial:
        """Ends a trial of ask(). What is no number, or not as many as there are objectives, is a FAIL."""
        trial = self.trials[trial] if isinstance(trial, int) else trial
        if trial.state.is_finished():
            raise ValueError(f"trial {trial.number} does not run")
        try:
            result = [float(value) for value in (values if isinstance(values, (list, tuple)) else [values])]
        except (TypeError, ValueError):
            result = []
        if state == TrialState.PRUNED:
            result = [value for step, value in trial.intermediate_values.items() if step == trial.last_step]
        elif state is None:
            fits = len(result) == len(self.directions) and not any(map(math.isnan, result))
            state = TrialState.COMPLETE if fits else TrialState.FAIL
        trial.values = result or None if state != TrialState.FAIL else None
        self._mirror().end(self, _mirror.Ended(trial, state.name, trial.values, why))
        trial.state, trial.datetime_complete = state, datetime.datetime.now()
        return trial

    def optimize(self, func: Callable[[Trial], Any], n_trials: Optional[int] = None, timeout: Optional[float] = None,
                 n_jobs: int = 1, catch: Union[Type[Exception], Tuple[Type[Exception], ...]] = (),
                 callbacks: Optional[Iterable[Callable[["Study", Trial], None]]] = None) -> None:
        """Runs the objective n_trials times, or until the timeout (seconds), stop() or Ctrl-C, one at a time.

        An exception ends the trial as FAIL; one that `catch` does not name ends the call, too.
        """
        if n_jobs != 1:
            _log.warning("n_jobs needs Optuna (pip install optuna): one trial runs at a time")
        self._stop, began, left = False, time.monotonic(), math.inf if n_trials is None else n_trials
        try:
            while left > 0 and not self._stop and (timeout is None or time.monotonic() - began < timeout):
                left -= 1
                trial = self._one(func, catch)
                for callback in callbacks or ():
                    callback(self, trial)
        finally:
            _mirror.close(self)

    def _one(self, func: Any, catch: Any) -> Trial:
        trial = self.ask()
        try:
            self.tell(trial, func(trial))
        except TrialPruned:
            self.tell(trial, state=TrialState.PRUNED)
        except BaseException as error:
            self.tell(trial, state=TrialState.FAIL, why=f"{type(error).__name__}: {error}")
            _log.warning("Trial %d failed: %s: %s", trial.number, type(error).__name__, error)
            if not isinstance(error, catch):
                raise
        _log.info("Trial %d: %s %s with %s", trial.number, trial.state.name, trial.values, trial.params)
        return trial


def create_study(*, storage: Any = None, sampler: Any = None, pruner: Optional[BasePruner] = None,
                 study_name: Optional[str] = None, direction: Any = None, load_if_exists: bool = False,
                 directions: Optional[Sequence[Any]] = None) -> Study:
    """A study of this process, whose sweep has its name."""
    if storage is not None or load_if_exists:
        raise NotImplementedError("studies that outlive their process need Optuna: pip install optuna")
    goals = [goal if isinstance(goal, StudyDirection) else StudyDirection[goal.upper()]
             for goal in directions or [direction or "minimize"]]
    return Study(study_name or f"no-name-{uuid.uuid4()}", goals, sampler or SAMPLERS["TPESampler"](),
                 pruner or MedianPruner())


def _names(*kinds: Any) -> Dict[str, Any]:
    return {kind.__name__: kind for kind in kinds}


# Optuna's modules, each with the names that it has
MODULES: Dict[str, Dict[str, Any]] = {
    "distributions": _names(BaseDistribution, FloatDistribution, IntDistribution, CategoricalDistribution),
    "exceptions": _names(TrialPruned),
    "logging": {"get_logger": _log.getChild, "set_verbosity": _log.setLevel, "get_verbosity": _log.getEffectiveLevel,
                **{name: getattr(logging, name) for name in ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")}},
    "pruners": _names(BasePruner, NopPruner, MedianPruner, ThresholdPruner, SuccessiveHalvingPruner, HyperbandPruner),
    "samplers": {"BaseSampler": BaseSampler, **SAMPLERS},
    "study": _names(Study, StudyDirection, create_study),
    "trial": {"FrozenTrial": Trial, **_names(Trial, TrialState)},
}

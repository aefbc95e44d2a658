"""Studies of this process. Its sweep is in the daemon, and stays there."""
from __future__ import annotations

import datetime
import enum
import math
import random
import time
import uuid
from typing import Any, Callable, Container, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

from .. import _mirror
from .exceptions import TrialPruned
from .logging import get_logger
from .pruners import BasePruner, MedianPruner
from .samplers import BaseSampler, TPESampler
from .trial import FrozenTrial, Trial, TrialState

_log = get_logger()


class StudyDirection(enum.IntEnum):
    """Whether the best value is the smallest."""

    NOT_SET = 0
    MINIMIZE = 1
    MAXIMIZE = 2


class Study:
    """Made by create_study()."""

    def __init__(self, study_name: str, directions: List[StudyDirection], sampler: BaseSampler, pruner: BasePruner) -> None:
        self.study_name, self.directions, self.sampler, self.pruner = study_name, directions, sampler, pruner
        self.user_attrs: Dict[str, Any] = {}
        self.trials: List[FrozenTrial] = []
        self._queue: List[Dict[str, Any]] = []
        self._running: Dict[int, Trial] = {}
        self._stop = False
        self._rng = random.Random(sampler.seed)
        self._storage, self._study_id = self, 0  # as _mirror knows a study

    def _mirror(self) -> _mirror.Mirror:
        return _mirror.mirror_of(self, {"method": self.sampler.method,
                                        **({} if self.sampler.seed is None else {"seed": self.sampler.seed})})

    @property
    def sweep(self) -> Optional[int]:
        """The number of the study's sweep, for `sweep watch`; None before its first trial has ended."""
        return self._mirror().sweep if self.trials else None

    @property
    def direction(self) -> StudyDirection:
        """The direction of a study of one objective."""
        return self.directions[0]

    def get_trials(self, deepcopy: bool = True, states: Optional[Container[TrialState]] = None) -> List[FrozenTrial]:
        """The trials in these states."""
        del deepcopy
        return [trial for trial in self.trials if states is None or trial.state in states]

    @property
    def best_trials(self) -> List[FrozenTrial]:
        """The trials that no other beats."""
        costs = [([value if goal == StudyDirection.MINIMIZE else -value
                   for value, goal in zip(trial.values or (), self.directions)], trial)
                 for trial in self.get_trials(states=(TrialState.COMPLETE,))]
        return [trial for mine, trial in costs if not any(
            its != mine and all(x <= y for x, y in zip(its, mine)) for its, _ in costs)]

    @property
    def best_trial(self) -> FrozenTrial:
        """The completed trial with the best value."""
        if len(self.directions) > 1:
            raise RuntimeError("best_trial is for one objective: see best_trials")
        if not self.best_trials:
            raise ValueError("no trial is completed yet")
        return self.best_trials[0]

    best_params = property(lambda self: self.best_trial.params, doc="The parameters of the best trial.")
    best_value = property(lambda self: self.best_trial.value, doc="The value of the best trial.")

    def trials_dataframe(self) -> Any:
        """The trials as a pandas.DataFrame."""
        import pandas  # type: ignore
        return pandas.DataFrame([{
            "number": trial.number, **({"value": trial.value} if len(self.directions) == 1 else
                                       {f"values_{i}": value for i, value in enumerate(trial.values or ())}),
            "duration": trial.duration, **{f"params_{name}": value for name, value in trial.params.items()},
            **{f"user_attrs_{name}": value for name, value in trial.user_attrs.items()}, "state": trial.state.name,
        } for trial in self.trials])

    def set_user_attr(self, key: str, value: Any) -> None:
        """Keeps a value with the study, in this process."""
        self.user_attrs[key] = value

    def enqueue_trial(self, params: Dict[str, Any]) -> None:
        """Parameters to try next; those that are missing are suggested."""
        self._queue.append(dict(params))

    def add_trial(self, trial: FrozenTrial) -> None:
        """Adds one that create_trial() made. The sampler learns from it if it is COMPLETE or PRUNED."""
        if trial.values is not None and len(trial.values) != len(self.directions):
            raise ValueError(f"the trial has {len(trial.values)} values, and the study {len(self.directions)} objectives")
        trial.number = len(self.trials)
        self.trials.append(trial)
        if self.sweep is not None:
            self._mirror().end(self, _mirror.Ended(trial))

    def stop(self) -> None:
        """Makes optimize() return once the trial that runs has ended."""
        self._stop = True

    def ask(self, fixed_distributions: Optional[Mapping[str, Any]] = None) -> Trial:
        """A trial for tell()."""
        frozen = FrozenTrial(len(self.trials))
        self.trials.append(frozen)
        trial = self._running[frozen.number] = Trial(self, frozen, self._queue.pop(0) if self._queue else {})
        for name, distribution in (fixed_distributions or {}).items():
            trial._suggest(name, distribution)
        return trial

    def tell(self, trial: Union[Trial, int], values: Any = None, state: Optional[TrialState] = None,
             why: str = "") -> FrozenTrial:
        """Ends a trial of ask(). What is no number, or not as many as there are objectives, is a FAIL."""
        number = trial if isinstance(trial, int) else trial.number
        if number not in self._running:
            raise ValueError(f"trial {number} does not run")
        frozen = self._running.pop(number)._frozen
        result = list(values) if isinstance(values, (list, tuple)) else [values]
        try:
            result = [float(value) for value in result]
        except (TypeError, ValueError):
            result = []
        if state == TrialState.PRUNED:
            result = [value for step, value in frozen.intermediate_values.items() if step == frozen.last_step]
        elif state is None:
            fits = len(result) == len(self.directions) and not any(map(math.isnan, result))
            state = TrialState.COMPLETE if fits else TrialState.FAIL
        frozen.values = result if state in (TrialState.COMPLETE, TrialState.PRUNED) and result else None
        self._mirror().end(self, _mirror.Ended(frozen, state.name, frozen.values, why))
        frozen.state, frozen.datetime_complete = state, datetime.datetime.now()
        return frozen

    def optimize(self, func: Callable[[Trial], Any], n_trials: Optional[int] = None, timeout: Optional[float] = None,
                 n_jobs: int = 1, catch: Union[Type[Exception], Tuple[Type[Exception], ...]] = (),
                 callbacks: Iterable[Callable[["Study", FrozenTrial], None]] = ()) -> None:
        """Runs the objective n_trials times, or until the timeout (seconds), stop() or Ctrl-C, one at a time.

        An exception ends the trial as FAIL; one that `catch` does not name ends the call, too.
        """
        if n_jobs != 1:
            _log.warning("n_jobs needs Optuna (pip install optuna): one trial runs at a time")
        self._stop, began, left = False, time.monotonic(), math.inf if n_trials is None else n_trials
        try:
            while left > 0 and not self._stop and (timeout is None or time.monotonic() - began < timeout):
                left -= 1
                self._one(func, catch, callbacks)
        finally:
            _mirror.close(self)

    def _one(self, func: Any, catch: Any, callbacks: Any) -> None:
        trial = self.ask()
        try:
            frozen = self.tell(trial, func(trial))
        except TrialPruned:
            frozen = self.tell(trial, state=TrialState.PRUNED)
        except BaseException as error:
            frozen = self.tell(trial, state=TrialState.FAIL, why=f"{type(error).__name__}: {error}")
            if not isinstance(error, catch):
                raise
        _log.info("Trial %d: %s %s with %s", frozen.number, frozen.state.name, frozen.values, frozen.params)
        for callback in callbacks or ():
            callback(self, frozen)


def create_study(*, storage: Any = None, sampler: Optional[BaseSampler] = None, pruner: Optional[BasePruner] = None,
                 study_name: Optional[str] = None, direction: Any = None, load_if_exists: bool = False,
                 directions: Optional[Sequence[Any]] = None) -> Study:
    """A study of this process, whose sweep has its name."""
    if storage is not None or load_if_exists:
        raise NotImplementedError("studies that outlive their process need Optuna: pip install optuna")
    goals = [goal if isinstance(goal, StudyDirection) else StudyDirection[goal.upper()]
             for goal in directions or [direction or "minimize"]]
    return Study(study_name or f"no-name-{uuid.uuid4()}", goals, sampler or TPESampler(), pruner or MedianPruner())

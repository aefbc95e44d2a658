"""Studies of this process. Their sweeps are in the daemon, and stay there."""
from __future__ import annotations

import datetime
import enum
import math
import random
import time
import uuid
from typing import Any, Callable, Container, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

from .. import _mirror
from . import samplers
from .exceptions import TrialPruned
from .logging import get_logger
from .pruners import BasePruner, MedianPruner
from .trial import Trial, TrialState

_log = get_logger("study")


class StudyDirection(enum.IntEnum):
    """Whether the best value is the smallest."""

    NOT_SET, MINIMIZE, MAXIMIZE = range(3)


class Study:
    """Made by create_study(). `sweep` is the number of its sweep, for `sweep watch`; None before a trial has ended."""

    def __init__(self, study_name: str, directions: List[StudyDirection], sampler: Any, pruner: BasePruner) -> None:
        self.study_name, self.directions, self.sampler, self.pruner = study_name, directions, sampler, pruner
        self.user_attrs: Dict[str, Any] = {}
        self.trials: List[Trial] = []
        self._queue: List[Dict[str, Any]] = []
        self._stop = False
        self._rng = random.Random(sampler.seed)
        self._storage, self._study_id = self, 0  # as _mirror knows a study

    def _mirror(self) -> _mirror.Mirror:
        seed = {} if self.sampler.seed is None else {"seed": self.sampler.seed}
        return _mirror.mirror_of(self, {"method": self.sampler.method, **seed})

    sweep = property(lambda self: getattr(_mirror.known(self), "sweep", None))
    direction = property(lambda self: self.directions[0])
    best_params = property(lambda self: self.best_trial.params)
    best_value = property(lambda self: self.best_trial.value)

    def get_trials(self, deepcopy: bool = True, states: Optional[Container[TrialState]] = None) -> List[Trial]:
        """The trials in these states."""
        del deepcopy
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
    return Study(study_name or f"no-name-{uuid.uuid4()}", goals,
                 sampler or samplers.TPESampler(), pruner or MedianPruner())  # type: ignore[attr-defined]

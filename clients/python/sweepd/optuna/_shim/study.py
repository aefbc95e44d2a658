"""Studies."""
from __future__ import annotations

import datetime
import enum
import os
import threading
import time
import uuid
import warnings
from typing import Any, Callable, Container, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

from ._link import Exhausted, Link
from ._stored import load
from .exceptions import DuplicatedStudyError, TrialPruned
from .logging import get_logger
from .pruners import BasePruner, MedianPruner
from .samplers import BaseSampler, TPESampler
from .trial import FrozenTrial, Trial, TrialState, checked

Objective = Callable[[Trial], Any]
Callback = Callable[["Study", FrozenTrial], None]
_log = get_logger()


class StudyDirection(enum.IntEnum):
    """Whether the best value is the smallest."""

    NOT_SET = 0
    MINIMIZE = 1
    MAXIMIZE = 2


class MaxTrialsCallback:
    """A callback that stops a study once so many trials are in one of these states."""

    def __init__(self, n_trials: int, states: Optional[Container[TrialState]] = (TrialState.COMPLETE,)) -> None:
        self._n, self._states = n_trials, states

    def __call__(self, study: "Study", trial: FrozenTrial) -> None:
        if sum(self._states is None or each.state in self._states for each in study.trials) >= self._n:
            study.stop()


class Study:
    """Made by create_study(). The trials are this process's; the sweep that suggests and prunes is the daemon's."""

    def __init__(self, study_name: str, directions: Sequence[StudyDirection], sampler: BaseSampler,
                 pruner: BasePruner) -> None:
        self.study_name = study_name
        self.directions: List[StudyDirection] = list(directions)
        self.sampler, self.pruner = sampler, pruner
        self.user_attrs: Dict[str, Any] = {}
        self._trials: List[FrozenTrial] = []
        self._queue: List[Tuple[Dict[str, Any], Dict[str, Any]]] = []
        self._asked: Dict[int, Trial] = {}
        self._stop = threading.Event()
        self._lock = threading.RLock()
        self._link = Link(self, study_name, sampler, pruner)

    # What there is

    @property
    def sweep(self) -> Optional[int]:
        """The number of the study's sweep, for `sweep watch`; None before its first trial."""
        return self._link.sweep

    @property
    def direction(self) -> StudyDirection:
        """The direction of a study of one objective."""
        self._single("direction", "directions")
        return self.directions[0]

    @property
    def trials(self) -> List[FrozenTrial]:
        """All trials, by number."""
        return self.get_trials()

    def get_trials(self, deepcopy: bool = True, states: Optional[Container[TrialState]] = None) -> List[FrozenTrial]:
        """The trials in these states."""
        del deepcopy
        with self._lock:
            return [trial for trial in self._trials if states is None or trial.state in states]

    @property
    def best_trials(self) -> List[FrozenTrial]:
        """The trials that no other beats."""
        done = self.get_trials(states=(TrialState.COMPLETE,))
        return [trial for trial in done if not any(self._beats(other, trial) for other in done)]

    @property
    def best_trial(self) -> FrozenTrial:
        """The completed trial with the best value."""
        self._single("best_trial", "best_trials")
        done = self.get_trials(states=(TrialState.COMPLETE,))
        if not done:
            raise ValueError("no trial is completed yet")
        return min(done, key=lambda trial: self._costs(trial)[0])

    best_params = property(lambda self: self.best_trial.params, doc="The parameters of the best trial.")
    best_value = property(lambda self: self.best_trial.value, doc="The value of the best trial.")

    def _single(self, name: str, instead: str) -> None:
        if len(self.directions) > 1:
            raise RuntimeError(f"{name} is for one objective: this study has {len(self.directions)}, see {instead}")

    def _costs(self, trial: FrozenTrial) -> List[float]:
        return [-value if direction == StudyDirection.MAXIMIZE else value
                for value, direction in zip(trial.values or (), self.directions)]

    def _beats(self, a: FrozenTrial, b: FrozenTrial) -> bool:
        mine, its = self._costs(a), self._costs(b)
        return mine != its and all(x <= y for x, y in zip(mine, its))

    def trials_dataframe(self, **settings: Any) -> Any:
        """The trials as a pandas.DataFrame."""
        if settings:
            raise NotImplementedError(f"trials_dataframe({', '.join(settings)}) is not carried over: choose the columns "
                                      "of the frame")
        import pandas  # type: ignore
        several = len(self.directions) > 1
        return pandas.DataFrame([{
            "number": trial.number,
            **({f"values_{i}": value for i, value in enumerate(trial.values or ())} if several else {"value": trial.value}),
            "datetime_start": trial.datetime_start, "datetime_complete": trial.datetime_complete,
            "duration": trial.duration, **{f"params_{name}": value for name, value in trial.params.items()},
            **{f"user_attrs_{name}": value for name, value in trial.user_attrs.items()}, "state": trial.state.name,
        } for trial in self.trials])

    # What is to come

    def set_user_attr(self, key: str, value: Any) -> None:
        """Keeps a value with the study, in this process."""
        self.user_attrs[key] = value

    def enqueue_trial(self, params: Dict[str, Any], user_attrs: Optional[Dict[str, Any]] = None,
                      skip_if_exists: bool = False) -> None:
        """Parameters to try next; those that are missing are suggested."""
        with self._lock:
            known = [trial.params for trial in self._trials] + [each for each, _ in self._queue]
            if not (skip_if_exists and dict(params) in known):
                self._queue.append((dict(params), dict(user_attrs or {})))

    def add_trial(self, trial: FrozenTrial) -> None:
        """Adds one that create_trial() made. The sampler learns from it if it is COMPLETE or PRUNED."""
        if trial.state == TrialState.WAITING:
            self.enqueue_trial(trial.params, trial.user_attrs)
            return
        if trial.values is not None and len(trial.values) != len(self.directions):
            raise ValueError(f"the trial has {len(trial.values)} values, and the study {len(self.directions)} objectives")
        with self._lock:
            copy = FrozenTrial(len(self._trials), trial.state, dict(trial.params), dict(trial.distributions), trial.values,
                               dict(trial.intermediate_values), dict(trial.user_attrs))
            copy.datetime_start, copy.datetime_complete = trial.datetime_start, trial.datetime_complete
            self._trials.append(copy)
        if self._link.sweep is not None:
            self._link.learn(copy, None)

    def add_trials(self, trials: Iterable[FrozenTrial]) -> None:
        """Adds several."""
        for trial in trials:
            self.add_trial(trial)

    def stop(self) -> None:
        """Makes optimize() return once the trials that run have ended."""
        self._stop.set()

    # Trials

    def ask(self, fixed_distributions: Optional[Mapping[str, Any]] = None) -> Trial:
        """A trial for tell()."""
        with self._lock:
            fixed, attrs = self._queue.pop(0) if self._queue else ({}, {})
        handle = self._link.ask(fixed)
        with self._lock:
            frozen = FrozenTrial(len(self._trials), TrialState.RUNNING, user_attrs=attrs)
            self._trials.append(frozen)
            trial = Trial(self, frozen, fixed, handle)
            self._asked[frozen.number] = trial
        for name, distribution in (fixed_distributions or {}).items():
            trial._suggest(name, distribution)
        return trial

    def tell(self, trial: Union[Trial, int], values: Any = None, state: Optional[TrialState] = None,
             skip_if_finished: bool = False) -> FrozenTrial:
        """Ends a trial of ask()."""
        number = trial if isinstance(trial, int) else trial.number
        if number not in self._asked:
            if skip_if_finished and 0 <= number < len(self._trials):
                return self._trials[number]
            raise ValueError(f"trial {number} does not run")
        if state in (TrialState.PRUNED, TrialState.FAIL):
            return self._end(self._asked[number], state, None, "told so" if state == TrialState.FAIL else None)
        result = checked(values, len(self.directions))
        if isinstance(result, str):
            if state is not None:
                raise ValueError(result)
            return self._end(self._asked[number], TrialState.FAIL, None, result)
        return self._end(self._asked[number], TrialState.COMPLETE, result, None)

    def _end(self, trial: Trial, state: TrialState, values: Optional[List[float]], cause: Optional[str]) -> FrozenTrial:
        frozen = trial._frozen
        if state == TrialState.PRUNED and frozen.intermediate_values and len(self.directions) == 1:
            last = frozen.intermediate_values[max(frozen.intermediate_values)]
            values = [last] if last == last else None
        with self._lock:
            self._asked.pop(frozen.number)
            frozen.values, frozen.datetime_complete = values, datetime.datetime.now()
        if state == TrialState.PRUNED or trial._handle is None and state == TrialState.COMPLETE:
            trial._send()
        frozen.state = state
        if trial._handle is not None:
            self._link.tell(trial._handle, frozen, cause)
        if not trial._alone:
            self._link.learn(frozen, trial._handle)
        return frozen

    def optimize(self, func: Objective, n_trials: Optional[int] = None, timeout: Optional[float] = None,
                 n_jobs: int = 1, catch: Union[Type[Exception], Iterable[Type[Exception]]] = (),
                 callbacks: Optional[Iterable[Callback]] = None, gc_after_trial: bool = False,
                 show_progress_bar: bool = False) -> None:
        """Runs the objective n_trials times, or until the timeout (seconds), stop() or Ctrl-C; in n_jobs threads.

        An exception ends the trial as FAIL; one that `catch` does not name ends the call, too.
        """
        del gc_after_trial, show_progress_bar
        run = _Run(self, func, n_trials, timeout, (catch,) if isinstance(catch, type) else tuple(catch),
                   list(callbacks or ()))
        self._stop.clear()
        self._link.want = None if n_trials is None else len(self._trials) + n_trials
        try:
            run.threads(len(os.sched_getaffinity(0)) if n_jobs == -1 else n_jobs)
        finally:
            self._link.want = None
            self._link.close()

    def __repr__(self) -> str:
        return f"Study({self.study_name!r}, {len(self._trials)} trials)"


class _Run:
    """One call of optimize()."""

    def __init__(self, study: Study, func: Objective, n: Optional[int], timeout: Optional[float],
                 catch: Tuple[Type[Exception], ...], callbacks: List[Callback]) -> None:
        self.study, self.func, self.left, self.catch, self.callbacks = study, func, n, catch, callbacks
        self.until = None if timeout is None else time.monotonic() + timeout
        self.error: Optional[BaseException] = None

    def threads(self, n: int) -> None:
        """Runs the trials in n threads, of which this is one; raises what one of them raised."""
        others = [threading.Thread(target=self.work) for _ in range(n - 1)]
        for thread in others:
            thread.start()
        self.work()
        for thread in others:
            thread.join()
        if self.error is not None:
            raise self.error

    def work(self) -> None:
        try:
            while self.more():
                self.one(self.study.ask())
        except Exhausted:
            self.study.stop()
        except BaseException as error:
            self.error = self.error or error
            self.study.stop()

    def more(self) -> bool:
        if self.study._stop.is_set() or self.until is not None and time.monotonic() >= self.until:
            return False
        with self.study._lock:
            if self.left is not None:
                self.left -= 1
            return self.left is None or self.left >= 0

    def one(self, trial: Trial) -> None:
        study = self.study
        try:
            result = checked(self.func(trial), len(study.directions))
        except TrialPruned:
            frozen = study._end(trial, TrialState.PRUNED, None, None)
            _log.info("Trial %d pruned. %s", frozen.number, frozen.params)
        except BaseException as error:
            frozen = study._end(trial, TrialState.FAIL, None, f"{type(error).__name__}: {error}")
            if not isinstance(error, self.catch):
                raise
            _log.warning("Trial %d failed: %s: %s", frozen.number, type(error).__name__, error)
        else:
            if isinstance(result, str):
                frozen = study._end(trial, TrialState.FAIL, None, result)
                _log.warning("Trial %d failed: %s", frozen.number, result)
            else:
                frozen = study._end(trial, TrialState.COMPLETE, result, None)
                self.say(frozen)
        for callback in self.callbacks:
            callback(study, frozen)

    def say(self, trial: FrozenTrial) -> None:
        if len(self.study.directions) > 1:
            _log.info("Trial %d: %s with %s", trial.number, trial.values, trial.params)
            return
        best = self.study.best_trial
        _log.info("Trial %d: %s with %s. Best: %s, trial %d", trial.number, trial.value, trial.params, best.value,
                  best.number)


def _direction(word: Any) -> StudyDirection:
    if isinstance(word, StudyDirection):
        return word
    if word not in ("minimize", "maximize"):
        raise ValueError(f'a direction is "minimize" or "maximize", not {word!r}')
    return StudyDirection[word.upper()]


def create_study(*, storage: Any = None, sampler: Optional[BaseSampler] = None, pruner: Optional[BasePruner] = None,
                 study_name: Optional[str] = None, direction: Any = None, load_if_exists: bool = False,
                 directions: Optional[Sequence[Any]] = None) -> Study:
    """A study. Its sweep has its name; the daemon keeps it, so `storage` is not used.

    With load_if_exists the newest study of this name goes on, in its sweep.
    """
    if direction is not None and directions is not None:
        raise ValueError("give direction or directions, not both")
    goals = [_direction(word) for word in (directions or [direction or "minimize"])]
    if storage is not None:
        warnings.warn("storage is not used: the daemon keeps every study by its study_name", stacklevel=2)
    name = study_name or f"no-name-{uuid.uuid4()}"
    study = Study(name, goals, sampler or TPESampler(), pruner or MedianPruner())
    if study_name is not None and (load_if_exists or storage is not None):
        found = load(study)
        if found and not load_if_exists:
            raise DuplicatedStudyError(f"there is a study {name!r}, sweep {study.sweep}: load_if_exists=True goes on with "
                                       "it")
    _log.info("Study %s", f"{name} goes on in sweep {study.sweep}" if study.sweep else name)
    return study


def load_study(*, study_name: Optional[str] = None, storage: Any = None, sampler: Optional[BaseSampler] = None,
               pruner: Optional[BasePruner] = None) -> Study:
    """The newest study of this name, with its trials."""
    del storage
    if study_name is None:
        raise NotImplementedError("load_study needs study_name: the daemon has studies by their name")
    study = Study(study_name, [StudyDirection.MINIMIZE], sampler or TPESampler(), pruner or MedianPruner())
    if not load(study):
        raise KeyError(f"there is no study {study_name!r}")
    return study

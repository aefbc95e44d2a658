"""A sampler, a pruner and a storage of Optuna's kinds, and what is taken where a script names none."""
import base64
import contextlib
import hashlib
import itertools
import json
import os
import pickle
import re
import types
import uuid
import warnings
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import RandomSampler
from optuna.samplers._base import _process_constraints_after_trial
from optuna.storages.journal import BaseJournalBackend
from optuna.storages.journal._storage import JournalStorage, JournalStorageReplayResult
from optuna.trial import FrozenTrial, TrialState

from .. import _distributions
from .._wire import said
from . import _mirror
from ._journal import MOST_BYTES, Journal

MOST_PICKLED = 65536  # of an object; a larger one stays in its process
MOST_PLAIN = MOST_BYTES - 10_000  # of what JSON can say
_local: Dict[str, Any] = {}  # objects that other processes see as text alone
# The distribution of each text that has objects as choices: a trial that is read again has the same ones, which need not
# equal anything else. Once this process has suggested such choices they are its own.
_known: Dict[str, CategoricalDistribution] = {}
_texts: Dict[Tuple[int, ...], str] = {}  # of this process's own, by their ids
_parts: "weakref.WeakSet[Any]" = weakref.WeakSet()  # generators that a fork would make twice
os.register_at_fork(after_in_child=lambda: [part.reseed_rng() for part in list(_parts)])


class Sampler(RandomSampler):
    """Suggests by the daemon: `method` is "bayes", "tpe", "bohb" or "random" (docs/search.md), `settings` are more keys of
    a sweep's spec. A parameter that the study has met for the first time is drawn at random."""

    tells = True

    def __init__(self, method: str = "bayes", *, seed: Optional[int] = None,
                 constraints_func: Optional[Callable[[FrozenTrial], Sequence[float]]] = None, **settings: Any) -> None:
        if method == "grid":
            raise ValueError("a grid ends by itself, whatever n_trials says: optuna.samplers.GridSampler is Optuna's own")
        super().__init__(seed)
        self._search = {"method": method, **({} if seed is None else {"seed": seed}), **settings}
        self._constraints_func = constraints_func
        _parts.add(self)

    def _mirror(self, study: Any) -> Tuple[_mirror.Mirror, optuna.Study]:
        """The study's, and the study: HyperbandPruner gives a sampler one that has the trials of a bracket alone."""
        study = getattr(study, "_study", study)
        return _mirror.mirror_of(study, self._search), study

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> Dict[str, BaseDistribution]:
        mirror, study = self._mirror(study)
        space = mirror.known(study)
        theirs = [known for text, known in _known.items() if text not in _texts.values()]  # no choices of this objective
        return {} if any(each is known for each in space.values() for known in theirs) else space

    def sample_relative(self, study: optuna.Study, trial: FrozenTrial,
                        search_space: Dict[str, BaseDistribution]) -> Dict[str, Any]:
        if not search_space:
            return {}
        mirror, study = self._mirror(study)
        given = mirror.ask(study, trial.number, trial.system_attrs.get("fixed_params", {}))
        return {name: value for name, value in given.items() if name in search_space}

    def after_trial(self, study: optuna.Study, trial: FrozenTrial, state: TrialState,
                    values: Optional[Sequence[float]]) -> None:
        if self._constraints_func is not None:
            _process_constraints_after_trial(self._constraints_func, study, trial, state)
            trial = study._storage.get_trial(trial._trial_id)
        mirror, study = self._mirror(study)
        mirror.end(study, _mirror.Ended(trial, state.name, values))


class Pruner(_distributions.Rule, optuna.pruners.BasePruner):
    """Prunes by the daemon: `type` and `settings` are those of a sweep's `early_terminate` (docs/spec.md). The default is
    as Optuna's, the median. A study's steps count from 0; rungs are steps, as in Optuna's own pruners."""

    def prune(self, study: optuna.Study, trial: FrozenTrial) -> bool:
        return _mirror.mirror_of(study).judge(study, trial)


# The storage

class _Theirs(str):
    """The name of an object of another process. It equals the one of this process that is called so: one script's
    processes have the same choices."""

    def __eq__(self, other: Any) -> bool:
        return str(self) == (str(other) if isinstance(other, str) else said(other)[:200])

    __hash__ = str.__hash__
    __repr__ = str.__str__


def _pack(value: Any) -> Any:
    """A value in JSON, where that has no such thing too. An object that cannot be pickled, or is large, is itself in
    this process alone, and Theirs in others."""
    if value is None or isinstance(value, (bool, int, float)) or isinstance(value, str) and len(value) < MOST_PICKLED:
        return value
    if type(value) in (list, dict, str) and (type(value) is not dict or all(isinstance(key, str) for key in value)):
        packed = ([_pack(each) for each in value] if type(value) is list else
                  {key: _pack(each) for key, each in value.items()} if type(value) is dict else value)
        if len(json.dumps(json.dumps(packed))) < MOST_PLAIN:
            return packed
        warnings.warn(f"an attribute of over {MOST_PLAIN} bytes stays in this process: keep a file, and name it", stacklevel=2)
    with contextlib.suppress(Exception):  # whatever an object's own methods raise
        data = pickle.dumps(value)
        if len(data) <= MOST_PICKLED:
            return {"sweepd:pickle": base64.b64encode(data).decode()}
    key = f"{os.getpid()} {uuid.uuid4().hex}"
    _local[key] = value
    return {"sweepd:local": key, "repr": said(value)[:200]}


def _unpack(value: Dict[str, Any]) -> Any:
    if "sweepd:pickle" in value:
        try:
            return pickle.loads(base64.b64decode(value["sweepd:pickle"]))
        except Exception as error:  # its module is not here
            return f"an object of another process: {error}"
    return _local.get(value["sweepd:local"], _Theirs(value["repr"])) if "sweepd:local" in value else value


def _to_json(distribution: BaseDistribution) -> str:
    if not isinstance(distribution, CategoricalDistribution):
        return optuna.distributions.distribution_to_json(distribution)
    ids = tuple(map(id, distribution.choices))
    packed, n = [_pack(each) for each in distribution.choices] if ids not in _texts else [], 0
    while ids not in _texts:
        text = json.dumps({"name": "CategoricalDistribution", "attributes": {"choices": packed}, "alike": n})
        text = re.sub(r'("sweepd:local": )"[^"]*"', r'\1""', text)
        known = _from_json(text)
        if text in _known and text not in _texts.values():
            _adopt(known, distribution.choices)
            _texts[ids] = text
        elif text not in _known or known.choices == distribution.choices:
            return text
        n += 1  # these look like others, and are not
    return _texts[ids]


def _adopt(known: CategoricalDistribution, choices: Any) -> None:
    """Puts this process's own objects in the place of another's, in the trials that were read before, too."""
    old, known.choices = known.choices, choices
    for storage in (part for part in list(_parts) if isinstance(part, Storage)):
        for trial in list(storage._replay_result._trials.values()):
            trial.params.update({name: next(mine for mine, its in zip(choices, old) if its is trial.params[name])
                                 for name, each in trial.distributions.items() if each is known})


def _from_json(text: str) -> BaseDistribution:
    if text in _known:
        return _known[text]
    loaded = json.loads(text, object_hook=_unpack)
    if loaded["name"] != "CategoricalDistribution":
        return optuna.distributions.json_to_distribution(text)
    known = CategoricalDistribution.__new__(CategoricalDistribution)  # it warned of odd choices when it was made
    known.choices = tuple(loaded["attributes"]["choices"])
    if re.search('"sweepd:(local|pickle)"', text):
        _known[text] = known
    return known


def _with(function: Any, **names: Any) -> Any:
    """The function, with other values for some of its module's names."""
    return types.FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__,
                              function.__defaults__, function.__closure__)


class _Replay(JournalStorageReplayResult):
    _apply_create_trial = _with(JournalStorageReplayResult._apply_create_trial, json_to_distribution=_from_json)
    _apply_set_trial_param = _with(JournalStorageReplayResult._apply_set_trial_param, json_to_distribution=_from_json)


class Backend(Journal, BaseJournalBackend):
    """The log of a JournalStorage, kept by the daemon."""

    def read_logs(self, log_number_from: int) -> Iterable[Dict[str, Any]]:
        return [json.loads(text, object_hook=_unpack) for text in self.read(log_number_from)]

    def append_logs(self, logs: List[Dict[str, Any]]) -> None:
        for log in logs:
            self.append(json.dumps({key: value if isinstance(value, str) else _pack(value) for key, value in log.items()}))


class Storage(JournalStorage):
    """Optuna's JournalStorage over the daemon's log `name`: every process of this user has its studies. Choices and
    attributes may be any objects, as in memory."""

    __setstate__ = _with(JournalStorage.__setstate__, JournalStorageReplayResult=_Replay)
    create_new_trial = _with(JournalStorage.create_new_trial, distribution_to_json=_to_json)
    set_trial_param = _with(JournalStorage.set_trial_param, distribution_to_json=_to_json)
    _init = _with(JournalStorage.__init__, JournalStorageReplayResult=_Replay)

    def __init__(self, name: str) -> None:
        self._init(Backend(name))
        _parts.add(self)

    def reseed_rng(self) -> None:
        """Makes it that of another process: its trials are its own."""
        self.__setstate__({})


class Study(optuna.Study):
    """Optuna's own, whose sweep ends with optimize()."""

    sweep = property(lambda self: getattr(_mirror.known(self), "sweep", None),
                     doc="The number of its sweep; None before a trial has ended, or without a part of this engine.")

    def optimize(self, *args: Any, **settings: Any) -> None:
        try:
            super().optimize(*args, **settings)
        finally:
            _mirror.close(self)


# The studies without a storage. Each has a log of its own, so that a script reads no other one's.

def _of(name: str) -> Storage:
    return Storage(f"optuna/{name if len(name.encode()) < 190 else hashlib.sha256(name.encode()).hexdigest()}")


def _note(name: str, there: bool = True) -> None:
    Journal("optuna").append(json.dumps({"study": name, "there": there}))


def get_all_study_names(storage: Any = None) -> List[str]:
    """The names of all studies of a storage; without one, of those that the daemon keeps."""
    if storage is not None:
        return optuna.get_all_study_names(storage)
    there = {entry["study"]: entry["there"] for entry in map(json.loads, Journal("optuna").read(0))}
    return [name for name in there if there[name]]


def get_all_study_summaries(storage: Any = None, include_best_trial: bool = True) -> Any:
    """As optuna.get_all_study_summaries; without a storage of the studies that the daemon keeps."""
    storages = [_of(name) for name in get_all_study_names()] if storage is None else [storage]
    return [one for each in storages for one in optuna.get_all_study_summaries(each, include_best_trial)]


def delete_study(*, study_name: str, storage: Any = None) -> None:
    """As optuna.delete_study; without a storage of a study that the daemon keeps. Its sweep stays."""
    of = storage or _of(study_name)
    mirror = _mirror.Mirror(optuna.load_study(study_name=study_name, storage=of), {})
    optuna.delete_study(study_name=study_name, storage=of)
    mirror.journal.delete()
    if storage is None:
        _note(study_name, False)
        of._backend.delete()


def copy_study(*, from_study_name: str, from_storage: Any = None, to_storage: Any = None,
               to_study_name: Optional[str] = None) -> None:
    """As optuna.copy_study; without a storage from or to what the daemon keeps."""
    name = to_study_name or from_study_name
    optuna.copy_study(from_study_name=from_study_name, from_storage=from_storage or _of(from_study_name),
                      to_storage=to_storage or _of(name), to_study_name=name)
    if to_storage is None:
        _note(name)


def create_study(*, storage: Any = None, sampler: Any = None, pruner: Any = None, study_name: Optional[str] = None,
                 load_if_exists: bool = False, **more: Any) -> Study:
    """As optuna.create_study. In memory a name may be used again, by the next run of a script: here the new study has
    the next free one, unless load_if_exists."""
    name = study_name or f"no-name-{uuid.uuid4()}"
    if storage is None:
        taken = set(get_all_study_names())
        if name in taken and not load_if_exists:
            name = next(f"{study_name}-{i}" for i in itertools.count(2) if f"{study_name}-{i}" not in taken)
            optuna.logging.get_logger("optuna.study").warning(
                f"There is a study {study_name!r} already: this is {name!r}. load_if_exists=True goes on with the other.")
    study = optuna.create_study(storage=storage or _of(name), sampler=sampler or Sampler(), pruner=pruner or Pruner(),
                                study_name=study_name if storage is not None else name, load_if_exists=load_if_exists,
                                **more)
    if storage is None and name not in taken:
        _note(name)
    study.__class__ = Study
    return study  # type: ignore[return-value]


def load_study(*, study_name: Optional[str] = None, storage: Any = None, sampler: Any = None, pruner: Any = None) -> Study:
    """As optuna.load_study; without a storage of a study that the daemon keeps."""
    if storage is None and study_name is None:
        study_name, *others = get_all_study_names() or [None]
        if study_name is None or others:
            raise ValueError(f"the daemon keeps {1 + len(others) if study_name else 0} studies: study_name says which")
    study = optuna.load_study(study_name=study_name, storage=storage or _of(str(study_name)),
                              sampler=sampler or Sampler(), pruner=pruner or Pruner())
    study.__class__ = Study
    return study  # type: ignore[return-value]


NAMES = ("create_study", "load_study", "delete_study", "copy_study", "get_all_study_names", "get_all_study_summaries")
__all__ = [*NAMES, "Pruner", "Sampler", "Storage"]

"""hyperopt over sweepd: write `from sweepd.hyperopt import fmin, hp, tpe, Trials`.

Every name and submodule is hyperopt's own, but for what suggests: tpe.suggest and rand.suggest are the daemon's methods
"tpe" and "random". So a search is a sweep, which `sweep watch` shows. The objective runs in this process.
"""
import contextlib
import math
import sys
import types
import uuid
import warnings
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

try:
    import hyperopt as _base  # type: ignore
    from hyperopt import early_stop, exceptions, hp, pyll  # type: ignore # noqa: F401
    from hyperopt.pyll import scope  # type: ignore # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "hyperopt":
        raise
    raise ImportError("sweepd.hyperopt is hyperopt with the daemon's samplers, and hyperopt is not installed: "
                      "pip install hyperopt") from None

from ._client import Client
from ._errors import INVALID_PARAMS, SweepdError
from ._loop import Trial, end, hand
from ._wire import find, wire_names, wire_values

KEYS = {"uniform": "low high", "quniform": "low high q", "loguniform": "low high", "qloguniform": "low high q",
        "normal": "mu sigma", "qnormal": "mu sigma q", "lognormal": "mu sigma", "qlognormal": "mu sigma q",
        "randint": "low high", "categorical": "p"}
OURS = {"uniform": "uniform", "quniform": "q_uniform", "loguniform": "log_uniform", "qloguniform": "q_log_uniform",
        "normal": "normal", "qnormal": "q_normal", "lognormal": "log_normal", "qlognormal": "q_log_normal"}
Conditions = Tuple[Tuple[str, int], ...]


class _Parameter:
    """A label of a space: its distribution as a sweep has it, and the choices that it depends on."""

    def __init__(self, label: str, node: Any, options: Optional[List[Any]]) -> None:
        self.label, self.conditions = label, set()  # type: Tuple[str, set[Conditions]]
        self.values: Optional[List[Any]] = None  # of a choice, by its index
        try:
            given = {key: node.arg[key].eval() for key in KEYS[node.name].split()
                     if node.arg[key] is not pyll.base.MissingArgument}
        except (KeyError, AttributeError, TypeError):
            raise SweepdError(f"{label}: a parameter of {node.name} with numbers is needed") from None
        self.number: Callable[[Any], Any] = float
        if node.name in OURS:
            names = {"low": "min", "high": "max"}
            self.spec = {names.get(key, key): float(each) for key, each in given.items()}
            if node.name == "quniform":  # hyperopt rounds what it draws from between the ends, half of q to the inside
                q, low, high = (self.spec[key] for key in ("q", "min", "max"))
                self.spec.update(min=math.floor(low / q + 0.5) * q, max=math.ceil(high / q - 0.5) * q)
            self.spec["distribution"] = OURS[node.name]
            return
        self.number = int
        n = len(given["p"]) if "p" in given else int(given.get("high", given["low"]))
        if options is None and node.name == "randint":
            low = int(given["low"]) if "high" in given else 0
            self.spec = {"distribution": "int_uniform", "min": low, "max": n - 1}
            return
        plain = options is not None and all(isinstance(each, pyll.base.Literal) for each in options)
        self.values = wire_values([each.obj for each in options]) if options and plain else list(range(n))
        self.spec = {"values": self.values}
        if "p" in given:
            self.spec["probabilities"] = [float(p) for p in given["p"]]

    def read(self, value: Any) -> Any:
        return self.number(value) if self.values is None else find(self.values, value)

    def wire(self, value: Any) -> Any:
        return self.number(value) if self.values is None else self.values[int(value)]


class Space:
    """The labels of an expression as a sweep's parameters. What several branches have is a condition if they are of one
    choice."""

    def __init__(self, expression: Any) -> None:
        self.labels: Dict[str, _Parameter] = {}
        self._walk(expression, ())
        self.names = wire_names(self.labels)
        self.parameters = {self.names[label]: {**each.spec, **self._when(each)} for label, each in self.labels.items()} or {
            "nothing": {"value": 0}}

    def _walk(self, node: Any, conditions: Conditions) -> None:
        inputs = node.inputs()
        if node.name == "switch" and inputs[0].name == "hyperopt_param":
            label = self._add(inputs[0], conditions, inputs[1:])
            for i, option in enumerate(inputs[1:]):
                self._walk(option, (*conditions, (label, i)))
        elif node.name == "hyperopt_param":
            self._add(node, conditions)
        else:
            for each in inputs:
                self._walk(each, conditions)

    def _add(self, node: Any, conditions: Conditions, options: Optional[List[Any]] = None) -> str:
        label = str(node.arg["label"].obj)
        if label not in self.labels:
            self.labels[label] = _Parameter(label, node.arg["obj"], options)
        self.labels[label].conditions.add(conditions)
        return label

    def _when(self, it: _Parameter) -> Dict[str, Any]:
        ways, when = list(it.conditions), {}
        if all(ways) and len({way[:-1] + (way[-1][0],) for way in ways}) == 1:
            for on, i in ways[0][:-1]:
                when[self.names[on]] = self.labels[on].wire(i)
            last = ways[0][-1][0]
            when[self.names[last]] = [self.labels[last].wire(i) for i in sorted({way[-1][1] for way in ways})]
        return {"when": when} if when else {}

    def values(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        """A trial's parameters by their labels, a choice by its index."""
        return {label: each.read(params[self.names[label]]) for label, each in self.labels.items() if self.names[label] in params}

    def params(self, values: Mapping[str, Any]) -> Dict[str, Any]:
        """The other way."""
        return {self.names[label]: self.labels[label].wire(value) for label, value in values.items() if label in self.labels}


class _Search:
    """The sweep of a space and its Trials. One that an earlier fmin() with these Trials began goes on."""

    def __init__(self, domain: Any, trials: Any, method: str, seed: int) -> None:
        self.space, self.trials, self.client = Space(domain.expr), trials, Client()
        self.handles: Dict[int, Trial] = {}
        parameters = self.space.parameters
        before = getattr(trials, "_sweepd", {})
        if before.get("parameters") == parameters and before["method"] == method and self._known(before):
            self.sweep, self.told = before["sweep"], before["told"]
            return
        self.told: List[int] = []  # type: ignore[no-redef]
        mark = f"a search of hyperopt {uuid.uuid4().hex}"
        spec = {"name": getattr(domain.fn, "__name__", "fmin")[:64].strip("<>"), "description": mark, "method": method,
                "seed": seed, "metric": {"name": "loss", "goal": "minimize"}, "parameters": parameters}
        self.sweep = int(self.client.call("sweep.submit", spec=spec)["sweep"])
        trials._sweepd = {"sweep": self.sweep, "mark": mark, "parameters": parameters, "method": method,
                          "told": self.told}

    def _known(self, before: Mapping[str, Any]) -> bool:
        try:
            return self.client.sweep(before["sweep"])["spec"].get("description") == before["mark"]
        except SweepdError:
            return False

    def suggest(self, tid: int) -> Optional[Dict[str, List[Any]]]:
        handle = hand(self.client, self.sweep)
        if handle is None:
            return None
        self.handles[tid] = handle
        values = self.space.values(handle.params)
        return {label: [values[label]] if label in values else [] for label in self.space.labels}

    def settle(self) -> None:
        """Tells the sweep what has ended."""
        for doc in self.trials._dynamic_trials:
            if doc["tid"] in self.told or doc["state"] not in (_base.JOB_STATE_DONE, _base.JOB_STATE_ERROR):
                continue
            handle = self.handles.pop(doc["tid"], None)
            self.told.append(doc["tid"])
            if handle is None and doc["state"] == _base.JOB_STATE_DONE:  # of an earlier fmin(), or the script's own
                try:
                    values = {label: of[0] for label, of in doc["misc"]["vals"].items() if of}
                    handle = hand(self.client, self.sweep, self.space.params(values))
                except SweepdError as error:
                    if error.code != INVALID_PARAMS:
                        raise
                    warnings.warn(f"the sweep cannot have trial {doc['tid']}: {error}", stacklevel=2)
            if handle is not None:
                self._tell(handle, doc)

    @staticmethod
    def _tell(handle: Trial, doc: Mapping[str, Any]) -> None:
        result = doc["result"]
        if doc["state"] == _base.JOB_STATE_ERROR:
            handle.failed(": ".join(doc["misc"].get("error", ["the objective failed"])))
        elif result["status"] != _base.STATUS_OK:
            handle.failed(f"status {result['status']}", "INFEASIBLE")
        else:
            handle.done(loss=float(result["loss"]))

    def close(self) -> None:
        """The sweep ends with what it has."""
        with contextlib.suppress(SweepdError):  # somebody has cancelled it
            self.settle()
            for handle in self.handles.values():
                handle.failed("fmin() ended before it", "INFEASIBLE")
            end(self.client, self.sweep)
        self.client.close()


_searches: "weakref.WeakKeyDictionary[Any, _Search]" = weakref.WeakKeyDictionary()  # by their domains
_open: List[Any] = []  # what ends each search, once: with fmin(), or with the domain of hyperopt's own


def _suggest(method: str) -> Callable[..., List[Any]]:
    def suggest(new_ids: List[int], domain: Any, trials: Any, seed: int, **settings: Any) -> List[Any]:
        """An `algo` of hyperopt's: the daemon's suggestions."""
        if domain not in _searches:
            if settings:
                warnings.warn(f"{', '.join(sorted(settings))}: without effect, the daemon's method {method!r} has its "
                              "own settings", stacklevel=2)
            _searches[domain] = _Search(domain, trials, method, int(seed))
            _open.append(weakref.finalize(domain, _searches[domain].close))
        search, docs = _searches[domain], []
        search.settle()
        for tid in new_ids:
            values = search.suggest(tid)
            if values is None:
                break
            misc = {"tid": tid, "cmd": domain.cmd, "workdir": domain.workdir, "vals": values,
                    "idxs": {label: [tid] if value else [] for label, value in values.items()}}
            docs += trials.new_trial_docs([tid], [None], [domain.new_result()], [misc])
        return docs
    return suggest


def fmin(fn: Any, space: Any, algo: Any = None, *args: Any, **named: Any) -> Any:
    """hyperopt's fmin, whose default algorithm is the daemon's. Its sweep ends with it; a later fmin() with the same
    Trials goes on with that. SweepdError: a space that a sweep cannot have, or no daemon."""
    before = len(_open)
    try:
        return _base.fmin(fn, space, algo or tpe.suggest, *args, **named)
    finally:
        while len(_open) > before:
            _open.pop()()


def _module(theirs: types.ModuleType, method: str) -> Any:
    """A module of hyperopt's with another `suggest`."""
    ours = types.ModuleType(f"{__name__}.{theirs.__name__.rpartition('.')[2]}", theirs.__doc__)
    ours.__dict__.update({**vars(theirs), "__name__": ours.__name__, "suggest": _suggest(method)})
    return ours


__path__: List[str] = []  # the submodules are hyperopt's own
tpe, rand = _module(_base.tpe, "tpe"), _module(_base.rand, "random")
for _name, _each in list(sys.modules.items()):
    if _name.startswith("hyperopt."):
        sys.modules[f"sweepd.{_name}"] = {"hyperopt.tpe": tpe, "hyperopt.rand": rand}.get(_name, _each)


def __getattr__(name: str) -> Any:
    return getattr(_base, name)

"""Names, values and metrics of other libraries on the wire: a spec has plain names, and JSON's scalars, and JSON has no
NaN and no infinity."""
import collections
import functools
import itertools
import json
import math
import operator
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._errors import SweepdError


def as_number(value: Any) -> Optional[float]:
    """A number, or what turns into one (a numpy scalar, a tensor of one element, a text); None: it does not."""
    try:
        return value if type(value) in (int, float) else float(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def numbers(metrics: Mapping[str, Any]) -> Dict[str, Any]:
    """Those that are numbers, but for texts."""
    return {name: value for name, value in metrics.items()
            if not isinstance(value, (str, bytes)) and as_number(value) is not None}


def reportable(metrics: Mapping[str, Any], separator: str, metric: Optional[str] = None) -> Dict[str, Any]:
    """Of what another library reports, a dict within a dict, the numbers that one report can have: `metric` first."""
    fit = {name: value for name, value in numbers(flat(metrics, separator)).items()
           if name not in ("step", "checkpoint") and len(name.encode()) <= 64}
    first = {metric: fit[metric]} if metric in fit else {}
    return dict(itertools.islice({**first, **fit}.items(), 250))  # type: ignore[dict-item]


def to_wire(metrics: Mapping[str, Any]) -> Dict[str, Any]:
    """Keeps the numbers, which alone may be reported. One in a dict within the dict is named by its path, as in "eval/acc"."""
    out: Dict[str, Any] = {}
    for name, value in flat(metrics, "/").items():
        number = as_number(value)
        if number is None:
            raise SweepdError(f"the metric {name!r} is no number: {value!r}")
        out[name] = number if math.isfinite(number) else "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"
    return out


def from_wire(metrics: Mapping[str, Any]) -> Dict[str, float]:
    return {name: float(value) if isinstance(value, str) else value for name, value in metrics.items()}


def as_step(step: Any) -> Any:
    """A whole number of any kind (numpy's, a tensor, 3.0) as an int. Else as it is: the place that stores steps says
    what is wrong."""
    try:
        return operator.index(step)
    except TypeError:
        number = None if isinstance(step, str) else as_number(step)
        return int(number) if number is not None and math.isfinite(number) and number == int(number) else step


class Attributes(Dict[str, Any]):
    """A dict whose items are attributes as well."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__.lower()} has no {name!r}, but {list(self)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def wire_names(names: Iterable[str]) -> Dict[str, str]:
    """A name that a spec allows for each: characters that it does not allow become "_"."""
    out: Dict[str, str] = {}
    for name in names:
        plus, text = re.fullmatch(r"(?s)(\+{0,2})(.*)", str(name)).groups()  # type: ignore[union-attr]
        plain = re.sub(r"[^A-Za-z0-9_./-]", "_", text)[:120]
        plain = plus + (plain if re.match(r"[A-Za-z0-9_]", plain) else "_" + plain)
        taken, numbered = set(out.values()), (f"{plain}_{n}" for n in itertools.count(2))
        out[name] = next(each for each in itertools.chain([plain], numbered) if each not in taken)
    return out


def is_scalar(value: Any) -> bool:
    """Can JSON say it?"""
    return value is None or isinstance(value, (bool, int, str)) or isinstance(value, float) and math.isfinite(value)


def wire_values(choices: Sequence[Any]) -> List[Any]:
    """Choices as a spec's `values`: themselves if JSON can tell them apart, else texts with their numbers."""
    choices = [choice.item() if getattr(choice, "ndim", None) == 0 else choice for choice in choices]  # numpy's and the like
    # To the daemon 1 and 1.0 are one value; True is another.
    keys = [(isinstance(choice, bool), choice if is_scalar(choice) else None) for choice in choices]
    if all(is_scalar(choice) for choice in choices) and len(set(keys)) == len(keys):
        return list(choices)
    return [f"{i}: {said(choice)}"[:120] for i, choice in enumerate(choices)]


class Domain(NamedTuple):
    """A parameter's values: the spec of a sweep's parameter, and how its value comes back. `listed`: these alone."""

    spec: Dict[str, Any]
    read: Callable[[Any], Any]
    listed: bool = False


def choice(categories: Iterable[Any]) -> Domain:
    """One of these, which may be any objects."""
    values = list(categories)
    return Domain({"values": wire_values(values)}, functools.partial(_chosen, values), True)


def _chosen(values: Sequence[Any], value: Any) -> Any:
    return values[find(wire_values(values), value)]


def key(value: Any) -> str:
    """A text that tells a value from others, in any process."""
    return json.dumps(value, default=said)


def said(value: Any) -> str:
    """Names an object alike in all processes."""
    return str(getattr(value, "__name__", None) or re.sub(" at 0x[0-9a-f]+", "", repr(value)))


def conditions(listed: Mapping[str, Sequence[Any]],
               trials: Sequence[Mapping[str, Any]]) -> Dict[str, Tuple[str, List[Any]]]:
    """Finds which parameter decides whether a trial has another one, by the trials so far: {parameter: (the deciding one,
    its values)}. `listed`: for each parameter the values that a condition may name."""
    out: Dict[str, Tuple[str, List[Any]]] = {}
    count = collections.Counter(name for params in trials for name in params)
    for name in listed:
        for on, values in listed.items() if 0 < count[name] < len(trials) else ():
            if count[on] <= count[name]:
                continue  # it is there more often: so no two parameters wait for each other
            having = {key(params[on]) if on in params else "" for params in trials if name in params}
            lacking = {key(params[on]) for params in trials if on in params and name not in params}
            active = [value for value in values if key(value) in having]
            if len(active) == len(having) and not having & lacking:
                out[name] = on, active
                break
    return out


def flat(value: Mapping[str, Any], separator: str, prefix: str = "") -> Dict[str, Any]:
    """A dict within a dict as names with a separator."""
    out: Dict[str, Any] = {}
    for name, each in value.items():
        if isinstance(each, Mapping) and each:
            out.update(flat(each, separator, f"{prefix}{name}{separator}"))
        else:
            out[f"{prefix}{name}"] = each
    return out


def find(values: Sequence[Any], value: Any) -> int:
    """The index of a value that came back from the wire; ValueError if it is not among them."""
    for i, mine in enumerate(values):
        if isinstance(mine, bool) == isinstance(value, bool) and mine == value:
            return i
    raise ValueError(f"{value!r} is none of {list(values)!r}")

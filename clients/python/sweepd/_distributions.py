"""Optuna's distributions in a sweep's spec, and their values on the wire."""
from typing import Any, Container, Dict, List, Mapping, Optional, Sequence, Tuple

from ._wire import conditions, find, wire_values

MOST_VALUES = 10000  # of a list in a spec
FEW = 100  # values that a condition may list


class Rule:
    """A pruner that the daemon decides: `early_terminate` is a sweep's, `shift` what a sweep adds to a study's steps. They
    count from 0. Rungs are numbers of steps, so step 0 is never judged, there as here."""

    def __init__(self, type: str = "median", **settings: Any) -> None:
        rungs = type in ("asha", "hyperband")
        self.shift = 0 if rungs else 1
        self.early_terminate = {"type": type, **({"max_t": 10 ** 9} if rungs else {}),
                                **{name: value for name, value in settings.items() if value is not None}}
        if settings.get("n_warmup_steps") and not rungs:
            self.early_terminate["n_warmup_steps"] += 1


def is_category(distribution: Any) -> bool:
    return hasattr(distribution, "choices")


def is_int(distribution: Any) -> bool:
    return type(distribution).__name__ == "IntDistribution"


def _stepped(distribution: Any) -> bool:
    return not is_category(distribution) and distribution.step not in (None, 1 if is_int(distribution) else None)


def _is_step(low: float, value: float, step: float) -> bool:
    """Is it so many steps above? By Optuna's own tolerance."""
    return abs((value - low) / step - round((value - low) / step)) < 1e-8


def spec(distribution: Any, exact: bool = True) -> Dict[str, Any]:
    """The parameter in a sweep's spec; ValueError if it cannot be one. Not `exact`: odd steps are left out."""
    if is_category(distribution):
        return {"values": wire_values(distribution.choices)}
    low, high, step = distribution.low, distribution.high, distribution.step
    if distribution.single():
        return {"value": low}
    if _stepped(distribution):
        if _is_step(0, low, step):  # the daemon counts steps from 0
            return {"distribution": "q_uniform", "min": low, "max": high, "q": step}
        steps = round((high - low) / step)
        if exact and steps >= MOST_VALUES:
            raise ValueError(f"low={low} must be a multiple of step={step} in a range of {steps} steps")
        if exact:
            return {"values": [nearest(distribution, low + i * step) for i in range(steps + 1)]}
    if is_int(distribution):
        return {"distribution": "int_log_uniform" if distribution.log else "int_uniform", "min": low, "max": high}
    return {"distribution": "log_uniform_values" if distribution.log else "uniform", "min": low, "max": high}


def nearest(distribution: Any, value: Any) -> Any:
    """The number of a range next to this one: low + i * step, cut at its ends, as Optuna has it. All that goes to the
    daemon or comes from it is one of these, so they can be compared: 6 * 0.1 is above 0.6, and not the same as 0.6."""
    low, high = distribution.low, distribution.high
    if _stepped(distribution):
        value = low + round((value - low) / distribution.step) * distribution.step
    value = min(max(value, low), high)
    return int(round(value)) if is_int(distribution) else float(value)


def contains(distribution: Any, value: Any) -> bool:
    """Is a value, of the objective's kind, inside?"""
    if is_category(distribution):
        return any(choice is value or choice == value for choice in distribution.choices)
    if isinstance(value, (str, bool)) or value is None or not distribution.low <= value <= distribution.high:
        return False
    return distribution.step is None or _is_step(distribution.low, value, distribution.step)


def to_wire(distribution: Any, value: Any) -> Any:
    """A value as the daemon has it. ValueError: the distribution cannot have it."""
    if not is_category(distribution):
        return nearest(distribution, value)
    choices = distribution.choices
    same = [i for i, choice in enumerate(choices) if choice is value] or [
        i for i, choice in enumerate(choices) if choice == value and isinstance(choice, bool) == isinstance(value, bool)]
    if not same:
        raise ValueError(f"{value!r} is none of {choices!r}")
    return wire_values(choices)[same[0]]


def from_wire(distribution: Any, value: Any) -> Any:
    """A value as the objective has it."""
    if not is_category(distribution):
        return nearest(distribution, value)
    return distribution.choices[find(wire_values(distribution.choices), value)]


def same(distribution: Any, one: Any, other: Any) -> bool:
    """Are two values one to the daemon?"""
    return contains(distribution, other) and to_wire(distribution, one) == to_wire(distribution, other)


def union(one: Any, other: Any) -> Any:
    """A distribution that contains both; ValueError if none can."""
    if one == other:
        return one
    if type(one) is not type(other) or is_category(one):
        raise ValueError(f"a parameter cannot be both {one!r} and {other!r}: give it another name")
    step = one.step
    if step != other.step or step is not None and not _is_step(one.low, other.low, step):
        step = 1 if is_int(one) else None
    return type(one)(low=min(one.low, other.low), high=max(one.high, other.high), log=one.log and other.log, step=step)


def listed(distribution: Any) -> List[Any]:
    """The values that a condition can name, as the daemon has them."""
    if is_category(distribution):
        return wire_values(distribution.choices)
    if is_int(distribution) and not _stepped(distribution) and 0 < distribution.high - distribution.low < FEW:
        return list(range(distribution.low, distribution.high + 1))
    return []


def ranges(trials: Sequence[Any], names: Optional[Container[str]] = None) -> Dict[str, Any]:
    """The parameters that trials of Optuna's kind had, each wide enough for all; of these names alone."""
    out: Dict[str, Any] = {}
    for trial in trials:
        for name, each in trial.distributions.items():
            if names is None or name in names:
                out[name] = union(out.get(name, each), each)
    return out


def whens(space: Mapping[str, Any], trials: Sequence[Any]) -> Dict[str, Tuple[str, List[Any]]]:
    """Their conditions."""
    return conditions({name: listed(each) for name, each in space.items()}, [
        {name: to_wire(space[name], value) for name, value in trial.params.items()} for trial in trials])


def parameters(space: Mapping[str, Any], names: Mapping[str, str],
               when: Mapping[str, Tuple[str, List[Any]]]) -> Dict[str, Any]:
    """These in a sweep's spec; `names`: each one's there."""
    return {names[name]: {**spec(each), **({"when": {names[when[name][0]]: when[name][1]}} if name in when else {})}
            for name, each in space.items()} or {"nothing": {"value": 0}}


def values(space: Mapping[str, Any], names: Mapping[str, str], params: Mapping[str, Any]) -> Dict[str, Any]:
    """A trial's parameters as the objective has them."""
    return {name: from_wire(each, params[names[name]]) for name, each in space.items() if names[name] in params}

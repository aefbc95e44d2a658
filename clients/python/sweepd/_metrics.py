"""Metrics between Python and the wire, which has no NaN and no infinity."""
import math
from typing import Any, Dict, Mapping, Optional

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


def to_wire(metrics: Mapping[str, Any]) -> Dict[str, Any]:
    """What a report may have: numbers alone."""
    out: Dict[str, Any] = {}
    for name, value in metrics.items():
        number = as_number(value)
        if number is None:
            raise SweepdError(f"the metric {name!r} is no number: {value!r}")
        out[name] = number if math.isfinite(number) else "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"
    return out


def from_wire(metrics: Mapping[str, Any]) -> Dict[str, float]:
    return {name: float(value) if isinstance(value, str) else value for name, value in metrics.items()}

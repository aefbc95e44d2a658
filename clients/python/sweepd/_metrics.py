"""Metrics between Python and the wire, which has no NaN and no infinity."""
from __future__ import annotations

import math
from typing import Any, Dict, Mapping

from ._errors import SweepdError


def to_wire(metrics: Mapping[str, Any]) -> Dict[str, Any]:
    """Numbers, and whatever turns into one (a numpy scalar, a tensor of one element)."""
    out: Dict[str, Any] = {}
    for name, value in metrics.items():
        try:
            number = value if type(value) in (int, float) else float(value)
        except (TypeError, ValueError, RuntimeError):
            raise SweepdError(f"the metric {name!r} is no number: {value!r}") from None
        out[name] = number if math.isfinite(number) else "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"
    return out


def from_wire(metrics: Mapping[str, Any]) -> Dict[str, float]:
    return {name: float(value) if isinstance(value, str) else value for name, value in metrics.items()}

"""What a parameter may be, as trial.distributions has it."""
from __future__ import annotations

import math
import random
from typing import Any, Optional, Sequence

from .. import _wire


class BaseDistribution:
    """The base of the others."""

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def single(self) -> bool:
        """Is there only one value?"""
        return len(self.choices) == 1 if _wire.is_category(self) else self.low == self.high  # type: ignore[attr-defined]


class FloatDistribution(BaseDistribution):
    """A real from low to high; with step a multiple of it from low on."""

    def __init__(self, low: float, high: float, log: bool = False, step: Optional[float] = None) -> None:
        if low > high or log and low <= 0 or step is not None and step <= 0 or log and step not in (None, 1):
            raise ValueError(f"low={low}, high={high}, log={log}, step={step}: low must not be above high, and above 0 with "
                             "log=True, which does not go with a step; a step must be above 0")
        kind = int if _wire.is_int(self) else float
        self.low, self.high, self.log, self.step = kind(low), kind(high), log, step
        if step is not None:
            self.high = self.low + math.floor((high - low) / step + 1e-9) * step


class IntDistribution(FloatDistribution):
    """An integer from low to high, both included; with step a multiple of it from low on."""

    def __init__(self, low: int, high: int, log: bool = False, step: int = 1) -> None:
        super().__init__(low, high, log, step)


class CategoricalDistribution(BaseDistribution):
    """One of the choices, which may be any objects."""

    def __init__(self, choices: Sequence[Any]) -> None:
        self.choices = tuple(choices)
        if not self.choices:
            raise ValueError("choices must not be empty")


def draw(distribution: Any, rng: random.Random) -> Any:
    """A value drawn here: of a parameter that the study has met for the first time."""
    if _wire.is_category(distribution):
        return rng.choice(distribution.choices)
    low, high, step = distribution.low, distribution.high, distribution.step
    if not distribution.log:
        return rng.uniform(low, high) if step is None else low + rng.randint(0, round((high - low) / step)) * step
    value = math.exp(rng.uniform(math.log(low), math.log(high + (step or 0))))
    return min(high, int(value) if step else value)

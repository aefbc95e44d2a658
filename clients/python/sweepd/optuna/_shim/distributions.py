"""What a parameter may be, as trial.distributions has it, and what that is in a sweep's spec."""
from __future__ import annotations

import math
import random
from typing import Any, Dict, Optional, Sequence

from .._space import find, wire_values

MOST_VALUES = 10000  # of a list in a spec


class BaseDistribution:
    """The base of the others."""

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def single(self) -> bool:
        """Is there only one value?"""
        raise NotImplementedError

    def contains(self, value: Any) -> bool:
        """Is a value inside?"""
        raise NotImplementedError

    def spec(self) -> Dict[str, Any]:
        """The parameter in a sweep's spec."""
        raise NotImplementedError

    def sample(self, rng: random.Random) -> Any:
        """A value drawn here."""
        raise NotImplementedError

    def to_wire(self, value: Any) -> Any:
        """A value as the daemon has it."""
        return value

    def from_wire(self, value: Any) -> Any:
        """A value as the objective has it."""
        raise NotImplementedError

    def union(self, other: "BaseDistribution") -> "BaseDistribution":
        """One that contains both; ValueError if there is none."""
        raise ValueError(f"a parameter cannot be both {self!r} and {other!r}: give it another name")


class _Number(BaseDistribution):
    def __init__(self, low: Any, high: Any, log: bool, step: Any) -> None:
        if low > high:
            raise ValueError(f"low must not be above high: {low} > {high}")
        if log and low <= 0:
            raise ValueError(f"low must be above 0 with log=True: {low}")
        if step is not None:
            if step <= 0:
                raise ValueError(f"step must be above 0: {step}")
            high = low + math.floor((high - low) / step + 1e-9) * step
        self.low, self.high, self.log, self.step = low, high, log, step

    def single(self) -> bool:
        return self.low == self.high

    def contains(self, value: Any) -> bool:
        if isinstance(value, (str, bool)) or value is None or not self.low <= value <= self.high:
            return False
        return self.step is None or abs(self._steps(value) - round(self._steps(value))) < 1e-6

    def _steps(self, value: Any) -> float:
        return (value - self.low) / self.step

    def _stepped(self, kind: Any) -> Dict[str, Any]:
        """A multiple of the step where low is one; else a list, because the daemon counts steps from 0."""
        steps = round(self._steps(self.high))
        if abs(self.low / self.step - round(self.low / self.step)) < 1e-9:
            return {"distribution": "q_uniform", "min": self.low, "max": self.high, "q": self.step}
        if steps >= MOST_VALUES:
            raise ValueError(f"low={self.low} must be a multiple of step={self.step} in a range of {steps} steps")
        return {"values": [kind(self.low + i * self.step) for i in range(steps + 1)]}

    def union(self, other: BaseDistribution) -> BaseDistribution:
        if type(self) is not type(other):
            return super().union(other)
        assert isinstance(other, _Number)
        step = self.step if self.step == other.step else None
        return type(self)(min(self.low, other.low), max(self.high, other.high), self.log and other.log,
                          step or (1 if isinstance(self, IntDistribution) else None))


class FloatDistribution(_Number):
    """A real from low to high; with step a multiple of it from low on."""

    def __init__(self, low: float, high: float, log: bool = False, step: Optional[float] = None) -> None:
        if log and step is not None:
            raise ValueError("step and log=True do not go together")
        super().__init__(float(low), float(high), log, step if step is None else float(step))

    def spec(self) -> Dict[str, Any]:
        if self.single():
            return {"value": self.low}
        if self.step is not None:
            return self._stepped(float)
        return {"distribution": "log_uniform_values" if self.log else "uniform", "min": self.low, "max": self.high}

    def sample(self, rng: random.Random) -> float:
        if self.step is not None:
            return self.low + rng.randint(0, round(self._steps(self.high))) * self.step
        if self.log:
            return min(self.high, max(self.low, math.exp(rng.uniform(math.log(self.low), math.log(self.high)))))
        return rng.uniform(self.low, self.high)

    def from_wire(self, value: Any) -> float:
        return float(value)


class IntDistribution(_Number):
    """An integer from low to high, both included; with step a multiple of it from low on."""

    def __init__(self, low: int, high: int, log: bool = False, step: int = 1) -> None:
        if log and step != 1:
            raise ValueError("step and log=True do not go together")
        super().__init__(int(low), int(high), log, int(step))

    def spec(self) -> Dict[str, Any]:
        if self.single():
            return {"value": self.low}
        if self.step != 1:
            return self._stepped(int)
        return {"distribution": "int_log_uniform" if self.log else "int_uniform", "min": self.low, "max": self.high}

    def sample(self, rng: random.Random) -> int:
        if self.log:
            value = math.exp(rng.uniform(math.log(self.low), math.log(self.high + 1)))
            return min(self.high, max(self.low, int(value)))
        return self.low + rng.randint(0, round(self._steps(self.high))) * self.step

    def from_wire(self, value: Any) -> int:
        return int(round(value))


class CategoricalDistribution(BaseDistribution):
    """One of the choices, which may be any objects."""

    def __init__(self, choices: Sequence[Any]) -> None:
        self.choices = tuple(choices)
        if not self.choices:
            raise ValueError("choices must not be empty")

    def single(self) -> bool:
        return len(self.choices) == 1

    def contains(self, value: Any) -> bool:
        return any(choice is value or choice == value for choice in self.choices)

    def spec(self) -> Dict[str, Any]:
        return {"values": wire_values(self.choices)}

    def sample(self, rng: random.Random) -> Any:
        return rng.choice(self.choices)

    def to_wire(self, value: Any) -> Any:
        for i, choice in enumerate(self.choices):
            if choice is value or choice == value and isinstance(choice, bool) == isinstance(value, bool):
                return wire_values(self.choices)[i]
        raise ValueError(f"{value!r} is none of {self.choices!r}")

    def from_wire(self, value: Any) -> Any:
        return self.choices[find(wire_values(self.choices), value)]

"""What names and values of other libraries are on the wire: a spec has plain names, and JSON's scalars."""
from __future__ import annotations

import math
import re
from typing import Any, Dict, Iterable, List, Sequence


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
        plain = re.sub(r"[^A-Za-z0-9_./-]", "_", str(name))[:120]
        plain = plain if re.match(r"[A-Za-z0-9_]", plain) else "_" + plain
        taken, n = set(out.values()), 1
        unique = plain
        while unique in taken:
            n += 1
            unique = f"{plain}_{n}"
        out[name] = unique
    return out


def is_scalar(value: Any) -> bool:
    """Can JSON say it?"""
    return value is None or isinstance(value, (bool, int, str)) or isinstance(value, float) and math.isfinite(value)


def wire_values(choices: Sequence[Any]) -> List[Any]:
    """Choices as a spec's `values`: themselves if JSON can tell them apart, else texts with their numbers."""
    # To the daemon 1 and 1.0 are one value; True is another.
    keys = [(isinstance(choice, bool), choice if is_scalar(choice) else None) for choice in choices]
    if all(is_scalar(choice) for choice in choices) and len(set(keys)) == len(keys):
        return list(choices)
    return [f"{i}: {getattr(choice, '__name__', None) or repr(choice)}"[:120] for i, choice in enumerate(choices)]


def find(values: Sequence[Any], value: Any) -> int:
    """The index of a value that came back from the wire; ValueError if it is none of them."""
    for i, mine in enumerate(values):
        if isinstance(mine, bool) == isinstance(value, bool) and mine == value:
            return i
    raise ValueError(f"{value!r} is none of {list(values)!r}")

"""Names of another library that are not here: each ends in one sentence that says what to use instead.

A module of ours that stands for one of theirs calls stands_for(). Where `x.y` is missing the error is an AttributeError,
too, so that hasattr() and protocols work; where `import x.y` and `from x import y` are, an ImportError: a script that
tries one name and falls back to another goes on.
"""
import difflib
import sys
import types
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple


class NotCarried(NotImplementedError, AttributeError):
    """A name that a module of ours lacks."""


class NotCarriedModule(NotImplementedError, ImportError):
    """The same in an import statement. (No class can be both: their layouts conflict.)"""


_modules: Dict[str, Tuple[str, Mapping[str, str], str]] = {}


def stands_for(module: str, theirs: str, instead: Mapping[str, str], otherwise: str) -> Callable[[str], Any]:
    """Gives the __getattr__ of a module that stands for `theirs`. `instead`: what to say of a name; or `otherwise`.

    The module gets a __path__, without which its missing submodules would never be asked for.
    """
    _modules[module] = theirs, instead, otherwise
    here = sys.modules[module]
    if not hasattr(here, "__path__"):
        here.__path__ = []
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.append(_Finder())

    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise NotCarried(_sentence(module, name))
    return missing


def also(module: str, name: str, target: Any, otherwise: str = "") -> None:
    """Makes `target` the submodule `name` of a module, where the other library has that: a module, or a dict of names."""
    if isinstance(target, dict):
        made = types.ModuleType(f"{module}.{name}", f"What there is of {module.partition('.')[2]}.{name}.")
        made.__dict__.update(target, __all__=list(target))
        sys.modules[made.__name__] = target = made
        made.__dict__["__getattr__"] = stands_for(made.__name__, made.__name__.partition(".")[2], {},
                                                  otherwise or f"of it there are {', '.join(made.__all__)}")
    sys.modules[f"{module}.{name}"] = target
    parent, _, last = name.rpartition(".")
    setattr(sys.modules[f"{module}.{parent}" if parent else module], last, target)


def _sentence(module: str, name: str) -> str:
    theirs, instead, otherwise = _modules[module]
    near = difflib.get_close_matches(name, getattr(sys.modules[module], "__all__", ()), 1, 0.8)
    return (f"{theirs}.{name} is not carried over: "
            f"{instead.get(name) or (f'did you mean {near[0]}?' if near else otherwise)}")


class _Finder:
    """The last of sys.meta_path: what is not found in a module of ours is not carried over."""

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Any = None) -> None:
        parent, _, last = name.rpartition(".")
        module = getattr(sys.modules.get(parent), "__name__", parent)  # it may be there under several names
        if module in _modules and not last.startswith("__"):
            raise NotCarriedModule(_sentence(module, last))

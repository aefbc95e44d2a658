"""Optuna over sweepd: write `import sweepd.optuna as optuna`.

Where Optuna is installed, every name and submodule is its own; the sampler, the pruner and the storage that a script
does not name are the daemon's, so that `sweep watch` shows a study while it runs, and processes share it. Where it is
not, a small module has the names of its tutorial.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any, Optional

try:
    import optuna as _base
except ImportError:
    from . import _shim as _base  # type: ignore[no-redef]
    from ._shim import *  # noqa: F401,F403
    from ._shim import __all__
else:
    if int(_base.__version__.split(".")[0]) < 4:
        raise ImportError(f"sweepd.optuna needs Optuna 4 or later, and {_base.__version__} is installed: pip install -U optuna")
    from . import _real as _ours
    from ._real import Pruner, Sampler, Storage

    __all__ = sorted({*_base.__all__, *_ours.NAMES, "Pruner", "Sampler", "Storage"})
    for _name in _ours.NAMES:
        globals()[_name] = getattr(_ours, _name)


def __getattr__(name: str) -> Any:
    return importlib.import_module(f"{__name__}.study") if name == "study" else getattr(_base, name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """`import sweepd.optuna.visualization` and the like: the module of Optuna itself, or of what stands for it here."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        rest = fullname[len(__name__) + 1:]
        if not fullname.startswith(__name__ + ".") or rest.split(".")[0] in ("_shim", "_real", "_mirror", "_wire",
                                                                               "_journal"):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        rest = spec.name[len(__name__) + 1:]
        try:
            module = importlib.import_module(f"{_base.__name__}.{rest}")
        except ModuleNotFoundError as error:
            if _base.__name__ == "optuna":
                raise
            raise ImportError(f"optuna.{rest} needs Optuna itself, which is not installed: pip install optuna") from error
        if rest != "study" or _base.__name__ != "optuna":
            spec.loader_state = module.__spec__
            return module
        study = types.ModuleType(spec.name, module.__doc__)  # optuna.study has create_study and its like, too
        study.__dict__.update({name: value for name, value in vars(module).items() if not name.startswith("__")})
        study.__dict__.update({name: globals()[name] for name in _ours.NAMES})
        return study

    def exec_module(self, module: Any) -> None:
        module.__spec__ = module.__spec__.loader_state or module.__spec__  # the module stays what it is


sys.meta_path.insert(0, _Finder())

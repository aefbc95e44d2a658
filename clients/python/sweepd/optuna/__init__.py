"""Optuna over sweepd: write `import sweepd.optuna as optuna`.

Every name and submodule is Optuna's own (4 or later). The sampler, the pruner and the storage that a script does not
name are the daemon's, so that `sweep watch` shows a study while it runs, and processes share it.
"""
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any, Optional

try:
    import optuna as _base
except ModuleNotFoundError as error:
    if error.name != "optuna":
        raise
    raise ImportError("sweepd.optuna is Optuna with the daemon's sampler, pruner and storage, and Optuna is not installed: "
                      "pip install optuna") from None
if int(_base.__version__.split(".")[0]) < 4:
    raise ImportError(f"sweepd.optuna needs Optuna 4 or later, and {_base.__version__} is installed: pip install -U optuna")
from . import _real as _ours  # noqa: E402
from ._real import *  # noqa: E402,F401,F403

__all__ = sorted({*_base.__all__, *_ours.__all__})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """`import sweepd.optuna.visualization` and the like: the module of Optuna itself."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        first = fullname[len(__name__) + 1:].partition(".")[0]
        if not fullname.startswith(__name__ + ".") or first in ("_real", "_mirror", "_journal"):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        module = importlib.import_module(f"optuna.{spec.name[len(__name__) + 1:]}")
        spec.loader_state = module.__spec__
        if module.__name__ != "optuna.study":
            return module
        study = types.ModuleType(spec.name)  # optuna.study has create_study and its like, too
        study.__dict__.update({**vars(module), **{name: globals()[name] for name in _ours.NAMES}})
        return study

    def exec_module(self, module: Any) -> None:
        module.__spec__ = module.__spec__.loader_state  # the module stays what it is


sys.meta_path.insert(0, _Finder())
importlib.import_module(f"{__name__}.study")


def __getattr__(name: str) -> Any:
    return getattr(_base, name)

"""What one trial of tune() had loaded at its end is loaded here before the next is forked: they have it from the start.

PyTorch, for one, loads 900 modules more at a first optimizer's step, which takes longer than many a trial. Only modules
of installed packages and of the standard library are loaded so, never the user's own.
"""
import contextlib
import importlib
import os
import sys
from typing import Any, List, Optional

_STANDARD = os.path.dirname(os.__file__) + os.sep


def is_installed(path: Any) -> bool:
    return isinstance(path, str) and (
        path.startswith(_STANDARD) or "/site-packages/" in path or "/dist-packages/" in path)


class Lesson:
    """In a trial's process: what it loads."""

    def __init__(self) -> None:
        self._start = set(sys.modules)
        self._before: Optional[List[str]] = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, _: Any) -> None:
        """What is loaded after the user's code has changed the environment may depend on that: it is left out."""
        if event in ("os.putenv", "os.unsetenv") and self._before is None:
            frame: Any = sys._getframe(1)
            while frame is not None and frame.f_globals.get("__name__") in ("os", "_collections_abc"):
                frame = frame.f_back
            if frame is not None and not is_installed(frame.f_code.co_filename):
                self._before = list(sys.modules)

    def names(self) -> List[str]:
        # A lazy module would load itself for a getattr().
        return [name for name in self._before or list(sys.modules) if name not in self._start and
                is_installed(getattr(sys.modules.get(name), "__dict__", {}).get("__file__"))]


def load(names: List[str]) -> None:
    """Loads them in this process, from which trials are forked."""
    for name in names:
        with contextlib.suppress(Exception, SystemExit):  # the trial had it by another way, and will have it again
            importlib.import_module(name)
    # Before a fork OpenBLAS ends the threads that it has started; the next trial is not to be taken for one beside them.
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)

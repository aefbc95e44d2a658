"""Checkpoints: folders."""
import contextlib
import os
import pickle
import shutil
import tempfile
import weakref
from typing import Any, Dict, Iterator, Optional

DICT = "dict_checkpoint.pkl"  # of from_dict()


class Checkpoint:
    """A folder, as a trial reported it."""

    def __init__(self, path: str) -> None:
        self.path = os.fspath(path)

    value = property(lambda self: self.path, doc="Its folder, as tune.checkpoint_dir() was.")
    dir_or_data = property(lambda self: self.path, doc="Its folder.")

    @classmethod
    def from_directory(cls, path: str) -> "Checkpoint":
        """A folder as a checkpoint; it is copied when it is reported."""
        return cls(path)

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "Checkpoint":
        """A dict as a checkpoint. Its folder goes with the object: what is reported is copied."""
        made = cls(tempfile.mkdtemp(prefix="sweepd-"))
        weakref.finalize(made, shutil.rmtree, made.path, ignore_errors=True)
        made.write(data)
        return made

    def write(self, data: Any) -> None:
        """What to_dict() gives."""
        with open(os.path.join(self.path, DICT), "wb") as file:
            pickle.dump(data, file)

    def __fspath__(self) -> str:
        return self.path

    def to_dict(self) -> Dict[str, Any]:
        """What from_dict() was given."""
        with open(os.path.join(self.path, DICT), "rb") as file:
            return pickle.load(file)

    def to_air_checkpoint(self) -> "Checkpoint":
        """Itself."""
        return self

    def to_directory(self, path: Optional[str] = None) -> str:
        """Copies it into a folder."""
        path = path or tempfile.mkdtemp(prefix="sweepd-")
        shutil.copytree(self.path, path, dirs_exist_ok=True)
        return path

    @contextlib.contextmanager
    def as_directory(self) -> Iterator[str]:
        """Its folder, to read."""
        yield self.path

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r})"

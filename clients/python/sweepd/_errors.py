"""Errors, as one class; and the end of a trial, as another."""
from typing import Any, Sequence

INVALID_PARAMS, NOT_FOUND, CONFLICT, BUSY = -32602, -32001, -32002, -32003


def _line(message: str, pointer: str) -> str:
    """With the place as Python has it: "parameters.lr.min", without the name of the call's own argument."""
    place = ".".join(key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[2:])
    return f"{place}: {message}" if place else message


class SweepdError(Exception):
    """A call that failed. `code` is the protocol's (0: the error is this package's), `pointer` the field at fault.

    A spec with several faults has a line for each; `message` and `pointer` are of the first.
    """

    def __init__(self, message: str, code: int = 0, pointer: str = "", faults: Sequence[Any] = (),
                 more: int = 0) -> None:
        lines = [_line(str(fault.get("message")), str(fault.get("pointer"))) for fault in faults
                 if isinstance(fault, dict)]
        super().__init__("\n".join([*(lines or [_line(message, pointer)]), *([f"and {more} more"] if more else [])]))
        self.code = code
        self.message = message
        self.pointer = pointer


class Pruned(SystemExit):
    """The trial was told to end: `decision` is "stop", or "pause" if it may go on later from its checkpoint.

    It is a SystemExit, so that a program that does not catch it ends quietly with status 0, and so that
    `except Exception` around a training loop does not swallow it.
    """

    def __init__(self, decision: str = "stop") -> None:
        super().__init__(0)
        self.decision = decision

"""What goes wrong, as one class; and the end of a trial, as another."""
from __future__ import annotations

INVALID_PARAMS, NOT_FOUND, CONFLICT, BUSY = -32602, -32001, -32002, -32003


class SweepdError(Exception):
    """A call that failed. `code` is the protocol's (0: the error is this package's), `pointer` the field at fault."""

    def __init__(self, message: str, code: int = 0, pointer: str = "") -> None:
        super().__init__(f"{pointer}: {message}" if pointer else message)
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

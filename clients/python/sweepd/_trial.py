"""Inside a trial: what a program that the daemon runs calls. docs/protocol.md is not needed for it.

The daemon's worker gives the parameters and folders in the environment (SWEEPD_PARAMS and its like), and a stream
socket, SWEEPD_METRICS_FD, that takes a JSON object a line for each report and answers each with a decision.
"""
import functools
import json
import os
import socket
import tempfile
import threading
import time
import warnings
from typing import Any, Dict, Mapping, Optional

from ._errors import Pruned, SweepdError
from ._wire import as_step, to_wire

_lock = threading.Lock()
_unread = b""
_exchanged = False
_told = -1.0  # when progress() said something last


def in_trial() -> bool:
    """Does sweepd run this process as a trial?"""
    return "SWEEPD_PARAMS" in os.environ


def params(defaults: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """The trial's parameters, over `defaults`. Outside a trial: the defaults."""
    if not in_trial() and defaults is None:
        raise SweepdError("this script is not run by sweepd, so it has no parameters: submit a sweep whose `program` it "
                          "is, or give defaults: sweepd.params({\"lr\": 0.1})")
    return {**(defaults or {}), **json.loads(os.environ.get("SWEEPD_PARAMS", "{}"))}


def report(step: Optional[int] = None, checkpoint: bool = False, **metrics: Any) -> None:
    """Reports a step's metrics (default: the next step). Raises Pruned if the trial is to end. A report that cannot be
    stored, such as one of a step that was reported before or one over 64 KiB, is a warning: the trial goes on.

    `checkpoint`: what lies in checkpoint_dir() is complete, and is the trial's checkpoint of this step; the folder is
    empty afterwards. If the trial is lost it resumes from there.

    Outside a trial the metrics are printed. In a program of several ranks only the first reports.
    """
    if os.environ.get("RANK", "0") != "0":
        return
    line = {**({} if step is None else {"step": as_step(step)}), **({"checkpoint": True} if checkpoint else {}),
            **to_wire(metrics)}
    send(line)


def progress(done: int, total: int) -> None:
    """Says how far the step under way is, in batches say: `sweep watch` shows it. Cheap: at most one word a second
    goes out. Outside a trial, and in other ranks than the first, it does nothing."""
    global _told
    now = time.monotonic()
    fd = _worker() if now - _told >= 1 and os.environ.get("RANK", "0") == "0" else None
    if fd is None:
        return
    _told = now
    with _lock:
        _speak(fd, json.dumps({"progress": [int(done), int(total)]}), answered=False)


def send(line: Mapping[str, Any]) -> Dict[str, Any]:
    """A line of report() as it is; gives the answer."""
    text = json.dumps(line)
    fd = _worker()
    if fd is None:
        if _exchanged:
            raise SweepdError("the descriptor SWEEPD_METRICS_FD was closed by this program")
        print(text, flush=True)
        return {}
    with _lock:
        answer = _speak(fd, text, answered=True)
    if "error" in answer:
        raise SweepdError(answer["error"])
    if answer["decision"] != "continue":
        raise Pruned(answer["decision"])
    if "not_stored" in answer:
        warnings.warn(f"sweepd did not store a report: {answer['not_stored']}", stacklevel=3)
    return answer


def trial_dir() -> str:
    """A folder of the trial's own, for what no later attempt needs: its best model, plots, a log. It stays if the trial is
    the sweep's best or last one (`checkpoint.keep` of the spec). Outside a trial: the current folder."""
    return os.environ.get("SWEEPD_TRIAL_DIR") or os.getcwd()


def checkpoint_dir() -> str:
    """A folder of the trial's own. What it holds when a trial is paused or lost is the resume_dir() of the next attempt.

    The path stays the same. After report(..., checkpoint=True) the folder is empty. Outside a trial, and where
    nothing is kept, it is a temporary one, which ends with this process.
    """
    return os.environ.get("SWEEPD_CHECKPOINT_DIR") or _temporary().name


@functools.lru_cache(maxsize=None)
def _temporary() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="sweepd-")


def resume_dir() -> Optional[str]:
    """The folder that an earlier attempt left to go on from; None: start from scratch."""
    return os.environ.get("SWEEPD_RESUME") or None


def resume_step() -> int:
    """The step after which the trial goes on; 0: from the start, or the program decides by what is in resume_dir()."""
    return int(os.environ.get("SWEEPD_RESUME_STEP") or 0)


def _worker() -> Optional[int]:
    """The worker's socket. None: this process has no such socket, as one that a launcher started (torchrun, subprocess,
    multiprocessing's "spawn"): its descriptors are closed, and another file may have the number. What it prints is a
    report as well."""
    try:
        fd = int(os.environ["SWEEPD_METRICS_FD"])
        with socket.fromfd(fd, socket.AF_UNIX, socket.SOCK_STREAM) as one:
            return fd if one.getsockname() == "" else None  # one of a pair has no name
    except (KeyError, OSError):
        return None


def _speak(fd: int, line: str, answered: bool) -> Dict[str, Any]:
    """Sends a line; gives the answer to it, {} if none comes."""
    global _unread, _exchanged
    _exchanged = _exchanged or answered
    try:
        data = line.encode() + b"\n"
        while data:
            data = data[os.write(fd, data):]
        while answered and b"\n" not in _unread:
            chunk = os.read(fd, 4096)
            if not chunk:
                raise ConnectionResetError("it has closed the socket")
            _unread += chunk
    except OSError as error:
        raise SweepdError(f"the worker that ran this trial is gone: {error}") from error
    answer, _, _unread = _unread.partition(b"\n") if answered else (b"{}", b"", _unread)
    return json.loads(answer)

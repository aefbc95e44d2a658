"""A sweep as TensorBoard's event files, written by TensorBoard's own writer.

    python3 -m sweepd.tensorboard SWEEP --out DIR [--follow]

Trial 7 of sweep 1 is the run 1/7 in DIR: a scalar a metric, and what the HParams tab needs.
"""
import argparse
import contextlib
import json
import os
import sys
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ._client import ENDED, Client
from ._errors import SweepdError

try:
    from tensorboard.compat.proto.event_pb2 import Event, SessionLog  # type: ignore
    from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2, summary_v2  # type: ignore
    from tensorboard.summary.writer.record_writer import RecordWriter  # type: ignore
except ImportError as error:
    _WITHOUT = f"sweepd.tensorboard writes by TensorBoard itself: pip install tensorboard ({error})"
    if __name__ == "__main__":
        sys.exit(_WITHOUT)
    raise ImportError(_WITHOUT) from error

# TensorBoard has three words: a trial that was stopped before its end is neither a success nor a failure.
STATUS = {"COMPLETED": "STATUS_SUCCESS", "FAILED": "STATUS_FAILURE", "INFEASIBLE": "STATUS_FAILURE"}
ENDS = (*STATUS, "PRUNED", "CANCELLED")


def _plain(text: str) -> str:
    """Control characters, and those that turn the direction of a line, would reach the page."""
    return "".join(each if each.isprintable() else "?" for each in text)


def _flat(params: Mapping[str, Any], declared: Mapping[str, Any], prefix: str = "") -> Iterator[Tuple[str, Any]]:
    """Those of a group have their whole names, "opt.wd"; a list or another object is the text of its JSON."""
    for name, value in params.items():
        group = (declared.get(name) or {}).get("parameters")
        if group is not None:
            yield from _flat(value, group, f"{prefix}{name}.")
        elif isinstance(value, (bool, int, float)):
            yield _plain(prefix + name), value
        else:
            yield _plain(prefix + name), _plain(value if isinstance(value, str) else json.dumps(value, separators=(",", ":")))


def _start(time_s: float, step: int) -> Any:
    """Voids what the file has from this step on. Of the first in a file a reader takes no notice."""
    return Event(wall_time=time_s, step=step, session_log=SessionLog(status=SessionLog.START))


def _resume_step(client: Client, sweep: int, trial: int, attempt: int) -> int:
    """After which step the attempt went on."""
    return next(int(one["resume_step"]) for one in client.trial(sweep, trial)["attempts"] if one["attempt"] == attempt)


class Run:
    """A trial's event file. It has one name for ever, so that a second export takes the place of the first."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, "events.out.tfevents.1.sweepd")
        self.place, self.attempt, self.reports, self.ended = "0.0", 1, 0, False
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def write(self, events: List[Any]) -> None:
        """Appends them. In a folder where others may write, their link leads nowhere."""
        with open(self.path, "ab", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW, 0o666)) as file:
            writer = RecordWriter(file)
            for event in events:
                writer.write(event.SerializeToString())

    def begin(self, trial: Mapping[str, Any], name: str, declared: Mapping[str, Any]) -> None:
        """Writes the begin of a file."""
        at = trial["created_ms"] / 1e3
        params = dict(_flat(trial["params"] or {}, declared))
        summary = summary_v2.hparams_pb(params, trial_id=name, start_time_secs=at)
        self.write([Event(wall_time=at, file_version="brain.Event:2"), _start(at, 0), Event(wall_time=at, summary=summary)])

    def update(self, client: Client, sweep: int, trial: Mapping[str, Any]) -> None:
        """Appends what is new of the trial."""
        events: List[Any] = []
        for row in client.reports(sweep, trial["trial"], self.place) if trial["step"] else ():
            at = row["time_ms"] / 1e3
            if row["attempt"] != self.attempt:  # reports of the one before, behind its checkpoint, were lost with it
                self.attempt = row["attempt"]
                events.append(_start(at, _resume_step(client, sweep, trial["trial"], self.attempt) + 1))
            self.place, self.reports = f"{row['attempt']}.{row['seq']}", self.reports + 1
            events.append(Event(wall_time=at, step=row["step"], summary=Summary(value=[
                Summary.Value(tag=_plain(name), simple_value=value) for name, value in row["metrics"].items()])))
        self.ended = trial["state"] in ENDS
        if self.ended:
            at = trial["ended_ms"] / 1e3
            end = plugin_data_pb2.SessionEndInfo(
                status=api_pb2.Status.Value(STATUS.get(trial["state"], "STATUS_UNKNOWN")), end_time_secs=at)
            about = metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(session_end_info=end))
            events.append(Event(wall_time=at, summary=Summary(value=[
                Summary.Value(tag=metadata.SESSION_END_INFO_TAG, metadata=about, tensor=metadata.NULL_TENSOR)])))
        self.write(events)


def export(client: Client, sweep: int, out: str, follow: bool = False) -> Tuple[int, int]:
    """Writes a sweep, with `follow` until it has ended, and what comes each second; gives how many trials and reports."""
    declared = client.sweep(sweep)["spec"]["parameters"]
    runs: Dict[int, Run] = {}
    first = 0  # the trials up to this one are written to their ends
    while True:
        over = not follow or client.sweep(sweep)["state"] in ENDED
        for trial in client._pages("trial.list", "trials", sweep=sweep, after=first, limit=1000):
            number = trial["trial"]
            if number not in runs:
                runs[number] = Run(os.path.join(out, str(sweep), str(number)))
                runs[number].begin(trial, f"{sweep}/{number}", declared)
            if not runs[number].ended:
                runs[number].update(client, sweep, trial)
            if number == first + 1 and runs[number].ended:
                first = number
        if over:
            return len(runs), sum(run.reports for run in runs.values())
        time.sleep(1)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """An exit status."""
    parser = argparse.ArgumentParser("python3 -m sweepd.tensorboard", description="writes a sweep as TensorBoard's event files")
    parser.add_argument("sweep", help="its number or its name")
    parser.add_argument("--out", required=True, metavar="DIR", help="for `tensorboard --logdir DIR`")
    parser.add_argument("--follow", action="store_true", help="append what comes until the sweep has ended")
    parser.add_argument("--host", metavar="USER@BOX", help="the daemon of that machine, by ssh")
    given = parser.parse_args(arguments)
    try:
        with Client(start=False, host=given.host) as client:
            numbers = ([int(given.sweep)] if given.sweep.isdecimal() else
                       [row["sweep"] for row in client.sweeps() if row["name"] == given.sweep])
            if not numbers:
                raise SweepdError(f"no sweep is called {given.sweep!r}")
            trials, reports = export(client, numbers[0], given.out, given.follow)
    except (SweepdError, OSError) as error:
        print(f"tensorboard: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"{trials} trials, {reports} reports in {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

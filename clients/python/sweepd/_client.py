"""The client: every call of the daemon, over a connection that comes back by itself."""
import contextlib
import json
import os
import sys
import threading
import time
import warnings
from typing import Any, ContextManager, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _daemon, _loop
from ._connection import Connection
from ._errors import BUSY, CONFLICT, SweepdError
from ._loop import Trial
from ._wire import as_step, from_wire, to_wire

Row = Dict[str, Any]
ENDED = ("COMPLETED", "CANCELLED", "FAILED")
WATCH_S = 30  # so long one question waits for a change
# Twice is not the same as once for these: they are not sent again when the connection broke under them.
ONCE = ("sweep.submit", "trial.enqueue", "trial.retry", "journal.append")


class Client(ContextManager["Client"]):
    """A connection to the daemon of this user.

    `socket`: its path; by default where the `sweep` command looks. If nothing answers at the default path and
    `start` is true, a daemon is started, which outlives this process. `patience_s`: how long a call waits for a
    daemon that went away to come back. Threads may share a client: their calls go one after the other. `host`
    (or SWEEPD_HOST, where no socket is given): the daemon of that machine, by `ssh HOST sweep dial`; paths in a spec
    are paths there.
    """

    def __init__(self, socket: Optional[str] = None, start: bool = True, patience_s: float = 600,
                 host: Optional[str] = None) -> None:
        if not socket:
            host = host or os.environ.get("SWEEPD_HOST")
        self.socket = host or os.path.abspath(socket or _daemon.default_socket())
        self.patience_s, self.host = patience_s, host
        self._lock = threading.RLock()
        self._connection: Optional[Connection] = None
        if host:
            if socket:
                raise SweepdError("socket and host exclude each other")
            try:
                self._connection = Connection(host, host)
            except OSError as error:
                raise SweepdError(str(error)) from error
            return
        given = bool(socket or os.environ.get("SWEEPD_SOCKET"))
        told = None if given else _daemon.told_socket()
        try:
            self._connection = Connection(self.socket)
        except (FileNotFoundError, ConnectionRefusedError, PermissionError) as wrong:
            with contextlib.suppress(OSError, SweepdError):
                if told:
                    self._connection, self.socket = Connection(told), told
                    return
            if isinstance(wrong, PermissionError):
                raise SweepdError(f"permission denied: the daemon at {self.socket} is another user's") from None
            if given or not start:
                raise SweepdError(f"no daemon answers at {self.socket}") from None
            _daemon.start(self.socket)

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; the next call opens one again."""
        with self._lock:
            if self._connection:
                self._connection.close()
            self._connection = None

    def call(self, method: str, params: Optional[Mapping[str, Any]] = None, /, **named: Any) -> Any:
        """Any method of docs/protocol.md. `params` goes as it is; of those given by name, None are left out."""
        params = {**(params or {}), **{name: value for name, value in named.items() if value is not None}}
        patience = _Patience(self)
        with self._lock:
            while True:
                connection = self._connection = self._connection or patience.connect()
                try:
                    return connection.call(method, params)
                except (OSError, EOFError) as error:
                    self.close()
                    if method in ONCE:
                        raise SweepdError(f"the connection broke during {method}: it may or may not have been carried "
                                          f"out ({error})") from error
                    patience.wait(error)
                except SweepdError as error:
                    if error.code not in (BUSY, 0):
                        raise
                    self.close()  # it was not carried out: too much waits, or the daemon stops and another one comes
                    if error.code == 0:
                        raise  # no answer of a daemon's: nothing that follows it can be believed
                    patience.wait(error)
                except BaseException:  # Ctrl-C between a request and its answer
                    self.close()
                    raise

    def _pages(self, method: str, of: str, **named: Any) -> Iterator[Row]:
        while True:
            page = self.call(method, **named)
            yield from page[of]
            named["after"] = page["next"]
            if page["next"] is None:
                return

    def submit(self, spec: Union[Mapping[str, Any], str]) -> int:
        """Starts the sweep of a spec (docs/spec.md), a dict or the path of a JSON file; gives its number."""
        spec = _spec(spec, self.host)
        done = self.call("sweep.submit", spec=spec, env=_passed(spec, self.host))
        for text in done["warnings"]:
            warnings.warn(text, stacklevel=2)
        return int(done["sweep"])

    def validate(self, spec: Union[Mapping[str, Any], str]) -> Row:
        """Checks a spec as submit() does, and stores nothing."""
        spec = _spec(spec, self.host)
        return self.call("sweep.validate", spec=spec, env=_passed(spec, self.host))

    def sweep(self, sweep: int) -> Row:
        """One sweep: state, counts, best trial, spec."""
        return self.call("sweep.get", sweep=sweep)

    def sweeps(self, state: Optional[str] = None) -> List[Row]:
        """All sweeps, the newest first."""
        return list(self._pages("sweep.list", "sweeps", state=state and state.upper()))

    def best(self, sweep: int, scope: Optional[str] = None) -> Optional[Row]:
        """The best trial, or None while none has reported."""
        rows = self.bests(sweep, n=1, scope=scope)
        return rows[0] if rows else None

    def bests(self, sweep: int, n: Optional[int] = None, scope: Optional[str] = None) -> List[Row]:
        """The best trials, best first; with several metrics those that no other beats."""
        return _rows(self.call("sweep.best", sweep=sweep, n=n, scope=scope)["trials"])

    def watch(self, sweep: int) -> Iterator[Row]:
        """The sweep as it is, then as it changes; ends when the sweep does (docs/protocol.md, sweep.watch)."""
        patience, since = _Patience(self), 0
        while True:
            connection = patience.connect()
            try:
                while True:
                    update = connection.call("sweep.watch", {"sweep": sweep, "since": since, "wait_s": WATCH_S})
                    patience, before, since = _Patience(self), since, update.get("next", 0)
                    if update.get("reset", True) or since != before:
                        yield update
                    if update.get("state") in ENDED:
                        return
            except (OSError, EOFError, SweepdError) as error:
                if isinstance(error, SweepdError) and error.code != BUSY:
                    raise
                patience.wait(error)
            finally:
                connection.close()

    def wait(self, sweep: int) -> Row:
        """Returns once the sweep has ended, with its last state. SweepdError: the daemon paused it, and says why."""
        for update in self.watch(sweep):
            if update.get("halted"):
                raise SweepdError(f"sweep {sweep} is paused: {update.get('cause')}")
        return self.sweep(sweep)

    def pause(self, sweep: int) -> None:
        """Stops handing out trials; those that run go on."""
        self.call("sweep.pause", sweep=sweep)

    def resume(self, sweep: int) -> None:
        """Goes on after pause()."""
        self.call("sweep.resume", sweep=sweep)

    def cancel(self, sweep: int) -> None:
        """Ends a sweep and its trials as CANCELLED."""
        self.call("sweep.cancel", sweep=sweep)

    def extend(self, sweep: int, run_cap: int) -> None:
        """Raises the run cap; a COMPLETED sweep goes on."""
        self.call("sweep.extend", sweep=sweep, run_cap=run_cap)

    def delete(self, sweep: int, keep_best: bool = False) -> int:
        """Deletes a sweep that has ended, with all its files; gives the bytes that were freed. With keep_best its best
        trial stays, with its checkpoint and the sweep's row."""
        return self.call("sweep.delete", sweep=sweep, keep_best=keep_best)["bytes"]

    def edit(self, sweep: int, **changes: Any) -> List[Row]:
        """Changes limits and ranges of a sweep that goes on (docs/protocol.md, sweep.edit); gives what changed."""
        return self.call("sweep.edit", sweep=sweep, **changes)["changes"]

    def trials(self, sweep: int, state: Optional[str] = None, frame: bool = False) -> Any:
        """All trials as a list of dicts; with `frame` a pandas.DataFrame with a column for each parameter and metric."""
        rows = _rows(list(self._pages("trial.list", "trials", sweep=sweep, state=state and state.upper(), limit=1000)))
        if not frame:
            return rows
        try:
            import pandas  # type: ignore
        except ImportError:
            raise SweepdError("trials(frame=True) needs pandas: pip install pandas") from None
        return pandas.json_normalize(rows)

    def trial(self, sweep: int, trial: int) -> Row:
        """One trial with its attempts."""
        return _rows([self.call("trial.get", sweep=sweep, trial=trial)])[0]

    def reports(self, sweep: int, trial: int, after: Optional[str] = None) -> List[Row]:
        """All reports of a trial, each with the daemon's decision. `after`: those behind "ATTEMPT.SEQ"."""
        return _rows(list(self._pages("trial.reports", "reports", sweep=sweep, trial=trial, after=after)))

    def curves(self, sweep: int) -> List[Row]:
        """All reports of all trials: {"trial", "step", metrics...} each, which pandas.DataFrame() takes."""
        return [{"trial": trial["trial"], "step": row["step"], **row["metrics"]}
                for trial in self.trials(sweep) for row in self.reports(sweep, trial["trial"])]

    def plot(self, sweep: int, name: str = "history", params: Sequence[str] = (), compare: Sequence[int] = (),
             state: Optional[str] = None, n: Optional[int] = None) -> Any:
        """One of the plots of docs/plots.md: a matplotlib Figure where that is installed, else an Svg. A notebook
        shows either. `compare`: further sweeps in the same plot; `state` and `n`: only such trials, only the n best."""
        asked: Dict[str, Any] = {"sweep": sweep, "plot": name, "params": list(params), "with": list(compare),
                                 "state": state and state.upper(), "n": n}
        try:
            import matplotlib.pyplot  # noqa: F401
        except ImportError:
            return Svg(self.call("sweep.plot", **asked, format="svg")["text"])
        from ._plot import figure
        return figure(self.call("sweep.plot", **asked))

    def enqueue(self, sweep: int, params: Mapping[str, Any]) -> int:
        """Adds a trial of your own; gives its number."""
        return int(self.call("trial.enqueue", sweep=sweep, params=dict(params))["trial"])

    def retry(self, sweep: int, trial: int) -> int:
        """Runs a trial that failed again, as a new one with its parameters. Returns the new one's number."""
        return int(self.call("trial.retry", sweep=sweep, trial=trial)["trial"])

    def ask(self, sweep: int, count: int = 1, wait_s: float = 0) -> Row:
        """{"trials": [...]}; if the list is empty, "reason" says why ("done": the sweep has ended)."""
        return self.call("trial.ask", sweep=sweep, count=count, wait_s=wait_s)

    def report(self, sweep: int, trial: int, attempt: int, seq: int, step: int, metrics: Mapping[str, Any],
               checkpoint: bool = False, stateless: bool = False) -> str:
        """The decision: "continue", "stop" or "pause"."""
        return self.call("trial.report", sweep=sweep, trial=trial, attempt=attempt, seq=seq, step=as_step(step),
                         metrics=to_wire(metrics), checkpoint=checkpoint or None, stateless=stateless or None)["decision"]

    def heartbeat(self, sweep: int, trial: int, attempt: int) -> str:
        """Says that a trial is still worked on; gives the decision."""
        return self.call("trial.heartbeat", sweep=sweep, trial=trial, attempt=attempt)["decision"]

    def tell(self, sweep: int, trial: int, attempt: int, state: str = "COMPLETED",
             metrics: Optional[Mapping[str, Any]] = None, step: Optional[int] = None, cause: Optional[str] = None) -> str:
        """Ends a trial; gives the state that it has now."""
        try:
            return self.call("trial.tell", sweep=sweep, trial=trial, attempt=attempt, state=state, step=as_step(step),
                             metrics=to_wire(metrics) if metrics else None,
                             cause=cause and cause.encode()[:180].decode(errors="ignore"))["state"]
        except SweepdError as error:
            # A tell that was carried out, but whose answer was lost with the connection, is refused the second time.
            if error.code != CONFLICT:
                raise
            now = self.trial(sweep, trial)
            if now["attempt"] != attempt or now["state"] != state:
                raise
            return now["state"]

    def loop(self, sweep: int) -> Iterator[Trial]:
        """The trials of a sweep that you drive, one at a time, until the sweep ends (see Trial). One that you neither
        ended nor were told to end is done() when you take the next."""
        # Waiting for a trial holds up no thread's reports.
        with Client(None if self.host else self.socket, patience_s=self.patience_s, host=self.host) as client:
            lease = client.sweep(sweep)["spec"].get("lease_s")
            while True:
                asked = time.monotonic()
                answer = client.ask(sweep, wait_s=60)
                for handed in answer["trials"]:
                    trial = Trial(client, sweep, handed, min(_loop.BEAT_S, lease / 3) if lease else None)
                    try:
                        yield trial
                        trial.done()
                    finally:
                        trial._over.set()
                if answer.get("reason") == "done":
                    return
                if not answer["trials"] and time.monotonic() - asked < 0.1:
                    time.sleep(0.1)  # a daemon that drains answers at once

    def info(self) -> Row:
        """The daemon's version, paths and uptime."""
        return self.call("daemon.info")


class Svg(str):
    """A drawing as SVG text."""

    def _repr_svg_(self) -> str:
        return str(self)


class _Patience:
    """How long, and at what pace, a daemon is tried that does not answer: for patience_s since it last did."""

    def __init__(self, client: Client) -> None:
        self._path, self._host, self._said = client.socket, client.host, False
        self._client, self._since, self._pause = client, time.monotonic(), 0.02  # it may lose its patience: at a script's end

    def connect(self) -> Connection:
        while True:
            try:
                return Connection(self._path, self._host)
            except OSError as error:
                self.wait(error)

    def wait(self, error: Exception) -> None:
        """Sleeps until the next try; past the end it raises."""
        left = self._since + self._client.patience_s - time.monotonic()
        if left <= 0:
            if isinstance(error, SweepdError):
                raise error
            raise SweepdError(f"no daemon answers at {self._path}: {error}") from error
        if self._pause >= 1 and not self._said:
            self._said = True
            what = str(error) if isinstance(error, SweepdError) else f"no daemon answers at {self._path}"
            print(f"sweepd: {what}: waiting for it", file=sys.stderr)
        time.sleep(min(self._pause, left))
        self._pause = min(self._pause * 1.5, 2)


def _spec(spec: Union[Mapping[str, Any], str], host: Optional[str]) -> Row:
    """The spec; what `run` does not say of a program of one's own is filled in as by `sweep submit`: this folder and
    umask."""
    if isinstance(spec, str):
        if spec.endswith((".yaml", ".yml")):
            raise SweepdError(f"{spec}: YAML is read by `sweep submit`; this package takes a dict or a JSON file")
        with open(spec, encoding="utf-8") as file:
            spec = json.load(file)
    out = dict(spec)  # type: ignore[arg-type]
    if not host and ("command" in out or "program" in out) and isinstance(out.get("run", {}), Mapping):
        with open("/proc/self/status", encoding="utf-8") as status:  # os.umask() would set it, for all threads
            mask = next((line.split()[1][-3:] for line in status if line.startswith("Umask:")), "077")
        run = out["run"] = {"cwd": os.getcwd(), "umask": mask, **out.get("run", {})}
        if run["cwd"] == "${trial_dir}" and isinstance(out.get("program"), str) and os.path.exists(out["program"]):
            out["program"] = os.path.abspath(out["program"])
    return out


def _passed(spec: Row, host: Optional[str]) -> Optional[Dict[str, str]]:
    """The environment for a program, as `sweep submit` sends it: this one, of which the daemon leaves out what belongs to
    a login. For another machine: none."""
    if host or not ("command" in spec or "program" in spec):
        return None
    passed = {}
    for name, value in os.environ.items():
        try:
            (name + value).encode()
        except UnicodeEncodeError:
            warnings.warn(f"the variable {name!a} is not passed on: it is no UTF-8", stacklevel=3)
        else:
            if name:  # no program could ask for one without
                passed[name] = value
    return passed


def _rows(rows: List[Row]) -> List[Row]:
    for row in rows:
        if row.get("metrics"):
            row["metrics"] = from_wire(row["metrics"])
    return rows

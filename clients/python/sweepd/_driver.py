"""The driver of tune(): a function's trials as processes of this one, by ask, report and tell.

This process is to them what a worker is to a program: a forked child has the same environment and the same socket
for metrics (_trial.py), so sweepd.report() and Pruned mean the same in both. Trial N writes into the folder N; what
was kept of its step S is the folder N-S.ckpt.
"""
import codecs
import contextlib
import ctypes
import gc
import glob
import importlib
import json
import math
import os
import re
import selectors
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from ._client import Client
from ._errors import INVALID_PARAMS, SweepdError
from ._loop import Trial
from ._wire import from_wire, to_wire

OUT_OF_MEMORY = ("OutOfMemoryError", "CUDA out of memory", "MemoryError", "std::bad_alloc")
STANDARD = os.path.dirname(os.__file__) + os.sep
LOG_MAX = 16 << 20  # of a trial's output; what is longer begins anew
Params = Dict[str, Any]


def checkpoints(folder: str, trial: int) -> List[int]:
    """The steps that a trial has checkpoints of, rising."""
    return sorted(int(path[len(folder) + len(f"/{trial}-"):-len(".ckpt")])
                  for path in glob.glob(checkpoint_path(glob.escape(folder), trial, "*")))


def checkpoint_path(folder: str, trial: int, step: Union[int, str]) -> str:
    return os.path.join(folder, f"{trial}-{step}.ckpt")


def is_empty(folder: str) -> bool:
    """Is there nothing in it? A trial may have moved or removed its own, which holds nothing then."""
    try:
        return not os.listdir(folder)
    except FileNotFoundError:
        return True


class Running:
    """A trial's process."""

    def __init__(self, trial: Trial, pid: int, channel: socket.socket, place: int, log: int, shown: int,
                 step: int) -> None:
        self.trial, self.pid, self.channel, self.place = trial, pid, channel, place
        self.step = step  # of its last report; at first that of what it goes on from
        self.log, self.shown = log, shown  # the file of its output, and how much of it was passed on
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.unread = b""
        self.result: Dict[str, Any] = {}
        self.known = trial.step  # steps up to here were reported before this process: it may go through them again
        self.signal_at: Optional[float] = None  # when it gets the next signal, SIGTERM and then SIGKILL
        self.signal = signal.SIGTERM
        self.status: Optional[int] = None  # of its end, if that came before its channel's
        self.close_at = 0.0


class Driver:
    """Runs a sweep's trials until the sweep ends, `n` at once. Subclasses may say more about each trial."""

    def __init__(self, client: Client, sweep: int, fn: Callable[[Params], Any], metric: str, n: int,
                 gpus: Optional[List[str]] = None, grace_s: float = 10) -> None:
        self.client, self.sweep, self.fn, self.metric = client, sweep, fn, metric
        self.gpus, self.grace_s = gpus, grace_s
        self.threads = max(1, len(os.sched_getaffinity(0)) // n)
        self.most = math.inf  # new trials that it asks for
        state = client.info()["state_dir"]
        self.folder = os.path.join(state, "tune", str(sweep))
        self.logs = os.path.join(state, "logs", str(sweep))  # read by `sweep log`
        self.sign = -1 if client.sweep(sweep)["goal"] == "maximize" else 1
        pruner = client.sweep(sweep)["spec"].get("early_terminate") or {}
        self.interval = pruner.get("perturbation_interval") if pruner.get("type") == "pbt" else None
        self.burn_in = pruner.get("burn_in_period", 0)
        self.selector = selectors.DefaultSelector()
        self.lesson: Optional[List[str]] = None  # the modules of the first trial that ended
        self.running: List[Running] = []
        self.free = list(range(n))
        self.reports: Dict[int, List[Dict[str, Any]]] = {}
        self.last: Dict[int, Dict[str, float]] = {}  # each trial's last metrics
        self.judged: Dict[int, int] = {}  # the step at which a population judged each trial last
        self.more: Dict[str, Any] = {}  # sent beside the decision with the next answer to a report
        self.best: Dict[int, Tuple[float, int]] = {}  # the best report of each that has a checkpoint: cost, step

    # A subclass may change these:

    def params(self, trial: Trial) -> Params:
        """The argument of fn."""
        return trial.params

    def noted(self, trial: Trial, row: Dict[str, Any], more: Dict[str, Any]) -> None:
        """A report is stored: its step and metrics, and what the process sent beside them."""
        self.reports.setdefault(trial.number, []).append(row)

    def useless(self, trial: int, older: List[int], at: int) -> List[int]:
        """The steps whose checkpoints go now that a trial has one of step `at`: all but its best."""
        return [old for old in older if old != self.best.get(trial, (0, 0))[1]]

    def failed(self, trial: Trial, text: str) -> bool:
        """A trial's process failed. Is it to run again?"""
        return False

    def reopened(self) -> bool:
        """The sweep has ended. Does it go on?"""
        return False

    def tick(self) -> None:
        """Called at least five times a second."""

    def broken(self, error: BaseException) -> None:
        """run() ends by an error; its processes are gone."""
        with contextlib.suppress(SweepdError):  # it has ended
            self.client.cancel(self.sweep)

    # The loop

    def run(self) -> None:
        load(at_once(self.fn))
        try:
            done = False
            while self.running or not done:
                if self.free and not done:
                    # Only a driver with nothing to do may wait for the daemon.
                    answer = self.client.ask(self.sweep, min(len(self.free), self.most), wait_s=0 if self.running else 10)
                    for handed in answer["trials"]:
                        self.most -= handed["attempt"] == 1
                        self.start(Trial(self.client, self.sweep, handed, thread=False))
                    done = self.most <= 0 or answer.get("reason") == "done" and not self.reopened()
                for key, _ in self.selector.select(0.2):
                    self.read(key.data)
                self.look_after()
                self.tick()
        except BaseException as error:
            for it in self.running:
                self.signal_group(it, signal.SIGKILL)
            for it in self.running:
                with contextlib.suppress(ChildProcessError):  # the error came while it was being reaped
                    os.waitpid(it.pid, 0 if it.status is None else os.WNOHANG)
                self.show(it)
            self.broken(error)
            raise

    def start(self, trial: Trial) -> None:
        ours, its = socket.socketpair()
        place = self.free.pop(0)
        live = os.path.join(self.folder, str(trial.number))
        params = self.params(trial)
        environment = {
            "SWEEPD_TRIAL": f"{self.sweep}/{trial.number}", "SWEEPD_ATTEMPT": str(trial.attempt),
            "SWEEPD_PARAMS": json.dumps(trial.params), "SWEEPD_CHECKPOINT_DIR": live,
            "SWEEPD_METRICS_FD": str(its.fileno()), **self.resume(trial)}
        if self.gpus is not None:
            environment["CUDA_VISIBLE_DEVICES"] = self.gpus[place] if self.gpus else ""
        os.makedirs(live, exist_ok=True)
        os.makedirs(self.logs, mode=0o700, exist_ok=True)
        log = os.open(os.path.join(self.logs, f"{trial.number}.log"), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC,
                      0o600)
        shown = os.fstat(log).st_size  # by earlier attempts; once the process is there it may write
        if (trial.attempt > 1 or trial.parent) and not environment["SWEEPD_RESUME"]:
            os.write(log, b"sweepd: starts from scratch: nothing was kept in checkpoint_dir()\n")
        # Reports of an earlier attempt behind the step that this one goes on from no longer count.
        self.reports[trial.number] = [row for row in self.reports.get(trial.number, []) if row["step"] <= trial.step]
        threads = 1 if may_have_pool() else self.threads
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                ours.close()
                become_trial(parent, log, environment, threads)
                status = call(self.fn, params, self.metric, its, None if self.lesson is not None else Lesson())
            finally:
                os._exit(status)
        its.close()
        running = Running(trial, pid, ours, place, log, shown, int(environment["SWEEPD_RESUME_STEP"]))
        self.selector.register(ours, selectors.EVENT_READ, running)
        self.running.append(running)

    def resume(self, trial: Trial) -> Dict[str, str]:
        """The checkpoint that a trial goes on from: its newest one; while it has none of its own, its parent's of the step."""
        source, last = trial.number, max(trial.resume_step, trial.step)
        steps = [step for step in checkpoints(self.folder, source) if step <= last]
        if trial.parent and not steps:
            source = trial.parent
            steps = [step for step in checkpoints(self.folder, source) if step == trial.resume_step]
        if not steps:
            return {"SWEEPD_RESUME": "", "SWEEPD_RESUME_STEP": "0"}
        return {"SWEEPD_RESUME": checkpoint_path(self.folder, source, steps[-1]), "SWEEPD_RESUME_STEP": str(steps[-1])}

    def read(self, it: Running) -> None:
        try:
            chunk = it.channel.recv(1 << 16)
        except OSError:
            chunk = b""
        if not chunk:
            self.ended(it)
            return
        it.unread += chunk
        while b"\n" in it.unread:
            line, _, it.unread = it.unread.partition(b"\n")
            message = json.loads(line)
            if "\0" in message:
                it.result = message["\0"]
                if self.lesson is None:
                    self.lesson = it.result.get("modules", [])
                    load(self.lesson)
            else:
                self.reported(it, message)

    def reported(self, it: Running, metrics: Dict[str, Any]) -> None:
        step, checkpoint = metrics.pop("step", None), metrics.pop("checkpoint", False)
        more, self.more = metrics.pop("\0more", {}), {}
        trial = it.trial
        before = trial.step
        try:
            if isinstance(step, float) and step.is_integer():
                step = int(step)
            if step is not None and (isinstance(step, bool) or not isinstance(step, int)):
                raise SweepdError('"step" must be a whole number')
            at = it.step + 1 if step is None else step
            it.step = max(it.step, at)
            # A trial without a checkpoint goes through its first steps again: they are known.
            decision = "continue" if at <= trial.step else self.report(trial, at, checkpoint, from_wire(metrics), more)
            answer = {"decision": decision, **self.more}
        except (SweepdError, OSError) as error:
            answer, decision = {"error": str(error)}, "continue"
        if isinstance(step, int) and step <= before and not 0 < step <= it.known:
            try:  # the daemon refuses it, and counts it with the trial
                self.client.report(self.sweep, trial.number, trial.attempt, trial._seq + 1, step, metrics)
            except SweepdError as error:
                answer["not_stored"] = str(error)
        if decision != "continue":
            it.signal_at = time.monotonic() + 0.5
        with contextlib.suppress(OSError):  # it ended; the next read says so
            it.channel.sendall(json.dumps(answer).encode() + b"\n")

    def report(self, trial: Trial, at: int, checkpoint: bool, metrics: Dict[str, float], more: Dict[str, Any]) -> str:
        live = os.path.join(self.folder, str(trial.number))
        before = checkpoints(self.folder, trial.number)
        # Children of a population start from the checkpoint of the step at which it is judged (sched/pruner/pbt.c), so
        # that is kept before it is reported.
        due = bool(self.interval and self.metric in metrics and at >= max(
            self.burn_in, self.judged.get(trial.number, trial.resume_step) + self.interval))
        if due:
            self.judged[trial.number] = at
        kept = (checkpoint or due) and self.keep(live, at, checkpoint)
        decision = trial.report(at, checkpoint=kept, stateless=not kept and is_empty(live), **metrics)
        self.last[trial.number] = metrics
        self.noted(trial, {"step": at, **metrics}, more)
        if decision == "pause" and not kept:
            kept = self.keep(live, at, True)
        if kept:
            cost = self.sign * metrics.get(self.metric, math.nan)
            if math.isfinite(cost) and cost < self.best.get(trial.number, (math.inf, 0))[0]:
                self.best[trial.number] = cost, at
            self.drop(trial.number, at, before)
        return decision

    def drop(self, trial: int, at: int, before: List[int]) -> None:
        """Deletes the checkpoints of a trial that are useless now that it has one of this step."""
        gone = self.useless(trial, [old for old in before if old < at], at)
        if not gone:
            return
        # A child of a population may be made, and not have read what it starts from.
        children = self.client.trials(self.sweep) if self.interval else []
        starts = [row["resume_step"] for row in children if row["parent"] == trial]
        for old in gone:
            if old not in starts:
                shutil.rmtree(checkpoint_path(self.folder, trial, old))

    def keep(self, live: str, step: int, take: bool) -> bool:
        """Makes what is in the trial's folder the checkpoint of a step: takes it away, or copies it."""
        if is_empty(live):
            return False
        shutil.rmtree(f"{live}-{step}.ckpt", ignore_errors=True)
        if take:
            os.rename(live, f"{live}-{step}.ckpt")
            os.mkdir(live)
        else:
            shutil.copytree(live, f"{live}-{step}.ckpt")
        return True

    def ended(self, it: Running) -> None:
        """The process closed its channel, which it does by ending; or it ended, and what it forked has the channel."""
        self.selector.unregister(it.channel)
        it.channel.close()
        status = os.waitpid(it.pid, 0)[1] if it.status is None else it.status
        self.signal_group(it, signal.SIGKILL)
        self.show(it)
        self.running.remove(it)
        os.close(it.log)
        self.free.append(it.place)
        trial, text = it.trial, it.result.get("error")
        if trial.ended:
            return
        if text is None and status == 0:
            metrics = from_wire(it.result.get("metrics") or {})
            try:
                trial.done(**metrics)
            except SweepdError as error:
                if error.code != INVALID_PARAMS:
                    raise
                trial.failed(str(error))  # this trial returned something wrong; others go on
                return
            if metrics:
                self.noted(trial, {"step": trial.step + 1, **metrics}, {})
            return
        text = text or (f"signal:{status & 127}" if status & 127 else f"exit:{status >> 8}")
        if any(word in text for word in OUT_OF_MEMORY):
            trial.failed("oom", "INFEASIBLE")
        elif self.failed(trial, text):
            self.start(trial)
        else:
            trial.failed(text)

    def look_after(self) -> None:
        """Heartbeats, signals to those that were told to end and did not, and ends that left the channel open."""
        now = time.monotonic()
        for it in list(self.running):
            self.show(it)
            if it.status is None:
                pid, status = os.waitpid(it.pid, os.WNOHANG)
                if pid:
                    it.status, it.close_at = status, now + 1  # its last output is still to be read
            elif now >= it.close_at:
                self.ended(it)
                continue
            if not it.trial.ended:
                it.trial.beat()
            if it.trial.ended and it.signal_at is None:
                it.signal_at = now + 0.5
            if it.signal_at is not None and now >= it.signal_at:
                self.signal_group(it, it.signal)
                it.signal, it.signal_at = signal.SIGKILL, now + self.grace_s

    def show(self, it: Running) -> None:
        """Passes on what a trial wrote."""
        text = os.pread(it.log, LOG_MAX, it.shown)
        if text:
            it.shown += len(text)
            with contextlib.suppress(OSError):  # its reader has gone; `sweep log` has it
                encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
                sys.stdout.write(it.decode(text).encode(encoding, "replace").decode(encoding))
                sys.stdout.flush()
        if it.shown > LOG_MAX:
            os.ftruncate(it.log, 0)
            it.shown = 0

    def signal_group(self, it: Running, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(it.pid, number)


def may_have_pool() -> bool:
    """May OpenMP have threads here?

    A forked process hangs in its first parallel loop if this one ran one before: the threads of the pool are not in it.
    Threads that Python does not know may be such a pool: then a trial must do with one core.
    """
    if len(os.listdir("/proc/self/task")) <= threading.active_count():
        return False
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        return re.search(r"/lib(gomp|iomp|omp)", file.read()) is not None


# In the child

def become_trial(parent: int, log: int, environment: Mapping[str, str], threads: int) -> None:
    """Makes this process a session with an output and an environment of its own."""
    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a script that is killed leaves no trial behind
    if os.getppid() != parent:
        os._exit(1)
    for fd, name in ((1, "stdout"), (2, "stderr")):  # its output goes into its log, line by line
        os.dup2(log, fd)
        stream = getattr(sys, name)
        with contextlib.suppress(AttributeError, OSError):
            if stream.fileno() == fd:
                stream.reconfigure(line_buffering=True)
                continue
        # A notebook's, or a test's, which leads to this process' parent or to nowhere.
        setattr(sys, name, open(fd, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.update(environment)
    gc.freeze()  # or a collection would write to what it shares with the others
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # its share of the cores: for what is not loaded yet,
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)  # and for PyTorch


def call(fn: Callable[[Params], Any], params: Params, metric: str, channel: socket.socket,
         lesson: "Optional[Lesson]") -> int:
    """Runs the function and sends what it returned, or why it failed; gives the exit status."""
    result: Dict[str, Any] = {}
    try:
        value = fn(params)
        if value is not None:
            result = {"metrics": to_wire(value if isinstance(value, Mapping) else {metric: value})}
    except SystemExit as end:
        if end.code not in (None, 0):
            result = {"error": f"SystemExit: {end.code}"}
    except BaseException as error:
        traceback.print_exc()
        result = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.flush()
    sys.stderr.flush()
    if lesson is not None:
        result["modules"] = lesson.names()
    channel.sendall(json.dumps({"\0": result}).encode() + b"\n")
    return int("error" in result)


# This process loads the modules that a trial had at its end, before it forks the next: that has them at once. PyTorch,
# for one, loads 900 modules more at a first optimizer's step, which takes longer than many a trial. Only modules of
# installed packages and the standard library are loaded so, never the user's own. (worker/exec/launcher.py has the same.)

def is_installed(path: Any) -> bool:
    return isinstance(path, str) and (
        path.startswith(STANDARD) or "/site-packages/" in path or "/dist-packages/" in path)


class Lesson:
    """In a trial's process: what it loads."""

    def __init__(self) -> None:
        self._start = set(sys.modules)
        self._before: Optional[List[str]] = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, _: Any) -> None:
        """A module that is loaded after the user's code has changed the environment may depend on that: it is left out."""
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


def at_once(fn: Callable[[Params], Any]) -> List[str]:
    """Modules for the first trial, too: those of an optimizer, unless fn's file may change its environment first."""
    try:
        with open(fn.__code__.co_filename, encoding="utf-8") as file:
            source = file.read()
    except (AttributeError, OSError, ValueError):
        return []
    return ["torch._dynamo"] if "torch" in sys.modules and "optim" in source and "environ" not in source else []


def load(names: List[str]) -> None:
    """Loads them in this process, from which trials are forked."""
    if not names:
        return
    for name in names:
        with contextlib.suppress(Exception, SystemExit):  # the trial had it by another way, and will have it again
            importlib.import_module(name)
    # Before a fork OpenBLAS ends the threads that it has started; the next trial is not to be taken for one beside them.
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)

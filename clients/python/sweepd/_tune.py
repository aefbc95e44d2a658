"""tune(): a function's trials as processes of this one, driven by ask, report and tell.

This process is to them what a worker is to a program: a forked child has the same environment and the same socket
for metrics (_trial.py), so sweepd.report() and Pruned mean the same in both.
"""
from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import socket
import sys
import time
import traceback
from typing import Any, Callable, Dict, List, Mapping, Optional

from ._client import Client
from ._errors import CONFLICT, SweepdError
from ._loop import Trial
from ._metrics import from_wire, to_wire

OUT_OF_MEMORY = ("OutOfMemoryError", "CUDA out of memory", "MemoryError", "std::bad_alloc")


class TuneResult:
    """What a search found. `trials` are the daemon's rows, `reports` the metrics of each trial, step by step."""

    def __init__(self, client: Client, sweep: int, folder: str, reports: Dict[int, List[Dict[str, Any]]]) -> None:
        self.sweep = sweep
        self.state: str = client.sweep(sweep)["state"]
        self.trials: List[Dict[str, Any]] = client.trials(sweep)
        self.best_trial: Optional[Dict[str, Any]] = client.best(sweep)
        self.reports = reports
        self.folder = folder

    @property
    def best_params(self) -> Optional[Dict[str, Any]]:
        return self.best_trial and self.best_trial["params"]

    @property
    def best_value(self) -> Optional[float]:
        return self.best_trial and self.best_trial["value"]

    def checkpoint(self, trial: int) -> Optional[str]:
        """The folder that a trial's last attempt wrote its checkpoint into; None if it wrote none."""
        path = os.path.join(self.folder, str(trial))
        return path if os.path.isdir(path) and os.listdir(path) else None


def tune(fn: Callable[[Dict[str, Any]], Any], space: Mapping[str, Any], metric: str = "loss", goal: str = "minimize",
         run_cap: int = 20, n: Optional[int] = None, method: str = "tpe", client: Optional[Client] = None,
         gpus: Optional[List[str]] = None, grace_s: float = 10, **spec: Any) -> TuneResult:
    """Searches `space` (the `parameters` of docs/spec.md) for the params with which fn(params) does best.

    fn runs in a process of its own for each trial, `n` at once (default: the cores, or one for each of `gpus`). It may
    call sweepd.report(step, loss=...), which ends the trial when it is to end, and it may return the metric, or a dict
    of metrics. `gpus`: what CUDA_VISIBLE_DEVICES is in each process. More keys of the spec, such as early_terminate,
    go by name. CUDA must not have been initialised before: a forked process cannot use it.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        raise SweepdError("CUDA is initialised in this process, so processes forked from it cannot use it: do that in "
                          "the function instead")
    client = client or Client()
    sweep = client.submit({"method": method, "run_cap": run_cap, "metric": {"name": metric, "goal": goal},
                           "parameters": dict(space), **spec})
    driver = _Driver(client, sweep, fn, metric, n or (len(gpus) if gpus else os.cpu_count() or 1), gpus, grace_s)
    try:
        driver.run()
    except BaseException:
        driver.end_all()
        client.cancel(sweep)
        raise
    return TuneResult(client, sweep, driver.folder, driver.reports)


class _Running:
    """A trial's process."""

    def __init__(self, trial: Trial, pid: int, channel: socket.socket, place: int) -> None:
        self.trial, self.pid, self.channel, self.place = trial, pid, channel, place
        self.unread = b""
        self.result: Dict[str, Any] = {}
        self.signal_at: Optional[float] = None  # when it gets the next signal, SIGTERM and then SIGKILL
        self.signal = signal.SIGTERM


class _Driver:
    def __init__(self, client: Client, sweep: int, fn: Callable[[Dict[str, Any]], Any], metric: str, n: int,
                 gpus: Optional[List[str]], grace_s: float) -> None:
        self.client, self.sweep, self.fn, self.metric = client, sweep, fn, metric
        self.gpus, self.grace_s = gpus, grace_s
        self.folder = os.path.join(client.info()["state_dir"], "tune", str(sweep))
        pruner = client.sweep(sweep)["spec"].get("early_terminate") or {}
        self.interval = pruner.get("perturbation_interval") if pruner.get("type") == "pbt" else None
        self.selector = selectors.DefaultSelector()
        self.running: List[_Running] = []
        self.free = list(range(n))
        self.reports: Dict[int, List[Dict[str, Any]]] = {}

    def run(self) -> None:
        done = False
        while self.running or not done:
            if self.free and not done:
                # Only a driver with nothing to do may wait for the daemon.
                answer = self.client.ask(self.sweep, len(self.free), wait_s=0 if self.running else 10)
                done = answer.get("reason") == "done"
                for handed in answer["trials"]:
                    self.running.append(self.start(Trial(self.client, self.sweep, handed, thread=False)))
            for key, _ in self.selector.select(0.2):
                self.read(key.data)
            self.look_after()

    def start(self, trial: Trial) -> _Running:
        ours, its = socket.socketpair()
        place = self.free.pop(0)
        live = os.path.join(self.folder, str(trial.number))
        resume = f"{os.path.join(self.folder, str(trial.parent or trial.number))}-{trial.resume_step}.ckpt"
        os.makedirs(live, exist_ok=True)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.setsid()
                ours.close()
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                os.environ.update(
                    SWEEPD_TRIAL=f"{self.sweep}/{trial.number}", SWEEPD_ATTEMPT=str(trial.attempt),
                    SWEEPD_PARAMS=json.dumps(trial.params), SWEEPD_CHECKPOINT_DIR=live,
                    SWEEPD_RESUME=resume if os.path.isdir(resume) else "", SWEEPD_RESUME_STEP=str(trial.resume_step),
                    SWEEPD_METRICS_FD=str(its.fileno()))
                if self.gpus is not None:
                    os.environ["CUDA_VISIBLE_DEVICES"] = self.gpus[place] if self.gpus else ""
                status = _child(self.fn, trial.params, self.metric, its)
            finally:
                os._exit(status)
        its.close()
        running = _Running(trial, pid, ours, place)
        self.selector.register(ours, selectors.EVENT_READ, running)
        return running

    def read(self, it: _Running) -> None:
        try:
            chunk = it.channel.recv(1 << 16)
        except OSError:
            chunk = b""
        if not chunk:
            self.selector.unregister(it.channel)
            it.channel.close()
            self.ended(it)
            return
        it.unread += chunk
        while b"\n" in it.unread:
            line, _, it.unread = it.unread.partition(b"\n")
            message = json.loads(line)
            if "\0" in message:
                it.result = message["\0"]
            else:
                self.reported(it, message)

    def reported(self, it: _Running, metrics: Dict[str, Any]) -> None:
        step, trial = metrics.pop("step", None), it.trial
        live = os.path.join(self.folder, str(trial.number))
        try:
            # Children of a population start from the checkpoint of this very step, so it is kept before it is reported.
            at = trial.step + 1 if step is None else step
            keep = bool(self.interval and at % self.interval == 0 and os.listdir(live))
            if keep:
                shutil.copytree(live, f"{live}-{at}.ckpt", dirs_exist_ok=True)
            decision = trial.report(step, checkpoint=keep, **from_wire(metrics))
            self.reports.setdefault(trial.number, []).append({"step": trial.step, **from_wire(metrics)})
            answer = {"decision": decision}
            if decision == "pause" and not keep:
                os.rename(live, f"{live}-{trial.step}.ckpt")
        except SweepdError as error:
            answer, decision = {"error": str(error)}, "continue"
        if decision != "continue":
            it.signal_at = time.monotonic() + 0.5
        try:
            it.channel.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            pass  # it ended; the next read says so

    def ended(self, it: _Running) -> None:
        """The process closed its channel, which it does by ending, or by what it forked ending after it."""
        _, status = os.waitpid(it.pid, 0)
        self.signal_group(it, signal.SIGKILL)
        self.running.remove(it)
        self.free.append(it.place)
        trial, text = it.trial, it.result.get("error")
        if trial.ended:
            return
        if text is None and status == 0:
            trial.done(**from_wire(it.result.get("metrics") or {}))
            if it.result.get("metrics"):
                self.reports.setdefault(trial.number, []).append(
                    {"step": trial.step + 1, **from_wire(it.result["metrics"])})
        elif text and any(word in text for word in OUT_OF_MEMORY):
            trial.failed("oom", "INFEASIBLE")
        else:
            trial.failed(text or (f"signal:{status & 127}" if status & 127 else f"exit:{status >> 8}"))

    def look_after(self) -> None:
        """Heartbeats, and signals to those that were told to end and did not."""
        now = time.monotonic()
        for it in self.running:
            if not it.trial.ended:
                it.trial.beat()
            if it.trial.ended and it.signal_at is None:
                it.signal_at = now + 0.5
            if it.signal_at is not None and now >= it.signal_at:
                self.signal_group(it, it.signal)
                it.signal, it.signal_at = signal.SIGKILL, now + self.grace_s

    def signal_group(self, it: _Running, number: int) -> None:
        try:
            os.killpg(it.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def end_all(self) -> None:
        for it in self.running:
            self.signal_group(it, signal.SIGKILL)
            os.waitpid(it.pid, 0)


def _child(fn: Callable[[Dict[str, Any]], Any], params: Dict[str, Any], metric: str, channel: socket.socket) -> int:
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
    channel.sendall(json.dumps({"\0": result}).encode() + b"\n")
    return 1 if "error" in result else 0

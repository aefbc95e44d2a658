"""Reports to the worker what a warm program gives to wandb's log(): install(), before the script runs.

A report is a call whose numbers have the sweep's metric (SWEEPD_METRIC; none: every call), with all that was logged
since the last one: what W&B's hyperband counts. Numbers of a dict within a dict are named "a.b". If the metric was
never logged, the run's summary is asked for it at the end. A script that imports sweepd reports by itself, and is left
alone. wandb's own work is done first, and unchanged. Called only where SWEEPD_METRICS_FD is set: in rank 0.
"""
import _thread
import atexit
import functools
import importlib.machinery
import json
import os
import socket
import sys


class Reporter:
    def __init__(self):
        self.channel = socket.socket(fileno=os.dup(int(os.environ["SWEEPD_METRICS_FD"])))
        self.answers = self.channel.makefile("r", encoding="utf-8")
        self.metric, self.pid = os.environ.get("SWEEPD_METRIC"), os.getpid()
        self.pending, self.seen, self.lock = {}, False, _thread.RLock()

    def log(self, data, last=False):
        if "sweepd" in sys.modules or os.getpid() != self.pid:
            return
        with self.lock:
            self.pending.update(numbers(data))
            if not self.pending or not (last or self.metric is None or self.metric in self.pending):
                return
            self.seen = self.seen or self.metric in self.pending
            first = {self.metric: self.pending[self.metric]} if self.metric in self.pending else {}
            line = dict(list({**first, **self.pending}.items())[:250])  # a report may have 256
            self.channel.sendall(json.dumps(line).encode() + b"\n")
            if self.metric is not None:
                self.pending = {}  # without one each report has all: the last is what tables show
            if json.loads(self.answers.readline() or "{}").get("decision") != "continue" and not last:
                raise SystemExit(0)  # `except Exception` does not swallow it, and wandb ends the run as finished

    def end(self, run):  # before the run ends: what is left
        if self.metric is not None:
            self.log({} if self.seen else {self.metric: run.summary.get(self.metric)}, last=True)


def numbers(data, prefix=""):
    out = {}
    for key, value in data.items():
        name = f"{prefix}{key}"
        if hasattr(value, "items"):
            out.update(numbers(value, name + "."))
        elif not isinstance(value, (str, bytes)) and name not in ("step", "checkpoint") and len(name.encode()) <= 64:
            try:  # a number, or what has one: a numpy scalar, a tensor of one element
                out[name] = value if type(value) in (int, float) else float(value)
            except (TypeError, ValueError, RuntimeError):
                pass  # an image, a histogram, a table
    return out


def watch(module, reporter):
    """Makes wandb.init() give runs whose log() is heard, disabled ones too."""
    begin = module.init

    @functools.wraps(begin)
    def init(*args, **kwargs):
        run = begin(*args, **kwargs)
        log, name = run.log, "_finish" if hasattr(run, "_finish") else "finish"  # finish() and `with` call it
        finish = getattr(run, name)
        if hasattr(log, "sweepd"):
            return run  # an earlier one, which init() gives again
        @functools.wraps(log)
        def heard(data, *args, **kwargs):
            log(data, *args, **kwargs)
            reporter.log(data)
        heard.sweepd = reporter
        run.log = module.log = heard
        setattr(run, name, functools.wraps(finish)(lambda *a, **k: (reporter.end(run), finish(*a, **k))[1]))
        atexit.register(reporter.end, run)
        return run

    module.init = init


class Finder:
    """Watches wandb as soon as the script imports it."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "wandb":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name)  # some only look whether it is installed
        if spec and spec.loader:
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (run(module), watch(module, Reporter()))[0]
        return spec


def install():
    if "wandb" in sys.modules:  # the launcher has learned it
        watch(sys.modules["wandb"], Reporter())
    else:
        sys.meta_path.insert(0, Finder)

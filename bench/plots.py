#!/usr/bin/env python3
"""bench/plots.py — each plot of a sweep of 100,000 trials and 1,000,000 reports, and what others notice of it

    bench/plots.py [--python PYTHON] [--trials 100000] [--repeat 75] [--csv FILE]

A stored sweep is filled by SQL, ten reports a trial; for pareto a second one, of two metrics. Each plot is asked for
--repeat times (its median and p95), in five turns, while another process asks for a trial by its number all the time:
the median of its p99s beside that of the same questions alone. Where PYTHON has optuna and plotly, its plots of 1,000
and 10,000 such trials follow, each once, in a process of its own with 120 s and 8 GiB at most.
"""
import json
import math
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from common import ROOT, arguments, write_csv

import sweepd
from harness import Daemon

PLOTS = ("history", "curves", "slice", "contour", "parallel", "importance", "pareto", "edf", "timeline", "expected",
         "saved")
SPEC = {"name": "filled", "method": "random", "seed": 1, "metric": {"name": "loss", "goal": "minimize"},
        "run_cap": 10 ** 6, "early_terminate": {"type": "asha", "max_t": 27, "reduction_factor": 3},
        "parameters": {"lr": {"distribution": "log_uniform_values", "min": 1e-5, "max": 1.0},
                       "wd": {"distribution": "log_uniform_values", "min": 1e-6, "max": 0.1},
                       "layers": {"values": [1, 2, 3, 4]}, "act": {"values": ["relu", "gelu", "tanh"]},
                       "drop": {"min": 0.0, "max": 0.5}}}
BOTH = {**SPEC, "metrics": [{"name": "loss"}, {"name": "speed", "goal": "maximize"}]}
del BOTH["metric"], BOTH["early_terminate"]
REPORTS, START_MS, ROUNDS = 10, 1764000000000, 5
OTHER = r"""
import json, random, select, sys, time, sweepd
client, draw, ms = sweepd.Client(sys.argv[1], start=False), random.Random(1), []
while not select.select([sys.stdin], [], [], .002)[0] or len(ms) < 201:
    begin = time.perf_counter()
    client.trial(1, draw.randrange(int(sys.argv[2])) + 1)
    ms.append((time.perf_counter() - begin) * 1e3)
    if len(ms) == 1:
        print("begun", flush=True)
print(json.dumps(ms[1:]))
"""
OPTUNA = r"""
import json, resource, signal, sys, time, optuna, optuna.visualization as v
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
from optuna.distributions import *
from optuna.trial import create_trial, TrialState
optuna.logging.set_verbosity(optuna.logging.ERROR)
space = {"lr": FloatDistribution(1e-5, 1, log=True), "wd": FloatDistribution(1e-6, .1, log=True),
         "layers": CategoricalDistribution([1, 2, 3, 4]), "act": CategoricalDistribution(["relu", "gelu", "tanh"]),
         "drop": FloatDistribution(0, .5)}
study = optuna.create_study()
study.add_trials([create_trial(params=p, distributions=space, value=c[-1], state=TrialState.COMPLETE,
                               intermediate_values=dict(enumerate(c, 1))) for p, c in json.load(sys.stdin)])
signal.alarm(120)
begin = time.perf_counter()
getattr(v, "plot_" + sys.argv[1])(study).to_json()
print(round((time.perf_counter() - begin) * 1e3, 1))
"""
OPTUNA_PLOTS = ("optimization_history", "intermediate_values", "slice", "contour", "parallel_coordinate", "param_importances",
                "edf", "timeline")


def made(n):
    """(parameters, curve) of n trials."""
    draw = random.Random(5)
    for _ in range(n):
        p = {"lr": 10 ** draw.uniform(-5, 0), "wd": 10 ** draw.uniform(-6, -1), "layers": draw.choice([1, 2, 3, 4]),
             "act": draw.choice(["relu", "gelu", "tanh"]), "drop": draw.uniform(0, .5)}
        end = .05 + .03 * (math.log10(p["lr"]) + 2) ** 2 + .05 * (p["layers"] != 3) + .1 * (p["act"] == "tanh")
        yield p, [end + math.exp(-k / 5) + .02 * draw.random() for k in range(REPORTS)]


def fill(path, n, sweep):
    """The rows of an ended sweep, as its trials would have left them; sweep 2 has a second metric."""
    db = sqlite3.connect(path)
    trials, reports, attempts, suggestions = [], [], [], []
    for i, (params, curve) in enumerate(made(n), 1):
        state = "COMPLETED" if i % 5 == 0 else "PRUNED"
        begin = START_MS + i // 4 * 1000
        end = begin + 90 * REPORTS
        best = min(range(REPORTS), key=curve.__getitem__)
        speed = {"speed": (5 - params["layers"]) * (1 + params["drop"])} if sweep == 2 else {}
        metrics = [json.dumps({"loss": v, **speed}, separators=(",", ":")) for v in curve]
        trials.append((sweep, i, state, 1, REPORTS, curve[-1], begin, begin, end, .9, json.dumps(params, separators=(",", ":")), best + 1,
                       curve[best], metrics[-1] if sweep == 2 else None))
        reports += [(sweep, i, 1, k, i * REPORTS + k, k, begin + 90 * k, v, 0, "continue", metrics[k - 1])
                    for k, v in enumerate(curve, 1)]
        attempts.append((sweep, i, 1, i, i % 4, begin, end, state))
        suggestions.append((sweep, i, i - 1, f'{{"source":"bayes","known":{i - 1},"unseen":0,"acquisition":"expected_improvement","mean":'
                                         f'{curve[-1] + .01},"sd":0.05}}'))
    for table, columns, rows in (
            ("trial", "sweep,trial,state,attempt,step,value,created_ms,started_ms,ended_ms,seconds,params,best_step,"
             "best_value,standing", trials),
            ("report", "sweep,trial,attempt,seq,ev,step,time_ms,value,diverged,verdict,metrics", reports),
            ("attempt", "sweep,trial,attempt,ev,slot,started_ms,ended_ms,state", attempts),
            ("suggestion", "sweep,trial,known,why", suggestions)):
        marks = ",".join("?" * len(rows[0]))
        db.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)
    db.execute("UPDATE sweep SET state = 'CANCELLED', ended_ms = ?", (START_MS + n * 1000,))
    db.commit()
    db.close()


class Other:
    """A client that asks for trials by their numbers until it is told to stop, and 200 times at least (with few repeats
    the last of them beside no plot); a process, as the plots' answers keep this one's interpreter busy."""

    def __init__(self, socket, n):
        path = os.path.join(ROOT, "clients", "python")
        self.process = subprocess.Popen([sys.executable, "-c", OTHER, socket, str(n)], env={**os.environ, "PYTHONPATH": path},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "begun\n"

    def p99(self):
        return quantile(json.loads(self.process.communicate("stop")[0]), .99)


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


def main():
    args = arguments(__doc__, python=sys.executable, trials=100000, repeat=75)
    rows = []

    def told(what, trials, median, p95, others):
        rows.append((what, trials, f"{median:.1f}", f"{p95:.1f}", f"{others:.2f}"))
        print(f"{what:24} {trials:7} trials  median {median:8.1f} ms  p95 {p95:8.1f} ms  others' p99 {others:.2f} ms",
              flush=True)

    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(folder, more=["--log-level", "info"]).start()
        client = daemon.client()
        for sweep, spec in enumerate((SPEC, BOTH), 1):
            assert client.submit(spec) == sweep
        daemon.term()
        for sweep in (1, 2):
            fill(os.path.join(daemon.state, "sweepd.db"), args.trials, sweep)
        client = sweepd.Client(daemon.start().socket, start=False, patience_s=60)
        client.trial(1, 1)
        ms, others = {what: [] for what in (None, *PLOTS)}, {what: [] for what in (None, *PLOTS)}
        for _ in range(ROUNDS):
            for what in ms:
                other = Other(daemon.socket, args.trials)
                for _ in range(max(1, args.repeat // ROUNDS)):
                    begin = time.perf_counter()
                    if what is None:
                        time.sleep(.2)
                    else:
                        client.call("sweep.plot", sweep=1 + (what == "pareto"), plot=what)
                    ms[what].append((time.perf_counter() - begin) * 1e3)
                others[what].append(other.p99())
        for what in ms:
            told(what or "(nothing)", args.trials, quantile(ms[what], .5), quantile(ms[what], .95),
                 statistics.median(others[what]))
        daemon.stop()
    has = subprocess.run([args.python, "-c", "import optuna, plotly"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    for n in (1000, 10000) if has else ():
        study = json.dumps(list(made(n)))
        for name in OPTUNA_PLOTS:
            done = subprocess.run([args.python, "-c", OPTUNA, name], input=study, capture_output=True, text=True, timeout=600)
            took = float(done.stdout) if done.returncode == 0 else math.inf
            told("optuna " + name, n, took, took, math.nan)
            if done.returncode != 0:
                print(f"  status {done.returncode} {done.stderr.strip()[-200:]}")
    write_csv(args.csv, [("plot", "trials", "median_ms", "p95_ms", "others_p99_ms"), *rows])


if __name__ == "__main__":
    main()

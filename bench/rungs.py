#!/usr/bin/env python3
"""bench/rungs.py — small nets of the built-in trainer under ASHA, by method and pruner, on their real epochs

    bench/rungs.py [--seeds 8] [--first 0] [--methods A,B] [--workers 1] [--nets A,B] [--csv FILE]

Digits, wine, breast cancer, and three tables that are made here; 27 epochs at most. Six numbers and a category are
searched, for 540 epochs in all, by each method with asha that stops and that promotes, and at random without a pruner.
With a Python that has Optuna, also "optuna+halving" and "optuna+hyperband": its TPE with its two pruners, on the curves
that the trainer makes of its configurations.

Each line: net, method, workers, seed, then the best loss so far after 135, 270 and 540 epochs, first of all reports,
then of full trainings, then trials and full trainings. The table at the end: mean ranks of the medians.
"""
import contextlib
import csv
import heapq
import math
import os
import sqlite3
import statistics
import sys
import tempfile

from common import ROOT, arguments

from harness import Daemon

MAX_T, EPOCHS = 27, 540
CUTS = EPOCHS // 4, EPOCHS // 2, EPOCHS
RUNS = {f"{m}+{v}": (m, v) for v in ("stop", "promote") for m in ("bayes", "bohb", "tpe", "random")}
RUNS["random"] = ("random", None)
WORST = 1e3  # of a full training while there is none


class Noise:
    """Whole numbers by a fixed rule, the same on every machine (Lehmer's generator)."""

    def __init__(self, seed):
        self.state = seed

    def unit(self):
        self.state = self.state * 48271 % 2147483647
        return self.state / 2147483647

    def normal(self):
        return sum(self.unit() for _ in range(12)) - 6


def friedman(r):
    """Regression: Friedman's first function of five of ten inputs."""
    x = [r.unit() for _ in range(10)]
    y = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - .5) ** 2 + 10 * x[3] + 5 * x[4] + r.normal()
    return x, y / 5 - 3


def rings(r):
    """Three classes: rings around the origin that touch, of two of six inputs."""
    x = [r.normal() for _ in range(6)]
    radius = (x[0] ** 2 + x[1] ** 2) ** .5 + .1 * r.normal()
    return x, int(radius > .9) + int(radius > 1.7)


def blobs(r):
    """Eight classes: corners of a cube, blurred, a fifth of the labels by chance."""
    bits = [int(2 * r.unit()) for _ in range(3)]
    x = [b + .45 * r.normal() for b in bits] + [r.normal() for _ in range(5)]
    return x, int(8 * r.unit()) if r.unit() < .2 else bits[0] + 2 * bits[1] + 4 * bits[2]


NETS = {"digits": 10, "wine": 3, "cancer": 2, "friedman": 0, "rings": 3, "blobs": 8}  # classes; 0: regression


def source(net, folder):
    if net in ("digits", "wine"):
        return {"name": net}
    if net == "cancer":
        return {"format": "csv", "path": f"{ROOT}/data/breast_cancer.csv", "label": "class", "header": True}
    path, noise = os.path.join(folder, f"{net}.csv"), Noise(7)
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(f"x{i}" for i in range(len(globals()[net](Noise(7))[0]))) + ",y\n")
        for _ in range(800):
            x, y = globals()[net](noise)
            file.write(",".join(f"{v:.6g}" for v in x) + f",{y:.6g}\n")
    return {"format": "csv", "path": path, "label": "y", "header": True}


SPACE = {
    "width": {"distribution": "int_log_uniform", "min": 4, "max": 128},
    "lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1},
    "momentum": {"min": 0.0, "max": 0.99},
    "weight_decay": {"distribution": "log_uniform_values", "min": 1e-6, "max": 1e-1},
    "drop": {"min": 0.0, "max": 0.6},
    "batch_size": {"distribution": "pow2", "min": 8, "max": 128},
    "act": {"values": ["relu", "tanh", "sigmoid"]}}


def spec(net, folder, method, variant, seed):
    out = NETS[net] or 1
    asha = {"type": "asha", "max_t": MAX_T, "grace_period": 1, "reduction_factor": 3, "variant": variant}
    return {
        "name": net, "method": method, "seed": seed, "suggest_wait_ms": 60000,
        "metric": {"name": "val_loss", "goal": "minimize"}, "parameters": SPACE,
        "run_cap": 20 if variant is None else 200, **({"early_terminate": asha} if variant else {}),
        "trainer": {"dataset": source(net, folder), "epochs": MAX_T, "optimizer": "sgd",
                    "loss": "cross_entropy" if NETS[net] else "mse",
                    "model": [{"linear": "width"}, {"activation": "act"}, {"dropout": "drop"}, {"linear": out}]}}


def cells_of(reports):
    """[(trial, step, loss, ...)] in their order -> the cells of a line."""
    least, full, best, rows, trials, fulls = WORST, WORST, {}, [], set(), 0
    for trial, step, loss, *_ in reports[:EPOCHS]:
        trials.add(trial)
        if loss is not None:
            least = min(least, loss)
            best[trial] = min(best.get(trial, WORST), loss)
        if step == MAX_T:
            fulls += 1
            full = min(full, best.get(trial, WORST))
        rows.append((least, full))
    at = [rows[min(cut, len(rows)) - 1] for cut in CUTS]
    return [a for a, _ in at] + [f for _, f in at] + [len(trials), fulls]


@contextlib.contextmanager
def daemon_of(workers):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        daemon = Daemon(folder, devices=f"cpu:{workers}").start()
        try:
            yield daemon.client(), folder
        finally:
            daemon.stop()


def reports_of(folder, sweep):
    with contextlib.closing(sqlite3.connect(os.path.join(folder, "state", "sweepd.db"))) as db:
        return db.execute("SELECT trial, step, value, time_ms FROM report WHERE sweep = ? ORDER BY ev", (sweep,)).fetchall()


def asked(study, net, client, folder):
    """A trial that Optuna asks for, its curve [(step, loss)] as the trainer makes it, and the mean ms of an epoch."""
    t = study.ask()
    values = {
        "width": t.suggest_int("width", 4, 128, log=True), "lr": t.suggest_float("lr", 1e-4, 1, log=True),
        "momentum": t.suggest_float("momentum", 0, .99),
        "weight_decay": t.suggest_float("weight_decay", 1e-6, .1, log=True),
        "drop": t.suggest_float("drop", 0, .6), "batch_size": 2 ** t.suggest_int("batch_size", 3, 7),
        "act": t.suggest_categorical("act", SPACE["act"]["values"])}
    one = {**spec(net, folder, "random", None, 1), "run_cap": 1,
           "parameters": {k: {"value": v} for k, v in values.items()}}
    sweep = client.submit(one)
    client.wait_sweep(sweep, timeout=900)
    rows = reports_of(folder, sweep)
    return t, [(step, loss) for _, step, loss, _ in rows], (rows[-1][3] - rows[0][3]) / max(1, len(rows) - 1)


def by_optuna(net, name, workers, seed):
    """The curves are made one after another; then reports come, and are judged, as if workers trained side by side."""
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = optuna.pruners.HyperbandPruner(1, MAX_T, 3) if "hyperband" in name else \
        optuna.pruners.SuccessiveHalvingPruner(1, 3)
    sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=workers > 1)
    study = optuna.create_study(sampler=sampler, pruner=pruner)
    told, running, now = [], [], 0.0  # running: (when its next report comes, number, reports told, what asked() gave)
    with daemon_of(1) as (client, folder):
        while len(told) < EPOCHS:
            while len(running) < workers:
                t, curve, took = asked(study, net, client, folder)
                heapq.heappush(running, (now + took, t.number, 0, t, curve, took))
            now, number, at, t, curve, took = heapq.heappop(running)
            step, loss = curve[at]
            told.append((number, step, loss))
            t.report(WORST if loss is None else loss, step)
            if at + 1 == len(curve):
                study.tell(t, next((v for _, v in reversed(curve) if v is not None), WORST))
            elif t.should_prune():
                study.tell(t, state=optuna.trial.TrialState.PRUNED)
            else:
                heapq.heappush(running, (now + took, number, at + 1, t, curve, took))
    return cells_of(told)


def run(net, name, workers, seed):
    if name.startswith("optuna"):
        return by_optuna(net, name, workers, seed)
    with daemon_of(workers) as (client, folder):
        sweep = client.submit(spec(net, folder, *RUNS[name], seed))
        client.wait_sweep(sweep, timeout=900)
        return cells_of(reports_of(folder, sweep))


def rank(lines, column):
    """{method: mean rank of its median over the nets}"""
    ranks = {}
    for net in sorted({l[0] for l in lines}):
        medians = {m: statistics.median(l[column] for l in lines if l[0] == net and l[1] == m)
                   for m in sorted({l[1] for l in lines})}
        for m, v in medians.items():
            others = list(medians.values())
            ranks.setdefault(m, []).append(
                1 + sum(o < v for o in others) + (sum(o == v for o in others) - 1) / 2)
    return {m: statistics.mean(r) for m, r in ranks.items()}


def main():
    options = arguments(__doc__, seeds=8, first=0, methods=",".join(RUNS), workers=1, nets=",".join(NETS))
    lines = []
    for net in options.nets.split(","):
        for name in options.methods.split(","):
            for seed in range(options.first, options.first + options.seeds):
                lines.append([net, name, options.workers, seed, *run(net, name, options.workers, seed)])
            print(f"{net} {name}", file=sys.stderr, flush=True)
    out = csv.writer(open(options.csv, "w", newline="", encoding="utf-8") if options.csv else sys.stdout,
                     lineterminator="\n")
    out.writerows(lines)
    print(f"{'mean rank':16}" + "".join(f"{c:>8}" for c in ("any 25%", "50%", "100%", "full 25", "50%", "100%")))
    by = [rank(lines, c) for c in range(4, 10)]
    for name in options.methods.split(","):
        print(f"{name:16}" + "".join(f"{r[name]:8.2f}" for r in by))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""bench/asha_mixed.py [--seeds 16] [--csv FILE]   Epochs and seconds to a validation loss, by method, under ASHA.

The built-in trainer on digits and wine, one CPU slot, 80 trials of at most 27 epochs, beside numbers four categories:
activation, optimizer, schedule, batch size. Each line: data, method, loss, in how many of the seeds it was reached,
median epochs and median seconds until then ("never" where half of the seeds do not reach it), and the median of the
best loss at the end. Seconds are from the sweep's first trial on, so they are this machine's; epochs are not.
"""
import csv
import os
import sqlite3
import statistics
import sys
import tempfile

from common import ROOT, arguments

from harness import Daemon

METHODS = "bayes", "tpe", "bohb", "random"
MAX_T, TRIALS = 27, 80
DATA = {"digits": ({"name": "digits"}, 10, (0.1, 0.08, 0.07)),
        "wine": ({"format": "csv", "path": f"{ROOT}/data/wine.csv", "label": "class", "header": True}, 3,
                 (0.03, 0.02, 0.01, 0.005))}


def spec(data, method, seed):
    source, classes, _ = DATA[data]
    return {
        "name": f"{data}-{method}-{seed}", "method": method, "seed": seed, "run_cap": TRIALS,
        "metric": {"name": "val_loss", "goal": "minimize"},
        "parameters": {
            "width": {"distribution": "int_log_uniform", "min": 8, "max": 128},
            "lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1},
            "weight_decay": {"distribution": "log_uniform_values", "min": 1e-6, "max": 1e-1},
            "act": {"values": ["relu", "tanh", "gelu", "silu", "sigmoid"]},
            "optimizer": {"values": ["sgd", "adam", "adamw"]},
            "schedule": {"values": ["constant", "cosine", "step"]},
            "batch_size": {"values": [16, 32, 64, 128]}},
        "early_terminate": {"type": "asha", "max_t": MAX_T, "grace_period": 1, "reduction_factor": 3},
        "trainer": {"dataset": source, "epochs": MAX_T, "loss": "cross_entropy",
                    "model": [{"linear": "width"}, {"activation": "act"}, {"linear": classes}]}}


def run(data, method, seed):
    """[(epochs so far, seconds so far, best loss so far)], a row where the loss gets better."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        daemon = Daemon(folder, devices="cpu:1").start()
        try:
            client = daemon.client()
            client.wait_sweep(client.submit(spec(data, method, seed)), timeout=600)
        finally:
            daemon.stop()
        with sqlite3.connect(os.path.join(folder, "state", "sweepd.db")) as db:
            begin, = db.execute("SELECT MIN(started_ms) FROM trial WHERE started_ms > 0").fetchone()
            reports = db.execute("SELECT time_ms, value FROM report ORDER BY ev").fetchall()
    rows, best = [], float("inf")
    for epochs, (time_ms, value) in enumerate(reports, 1):
        if value is not None and value < best:
            best = value
            rows.append((epochs, (time_ms - begin) / 1000, best))
    return rows


def median(values, of):
    """Of so many seeds; those that never came are the largest."""
    values = sorted(values) + [float("inf")] * (of - len(values))
    return statistics.median(values)


def main():
    options = arguments(__doc__, seeds=16)
    out = csv.writer(open(options.csv, "w", newline="", encoding="utf-8") if options.csv else sys.stdout,
                     lineterminator="\n")
    out.writerow(("data", "method", "loss", "reached", "seeds", "epochs", "seconds", "end"))
    for data, (_, _, losses) in DATA.items():
        for method in METHODS:
            runs = [run(data, method, seed) for seed in range(options.seeds)]
            end = statistics.median(rows[-1][2] for rows in runs)
            for loss in losses:
                first = [next((row for row in rows if row[2] <= loss), None) for rows in runs]
                first = [row for row in first if row]
                cells = [median([row[i] for row in first], len(runs)) for i in (0, 1)]
                out.writerow((data, method, loss, len(first), len(runs),
                              *(f"{cell:.4g}" if cell < float("inf") else "never" for cell in cells), f"{end:.4f}"))
            print(f"{data} {method}: {options.seeds} seeds", file=sys.stderr)


if __name__ == "__main__":
    main()

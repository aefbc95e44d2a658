#!/usr/bin/env python3
"""bench/install.py — seconds from `pip install` to the best of a first 20 trials: the wheel and Optuna

    bench/install.py --wheel FILE [--python PYTHON] [--repeat 3] [--csv FILE]

In turns, each in a fresh environment (python -m venv, not counted), a user's folder of its own and without pip's cache.
The same function of one parameter. Optuna comes from PyPI, and once more from wheels that were fetched before.
"""
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from common import arguments, write_csv

SWEEPD = """
import sweepd
r = sweepd.tune(lambda p: (p["lr"] - 0.1) ** 2, {"lr": {"min": 0.001, "max": 1.0, "log": True}}, run_cap=20)
print("best", r.best_params, r.best_value)
with sweepd.Client() as c:
    print("pid", c.call("daemon.info")["pid"])
"""
OPTUNA = """
import optuna
s = optuna.create_study()
s.optimize(lambda t: (t.suggest_float("lr", 0.001, 1.0, log=True) - 0.1) ** 2, n_trials=20)
print("best", s.best_params, s.best_value)
"""
PIP = ["-m", "pip", "install", "-q", "--no-cache-dir", "--disable-pip-version-check"]


def once(python, packages, script):
    """Seconds of the installation, and of the script's run to its end."""
    folder = tempfile.mkdtemp(prefix="sw-")
    try:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SWEEPD_", "XDG_", "PYTHON"))}
        env.update(HOME=folder, XDG_RUNTIME_DIR=folder)
        own = os.path.join(folder, "env", "bin", "python")
        subprocess.run([python, "-m", "venv", os.path.join(folder, "env")], check=True, env=env)
        begin = time.monotonic()
        subprocess.run([own, *PIP, *packages], check=True, env=env)
        installed = time.monotonic()
        done = subprocess.run([own, "-c", script], check=True, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True)
        ended = time.monotonic()
        said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
        assert "best" in said, done.stdout
        if "pid" in said:  # the daemon outlives the script, and has the folder
            daemon = os.pidfd_open(int(said["pid"]))
            signal.pidfd_send_signal(daemon, signal.SIGTERM)
            select.select([daemon], [], [], 60)
            os.close(daemon)
        return installed - begin, ended - installed
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    args = arguments(__doc__, wheel="", python="python3", repeat=3)
    if not args.wheel:
        sys.exit("install: no --wheel is named")
    fetched = tempfile.mkdtemp(prefix="sw-")
    subprocess.run([args.python, "-m", "pip", "download", "-q", "--disable-pip-version-check", "-d", fetched, "optuna"],
                   check=True)
    local = ["--no-index", "--find-links", fetched, "optuna"]
    ways = {"sweepd, the wheel": (["--no-index", args.wheel], SWEEPD), "Optuna from PyPI": (["optuna"], OPTUNA),
            "Optuna, fetched before": (local, OPTUNA)}
    rows = [(way, turn, *once(args.python, *what)) for turn in range(args.repeat) for way, what in ways.items()]
    shutil.rmtree(fetched)
    write_csv(args.csv, [("way", "turn", "install_s", "run_s"), *rows])
    total = {}
    print(f"{'way':24} install     run   total (median of {args.repeat})")
    for way in ways:
        install, run, total[way] = (statistics.median(values) for values in zip(
            *((row[2], row[3], row[2] + row[3]) for row in rows if row[0] == way)))
        print(f"{way:24} {install:6.1f}s {run:6.1f}s {total[way]:6.1f}s")
    ours, *others = total.values()
    print(f"install: {ours / min(others):.2f} of Optuna's seconds (from pip install to the first best trial; bar 0.5)")


if __name__ == "__main__":
    main()

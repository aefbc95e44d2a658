#!/usr/bin/env python3
"""bench/programs.py — trials of one PyTorch net: `program`, sweepd.tune and Optuna, their time and memory

    bench/programs.py [--python PYTHON] [--trials 40] [--processes 2] [--repeat 3] [--csv FILE]

Two at a time, one space, ASHA. PYTHON has torch and optuna; where it lacks torch, a package of like weight is made.
Each way runs --repeat times on a fresh daemon, in turns, and once more for its memory: the most that all its processes
together have (PSS). The start of a program is from its worker's word to its script's first line after the imports.
"""
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from common import ROOT, arguments, descendants, write_csv

import sweepd
from harness import BIN

NET = os.path.join(ROOT, "bench", "programs_net.py")
SPACE = {"lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1e-1},
         "hidden": {"distribution": "int_uniform", "min": 16, "max": 128}}
ASHA = {"type": "asha", "grace_period": 1, "reduction_factor": 3, "max_t": 9}


def pss(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024
    except (OSError, StopIteration):
        return 0


class Memory:
    """The most that the processes below this one have had together, MiB."""

    def __init__(self):
        self.most, self.done = 0, threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.done.wait(0.3):
            self.most = max(self.most, sum(map(pss, descendants(os.getpid()))))

    def end(self):
        self.done.set()
        self.thread.join()
        return self.most


def heavy_package(folder):
    """Some 2 s and 300 MB of modules, a third of which are loaded at the first step."""
    package = os.path.join(folder, "heavy")
    os.mkdir(package)
    for i in range(600):
        with open(os.path.join(package, f"m{i}.py"), "w", encoding="ascii") as file:
            file.writelines(f"class C{j}:\n    def f(self, a={j}):\n        return [a, {j}, 'text {i} {j}']\n" for j in range(120))
            file.write(f"DATA = list(range({i}, {i} + 8000))\n")
    with open(os.path.join(package, "__init__.py"), "w", encoding="ascii") as file:
        file.write("import importlib\nfor i in range(400):\n    importlib.import_module(f'heavy.m{i}')\n"
                   "def step():\n    for i in range(400, 600):\n        importlib.import_module(f'heavy.m{i}')\n")


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.starts = args, folder, []
        packages = os.path.join(folder, "site-packages")
        os.mkdir(packages)
        shutil.copytree(os.path.join(ROOT, "clients", "python", "sweepd"), os.path.join(packages, "sweepd"))  # as pip does
        if not self.has("torch"):
            heavy_package(packages)
        self.env = {**os.environ, "PYTHONPATH": packages, "OMP_NUM_THREADS": "1"}
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)

    def has(self, module):
        return subprocess.run([self.args.python, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode == 0

    def daemon(self, use, devices):
        """What use(client, socket) takes on a fresh daemon, in seconds."""
        state = tempfile.mkdtemp(dir=self.folder)
        socket = os.path.join(state, "s")
        process = subprocess.Popen([os.path.join(BIN, "sweepd"), "--state", state, "--socket", socket, "--devices", devices],
                                   env=self.env, stderr=subprocess.DEVNULL)
        try:
            client = None
            while client is None:
                try:
                    client = sweepd.Client(socket)
                except sweepd.SweepdError:
                    time.sleep(0.01)
            while any(slot["state"] != "IDLE" for slot in client.call("device.list")["slots"]):
                time.sleep(0.01)
            begin = time.monotonic()
            use(client, socket)
            return time.monotonic() - begin
        finally:
            process.terminate()
            process.wait()

    def program(self):
        def use(client, _):
            sweep = client.submit({
                "method": "random", "seed": 1, "run_cap": self.args.trials, "metric": {"name": "loss", "goal": "minimize"},
                "parameters": SPACE, "early_terminate": ASHA, "program": NET,
                "command": [self.args.python, "${program}", "${args}"],
                "run": {"cwd": self.folder, "env": {"PYTHONPATH": self.env["PYTHONPATH"]}}})
            client.wait(sweep)
            rows = client.trials(sweep)
            assert {row["state"] for row in rows} <= {"COMPLETED", "PRUNED"}, rows
            for row in rows:
                text = client.call("trial.output", sweep=sweep, trial=row["trial"])["text"]
                log = client.call("trial.log", sweep=sweep, trial=row["trial"])["lines"]
                began = next(float(line.split()[1]) for line in text.split("\n") if line.startswith("started "))
                told = next(line["time_ms"] for line in log if line["text"].startswith("started on"))
                self.starts.append(began * 1000 - told)
        return self.daemon(use, f"cpu:{self.args.processes}")

    def tune(self):
        return self.daemon(lambda _, socket: self.run([["tune", socket, self.args.trials, self.args.processes]]), "none")

    def optuna(self):
        storage = os.path.join(tempfile.mkdtemp(dir=self.folder), "journal")
        begin = time.monotonic()
        self.run([["optuna", storage, self.args.trials]] * self.args.processes)
        return time.monotonic() - begin

    def run(self, commands):
        running = [subprocess.Popen([self.args.python, NET, *map(str, words)], env=self.env) for words in commands]
        for process in running:
            if process.wait() != 0:
                sys.exit(f"{' '.join(map(str, process.args))} has failed")


def main():
    args = arguments(__doc__, python=sys.executable, trials=40, processes=2, repeat=3)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix="sw-", dir=os.path.join(ROOT, "build"))
    try:
        bench = Bench(args, folder)
        ways = {"program": bench.program, "tune": bench.tune}
        if bench.has("optuna"):
            ways["optuna"] = bench.optuna
        else:
            print(f"no Optuna in {args.python}: nothing to compare with")
        times, cpu = {way: [] for way in ways}, {way: [] for way in ways}
        for _ in range(args.repeat):
            for way, run in ways.items():
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                times[way].append(run())
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu[way].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                print(f"{way}: {times[way][-1]:.2f} s, {cpu[way][-1]:.2f} s of computing", flush=True)
        rows = []
        for way, run in ways.items():
            memory = Memory()
            run()
            rows.append({"way": way, "trials": args.trials, "processes": args.processes, "package": "torch" if bench.has("torch") else "made",
                         "wall_s": f"{statistics.median(times[way]):.2f}", "least_s": f"{min(times[way]):.2f}",
                         "cpu_s": f"{statistics.median(cpu[way]):.2f}",
                         "memory_mib": f"{memory.end():.0f}", "start_ms": ""})
        rows[0]["start_ms"] = f"{statistics.median(bench.starts):.1f}"
    finally:
        shutil.rmtree(folder)
    print(f"{'way':14} {'wall s':>8} {'least':>8} {'cpu s':>8} {'memory MiB':>11} {'start ms':>9}")
    for row in rows:
        print(f"{row['way']:14} {row['wall_s']:>8} {row['least_s']:>8} {row['cpu_s']:>8} {row['memory_mib']:>11} {row['start_ms']:>9}")
    write_csv(args.csv, [list(rows[0]), *(row.values() for row in rows)])
    if "optuna" in times:
        print(f"programs: {statistics.median(times['program']) / statistics.median(times['optuna']):.2f} of Optuna's wall time (program)")
    else:
        print(f"programs: {statistics.median(times['program']):.2f} s (program)")


if __name__ == "__main__":
    main()

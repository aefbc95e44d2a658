"""Sweeps of the user's own programs: small Python scripts that talk to the worker as any program would."""
import os
import sys
import textwrap

from harness import ROOT, alive, merged, wait_until

# What a script begins with: report() by the socket, as docs/spec.md describes it, without the package.
HEAD = f"""
import json, os, signal, subprocess, sys, time
sys.path.insert(0, {os.path.join(ROOT, 'clients', 'python')!r})
params = json.loads(os.environ["SWEEPD_PARAMS"])
fd = int(os.environ.get("SWEEPD_METRICS_FD", "-1"))
live, resume = os.environ.get("SWEEPD_CHECKPOINT_DIR"), os.environ.get("SWEEPD_RESUME")
def send(line):
    os.write(fd, line.encode() + b"\\n")
    answer = b""
    while not answer.endswith(b"\\n"):
        part = os.read(fd, 1000)
        if not part:
            sys.exit("the worker is gone")
        answer += part
    return json.loads(answer)
def report(step=None, **metrics):
    return send(json.dumps({{**({{}} if step is None else {{"step": step}}), **metrics}})).get("decision")
def save(text):
    with open(os.path.join(live, "state.part"), "w") as f:
        f.write(str(text))
    os.rename(os.path.join(live, "state.part"), os.path.join(live, "state"))
def load():
    return int(open(os.path.join(resume, "state")).read()) if resume else 0
def wait_stored(step):
    import socket
    sweep, trial = map(int, os.environ["SWEEPD_TRIAL"].split("/"))
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ["SWEEPD_SOCKET"])
        f = s.makefile("rw")
        while True:
            f.write(json.dumps({{"jsonrpc": "2.0", "id": 1, "method": "trial.get",
                                "params": {{"sweep": sweep, "trial": trial}}}}) + "\\n")
            f.flush()
            if (json.loads(f.readline())["result"]["step"] or 0) >= step:
                return
            time.sleep(0.005)
def touch(name):
    open(os.path.join(os.getcwd(), name), "a").close()
"""


def own(folder, script, run=None, **more):
    """A sweep of a script in the folder, which is its working directory. None takes a key away."""
    path = os.path.join(str(folder), "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD + textwrap.dedent(script))
    spec = {"name": "own", "method": "random", "seed": 3, "run_cap": 1,
            "metric": {"name": "loss", "goal": "minimize"},
            "parameters": {"x": {"min": 0.0, "max": 1.0}},
            "command": [sys.executable, "-S", path, "${args}"],
            "run": {"cwd": str(folder), "grace_s": 60, **(run or {})}}
    return merged(spec, more)


def output(daemon, sweep, trial):
    """What a trial has printed; a file is made for its first byte."""
    try:
        with open(os.path.join(daemon.state, "logs", str(sweep), f"{trial}.log"), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def marked(daemon):
    """The processes whose environment says that a trial of this daemon started them."""
    entry = b"SWEEPD_SOCKET=" + daemon.socket.encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if entry in file.read().split(b"\0") and alive(int(pid)):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def wait_file(folder, name):
    path = os.path.join(str(folder), name)
    wait_until(lambda: os.path.exists(path), name)
    return path

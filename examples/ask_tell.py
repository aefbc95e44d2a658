#!/usr/bin/env python3
"""A search driven from Python: ask for trials, compute, tell. No library is needed.

    build/bin/sweepd --devices none &
    python3 examples/ask_tell.py [SOCKET]
"""
import json
import math
import os
import socket
import sys


class Sweepd:
    """One connection: JSON-RPC 2.0, one message a line."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rw", encoding="utf-8", newline="\n")

    def __call__(self, method, **params):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.lines.write(json.dumps(request) + "\n")
        self.lines.flush()
        reply = json.loads(self.lines.readline())
        if "error" in reply:
            raise RuntimeError(reply["error"]["message"])
        return reply["result"]


def branin(x1, x2):
    """Three equal minima, 0.397887."""
    a = x2 - 5.1 / (4 * math.pi**2) * x1**2 + 5 / math.pi * x1 - 6
    return a**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x1) + 10


def default_socket():
    uid = os.getuid()
    run = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{uid}")
    base = f"{run}/sweepd" if os.path.isdir(run) else f"/tmp/sweepd-{uid}"
    return os.environ.get("SWEEPD_SOCKET", f"{base}/sweepd.sock")


def main():
    sweepd = Sweepd(sys.argv[1] if len(sys.argv) > 1 else default_socket())
    with open(os.path.join(os.path.dirname(__file__), "ask_tell.json"), encoding="utf-8") as file:
        sweep = sweepd("sweep.submit", spec=json.load(file))["sweep"]
    reason = None
    while reason != "done":  # an empty answer may also mean: paused, or others run the last trials
        answer = sweepd("trial.ask", sweep=sweep, count=10, wait_s=60)
        reason = answer.get("reason")
        for t in answer["trials"]:
            sweepd("trial.tell", sweep=sweep, trial=t["trial"], attempt=t["attempt"],
                   state="COMPLETED", metrics={"y": branin(**t["params"])})
    best = sweepd("sweep.best", sweep=sweep)["trials"][0]
    print(f"sweep {sweep}: best y = {best['value']:.6f} at {best['params']}, trial {best['trial']}")


if __name__ == "__main__":
    main()

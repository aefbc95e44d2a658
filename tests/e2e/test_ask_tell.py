"""Sweeps that the client drives: ask, report, tell. The rules of each are told by
tests/daemon/sweep/give/test_ask_story.c and tests/daemon/sweep/run/test_report_story.c."""
import json
import os
import sqlite3
import subprocess
import sys

from harness import INVALID_PARAMS, NOT_FOUND, ROOT, driven, environment, wait_until


def test_what_is_not_there_is_not_found(client):
    sweep = client.submit(driven())
    t, = client.ask(sweep)
    none = {"trial": 2, "attempt": 1}
    for method, params in {
            "sweep.get": {"sweep": 99}, "trial.ask": {"sweep": 99}, "sweep.watch": {"sweep": 99},
            "trial.get": {"sweep": sweep, "trial": 2}, "trial.why": {"sweep": sweep, "trial": 2},
            "trial.reports": {"sweep": sweep, "trial": 2},
            "trial.log": {"sweep": sweep, "trial": 2},
            "trial.output": {"sweep": sweep, "trial": 2},
            "trial.cancel": {"sweep": sweep, "trial": 2}, "trial.heartbeat": {"sweep": sweep, **none},
            "trial.report": {"sweep": sweep, **none, "seq": 1, "step": 1, "metrics": {"loss": 1}},
            "trial.tell": {"sweep": sweep, **none, "state": "COMPLETED"}}.items():
        assert client.refused(method, **params).code == NOT_FOUND, method
    assert client.tell(sweep, t, metrics={"loss": 1}) == "COMPLETED"


def test_tell_pruned_is_pruned_and_stays_so_over_a_restart(daemon, client):
    """By a client with a pruner of its own: its values count, with or without a cause."""
    sweep = client.submit(driven(run_cap=4))
    a, b, c, _ = client.ask(sweep, 4)
    client.report(sweep, a, 1, 1, loss=0.1)
    assert client.tell(sweep, a, "PRUNED", cause="my own rule") == "PRUNED"
    assert client.tell(sweep, b, "PRUNED") == "PRUNED"
    client.tell(sweep, c, metrics={"loss": 1})
    want = [("PRUNED", "my own rule", 0.1), ("PRUNED", "pruned", None), ("COMPLETED", None, 1)]
    assert "my own rule" in client.call("trial.why", sweep=sweep, trial=1)["text"]
    daemon.kill9()
    with daemon.start().client() as again:
        assert [(r["state"], r["cause"], r["value"]) for r in again.trials(sweep)][:3] == want


def test_leases_that_end_together_are_ended_over_several_turns(daemon, client):
    """At most 1,000 of a sweep in one look at the leases, and looks are a quarter of a second
    apart: other answers come between."""
    sweep = client.submit(driven(run_cap=2500, lease_s=3))
    assert sum(len(client.ask(sweep, 1000)) for _ in range(3)) == 2500
    wait_until(lambda: client.sweep(sweep)["counts"]["PENDING"] == 2500, "all leases to end")
    with sqlite3.connect(f"file:{os.path.join(daemon.state, 'sweepd.db')}?mode=ro", uri=True) as db:
        ended = [ms for ms, in db.execute("SELECT ended_ms FROM attempt ORDER BY ended_ms")]
    together = max(sum(at <= ms < at + 100 for ms in ended) for at in set(ended))
    assert len(ended) == 2500 and together <= 1000


def test_best_by_scope(client):
    sweep = client.submit(driven(run_cap=3))
    series = {1: [3.0, 1.0, 4.0], 2: [2.0, 2.0, 2.0], 3: [9.0, 9.0, 1.5]}
    for t in client.ask(sweep, 3):
        for seq, value in enumerate(series[t["trial"]], 1):
            client.report(sweep, t, seq, seq, loss=value)
        client.tell(sweep, t)

    def best(**more):
        rows = client.call("sweep.best", sweep=sweep, **more)["trials"]
        return [(r["trial"], r["value"], r["step"], r["metrics"].get("loss")) for r in rows]

    assert best() == [(1, 1.0, 2, 1.0)]
    assert best(n=3) == best(scope="all", n=3) == [(1, 1.0, 2, 1.0), (3, 1.5, 3, 1.5), (2, 2.0, 1, 2.0)]
    assert best(scope="last", n=3) == [(3, 1.5, 3, 1.5), (2, 2.0, 3, 2.0), (1, 4.0, 3, 4.0)]
    assert best(scope="avg") == [(2, 2.0, 3, None)]  # a mean is of no one report
    assert best(scope="last-2-avg", n=2) == [(2, 2.0, 3, None), (1, 2.5, 3, None)]
    for scope in ("worst", "last-0-avg", "last--1-avg", "last-avg", ""):
        error = client.refused("sweep.best", sweep=sweep, scope=scope)
        assert error.code == INVALID_PARAMS and error.pointer == "/scope", scope


def test_example_client_finds_a_minimum(daemon):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "examples", "ask_tell.py"),
                           daemon.socket], capture_output=True, text=True, check=False,
                          timeout=90, env=environment())
    assert done.returncode == 0, done.stderr
    assert "best y" in done.stdout
    best, = daemon.client().call("sweep.best", sweep=1)["trials"]
    with open(os.path.join(ROOT, "examples", "ask_tell.json"), encoding="utf-8") as file:
        assert best["trial"] <= json.load(file)["run_cap"]
    assert 0.397 < best["value"] < 3

"""sweep.simulate: what another pruner would have done, as the command says it, and against sweeps that lived under it.
Numbers made by hand: tests/sched/sweep/test_simulate.c."""
import json
import os
import random
import sqlite3

from harness import asha, driven, sweep_command

# Four trials of four steps, to minimise; the last one ends well and begins badly.
HAND = [[4, 3, 2, 1], [5, 5, 5, 5], [1, 0.9, 0.8, 0.7], [3, 2.5, 2, 0.1]]
NOBODY = {"type": "asha", "max_t": 1000, "grace_period": 1000}  # is stopped by it
HALVING = {"type": "asha", "max_t": 4, "grace_period": 1, "reduction_factor": 2}


def record(client, curves, at_once=1, **spec):
    """A sweep with these curves, told COMPLETED at their ends; its number."""
    sweep = client.submit(driven(run_cap=len(curves), **spec))
    while handed := client.ask(sweep, at_once):
        for t in handed:
            for step, value in enumerate(curves[t["trial"] - 1], 1):
                if client.report(sweep, t, step, step, loss=value) != "continue":
                    break
            else:
                client.tell(sweep, t)
    assert client.sweep(sweep)["state"] == "COMPLETED"
    return sweep


def test_sweep_of_many_trials_is_read_in_parts_and_re_run_whole(client):
    """1,000 trials are exactly one part, 1,001 a little more; the last is the best."""
    for n in (1000, 1001):
        sweep = record(client, [[float(n - trial)] for trial in range(n)], at_once=1000)
        got = client.call("sweep.simulate", sweep=sweep, early_terminate=NOBODY, workers=4)
        assert (got["trials"], got["recorded"], got["resource"]) == (n, n, n)
        assert got["completed"] == n and got["best"]["trial"] == n


def one_second_a_step(daemon, sweep, steps):
    """As if the trials had run one after another, each step a second. A new client."""
    daemon.term()
    with sqlite3.connect(os.path.join(daemon.state, "sweepd.db")) as db:
        db.execute("UPDATE attempt SET started_ms = 1000000 + ?1 * trial, "
                   "ended_ms = 1000000 + ?1 * (trial + 1) WHERE sweep = ?2", (1000 * steps, sweep))
    return daemon.start().client()


def simulate(client, sweep, pruner, **more):
    return client.call("sweep.simulate", sweep=sweep, early_terminate=pruner, **more)


PRUNERS = [
    asha(max_t=9), asha(max_t=9, brackets=2), asha(max_t=9, variant="promote"),
    {"type": "hyperband", "min_iter": 1, "eta": 2}, {"type": "hyperband", "max_iter": 9, "s": 2},
    {"type": "median", "n_startup_trials": 3}, {"type": "median", "grace_period": 2},
    {"type": "patience", "patience": 2}, {"type": "threshold", "upper": 0.95}]


def lived(client, curves, pruner, at_once):
    """A sweep that has the pruner from the start: its number, and how many steps it made. At once: the trials of a turn
    report in turn, as lanes of equal pace do."""
    sweep = client.submit(driven(run_cap=len(curves), early_terminate=pruner))
    held, used = [], 0
    while True:
        while len(held) < at_once and (handed := client.ask(sweep)):
            held.append([handed[0], handed[0]["resume_step"], 0])
        if not held:
            return sweep, used
        run = held.pop(0)
        t, step, seq = run[0], run[1] + 1, run[2] + 1
        used += 1
        said = client.report(sweep, t, seq, step, loss=curves[t["trial"] - 1][step - 1])
        if said == "continue" and step == len(curves[0]):
            client.tell(sweep, t)
        elif said == "continue":
            held.append([t, step, seq])


def test_curves_re_run_are_pruned_as_a_sweep_under_that_pruner(daemon):
    """Whole curves under a pruner that was not there, against a sweep that had it from the start."""
    draw = random.Random(8)
    curves = [[draw.random() for _ in range(9)] for _ in range(24)]
    whole = record(daemon.client(), curves)
    client = one_second_a_step(daemon, whole, len(curves[0]))
    for pruner in PRUNERS:
        for at_once in 1, 4:
            sweep, used = lived(client, curves, pruner, at_once)
            got, counts = simulate(client, whole, pruner, workers=at_once), client.sweep(sweep)["counts"]
            what = pruner, at_once, got, counts
            assert (got["resource"], got["stopped"]) == (used, counts["PRUNED"]) and counts["PRUNED"] > 2, what
            assert got["completed"] == counts["COMPLETED"] and got["short"] == got["failed"] == 0, what
            best = client.call("sweep.best", sweep=sweep, scope="last")["trials"][0]
            assert got["chosen"] == {"trial": best["trial"], "value": best["value"]}, what


def test_curve_runs_through_lost_and_resumed_attempts(daemon):
    client = daemon.client()
    sweep = client.submit(driven(run_cap=1, lease_s=1, retries=5))
    t, = client.ask(sweep)
    client.report(sweep, t, 1, 1, loss=0.9)
    client.report(sweep, t, 2, 2, loss=0.8)
    while not (again := client.ask(sweep)):
        pass  # the lease runs out
    for step, value in enumerate((0.9, 0.8, 0.7), 1):
        client.report(sweep, again[0], step, step, loss=value)
    client.tell(sweep, again[0])
    got = simulate(client, sweep, NOBODY)
    assert (got["recorded"], got["resource"], got["workers"]) == (3, 3, 1)


def test_command_prints_what_would_have_been(daemon, tmp_path):
    client = daemon.client()
    sweep = record(client, HAND)
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"early_terminate": HALVING, "name": "other"}))
    status, out, err = sweep_command(daemon, "simulate", sweep, "--early-terminate", spec,
                                     "--workers", 1)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "resource   11 of 16 steps: 31.2% saved"
    assert lines[1].startswith("wall time  about ") and " with 1 at once" in lines[1]
    assert lines[2:] == ["trials     4: 2 stopped, 2 completed, 0 failed",
                         "best       trial 1/4, loss 0.1: would have been stopped",
                         "chosen     trial 1/3, loss 0.7"]
    status, out, _ = sweep_command(daemon, "simulate", sweep, "--early-terminate", spec, "--json")
    assert status == 0 and json.loads(out)["resource"] == 11
    status, _, err = sweep_command(daemon, "simulate", sweep)
    assert status == 2 and "--early-terminate FILE is missing" in err
    status, _, err = sweep_command(daemon, "simulate", sweep, "--early-terminate", "/no/such")
    assert status == 1 and "/no/such" in err
    spec.write_text('{"parameters": {"x": {"value": 1}}}')
    status, _, err = sweep_command(daemon, "simulate", sweep, "--early-terminate", spec)
    assert status == 1 and err.endswith('spec.json: a spec without "early_terminate"\n')
    spec.write_text('{"type": "asha", "max_t": }')
    status, _, err = sweep_command(daemon, "simulate", sweep, "--early-terminate", spec)
    assert status == 1 and "spec.json:1:27" in err

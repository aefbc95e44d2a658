"""Sweeps with several metrics: the trials that no other beats, their volume, and what the command shows of both."""
import json
import random

import pytest

from harness import driven, sweep_command

LOSS = {"name": "loss"}
ACC = {"name": "acc", "goal": "maximize"}


def several(*metrics, **more):
    return driven(metric=None, metrics=list(metrics), **more)


def beats(a, b):
    """Of (loss, acc): the first is minimised, the second maximised."""
    return a[0] <= b[0] and a[1] >= b[1] and a != b


def front_of(told):
    """{trial: (loss, acc)} -> the numbers of those that none beats, by loss."""
    best = [t for t, a in told.items() if not any(beats(b, a) for b in told.values())]
    return sorted(best, key=lambda t: (told[t][0], -told[t][1], t))


def volume(points, loss_at, acc_at):
    """What (loss, acc) points cover below loss_at and above acc_at, by its steps."""
    area, top = 0.0, acc_at
    for loss, acc in sorted(points):
        if loss < loss_at and acc > top:
            area += (loss_at - loss) * (acc - top)
            top = acc
    return area


def tell_many(client, sweep, count, seed=1):
    """Whole numbers, so that there are ties; every seventh trial fails with the best of values."""
    rng = random.Random(seed)
    told = {}
    for t in client.ask(sweep, count):
        if t["trial"] % 7 == 0:
            assert client.report(sweep, t, 1, 1, loss=-100.0, acc=100.0) == "continue"
            assert client.tell(sweep, t, "FAILED", cause="oom") == "FAILED"
            continue
        assert client.report(sweep, t, 1, 1, loss=0.0, acc=50.0) == "continue"
        told[t["trial"]] = (rng.randrange(20), rng.randrange(20))
        loss, acc = told[t["trial"]]
        assert client.tell(sweep, t, metrics={"loss": loss, "acc": acc, "other": 1}) == "COMPLETED"
    return told


def check_front(client, sweep, told):
    got = client.call("sweep.best", sweep=sweep)
    want = front_of(told)
    assert [t["trial"] for t in got["trials"]] == want
    for t in got["trials"]:
        assert (t["metrics"]["loss"], t["metrics"]["acc"]) == told[t["trial"]]
        assert t["value"] == told[t["trial"]][0]
    assert got["pareto"]["trials"] == len(want)
    reference = got["pareto"]["reference"]
    expected = volume([told[t] for t in want], reference["loss"], reference["acc"])
    assert got["pareto"]["hypervolume"] == pytest.approx(expected, rel=1e-12)
    assert client.sweep(sweep)["pareto"] == got["pareto"]
    return got


def test_command_prints_the_front_as_a_table(daemon, client):
    sweep = client.submit(several({**LOSS, "reference": 30}, {**ACC, "reference": -1}, run_cap=40))
    assert "no trial has a value yet" in sweep_command(daemon, "best", sweep)[1]
    told = tell_many(client, sweep, 40)
    want = [t["trial"] for t in check_front(client, sweep, told)["trials"]]
    area = volume([told[t] for t in want], 30, -1)
    status, out, _ = sweep_command(daemon, "best", sweep)
    head, columns, *rows = out.splitlines()
    assert status == 0
    assert f"{len(want)} trials" in head and f"{area:g}" in head
    assert [row.split()[0] for row in rows] == [f"{sweep}/{t}" for t in want]
    names = columns.split()
    for row, t in zip(rows, want):
        cells = dict(zip([n.lower() for n in names], row.split()))
        assert (float(cells["loss"]), float(cells["acc"])) == told[t]
    status, out, _ = sweep_command(daemon, "show", sweep)
    assert status == 0 and f"{area:g}" in out
    assert "loss (minimize)" in out and "acc (maximize)" in out
    row = sweep_command(daemon, "ls", COLUMNS="200")[1].splitlines()[1]
    assert "loss, acc" in row and f"{len(want)} on the front" in row
    status, out, _ = sweep_command(daemon, "best", sweep, "--json")
    assert len(json.loads(out)["trials"]) == len(want)

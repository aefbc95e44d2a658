"""Sweeps with several metrics: ask, report, tell; the trials that no other beats; their volume."""
import json
import random

import pytest

from harness import INVALID_PARAMS, driven, sweep_command

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


def test_best_is_what_no_trial_beats(client):
    sweep = client.submit(several(LOSS, ACC, run_cap=80))
    assert client.call("sweep.best", sweep=sweep) == {
        "trials": [], "pareto": {"trials": 0, "hypervolume": None,
                                 "reference": {"loss": None, "acc": None}}}
    told = {}
    for part in range(4):
        told.update(tell_many(client, sweep, 20, part))
        check_front(client, sweep, told)
    assert client.sweep(sweep)["state"] == "COMPLETED"
    assert client.call("sweep.best", sweep=sweep, n=1)["trials"][0]["trial"] == front_of(told)[0]


def test_trial_counts_by_its_last_report_with_the_metrics(client):
    sweep = client.submit(several(LOSS, ACC))
    one, two = client.ask(sweep, 2)
    client.report(sweep, one, 1, 1, loss=1.0, acc=9.0)
    client.report(sweep, one, 2, 2, loss=5.0, acc=5.0)
    client.report(sweep, one, 3, 3, note=1.0)
    client.report(sweep, two, 1, 1, loss=4.0, acc=5.0)
    got = client.call("sweep.best", sweep=sweep)
    assert [t["trial"] for t in got["trials"]] == [2]
    client.report(sweep, two, 2, 2, loss=6.0, acc=6.0)
    got = client.call("sweep.best", sweep=sweep)
    assert [(t["trial"], t["metrics"]) for t in got["trials"]] == [
        (1, {"loss": 5, "acc": 5}), (2, {"loss": 6, "acc": 6})]


def test_metric_that_is_not_finite_ends_the_trial_whichever_it_is(client):
    sweep = client.submit(several(LOSS, ACC))
    one, two = client.ask(sweep, 2)
    assert client.report(sweep, one, 1, 1, loss=1.0, acc="nan") == "stop"
    assert client.tell(sweep, two, metrics={"loss": "inf", "acc": 1}) == "INFEASIBLE"
    assert {t["state"] for t in client.trials(sweep)} == {"INFEASIBLE"}
    assert client.call("sweep.best", sweep=sweep)["trials"] == []


def test_report_with_a_part_of_the_metrics_is_refused(client):
    sweep = client.submit(several(LOSS, ACC))
    t, = client.ask(sweep)
    where = {"sweep": sweep, "trial": t["trial"], "attempt": 1}
    for metrics, line in (({"Acc": 1, "loss": 2}, 'has "loss" and lacks "acc"'),
                          ({"acc": 1}, 'has "acc" and lacks "loss"')):
        for error in (client.refused("trial.report", **where, seq=1, step=1, metrics=metrics),
                      client.refused("trial.tell", **where, state="COMPLETED", metrics=metrics)):
            assert (error.code, error.pointer) == (INVALID_PARAMS, "/metrics"), metrics
            assert line in error.message, error.message
    assert client.tell(sweep, t, metrics={"loss": 1, "acc": 2}) == "COMPLETED"


def test_scope_goes_with_one_metric(client):
    sweep = client.submit(several(LOSS, ACC))
    error = client.refused("sweep.best", sweep=sweep, scope="avg")
    assert (error.code, error.pointer) == (INVALID_PARAMS, "/scope")
    assert client.call("sweep.best", sweep=client.submit(driven())) == {"trials": [],
                                                                        "pareto": None}


def test_warm_start_takes_all_the_metrics_and_refine_has_no_best_to_go_around(client):
    sweep = client.submit(several(LOSS, ACC, run_cap=12))
    tell_many(client, sweep, 12)
    later = client.submit(several(ACC, LOSS, method="bayes", warm_start=[sweep]))
    assert client.ask(later)[0]["trial"] == 1
    single = client.submit(driven(method="bayes", metric=ACC, warm_start=[sweep]))
    assert client.ask(single)[0]["trial"] == 1
    for spec in (several(LOSS, {"name": "acc"}, method="bayes", warm_start=[sweep]),
                 several(LOSS, {"name": "b"}, method="bayes", warm_start=[sweep])):
        error = client.refused("sweep.submit", spec=spec)
        assert error.pointer == "/spec/warm_start/0" and "has no metric" in error.message
    error = client.refused("sweep.submit", spec={"refine": {"of": sweep}})
    assert error.pointer == "/spec/refine/of" and "2 metrics" in error.message


def test_command_prints_the_front_as_a_table(daemon, client):
    sweep = client.submit(several({**LOSS, "reference": 30}, {**ACC, "reference": -1}, run_cap=40))
    assert "no trial has a value yet" in sweep_command(daemon, "best", sweep)[1]
    told = tell_many(client, sweep, 40)
    want = front_of(told)
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
    status, out, _ = sweep_command(daemon, "best", sweep, "--json")
    assert len(json.loads(out)["trials"]) == len(want)

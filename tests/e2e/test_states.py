"""Pause, resume, cancel, extend, and what watchers see of it."""
import pytest

from harness import (CONFLICT, INVALID_PARAMS, driven, merged, slow, sweep_command, trained,
                     wait_until)
from search_model import run_out


def test_cancelled_sweep_cancels_its_trials_and_takes_no_more(client):
    sweep = client.submit(driven(run_cap=6))
    done, running = client.ask(sweep, 2)
    client.tell(sweep, done, metrics={"loss": 1})
    assert client.call("sweep.cancel", sweep=sweep)["state"] == "CANCELLED"
    assert [t["state"] for t in client.trials(sweep)] == ["COMPLETED", "CANCELLED"]
    assert client.ask(sweep) == []
    assert client.report(sweep, running, 1, 1, loss=1) == "stop"
    assert client.reports(sweep, running["trial"]) == []
    for method in ("sweep.cancel", "sweep.pause", "sweep.resume"):
        assert client.refused(method, sweep=sweep).code == CONFLICT, method
    assert client.refused("sweep.extend", sweep=sweep, run_cap=50).code == CONFLICT


def test_cancelled_trial_leaves_the_others_alone(client):
    sweep = client.submit(driven(run_cap=2))
    one, two = client.ask(sweep, 2)
    answer = client.call("trial.cancel", sweep=sweep, trial=one["trial"])
    assert answer == {"trial": 1, "state": "CANCELLED"}
    assert client.refused("trial.cancel", sweep=sweep, trial=1).code == CONFLICT
    assert client.report(sweep, one, 1, 1, loss=0) == "stop"
    assert client.reports(sweep, 1) == []
    client.tell(sweep, two, metrics={"loss": 3})
    got = client.sweep(sweep)
    assert got["state"] == "COMPLETED" and got["best"]["trial"] == 2


def test_extended_sweep_goes_on_where_it_ended(client):
    sweep = client.submit(driven(run_cap=2))
    for t in client.ask(sweep, 2):
        client.tell(sweep, t, metrics={"loss": 1})
    assert client.sweep(sweep)["state"] == "COMPLETED"
    for cap in (1, 2):
        error = client.refused("sweep.extend", sweep=sweep, run_cap=cap)
        assert error.code == INVALID_PARAMS and error.pointer == "/run_cap"
    assert client.call("sweep.extend", sweep=sweep, run_cap=5)["run_cap"] == 5
    assert client.sweep(sweep)["state"] == "RUNNING"
    more = client.ask(sweep, 10)
    assert [t["trial"] for t in more] == [3, 4, 5]
    straight = client.submit(driven(run_cap=5))
    assert [t["params"] for t in client.ask(straight, 10)][2:] == [t["params"] for t in more]


@pytest.mark.parametrize("restart", [False, True])
def test_watch_shows_a_snapshot_then_each_change_and_the_end(daemon, client, restart):
    sweep = client.submit(driven(run_cap=3))
    if restart:
        daemon.kill9()
        daemon.start()
        client = daemon.client()
    watcher = daemon.client()
    view = watcher.call("sweep.watch", sweep=sweep)
    assert view["state"] == "RUNNING" and view["trials"] == []
    assert view["parameters"] == ["x", "k"]
    seen = {}
    for t in client.ask(sweep, 3):
        client.report(sweep, t, 1, 1, loss=t["trial"])
        client.tell(sweep, t)
    while view["state"] == "RUNNING":
        note = watcher.note()
        assert note["method"] == "sweep.update" and "id" not in note
        view = note["params"]
        assert view["sweep"] == sweep
        seen.update({t["trial"]: t for t in view["trials"]})
    assert view["state"] == "COMPLETED" and view["best"]["trial"] == 1
    assert {k: (t["state"], t["value"]) for k, t in seen.items()} == {
        k: ("COMPLETED", k) for k in (1, 2, 3)}


def test_running_trial_cancelled_alone_frees_its_slot_for_the_next(start):
    client = start("cpu:1").client()
    sweep = client.submit(trained(epochs=100000, run_cap=2))
    wait_until(lambda: client.slots()[0].get("trial") == 1, "trial 1 on the slot")
    client.call("trial.cancel", sweep=sweep, trial=1)
    wait_until(lambda: client.slots()[0].get("trial") == 2, "trial 2 on the slot")
    client.call("trial.cancel", sweep=sweep, trial=2)
    got = client.wait_sweep(sweep)
    assert got["counts"]["CANCELLED"] == 2


def test_paused_trained_sweep_finishes_what_runs_and_starts_nothing(start):
    client = start("cpu:2").client()
    sweep = client.submit(slow(epochs=8, run_cap=8))
    wait_until(lambda: client.sweep(sweep)["counts"]["RUNNING"] == 2, "two running trials")
    client.call("sweep.pause", sweep=sweep)
    wait_until(lambda: client.sweep(sweep)["counts"]["RUNNING"] == 0, "running trials to end")
    made = len(client.trials(sweep))
    assert made < 8 and client.sweep(sweep)["state"] == "PAUSED"
    client.call("sweep.resume", sweep=sweep)
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED" and got["counts"]["COMPLETED"] == 8


# --- a grid ends by itself ---

def small_grid(**more):
    return driven(method="grid", parameters={"a": {"min": 1, "max": 3}, "b": {"min": 1, "max": 2}},
                  **more)


@pytest.mark.parametrize("run_cap, shown, cause", [
    (None, 6, "grid exhausted: 6 points tried"), (6, 6, "grid exhausted: 6 points tried"),
    (50, 50, "grid exhausted: 6 points tried, run_cap is 50"), (4, 4, None)])
def test_grid_that_has_no_further_point_says_so(start, run_cap, shown, cause):
    daemon = start("none")
    client = daemon.client()
    answer = client.call("sweep.submit", spec=small_grid(run_cap=run_cap))
    sweep, warned = answer["sweep"], [w for w in answer["warnings"] if "run_cap" in w]
    assert len(warned) == (run_cap == 50) and all("6 points" in w for w in warned), answer
    assert len(run_out(client, sweep, lambda p: p["a"])) == min(shown, 6)
    got = client.sweep(sweep)
    assert (got["state"], got["cause"]) == ("COMPLETED", cause)
    assert (got["run_cap"], got["points"]) == (shown, 6)
    row, = client.call("sweep.list")["sweeps"]
    assert (row["cause"], row["run_cap"]) == (cause, shown)
    _, out, _ = sweep_command(daemon, "show", sweep)
    assert out.splitlines()[0].endswith(cause or "s"), out
    daemon.kill9()
    again = daemon.start().client().sweep(sweep)
    assert merged(again, {"seconds": None}) == merged(got, {"seconds": None})


def test_capped_grid_that_is_extended_or_edited_past_its_points_says_so(client):
    sweep = client.submit(small_grid(run_cap=2))
    run_out(client, sweep, lambda p: p["a"])
    assert client.sweep(sweep)["cause"] is None
    assert client.call("sweep.extend", sweep=sweep, run_cap=5)["run_cap"] == 5
    client.ask(sweep)
    changes = client.call("sweep.edit", sweep=sweep, run_cap=9)["changes"]
    assert changes == [{"key": "run_cap", "from": 5, "to": 9}]
    got = client.sweep(sweep)
    assert (got["state"], got["cause"], got["run_cap"], got["points"]) == ("RUNNING", None, 9, 6)
    client.call("trial.enqueue", sweep=sweep, params={"a": 1, "b": 1})
    assert len(run_out(client, sweep, lambda p: p["a"])) == 4
    client.tell(sweep, {"trial": 3, "attempt": 1}, metrics={"loss": 1})
    assert client.sweep(sweep)["cause"] == "grid exhausted: 6 points tried, run_cap is 9"
    error = client.refused("sweep.extend", sweep=sweep, run_cap=20)
    assert (error.code, error.pointer) == (INVALID_PARAMS, "/run_cap")

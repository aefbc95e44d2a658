"""Pause, resume, cancel, extend, and what watchers see of it."""
import pytest

from harness import driven, merged, sweep_command
from search_model import run_out


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

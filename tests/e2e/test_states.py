"""A grid ends by itself. What pause, resume, cancel and extend do, and what watchers see of it, is told by
tests/daemon/sweep/run/test_settle_story.c, give/test_ask_story.c and
tests/daemon/api/test_watch_story.c."""
from harness import driven, merged, sweep_command
from search_model import run_out

# The run cap of a grid of six points, the one that is shown, and why the sweep ends.
GRIDS = [(None, 6, "grid exhausted: 6 points tried"), (6, 6, "grid exhausted: 6 points tried"),
         (50, 50, "grid exhausted: 6 points tried, run_cap is 50"), (4, 4, None)]


def test_grid_that_has_no_further_point_says_so(daemon, client):
    ended = {}
    for run_cap, shown, cause in GRIDS:
        answer = client.call("sweep.submit", spec=driven(method="grid", run_cap=run_cap, parameters={
            "a": {"min": 1, "max": 3}, "b": {"min": 1, "max": 2}}))
        sweep, warned = answer["sweep"], [w for w in answer["warnings"] if "run_cap" in w]
        assert len(warned) == (run_cap == 50) and all("6 points" in w for w in warned), answer
        assert len(run_out(client, sweep, lambda p: p["a"])) == min(shown, 6)
        got = ended[sweep] = client.sweep(sweep)
        assert (got["state"], got["cause"]) == ("COMPLETED", cause)
        assert (got["run_cap"], got["points"]) == (shown, 6)
        row = client.call("sweep.list", limit=1)["sweeps"][0]
        assert (row["sweep"], row["cause"], row["run_cap"]) == (sweep, cause, shown)
        _, out, _ = sweep_command(daemon, "show", sweep)
        assert out.splitlines()[0].endswith(cause or "s"), out
    daemon.kill9()
    client = daemon.start().client()
    for sweep, got in ended.items():
        assert merged(client.sweep(sweep), {"seconds": None}) == merged(got, {"seconds": None})

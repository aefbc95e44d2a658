"""`sweep why`: where each trial came from, and what was expected of it."""
import math
import os

import pytest

from harness import driven, sweep_command
from replays import database, replay
from search_model import METHODS, PATIENT, run_out, suggestion

PLANE = {"x": {"min": 0.0, "max": 1.0}, "y": {"min": 0.0, "max": 1.0}}
COUNTED = {"x": {"values": [1, 2, 3]}, "y": {"values": [1, 2]}}
METRICS = [{"name": "loss"}, {"name": "speed", "goal": "maximize"}]
OF_MAXIMUM = "expected_improvement_of_weighted_maximum"
OF_WHOLE = "scalarised_expected_improvement"


def plane(method, **more):
    return driven(**{"method": method, "seed": 3, "suggest_wait_ms": PATIENT, "run_cap": 24,
                     "parameters": PLANE, **more})


def bowl(p):
    return (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2


def words(client, sweep, trial):
    return client.call("trial.why", sweep=sweep, trial=trial)["text"]


# --- where it came from ---

@pytest.mark.parametrize("method, says", [
    ("random", "; drawn at random"), ("sobol", "; point 6 of a Sobol sequence")])
def test_trial_of_a_sampler_that_does_not_learn_has_a_source(client, method, says):
    sweep = client.submit(plane(method))
    run_out(client, sweep, bowl)
    for trial in (1, 2, 6, 24):
        how = suggestion(client, sweep, trial)
        assert (how["source"], how["method"], how["point"]) == (method, method, trial), how
    assert words(client, sweep, 6).endswith(says)


def test_trial_of_a_grid_says_which_point_of_how_many(client):
    sweep = client.submit(plane("grid", parameters=COUNTED, shuffle=True, init=[{"x": 2, "y": 2}]))
    run_out(client, sweep, lambda p: p["x"] + p["y"])
    how = suggestion(client, sweep, 5)
    assert (how["source"], how["point"], how["points"]) == ("grid", 4, 6), how
    assert words(client, sweep, 5).endswith("; point 4 of 6 of the grid")


def test_points_of_the_user_say_so_whatever_the_method(daemon, client):
    own = [{"x": 3, "y": 1}, {"x": 1, "y": 2}]
    enqueued = {}
    for method in METHODS:
        sweep = client.submit(plane(method, parameters=COUNTED, init=own))
        for _ in range(3):
            t, = client.ask(sweep)
            client.tell(sweep, t, metrics={"loss": 1})
        enqueued[sweep] = client.call("trial.enqueue", sweep=sweep, params={"x": 2, "y": 1})["trial"]
        client.ask(sweep)
        for i in (1, 2):
            how = suggestion(client, sweep, i)
            assert (how["source"], how["point"], how["points"]) == ("init", i, 2), (method, how)
            assert f"; init point {i} of 2 of the spec" in words(client, sweep, i), method
        assert suggestion(client, sweep, 3)["source"] not in ("init", "enqueue"), method
    client = daemon.again()
    for sweep, trial in enqueued.items():
        how = suggestion(client, sweep, trial)
        assert (how["source"], how["uid"]) == ("enqueue", os.getuid()), how
        assert words(client, sweep, trial).endswith(f"; enqueued by hand, by user {os.getuid()}"), how


# --- what was expected ---

@pytest.mark.parametrize("space, value, least", [
    (PLANE, lambda p: 1e6 + bowl(p), -40),
    ({"x": {"min": 1, "max": 6}, "y": {"min": 1, "max": 6}}, lambda p: p["x"] + p["y"], -1e12)],
    ids=["that cancels", "that is no number"])
def test_every_suggestion_of_a_model_says_its_improvement_in_json_and_text(start, space, value,
                                                                           least):
    """The bowl is soon known to many digits: what is left to gain cancels beside a million. Of the
    plane all is known soon, and the points that are left have no chance."""
    daemon = start()
    client = daemon.client()
    sweep = client.submit(plane("bayes", parameters=space, run_cap=36))
    run_out(client, sweep, value)
    logs = []
    for trial in range(1, 37):
        how = suggestion(client, sweep, trial)
        if how["source"] != "gp":
            continue
        assert how["acquisition"] == "expected_improvement"
        assert how["expected_improvement"] >= 0 and 0 <= how["sd"] < 10, how
        ln = how["log_expected_improvement"]
        assert how["expected_improvement"] == pytest.approx(math.exp(ln), rel=1e-9)
        _, out, _ = sweep_command(daemon, "why", f"{sweep}/{trial}")
        said = out.split("; expected improvement ")[1].split(";")[0]
        got = float(said[2:]) if said.startswith("e^") else math.log(float(said))
        assert got == pytest.approx(ln, rel=1e-5, abs=1e-4), said
        logs.append(ln)
    assert len(logs) > 20 and least < min(logs) < min(logs[0], -15), logs


def test_ratio_of_tpe_is_said_in_words(client):
    sweep = client.submit(plane("tpe"))
    run_out(client, sweep, bowl)
    last = max(n for n in range(1, 25) if suggestion(client, sweep, n)["source"] == "tpe")
    assert f"good trials {suggestion(client, sweep, last)['density_ratio']:.6g} times as dense" in \
        words(client, sweep, last)


def two_metrics(client, **more):
    sweep = client.submit(plane("bayes", metric=None, metrics=METRICS, **more))
    while handed := client.ask(sweep):
        p = handed[0]["params"]
        client.tell(sweep, handed[0], metrics={"loss": bowl(p), "speed": 1000 + 100 * p["x"]})
    return sweep


def test_suggestion_for_two_metrics_names_what_it_was_chosen_by(start):
    daemon = start()
    client = daemon.client()
    sweep = two_metrics(client)
    seen = set()
    for trial in range(1, 25):
        how = suggestion(client, sweep, trial)
        assert "density_ratio" not in how
        if how["source"] != "gp":
            continue
        seen.add(how["acquisition"])
        assert set(how["weights"]) == {"loss", "speed"}
        assert sum(how["weights"].values()) == pytest.approx(1)
        assert math.isfinite(how["log_expected_improvement"]) and "mean" not in how
        text = words(client, sweep, trial)
        if how["acquisition"] == OF_MAXIMUM:
            # In the metrics' own units and turned the right way round: 1000 to 1100.
            assert 900 < how["metrics"]["speed"]["mean"] < 1200
            assert how["metrics"]["loss"]["sd"] > 0 and how["metrics"]["speed"]["sd"] > 0
            assert "expected loss " in text and "; speed 1" in text
            assert "expected improvement of the weighted maximum " in text
        else:
            assert how["scalarised"]["sd"] > 0 and "metrics" not in how
            assert "expected improvement of that " in text
    assert seen == {OF_MAXIMUM, OF_WHOLE}
    assert replay(database(daemon))[0] == 0


# --- earlier sweeps ---

@pytest.mark.parametrize("method", ["bayes", "tpe"])
def test_warm_start_counts_the_results_of_the_earlier_sweeps(start, method):
    daemon = start()
    client = daemon.client()
    old = [client.submit(plane("random", seed=seed, run_cap=n)) for seed, n in ((1, 20), (2, 7))]
    for earlier in old:
        run_out(client, earlier, bowl)
    sweep = client.submit(plane(method, warm_start=old, run_cap=5))
    client.ask(sweep)
    client = daemon.again()
    how = suggestion(client, sweep, 1)
    assert how["known"] == 0
    assert how["earlier"] == [{"sweep": old[0], "results": 20}, {"sweep": old[1], "results": 7}]
    text = words(client, sweep, 1)
    assert f"knew 0 results, 20 of sweep {old[0]} and 7 of sweep {old[1]}" in text, text
    assert replay(database(daemon))[0] == 0


# --- the list of sweeps ---

def test_ls_of_several_metrics_says_how_many_are_on_the_front(start):
    daemon = start()
    client = daemon.client()
    empty = client.submit(plane("random", metric=None, metrics=METRICS))
    sweep = client.submit(plane("random", metric=None, metrics=METRICS, name="many"))
    for loss, speed in ((1, 5), (2, 6), (3, 7), (3, 6)):
        t, = client.ask(sweep)
        client.tell(sweep, t, metrics={"loss": loss, "speed": speed})
    single = client.submit(plane("random"))
    t, = client.ask(single)
    client.tell(single, t, metrics={"loss": 0.25})
    rows = {row["sweep"]: row for row in client.call("sweep.list")["sweeps"]}
    assert rows[sweep]["best"] is None and rows[sweep]["pareto"] == {"trials": 3}
    assert rows[sweep]["metrics"] == ["loss", "speed"]
    assert rows[single]["best"] == {"trial": 1, "step": 1, "value": 0.25} and rows[single]["pareto"] is None
    assert (rows[empty]["best"], rows[empty]["pareto"]) == (None, {"trials": 0})
    lines = sweep_command(daemon, "ls", COLUMNS="200")[1].splitlines()
    assert "loss, speed" in lines[2] and "3 on the front" in lines[2], lines
    assert "on the front" not in lines[1] + lines[3] and "0.25" in lines[3], lines

"""Searches that start from an earlier sweep: refine, warm_start."""
import math

import pytest

from harness import CONFLICT, INVALID_PARAMS, NOT_FOUND, driven, trained
from search_model import check_point, key, loss, run_out, searched, suggestion

PARAMS = {"x": {"min": 0.0, "max": 1.0}, "n": {"min": 1, "max": 9},
          "lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1.0},
          "opt": {"values": ["a", "b", "c"]}, "c": {"value": 2}}


def value(p):
    return (p["x"] - 0.4) ** 2 + (math.log10(p["lr"]) + 2) ** 2 + (p["opt"] != "b") + p["n"] / 9


def earlier(client, **more):
    """A sweep that was run to its end."""
    sweep = client.submit(driven(parameters=PARAMS, run_cap=30, **more))
    run_out(client, sweep, value)
    return sweep


def refined(of, **more):
    return {"name": "fine", "seed": 1, "refine": {"of": of, **more}}


def best(client, sweep, n):
    rows = sorted(client.trials(sweep), key=lambda row: row["value"])
    return [row["params"] for row in rows[:n]]


# --- refine ---

def test_refine_makes_a_grid_that_spans_the_best(client):
    old = earlier(client)
    top = best(client, old, 3)
    sweep = client.submit(refined(old, top=3, points=4))
    got = client.sweep(sweep)
    assert got["method"] == "grid" and got["metric"] == "loss"
    points = run_out(client, sweep, value)
    for name in ("x", "lr", "n"):
        have = [p[name] for p in points]
        assert min(have) <= min(p[name] for p in top) and max(p[name] for p in top) <= max(have)
        assert len(set(have)) <= 4
    assert {p["opt"] for p in points} == {p["opt"] for p in top}
    assert all(p["c"] == 2 and isinstance(p["n"], int) for p in points)
    assert min(value(p) for p in points) <= min(value(p) for p in top)
    assert len({key(p) for p in points}) == len(points)


def test_refine_of_one_point_is_that_point(client):
    old = earlier(client)
    sweep = client.submit(refined(old, top=1, points=1))
    assert run_out(client, sweep, value) == best(client, old, 1)


def test_refine_keeps_conditions_groups_and_constraints(client):
    old = client.submit(searched("bayes"))
    run_out(client, old)
    sweep = client.submit(refined(old, top=4, points=2))
    points = run_out(client, sweep)
    assert points
    for point in points:
        check_point(point)


def test_refine_leaves_out_what_none_of_the_best_had(client):
    """With the group, the values that a condition names, and the constraints on what is gone."""
    for opt, layers in (("sgd", 1), ("adamw", 1), ("sgd", 3), ("adamw", 2)):
        old = client.submit(searched("random", init=[{"opt": opt, "layers": layers}]))
        t, = client.ask(old)
        client.tell(old, t, metrics={"loss": 0})
        points = run_out(client, client.submit(refined(old, top=1, points=2)))
        for point in points:
            check_point(point)
        assert {(p["opt"], p["layers"]) for p in points} == {(opt, layers)}


def test_refine_of_what_has_no_end_stays_near_the_best(client):
    """A best trial three deviations out is no reason to go to seven."""
    for kind, low, high in (
            ({"distribution": "normal", "mu": 10, "sigma": 2}, 8.0, 16.0),
            ({"distribution": "q_normal", "mu": 10, "sigma": 2, "q": 0.5}, 8.0, 16.0),
            ({"distribution": "log_normal", "mu": 2, "sigma": 0.5}, math.exp(1.5), math.exp(3.5)),
            ({"distribution": "q_log_normal", "mu": 2, "sigma": 0.5, "q": 0.25}, 4.5, 33.0)):
        sigma, logs = kind["sigma"], "log" in kind["distribution"]
        old = client.submit(driven(parameters={"x": kind}, init=[{"x": low}, {"x": high}]))
        for t in client.ask(old, 2):
            client.tell(old, t, metrics={"loss": 0})
        have = sorted(p["x"] for p in run_out(client, client.submit(refined(old, points=5)), lambda p: 0))
        scale = math.log if logs else float
        half, q = 2 * sigma / 5, kind.get("q", 0)
        assert len(have) == 5, (kind, have)
        for got, want in ((have[0], scale(low) - half), (have[-1], scale(high) + half)):
            if logs:
                want = math.exp(want)
            assert abs(got - want) <= q / 2 + 1e-9 * want, (kind, have, want)


def test_refine_takes_a_method_and_a_cap_of_its_own(client):
    old = earlier(client)
    sweep = client.submit({**refined(old), "method": "bayes", "run_cap": 5})
    assert client.sweep(sweep)["method"] == "bayes"
    assert len(run_out(client, sweep, value)) == 5


def test_refined_sweep_survives_a_restart(start):
    daemon = start()
    client = daemon.client()
    sweep = client.submit(refined(earlier(client), points=3))
    first = [key(t["params"]) for t in client.ask(sweep, 3)]
    daemon.kill9()
    client = daemon.start().client()
    rest = [key(p) for p in run_out(client, sweep, value)]
    assert not set(first) & set(rest)


def test_wrong_refine_is_refused(client):
    earlier(client)
    for refine, code, pointer in (
            ({"of": 9}, NOT_FOUND, "/of"), ({}, INVALID_PARAMS, "/of"), ({"of": 1, "top": 0}, INVALID_PARAMS, "/top"),
            ({"of": 1, "points": 1.5}, INVALID_PARAMS, "/points"), ({"of": 1, "tops": 1}, INVALID_PARAMS, "/tops"),
            (12, INVALID_PARAMS, "")):
        error = client.refused("sweep.submit", spec={"name": "fine", "refine": refine})
        assert (error.code, error.pointer) == (code, "/spec/refine" + pointer), refine


def test_refine_of_a_sweep_without_a_value_is_refused(client):
    old = client.submit(driven())
    error = client.refused("sweep.submit", spec=refined(old))
    assert error.code == CONFLICT and error.pointer == "/spec/refine/of"


# --- warm_start ---

@pytest.mark.parametrize("method", ["bayes", "tpe"])
def test_warm_start_learns_from_earlier_trials_at_once(client, method):
    old = earlier(client)
    spec = driven(method=method, parameters=PARAMS, run_cap=6, suggest_wait_ms=60000)
    sweep = client.submit({**spec, "warm_start": [old]})
    points = run_out(client, sweep, value)
    how = suggestion(client, sweep, 1)
    assert how["source"] in ("gp", "tpe"), how
    cold = client.submit(spec)
    run_out(client, cold, value)
    assert suggestion(client, cold, 1)["source"] in ("centre", "sobol", "random")
    mean = sum(value(p) for p in points) / len(points)
    rows = client.trials(old)
    assert mean < sum(row["value"] for row in rows) / len(rows), "no better than the first sweep"


@pytest.mark.parametrize("method", ["bayes", "tpe"])
def test_warm_start_survives_restarts(start, method):
    def life(kills):
        daemon = start()
        client = daemon.client()
        old = client.submit(searched("random"))
        run_out(client, old)
        sweep = client.submit(searched(method, warm_start=[old], run_cap=10))
        points = []
        for turn in range(10):
            if turn in kills:
                daemon.kill9()
                client = daemon.start().client()
            t, = client.ask(sweep)
            check_point(t["params"])
            points.append(key(t["params"]))
            client.tell(sweep, t, metrics={"loss": loss(t["params"])})
        return points

    assert life((0, 1, 5)) == life(())


def test_warm_start_leaves_out_what_lies_outside_and_says_so(client):
    old = earlier(client)
    inside = sum(row["params"]["x"] <= 0.5 for row in client.trials(old))
    spec = driven(method="bayes", parameters={**PARAMS, "x": {"min": 0.0, "max": 0.5}},
                  warm_start=[old])
    warnings = client.call("sweep.submit", spec=spec)["warnings"]
    assert any(f"{30 - inside} trials lie outside" in line for line in warnings), warnings


def test_wrong_warm_start_is_refused_and_names_what_is_wrong(client):
    earlier(client)
    client.submit(driven(parameters=PARAMS))
    for more, words, pointer in (
            ({"warm_start": [1], "parameters": {**PARAMS, "depth": {"min": 1, "max": 3}}}, "\"depth\"", "/0"),
            ({"warm_start": [1, 7]}, "no sweep 7", "/1"), ({"warm_start": [1, 1]}, "twice", "/1"),
            ({"warm_start": []}, "array", ""), ({"warm_start": ["1"]}, "number", "/0"),
            ({"warm_start": [1], "metric": {"name": "loss", "goal": "maximize"}}, "minimize", "/0"),
            ({"warm_start": [1], "metric": {"name": "accuracy"}}, "\"loss\"", "/0"),
            ({"warm_start": [1], "method": "random"}, "bayes", ""),
            ({"warm_start": [2]}, "no completed trial", "/0"),
            ({"warm_start": [1], "parameters": {**PARAMS, "x": {"min": 2.0, "max": 3.0}}}, "no completed trial", "/0")):
        error = client.refused("sweep.submit", spec=driven(**{"method": "bayes", "parameters": PARAMS, **more}))
        assert error.pointer == "/spec/warm_start" + pointer and words in error.message, (more, error)


def test_refine_of_a_sweep_with_a_trainer_has_its_trainer(client):
    old = client.submit(trained())
    error = client.refused("sweep.submit", spec=refined(old))
    assert "no trial" in error.message

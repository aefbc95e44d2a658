"""Searches that start from an earlier sweep: refine, warm_start."""
import math

import pytest

from harness import CONFLICT, INVALID_PARAMS, NOT_FOUND, driven, trained
from search_model import check_point, run_out, searched, suggestion

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

def test_refine_has_the_ranges_that_the_best_span(client):
    old = earlier(client)
    top = best(client, old, 4)
    sweep = client.submit({**refined(old, top=4), "run_cap": 12})
    got = client.sweep(sweep)
    assert (got["method"], got["metric"]) == ("bayes", "loss")
    span = {name: {"min": min(p[name] for p in top), "max": max(p[name] for p in top)} for name in ("x", "lr", "n")}
    assert got["spec"]["parameters"] == {
        "x": {"distribution": "uniform", **span["x"]}, "n": {"distribution": "int_uniform", **span["n"]},
        "lr": {"distribution": "log_uniform_values", **span["lr"]}, "opt": PARAMS["opt"], "c": {"value": 2}}
    for p in run_out(client, sweep, value):
        assert all(span[name]["min"] <= p[name] <= span[name]["max"] for name in span)


def test_refine_of_the_best_alone_is_its_values(client):
    old = earlier(client)
    sweep = client.submit({**refined(old, top=1), "run_cap": 3})
    one, = best(client, old, 1)
    for p in run_out(client, sweep, value):
        assert {**p, "opt": one["opt"]} == one


KINDS = {"q": {"distribution": "q_uniform", "min": 0, "max": 5, "q": 0.25},
         "qlog": {"distribution": "q_log_uniform_values", "min": 4, "max": 64, "q": 4},
         "inverse": {"distribution": "inv_log_uniform_values", "min": 0.1, "max": 2.0},
         "ints": {"distribution": "int_log_uniform", "min": 1, "max": 100}, "pow2": {"distribution": "pow2", "min": 2, "max": 64},
         "exponents": {"distribution": "log_uniform", "min": -5, "max": 0}, "step": {"min": 2, "max": 20, "q": 2}}


def test_refine_of_each_kind_of_range_is_one(client):
    old = client.submit(driven(parameters={**KINDS, "endless": {"distribution": "normal", "mu": 1, "sigma": 2}}, run_cap=20))
    run_out(client, old, lambda p: p["q"])
    top = best(client, old, 10)
    sweep = client.submit({**refined(old), "method": "random", "run_cap": 20})
    assert client.sweep(sweep)["spec"]["parameters"]["endless"]["distribution"] == "normal"
    for p in run_out(client, sweep, lambda p: 0):
        for name in KINDS:
            have = [one[name] for one in top]
            assert min(have) <= p[name] <= max(have) and isinstance(p[name], type(have[0])), name


def test_refine_keeps_conditions_groups_and_constraints(client):
    for init in ([], [{"opt": "sgd", "layers": 1}], [{"opt": "adamw", "layers": 2}]):
        old = client.submit(searched("bayes", init=init))
        run_out(client, old) if not init else [client.tell(old, t, metrics={"loss": 0}) for t in client.ask(old)]
        points = run_out(client, client.submit({**refined(old, top=4), "run_cap": 12}))
        assert points
        for point in points:
            check_point(point)


def test_refine_takes_a_method_of_its_own(client):
    sweep = client.submit({**refined(earlier(client)), "method": "tpe", "run_cap": 5, "warm_start": [1]})
    assert client.sweep(sweep)["method"] == "tpe"
    assert len(run_out(client, sweep, value)) == 5


def test_wrong_refine_is_refused(client):
    earlier(client)
    for refine, code, pointer in (
            ({"of": 9}, NOT_FOUND, "/of"), ({}, INVALID_PARAMS, "/of"), ({"of": 1, "top": 0}, INVALID_PARAMS, "/top"),
            ({"of": 1, "top": 1.5}, INVALID_PARAMS, "/top"), ({"of": 1, "tops": 1}, INVALID_PARAMS, "/tops"),
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

"""Bad input: one clear line, a pointer to the field at fault, and a daemon that lives on."""
import json

import pytest

from harness import INVALID_PARAMS, PARSE_ERROR, asha, driven, trained, wait_until

PARAM = {"min": 0.0, "max": 1.0}


def with_param(**param):
    return driven(parameters={"x": param})


def text_of(spec):
    return ('{"jsonrpc":"2.0","id":1,"method":"sweep.submit","params":{"spec":'
            + json.dumps(spec) + "}}")


@pytest.mark.parametrize("line, words", [
    ("this is not JSON", ""),
    (text_of(driven()).replace('"run_cap": 20', '"run_cap": 1e999'), "finite"),
    (text_of(driven()).replace('"run_cap": 20', '"run_cap": 20, "run_cap": 21'), "run_cap"),
    (text_of(driven(name=0)).replace('"name": 0', '"name": ' + "[" * 1000 + "]" * 1000), "deeper"),
    (text_of(driven(name="n" * (2 << 20))), "1"),
], ids=["not JSON", "1e999", "duplicate key", "depth 1000", "2 MiB line"])
def test_line_that_cannot_be_read_is_refused_with_one_line(client, line, words):
    reply = client.raw(line.encode() + b"\n")
    error = reply["error"]
    assert reply["id"] is None and error["message"] and "\n" not in error["message"]
    assert error["code"] == (PARSE_ERROR if len(line) < 1 << 20 else error["code"])
    assert words.lower() in (error["message"] + str(error.get("data"))).lower()
    assert len(error["message"]) < 400
    assert client.call("sweep.list")["sweeps"] == []
    assert client.submit(driven()) == 1


# What is wrong, where (inside the spec), and words that the line must hold.
SPECS = {
    "unknown key": (driven(run_capp=3), "/run_capp", ["run_capp", "run_cap"]),
    "unknown parameter key": (with_param(mn=0, max=1), "/parameters/x/mn", ["mn", "min"]),
    "unknown key of early_terminate": (
        driven(early_terminate=asha(grace=1)), "/early_terminate/grace", ["grace"]),
    "unknown key of metric": (
        driven(metric={"name": "loss", "gaol": "minimize"}), "/metric/gaol", ["goal"]),
    "unknown method": (driven(method="randm"), "/method", ["randm", "random"]),
    "no metric": (driven(metric=None, method="bayes"), "/metric", ["metric"]),
    "no parameters": (driven(parameters=None), "/parameters", ["parameters"]),
    "empty parameters": (driven(parameters={}), "/parameters", []),
    "unknown goal": (
        driven(metric={"name": "loss", "goal": "minimise"}), "/metric/goal", ["minimize"]),
    "unknown distribution": (
        with_param(distribution="log_unifrm_values", min=1, max=2),
        "/parameters/x/distribution", ["log_uniform_values"]),
    "min above max": (with_param(min=2.0, max=1.0), "/parameters/x/m", ["max"]),
    "log range from 0": (
        with_param(distribution="log_uniform_values", min=0, max=1), "/parameters/x/min", ["0"]),
    "log range below 0": (
        with_param(distribution="log_uniform_values", min=-1, max=1), "/parameters/x/min", []),
    "empty values": (with_param(values=[]), "/parameters/x/values", []),
    "pow2 bound that is none": (
        with_param(distribution="pow2", min=3, max=16), "/parameters/x/min", ["power of two"]),
    "q of 0": (
        with_param(distribution="q_uniform", min=0, max=1, q=0), "/parameters/x/q", []),
    "sigma of 0": (
        with_param(distribution="normal", mu=0, sigma=0), "/parameters/x/sigma", []),
    "probabilities of another length": (
        with_param(values=[1, 2], probabilities=[1]), "/parameters/x/probabilities", []),
    "min of a wrong type": (with_param(min="0", max=1), "/parameters/x/min", ["number"]),
    "integers that a double rounds": (
        with_param(min=-2**60, max=2**60), "/parameters/x/min", ["below 2^53"]),
    "refine beside parameters": (
        driven(refine={"of": 1}), "/refine", ["not both"]),
    "refine beside parameters, without a method": (
        driven(method=None, refine={"of": 1}), "/refine", ["not both"]),
    "grid over a continuous parameter": (
        driven(method="grid", parameters={"a": {"values": [1]}, "x": PARAM}),
        "/parameters/x", ["q"]),
    "run_cap 0": (driven(run_cap=0), "/run_cap", []),
    "run_cap negative": (driven(run_cap=-3), "/run_cap", []),
    "run_cap not whole": (driven(run_cap=1.5), "/run_cap", []),
    "max_t below grace": (
        driven(early_terminate=asha(max_t=2, grace_period=3)), "/early_terminate/", []),
    "reduction factor 1": (
        driven(early_terminate=asha(reduction_factor=1)), "/early_terminate/reduction_factor", []),
    "unknown pruner": (
        driven(early_terminate={"type": "ashaa"}), "/early_terminate/type", ["asha"]),
    "population without a size": (
        driven(run_cap=None, early_terminate={"type": "pbt", "perturbation_interval": 2}),
        "/early_terminate", ["run_cap"]),
    "key of another pruner": (
        driven(early_terminate=asha(strict=True)), "/early_terminate/strict", ["hyperband"]),
    "target of a wrong type": (
        driven(metric={"name": "loss", "target": "0.1"}), "/metric/target", ["number"]),
    "budget of no time": (driven(time_budget_s=0), "/time_budget_s", ["above 0"]),
    "plateau of one trial": (driven(plateau={"top": 1}), "/plateau/top", ["2"]),
    "seed negative": (driven(seed=-1), "/seed", []),
    "name of a wrong type": (driven(name=5), "/name", ["string"]),
    "spec of a wrong type": ([], "", ["object"]),
    "layer that refers to an unknown parameter": (
        trained(layers=[{"linear": "widht"}, {"linear": 3}]),
        "/trainer/model/0", ["widht", "width"]),
    "unknown layer": (trained(layers=["rel", {"linear": 3}]), "/trainer/model/0", ["relu"]),
    "data file that is missing": (
        trained(dataset={"format": "csv", "path": "no/such.csv", "label": "class",
                         "header": True}), "/trainer/dataset/path", ["no/such.csv"]),
    "data set that is unknown": (
        trained(dataset={"name": "wiine"}), "/trainer/dataset/name", ["wiine"]),
}
@pytest.mark.parametrize("case", SPECS)
@pytest.mark.parametrize("method", ["sweep.submit", "sweep.validate"])
def test_spec_that_makes_no_sense_is_refused_with_its_pointer(client, case, method):
    spec, pointer, words = SPECS[case]
    error = client.refused(method, spec=spec)
    assert error.code == INVALID_PARAMS, error
    assert error.pointer.startswith("/spec" + pointer), error
    for word in words:
        assert word in error.message, error
    assert client.call("sweep.list")["sweeps"] == []
    assert client.submit(driven()) == 1


@pytest.mark.parametrize("rows, words", [
    ("a,b,class\n1,2,0\n1,0\n3,4,1\n", ["3"]),
    ("a,b,class\n1,2,0\n1,2,3,4\n", ["3"]),
    ("a,b,class\n1,x,0\n2,3,1\n", ["2"]),
    ("a,b,class\n1,nan,0\n2,3,1\n", ["2"]),
    ("a,b,class\n", []),
    ("", []),
    ("a,b,c\n1,2,0\n2,3,1\n", ["class"]),
], ids=["short row", "long row", "word for a number", "nan", "no rows", "empty", "no such label"])
def test_data_that_is_ragged_is_refused_by_its_line(client, tmp_path, rows, words):
    path = tmp_path / "bad.csv"
    path.write_text(rows)
    spec = trained(dataset={"format": "csv", "path": str(path), "label": "class", "header": True})
    for method in ("sweep.submit", "sweep.validate"):
        error = client.refused(method, spec=spec)
        assert error.code == INVALID_PARAMS
        assert error.pointer.startswith("/spec/trainer/dataset"), error
        for word in words:
            assert word in error.message, error
    assert client.call("sweep.list")["sweeps"] == []


def test_data_that_goes_away_after_the_submission_fails_the_sweep_and_says_so(start, tmp_path):
    client = start("cpu:1").client()
    path = tmp_path / "gone.csv"
    path.write_text("a,b,class\n" + "1,2,0\n2,1,1\n" * 50)
    spec = trained(dataset={"format": "csv", "path": str(path), "label": "class", "header": True},
                   layers=[{"linear": "width"}, "relu", {"linear": 2}], run_cap=3)
    client.call("sweep.validate", spec=spec)
    blocker = client.submit(trained(epochs=100000, run_cap=1))
    wait_until(lambda: client.slots()[0]["state"] == "BUSY", "a busy slot")
    sweep = client.submit(spec)
    path.unlink()
    client.call("sweep.cancel", sweep=blocker)
    got = client.wait_sweep(sweep)
    assert got["state"] == "FAILED" and "gone.csv" in got["cause"]


def test_metric_that_the_trainer_never_reports_fails_the_sweep_at_its_first_report(start):
    client = start("cpu:2").client()
    sweep = client.submit(trained(epochs=100000, run_cap=50,
                                  metric={"name": "val_lss", "goal": "minimize"}))
    got = client.wait_sweep(sweep)
    assert got["state"] == "FAILED"
    for word in ("val_lss", "val_loss", "val_accuracy", "train_loss"):
        assert word in got["cause"], got["cause"]
    assert len(client.trials(sweep)) <= 4
    wait_until(lambda: all(s["state"] == "IDLE" for s in client.slots()), "free slots")


def test_every_key_wrong_by_one_letter_is_answered_with_the_right_one(client):
    for key in ("method", "metric", "parameters", "run_cap", "seed", "early_terminate", "lease_s",
                "max_concurrent", "retries"):
        wrong = key[:-1] + ("x" if key[-1] != "x" else "y")
        error = client.refused("sweep.submit", spec={**driven(), wrong: 1})
        assert key in error.message and error.pointer == f"/spec/{wrong}", error


def test_deep_but_allowed_value_is_taken(client):
    value = "v"
    for _ in range(20):
        value = [value]
    sweep = client.submit(driven(parameters={"x": {"value": value}}))
    t, = client.ask(sweep)
    assert t["params"] == {"x": value}

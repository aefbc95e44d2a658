"""Bad input: one clear line, a pointer to the field at fault, and a daemon that lives on."""
import json

import pytest

from harness import INVALID_PARAMS, PARSE_ERROR, asha, driven, trained


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


# What is wrong, where (inside the spec), and words that the line must hold: one of each reader of
# the spec. All that tests/spec has is refused alike.
SPECS = {
    "unknown key": (driven(run_capp=3), "/run_capp", ["run_capp", "run_cap"]),
    "unknown key of metric": (
        driven(metric={"name": "loss", "gaol": "minimize"}), "/metric/gaol", ["goal"]),
    "min above max": (with_param(min=2.0, max=1.0), "/parameters/x/m", ["max"]),
    "key of another pruner": (
        driven(early_terminate=asha(strict=True)), "/early_terminate/strict", ["hyperband"]),
    "refine beside parameters": (driven(refine={"of": 1}), "/refine", ["not both"]),
    "layer that refers to an unknown parameter": (
        trained(layers=[{"linear": "widht"}, {"linear": 3}]),
        "/trainer/model/0", ["widht", "width"]),
    "data file that is missing": (
        trained(dataset={"format": "csv", "path": "no/such.csv", "label": "class",
                         "header": True}), "/trainer/dataset/path", ["no/such.csv"]),
}


def test_spec_that_makes_no_sense_is_refused_with_its_pointer(client):
    for case, (spec, pointer, words) in SPECS.items():
        for method in ("sweep.submit", "sweep.validate"):
            error = client.refused(method, spec=spec)
            assert error.code == INVALID_PARAMS, (case, error)
            assert error.pointer.startswith("/spec" + pointer), (case, error)
            assert all(word in error.message for word in words), (case, error)
    assert client.call("sweep.list")["sweeps"] == []
    assert client.submit(driven()) == 1


def test_deep_but_allowed_value_is_taken(client):
    value = "v"
    for _ in range(20):
        value = [value]
    sweep = client.submit(driven(parameters={"x": {"value": value}}))
    t, = client.ask(sweep)
    assert t["params"] == {"x": value}

"""Bad input: one clear line, a pointer to the field at fault, and a daemon that lives on."""
import json

import pytest

from harness import INVALID_PARAMS, PARSE_ERROR, asha, driven, trained, wait_until

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
    "transport that stored sweeps may still have": (
        trained(parallel={"data": 2, "transport": "tcp"}, resources={"cpu_slots": 2}),
        "/parallel/transport", ["leave it out"]),
    "data file that is missing": (
        trained(dataset={"format": "csv", "path": "no/such.csv", "label": "class",
                         "header": True}), "/trainer/dataset/path", ["no/such.csv"]),
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


def test_deep_but_allowed_value_is_taken(client):
    value = "v"
    for _ in range(20):
        value = [value]
    sweep = client.submit(driven(parameters={"x": {"value": value}}))
    t, = client.ask(sweep)
    assert t["params"] == {"x": value}

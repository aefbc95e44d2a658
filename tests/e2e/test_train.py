"""Sweeps that the built-in workers train: repeatability, what they report, examples."""
import csv
import io
import json

import pytest

from harness import RpcError, asha, example, sweep_command, trained

pytestmark = pytest.mark.slots("cpu:2")


TIMES = {"seconds", "samples_per_s", "time_ms", "created_ms", "ended_ms"}


def without_times(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


def test_same_seed_on_one_slot_twice_gives_the_same_bytes(start):
    spec = trained(epochs=9, run_cap=12, early_terminate=asha(max_t=9), dataset={"name": "digits"},
                   layers=[{"linear": "width"}, "relu", {"dropout": 0.1}, {"linear": 10}])
    got = []
    for _ in range(2):
        daemon = start("cpu:1")
        client = daemon.client()
        client.wait_sweep(client.submit(spec))
        status, text, err = sweep_command(daemon, "trials", 1, "--csv")
        assert status == 0, err
        reports = [[(r["attempt"], r["seq"], r["step"], r["decision"],
                     {k: v for k, v in r["metrics"].items() if k not in TIMES})
                    for r in client.reports(1, t["trial"])] for t in client.trials(1)]
        got.append((without_times(text), reports))
        assert daemon.term() == 0
    assert got[0] == got[1]
    states = [row["state"] for row in got[0][0]]
    assert len(states) == 12 and "PRUNED" in states and "COMPLETED" in states


def test_parameter_names_the_activation_of_a_layer(client):
    net = [{"linear": 8}, {"activation": "act"}, {"linear": 3}]
    acts, fixed = ["relu", "tanh", "gelu", "silu", "sigmoid"], {"lr": {"value": 0.05}, "batch_size": {"value": 16}}
    space = {**fixed, "act": {"values": acts}}
    spec = {**trained(epochs=2, layers=net), "parameters": space, "method": "grid", "run_cap": 5}
    sweep = client.run(spec)
    got = {t["params"]["act"]: t["metrics"]["val_loss"] for t in client.trials(sweep)}
    assert sorted(got) == sorted(acts) and len(set(got.values())) == 5
    spec["parameters"]["act"]["values"] = ["relu", "softsign"]
    with pytest.raises(RpcError, match='"act" feeds "activation", which must be "relu", "tanh", '):
        client.call("sweep.validate", spec=spec)


def test_example_runs_to_its_end(client):
    sweep = client.submit(example("wine"))
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED" and got["counts"]["COMPLETED"] == 18
    assert got["best"]["metrics"]["val_accuracy"] > 0.9


# What examples/README.md says of them, from one trial that learns fast: (epochs, values of parameters, the least, of
# the metric). resnet18 is the net of resnet18-2ranks on one slot.
LEARNED = {
    "digits-cnn": (12, {}, 0.985, "val_accuracy"),
    "lenet-cifar": (2, {}, 0.8, "val_accuracy"),
    "resnet18-2ranks": (1, {"lr": 0.05}, 0.8, "val_accuracy"),
    "transformer": (4, {"lr": 0.005, "layers": 1, "drop": 0}, 0.95, "val_accuracy"),
    "transformer-pipeline": (5, {"lr": 0.005, "layers": 1}, 0.95, "val_accuracy"),
    "regression": (60, {}, 0.4, "val_r2"),
}


@pytest.mark.once("what is learned is seen in release: minutes with sanitizers")
@pytest.mark.long
@pytest.mark.parametrize("name", LEARNED)
def test_example_learns(daemon, client, name):
    epochs, values, least, metric = LEARNED[name]
    spec = example(name)
    spec.pop("early_terminate", None)
    spec["run_cap"], spec["trainer"]["epochs"] = 1, epochs
    spec["parameters"].update({key: {"value": value} for key, value in values.items()})
    sweep = client.submit(spec)
    client.wait_sweep(sweep, timeout=400)  # some seconds of two idle cores
    trial, = client.trials(sweep)
    assert trial["state"] == "COMPLETED" and trial["metrics"][metric] >= least, trial
    if "preset" in spec["trainer"]["model"]:
        status, text, _ = sweep_command(daemon, "show", sweep, "--spec")
        shown = text.partition(f"layers of {spec['trainer']['model']['preset']}\n")[2]
        assert status == 0, text
        assert name != "lenet-cifar" or {"linear": "l1"} in json.loads(shown)
        assert len(json.loads(shown)) > 5

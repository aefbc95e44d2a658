"""Data sets of every format: whole ones train, damaged ones are refused with one line that says which
file, where and what; a worker that meets one fails the trial with that line, and nothing else."""
import json

import pytest

from data_files import DAMAGE, FORMATS
from harness import INVALID_PARAMS, trained, wait_until


def write(folder, files):
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def spec_of(kind, folder, **more):
    _, dataset, layers = FORMATS[kind]
    dataset = json.loads(json.dumps(dataset).replace("@", str(folder)))
    if "width" not in json.dumps(layers):
        more["parameters"] = {"lr": {"values": [0.1, 0.01]}}
    return trained(dataset=dataset, layers=layers, epochs=2, run_cap=2, **more)


def damage(folder, kind, name, change):
    """The files of a format, whole but for one."""
    write(folder, FORMATS[kind][0]())
    (folder / name).write_bytes(change((folder / name).read_bytes()))


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_files_train_and_a_damaged_one_is_refused_or_fails_trials_with_its_line(start, tmp_path, kind):
    """Which damage has which line: tests/trainer/data. The worker that finds it lives on."""
    client = start("cpu:1").client()
    folder = tmp_path / "data"
    name, change, word = DAMAGE[kind]
    damage(folder, kind, name, change)
    error = client.refused("sweep.submit", spec=spec_of(kind, folder))
    assert error.code == INVALID_PARAMS and error.pointer.startswith("/spec/trainer/dataset/"), error
    assert name in error.message and word in error.message and len(error.message) < 320, error
    assert client.call("sweep.list")["sweeps"] == []
    blocker = client.submit(trained(epochs=100000, run_cap=1))
    wait_until(lambda: client.slots()[0].get("sweep") == blocker, "a busy slot")
    pid = client.slots()[0]["pid"]
    write(folder, FORMATS[kind][0]())
    sweep = client.submit(spec_of(kind, folder))
    damage(folder, kind, name, change)
    client.call("sweep.cancel", sweep=blocker)
    got = client.wait_sweep(sweep)
    trial = client.trials(sweep)[0]
    assert got["state"] == "FAILED" and trial["state"] == "FAILED", (got, trial)
    for text in (got["cause"], trial["cause"]):
        assert name in text and word in text and "\n" not in text, text
    assert "/trainer/dataset/" in trial["cause"], trial
    write(folder, FORMATS[kind][0]())
    whole = client.run(spec_of(kind, folder), "COMPLETED")
    assert [t["state"] for t in client.trials(whole)] == ["COMPLETED"] * 2 and len(client.reports(whole, 1)) == 2
    wait_until(lambda: client.slots()[0]["state"] == "IDLE", "a free slot")
    assert client.slots()[0]["pid"] == pid


LEARNED = {  # images and tokens in their order are those of examples, in test_train.py
    "features": ({"format": "synthetic", "features": 32, "rows": 3000},
                 [{"linear": 32}, "relu", {"linear": 10}], {"momentum": 0.9}, 0.5),
    # half of the tokens are noise: 0.5 and what it hits by chance is all that can be known
    "next token": ({"format": "synthetic", "tokens": 16, "rows": 1000, "vocab": 32, "next_token": True},
                   [{"embedding": {"vocab": 32, "dim": 32}}, {"linear": 32}], {"optimizer": "adamw"}, 0.48),
}


@pytest.mark.parametrize("kind", LEARNED)
def test_what_is_generated_is_learned(start, kind):
    dataset, layers, options, least = LEARNED[kind]
    spec = trained(dataset=dataset, layers=layers, run_cap=1,
                   parameters={"lr": {"value": 0.01}, "batch_size": {"value": 16}})
    spec["trainer"].update(options)
    client = start("cpu:1").client()
    sweep = client.run(spec, "COMPLETED")
    accuracy = [r["metrics"]["val_accuracy"] for r in client.reports(sweep, 1)]
    assert accuracy[-1] > least, accuracy

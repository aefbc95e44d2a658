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
    if change is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(change((folder / name).read_bytes()))


def test_every_format_has_ten_damaged_files():
    assert set(DAMAGE) == set(FORMATS)
    assert all(len(cases) >= 10 for cases in DAMAGE.values())


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_files_train(start, tmp_path, kind):
    write(tmp_path / "data", FORMATS[kind][0]())
    client = start("cpu:1").client()
    sweep = client.submit(spec_of(kind, tmp_path / "data"))
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    trials = client.trials(sweep)
    assert [t["state"] for t in trials] == ["COMPLETED", "COMPLETED"], trials
    assert len(client.reports(sweep, 1)) == 2


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_are_refused_on_submission_with_one_line_each(client, tmp_path, kind):
    folder = tmp_path / "data"
    lines = set()
    for name, change, words in DAMAGE[kind]:
        damage(folder, kind, name, change)
        error = client.refused("sweep.submit", spec=spec_of(kind, folder))
        assert error.code == INVALID_PARAMS, error
        assert error.pointer.startswith("/spec/trainer/dataset/"), (error.pointer, error)
        assert name in error.message and len(error.message) < 320, error
        for word in words:
            assert word in error.message, (word, error.message)
        lines.add(error.message)
    assert len(lines) == len(DAMAGE[kind])  # no two kinds of damage have the same line
    assert client.call("sweep.list")["sweeps"] == []
    write(folder, FORMATS[kind][0]())
    client.call("sweep.validate", spec=spec_of(kind, folder))


@pytest.mark.parametrize("kind", FORMATS)
def test_files_damaged_after_the_submission_fail_trials_with_the_line(start, tmp_path, kind):
    """The worker that finds the damage lives on: one process runs all of these sweeps."""
    daemon = start("cpu:1")
    client = daemon.client()
    folder = tmp_path / "data"
    pid = None
    for name, change, words in DAMAGE[kind]:
        blocker = client.submit(trained(epochs=100000, run_cap=1))
        wait_until(lambda b=blocker: client.slots()[0].get("sweep") == b, "a busy slot")
        slot = client.slots()[0]
        assert pid in (None, slot["pid"]), "the worker was started again"
        pid = slot["pid"]
        write(folder, FORMATS[kind][0]())
        sweep = client.submit(spec_of(kind, folder))
        damage(folder, kind, name, change)
        client.call("sweep.cancel", sweep=blocker)
        got = client.wait_sweep(sweep)
        trial = client.trials(sweep)[0]
        assert got["state"] == "FAILED" and trial["state"] == "FAILED", (got, trial)
        for text in (got["cause"], trial["cause"]):
            assert name in text and "\n" not in text, text
        assert "/trainer/dataset/" in trial["cause"], trial
        for word in words:
            assert word in trial["cause"], (word, trial["cause"])
    write(folder, FORMATS[kind][0]())
    assert client.wait_sweep(client.submit(spec_of(kind, folder)))["state"] == "COMPLETED"
    wait_until(lambda: client.slots()[0]["state"] == "IDLE", "a free slot")
    assert client.slots()[0]["pid"] == pid

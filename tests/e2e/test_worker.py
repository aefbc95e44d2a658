"""A worker as the daemon sees it: alive or hung, the one that was started or another; what it may have."""
import os
import signal
import sqlite3
import stat

import pytest

from harness import BIN, DENIED, trained, wait_until


# --- silence ---

@pytest.mark.once("with a sanitizer one operation takes longer than this limit")
def test_worker_whose_epochs_are_long_is_let_be(start):
    """The making of its data, and then an epoch, each of more than the limit. Both are far longer: it is
    looked at when the trial has run for some limits, however fast the machine."""
    daemon = start("cpu:1", SWEEPD_SILENT_MS="1000")
    client = daemon.client()
    sweep = client.submit(trained(
        epochs=1, run_cap=1, dataset={"format": "synthetic", "features": 1000, "rows": 30000},
        layers=[{"linear": 4000}, "relu", {"linear": 4000}, "relu", {"linear": 10}],
        parameters={"lr": {"value": 0.01}, "batch_size": {"value": 10}}))
    slot = wait_until(lambda: (s := client.slots()[0])["state"] == "BUSY" and s["seconds"] > 8 and s,
                      "a trial that has run for eight limits")
    assert slot["attempt"] == 1 and slot["starts"] == 1
    client.call("sweep.cancel", sweep=sweep)
    os.kill(slot["pid"], signal.SIGKILL)  # nobody waits for the end of its epoch


# --- identity ---

@pytest.mark.slots("cpu:1")
def test_worker_shows_its_id_to_nobody_and_another_cannot_use_it(daemon, client):
    slot, = wait_until(lambda: [s for s in client.slots() if s["state"] == "IDLE"], "an idle slot")
    path = os.path.join(daemon.state, "sweepd.db")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        worker, = db.execute("SELECT worker FROM slot").fetchone()
    with open(f"/proc/{slot['pid']}/cmdline", "rb") as file:
        assert worker.encode() not in file.read()
    assert client.refused("worker.hello", worker=worker, slot=0,
                          version=client.call("daemon.info")["version"]).code == DENIED
    sweep = client.submit(trained(run_cap=1))  # its own link is as it was
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert client.slots()[0]["pid"] == slot["pid"]


def test_check_of_a_spec_sees_as_little_of_the_environment_as_a_worker(start, tmp_path):
    seen, program = tmp_path / "seen", tmp_path / "worker"
    program.write_text(f"#!/bin/sh\nenv >>{seen}\nexec {BIN}/sweep-worker \"$@\"\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    daemon = start("cpu:1", SWEEPD_WORKER=str(program), SECRET_OF_MINE="x", TZ="UTC")
    client = daemon.client()
    client.call("sweep.validate", spec=trained())
    text = seen.read_text()
    assert "TZ=UTC" in text and "SECRET_OF_MINE" not in text


# --- memory ---

def test_data_set_over_the_memory_limit_is_refused_before_it_is_made(start):
    daemon = start("cpu:1", "--cpu-memory", "64M")
    client = daemon.client()
    spec = trained(run_cap=1, dataset={"format": "synthetic", "image": [3, 32, 32], "rows": 60000,
                                       "classes": 10},
                   layers=["flatten", {"linear": 10}],
                   parameters={"lr": {"value": 0.01}, "batch_size": {"value": 16}})
    warnings = client.call("sweep.validate", spec=spec)["warnings"]
    assert any("the data set alone has " in w and "--cpu-memory" in w for w in warnings)
    gpu = start("gpu:0", "--cpu-memory", "64M", SWEEPD_NVML="/nowhere").client()
    assert not any("--cpu-memory" in w for w in gpu.call("sweep.validate", spec=spec)["warnings"])
    sweep = client.run(spec)
    row, = client.trials(sweep)
    assert (row["state"], row["cause"]) == ("INFEASIBLE", "oom")
    slot, = client.slots()
    with open(f"/proc/{slot['pid']}/status", encoding="ascii") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert peak < 150 * 1024  # the set has 184 MB as bytes

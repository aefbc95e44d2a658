"""Pilots: jobs of a cluster that dial back and train, by an executor that is a few lines (pilots.py)."""
import os
import signal

import pytest

from harness import slow, sweep_command, trained, wait_until
from pilots import Bed


@pytest.fixture
def bed(tmp_path, start):
    made = Bed(tmp_path, start)
    yield made
    made.kill_all()


def test_sweep_runs_on_pilots_alone_and_they_go_when_they_are_idle(bed):
    daemon = bed.start(workers=2, more="idle = 1\ntime = 1:00:00\n")
    client = daemon.client()
    sweep = client.submit(trained(run_cap=6))
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED" and got["counts"]["COMPLETED"] == 6
    assert len(bed.jobs()) == 2 and len(bed.calls("submit")) == 1
    assert all(t["attempt"] == 1 for t in client.trials(sweep))
    wait_until(lambda: all(s["state"] == "DOWN" for s in client.slots()), "pilots that went")
    wait_until(lambda: not [n for n in os.listdir(os.path.join(daemon.state, "pilots")) if n.startswith("sweepd-")],
               "keys that went with their jobs")
    assert client.call("device.list")["pilots"]["says"] == "fake 1.0"

"""Slots on GPUs, with stand-ins for NVML and for the CUDA module: no GPU is needed."""
import os
import signal
import subprocess
import sys

import pytest

from gpus import CUDA, LARGE, MIB, NEEDS_FAKES, NVML, SMALL, Machine, Rig, gpus, wait_card, wait_slots
from harness import TRIAL_ENDED, environment, slow, sweep_command, trained, wait_until

pytestmark = NEEDS_FAKES


@pytest.fixture
def machine(tmp_path):
    """machine(devices, *cards) gives a running daemon on a fresh rig; all end with the test."""
    made = []

    def make(devices, *cards, options=(), env=None, **times):
        directory = tmp_path / f"m{len(made)}"
        directory.mkdir()
        made.append(Machine(directory, Rig(directory, *cards, **times), devices, options))
        return made[-1].start(**(env or {}))

    yield make
    failures = []
    for daemon in made:
        daemon.rig.lines.clear()  # nothing hangs at the end
        daemon.rig.write()
        try:
            daemon.stop()
        except AssertionError as error:
            failures.append(str(error))
    assert not failures, "\n".join(failures)


def run_to_end(client, spec):
    sweep = client.submit(spec)
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED", got
    return sweep


def test_sweep_runs_on_a_gpu_that_only_its_worker_sees(machine):
    daemon = machine("gpu:1", SMALL, LARGE)
    client = daemon.client()
    sweep = run_to_end(client, trained(epochs=2, run_cap=3, resources={"gpu": 1}))
    slots = client.slots()
    assert [s["device"] for s in slots] == ["gpu:1"]
    with open(f"/proc/{slots[0]['pid']}/environ", "rb") as file:
        env = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
    assert env[b"CUDA_VISIBLE_DEVICES"].decode() == LARGE["uuid"]
    assert env[b"CUDA_DEVICE_ORDER"] == b"PCI_BUS_ID"
    # it says the name that people know, not the one that it sees
    assert "started on gpu:1:" in sweep_command(daemon, "log", f"{sweep}/1")[1]
    card, = gpus(client)
    assert (card["gpu"], card["name"], card["uuid"]) == (1, "Fake Large", LARGE["uuid"])
    assert (card["memory_total"], card["memory_used"]) == (81920 * MIB, 100 * MIB)
    assert (card["utilisation"], card["temperature"], card["power"]) == (40, 50, 100.0)

"""Machines with GPUs that are not there: a stand-in for NVML (tests/fake/nvml.c) reads its state from a
file, and a stand-in for the CUDA module (tests/fake/cuda.c) computes on the CPU."""
import os

import pytest

from harness import BIN, Daemon, wait_until

FAKES = os.path.join(os.path.dirname(BIN), "tests")
NVML = os.path.join(FAKES, "fake_nvml.so")
CUDA = os.path.join(FAKES, "fake_cuda.so")
MIB = 1 << 20
OWN = 768  # MiB of a GPU that no trial has: a worker's context, and what stays free

NEEDS_FAKES = pytest.mark.skipif(not (os.path.exists(NVML) and os.path.exists(CUDA)),
                                 reason="built without tests: no stand-ins for a GPU")
NCCL = {"LD_LIBRARY_PATH": os.path.join(FAKES, "nccl")}
NEEDS_NCCL = pytest.mark.skipif(not os.path.exists(os.path.join(FAKES, "nccl", "libnccl.so.2")),
                                reason="built without a C++ compiler: no stand-in for NCCL")

SMALL = {"uuid": "GPU-aaaa0000-0000-0000-0000-000000000001", "name": "Fake_Small",
         "bus": "00000000:01:00.0", "total": 8192, "used": 100, "util": 40, "temp": 50, "slow": 90,
         "power": 100000, "limit": 300000, "ecc": 0, "throttle": 0}
LARGE = {**SMALL, "uuid": "GPU-bbbb0000-0000-0000-0000-000000000002", "name": "Fake_Large",
         "bus": "00000000:41:00.0", "total": 81920}


def cards(n, **more):
    """So many, small and large ones in turn, GPU-0 and so on by their uuids."""
    return [{**(LARGE if i % 2 else SMALL), "uuid": f"GPU-{i}", **more} for i in range(n)]


def net(gpus, epochs, rates=(0.05,), **more):
    """A sweep whose trials train a small net on so many GPUs each."""
    return {"method": "grid", "metric": {"name": "val_loss"}, "parameters": {"lr": {"values": list(rates)}}, "seed": 3,
            "resources": {"gpu": gpus}, **more,
            "trainer": {"dataset": {"name": "digits"}, "epochs": epochs, "batch_size": 32, "micro_batch": 16,
                        "model": [{"linear": 24}, "relu", {"linear": 10}]}}


class Rig:
    """A machine: its cards and processes as the stand-in says them, and daemons on it."""

    def __init__(self, directory, *cards, every=20, limit=30000, back=30000):
        self.directory = directory
        self.cards = [dict(card) for card in cards]
        self.processes = []  # (card, pid, MiB)
        self.lines = []
        self.times = f"{every},{limit},{back}"
        self.breaks = str(directory / "breaks")
        self.write()

    @property
    def env(self):
        return {"SWEEPD_NVML": NVML, "SWEEPD_CUDA_MODULE": CUDA, "SWEEPD_NVML_MS": self.times,
                "SWEEPD_FAKE_NVML": str(self.directory / "nvml"),
                "SWEEPD_FAKE_CUDA_BREAKS": self.breaks}

    def write(self):
        text = "".join(line + "\n" for line in self.lines)
        for card in self.cards:
            text += "card " + " ".join(f"{k}={v}" for k, v in card.items()) + "\n"
        for card, pid, mib in self.processes:
            text += f"proc card={card} pid={pid} mib={mib}\n"
        path = self.directory / "nvml"
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)

    def set(self, card, **values):
        self.cards[card].update(values)
        self.write()


class Machine(Daemon):
    """A daemon on a rig."""

    def __init__(self, directory, rig, devices, more=()):
        super().__init__(directory, devices, more)
        self.rig = rig

    def start(self, wait=True, **env):
        return super().start(wait, **{**self.rig.env, **env})


def gpus(client):
    return client.call("device.list")["gpus"]


def wait_card(client, state, card=0):
    """The card once it is in that state."""
    return wait_until(lambda: (g := gpus(client)[card])["state"] == state and g,
                      f"gpu {card} in state {state}")


def wait_slots(client, *states):
    return wait_until(lambda: (s := client.slots()) and [x["state"] for x in s] == list(states) and s,
                      f"slots in {states}")


def wait_idle(client):
    return wait_until(lambda: all(s["state"] == "IDLE" for s in client.slots()) and client.slots(), "idle slots")


def idle(daemon):
    """The daemon and a client of it, once all its slots wait for work."""
    client = daemon.client()
    wait_idle(client)
    return daemon, client


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


def running(client):
    return [s for s in client.slots() if s["state"] == "BUSY"]


def attempts_of(client, sweep):
    return [a for t in client.trials(sweep)
            for a in client.call("trial.get", sweep=sweep, trial=t["trial"])["attempts"]]

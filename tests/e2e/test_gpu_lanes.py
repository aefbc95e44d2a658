"""Lanes and parts of a GPU, with stand-ins for NVML and for the CUDA module (tests/e2e/gpus.py)."""
import pytest

from again import first_again
from gpus import (LARGE, MIB, NEEDS_FAKES, OWN, SMALL, attempts_of, gpus, machine, running, wait_slots)  # noqa: F401
from harness import slow, wait_until

pytestmark = NEEDS_FAKES


def large(machine, **more):
    """A spec whose trials need some MiB, and how many."""
    spec = slow(run_cap=2, **more)
    spec["trainer"]["model"][:0] = [{"linear": 1024}] * 2
    return spec, machine("none").client().call("sweep.validate", spec=spec)["bytes"] // MIB


def all_report(client, sweep, n):
    wait_until(lambda: len(t := client.trials(sweep)) == n and all(x["step"] >= 1 for x in t),
               f"reports of {n} trials")


def test_what_a_gpu_used_is_shared_by_lanes(machine):
    daemon = machine("gpu:0:4", SMALL)
    client = daemon.client()
    pid = wait_slots(client, *["IDLE"] * 4)[0]["pid"]
    sweeps = [client.submit(slow(epochs=100000, run_cap=1, resources={"gpu": part})) for part in (0.75, 0.25)]
    wait_until(lambda: len(running(client)) == 2, "two trials")
    for temp, processes in ((49, []), (51, [(0, pid, 4000)]), (52, [(0, pid, 4000)]), (53, [])):  # a reading each
        daemon.rig.processes = processes
        daemon.rig.set(0, temp=temp)
        wait_until(lambda: gpus(client)[0]["temperature"] == temp, "a reading")
    for sweep in sweeps:
        client.call("sweep.cancel", sweep=sweep)
    (most,), (least,) = (attempts_of(client, sweep) for sweep in sweeps)
    assert (most["gpu_bytes"], least["gpu_bytes"]) == (3000 * MIB, 1000 * MIB)
    assert most["gpu_util"] == least["gpu_util"] == 40


@pytest.mark.once("trains for minutes with sanitizers")
def test_lanes_outlive_the_daemon(machine):
    daemon = machine("gpu:0:2", SMALL)
    client = daemon.client()
    slots = wait_slots(client, "IDLE", "IDLE")
    sweep = client.submit(slow(epochs=200, run_cap=2, resources={"gpu": 0.5}))
    all_report(client, sweep, 2)  # one whose start was not sent yet is begun anew
    client = daemon.again()
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert {s["pid"] for s in client.slots()} == {slots[0]["pid"]}
    for trial in (1, 2):
        assert len(client.call("trial.get", sweep=sweep, trial=trial)["attempts"]) == 1


@pytest.mark.parametrize("lanes", first_again([
    ("gpu:0:4", "gpu:0:2", 4), ("gpu:0:4", "gpu:0:8", 1), ("gpu:0:4", "cpu:1", 4),
]), ids=lambda lanes: "-".join(map(str, lanes)))
def test_other_lanes_after_a_restart_release_what_ran(machine, lanes):
    """A worker with more or fewer lanes than there are to be is ended; its trials are not to blame."""
    before, after, n = lanes
    daemon = machine(before, SMALL)
    client = daemon.client()
    old = wait_slots(client, *["IDLE"] * int(before[-1]))[0]["pid"]
    sweep = client.submit(slow(epochs=60, run_cap=n, retries=0))
    all_report(client, sweep, n)
    daemon.kill9()
    daemon.devices = after
    daemon.start()
    client = daemon.client()
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert {t["state"] for t in client.trials(sweep)} == {"COMPLETED"}
    first = [a for a in attempts_of(client, sweep) if a["attempt"] == 1]
    assert [(a["state"], a["cause"]) for a in first] == [("RELEASED", "slot removed")] * n
    slots = client.slots()
    assert {s["state"] for s in slots} == {"IDLE"} and old not in {s["pid"] for s in slots}, slots
    assert {s["starts"] for s in slots} == {1}, slots


def test_one_gpu_is_cleared_for_a_trial_and_the_others_go_on(machine):
    daemon = machine("gpu:0:2,1:2", SMALL, LARGE, env={"SWEEPD_KEEP_MS": "0"})
    client = daemon.client()
    wait_slots(client, *["IDLE"] * 4)
    long = slow(epochs=100000, run_cap=4, resources={"gpu": 0.5})
    first = client.submit(long)
    wait_until(lambda: len(running(client)) == 4, "four trials")
    whole = client.submit(slow(epochs=100000, run_cap=1, weight=1000, resources={"gpu": 1}))
    more = client.submit(long)
    on = {s["device"]: s["trial"] for s in client.slots()}
    for device in ("gpu:0.0", "gpu:1.0"):
        client.call("trial.cancel", sweep=first, trial=on[device])
    # a lane of each is free now: one is kept for the trial that wants both, the other is not
    wait_until(lambda: [s for s in running(client) if s["sweep"] == more], "a trial on the other GPU")
    assert len(running(client)) == 3 and client.trials(whole) == []
    kept, = [s["device"] for s in client.slots() if s["state"] != "BUSY"]
    client.call("trial.cancel", sweep=first, trial=on[kept[:5] + ".1"])
    wait_until(lambda: [s for s in running(client) if s["sweep"] == whole], "the trial")
    for sweep in (first, whole, more):
        client.call("sweep.cancel", sweep=sweep)


def test_lanes_under_gpu_memory_count_alone(machine):
    """Each has its own part of the bound: what the plan says of the largest does not count."""
    spec, needs = large(machine, epochs=1000, resources={"gpu": 0.5})
    daemon = machine("gpu:0:2", {**SMALL, "total": 100 + OWN + needs * 3 // 2}, options=("--gpu-memory", "1G"))
    client = daemon.client()
    wait_slots(client, "IDLE", "IDLE")
    sweep = client.submit(spec)
    wait_until(lambda: len(running(client)) == 2, "two trials at once")
    client.call("sweep.cancel", sweep=sweep)


def why_of_the_next(client, sweep):
    client.call("trial.enqueue", sweep=sweep, params={})
    waits = [t["trial"] for t in client.trials(sweep) if t["state"] == "PENDING"]
    return client.call("trial.why", sweep=sweep, trial=waits[0])["text"]


def test_why_says_what_a_free_lane_lacks(machine):
    daemon = machine("gpu:0:4+cpu:1", SMALL, env={"SWEEPD_KEEP_MS": "0"})
    client = daemon.client()
    wait_slots(client, *["IDLE"] * 5)
    one = slow(epochs=1000, run_cap=3, resources={"gpu": 0.25})
    many = client.submit(one)
    wait_until(lambda: len(running(client)) == 3, "three trials")
    two = client.submit(slow(epochs=2, run_cap=1, resources={"gpu": 0.5}))
    why = why_of_the_next(client, two)
    assert "4 of 5 suit, 0 free" in why and "gpu:0.3 free (it takes 2 lanes, 1 free, kept for it for 0 s)" in why, why
    assert "cpu:0 free" in why and "cpu:0 free (" not in why, why
    other = client.submit({**one, "run_cap": 1})
    assert "gpu:0.3 free (kept for sweep 2 for 0 s)" in why_of_the_next(client, other)
    for sweep in (many, two, other):
        client.call("sweep.cancel", sweep=sweep)


def test_why_says_that_memory_is_short(machine):
    spec, needs = large(machine, epochs=1000, resources={"gpu": 0.5})
    daemon = machine("gpu:0:2", {**SMALL, "total": 100 + OWN + needs * 3 // 2})
    client = daemon.client()
    wait_slots(client, "IDLE", "IDLE")
    sweep = client.submit(spec)
    wait_until(lambda: len(running(client)) == 1, "a trial")
    why = why_of_the_next(client, sweep)
    assert f"gpu:0.1 free (too few bytes are free for its {needs} MiB)" in why, why
    client.call("sweep.cancel", sweep=sweep)

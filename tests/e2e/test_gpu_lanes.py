"""Lanes and parts of a GPU, with stand-ins for NVML and for the CUDA module (tests/e2e/gpus.py)."""
from gpus import MIB, NEEDS_FAKES, OWN, SMALL, attempts_of, gpus, idle, machine, running, wait_slots  # noqa: F401
from harness import slow, wait_until

pytestmark = NEEDS_FAKES


def large(machine, **more):
    """A spec whose trials need some MiB, and how many."""
    spec = slow(run_cap=2, **more)
    spec["trainer"]["model"][:0] = [{"linear": 1024}] * 2
    return spec, machine("none").client().call("sweep.validate", spec=spec)["bytes"] // MIB


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


def why_of_the_next(client, sweep):
    client.call("trial.enqueue", sweep=sweep, params={})
    waits = [t["trial"] for t in client.trials(sweep) if t["state"] == "PENDING"]
    return client.call("trial.why", sweep=sweep, trial=waits[0])["text"]


def test_why_says_that_memory_is_short(machine):
    spec, needs = large(machine, epochs=1000, resources={"gpu": 0.5})
    daemon, client = idle(machine("gpu:0:2", {**SMALL, "total": 100 + OWN + needs * 3 // 2}))
    sweep = client.submit(spec)
    wait_until(lambda: len(running(client)) == 1, "a trial")
    why = why_of_the_next(client, sweep)
    assert f"gpu:0.1 free (too few bytes are free for its {needs} MiB)" in why, why
    client.call("sweep.cancel", sweep=sweep)

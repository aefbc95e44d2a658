"""Several trials at once in one worker process: the lanes of a GPU, which a stand-in is here."""
import os
import signal

from gpus import NEEDS_FAKES, SMALL, machine  # noqa: F401
from harness import slow, sweep_command, trained, wait_until

pytestmark = NEEDS_FAKES


DIGITS = [{"linear": "width"}, "relu", {"linear": 10}]


def curves(client, sweep):
    """What each trial reported, but for the speed."""
    return {t["trial"]: [{k: v for k, v in r["metrics"].items() if k != "samples_per_s"}
                         for r in client.reports(sweep, t["trial"])] for t in client.trials(sweep)}


def run(daemon, **more):
    client = daemon.client()
    spec = trained(epochs=4, run_cap=9, resources={"gpu": 0.25}, **more)
    sweep = client.run(spec, "COMPLETED")
    return client, sweep


def test_lanes_of_one_process_have_the_curves_of_trials_alone(machine):
    client, alone = run(machine("gpu:0", SMALL))
    daemon = machine("gpu:0:4", SMALL)
    lanes, together = run(daemon)
    slots = lanes.slots()
    assert [s["device"] for s in slots] == [f"gpu:0.{i}" for i in range(4)]
    assert len({s["pid"] for s in slots}) == 1
    want = curves(client, alone)
    assert len(want) == 9 and all(len(c) == 4 for c in want.values())
    assert curves(lanes, together) == want
    started = {sweep_command(daemon, "log", f"{together}/{trial}")[1].split("started on ")[1].split(":")[1]
               for trial in want}
    assert len(started) > 1  # "0.1", "0.3": more than one lane had work


def test_data_set_over_half_of_gpu_memory_is_streamed_with_the_same_curves(machine):
    """The digits have 460 kB on the device, a trial's arena some 300 kB."""
    free, alone = run(machine("gpu:0", SMALL), dataset={"name": "digits"}, layers=DIGITS)
    daemon = machine("gpu:0", SMALL, options=("--gpu-memory", "800K"))
    capped, sweep = run(daemon, dataset={"name": "digits"}, layers=DIGITS)
    assert curves(capped, sweep) == curves(free, alone)
    log = sweep_command(daemon, "log", f"{sweep}/1")[1]
    assert "the data set stays in the host's memory" in log and "memory: batches of" not in log


def test_lanes_end_together_when_their_device_is_lost_and_their_trials_go_on(machine):
    daemon = machine("gpu:0:3", SMALL)
    client = daemon.client()
    sweep = client.submit(slow(epochs=30, run_cap=3, resources={"gpu": 0.1}))
    wait_until(lambda: len(t := client.trials(sweep)) == 3 and all(x["step"] >= 1 for x in t), "reports")
    before, = {s["pid"] for s in client.slots()}
    open(daemon.rig.breaks, "w").close()
    wait_until(lambda: all(s["pid"] != before for s in client.slots()), "the end of the process")
    os.unlink(daemon.rig.breaks)
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    for trial in range(1, 4):
        attempts = client.call("trial.get", sweep=sweep, trial=trial)["attempts"]
        assert len(attempts) >= 2, attempts
        assert all(a["state"] in ("LOST", "RELEASED") for a in attempts[:-1]), attempts
        assert any(str(a["cause"]).startswith("exit:3") or a["state"] == "RELEASED"
                   for a in attempts[:-1]), attempts


def test_lanes_end_when_their_process_is_told_to(machine):
    daemon = machine("gpu:0:3", SMALL)
    client = daemon.client()
    sweep = client.submit(slow(epochs=20, run_cap=3, resources={"gpu": 0.1}))
    wait_until(lambda: len(t := client.trials(sweep)) == 3 and all(x["step"] >= 1 for x in t), "reports")
    before, = {s["pid"] for s in client.slots()}
    os.kill(before, signal.SIGTERM)
    wait_until(lambda: (p := {s["pid"] for s in client.slots()}) and before not in p and None not in p,
               "another process")
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"

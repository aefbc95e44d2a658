"""Whole sweeps on pilots: the same as on this machine, whatever becomes of their jobs."""
import pytest
from harness import example, merged, wait_until
from pilots import pilots, story
from programs import own

PROGRAM = """
for step in range(load() + 1, 10):
    save(step)
    if report(step, loss=(params["x"] - 0.3) ** 2 + 1 / step) != "continue":
        break
"""
ASHA = {"type": "asha", "max_t": 9, "grace_period": 1, "reduction_factor": 3}


def specs(folder):
    return {"digits": {**example("digits"), "run_cap": 12},
            "program": own(folder, PROGRAM, run_cap=9, early_terminate=ASHA)}


@pytest.mark.parametrize("kind", ["digits", "program"])
def test_sweep_on_one_pilot_is_that_of_a_local_slot(site, start, tmp_path, kind):
    spec, told = specs(tmp_path)[kind], []
    for daemon in (start("cpu:1"), pilots(start, site, tmp_path, 1)):
        client = daemon.client()
        assert client.wait_sweep(client.submit(spec))["state"] == "COMPLETED"
        told.append(story(client, 1))
    assert told[0] == told[1]


@pytest.mark.parametrize("kind", ["digits", "program"])
def test_sweep_runs_on_all_nodes(site, start, tmp_path, kind):
    daemon = pilots(start, site, tmp_path, 3, cpus=2)
    client = daemon.client()
    sweep = client.submit(merged(specs(tmp_path)[kind], {"run_cap": 30, "early_terminate": None}))

    def up():
        # a slot is busy before its job is on its way
        slots = client.slots()
        return all(slot["state"] in ("BUSY", "IDLE") and slot["job"] and slot["node"] for slot in slots) and slots

    slots = wait_until(up, "three pilots")
    assert len(slots) == 3
    # the machines of ssh are one, by its name
    assert {slot["node"] if site.name == "slurm" else slot["job"].split("/")[0] for slot in slots} == site.nodes
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert {a["slot"] for trial in client.trials(sweep)
            for a in client.call("trial.get", sweep=sweep, trial=trial["trial"])["attempts"]} == {0, 1, 2}


def test_sweep_asks_slurm_for_jobs_of_its_own(slurm, start, tmp_path):
    client = pilots(start, slurm, tmp_path, 2, comment="the daemon's").client()
    more = {"partition": "all", "comment": "the sweep's; $(id)", "time": "0:07:00", "exclusive": True}
    sweeps = [client.submit({**example("digits"), "run_cap": 8, "max_concurrent": 1, **key})
              for key in ({}, {"executor": {"slurm": more}})]
    for sweep in sweeps:
        assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    shown = slurm.run("squeue", "--me", "-h", "-r", "-o", "%i|%k|%l")
    jobs = dict(line.split("|", 1) for line in shown.splitlines())
    assert {jobs[slot["job"]] for slot in client.slots()} == {"the daemon's|10:00", "the sweep's; $(id)|7:00"}
    refused = client.submit({**example("digits"), "run_cap": 1, "executor": {"slurm": {"partition": "none"}}})
    wait_until(lambda: "invalid partition" in (client.sweep(refused)["cause"] or ""), "Slurm's own words")

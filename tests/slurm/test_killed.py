"""A daemon that is killed while its pilots train; a file of its own, since it waits for the end of their time."""
from harness import wait_until
from pilots import env, pilots
from programs import own

PROGRAM = """
for step in range(load() + 1, 200):
    time.sleep(0 if os.path.exists("fast") else 0.25)
    save(step)
    report(step, loss=params["x"] + 1 / step)
"""


def test_killed_daemon_finds_its_pilots_again(slurm, start, tmp_path):
    daemon = pilots(start, slurm, tmp_path, 8, time=60)
    client = daemon.client()
    sweep = client.submit(own(tmp_path, PROGRAM, run_cap=8))

    def busy():
        # a slot is busy before its job is on its way: one that has reported has it
        began = all(trial["step"] > 0 for trial in client.trials(sweep))
        slots = client.slots()
        trains = began and all(slot["state"] == "BUSY" for slot in slots)
        return trains and {slot["job"]: slot["trial"] for slot in slots}

    jobs = wait_until(busy, "eight pilots that train")
    daemon.kill9()
    daemon.start(**env(slurm))
    client = daemon.client()
    assert wait_until(busy, "eight pilots again") == jobs
    assert all(trial["attempt"] == 1 for trial in client.trials(sweep))
    wait_until(lambda: all(trial["step"] > 20 for trial in client.trials(sweep)), "reports by the link that came back")
    # Away for longer than their time: they end by themselves, in order.
    daemon.kill9()
    wait_until(lambda: not slurm.run("squeue", "-h"), "the jobs' end")
    ended = slurm.run("squeue", "-h", "-r", "-t", "all", "-o", "%i %T").split("\n")
    assert {f"{job} COMPLETED" for job in jobs} <= set(ended), ended
    (tmp_path / "fast").touch()
    daemon.start(**env(slurm))
    client = daemon.client()
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    for trial in client.trials(sweep):
        attempts = client.call("trial.get", sweep=sweep, trial=trial["trial"])["attempts"]
        assert len(attempts) > 1 and all(attempt["cause"] for attempt in attempts[:-1]), attempts
        reports = client.reports(sweep, trial["trial"])
        assert [r["step"] for r in reports if r["attempt"] == trial["attempt"]][0] > 20, \
            "it goes on after what was acknowledged"
        assert trial["step"] == 199 and len({r["step"] for r in reports}) == len(reports)

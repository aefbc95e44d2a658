"""Pilots by a sweep's own "executor": each serves the sweeps that have its options, and no other (pilots.py)."""
import json
import os
import signal

import pytest

from harness import merged, slow, sweep_command, trained, wait_until
from pilots import Bed

ASKED = "    for i in range(int(args[0])):\n"
NOTE = ('    put(os.path.join(jobs, os.environ["SWEEPD_JOB_NAME"] + ".asked"), os.environ["SWEEPD_JOB_TIME"] + "\\n" + '
        'os.environ["SWEEPD_JOB_OPTIONS"])\n    if "bad" in os.environ["SWEEPD_JOB_OPTIONS"]:\n        sys.exit("no such partition")\n')


@pytest.fixture
def bed(tmp_path, start):
    """The executor notes what each submission asks for, and refuses a partition."""
    made = Bed(tmp_path, start)
    program = made.path / "executors" / "fake"
    program.write_text(program.read_text().replace(ASKED, NOTE + ASKED))
    yield made
    made.kill_all()


def asked(bed, job):
    """(seconds, the options) of a job's submission."""
    time, *options = bed.read(f"jobs/{job.rpartition('.')[0]}.asked").split("\n")
    return int(time), options


def jobs_of(client, *sweeps):
    """The jobs on which each of the sweeps has a trial, once all have; each serves one sweep."""
    def found():
        by = {s["sweep"]: set() for s in client.slots() if s["state"] == "BUSY"}
        for slot in client.slots():
            if slot["state"] == "BUSY" and slot["job"]:
                by.setdefault(slot["sweep"], set()).add(slot["job"].removeprefix("id-"))
        return [by[s] for s in sweeps] if all(by.get(s) for s in sweeps) else None
    return wait_until(found, f"trials of {sweeps} on pilots")


def fake(**options):
    return {"executor": {"fake": options}}


def test_sweeps_with_different_options_have_jobs_of_their_own_through_a_kill(bed):
    daemon = bed.start(workers=3, more="time = 2:00:00\npartition = cpu\ncomment = file\n")
    client = daemon.client()
    spec = slow(epochs=400, run_cap=40, max_concurrent=1)
    plain = client.submit(spec)
    gpu = client.submit(merged(spec, fake(partition="gpu", time="1:00:00", exclusive=True)))
    other = client.submit(merged(spec, fake(comment=False)))
    [one], [two], [three] = jobs_of(client, plain, gpu, other)
    assert asked(bed, one) == (7200, ["partition=cpu", "comment=file"])
    assert asked(bed, two) == (3600, ["comment=file", "exclusive=yes", "partition=gpu"])
    assert asked(bed, three) == (7200, ["partition=cpu"])
    left = {s["job"].removeprefix("id-"): s["left_s"] for s in client.slots()}
    assert left[two] <= 3600 < left[one] <= 7200
    client = daemon.again(**bed.env)
    assert jobs_of(client, plain, gpu, other) == [{one}, {two}, {three}]
    assert [t["attempt"] for s in (plain, gpu, other) for t in client.trials(s)] == [1] * 3
    assert {s["job"].removeprefix("id-"): s["left_s"] for s in client.slots()}[two] <= 3600
    client.call("sweep.cancel", sweep=plain)
    client.call("sweep.cancel", sweep=other)
    wait_until(lambda: sorted(s["state"] for s in client.slots()) == ["BUSY", "IDLE", "IDLE"], "pilots that are free")
    step = client.call("trial.get", sweep=gpu, trial=1)["step"]
    wait_until(lambda: client.call("trial.get", sweep=gpu, trial=1)["step"] > step + 3, "time in which one could take more")
    assert jobs_of(client, gpu) == [{two}], "the others' pilots take none of its trials"
    assert len(bed.jobs()) == 3
    again = client.submit(slow(epochs=3, run_cap=2, **fake(exclusive=True, partition="gpu", time=3600)))
    client.call("sweep.cancel", sweep=gpu)
    assert client.wait_sweep(again)["counts"]["COMPLETED"] == 2
    assert len(bed.jobs()) == 3, "the same options in another order: the same pilot"
    fine = client.submit({"refine": {"of": again}})
    assert client.sweep(fine)["spec"]["executor"] == {"fake": {"exclusive": True, "partition": "gpu", "time": 3600}}


def test_idle_pilots_give_way_to_jobs_of_other_options(bed):
    client = bed.start(workers=3).client()
    assert client.wait_sweep(client.submit(trained(run_cap=2, max_concurrent=2)))["state"] == "COMPLETED"
    bed.put("hold")  # what holds the nodes is their own pilots, say
    other = client.submit(trained(run_cap=3, max_concurrent=1, **fake(comment="x")))
    wait_until(lambda: [s["state"] for s in client.slots()] == ["DOWN", "DOWN", "STARTING"], "pilots that went for one in the queue")
    bed.take("hold")
    assert client.wait_sweep(other)["state"] == "COMPLETED"
    many = client.submit(slow(run_cap=3, epochs=40000, **fake(comment="y")))
    wait_until(lambda: len([s for s in client.slots() if s["sweep"] == many]) == 3, "all slots, one of which was another's")
    late = client.submit(trained(run_cap=1))
    wait_until(lambda: client.sweep(late)["cause"] == "waits for a slot: the pilots have other options, and serve "
                                                      "other sweeps", "why it waits")


def test_trial_that_waits_says_which_pilots_are_not_for_it(bed):
    client = bed.start(workers=2).client()
    jobs_of(client, client.submit(slow(epochs=4000, run_cap=1, **fake(qos=1))))
    sweep = client.submit(slow(epochs=400, run_cap=1, **fake(qos=2)))
    [[job]] = jobs_of(client, sweep)
    bed.put("hold")
    bed.say(job, "preempted n1")
    os.kill(bed.pid(job), signal.SIGKILL)

    def waits():
        why = client.call("trial.why", sweep=sweep, trial=1)
        return "1 job pending" in str(why) and str(why)
    why = wait_until(waits, "a trial that waits again")
    assert "1 of 2 suit, 0 free" in why, why


def test_options_that_the_cluster_refuses_stop_no_other_sweep(bed):
    client = bed.start(workers=4, SWEEPD_PILOT_MS="200,600000,600000").client()
    bad = client.submit(trained(run_cap=1, **fake(partition="bad")))
    wait_until(lambda: "asks again in" in (client.sweep(bad)["cause"] or ""), "a pause")
    assert "3 in a row did not start: submit failed: no such partition" in client.sweep(bad)["cause"]
    wait_until(lambda: all(s["state"] == "DOWN" for s in client.slots()), "the end of what was refused")
    good = client.submit(slow(epochs=40000, run_cap=4))
    wait_until(lambda: client.sweep(good)["counts"]["RUNNING"] == 4, "all pilots")
    assert len({name.rpartition(".")[0] for name in bed.jobs()}) == 1, "none were kept for what is not asked for"
    assert client.sweep(good)["cause"] is None and "no such partition" in client.sweep(bad)["cause"]


def test_refusal_that_no_sweep_waits_for_any_more_is_forgotten(bed):
    client = bed.start(workers=1, more="idle = 1\npartition = bad\n").client()
    sweep = client.submit(trained(run_cap=1))
    wait_until(lambda: "no such partition" in (client.sweep(sweep)["cause"] or ""), "a refusal")
    client.call("sweep.cancel", sweep=sweep)
    wait_until(lambda: client.call("device.list")["pilots"]["waits"] is None, "nothing to wait for")


def test_nodes_of_other_options_that_do_not_see_the_files_keep_no_sweep_from_its_own(bed, tmp_path):
    daemon = bed.start(workers=2)
    client = daemon.client()
    (tmp_path / "rows.csv").write_text("a,b,class\n" + "".join(f"{i % 7},{i % 5},{i % 3}\n" for i in range(60)))
    data = {"format": "csv", "path": str(tmp_path / "rows.csv"), "label": "class", "header": True}
    bed.put("hold")
    plain = client.submit(trained(run_cap=1, **fake(partition="far")))
    wait_until(lambda: bed.jobs(), "a job")
    probe = os.path.join(daemon.state, "pilots", "probe")
    os.rename(probe, tmp_path / "probe")
    bed.take("hold")
    assert client.wait_sweep(plain)["counts"]["COMPLETED"] == 1
    os.rename(tmp_path / "probe", probe)
    far = client.submit(trained(dataset=data, run_cap=1, **fake(partition="far")))
    near = client.submit(trained(dataset=data, run_cap=1, **fake(partition="near")))
    assert client.wait_sweep(near)["counts"]["COMPLETED"] == 1
    assert "pilots do not see the files of" in client.sweep(far)["cause"] and len(bed.jobs()) == 2


def test_pending_jobs_are_those_of_their_sweeps_and_go_when_these_do(bed):
    client = bed.start(workers=4, more="idle = 1\n").client()
    bed.put("hold")
    one = client.submit(trained(run_cap=2, **fake(qos="one")))
    two = client.submit(trained(run_cap=1, **fake(qos="two")))
    for sweep, jobs in ((one, "2 jobs"), (two, "1 job")):
        wait_until(lambda s=sweep, n=jobs: client.sweep(s)["cause"] == f"waits for a slot: fake: {n} pending (Resources)", "its own")
    client.call("sweep.cancel", sweep=one)
    wait_until(lambda: sum(s["state"] == "STARTING" for s in client.slots()) == 1, "jobs that are gone")
    gone = [name for name in bed.jobs() if (bed.path / "jobs" / f"{name}.cancelled").exists()]
    assert [asked(bed, name)[1] for name in gone] == [["qos=one"]] * 2
    bed.take("hold")
    assert client.wait_sweep(two)["state"] == "COMPLETED"
    assert {asked(bed, name)[1][0] for name in bed.jobs() if bed.read(f"jobs/{name}.pid")} == {"qos=two"}


def test_daemon_without_the_executor_refuses_the_spec_and_validate_alone_does_not(bed, start, tmp_path):
    client = bed.start(workers=1).client()
    spec = {**trained(run_cap=1), "executor": {"slurm": {"partition": "gpu"}}}
    error = client.refused("sweep.submit", spec=spec)
    assert error.pointer == "/spec/executor/slurm" and error.message == (
        'this daemon has no executor "slurm": start it with --executor slurm --max-workers N')
    assert client.refused("sweep.submit", spec={**spec, "executor": {"fake": {"idle": 3}}}).pointer == "/spec/executor/fake/idle"
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec))
    status, out, err = sweep_command("/no/such/socket", "validate", str(path))
    assert status == 0, out + err


def test_sweep_of_an_executor_that_is_gone_goes_on_here_and_says_what_it_lacks(bed):
    daemon = bed.start(workers=1)
    bed.put("hold")
    sweep = daemon.client().submit(trained(run_cap=2, **fake(qos=1)))
    wait_until(lambda: bed.jobs(), "a job")
    daemon.kill9()
    bed.take("hold")
    os.rename(bed.path / "executors" / "fake", bed.path / "executors" / "other")
    daemon.more = [word.replace("fake", "other") for word in daemon.more]
    client = daemon.start(**bed.env).client()
    wait_until(lambda: client.sweep(sweep)["cause"] == 'waits for a slot: its "executor" is fake, and this daemon has other', "why")
    daemon.term()
    daemon.more, daemon.devices = [], "cpu:1"
    client = daemon.start(**bed.env).client()
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2

"""200 programs under ASHA while daemon, workers and programs are killed."""
import os
import random
import signal

from harness import asha, wait_until
from programs import marked, own

PROGRAMS, KILLS, SEED = 200, 20, 21


def lines(path):
    """Whole lines, each its words."""
    try:
        with open(path, encoding="ascii") as file:
            return [tuple(line.split()) for line in file.read().split("\n")[:-1]]
    except FileNotFoundError:
        return []


def kill_worker(client):
    pids = [s["pid"] for s in client.slots() if s["state"] == "BUSY" and s.get("pid")]
    if pids:
        os.kill(random.choice(sorted(pids)), signal.SIGKILL)
    return bool(pids)


def kill_program(daemon):
    pids = marked(daemon)
    if not pids:
        return False
    try:
        os.kill(random.choice(sorted(pids)), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def check_nothing_was_lost_or_began_twice(client, sweep, folder, kills):
    """Each program has noted in the folder that it began, and each report that was answered."""
    trials = {t["trial"]: t for t in client.trials(sweep)}
    stored = {(str(r["attempt"]), trial, r["step"], r["metrics"]["loss"])
              for trial in trials for r in client.reports(sweep, trial)}
    assert not [a for a in lines(folder / "answered") if (a[1], int(a[0]), int(a[2]), float(a[3])) not in stored]

    # an attempt has one program; another attempt has only the trial of a killed worker, or one whose job a killed
    # daemon had stored and not sent yet
    started = lines(folder / "begun")
    assert len(set(started)) == len(started)
    again = 0
    for trial, row in trials.items():
        attempts = client.call("trial.get", sweep=sweep, trial=trial)["attempts"]
        for a in attempts[:-1]:
            assert a["state"] == "LOST" or (str(trial), str(a["attempt"])) not in started, attempts
            again += a["state"] == "LOST"
        assert row["state"] in ("COMPLETED", "PRUNED") or (row["state"], row["cause"]) == ("FAILED", "signal:9"), row
    assert again <= kills["worker"]
    assert sum(row["state"] == "FAILED" for row in trials.values()) <= kills["program"]


def test_kills_lose_no_answered_report_restart_nothing_and_leave_nothing(start, tmp_path):
    random.seed(SEED)
    daemon = start("cpu:4")
    client = daemon.client()
    sweep = client.submit(own(tmp_path, """
        me = os.environ["SWEEPD_TRIAL"].split("/")[1], os.environ["SWEEPD_ATTEMPT"]
        def note(name, *words):  # one write(2) each: whole lines
            fd = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(fd, (" ".join(map(str, words)) + "\\n").encode())
        note("begun", *me)
        for step in range(1, 10):
            loss = params["x"] + 1 / step
            decision = report(step, loss=loss)
            note("answered", *me, step, repr(loss))
            if decision != "continue":
                break
    """, run_cap=PROGRAMS, retries=100, early_terminate=asha(max_t=9)))
    kills = {"daemon": 0, "worker": 0, "program": 0}
    for moment in sorted(random.sample(range(10, 400), KILLS)):
        wait_until(lambda: len(lines(tmp_path / "answered")) >= moment, f"{moment} answered reports")
        what = random.choice(sorted(kills))
        if what == "daemon":
            client = daemon.again()
        elif not wait_until(lambda: client.sweep(sweep)["state"] != "RUNNING" or
                            (kill_worker(client) if what == "worker" else kill_program(daemon)), f"a {what}"):
            continue
        kills[what] += 1
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert all(kills.values()), kills

    assert len(client.trials(sweep)) == PROGRAMS
    check_nothing_was_lost_or_began_twice(client, sweep, tmp_path, kills)
    wait_until(lambda: not marked(daemon), "nothing left of the programs")

"""Programs under ASHA, forked by a launcher and started cold, while daemon, workers, launchers and programs are killed."""
import os
import random
import signal

import pytest

from harness import asha, wait_until
from test_warm import launchers, left, warm

KILLS, SEED = int(os.environ.get("SWEEPD_WARM_KILLS", "12")), 5  # 300 by hand


def lines(path):
    """Whole lines, each its words."""
    try:
        with open(path, encoding="ascii") as file:
            return [tuple(line.split()) for line in file.read().split("\n")[:-1]]
    except FileNotFoundError:
        return []


def kill_one(pids):
    """Was there one to kill?"""
    try:
        os.kill(random.choice(sorted(pids)), signal.SIGKILL)
    except (IndexError, ProcessLookupError):
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
    assert sum(row["state"] == "FAILED" for row in trials.values()) <= kills["program"], ([r for r in trials.values() if r["state"] == "FAILED"], kills)


@pytest.mark.slots("cpu:3")
@pytest.mark.parametrize("is_warm", [True, False])
def test_kills_lose_no_answered_report_restart_nothing_and_leave_nothing(daemon, client, tmp_path, is_warm):
    """Each attempt holds its trial's file locked: a second one beside it would say so."""
    random.seed(SEED)
    programs = 10 * KILLS
    sweep = client.submit(warm(tmp_path, """
        import fcntl
        me = str(x + 1), os.environ["SWEEPD_ATTEMPT"]
        def note(name, *words):  # one write(2) each: whole lines
            fd = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(fd, (" ".join(map(str, words)) + "\\n").encode())
            os.close(fd)
        held = open(f"held-{x}", "w")
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            note("beside", *me)
        note("begun", *me)
        for step in range(1, 10):
            loss = params["y"] + 1 / step
            decision = report(step, loss=loss)
            note("answered", *me, step, repr(loss))
            if decision != "continue":
                break
    """, run={"warm": is_warm}, run_cap=programs, retries=100, early_terminate=asha(max_t=9)))
    kills = dict.fromkeys(("daemon", "worker", "program", *(["launcher"] if is_warm else [])), 0)
    plan = random.choices(sorted(kills), k=KILLS - len(kills)) + sorted(kills)
    for moment, what in zip(sorted(random.sample(range(10, 20 * KILLS), KILLS)), plan):
        wait_until(lambda: len(lines(tmp_path / "answered")) >= moment, f"{moment} answered reports")
        if what == "daemon":
            client = daemon.again()
        else:
            pids = {"worker": lambda: [s["pid"] for s in client.slots() if s["state"] == "BUSY" and s.get("pid")],
                    "launcher": lambda: launchers(daemon), "program": lambda: left(daemon)}[what]
            wait_until(lambda: client.sweep(sweep)["state"] != "RUNNING" or kill_one(pids()), f"a {what}")
        kills[what] += 1
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert not lines(tmp_path / "beside")

    assert len(client.trials(sweep)) == programs
    check_nothing_was_lost_or_began_twice(client, sweep, tmp_path, kills)
    wait_until(lambda: not left(daemon), "nothing left of the programs")

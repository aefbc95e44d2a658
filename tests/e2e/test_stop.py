"""The daemon is told to end: what its trials keep, and that it ends."""
import os
import signal

from harness import slow, wait_until
from programs import own, wait_file

# The first epoch is the best one, so that no checkpoint is written for that later.
LONG = {"epochs": 100000, "metric": {"name": "train_loss", "goal": "maximize"}}


def last_steps(client, sweep):
    """The last step that was reported of each trial."""
    return {t["trial"]: t["step"] for t in client.trials(sweep)}


def running(client, sweep, n, step):
    return wait_until(lambda: len(t := client.trials(sweep, state="RUNNING")) == n
                      and all(x["step"] >= step for x in t) and t, f"{n} trials past step {step}")


def attempts(client, sweep, trial):
    return client.call("trial.get", sweep=sweep, trial=trial)["attempts"]


def test_eight_trials_lose_nothing_by_a_stop(start):
    daemon = start("cpu:8")
    client = daemon.client()
    sweep = client.submit(slow(run_cap=8, **LONG))
    running(client, sweep, 8, 3)
    assert daemon.term() == 0
    daemon.start()
    client = daemon.client()
    before = last_steps(client, sweep)
    for trial, step in before.items():
        wait_until(lambda: len(attempts(client, sweep, trial)) == 2, "another attempt")  # noqa: B023
        first, second = attempts(client, sweep, trial)
        assert (first["state"], first["cause"]) == ("RELEASED", "shutdown")
        assert second["resume_step"] == max(
            r["step"] for r in client.reports(sweep, trial) if r["attempt"] == 1) >= 3, (trial, step)
    client.call("sweep.cancel", sweep=sweep)


def test_worker_that_hangs_is_killed_and_the_others_lose_nothing(start):
    daemon = start("cpu:3")
    client = daemon.client()
    sweep = client.submit(slow(run_cap=3, checkpoint={"every": 2}, **LONG))
    running(client, sweep, 3, 4)
    hangs = next(s for s in client.slots() if s["trial"] == 2)
    os.kill(hangs["pid"], signal.SIGSTOP)
    assert daemon.term() == 0 and "daemon.late" in daemon.tail()
    daemon.start()
    client = daemon.client()
    running(client, sweep, 3, 1)
    for trial in (1, 2, 3):
        first, second = attempts(client, sweep, trial)
        last = max(r["step"] for r in client.reports(sweep, trial) if r["attempt"] == 1)
        assert (first["state"], first["cause"]) == ("RELEASED", "shutdown")
        assert last - second["resume_step"] in ((0, 1) if trial == 2 else (0,))
    client.call("sweep.cancel", sweep=sweep)


def test_second_signal_ends_at_once(start):
    daemon = start("cpu:1")
    client = daemon.client()
    sweep = client.submit(slow(run_cap=1, **LONG))
    running(client, sweep, 1, 1)
    os.kill(client.slots()[0]["pid"], signal.SIGSTOP)
    daemon.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "daemon.stop" in daemon.tail(), "a stop that has begun")
    assert daemon.term() == 0 and "daemon.late" not in daemon.tail()


def test_program_saves_and_reports_at_a_stop(start, tmp_path):
    daemon = start("cpu:1")
    client = daemon.client()
    sweep = client.submit(own(tmp_path, """
        def leave(*_):
            save(7)
            touch(report(step=7, loss=7, checkpoint=True))
            sys.exit(0)
        signal.signal(signal.SIGTERM, leave)
        if os.environ.get("SWEEPD_RESUME_STEP") == "7":
            touch("resumed")
        else:
            report(step=1, loss=1)
            touch("up")
        while True:
            time.sleep(0.01)
    """))
    wait_file(tmp_path, "up")
    assert daemon.term() == 0
    wait_file(tmp_path, "pause")
    daemon.start()
    wait_file(tmp_path, "resumed")
    client = daemon.client()
    first, second = attempts(client, sweep, 1)
    assert (first["state"], first["cause"], second["resume_step"]) == ("RELEASED", "shutdown", 7)

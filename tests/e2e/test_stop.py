"""The daemon is told to end: what its trials keep, and that it ends."""
import os
import signal
import subprocess

import pytest

from harness import BIN, ROOT, driven, environment, slow, sweep_command, wait_until
from programs import own, wait_file

pytestmark = pytest.mark.slots("cpu:1")

# The first epoch is the best one, so that no checkpoint is written for that later.
LONG = {"epochs": 100000, "metric": {"name": "train_loss", "goal": "maximize"}}


def running(client, sweep, n, step):
    return wait_until(lambda: len(t := client.trials(sweep, state="RUNNING")) == n
                      and all(x["step"] >= step for x in t) and t, f"{n} trials past step {step}")


def attempts(client, sweep, trial):
    return client.call("trial.get", sweep=sweep, trial=trial)["attempts"]


def test_second_signal_ends_at_once(daemon, client):
    sweep = client.submit(slow(run_cap=1, **LONG))
    running(client, sweep, 1, 1)
    os.kill(client.slots()[0]["pid"], signal.SIGSTOP)
    daemon.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "daemon.stop" in daemon.tail(), "a stop that has begun")
    assert daemon.term() == 0 and "daemon.late" not in daemon.tail()


def test_program_saves_and_reports_at_a_stop(daemon, client, tmp_path):
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


def held(tmp_path, name="go", **more):
    """Programs that run until a file is there."""
    return own(tmp_path, f"""
        report(loss=1)
        while not os.path.exists({name!r}):
            time.sleep(0.01)
    """, run_cap=3, **more)


def drain(daemon):
    return subprocess.Popen([os.path.join(BIN, "sweep"), "--socket", daemon.socket, "drain"], cwd=ROOT,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())


def test_drain_waits_for_what_runs_and_is_taken_back(daemon, client, tmp_path):
    sweep, other = client.submit(held(tmp_path)), client.submit(driven(run_cap=2))
    running(client, sweep, 1, 1)
    waits = drain(daemon)
    assert "1 trial on slots runs" in waits.stderr.readline()
    assert "draining" in client.refused("trial.ask", sweep=other).message
    for args in (("info",), ("devices",), ("ls",), ("show", sweep)):
        assert "draining" in sweep_command(daemon, *args)[1], args
    (tmp_path / "go").touch()
    out, err = waits.communicate(timeout=60)
    assert (waits.returncode, out) == (0, "nothing runs; `sweep drain --off` or a restart hands out again\n"), err
    assert client.sweep(sweep)["counts"]["COMPLETED"] == 1
    assert sweep_command(daemon, "drain", "--off") == (0, "trials are handed out again\n", "")
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 3
    assert client.ask(other)

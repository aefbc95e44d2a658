"""Who holds a trial of a sweep that clients drive, for how long, through a daemon's death and a stop of its process.
The rules of it are told by tests/daemon/sweep/give/test_ask_story.c."""
import os
import signal
import time

from harness import asha, driven, fake_os, wait_until


def test_trials_of_clients_outlive_a_daemon_that_is_killed(start, tmp_path):
    daemon = start("none")
    sweep = daemon.client().submit(driven(run_cap=2))
    kept, lost = daemon.client().ask(sweep, 2)
    daemon.kill9()
    daemon.start(**fake_os(tmp_path, speed=60))
    client = daemon.client()
    assert client.heartbeat(sweep, kept) == "continue"
    again, = wait_until(lambda: client.ask(sweep), "the trial whose client stayed away")
    assert (again["trial"], again["attempt"]) == (lost["trial"], 2)
    assert client.tell(sweep, kept, metrics={"loss": 1}) == "COMPLETED"


def test_lease_does_not_run_while_the_daemon_is_stopped(start, tmp_path):
    daemon = start("none", **fake_os(tmp_path, speed=60))
    client = daemon.client()
    sweep = client.submit(driven(run_cap=1, lease_s=60))
    t, = client.ask(sweep)
    os.kill(daemon.process.pid, signal.SIGSTOP)
    try:
        end = time.monotonic() + 1.5  # 90 of the daemon's seconds, if it ran
        client.send({"jsonrpc": "2.0", "id": 7, "method": "trial.report",
                     "params": {"sweep": sweep, "trial": 1, "attempt": 1, "seq": 1, "step": 1,
                                "metrics": {"loss": 1}}})
        wait_until(lambda: time.monotonic() > end, "the end of the lease")
    finally:
        os.kill(daemon.process.pid, signal.SIGCONT)
    assert client.receive().get("result") == {"decision": "continue"}
    assert client.tell(sweep, t) == "COMPLETED"


def test_ask_that_waits_gets_the_trial_that_was_promoted(daemon, client):
    sweep = client.submit(driven(run_cap=2, early_terminate=asha(
        variant="promote", max_t=4, reduction_factor=2)))
    one, two = client.ask(sweep, 2)
    assert client.report(sweep, one, 1, 1, loss=1) == "pause"
    waits = daemon.client()
    waits.send({"jsonrpc": "2.0", "id": 1, "method": "trial.ask", "params": {"sweep": sweep, "wait_s": 60}})
    wait_until(lambda: client.call("daemon.stats")["asks_waiting"] == 1, "an ask that waits")
    assert client.report(sweep, two, 1, 1, loss=2) == "pause"
    got, = waits.receive()["result"]["trials"]
    assert (got["trial"], got["attempt"]) == (one["trial"], 2)

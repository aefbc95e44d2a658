"""Who holds a trial of a sweep that clients drive, how long, and what an ask that waits is told."""
import os
import signal
import threading
import time

import pytest

from harness import CONFLICT, NOT_FOUND, RpcError, asha, driven, fake_os, wait_until


@pytest.fixture
def hasty(start, tmp_path):
    """A daemon whose minutes pass in seconds."""
    return start("none", **fake_os(tmp_path, speed=60))


def attempts(client, sweep, trial=1):
    return client.call("trial.get", sweep=sweep, trial=trial)["attempts"]


# --- connections ---

def test_trial_whose_client_was_killed_ends_with_the_sweep(hasty):
    """Two clients share a sweep, one dies: the other ends it."""
    client, dying = hasty.client(), hasty.client()
    sweep = client.submit(driven(run_cap=4))
    dying.ask(sweep)
    dying.close()
    while True:
        answer = client.call("trial.ask", sweep=sweep, wait_s=60)
        for t in answer["trials"]:
            client.tell(sweep, t, metrics={"loss": t["trial"]})
        if answer.get("reason") == "done":
            break
    assert client.sweep(sweep)["counts"]["COMPLETED"] == 4


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


# --- leases ---

def test_lease_of_a_sweep_with_a_trainer_is_refused(client):
    from harness import trained
    sweep = client.submit(trained())
    error = client.refused("sweep.edit", sweep=sweep, lease_s=5)
    assert error.pointer == "/lease_s" and "run on slots" in error.message


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


# --- heartbeats ---

def test_heartbeat_says_what_a_report_would_be_told(client):
    sweep = client.submit(driven(early_terminate=asha(variant="promote")))
    t, other = client.ask(sweep, 2)
    assert client.heartbeat(sweep, t) == "continue"
    client.call("trial.cancel", sweep=sweep, trial=t["trial"])
    assert client.heartbeat(sweep, t) == "stop"
    assert client.report(sweep, other, 1, 1, loss=1) == "pause"
    assert client.heartbeat(sweep, other) == "pause"


def test_heartbeat_of_what_is_not_held_is_refused(client):
    sweep = client.submit(driven())
    t, = client.ask(sweep)
    assert client.refused("trial.heartbeat", sweep=sweep, trial=9, attempt=1).code == NOT_FOUND
    error = client.refused("trial.heartbeat", sweep=sweep, trial=t["trial"], attempt=2)
    assert error.code == CONFLICT and error.pointer == "/attempt"
    client.tell(sweep, t, metrics={"loss": 1})
    assert client.refused("trial.heartbeat", sweep=sweep, trial=1, attempt=1).code == CONFLICT


# --- asks that wait ---

class Asking(threading.Thread):
    """An ask on a connection of its own."""

    def __init__(self, daemon, sweep, **more):
        super().__init__(daemon=True)
        self.client, self.answer = daemon.client(), None
        self.params = {"sweep": sweep, "wait_s": 60, **more}
        self.start()

    def run(self):
        try:
            self.answer = self.client.call("trial.ask", **self.params)
        except (RpcError, AssertionError, OSError) as error:
            self.answer = error

    def end(self):
        self.join(90)
        assert not self.is_alive(), "the ask never ended"
        return self.answer


def is_waiting(daemon, sweep, n=1):
    """So many asks have reached the daemon: what each connection sent before them is answered."""
    return wait_until(lambda: daemon.client().call("daemon.stats")["asks_waiting"] == n,
                      f"{n} asks that wait")


@pytest.mark.parametrize("spec, prepare, reason", [
    ({"run_cap": 1}, "tell", "done"),
    ({}, "cancel", "done"),
    ({}, "pause", "paused"),
    ({"max_concurrent": 1}, "", "busy"),
    ({"run_cap": 1}, "", "waiting"),
    ({"run_cap": 2, "early_terminate": {"type": "asha", "variant": "promote", "max_t": 9,
                                        "grace_period": 1, "reduction_factor": 3}}, "pause_trial",
     "waiting")])
def test_empty_ask_says_why(client, spec, prepare, reason):
    sweep = client.submit(driven(**spec))
    handed = client.ask(sweep, 2 if prepare == "pause_trial" else 1)
    if prepare == "tell":
        client.tell(sweep, handed[0], metrics={"loss": 1})
    elif prepare == "pause_trial":
        assert client.report(sweep, handed[0], 1, 1, loss=1) == "pause"
    elif prepare:
        client.call(f"sweep.{prepare}", sweep=sweep)
    assert client.call("trial.ask", sweep=sweep, count=5) == {"trials": [], "reason": reason}


def test_ask_that_finds_trials_has_no_reason(client):
    sweep = client.submit(driven(run_cap=2))
    assert set(client.call("trial.ask", sweep=sweep, count=5, wait_s=60)) == {"trials"}


def test_ask_waits_through_a_pause(daemon, client):
    sweep = client.submit(driven(run_cap=1))
    client.call("sweep.pause", sweep=sweep)
    waits = Asking(daemon, sweep)
    is_waiting(daemon, sweep)
    client.call("sweep.resume", sweep=sweep)
    assert [t["trial"] for t in waits.end()["trials"]] == [1]


def test_ask_that_waits_gets_the_trial_that_was_promoted(daemon, client):
    sweep = client.submit(driven(run_cap=2, early_terminate=asha(
        variant="promote", max_t=4, reduction_factor=2)))
    one, two = client.ask(sweep, 2)
    assert client.report(sweep, one, 1, 1, loss=1) == "pause"
    waits = Asking(daemon, sweep)
    is_waiting(daemon, sweep)
    assert client.report(sweep, two, 1, 1, loss=2) == "pause"
    assert [(t["trial"], t["attempt"]) for t in waits.end()["trials"]] == [(one["trial"], 2)]


def test_ask_that_waits_gets_a_suggestion_when_there_is_work(daemon, client):
    """bayes: its suggestions are made beside the loop, and asks wait for them too."""
    sweep = client.submit(driven(method="bayes", run_cap=12, max_concurrent=2))
    handed = client.ask(sweep, 2)
    seen = {t["trial"] for t in handed}
    while handed:
        waits = Asking(daemon, sweep, wait_s=2)
        client.tell(sweep, handed.pop(), metrics={"loss": 0.5})
        answer = waits.end()
        handed += answer["trials"]
        seen |= {t["trial"] for t in answer["trials"]}
        if not answer["trials"]:
            assert answer["reason"] in ("waiting", "done")
    assert seen == set(range(1, 13))

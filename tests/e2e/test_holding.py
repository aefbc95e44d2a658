"""Who holds a trial of a sweep that clients drive, how long, and what an ask that waits is told."""
import os
import signal
import threading
import time

import pytest

from harness import (CONFLICT, NOT_FOUND, RpcError, asha, driven, fake_os, sweep_command,
                     wait_until)

BUSY = -32003


@pytest.fixture
def hasty(start, tmp_path):
    """A daemon whose minutes pass in seconds."""
    return start("none", **fake_os(tmp_path, speed=60))


def attempts(client, sweep, trial=1):
    return client.call("trial.get", sweep=sweep, trial=trial)["attempts"]


# --- connections ---

def test_connection_that_holds_a_trial_is_not_cut_for_idleness(hasty):
    client, idle = hasty.client(), hasty.client()
    sweep = client.submit(driven(run_cap=1))
    t, = client.ask(sweep)
    idle.call("daemon.info")
    wait_until(idle.closed, "the end of the idle connection")
    assert not client.closed()
    assert client.report(sweep, t, 1, 1, loss=1) == "continue"
    assert client.tell(sweep, t) == "COMPLETED"


def test_connection_that_held_a_trial_is_idle_after_its_end(hasty):
    client = hasty.client()
    sweep = client.submit(driven(run_cap=1))
    client.tell(sweep, client.ask(sweep)[0], metrics={"loss": 1})
    wait_until(client.closed, "the end of the idle connection")


def test_trials_of_a_closed_connection_are_handed_out_again_after_a_minute(hasty):
    client = hasty.client()
    sweep = client.submit(driven(run_cap=3))
    with hasty.client() as other:
        first = other.ask(sweep, 2)
        other.report(sweep, first[0], 1, 1, loss=1)
    again = []
    wait_until(lambda: again.extend(client.ask(sweep, 9)) or len(again) == 3, "all three trials")
    assert sorted((t["trial"], t["attempt"]) for t in again) == [(1, 2), (2, 2), (3, 1)]
    was = attempts(client, sweep)[0]
    assert (was["state"], was["cause"]) == ("RELEASED", "client gone")
    assert was["ended_ms"] >= was["started_ms"]
    with pytest.raises(RpcError, match="was replaced by attempt 2"):
        client.report(sweep, first[0], 2, 2, loss=1)


def test_client_that_comes_back_within_the_minute_keeps_its_trials(hasty):
    client = hasty.client()
    sweep = client.submit(driven(run_cap=3))
    with hasty.client() as other:
        reported, beaten, lost = other.ask(sweep, 3)
        other.report(sweep, reported, 1, 1, loss=1)
    assert client.heartbeat(sweep, beaten) == "continue"
    assert client.report(sweep, reported, 1, 1, loss=1) == "continue"  # a repeat: had it arrived?
    watcher = hasty.client()
    wait_until(lambda: watcher.ask(sweep), "the trial that nobody came back for")
    states = {t["trial"]: (t["state"], t["attempt"]) for t in watcher.trials(sweep)}
    assert states == {reported["trial"]: ("RUNNING", 1), beaten["trial"]: ("RUNNING", 1),
                      lost["trial"]: ("RUNNING", 2)}
    assert client.tell(sweep, beaten, metrics={"loss": 1}) == "COMPLETED"


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

def test_lease_set_by_an_edit_takes_silent_trials_back(daemon, client):
    sweep = client.submit(driven(run_cap=1))
    client.ask(sweep)
    status, out, err = sweep_command(daemon, "edit", sweep, "--lease", "0.3")
    assert (status, err) == (0, "") and "lease_s: none -> 0.3" in out
    again, = wait_until(lambda: client.ask(sweep), "the trial again")
    assert again["attempt"] == 2
    assert attempts(client, sweep)[0]["cause"] == "lease expired"
    status, out, err = sweep_command(daemon, "edit", sweep, "--lease", "none")
    assert (status, err) == (0, "") and "lease_s: 0.3 -> none" in out


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


def test_ask_that_waits_gets_the_trial_that_comes_free(daemon, client):
    sweep = client.submit(driven(max_concurrent=1))
    first, = client.ask(sweep)
    waits = Asking(daemon, sweep)
    is_waiting(daemon, sweep)
    client.tell(sweep, first, metrics={"loss": 1})
    assert [t["trial"] for t in waits.end()["trials"]] == [2]


def test_asks_that_wait_are_served_in_their_order(daemon, client):
    sweep = client.submit(driven(max_concurrent=1))
    handed, = client.ask(sweep)
    waits = []
    for n in range(1, 5):
        waits.append(Asking(daemon, sweep))
        is_waiting(daemon, sweep, n)
    for n, asking in enumerate(waits):
        client.tell(sweep, handed, metrics={"loss": 1})
        handed, = asking.end()["trials"]
        assert handed["trial"] == n + 2


def test_ask_waits_through_a_pause(daemon, client):
    sweep = client.submit(driven(run_cap=1))
    client.call("sweep.pause", sweep=sweep)
    waits = Asking(daemon, sweep)
    is_waiting(daemon, sweep)
    client.call("sweep.resume", sweep=sweep)
    assert [t["trial"] for t in waits.end()["trials"]] == [1]


def test_ask_that_waits_ends_with_the_sweep(daemon, client):
    sweep = client.submit(driven(run_cap=1))
    t, = client.ask(sweep)
    waits = [Asking(daemon, sweep), Asking(daemon, sweep, count=3)]
    is_waiting(daemon, sweep, 2)
    client.tell(sweep, t, metrics={"loss": 1})
    assert [w.end() for w in waits] == [{"trials": [], "reason": "done"}] * 2


def test_ask_waits_no_longer_than_it_asked_to(client):
    sweep = client.submit(driven(run_cap=1))
    client.ask(sweep)
    assert client.call("trial.ask", sweep=sweep, wait_s=0.3)["reason"] == "waiting"
    assert client.refused("trial.ask", sweep=sweep, wait_s=61).pointer == "/wait_s"


def test_ask_that_waits_gets_the_trial_that_was_promoted(daemon, client):
    sweep = client.submit(driven(run_cap=2, early_terminate=asha(
        variant="promote", max_t=4, reduction_factor=2)))
    one, two = client.ask(sweep, 2)
    assert client.report(sweep, one, 1, 1, loss=1) == "pause"
    waits = Asking(daemon, sweep)
    is_waiting(daemon, sweep)
    assert client.report(sweep, two, 1, 1, loss=2) == "pause"
    assert [(t["trial"], t["attempt"]) for t in waits.end()["trials"]] == [(one["trial"], 2)]


def test_ask_of_a_client_that_has_gone_takes_no_trial(daemon, client):
    sweep = client.submit(driven(max_concurrent=1))
    first, = client.ask(sweep)
    gone = Asking(daemon, sweep)
    is_waiting(daemon, sweep)
    gone.client.socket.shutdown(2)
    is_waiting(daemon, sweep, 0)
    client.tell(sweep, first, metrics={"loss": 1})
    assert client.sweep(sweep)["counts"]["RUNNING"] == 0


def test_asks_that_wait_are_told_that_the_daemon_ends(daemon, client):
    sweep = client.submit(driven(run_cap=1))
    client.ask(sweep)
    waits = Asking(daemon, sweep)
    is_waiting(daemon, sweep)
    assert daemon.term() == 0
    assert isinstance(waits.end(), RpcError) and waits.answer.code == BUSY
    daemon.start()


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


# --- stored first ---

def test_late_report_is_answered_after_what_it_follows_from_is_stored(start, tmp_path):
    gate = tmp_path / "gate"
    daemon = start("none", **fake_os(tmp_path, gate=gate))
    client, other = daemon.client(), daemon.client()
    sweep = client.submit(driven(run_cap=1))
    t, = other.ask(sweep)
    gate.touch()
    client.send({"jsonrpc": "2.0", "id": 1, "method": "trial.cancel",
                 "params": {"sweep": sweep, "trial": 1}})
    # The cancel has been taken, in memory, once it is among what waits for the disk.
    wait_until(lambda: daemon.client().call("daemon.stats")["queued"] > 0, "the cancel")
    other.send({"jsonrpc": "2.0", "id": 2, "method": "trial.report",
                "params": {"sweep": sweep, "trial": 1, "attempt": 1, "seq": 1, "step": 1,
                           "metrics": {"loss": 1}}})
    # A later request of the same connection that needs no disk shows that the report was read;
    # answers keep their order, so another connection asks.
    wait_until(lambda: daemon.client().call("daemon.stats")["queued"] > 1, "the report's answer")
    other.socket.settimeout(0)
    with pytest.raises(BlockingIOError):
        other.socket.recv(1)
    gate.unlink()
    assert other.receive()["result"] == {"decision": "stop"}
    assert client.receive()["result"]["state"] == "CANCELLED"

"""Trials that are handed out before their own rows are stored: fast, and yet nothing is lost."""
import json
import os
import random
import sqlite3

import pytest

from harness import CONFLICT, DEADLINE, wait_until
from replays import database, replay
from search_model import check_point, loss, searched


def prepared(daemon, sweep):
    """(trial, results that its suggestion knew) of each row."""
    with sqlite3.connect(f"file:{database(daemon)}?mode=ro", uri=True) as db:
        return db.execute("SELECT trial, known FROM prepared WHERE sweep = ? ORDER BY trial",
                          (sweep,)).fetchall()


def in_store(daemon, client, sweep, trials, known):
    """Waits until these, and no others, are prepared and the daemon has heard so."""
    wait_until(lambda: prepared(daemon, sweep) == [(n, known) for n in trials],
               f"trials {trials} prepared")
    client.trials(sweep)  # a read is answered after what was committed before it


class Held:
    """Another process holds the file: nothing can be committed until it is let go."""

    def __init__(self, daemon):
        self.db = sqlite3.connect(database(daemon), timeout=DEADLINE, isolation_level=None)

    def __enter__(self):
        self.db.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_):
        self.db.close()


def begun(client, told=0, **more):
    sweep = client.submit(searched("bayes", **more))
    for _ in range(told):
        t, = client.ask(sweep)
        client.tell(sweep, t, metrics={"loss": loss(t["params"])})
    return sweep


def state_of(client, sweep, trial):
    t = client.call("trial.get", sweep=sweep, trial=trial)
    return t["state"], t["attempt"]


def run_out(client, sweep):
    """Asks and tells until nothing more is handed out."""
    seen = []
    while handed := client.ask(sweep, 3):
        for t in handed:
            seen.append((t["trial"], t["attempt"]))
            client.tell(sweep, t, metrics={"loss": loss(t["params"])})
    return seen


def verified(daemon, sweep):
    status, lines, errors = replay(database(daemon), sweep)
    assert status == 0, (lines, errors)


def test_trial_handed_out_before_its_commit_survives_the_daemons_death(start):
    daemon = start()
    client = daemon.client()
    sweep = begun(client, told=6)
    in_store(daemon, client, sweep, [7], 6)
    with Held(daemon):
        t, = client.ask(sweep)  # answered, though nothing can be committed
        daemon.kill9()
    assert t["trial"] == 7 and t["attempt"] == 1
    check_point(t["params"])
    daemon.start()
    client = daemon.client()
    assert state_of(client, sweep, 7) == ("RUNNING", 1)
    assert client.call("trial.get", sweep=sweep, trial=7)["params"] == t["params"]
    assert client.report(sweep, t, 1, 1, loss=0.5) == "continue"
    assert client.tell(sweep, t, metrics={"loss": 0.4}) == "COMPLETED"
    assert [n for n, _ in run_out(client, sweep)] == list(range(8, 25))
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    verified(daemon, sweep)


def test_several_in_one_answer_survive_too(start):
    daemon = start()
    client = daemon.client()
    sweep = begun(client, told=6)
    running = client.ask(sweep, 3)
    in_store(daemon, client, sweep, [10, 11, 12, 13], 6)  # as many as run, and one
    with Held(daemon):
        handed = client.ask(sweep, 4)
        daemon.kill9()
    daemon.start()
    client = daemon.client()
    assert [t["trial"] for t in handed] == [10, 11, 12, 13]
    for t in running + handed:
        assert client.call("trial.get", sweep=sweep, trial=t["trial"])["params"] == t["params"]
        assert client.tell(sweep, t, metrics={"loss": loss(t["params"])}) == "COMPLETED"
    assert client.sweep(sweep)["counts"]["COMPLETED"] == 13
    run_out(client, sweep)
    verified(daemon, sweep)


def test_nothing_is_handed_out_early_while_a_result_waits_for_its_commit(start):
    """The trial that comes after the result must not outlive it."""
    daemon = start()
    client, other = daemon.client(), daemon.client()
    sweep = begun(client, told=6, suggest_wait_ms=0)
    t, = client.ask(sweep)
    in_store(daemon, client, sweep, [8, 9], 6)
    tell = {"jsonrpc": "2.0", "id": 1, "method": "trial.tell",
            "params": {"sweep": sweep, "trial": t["trial"], "attempt": 1, "state": "COMPLETED",
                       "metrics": {"loss": 0.1}}}
    ask = {"jsonrpc": "2.0", "id": 2, "method": "trial.ask", "params": {"sweep": sweep}}
    with Held(daemon):
        client.send(json.dumps(tell).encode() + b"\n" + json.dumps(ask).encode() + b"\n")
        wait_until(lambda: other.call("sweep.get", sweep=sweep)["counts"]["COMPLETED"] == 7,
                   "the tell taken")
        daemon.kill9()
    daemon.start()
    client = daemon.client()
    assert [(t["trial"], t["state"]) for t in client.trials(sweep)[6:]] == [(7, "RUNNING")]
    assert client.tell(sweep, t, metrics={"loss": 0.1}) == "COMPLETED"
    verified(daemon, sweep)


def test_what_nobody_had_is_suggested_again_as_if_nothing_had_happened(start):
    daemon = start()
    client = daemon.client()
    sweep, other = begun(client, told=4), begun(client, told=4)
    in_store(daemon, client, sweep, [5], 4)
    daemon.kill9()
    daemon.start()
    client = daemon.client()
    assert len(client.trials(sweep)) == 4 and client.sweep(sweep)["counts"]["RUNNING"] == 0
    t, = client.ask(sweep)
    assert (t["trial"], t["attempt"]) == (5, 1)
    assert t["params"] == client.ask(other)[0]["params"]
    verified(daemon, sweep)


def test_daemon_that_dies_before_its_recovery_is_stored_is_recovered_from_again(start):
    daemon = start()
    client = daemon.client()
    sweep = begun(client, told=6)
    in_store(daemon, client, sweep, [7], 6)
    with Held(daemon):
        t, = client.ask(sweep)
        for _ in range(2):
            daemon.kill9()
            daemon.start()
        daemon.kill9()
    daemon.start()
    client = daemon.client()
    assert client.tell(sweep, t, metrics={"loss": 0.4}) == "COMPLETED"
    verified(daemon, sweep)


@pytest.mark.parametrize("limit", [{}, {"max_concurrent": 1}])
@pytest.mark.parametrize("loss_of", ["the file", "the machine", "the run"])
def test_where_nobody_can_say_who_has_it_the_next_who_asks_has_it(start, loss_of, limit):
    """As after a loss of power: what the daemon noted is gone, or from another boot or run."""
    daemon = start()
    client = daemon.client()
    sweep = begun(client, told=2, run_cap=6, **limit)
    in_store(daemon, client, sweep, [3], 2)
    with Held(daemon):
        had, = client.ask(sweep)
        daemon.kill9()
    path = os.path.join(daemon.state, "handed")
    if loss_of == "the file":
        os.unlink(path)
    else:
        with open(path, "r+b") as file:
            place = 20 if loss_of == "the machine" else 8
            file.seek(place)
            other = bytes([file.read(1)[0] ^ 2])
            file.seek(place)
            file.write(other)
    daemon.start()
    client = daemon.client()
    assert state_of(client, sweep, 3) == ("PENDING", 1)
    again, = client.ask(sweep)
    assert (again["trial"], again["attempt"]) == (3, 2) and again["params"] == had["params"]
    error = client.refused("trial.tell", sweep=sweep, trial=3, attempt=1, state="COMPLETED",
                           metrics={"loss": 1.0})
    assert error.code == CONFLICT
    assert client.tell(sweep, again, metrics={"loss": 1.0}) == "COMPLETED"
    assert run_out(client, sweep) == [(n, 1) for n in (4, 5, 6)]
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    first, second = client.call("trial.get", sweep=sweep, trial=3)["attempts"]
    assert first["state"] == "RELEASED" and "the machine went down" in first["cause"]
    assert second["state"] == "COMPLETED"
    verified(daemon, sweep)


def test_without_room_for_its_note_an_answer_waits_for_its_commit(start):
    daemon = start()
    os.mkdir(os.path.join(daemon.state, "handed.new"))  # the next run cannot write its own
    daemon.kill9()
    daemon.start()
    client = daemon.client()
    sweep = begun(client, told=2)
    with Held(daemon):
        client.send({"jsonrpc": "2.0", "id": 1, "method": "trial.ask", "params": {"sweep": sweep}})
        client.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)
    assert client.receive()["result"]["trials"][0]["trial"] == 3
    assert prepared(daemon, sweep) == []


def test_daemon_that_cannot_read_what_a_client_holds_does_not_start(start):
    """Going on would give the trial's number to somebody else."""
    daemon = start()
    client = daemon.client()
    sweep = begun(client, told=2)
    in_store(daemon, client, sweep, [3], 2)
    with Held(daemon):
        client.ask(sweep)
        daemon.kill9()
    with sqlite3.connect(database(daemon)) as db:
        was, = db.execute("SELECT params FROM prepared").fetchone()
        db.execute("UPDATE prepared SET params = '{}'")
    daemon.start(wait=False)
    assert daemon.process.wait(DEADLINE) != 0
    assert f"cannot recover what sweep {sweep} had prepared: " in daemon.tail()
    daemon.process = None
    with sqlite3.connect(database(daemon)) as db:
        db.execute("UPDATE prepared SET params = ?", (was,))
    daemon.start()
    assert state_of(daemon.client(), sweep, 3) == ("RUNNING", 1)


def test_daemon_that_is_stopped_leaves_nothing_in_doubt(start):
    daemon = start()
    client = daemon.client()
    sweep = begun(client, told=2, run_cap=6)
    in_store(daemon, client, sweep, [3], 2)
    assert daemon.term() == 0
    assert prepared(daemon, sweep) == []
    daemon.start()
    client = daemon.client()
    assert len(client.trials(sweep)) == 2
    assert run_out(client, sweep) == [(n, 1) for n in range(3, 7)]


def test_what_is_prepared_goes_when_it_means_nothing_any_more(start):
    daemon = start()
    client = daemon.client()
    sweep = begun(client, told=2)
    in_store(daemon, client, sweep, [3], 2)
    client.call("trial.enqueue", sweep=sweep, params={"lr": 0.5})  # trial 3 is the user's
    in_store(daemon, client, sweep, [], 2)
    client.ask(sweep)
    in_store(daemon, client, sweep, [4, 5], 2)
    client.call("sweep.edit", sweep=sweep, ranges={"lr": {"min": 1e-4, "max": 0.3}})
    daemon.kill9()
    daemon.start()
    client = daemon.client()
    assert len(client.trials(sweep)) == 3
    assert all(t["params"]["lr"] <= 0.3 for t in client.ask(sweep, 4))
    client.call("sweep.cancel", sweep=sweep)
    assert prepared(daemon, sweep) == []
    daemon.kill9()
    daemon.start()
    assert daemon.client().sweep(sweep)["state"] == "CANCELLED"
    verified(daemon, sweep)


def test_other_samplers_and_own_workers_prepare_nothing(start):
    daemon = start()
    client = daemon.client()
    for method in ("random", "tpe"):
        sweep = client.submit(searched(method))
        client.ask(sweep, 3)
        assert prepared(daemon, sweep) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_moment_no_trial_has_two_holders_and_none_is_lost(start, seed):
    """Clients that ask and tell all the while: what one was given is its own, kill or no kill."""
    draw = random.Random(seed)
    daemon = start()
    clients = [daemon.client() for _ in range(3)]
    sweep = clients[0].submit(searched("bayes", run_cap=30, suggest_wait_ms=0))
    params, held, told = {}, {}, set()
    for _ in range(6):
        for _ in range(draw.randrange(2, 12)):
            c = draw.choice(clients)
            if held and draw.random() < 0.5:
                key, t = held.popitem()
                c.tell(sweep, t, metrics={"loss": loss(t["params"])})
                told.add(key[0])
            for t in c.ask(sweep, draw.randrange(1, 4)):
                key = t["trial"], t["attempt"]
                assert key not in held and t["trial"] not in told, key
                assert params.setdefault(t["trial"], t["params"]) == t["params"]
                held[key] = t
        daemon.kill9()
        daemon.start()
        clients = [daemon.client() for _ in range(3)]
        for trial, attempt in held:
            assert state_of(clients[0], sweep, trial) == ("RUNNING", attempt)
        assert clients[0].sweep(sweep)["counts"]["RUNNING"] == len(held)
    client = clients[0]
    for t in held.values():
        client.tell(sweep, t, metrics={"loss": loss(t["params"])})
    run_out(client, sweep)
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED" and got["counts"]["COMPLETED"] == 30
    verified(daemon, sweep)

"""What clients were handed stays theirs, whatever becomes of the daemon: bayes, whose suggestions are made
ahead of time."""
import random

import pytest

from again import first_again
from replays import database, replay
from search_model import loss, searched


def run_out(client, sweep):
    """Asks and tells until nothing more is handed out."""
    seen = []
    while handed := client.ask(sweep, 3):
        for t in handed:
            seen.append((t["trial"], t["attempt"]))
            client.tell(sweep, t, metrics={"loss": loss(t["params"])})
    return seen


@pytest.mark.long
@pytest.mark.parametrize("seed", first_again(range(4)))
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
            row = clients[0].call("trial.get", sweep=sweep, trial=trial)
            assert (row["state"], row["attempt"]) == ("RUNNING", attempt), row
        assert clients[0].sweep(sweep)["counts"]["RUNNING"] == len(held)
    client = clients[0]
    for t in held.values():
        client.tell(sweep, t, metrics={"loss": loss(t["params"])})
    run_out(client, sweep)
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED" and got["counts"]["COMPLETED"] == 30
    status, lines, errors = replay(database(daemon), sweep)
    assert status == 0, (lines, errors)

"""Searches over the socket: every method goes on after a kill; a user's own points. What a sampler makes of results,
tests/sched tells; a longer life with kills, test_replay.py."""
import os

import pytest

from harness import sweep_command
from search_model import METHODS, check_point, key, loss, searched


@pytest.mark.parametrize("method", METHODS)
def test_killed_daemon_goes_on_with_the_points_that_another_makes_of_the_same_seed(start, method):
    def life(kills):
        """Trials pending at each kill, an enqueued one between, then some told."""
        daemon = start()
        client = daemon.client()
        sweep = client.submit(searched(method, run_cap=20))
        points, held = [], []
        for turn in range(1, 21):
            if turn == 9:
                client.call("trial.enqueue", sweep=sweep, params={"opt": "sgd", "lr": 0.1})
            held += client.ask(sweep)
            check_point(held[-1]["params"])
            points.append(key(held[-1]["params"]))
            if turn in kills:
                client = daemon.again()
            if turn % 4 == 0:
                for t in held[:-1]:
                    client.tell(sweep, t, metrics={"loss": loss(t["params"])})
                held = held[-1:]
        assert client.ask(sweep) == [] and len(set(points)) > 17
        return points

    assert life(kills=(2, 8, 9, 11, 15, 16)) == life(kills=())


def test_cli_enqueues_by_name_and_value(daemon, client):
    sweep = client.submit(searched("bayes"))
    status, out, err = sweep_command(daemon, "enqueue", sweep, "lr=0.1", "opt=sgd", "arch.l1=32")
    assert (status, out, err) == (0, f"trial {sweep}/1\n", "")
    handed, = client.ask(sweep)
    assert (handed["params"]["lr"], handed["params"]["opt"]) == (0.1, "sgd")
    assert handed["params"]["arch"]["l1"] == 32
    for words in (["lr"], ["lr=1", "lr=2"], ["=1"]):
        status, out, err = sweep_command(daemon, "enqueue", sweep, *words)
        assert status == 2 and out == "" and "NAME=VALUE" in err
    status, out, err = sweep_command(daemon, "enqueue", sweep, "lrr=0.1")
    assert status == 1 and out == "" and err.startswith("sweep: lrr: ") and err.count("\n") == 1
    client = daemon.again()
    assert f"; enqueued by hand, by user {os.getuid()}" in client.call("trial.why", sweep=sweep, trial=1)["text"]
    status, out, err = sweep_command(daemon, "enqueue", sweep, '{"lr": 0.5}', "--json")
    assert status == 0 and '"trial"' in out

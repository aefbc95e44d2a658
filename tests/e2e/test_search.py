"""A user's own points. What a sampler makes of results, tests/sched tells; how each goes on after kills, test_replay.py."""
import os

from harness import sweep_command
from search_model import searched


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

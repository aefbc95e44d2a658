"""ASHA promote on the built-in workers: trials that pause go on as if they never had."""
import random

import pytest

from again import first_again
from checkpoints import assert_continued, curves, kill_on_the_way, replay, undisturbed
from harness import example

pytestmark = pytest.mark.slots("cpu:2")


def promoted(**more):
    """27 trials of the example, without the target that might end it early."""
    return example("digits_promote", **{"metric": {"name": "val_accuracy", "goal": "maximize"},
                                        "retries": 50, **more})


def check_ended(client, sweep, run_cap):
    """Every trial of it ended at a rung or at the top; some went on from a pause to get there."""
    got = client.sweep(sweep)
    assert got["state"] == "COMPLETED", got
    trials = client.trials(sweep)
    assert len(trials) == run_cap
    for t in trials:
        if (t["state"], t["cause"]) == ("INFEASIBLE", "diverged"):
            continue
        assert (t["state"], t["step"]) in {("PRUNED", 1), ("PRUNED", 3), ("PRUNED", 9),
                                           ("COMPLETED", 27)}, t
    assert sum(t["state"] == "COMPLETED" for t in trials) >= 1
    assert sum(t["attempt"] >= 2 for t in trials) >= run_cap // 3
    return trials


@pytest.mark.parametrize("seed", first_again(range(4)))
def test_promote_with_workers_and_daemon_killed_continues_every_curve_exactly(daemon, client, seed):
    rng = random.Random(seed)
    spec = promoted(seed=100 + seed)
    # epochs long enough to be met in their middle
    spec["parameters"] |= {"batch_size": {"values": [8, 16]}, "lr": {"min": 0.001, "max": 0.1}}
    whole = undisturbed(client, spec, 27)
    sweep = client.submit(spec)
    client = kill_on_the_way(daemon, client, sweep, rng, 20)  # about 130 steps are made in all
    client.wait_sweep(sweep)
    trials = check_ended(client, sweep, 27)
    assert_continued(curves(client, sweep), whole)
    assert [t["trial"] for t in trials] == list(range(1, 28))
    replay(daemon, sweep)

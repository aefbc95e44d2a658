"""ASHA promote on the built-in workers: trials that pause go on as if they never had."""
import os
import random

import pytest

from again import first_again
from checkpoints import (assert_continued, curves, damage, example, files, harm_files, kill_on_the_way, log, replay,
                         undisturbed)
from harness import wait_until


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


@pytest.mark.once("as with kills")
def test_promote_on_digits_continues_every_curve_exactly(start):
    daemon = start("cpu:2")
    client = daemon.client()
    whole = undisturbed(client, promoted(), 27)
    sweep = client.submit(promoted())
    client.wait_sweep(sweep)
    trials = check_ended(client, sweep, 27)
    assert_continued(curves(client, sweep), whole)
    for t in trials:
        said = [line for line in log(client, sweep, t["trial"]) if line.startswith("goes on after")]
        # one line for each attempt but the first, each at the rung that it paused at
        assert len(said) == t["attempt"] - 1, t
        assert not [line for line in log(client, sweep, t["trial"]) if "from scratch" in line]
    replay(daemon, sweep)
    # the best trial keeps its last checkpoint, and one that came to the end; the others have none
    done = {t["trial"] for t in trials if t["state"] == "COMPLETED"}
    best = client.call("sweep.best", sweep=sweep)["trials"][0]["trial"]
    wait_until(lambda: len(left := {trial for trial, _ in files(daemon, sweep)}) <= 2 and
               best in left and left <= done | {best} and left & done, "only needed files")


@pytest.mark.parametrize("method", first_again(["bayes", "tpe", "bohb"]))
def test_samplers_learn_from_trials_that_wait_at_their_rungs(start, method):
    client = start("cpu:2").client()
    sweep = client.submit(promoted(method=method))
    client.wait_sweep(sweep)
    trials = check_ended(client, sweep, 27)
    later = [client.call("trial.why", sweep=sweep, trial=t["trial"])["suggestion"]
             for t in trials if t["trial"] > 17]
    # at most ten of 27 come to their end, and those late
    assert any(s["source"] not in {"sobol", "random"} for s in later), later
    assert all(s["nearest"] for s in later), later


@pytest.mark.parametrize("seed", first_again(range(4)))
def test_promote_with_workers_and_daemon_killed_continues_every_curve_exactly(start, seed):
    rng = random.Random(seed)
    daemon = start("cpu:2")
    client = daemon.client()
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


@pytest.mark.once("as unusable checkpoints of other trials: test_checkpoint.py, and the corpus of tests/fuzz")
@pytest.mark.parametrize("harm", ["damaged", "deleted", "cut short"])
def test_promote_whose_checkpoints_are_unusable_goes_on_from_scratch_with_the_same_curve(start,
                                                                                          harm):
    daemon = start("cpu:2")
    client = daemon.client()
    whole = undisturbed(client, promoted(), 27)
    sweep = client.submit(promoted())
    wait_until(lambda: len([t for t in client.trials(sweep) if t["state"] == "PAUSED"]) >= 4,
               "paused trials")
    client.call("sweep.pause", sweep=sweep)
    wait_until(lambda: not [s for s in client.slots() if s["state"] == "BUSY"], "idle slots")
    harm_files(daemon, sweep, {"damaged": damage, "deleted": os.unlink, "cut short": lambda path:
                               os.truncate(path, os.path.getsize(path) - 1)}[harm])
    client.call("sweep.resume", sweep=sweep)
    client.wait_sweep(sweep)
    trials = check_ended(client, sweep, 27)
    assert_continued(curves(client, sweep), whole)
    scratch = [line for t in trials for line in log(client, sweep, t["trial"])
               if line.endswith(": the trial starts from scratch")]
    assert scratch and all(line.startswith("the checkpoint ") for line in scratch), scratch
    why = {"damaged": "is damaged: its checksum is wrong", "cut short": "is cut short: ",
           "deleted": "cannot be read: No such file or directory"}[harm]
    assert all(why in line for line in scratch), scratch
    replay(daemon, sweep)

"""Population based training on the built-in workers: children go on from their donors' weights."""
import random

import pytest

from again import first_again
from checkpoints import curves, kill_on_the_way, replay, undisturbed
from harness import example

pytestmark = pytest.mark.slots("cpu:2")

MEMBERS, EPOCHS, EVERY = 8, 20, 4


def copies():
    """Children whose hyperparameters are their donors': what differs is who trains them."""
    spec = example("digits_pbt", retries=50, run_cap=MEMBERS)
    spec["early_terminate"] |= {"perturbation_interval": EVERY, "perturbation_factors": [1.0], "resample_probability": 0}
    assert spec["trainer"]["epochs"] == EPOCHS
    # nothing that diverges: each member has a whole curve to be held against
    spec["parameters"]["lr"]["max"] = 0.1
    return spec


def lineage(client, sweep):
    """{trial: the member whose values and weights it has, at the far end of the line}."""
    root = {}
    for t in client.trials(sweep):
        parent = client.call("trial.get", sweep=sweep, trial=t["trial"])["parent"]
        root[t["trial"]] = root[parent] if parent else t["trial"]
    return root


def check_copies(client, sweep, spec):
    """Each trial's curve, child or not, is that of its line's first member without a pruner."""
    root = lineage(client, sweep)
    assert sum(trial == first for trial, first in root.items()) == MEMBERS < len(root)
    last = max(root.values())
    # the same numbers, so the same seeds; the values would be those of other numbers' members
    init = [t["params"] for t in client.trials(sweep) if t["trial"] <= last]
    whole = undisturbed(client, {**spec, "init": init}, last)
    for trial, points in curves(client, sweep).items():
        steps = list(points)
        if not steps:
            continue  # a child that had nothing to train
        assert steps == list(range(steps[0], steps[0] + len(steps))), f"trial {trial}: {steps}"
        # a child goes on from a step at which its donor was compared
        assert steps[0] == 1 or (root[trial] != trial and (steps[0] - 1) % EVERY == 0), steps
        for step, metrics in points.items():
            assert metrics == whole[root[trial]][step], f"trial {trial} at step {step}"


def check_ended(client, sweep):
    got = client.sweep(sweep)
    assert got["state"] == "COMPLETED", got
    trials = client.trials(sweep)
    for t in trials:
        assert (t["state"], t["step"] == EPOCHS) in {("COMPLETED", True), ("PRUNED", False)}, t
    # each that was exploited left its place to a child
    exploited = [t for t in trials if t["state"] == "PRUNED"]
    assert all(t["cause"].startswith("exploited: ") for t in exploited)
    assert len(trials) == MEMBERS + len(exploited)


@pytest.mark.parametrize("seed", first_again(range(4)))
def test_pbt_with_workers_and_daemon_killed_continues_every_curve_exactly(daemon, client, seed):
    rng = random.Random(seed)
    spec = copies() | {"seed": 200 + seed}
    spec["trainer"]["batch_size"] = 16
    sweep = client.submit(spec)
    client = kill_on_the_way(daemon, client, sweep, rng, 22)
    client.wait_sweep(sweep)
    check_ended(client, sweep)
    check_copies(client, sweep, spec)
    replay(daemon, sweep)


@pytest.mark.slots("cpu:1")  # one order of the reports, so that such a child is surely met
def test_child_of_a_donor_at_its_own_last_epoch_has_nothing_to_train(daemon, client):
    spec = example("digits_pbt", run_cap=6, seed=3)
    spec["early_terminate"] |= {"perturbation_interval": 2, "quantile_fraction": 0.5}
    spec["trainer"]["epochs"] = "epochs"
    spec["parameters"]["epochs"] = {"values": [2, 4]}
    spec["parameters"]["lr"]["max"] = 0.1
    sweep = client.run(spec, "COMPLETED")
    trials = client.trials(sweep)
    assert {t["state"] for t in trials} <= {"COMPLETED", "PRUNED"}, trials
    idle = [t for t in trials if (t["cause"] or "").startswith("nothing to train after step ")]
    assert idle, [(t["trial"], t["state"], t["cause"]) for t in trials]
    for t in idle:
        assert t["parent"] and t["state"] == "PRUNED" and t["value"] is None
        assert t["cause"].endswith(f"after step {t['params']['epochs']} of trial {t['parent']}")
    replay(daemon, sweep)

"""Population based training on the built-in workers: children go on from their donors' weights."""
import random

import pytest

from again import first_again
from checkpoints import curve, curves, damage, harm_files, kill_on_the_way, log, replay, undisturbed
from harness import example, wait_until

pytestmark = pytest.mark.slots("cpu:2")

MEMBERS, EPOCHS, EVERY = 8, 20, 4


def population(**pbt):
    spec = example("digits_pbt", retries=50, run_cap=MEMBERS)
    spec["early_terminate"] |= {"perturbation_interval": EVERY, **pbt}
    assert spec["trainer"]["epochs"] == EPOCHS
    # nothing that diverges: each member has a whole curve to be held against
    spec["parameters"]["lr"]["max"] = 0.1
    return spec


def copies(**more):
    """Children whose hyperparameters are their donors': what differs is who trains them."""
    return population(perturbation_factors=[1.0], resample_probability=0, **more)


def lineage(client, sweep):
    """{trial: the member whose values and weights it has, at the far end of the line}."""
    root = {}
    for t in client.trials(sweep):
        parent = client.call("trial.get", sweep=sweep, trial=t["trial"])["parent"]
        root[t["trial"]] = root[parent] if parent else t["trial"]
    return root


def check_copies(client, sweep, spec):
    """Each trial's curve, child or not, is that of its line's first member without a pruner.
    Returns {trial: is it a child?}."""
    root = lineage(client, sweep)
    assert sum(trial == first for trial, first in root.items()) == MEMBERS
    last = max(root.values())
    # the same numbers, so the same seeds; the values would be those of other numbers' members
    init = [t["params"] for t in client.trials(sweep) if t["trial"] <= last]
    whole = undisturbed(client, {**spec, "init": init}, last)
    for trial, points in curves(client, sweep).items():
        steps = list(points)
        if not steps:
            continue  # a child whose donor's checkpoint was unusable
        assert steps == list(range(steps[0], steps[0] + len(steps))), f"trial {trial}: {steps}"
        # a child goes on from a step at which its donor was compared
        assert steps[0] == 1 or (root[trial] != trial and (steps[0] - 1) % EVERY == 0), steps
        for step, metrics in points.items():
            assert metrics == whole[root[trial]][step], f"trial {trial} at step {step}"
    return {trial: trial != first for trial, first in root.items()}


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
    return trials


def test_pbt_children_begin_with_what_their_donors_had_learned(daemon, client):
    spec = population(quantile_fraction=0.5)
    sweep = client.run(spec)
    trials = {t["trial"]: t for t in check_ended(client, sweep)}
    parents = {n: client.call("trial.get", sweep=sweep, trial=n)["parent"] for n in trials}
    assert any(parents.values())
    for n, parent in parents.items():
        if not parent:
            continue
        mine, donors = curve(client, sweep, n), curve(client, sweep, parent)
        begun = min(mine) - 1
        assert f"goes on after step {begun} of trial {sweep}/{parent}" in log(client, sweep, n)
        # better after one epoch than a beginner, and no worse than a bad step from the donor
        first = donors[min(donors)] if min(donors) == 1 else None
        if first:
            assert mine[begun + 1]["val_loss"] < first["val_loss"], f"trial {n}"
        kept = {k: v for k, v in trials[n]["params"].items() if k == "drop"}
        assert kept == {"drop": trials[parent]["params"]["drop"]}
        assert trials[n]["params"] != trials[parent]["params"]
    replay(daemon, sweep)


@pytest.mark.parametrize("seed", first_again(range(4)))
def test_pbt_with_workers_and_daemon_killed_continues_every_curve_exactly(start, seed):
    rng = random.Random(seed)
    daemon = start("cpu:2")
    client = daemon.client()
    spec = copies() | {"seed": 200 + seed}
    spec["trainer"]["batch_size"] = 16
    sweep = client.submit(spec)
    client = kill_on_the_way(daemon, client, sweep, rng, 22)
    client.wait_sweep(sweep)
    check_ended(client, sweep)
    check_copies(client, sweep, spec)
    replay(daemon, sweep)


@pytest.mark.once("as with promote")
def test_pbt_with_damaged_checkpoints_starts_members_from_scratch_and_fails_children(daemon, client):
    spec = copies()
    spec["trainer"]["epochs"] = 5 * EPOCHS  # so that it is met while members are paused
    sweep = client.submit(spec)
    # members alone: once there are children, these wait in the places of those that were exploited
    wait_until(lambda: len([t for t in client.trials(sweep) if t["state"] == "PAUSED"]) >= 2,
               "paused members")
    client.call("sweep.pause", sweep=sweep)
    wait_until(lambda: not [s for s in client.slots() if s["state"] == "BUSY"], "idle slots")
    harm_files(daemon, sweep, damage)
    client.call("sweep.resume", sweep=sweep)
    client.wait_sweep(sweep)
    child = check_copies(client, sweep, spec)
    scratch = 0
    for t in client.trials(sweep):
        lines = [x for x in log(client, sweep, t["trial"]) if "is damaged: its checksum" in x]
        if not child[t["trial"]]:
            # a line for each file that was there, the newest first
            assert not lines or lines[-1].endswith(": the trial starts from scratch"), lines
            assert t["state"] in ("COMPLETED", "PRUNED"), t
            scratch += len(lines)
        elif lines:
            assert t["state"] == "FAILED" and "is damaged: its checksum" in t["cause"], t
    assert scratch >= 1
    replay(daemon, sweep)


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

"""Checkpoints of any sweep with a trainer: exact resumption, damage, what is kept and for how long."""
import os
import signal

import pytest

from again import first_again
from checkpoints import curves, damage, files, log, replay
from harness import slow, sweep_command, trained, wait_until

pytestmark = pytest.mark.slots("cpu:1")


def state(path):
    """All of a checkpoint but whose it is and the checksum: steps, seed, shapes, tensors."""
    with open(path, "rb") as file:
        data = file.read()
    return data[:24] + data[40:-16]


def final(daemon, sweep):
    return {trial: (step, state(path)) for (trial, step), path in files(daemon, sweep).items()}


def long(seed, **more):
    return slow(epochs=25, **{"run_cap": 2, "retries": 100, "seed": seed,
                              "checkpoint": {"every": 1, "keep": "all"}, **more})


def busy(client, sweep):
    return [s for s in client.slots() if s["state"] == "BUSY" and s["sweep"] == sweep]


@pytest.mark.parametrize("harm", first_again(["flipped", "cut short"]))
def test_unusable_last_checkpoint_is_refused_with_a_line_and_the_one_before_it_used(daemon, client, harm):
    whole = client.run(long(3, run_cap=1))
    sweep = client.submit(long(3, run_cap=1))
    wait_until(lambda: client.call("trial.get", sweep=sweep, trial=1)["step"] >= 4
               if client.trials(sweep) else False, "a few epochs")
    slot, = busy(client, sweep)
    daemon.note_workers()
    os.kill(slot["pid"], signal.SIGSTOP)

    def last():
        return client.trials(sweep)[0]["resume_step"]

    def quiet():
        at = last()
        return at > 2 and {step for _, step in files(daemon, sweep) if step <= at} == {at - 1, at}

    wait_until(quiet, "two files while the trial runs")
    at = last()
    path = files(daemon, sweep)[1, at]
    if harm == "flipped":
        damage(path)
    else:
        os.truncate(path, os.path.getsize(path) - 1)
    os.kill(slot["pid"], signal.SIGKILL)
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1
    why = {"flipped": "is damaged: its checksum is wrong", "cut short": "is cut short: "}[harm]
    said = [line for line in log(client, sweep, 1) if line.startswith(f"the checkpoint 1-{at}.ckpt")]
    assert len(said) == 1 and why in said[0], log(client, sweep, 1)
    assert said[0].endswith(f": the one before it, of step {at - 1}, is used")
    for each in (whole, sweep):  # those before the last go after the sweep has ended
        wait_until(lambda each=each: files(daemon, each).keys() == {(1, 25)}, "its last file alone")
    assert final(daemon, sweep) == final(daemon, whole)
    assert curves(client, sweep) == curves(client, whole)


@pytest.mark.parametrize("every", [3, None])
def test_checkpoints_are_written_every_so_many_epochs_and_of_the_last(client, every):
    """Without a number they are by time, and none of these trials takes half a minute. The first trial of
    a sweep writes its best epochs, too."""
    sweep = client.run(trained(epochs=7, run_cap=1,
                               checkpoint={"every": every} if every else {}))
    reports = client.reports(sweep, 1)
    losses = [r["metrics"]["val_loss"] for r in reports]
    better = {i + 1 for i, loss in enumerate(losses) if i == 0 or loss < min(losses[:i])}
    steps = {r["step"] for r in reports if r["checkpoint"]}
    assert steps == ({3, 6, 7} if every else {7}) | better


def test_trial_that_ends_by_patience_has_a_checkpoint_of_its_last_epoch(daemon, client):
    spec = trained(epochs=50, run_cap=1, layers=[{"linear": 3}],
                   parameters={"lr": {"values": [1e-30]}, "batch_size": {"value": 16}})
    spec["trainer"]["patience"] = 3
    sweep = client.submit(spec)
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1
    reports = client.reports(sweep, 1)
    assert 3 < len(reports) < 50
    assert [r["step"] for r in reports if r["checkpoint"]][-1] == len(reports)
    wait_until(lambda: files(daemon, sweep).keys() == {(1, len(reports))}, "its file")
    why = "patience: val_loss not lower for 3 epochs"
    assert client.trials(sweep)[0]["cause"] == why
    assert f"completed at step {len(reports)}: {why}" in sweep_command(daemon, "why", "1/1")[1]
    assert f"COMPLETED ({why})" in sweep_command(daemon, "show", "1/1")[1]
    assert f"ended after epoch {len(reports)}: {why}" in sweep_command(daemon, "log", "1/1")[1]
    replay(daemon, sweep)

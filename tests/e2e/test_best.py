"""The best epoch, not the last: what `best` names is what the checkpoint holds, and what is exported."""
import os

import pytest

import plain_net as net
from checkpoints import files, replay
from harness import sweep_command, trained, wait_until
from test_export import NETS, dataset

EPOCHS = 24


def spec_of(folder, **more):
    """Labels that say nothing of the rows: what is learnt of the training rows is wrong for the others, so
    that the loss of validation is lowest early on."""
    data, val = dataset(str(folder), (5,))
    spec = trained(epochs=EPOCHS, dataset=data, layers=NETS["numbers"][1], **{
        "run_cap": 3, "seed": 5, "parameters": {"lr": {"min": 0.02, "max": 0.1},
                                                "batch_size": {"value": 16}}, **more})
    spec["trainer"].update(scale="none", momentum=0.9)
    return spec, val


def best_report(client, sweep, trial):
    """The first of the lowest."""
    return min(client.reports(sweep, trial), key=lambda r: r["metrics"]["val_loss"])


def exported(daemon, sweep, out, trial=None):
    """The tensors, the metadata and what was said."""
    ref = f"{sweep}/{trial}" if trial else f"{sweep}"
    status, said, wrong = sweep_command(daemon, "checkpoint", ref, "--out", out)
    assert (status, wrong) == (0, ""), wrong
    return *net.load(out), said


def assert_best_is_exported(daemon, client, sweep, val, folder):
    """sweep.best's row is of one report, the best of all, and the file has the weights of that epoch."""
    row, = client.call("sweep.best", sweep=sweep)["trials"]
    trials = [t for t in client.trials(sweep) if t["state"] not in ("FAILED", "INFEASIBLE")]
    of_all = min((best_report(client, sweep, t["trial"])["metrics"]["val_loss"], t["trial"]) for t in trials)
    report = best_report(client, sweep, row["trial"])
    assert (row["value"], row["trial"]) == of_all
    assert (row["step"], row["metrics"]) == (report["step"], report["metrics"])
    assert row["value"] == row["metrics"]["val_loss"]
    out = os.path.join(folder, f"best-{sweep}.safetensors")
    tensors, meta, said = exported(daemon, sweep, out)
    assert said == f"trial {sweep}/{row['trial']} after step {row['step']} -> {out}\n"
    assert (meta["trial"], meta["epoch"]) == (str(row["trial"]), str(row["step"]))
    losses = [net.cross_entropy(NETS["numbers"][2](tensors, x), y) for x, y in val]
    assert sum(losses) / len(losses) == pytest.approx(row["value"], rel=1e-5)
    return row


@pytest.mark.slots("cpu:1")
def test_best_epoch_is_named_kept_exported_and_fitted(daemon, client, tmp_path):
    spec, val = spec_of(tmp_path)
    sweep = client.run(spec)
    row = assert_best_is_exported(daemon, client, sweep, val, tmp_path)
    assert 1 <= row["step"] < EPOCHS - 1
    for t in client.trials(sweep):
        best, last = best_report(client, sweep, t["trial"]), client.reports(sweep, t["trial"])[-1]
        assert t["best"] == {"step": best["step"], "value": best["metrics"]["val_loss"]}
        assert (t["step"], t["metrics"], t["value"]) == (EPOCHS, last["metrics"], last["metrics"]["val_loss"])
    says = f"trial {sweep}/{row['trial']}  val_loss = {row['value']!r} at step {row['step']} (minimize)\n"
    assert sweep_command(daemon, "best", sweep)[1].startswith(says)
    for words in (("show", sweep), ("watch", sweep)):
        assert f" at step {row['step']}  " in sweep_command(daemon, *words)[1]
    assert client.call("sweep.list")["sweeps"][0]["best"] == {
        "trial": row["trial"], "step": row["step"], "value": row["value"]}
    assert client.sweep(sweep)["best"] == row
    out = str(tmp_path / "fit.safetensors")
    status, said, wrong = sweep_command(daemon, "fit", sweep, "--out", out)
    assert (status, wrong) == (0, ""), wrong
    assert f"for {row['step']} epochs, " in said
    assert net.load(out)[1]["epoch"] == str(row["step"])


@pytest.mark.parametrize("stop", [{"type": "patience", "patience": 4},
                                  {"type": "asha", "grace_period": 3, "max_t": EPOCHS, "reduction_factor": 3},
                                  {"type": "asha", "variant": "promote", "grace_period": 6, "max_t": EPOCHS,
                                   "reduction_factor": 2},
                                  {"type": "pbt", "perturbation_interval": 8}], ids=lambda s: s["type"])
@pytest.mark.slots("cpu:2")
def test_best_epoch_is_on_the_disk_whatever_ends_the_trial(daemon, client, tmp_path, stop):
    spec, val = spec_of(tmp_path, early_terminate=stop, run_cap=8)
    sweep = client.run(spec)
    assert_best_is_exported(daemon, client, sweep, val, tmp_path)
    wait_until(lambda: len(files(daemon, sweep)) <= 2, "the best one's and the last one's files alone")
    replay(daemon, sweep)
    daemon.term()
    daemon.start()
    client = daemon.client()
    assert_best_is_exported(daemon, client, sweep, val, tmp_path)

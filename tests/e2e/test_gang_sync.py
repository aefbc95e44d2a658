"""Batch norms over the rows of all ranks of a trial: the curve of one slot with the whole batch."""
from checkpoints import curve, log
from gangs import shared
from harness import trained

IMAGES = {"format": "synthetic", "image": [2, 8, 8], "rows": 163, "classes": 3}
NET = [{"conv2d": {"out": 6, "kernel": 3}}, "batchnorm", "relu", {"maxpool2d": 2}, "flatten", {"linear": 3}]
# The last batch of 131 rows has 11, the first rank's.
PARAMETERS = {"lr": {"values": [0.02, 0.05]}, "batch_size": {"value": 30}}


def net(**more):
    return trained(**{"method": "grid", "run_cap": 2, "epochs": 3, "dataset": IMAGES, "layers": NET,
                      "parameters": PARAMETERS, **more})


def synced(spec, world=2):
    spec = shared(spec, world)
    spec["parallel"]["sync_batchnorm"] = True
    return spec


def furthest(got, want):
    """The largest difference of two curves' losses."""
    assert got.keys() == want.keys() and want
    return max(abs(got[step][name] - metrics[name])
               for step, metrics in want.items() for name in ("train_loss", "val_loss"))


def test_gang_with_sync_has_the_curve_of_one_slot(start):
    client = start("cpu:2").client()
    sweeps = [client.submit(spec) for spec in (net(), synced(net(), 2), shared(net(), 2))]
    for sweep in sweeps:
        assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2, log(client, sweep, 1)
    one, with_sync, without = sweeps
    for trial in (1, 2):
        want = curve(client, one, trial)
        assert furthest(curve(client, with_sync, trial), want) < 1e-5
        assert furthest(curve(client, without, trial), want) > 1e-3
        assert "batch norms take the rows of all ranks" in log(client, with_sync, trial)
        assert not any("batch norms" in line for line in log(client, without, trial))


def test_part_that_does_not_fit_is_infeasible_with_sync(start):
    client = start("cpu:2", "--cpu-memory", "400K").client()
    wide = net(run_cap=1, layers=[{"linear": 512}, "batchnorm", "relu", {"linear": 3}],
               dataset={"format": "synthetic", "features": 16, "rows": 163, "classes": 3},
               parameters={"lr": {"value": 0.02}, "batch_size": {"value": 128}})
    without, with_sync = client.submit(shared(wide)), client.submit(synced(wide))
    assert client.wait_sweep(without)["counts"]["COMPLETED"] == 1, log(client, without, 1)
    assert any("batch norms take the statistics of parts" in line for line in log(client, without, 1))
    client.wait_sweep(with_sync)
    trial = client.trials(with_sync)[0]
    assert (trial["state"], trial["cause"]) == ("INFEASIBLE", "oom"), log(client, with_sync, 1)
    assert any("the 64 rows of a rank, in one part for sync_batchnorm, need " in line
               for line in log(client, with_sync, 1))

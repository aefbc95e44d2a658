"""A trial on several slots, which share its batches or have its layers: the curve and the files of slots without
stages that take the batches in the same parts, whatever comes between."""
import os

import pytest

from checkpoints import assert_continued, curve, curves, log, replay, undisturbed
from gangs import FACTS, MICROBATCHES, Machine, alone, shared, small
from harness import sweep_command

pytestmark = pytest.mark.slots("cpu:2")


def assert_close(got, want):
    """Losses are sums in another order; what is counted is the same."""
    assert got.keys() == want.keys()
    for step, metrics in want.items():
        assert got[step].keys() == metrics.keys()
        for name, value in metrics.items():
            assert got[step][name] == pytest.approx(value, rel=1e-12, abs=1e-12), (step, name)


def weights(daemon, sweep, trial, folder):
    path = os.path.join(folder, f"{sweep}-{trial}.safetensors")
    status, _, error = sweep_command(daemon, "checkpoint", f"{sweep}/{trial}", "--out", path)
    assert status == 0, error
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        file.read(size)  # names the sweep
        return file.read()


LAYERS = [{"linear": "width"}, "relu", {"residual": [{"linear": "width"}, "tanh"]}, {"linear": "width"}, "relu",
          {"dropout": 0.1}, {"linear": 3}]


@pytest.mark.parametrize("world, stages, said", [
    (2, 1, "2 ranks share each batch"), (3, 1, "3 ranks share each batch"),
    (2, 2, "batches go in 3 micro-batches through 2 stages"), (3, 3, "batches go in 3 micro-batches through 3 stages"),
    (4, 2, "2 pipelines share each batch; it goes in 3 micro-batches through 2 stages")])
def test_gang_trains_as_slots_without_stages_do_in_parts(start, tmp_path, world, stages, said):
    daemon = start(f"cpu:{world}")
    client = daemon.client()
    machine = Machine(daemon, client)
    spec = small(layers=LAYERS, checkpoint={"keep": "all"}, parameters={**FACTS, "batch_size": {"value": 18}})
    gang = client.submit(shared(spec, world, stages))
    sharers = world // stages if stages > 1 else 1
    plain = alone(shared(spec, sharers) if sharers > 1 else spec, world if stages == 1 else sharers * MICROBATCHES)
    others = client.submit(plain)
    for sweep in (gang, others):
        assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2, log(client, sweep, 1)
    for trial in (1, 2):
        assert_close(curve(client, gang, trial), curve(client, others, trial))
        assert weights(daemon, gang, trial, tmp_path) == weights(daemon, others, trial, tmp_path)
        lines = log(client, gang, trial)
        assert any(line.startswith(said) for line in lines), lines
        if stages > 1:
            assert any(line.startswith("stages have ") and line.count("%") == stages for line in lines), lines
            assert all(0 < r["metrics"]["pipeline_bubble"] < 1 for r in client.reports(gang, trial))
    machine.check()


def test_batch_norms_of_a_gang_with_sync_are_those_of_one_slot(client):
    """The last batch of 131 rows has 11, the first rank's."""
    one = small(run_cap=1, dataset={"format": "synthetic", "image": [2, 8, 8], "rows": 163, "classes": 3},
                layers=[{"conv2d": {"out": 6, "kernel": 3}}, "batchnorm", "relu", {"maxpool2d": 2}, "flatten",
                        {"linear": 3}], parameters={"lr": {"value": 0.05}, "batch_size": {"value": 30}})
    without, synced = shared(one), shared(one)
    synced["parallel"]["sync_batchnorm"] = True
    sweeps = [client.submit(spec) for spec in (one, synced, without)]
    for sweep in sweeps:
        assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1, log(client, sweep, 1)
    want, got, other = (curve(client, sweep, 1) for sweep in sweeps)
    for step, metrics in want.items():
        assert got[step] == pytest.approx(metrics, abs=1e-5)
    assert max(abs(other[step]["val_loss"] - metrics["val_loss"]) for step, metrics in want.items()) > 1e-3
    said = [[line for line in log(client, sweep, 1) if "batch norms" in line] for sweep in sweeps]
    assert "batch norms take the rows of all ranks" in said[1] and not said[0] + said[2], said


@pytest.mark.parametrize("stages", [1, 2])
def test_asha_promote_pauses_gangs_and_continues_every_curve_exactly(daemon, client, stages):
    spec = shared(small(run_cap=9, epochs=9, parameters={**FACTS, "lr": {"min": 0.001, "max": 0.2}}), stages=stages)
    whole = undisturbed(client, spec, 9)
    sweep = client.submit({**spec, "early_terminate": {"type": "asha", "variant": "promote", "max_t": 9,
                                                       "grace_period": 1, "reduction_factor": 3}})
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert sum(t["attempt"] > 1 for t in client.trials(sweep)) >= 3
    assert_continued(curves(client, sweep), whole)
    replay(daemon, sweep)

"""A trial whose layers lie on several slots: the curve of one slot with the same micro-batches, and its files.
Of pauses and of donors test_gang.py says both: by rows and by layers."""
import pytest

from checkpoints import curve, log
from gangs import FACTS, MICROBATCHES, Machine, alone, lead, long, shared, small
from harness import wait_until
from test_gang import assert_close, weights

LAYERS = [{"linear": "width"}, "relu", {"residual": [{"linear": "width"}, "tanh"]}, {"linear": "width"}, "relu",
          {"dropout": 0.1}, {"linear": 3}]


@pytest.mark.parametrize("stages", [2, 3])
def test_pipeline_trains_as_one_slot_does_in_parts(start, tmp_path, stages):
    daemon = start(f"cpu:{stages}")
    client = daemon.client()
    machine = Machine(daemon, client)
    spec = small(layers=LAYERS, checkpoint={"keep": "all"})
    many = client.submit(shared(spec, stages, stages))
    one = client.submit(alone(spec, MICROBATCHES))
    for sweep in (many, one):
        assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2, log(client, sweep, 1)
    for trial in (1, 2):
        assert_close(curve(client, many, trial), curve(client, one, trial))
        assert weights(daemon, many, trial, tmp_path) == weights(daemon, one, trial, tmp_path)
        said = log(client, many, trial)
        assert f"batches go in {MICROBATCHES} micro-batches through {stages} stages" in said
        assert any(line.startswith("stages have ") and line.count("%") == stages for line in said), said
        assert all(0 < r["metrics"]["pipeline_bubble"] < 1 for r in client.reports(many, trial))
    machine.check()


def test_two_pipelines_train_as_two_ranks_do_in_parts(start, tmp_path):
    daemon = start("cpu:4")
    client = daemon.client()
    machine = Machine(daemon, client)
    spec = small(layers=LAYERS, checkpoint={"keep": "all"}, parameters={**FACTS, "batch_size": {"value": 18}})
    many = client.submit(shared(spec, 4, stages=2))
    two = client.submit({**shared(spec), "trainer": {**spec["trainer"], "micro_batch": 18 // 2 // MICROBATCHES}})
    for sweep in (many, two):
        assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2, log(client, sweep, 1)
    for trial in (1, 2):
        assert_close(curve(client, many, trial), curve(client, two, trial))
        assert weights(daemon, many, trial, tmp_path) == weights(daemon, two, trial, tmp_path)
    assert any(line.startswith("2 pipelines share each batch; it goes in 3 micro-batches through 2 stages")
               for line in log(client, many, 1))
    machine.check()


def test_cancelled_pipeline_leaves_nothing(start):
    daemon = start("cpu:2")
    client = daemon.client()
    machine = Machine(daemon, client)
    sweep = client.submit(shared(long(epochs=100000), stages=2))
    wait_until(lambda: lead(client, sweep), "the trial")
    wait_until(lambda: (client.trials(sweep)[0]["step"] or 0) > 1, "an epoch")
    client.call("sweep.cancel", sweep=sweep)
    machine.check()

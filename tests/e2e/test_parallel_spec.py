"""A sweep whose trials take several slots of a trainer's: what the daemon says of it before one runs."""
import json
import re

import pytest

from harness import RpcError, sweep_command, trained, wait_until

# 1 MiB of weights and a batch that is work for both, and a net that is done before its gradients are added up.
LARGE = {"format": "synthetic", "features": 512, "rows": 600, "classes": 10}
DEEP = [{"linear": 512}, "relu", {"linear": 512}, "relu", {"linear": 512}, "relu", {"linear": 10}]
WIDE = [{"linear": 512}, "relu", {"linear": 10}]


def gang(n, **more):
    return trained(**{"resources": {"cpu_slots": n}, "parallel": {"data": n}, **more})


def large(n, **more):
    return gang(n, **{"dataset": LARGE, "layers": WIDE,
                      "parameters": {"lr": {"value": 0.1}, "batch_size": {"value": 512}}, **more})


def staged(stages, data=1, **more):
    """The same with a pipeline: each trial on stages x data slots."""
    return large(stages * data, **{"parallel": {"pipeline": stages, "data": data}, "layers": DEEP, **more})


def test_gang_that_loses_is_warned_of(start):
    client = start("cpu:2").client()
    small, large_one = (client.call("sweep.validate", spec=spec) for spec in (gang(2), large(2)))
    line = next(w for w in small["warnings"] if w.startswith("/parallel"))
    assert "too few for 2 slots" in line and "2 trials at once get more done" in line
    assert not any("at once get more done" in line for line in large_one["warnings"]), large_one
    assert large_one["gang"] == {"ranks": 2}
    assert client.call("sweep.validate", spec=trained())["gang"] is None


def test_validate_says_how_a_pipeline_is_cut(start, tmp_path):
    daemon = start("cpu:4")
    client = daemon.client()
    two, four = (client.call("sweep.validate", spec=spec)["gang"] for spec in (staged(2), staged(2, 2)))
    assert (two["ranks"], four["ranks"]) == (2, 4)
    assert two["stages"] == four["stages"] == 2 and two["bubble"] == pytest.approx(1 / 9)
    assert 0.5 <= two["heaviest"] < 0.8, two
    (tmp_path / "spec.json").write_text(json.dumps(staged(2)), encoding="utf-8")
    status, out, err = sweep_command(daemon, "validate", str(tmp_path / "spec.json"))
    line = re.search(r"a pipeline of 2 stages: the heaviest has (\d+)% of the work; each waits at least 11% of a step\n", out)
    assert status == 0 and line and int(line[1]) == round(100 * two["heaviest"]), (out, err)
    assert "stages" not in client.call("sweep.validate", spec=large(2))["gang"]


def test_pipeline_that_waits_much_is_warned_of(start):
    client = start("cpu:2").client()
    spec = staged(2, parallel={"pipeline": 2, "microbatches": 1})
    lines = client.call("sweep.validate", spec=spec)["warnings"]
    assert any(line.startswith("/parallel/microbatches: with 1 micro-batch ") for line in lines), lines
    spec = staged(2, parallel={"pipeline": 2, "microbatches": 1024})
    lines = client.call("sweep.validate", spec=spec)["warnings"]
    assert any("fewer than 1024 micro-batches" in line for line in lines), lines


@pytest.mark.parametrize("stages, layers", [(4, WIDE), (3, [{"residual": [{"linear": 512}]}, {"linear": 10}])])
def test_model_that_cannot_be_cut_is_refused(start, stages, layers):
    client = start("cpu:4").client()
    error = client.refused("sweep.submit", spec=staged(stages, layers=layers))
    assert error.pointer == "/spec/parallel/pipeline"
    assert f"cannot be cut into {stages} stages" in error.message


def test_gang_of_more_slots_than_there_are_waits_and_says_so(start):
    client = start("cpu:2").client()
    got = client.call("sweep.submit", spec=gang(3))
    assert any("fewer CPU slots than resources.cpu_slots asks for" in line for line in got["warnings"]), got
    cause = wait_until(lambda: client.sweep(got["sweep"])["cause"], "why it waits")
    assert cause == "waits for 3 CPU slots: this daemon has fewer"


@pytest.mark.parametrize("change, pointer, line", [
    ({"parallel": {"data": 3}}, "/spec/parallel/data", "each rank has one slot"),
    ({"parallel": None}, "/spec/resources/cpu_slots", 'needs "command" or "program", or, with a trainer, "parallel"'),
    ({"resources": {"gpu": 1}}, "/spec/parallel/data", "each rank has one GPU"),
    ({"resources": None}, "/spec/parallel", "needs a slot for each rank"),
    ({"trainer": None}, "/spec/parallel", '"parallel" needs "trainer"'),
    ({"parallel": {"data": 65}}, "/spec/parallel/data", "at most 64"),
    ({"parallel": {"pipeline": 65}}, "/spec/parallel/pipeline", "at most 64"),
    ({"parallel": {"pipeline": 3}}, "/spec/parallel/pipeline", '"pipeline" is 3 and "cpu_slots" is 2'),
    ({"parallel": {"data": 2, "pipeline": 2}}, "/spec/parallel", 'times "pipeline" 2 is 4, and "cpu_slots" is 2'),
    ({"parallel": {"data": 2, "microbatches": 4}}, "/spec/parallel/microbatches", 'needs a "pipeline"'),
    ({"parallel": {"transport": "shm"}}, "/spec/parallel", 'needs "data"'),
    ({"parallel": {"data": 2, "transport": "tcp"}}, "/spec/parallel/transport", "in shared memory; leave it out"),
    ({"parallel": {"pipeline": 2}, "parameters": {"micro_batch": {"values": [8, 16]}}}, "/spec/parameters/micro_batch",
     "give parallel.microbatches"),
])
def test_what_cannot_be_is_refused_at_its_place(client, change, pointer, line):
    spec = {k: v for k, v in {**gang(2), **change}.items() if v is not None}
    with pytest.raises(RpcError) as refused:
        client.call("sweep.submit", spec=spec)
    assert refused.value.pointer == pointer and line in refused.value.message


def test_micro_batch_of_a_pipeline_is_refused(client):
    spec = staged(2)
    spec["trainer"]["micro_batch"] = 8
    error = client.refused("sweep.submit", spec=spec)
    assert error.pointer == "/spec/trainer/micro_batch" and "give parallel.microbatches" in error.message


def test_precision_that_no_cpu_has_is_refused(start):
    client = start("cpu:2").client()
    spec = gang(2)
    spec["trainer"]["precision"] = "bf16"
    assert "no slot computes in bf16" in client.refused("sweep.submit", spec=spec).message


def test_memory_is_that_of_each_rank(start):
    client = start("cpu:4").client()
    alone, two, four = (client.call("sweep.validate", spec=s)["bytes"]
                        for s in (trained(dataset=LARGE, layers=WIDE, parameters=large(2)["parameters"]), large(2), large(4)))
    assert four < two < alone, (alone, two, four)
    one, stages = (client.call("sweep.validate", spec=s)["bytes"] for s in (large(1, layers=DEEP), staged(2)))
    assert stages < one, (one, stages)

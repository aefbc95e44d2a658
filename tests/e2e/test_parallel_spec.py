"""A sweep whose trials take several slots of a trainer's: what the daemon says of it before one runs."""
import json
import re

import pytest

from harness import sweep_command, trained, wait_until

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


@pytest.mark.slots("cpu:4")
def test_validate_says_how_a_pipeline_is_cut(daemon, client, tmp_path):
    two, four = (client.call("sweep.validate", spec=spec)["gang"] for spec in (staged(2), staged(2, 2)))
    assert (two["ranks"], four["ranks"]) == (2, 4)
    assert two["stages"] == four["stages"] == 2 and two["bubble"] == pytest.approx(1 / 9)
    assert 0.5 <= two["heaviest"] < 0.8, two
    (tmp_path / "spec.json").write_text(json.dumps(staged(2)), encoding="utf-8")
    status, out, err = sweep_command(daemon, "validate", str(tmp_path / "spec.json"))
    line = re.search(r"a pipeline of 2 stages: the heaviest has (\d+)% of the work; each waits at least 11% of a step\n", out)
    assert status == 0 and line and int(line[1]) == round(100 * two["heaviest"]), (out, err)
    assert "stages" not in client.call("sweep.validate", spec=large(2))["gang"]


def test_gang_of_more_slots_than_there_are_waits_and_says_so(start):
    client = start("cpu:2").client()
    got = client.call("sweep.submit", spec=gang(3))
    assert any("fewer CPU slots than resources.cpu_slots asks for" in line for line in got["warnings"]), got
    cause = wait_until(lambda: client.sweep(got["sweep"])["cause"], "why it waits")
    assert cause == "waits for 3 CPU slots: this daemon has fewer"


def test_memory_is_that_of_each_rank(start):
    client = start("cpu:4").client()
    alone, two, four = (client.call("sweep.validate", spec=s)["bytes"]
                        for s in (trained(dataset=LARGE, layers=WIDE, parameters=large(2)["parameters"]), large(2), large(4)))
    assert four < two < alone, (alone, two, four)
    one, stages = (client.call("sweep.validate", spec=s)["bytes"] for s in (large(1, layers=DEEP), staged(2)))
    assert stages < one, (one, stages)

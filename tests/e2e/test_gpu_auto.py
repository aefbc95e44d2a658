"""Which slots there are and which trials they get: the cores that --devices auto has beside GPUs, parts of
a GPU, precisions; with stand-ins (tests/e2e/gpus.py)."""
import os
import time

import pytest

from gpus import (LARGE, MIB, NEEDS_FAKES, SMALL, attempts_of, gpus, machine, on_gpus, run_to_end,  # noqa: F401
                  wait_card, wait_idle)
from harness import RpcError, sweep_command, trained, wait_until

pytestmark = NEEDS_FAKES


@pytest.mark.skipif(os.cpu_count() < 2, reason="no core is left beside a GPU's lane")
def test_auto_gives_cores_to_small_nets_and_keeps_the_others_for_the_gpu(machine):
    daemon = machine("auto", SMALL)
    client = daemon.client()
    slots = wait_idle(client)
    cores = os.cpu_count() - 1
    assert [s["device"] for s in slots] == ["gpu:0"] + [f"cpu:{n}" for n in range(cores)]
    # a small net: both at once, and what they took is the measure from then on
    small = trained(epochs=2, run_cap=60)
    sweep = run_to_end(client, small)
    assert {a["slot"] > 0 for a in attempts_of(client, sweep)} == {False, True}
    # long steps go to the GPU alone, at once or later
    long = {**trained(epochs=1, run_cap=2), "parameters": {"lr": {"min": 0.01, "max": 0.1}}}
    long["trainer"] = {"dataset": {"name": "digits"}, "model": [{"linear": 16384}, "relu", {"linear": 4096}, "relu",
                       {"linear": 10}], "batch_size": 512, "epochs": 1}
    waits = client.submit(long)
    said = client.call("device.list")["auto"]
    assert said[0].startswith("auto: 1 lane of GPUs, and ") and "small nets" in said[0]
    assert [line for line in said if f"sweep {waits}: a core takes " in line and "(estimated): cores take none" in line]
    assert said[0] in sweep_command(daemon, "devices")[1]
    daemon.stop()  # the next one has the estimate made anew
    client = daemon.start().client()
    wait_until(lambda: any(f"sweep {waits}: a core takes " in line for line in client.call("device.list")["auto"]),
               "the estimate")
    free = client.submit({**long, "name": "cpu", "resources": {"gpu": 0}, "run_cap": 1})
    for one in (waits, free):
        wait_until(lambda: client.sweep(one)["counts"]["RUNNING"] > 0, "a running trial")
        client.call("sweep.cancel", sweep=one)
        client.wait_sweep(one)
    assert {a["slot"] for a in attempts_of(client, waits)} == {0}
    assert 0 not in {a["slot"] for a in attempts_of(client, free)}


@pytest.mark.skipif(os.cpu_count() < 2, reason="no core is left beside a GPU's lane")
def test_cores_take_what_waited_for_a_gpu_that_is_not_heard_of_any_more(machine):
    daemon = machine("auto", {**SMALL, "temp": 95}, limit=300)
    client = daemon.client()
    wait_card(client, "HOT")
    wait_until(lambda: all(s["state"] == "IDLE" for s in client.slots()[1:]), "idle cores")
    spec = trained(epochs=1, run_cap=1)
    spec["trainer"] = {"dataset": {"name": "digits"}, "model": [{"linear": 512}, "relu", {"linear": 10}],
                       "batch_size": 64, "epochs": 1}
    spec["parameters"] = {"lr": {"min": 0.01, "max": 0.1}}
    sweep = client.submit(spec)
    assert "cores take its trials while" in client.call("device.list")["auto"][1]  # it is one alone: it waits
    assert client.sweep(sweep)["counts"]["RUNNING"] == 0
    daemon.rig.lines = ["hang"]
    daemon.rig.write()
    since = time.monotonic()
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert time.monotonic() - since < 15  # not when the cores ask again, which is after 20 s
    assert 0 not in {a["slot"] for a in attempts_of(client, sweep)}


def test_auto_takes_the_healthy_gpus_that_are_not_hidden(machine):
    third = {**LARGE, "uuid": "GPU-cccc"}
    daemon = machine("auto", SMALL, {**LARGE, "lost": 15}, third)
    assert on_gpus(daemon.client().slots()) == ["gpu:0", "gpu:2"]
    daemon = machine("auto", SMALL, LARGE, third,
                     env={"CUDA_VISIBLE_DEVICES": "GPU-cccc,1", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"})
    slots = wait_idle(daemon.client())
    assert on_gpus(slots) == ["gpu:1", "gpu:2"]
    for slot, uuid in zip(slots, (LARGE["uuid"], "GPU-cccc")):  # the worker sees its own alone
        with open(f"/proc/{slot['pid']}/environ", encoding="utf-8") as file:
            assert f"CUDA_VISIBLE_DEVICES={uuid}\0CUDA_DEVICE_ORDER=PCI_BUS_ID\0" in file.read()


def test_parts_of_a_gpu_are_slots_of_their_own(machine):
    parts = [f"part card=0 uuid=MIG-{n} name=Part_{n} total={total} used=1" for n, total in enumerate((1000, 3000))]
    daemon = machine("cpu:1", SMALL)
    daemon.stop()
    daemon.rig.lines, daemon.devices = parts, "auto"
    daemon.rig.write()
    client = daemon.start().client()
    slots = wait_idle(client)
    assert on_gpus(slots) == ["gpu:0m0", "gpu:0m1"]
    for n, slot in enumerate(slots[:2]):
        with open(f"/proc/{slot['pid']}/environ", encoding="utf-8") as file:
            assert f"CUDA_VISIBLE_DEVICES=MIG-{n}\0" in file.read()
    assert [(c["gpu"], c["part"], c["uuid"], c["memory_total"] // MIB) for c in gpus(client)] == [
        (0, 0, "MIG-0", 1000), (0, 1, "MIG-1", 3000)]
    run_to_end(client, trained(epochs=2, run_cap=4, resources={"gpu": 1}))
    text = sweep_command(daemon, "devices")[1]
    assert "0m1 Part 1" in text and "gpu:0m1" in text, text
    daemon.rig.lines = []  # as at the end: what is not there any more is not waited for


@pytest.mark.parametrize("cards, precision, refused", [
    ((75,), "bf16", True), ((75, 61), "tf32", True), ((75,), "fp32", False), ((80,), "bf16", False),
    ((75, 90), "bf16", False)])
def test_precision_that_no_gpu_has_is_refused_and_else_goes_where_it_is(machine, cards, precision, refused):
    daemon = machine("auto", *({**SMALL, "uuid": f"GPU-{i}", "cc": cc} for i, cc in enumerate(cards)))
    client = daemon.client()
    spec = trained(epochs=1, run_cap=4, resources={"gpu": 1})
    spec["trainer"]["precision"] = precision
    if refused:
        with pytest.raises(RpcError) as caught:
            client.submit(spec)
        assert caught.value.message == (f"no slot computes in {precision}: that takes a GPU of compute "
                                        "capability 8.0, and gpu:0 has 7.5")
        assert caught.value.pointer == "/spec/trainer/precision"
    elif len(cards) > 1:
        warnings = client.call("sweep.validate", spec=spec)["warnings"]
        assert any("1 of 2 slots lack bf16" in line and "go to the others" in line for line in warnings)
        sweep = client.submit(spec)
        assert client.wait_sweep(sweep)
        assert {a["slot"] for a in attempts_of(client, sweep)} == {1}
    else:
        sweep = client.submit({**spec, "resources": {}, "run_cap": 100000})
        said = [line for line in client.call("device.list")["auto"] if line.startswith(f"sweep {sweep}: ")]
        assert len(said) == (precision == "fp32" and os.cpu_count() > 1), said  # no core computes in bf16
        client.call("sweep.cancel", sweep=sweep)


def test_each_trial_goes_by_the_precision_that_it_drew(machine):
    client = machine("cpu:2+gpu:0", SMALL).client()
    wait_idle(client)
    spec = trained(epochs=1, run_cap=24, method="tpe")
    spec["parameters"]["precision"] = {"values": ["bf16", "fp32"]}
    sweep = run_to_end(client, spec)
    slots = {"bf16": set(), "fp32": set()}
    for trial in client.trials(sweep):
        got = client.call("trial.get", sweep=sweep, trial=trial["trial"])
        slots[got["params"]["precision"]] |= {a["slot"] for a in got["attempts"]}
    assert slots["bf16"] == {2} and slots["fp32"] & {0, 1}, slots

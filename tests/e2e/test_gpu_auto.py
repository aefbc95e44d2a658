"""Which slots there are and which trials they get: what --devices auto has, parts of a GPU, precisions; with
stand-ins (tests/e2e/gpus.py)."""
import pytest

from gpus import (LARGE, MIB, NEEDS_FAKES, SMALL, attempts_of, gpus, machine, run_to_end,  # noqa: F401
                  wait_idle)
from harness import RpcError, sweep_command, trained

pytestmark = NEEDS_FAKES


def test_auto_takes_the_healthy_gpus_that_are_not_hidden(machine):
    third = {**LARGE, "uuid": "GPU-cccc"}
    daemon = machine("auto", SMALL, {**LARGE, "lost": 15}, third)
    assert [s["device"] for s in daemon.client().slots()] == ["gpu:0", "gpu:2"]  # and no core
    daemon = machine("auto", SMALL, LARGE, third,
                     env={"CUDA_VISIBLE_DEVICES": "GPU-cccc,1", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"})
    slots = wait_idle(daemon.client())
    assert [s["device"] for s in slots] == ["gpu:1", "gpu:2"]
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
    assert [s["device"] for s in slots] == ["gpu:0m0", "gpu:0m1"]
    for n, slot in enumerate(slots):
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
        client.submit({**spec, "resources": {}})  # the stand-in has no such arithmetic: its trials fail


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

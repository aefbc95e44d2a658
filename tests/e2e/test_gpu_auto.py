"""Which slots there are and which trials they get: what --devices auto has, parts of a GPU, precisions; with
stand-ins (tests/e2e/gpus.py)."""
from gpus import LARGE, MIB, NEEDS_FAKES, SMALL, gpus, machine, run_to_end, wait_idle  # noqa: F401
from harness import sweep_command, trained

pytestmark = NEEDS_FAKES


def test_auto_takes_the_healthy_gpus_that_are_not_hidden(machine):
    third = {**LARGE, "uuid": "GPU-cccc"}
    daemon = machine("auto", SMALL, {**LARGE, "lost": 15}, third)
    assert [s["device"] for s in daemon.client().slots()] == ["gpu:0", "gpu:2"]  # and no core
    daemon = machine("auto", SMALL, LARGE, third,
                     env={"CUDA_VISIBLE_DEVICES": "GPU-cccc,1", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"})
    slots = wait_idle(daemon.client())
    assert [s["device"] for s in slots] == ["gpu:1", "gpu:2"]
    mine = [LARGE["uuid"], "GPU-cccc"]
    for slot, seen in zip(slots, (mine, mine[::-1])):  # the worker sees its own first, and no hidden one
        with open(f"/proc/{slot['pid']}/environ", encoding="utf-8") as file:
            assert f"CUDA_VISIBLE_DEVICES={','.join(seen)}\0CUDA_DEVICE_ORDER=PCI_BUS_ID\0" in file.read()


def test_parts_of_a_gpu_are_slots_of_their_own(machine, tmp_path):
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
    says = """case $CUDA_VISIBLE_DEVICES in MIG-[01]) echo '{"type": "done", "x": 1}'; esac"""
    run_to_end(client, {"method": "grid", "metric": {"name": "x"}, "parameters": {"a": {"values": [1]}},
                        "resources": {"gpu": 1}, "run": {"cwd": str(tmp_path)}, "command": ["sh", "-c", says]})
    text = sweep_command(daemon, "devices")[1]
    assert "0m1 Part 1" in text and "gpu:0m1" in text, text
    daemon.rig.lines = []  # as at the end: what is not there any more is not waited for

"""Slots on GPUs, with stand-ins for NVML and for the CUDA module: no GPU is needed."""
import json
import os
import signal
import subprocess
import sys

import pytest

from gpus import (LARGE, MIB, NEEDS_FAKES, SMALL, gpus, idle, machine, net, run_to_end,  # noqa: F401
                  wait_card, wait_idle, wait_slots)
from harness import BIN, environment, slow, sweep_command, trained, wait_until
from test_cli import in_terminal

pytestmark = NEEDS_FAKES


def test_sweep_runs_on_a_gpu_that_only_its_worker_sees(machine):
    daemon = machine("gpu:1", SMALL, LARGE)
    client = daemon.client()
    sweep = run_to_end(client, trained(epochs=2, run_cap=3, resources={"gpu": 1}))
    slots = client.slots()
    assert [s["device"] for s in slots] == ["gpu:1"]
    with open(f"/proc/{slots[0]['pid']}/environ", "rb") as file:
        env = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
    assert env[b"CUDA_VISIBLE_DEVICES"].decode() == LARGE["uuid"]
    assert env[b"CUDA_DEVICE_ORDER"] == b"PCI_BUS_ID"
    # it says the name that people know, not the one that it sees
    assert "started on gpu:1:" in sweep_command(daemon, "log", f"{sweep}/1")[1]
    card, = gpus(client)
    assert (card["gpu"], card["name"], card["uuid"]) == (1, "Fake Large", LARGE["uuid"])
    assert (card["memory_total"], card["memory_used"]) == (81920 * MIB, 100 * MIB)
    assert (card["utilisation"], card["temperature"], card["power"]) == (40, 50, 100.0)


def test_gpu_of_a_stranger_is_not_given_out_and_it_is_said_by_whom(machine):
    daemon, client = idle(machine("gpu:0", SMALL))
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        daemon.rig.processes = [(0, stranger.pid, 3000)]
        daemon.rig.set(0, used=3100)
        card = wait_card(client, "HELD")
        assert f"held by pid {stranger.pid} (python" in card["cause"] and "3000 MiB" in card["cause"]
        process, = card["processes"]
        assert process["pid"] == stranger.pid and process["bytes"] == 3000 * MIB
        assert process["name"].startswith("python") and not process["ours"]
        sweep = client.submit(trained(epochs=2, run_cap=1, resources={"gpu": 1}))
        # it waits, and everyone who asks hears why
        cause = wait_until(lambda: client.sweep(sweep)["cause"], "a cause")
        assert cause.startswith("waits for a slot: gpu:0 takes no trial: held by pid")
        assert client.slots()[0]["cause"] == card["cause"]
        assert str(stranger.pid) in sweep_command(daemon, "devices")[1]
        assert client.trials(sweep) == []
        client.call("trial.enqueue", sweep=sweep, params={})
        why = client.call("trial.why", sweep=sweep, trial=1)["text"]
        assert "1 of 1 suit, 0 free, gpu:0 takes none (held by pid" in why, why
    finally:
        stranger.communicate(b"\n")
    daemon.rig.processes = []
    daemon.rig.set(0, used=100)
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"


@pytest.mark.parametrize("lost", [15, "xid"])
def test_gpu_lost_in_mid_trial_is_down_and_its_trial_goes_on_elsewhere_without_blame(machine, lost):
    daemon, client = idle(machine("gpu:0,1", SMALL, LARGE))
    # retries 0: an attempt that was to blame would be the trial's last
    sweep = client.submit(slow(epochs=30, run_cap=1, retries=0, resources={"gpu": 1}))
    busy = wait_until(lambda: [s for s in client.slots() if s["state"] == "BUSY"], "a busy slot")[0]
    wait_until(lambda: client.trials(sweep)[0]["step"] >= 1, "a report")
    gpu = int(busy["device"][4:])
    if lost == "xid":
        daemon.rig.lines = [f"xid card={gpu} xid=31", f"xid card={gpu} xid=119"]
        daemon.rig.write()
    else:
        daemon.rig.set(gpu, lost=lost)
    card = wait_card(client, "DOWN", gpu)
    assert card["cause"].startswith("lost: XID 119: the GPU's system processor does not answer; stop sweepd and reset"
                                    if lost == "xid" else "lost: NVML says: GPU ")
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED", got
    trial = client.call("trial.get", sweep=sweep, trial=1)
    first, second = trial["attempts"]
    assert (first["state"], first["cause"], first["slot"]) == ("RELEASED", f"gpu:{gpu} is lost", gpu)
    assert (second["state"], second["slot"]) == ("COMPLETED", 1 - gpu)
    slot = client.slots()[gpu]
    assert slot["state"] == "DOWN" and slot["cause"] == card["cause"] and slot["pid"] is None
    if lost == "xid":
        said = [line for line in daemon.tail().splitlines() if "device.xid" in line]
        assert [f"device=gpu:{gpu} xid={n} means=" in line for n, line in zip((31, 119), said)] == [True] * 2
        assert len(said) == 2
        daemon.rig.set(gpu, lost=15)
        wait_until(lambda: "NVML says" in gpus(client)[gpu]["cause"], "a reset")
    # back after a reset
    del daemon.rig.cards[gpu]["lost"]
    daemon.rig.write()
    wait_slots(client, "IDLE", "IDLE")


def test_nvml_that_hangs_at_the_start_and_at_the_end_is_not_waited_for(machine):
    daemon = machine("cpu:1", SMALL)  # makes the rig
    rig = daemon.rig
    daemon.stop()
    rig.lines = ["hang"]
    rig.times = "20,100,1000"
    rig.write()
    daemon.devices = "auto"
    daemon.start()
    client = daemon.client()
    assert all(s["device"].startswith("cpu:") for s in client.slots())
    assert "NVML does not answer" in client.call("device.list")["nvml"]
    assert daemon.term() == 0
    rig.lines = []
    rig.write()
    daemon.start()
    client = daemon.client()
    wait_idle(client)
    rig.lines = ["hang"]
    rig.write()
    wait_card(client, "DOWN")
    assert daemon.term() == 0


def test_no_driver_is_one_line_and_cpu_slots_go_on(machine, tmp_path):
    nothing = {"SWEEPD_NVML": str(tmp_path / "libnvidia-ml.so.1")}
    daemon = machine("gpu:0+cpu:1", env=nothing)
    client = daemon.client()
    why = client.call("device.list")["nvml"]
    assert why.startswith("no NVIDIA driver: ") and "\n" not in why
    assert client.call("device.list")["gpus"] == []
    run_to_end(client, trained(epochs=2, run_cap=2))
    assert why.splitlines()[0][:60] in sweep_command(daemon, "devices")[1]
    assert json.loads(sweep_command(daemon, "devices", "--json")[1])["nvml"] == why


@pytest.mark.parametrize("module, says", [
    ("", ("no GPU backend here", "no NVIDIA driver on this machine", "does not load")),  # as it was built here
    ("/nonexistent/cuda.so", ("SWEEPD_CUDA_MODULE: /nonexistent/cuda.so",))])
def test_without_the_module_programs_have_the_gpu_and_the_trainer_says_why_not(machine, tmp_path, module, says):
    daemon = machine("gpu:0+cpu:1", SMALL, env={"SWEEPD_CUDA_MODULE": module})
    client = daemon.client()
    run_to_end(client, {"method": "grid", "metric": {"name": "x"}, "parameters": {"a": {"values": [1]}},
                        "resources": {"gpu": 1}, "run": {"cwd": str(tmp_path)},
                        "command": ["echo", '{"type": "done", "x": 1}']})
    waits = client.submit(net(1, 1))
    cause = wait_until(lambda: client.slots()[0]["cause"], "a cause")
    assert "\n" not in cause and any(words in cause for words in says), cause
    assert client.slots()[0]["starts"] == 1
    assert cause in sweep_command(daemon, "why", f"{waits}/1")[1]
    run_to_end(client, trained(epochs=2, run_cap=2))


def test_gpu_that_does_not_start_costs_no_trial(machine):
    daemon = machine("gpu:0", SMALL)
    client = daemon.client()
    file = daemon.rig.breaks + ".start"
    for why in ("no fabric", "no driver"):
        with open(file + ".new", "w", encoding="utf-8") as new:
            new.write(why)
        os.rename(file + ".new", file)
        if why == "no fabric":
            sweep = client.submit(net(1, 1, retries=0))
        cause = f"CUDA does not start: {why}"
        wait_until(lambda: (client.slots()[0]["cause"] or "").endswith(cause), cause)
    os.remove(file)
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    attempts = client.call("trial.get", sweep=sweep, trial=1)["attempts"]
    assert {a["state"] for a in attempts[:-1]} == {"RELEASED"} and len(attempts) > 2
    assert client.slots()[0]["starts"] == 1


def test_devices_shows_cards_processes_and_slots(machine):
    daemon = machine("gpu:0,1+cpu:1", SMALL, {"uuid": "GPU-quiet", "name": "Old", "total": 4000, "used": 10})
    client = daemon.client()
    slot = wait_slots(client, "IDLE", "IDLE", "IDLE")[0]
    daemon.rig.processes = [(0, slot["pid"], 2000), (1, 1, 100)]
    daemon.rig.set(0, used=2100)
    wait_until(lambda: gpus(client)[0]["processes"] and gpus(client)[1]["processes"], "processes")
    status, out, _ = sweep_command(daemon, "devices")
    assert status == 0
    cards, processes, slots = out.split("\n\n")
    first, second = cards.splitlines()[1:]
    assert first.split() == ["0", "Fake", "Small", "00000000:01:00.0", "OK", "2100", "/", "8192", "MiB",
                             "40%", "50", "C", "100", "/", "300", "W", "0", "-"]
    assert second.split() == ["1", "Old", "-", "OK", "10", "/", "4000", "MiB", "-", "-", "-", "-", "-"]
    assert [line.split()[:6] for line in processes.splitlines()[1:]] == [
        ["0", str(slot["pid"]), "C", "ours", "2000", "MiB"], ["1", "1", "C", "other", "100", "MiB"]]
    assert [line.split()[1] for line in slots.splitlines()[1:]] == ["gpu:0", "gpu:1", "cpu:0"]


def test_devices_watch_is_live(machine):
    daemon = machine("gpu:0", SMALL)
    command = [os.path.join(BIN, "sweep"), "--socket", daemon.socket, "devices", "--watch"]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, env=environment()) as lines:
        assert json.loads(lines.stdout.readline())["gpus"][0]["temperature"] == 50
        daemon.rig.set(0, temp=61)
        wait_until(lambda: json.loads(lines.stdout.readline())["gpus"][0]["temperature"] == 61,
                   "a line with the new temperature")
        lines.send_signal(signal.SIGINT)
        assert lines.wait(60) == 0
    status, _ = in_terminal(daemon, ["devices", "--watch"], [
        (b"61 C", lambda: daemon.rig.set(0, temp=77)), (b"77", b"q")], rows=24)
    assert status == 0


def test_devices_watch_counts_what_has_no_room_and_says_why_it_ends(machine):
    daemon = machine("gpu:0:32+cpu:1", SMALL)
    # 2 lines of cards, a blank one, and 34 of slots on 10: 9 are shown
    status, shown = in_terminal(daemon, ["devices", "--watch"], [(b"... 28 more lines", daemon.term)], rows=10, columns=100)
    assert status == 3
    left = shown.rsplit(b"\x1b[?1049l", 1)  # the terminal is the shell's again
    assert len(left) == 2 and b"sweep: " in left[1], shown[-300:]
    daemon.start()


def test_attempt_says_what_it_used_of_its_gpu(machine):
    daemon = machine("gpu:0+cpu:1", SMALL)
    client = daemon.client()
    slot = wait_slots(client, "IDLE", "IDLE")[0]
    daemon.rig.processes = [(0, slot["pid"], 2000)]
    daemon.rig.set(0, used=2100)
    sweep = client.submit(slow(epochs=40, run_cap=1, resources={"gpu": 1}))
    wait_until(lambda: client.slots()[0]["state"] == "BUSY", "a trial")
    mib = wait_until(lambda: (t := gpus(client)[0])["processes"] and t["processes"][0]["bytes"] // MIB,
                     "its memory")
    assert mib == 2000
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    attempt, = client.call("trial.get", sweep=sweep, trial=1)["attempts"]
    seconds = (attempt["ended_ms"] - attempt["started_ms"]) / 1000
    assert attempt["gpu"] == 1
    assert attempt["gpu_bytes"] == 2000 * MIB
    assert attempt["gpu_util"] == pytest.approx(40)
    # 100 W all the time; the start and the end are known to a reading
    assert attempt["joules"] == pytest.approx(100 * seconds, rel=0.1, abs=10)
    out = sweep_command(daemon, "show", f"{sweep}/1")[1]
    row = out.split("attempt slot", 1)[1].splitlines()[1]
    assert "2000 MiB" in row and "40%" in row, row
    assert float(row.split(" J")[0].split()[-1]) == pytest.approx(attempt["joules"], abs=0.5)
    # kept over a restart; hours of GPUs count the part
    used = client.sweep(sweep)["budget"]["gpu_used_hours"]
    assert used == pytest.approx(seconds / 3600, rel=1e-3, abs=2e-6)
    daemon.rig.processes = []
    daemon.rig.set(0, used=100)
    daemon.term()
    daemon.start()
    client = daemon.client()
    assert client.call("trial.get", sweep=sweep, trial=1)["attempts"] == [attempt]
    # a CPU slot has none of it
    other = run_to_end(client, trained(epochs=1, run_cap=1, resources={"gpu": 0}))
    attempt, = client.call("trial.get", sweep=other, trial=1)["attempts"]
    assert [attempt[k] for k in ("gpu", "gpu_bytes", "gpu_util", "joules")] == [None] * 4
    assert "MiB" not in sweep_command(daemon, "show", f"{other}/1")[1]

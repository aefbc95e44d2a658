"""Trials on several GPUs: all or none, seen together, lost together, counted together. NCCL is a stand-in."""
import json
import os

import pytest

from gpus import MIB, NCCL, NEEDS_FAKES, NEEDS_NCCL, cards, gpus, idle, machine, net, wait_slots  # noqa: F401
from harness import alive, sweep_command, wait_until
from programs import output, own, wait_file

pytestmark = NEEDS_FAKES

WAIT = """
name = os.environ.get("RANK", "0")
part = "part" + str(os.getpid())
with open(part, "w") as f:
    f.write(json.dumps({k: os.environ.get(k) for k in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LOCAL_RANK",
                                                       "WORLD_SIZE", "SWEEPD_ATTEMPT")} | {"pid": os.getpid()}))
os.rename(part, "seen" + name + "-" + os.environ["SWEEPD_TRIAL"].replace("/", "-")
          + "-" + os.environ["SWEEPD_ATTEMPT"])
while not os.path.exists("go"):
    time.sleep(0.01)
if name == "0":
    report(1, loss=1)
"""


def program(folder, n, **more):
    return own(folder, "import json, os, time\n" + WAIT, **{"resources": {"gpu": n}, "run_cap": 1, **more})


def seen(folder, sweep, trial=1, attempt=1, rank=0):
    with open(wait_file(folder, f"seen{rank}-{sweep}-{trial}-{attempt}"), encoding="utf-8") as file:
        return json.load(file)


def whose(client):
    """Of each slot the slot of the trial that has it, or None."""
    return [s["holder"] if s["holder"] is not None else s["slot"] if s["state"] == "BUSY" else None
            for s in client.slots()]


def test_program_sees_all_its_gpus_and_nobody_else_has_them(machine, tmp_path):
    daemon, client = idle(machine("gpu:0,1:2,2", *cards(3)))
    both = client.submit(program(tmp_path, 2))
    env = seen(tmp_path, both)
    pair = [int(number) for number in env["CUDA_VISIBLE_DEVICES"].split(",")]
    assert env["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID" and len(set(pair)) == 2
    held = whose(client)
    lead, = set(held) - {None}  # the GPU of the worker that asks first is the first
    assert [h is not None for h in held] == [gpu in pair for gpu in (0, 1, 1, 2)] and (0, 1, 1, 2)[lead] == pair[0]
    shown = sweep_command(daemon, "devices")[1]
    assert shown.count(f"as slot {lead}") == held.count(lead) - 1, shown
    # its process on the second GPU is no stranger's
    daemon.rig.processes = [(pair[0], env["pid"], 1000), (pair[1], env["pid"], 2000)]
    daemon.rig.write()
    wait_until(lambda: all(gpus(client)[i]["processes"] for i in pair), "a reading of both")
    read = gpus(client)
    assert [(read[i]["state"], [p["ours"] for p in read[i]["processes"]]) for i in pair] == [("OK", [True])] * 2
    # one GPU is left for others, two are not
    (tmp_path / "one").mkdir()
    one = client.submit(program(tmp_path / "one", 1))
    left, = {0, 1, 2} - set(pair)
    assert seen(tmp_path / "one", one)["CUDA_VISIBLE_DEVICES"] == str(left)
    (tmp_path / "one" / "go").touch()
    client.wait_sweep(one)
    (tmp_path / "go").touch()
    assert client.wait_sweep(both)["state"] == "COMPLETED", output(daemon, both, 1)
    attempt, = client.call("trial.get", sweep=both, trial=1)["attempts"]
    seconds = (attempt["ended_ms"] - attempt["started_ms"]) / 1000
    assert attempt["gpu"] == 2 and attempt["gpu_bytes"] == 3000 * MIB
    assert attempt["gpu_util"] == pytest.approx(40)
    assert attempt["joules"] == pytest.approx(200 * seconds, rel=0.1, abs=20)
    assert client.sweep(both)["budget"]["gpu_used_hours"] == pytest.approx(2 * seconds / 3600, rel=1e-3, abs=2e-6)
    # the program may outlive its last report; its GPUs stay its own until it has ended
    wait_until(lambda: whose(client) == [None] * 4, "all GPUs free")


@pytest.mark.parametrize("card, run, wants", [
    ({}, {}, "0"), ({}, {"visible": "uuid"}, "GPU-0"), ({"lost": 15}, {}, "GPU-0"),
    ({}, {"env": {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}}, "GPU-0")])
def test_program_sees_a_number_where_cuda_counts_as_nvml_does(machine, tmp_path, card, run, wants):
    one, other = cards(2)
    client = machine("gpu:0", one, {**other, **card}).client()
    spec = program(tmp_path, 1)
    spec["run"].update(run)
    sweep = client.submit(spec)
    env = seen(tmp_path, sweep)
    order = run.get("env", {}).get("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    assert (env["CUDA_VISIBLE_DEVICES"], env["CUDA_DEVICE_ORDER"]) == (wants, order)
    (tmp_path / "go").touch()
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"


def test_ranks_are_as_many_as_the_gpus_and_see_them_all(machine, tmp_path):
    daemon, client = idle(machine("gpu:0,1", *cards(2)))
    spec = program(tmp_path, 2)
    spec["run"]["launch"] = "rank"
    sweep = client.submit(spec)
    got = [seen(tmp_path, sweep, rank=r) for r in range(2)]
    pair = got[0]["CUDA_VISIBLE_DEVICES"]  # that whose worker asks first is the first
    assert sorted(pair.split(",")) == ["0", "1"]
    assert [(g["LOCAL_RANK"], g["WORLD_SIZE"], g["CUDA_VISIBLE_DEVICES"]) for g in got] == [
        (str(r), "2", pair) for r in range(2)]
    (tmp_path / "go").touch()
    assert client.wait_sweep(sweep)["state"] == "COMPLETED", output(daemon, sweep, 1)


def test_gpus_that_are_linked_go_together(machine, tmp_path):
    machines = cards(4)
    for card, island in zip(machines, (1, 2, 1, 2)):
        card["island"] = island
    daemon, client = idle(machine("gpu:0,1,2,3", *machines))
    sweep = client.submit(program(tmp_path, 2, run_cap=2))
    pairs = [set(seen(tmp_path, sweep, trial=t)["CUDA_VISIBLE_DEVICES"].split(",")) for t in (1, 2)]
    # whose worker asks first is the first of its pair
    assert sorted(map(sorted, pairs)) == [["0", "2"], ["1", "3"]], pairs
    client.call("sweep.cancel", sweep=sweep)


def test_one_gpu_that_is_lost_ends_the_trial_on_all_of_them(machine, tmp_path):
    daemon, client = idle(machine("gpu:0,1,2", *cards(3)))
    sweep = client.submit(program(tmp_path, 2))
    pid = seen(tmp_path, sweep)["pid"]
    daemon.rig.set(1, lost=15)
    again = seen(tmp_path, sweep, attempt=2)
    assert sorted(again["CUDA_VISIBLE_DEVICES"].split(",")) == ["GPU-0", "GPU-2"]  # whose worker asks first is the first
    wait_until(lambda: not alive(pid), "the end of the first attempt's program")
    first = client.call("trial.get", sweep=sweep, trial=1)["attempts"][0]
    assert (first["state"], first["cause"]) == ("RELEASED", "gpu:1 is lost")
    (tmp_path / "go").touch()
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"


def test_trial_of_several_gpus_goes_on_from_its_folder_after_a_restart(machine, tmp_path):
    daemon, client = idle(machine("gpu:0,1,2", *cards(3)))
    sweep = client.submit(program(tmp_path, 2))
    pid = seen(tmp_path, sweep)["pid"]
    client = daemon.again()
    seen(tmp_path, sweep, attempt=2)
    wait_until(lambda: not alive(pid), "the end of the first attempt's program")
    first = client.call("trial.get", sweep=sweep, trial=1)["attempts"][0]
    assert (first["state"], first["cause"]) == ("RELEASED", "restart with several GPUs")
    (tmp_path / "go").touch()
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"


def test_more_gpus_than_there_are_are_waited_for_and_said(machine, tmp_path):
    daemon = machine("gpu:0,1+cpu:1", *cards(2))
    client = daemon.client()
    got = client.call("sweep.submit", spec=program(tmp_path, 3))
    assert "there are fewer GPUs than resources.gpu asks for: its trials will wait" in got["warnings"], got
    cause = wait_until(lambda: client.sweep(got["sweep"])["cause"], "why it waits")
    assert cause == "waits for 3 GPUs: this daemon has fewer"


def test_trainer_whose_rank_finds_its_gpu_taken_fails(machine, tmp_path):
    """As under EXCLUSIVE_PROCESS: the other GPU's worker has trained there, and will not let go."""
    client = machine("gpu:0,1", *cards(2), env={**NCCL, "SWEEPD_FAKE_CUDA_EXCLUSIVE": str(tmp_path)}).client()
    wait_slots(client, "IDLE", "IDLE")
    first = client.run(net(2, 4, parallel={"data": 2}))  # nobody has opened a GPU yet
    assert client.sweep(first)["state"] == "COMPLETED"
    each = client.submit(net(1, 100000, rates=(0.05, 0.06)))  # they run until both are seen to train
    wait_until(lambda: [bool(trial["best"]) for trial in client.trials(each)] == [True, True], "a trial on each")
    client.call("sweep.cancel", sweep=each)
    trial, = client.trials(client.run(net(2, 4, parallel={"data": 2})))
    assert (trial["state"], trial["attempt"]) == ("FAILED", 1), trial
    assert "rank 1: gpu:1 is held by another process" in trial["cause"]


@NEEDS_NCCL
def test_trainer_on_two_gpus_has_a_rank_on_each_and_the_curve_of_one(machine):
    daemon, client = idle(machine("gpu:0,1", *cards(2), env=NCCL))
    both, alone = client.submit(net(2, 4, parallel={"data": 2})), client.submit(net(1, 4))
    assert client.wait_sweep(both)["state"] == "COMPLETED", sweep_command(daemon, "log", f"{both}/1")
    assert client.wait_sweep(alone)["state"] == "COMPLETED"
    assert "NCCL_SOCKET_IFNAME=lo" in sweep_command(daemon, "log", f"{both}/1")[1]
    got, want = ([r["metrics"]["val_loss"] for r in client.reports(s, 1)] for s in (both, alone))
    assert got == pytest.approx(want, rel=1e-12) and len(got) == 4
    attempt, = client.call("trial.get", sweep=both, trial=1)["attempts"]
    assert attempt["gpu"] == 2
    # its worker saw the other's card, too, and has ended to give back what it had there
    endless = client.submit(net(2, 100000, parallel={"data": 2}))
    wait_until(lambda: client.trials(endless) and client.reports(endless, 1), "a report")
    first = whose(client)[0]
    lead = client.slots()[first]["pid"]
    with open(f"/proc/{lead}/environ", encoding="utf-8") as file:
        env = dict(e.split("=", 1) for e in file.read().split("\0") if "=" in e)
    assert env["CUDA_VISIBLE_DEVICES"] == f"GPU-{first},GPU-{1 - first}"
    client.call("sweep.cancel", sweep=endless)
    wait_until(lambda: client.slots()[first]["pid"] not in (None, lead), "another worker")


@NEEDS_NCCL
def test_trainer_whose_gpus_sum_wrongly_is_given_back_and_says_what_helps(machine):
    """The machine's fault: the trial waits, the slot rests longer each time, and nothing is trained on."""
    daemon, client = idle(machine("gpu:0,1", *cards(2), env={**NCCL, "SWEEPD_FAKE_NCCL_WRONG": "1"}))
    sweep = client.submit(net(2, 4, parallel={"data": 2}))

    def again():
        attempts = client.call("trial.get", sweep=sweep, trial=1)["attempts"]
        return len(attempts) > 3 and attempts
    advice = "set NCCL_P2P_DISABLE=1 for sweepd, or switch PCIe's ACS off"
    for attempt in wait_until(again, "more attempts", 60)[:3]:
        assert attempt["state"] == "RELEASED", attempt
        assert "number 7 of GPUs' first sum is " in attempt["cause"] and advice in attempt["cause"], attempt
    wait_until(lambda: advice in (why := client.call("trial.why", sweep=sweep, trial=1)["text"]) and "next try in" in why,
               "a rest, and why")
    assert wait_until(lambda: advice in sweep_command(daemon, "devices")[1], "the cause of a rest")
    assert "given back: " in sweep_command(daemon, "log", f"{sweep}/1")[1]
    assert not client.reports(sweep, 1) and [g["state"] for g in gpus(client)] == ["OK", "OK"]
    client.call("sweep.cancel", sweep=sweep)

"""Sweeps of the user's own programs, as a person meets them: submitted from their folder, looked at, followed."""
import json
import os
import subprocess
import sys

import pytest

from checkpoints import files
from harness import BIN, DEADLINE, environment, sweep_command, wait_until
from programs import own, wait_file
from replays import database, replay

pytestmark = pytest.mark.slots("cpu:1")

TRAIN = """
import argparse, json, os
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float)
p.add_argument("--data")
args = p.parse_args()
print("in", os.getcwd(), "with", args.data)
print(json.dumps({"step": 1, "loss": args.lr}))
"""


def sweep_in(folder, daemon, *args, **env):
    """As sweep_command(), from a folder."""
    done = subprocess.run([os.path.join(BIN, "sweep"), "--socket", daemon.socket, *map(str, args)], cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=DEADLINE,
                          env=environment(**env))
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_program_runs_in_the_virtual_environment_of_its_submission(daemon, client, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "train.py").touch()
    (tmp_path / "bin" / "python").write_text(
        """#!/bin/sh\necho "of $VIRTUAL_ENV"\necho '{"loss": 1}'\n""")
    (tmp_path / "bin" / "python").chmod(0o755)
    (tmp_path / "sweep.json").write_text(json.dumps({
        "method": "random", "run_cap": 1, "metric": {"name": "loss"}, "parameters": {"lr": {"min": 0.0, "max": 0.5}},
        "program": "train.py"}))
    status, out, err = sweep_in(tmp_path, daemon, "submit", "sweep.json", VIRTUAL_ENV=str(tmp_path),
                                PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    assert status == 0, err
    client.wait_sweep(1)
    assert f"of {tmp_path}\n" in sweep_command(daemon, "log", "1/1")[1]


@pytest.mark.slots("cpu:2")
def test_program_is_submitted_from_its_folder_and_all_verbs_speak_of_it(daemon, client, tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "sweep.json").write_text(json.dumps({
        "name": "mine", "method": "grid", "metric": {"name": "loss"},
        "parameters": {"lr": {"values": [0.3, 0.1, 0.2]}}, "program": "train.py",
        "command": [sys.executable, "${program}", "--data=${envvar:MY_DATA}", "${args}"]}))
    status, out, err = sweep_in(tmp_path, daemon, "validate", "sweep.json", MY_DATA="/d")
    assert (status, err) == (0, "") and "mine: a good spec; parameters 1, points 3" in out
    status, out, err = sweep_in(tmp_path, daemon, "submit", "sweep.json", MY_DATA="/d")
    assert status == 0 and out == "sweep 1\n", err
    assert client.wait_sweep(1)["best"]["params"] == {"lr": 0.1}
    run = client.call("sweep.get", sweep=1)["spec"]["run"]
    assert run.keys() == {"cwd", "umask"} and run["cwd"] == str(tmp_path)
    for args, has in ((["show", 1], "COMPLETED"), (["show", "1/2"], "lr"), (["trials", 1], "1/3"),
                      (["best", 1], "1/2"), (["why", "1/2"], "COMPLETED"), (["trials", 1, "--csv"], "loss"),
                      (["log", "1/2"], f"in {tmp_path} with /d\n"), (["watch", 1], "mine")):
        status, out, err = sweep_command(daemon, *args)
        assert status == 0 and has in out, (args, out, err)
    for args, line in (
            (["fit", 1, "--out", tmp_path / "m"],
             "sweep 1 has no trainer: fit it with the program that its trials are"),
            (["checkpoint", 1, "--out", tmp_path / "m"], "trial 1/2 has no checkpoint")):
        status, out, err = sweep_command(daemon, *args)
        assert status == 1 and line in err and err.count("\n") == 1, (args, out, err)
    daemon.stop()
    status, out, err = replay(database(daemon))
    assert status == 0, (out, err)


def test_log_follows_a_program_until_it_ends(daemon, client, tmp_path):
    sweep = client.submit(own(tmp_path, """
        print("one", flush=True)
        touch("began")
        while not os.path.exists("go"):
            time.sleep(0.01)
        print("two", flush=True)
        report(loss=1)
        print("three")
    """))
    wait_file(tmp_path, "began")
    follower = subprocess.Popen([os.path.join(BIN, "sweep"), "--socket", daemon.socket, "log", f"{sweep}/1", "-f"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    assert any("one" in line for line in iter(follower.stdout.readline, ""))
    (tmp_path / "go").touch()
    out, err = follower.communicate(timeout=DEADLINE)
    assert (follower.returncode, err) == (0, "") and out.endswith("two\nthree\n"), (out, err)
    whole = client.call("trial.output", sweep=sweep, trial=1)
    assert whole["text"] == "one\ntwo\nthree\n" and whole["ended"] and not whole["more"]
    rest = client.call("trial.output", sweep=sweep, trial=1, after=whole["next"])
    assert rest == {"text": "", "next": whole["next"], "more": False, "lost": False, "ended": True}


KEEPING = """
    for step in range(1, 4):
        with open(os.path.join(live, "weights"), "w") as f:
            f.write("w" * 400_000)
        os.makedirs(os.path.join(live, "more"), exist_ok=True)
        send(json.dumps({"step": step, "loss": params["x"] - step / 1000, "checkpoint": True}))
"""


def test_folders_of_the_best_and_the_last_stay(daemon, client, tmp_path):
    values = [0.5, 0.1, 0.7, 0.3]
    spec = own(tmp_path, KEEPING, method="grid", parameters={"x": {"values": values}}, run_cap=None)
    sweep = client.run(spec)
    wait_until(lambda: set(files(daemon, sweep)) == {(2, 3), (4, 3)}, "the best's and the last's alone")
    folder = os.path.dirname(files(daemon, sweep)[2, 3])
    wait_until(lambda: sorted(os.listdir(folder)) == ["2-3.ckpt", "4-3.ckpt"], "nothing else")
    kept = client.call("trial.checkpoint", sweep=sweep, trial=2)
    assert kept == {"trial": 2, "step": 3, "path": files(daemon, sweep)[2, 3], "folder": True}
    assert os.path.getsize(os.path.join(kept["path"], "weights")) == 400_000
    status, out, err = sweep_command(daemon, "checkpoint", sweep)
    assert (status, out, err) == (0, f"trial {sweep}/2 after step 3: {kept['path']}\n", "")
    status, out, err = sweep_command(daemon, "checkpoint", sweep, "--out", tmp_path / "m")
    assert (status, out, err) == (1, "", f"sweep: the trial is a program's: copy its folder, {kept['path']}\n")
    status, out, err = sweep_command(daemon, "predict", sweep, "new.csv")
    assert (status, out) == (1, "") and f"trial {sweep}/2 is a program's" in err and kept["path"] in err, err


def test_folders_that_a_crash_left_behind_are_removed_at_the_next_start(daemon, client, tmp_path):
    sweep = client.run(own(tmp_path, KEEPING))
    folder = os.path.dirname(files(daemon, sweep)[1, 3])
    daemon.term()
    for name in ("1-2.ckpt", "1.live-1", "1.resume", "9-9.ckpt"):
        os.makedirs(os.path.join(folder, name, "deep"))
        open(os.path.join(folder, name, "deep", "file"), "w", encoding="utf-8").close()
    os.makedirs(os.path.join(folder, "mine"))
    daemon.start()
    wait_until(lambda: sorted(os.listdir(folder)) == ["1-3.ckpt", "mine"], "what is kept, and what is not the daemon's")


def test_cores_of_a_program_are_cpu_slots(start, tmp_path):
    """Of two slots a program that asks for more cores than one has takes both, and no other runs beside it,
    also under the next daemon."""
    cores = max(1, (os.cpu_count() or 1) // 2)
    daemon = start("cpu:2")
    client = daemon.client()
    both = client.submit(own(tmp_path, """
        touch("began-" + os.environ["SWEEPD_TRIAL"].replace("/", "-"))
        while not os.path.exists("go"):
            time.sleep(0.01)
        report(loss=int(os.environ["OMP_NUM_THREADS"]))
    """, run_cap=2, resources={"cpu": cores + 1}))
    wait_file(tmp_path, f"began-{both}-1")
    slots = client.slots()
    assert [s["holder"] is None for s in slots].count(False) == 1, slots
    client = daemon.again()
    assert [s["holder"] for s in client.slots()] == [s["holder"] for s in slots]
    (tmp_path / "other").mkdir()
    one = client.submit(own(tmp_path / "other", "report(loss=1)"))
    waits = client.call("sweep.get", sweep=one)
    assert waits["counts"]["RUNNING"] == 0 and "as slot" in sweep_command(daemon, "devices")[1]
    (tmp_path / "go").touch()
    client.wait_sweep(both)
    client.wait_sweep(one)
    assert {t["value"] for t in client.trials(both)} == {cores + 1}
    assert all(s["holder"] is None for s in client.slots())
    never = client.call("sweep.submit", spec=own(tmp_path / "other", "", resources={"cpu": 2 * cores + 1}))
    assert ("the CPU slots have fewer cores together than resources.cpu asks for: its trials will wait"
            in never["warnings"])
    cause = wait_until(lambda: client.call("sweep.get", sweep=never["sweep"])["cause"], "why it waits")
    assert cause == f"waits for {2 * cores + 1} cores: the CPU slots have fewer together"

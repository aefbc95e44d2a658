"""Programs of several ranks: started together, on as many slots, and ended together."""
import json
import os
import signal
import sys

import pytest

from harness import sweep_command, wait_until
from programs import marked, output, own, wait_file

# Ranks that meet as torch.distributed's do; total() adds a number of each, at rank 0. rank 0 alone may report.
MEET = """
import socket
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
others = []
if rank == 0:
    with socket.create_server(at) as server:
        others = [server.accept()[0].makefile("rw") for _ in range(world - 1)]
else:
    while True:
        try:
            first = socket.create_connection(at).makefile("rw")
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
def total(x):
    if rank:
        first.write(f"{x}\\n")
        first.flush()
        return int(first.readline())
    x += sum(int(f.readline()) for f in others)
    for f in others:
        f.write(f"{x}\\n")
        f.flush()
    return x
"""


def ranks(folder, n, script, run=None, **more):
    with open(folder / "meet.py", "w", encoding="utf-8") as file:
        file.write(MEET)
    return own(folder, "exec(open('meet.py').read())\n" + script, run={"launch": "rank", **(run or {})},
               resources={"cpu_slots": n}, **more)


@pytest.mark.slots("cpu:4")
def test_ranks_know_each_other_and_have_a_slot_each(daemon, client, tmp_path):
    sweep = client.submit(ranks(tmp_path, 3, """
os.mkdir(f"alone{rank}")  # fails if another trial runs at the same time
print("hello", flush=True)
print(json.dumps({"loss": 77}), file=sys.stderr, flush=True)
for step in range(1, 4):
    got = total(rank + step)
    if rank == 0:
        report(step, loss=got)
        if step == 1:
            touch("began")
            while not os.path.exists("go"):
                time.sleep(0.01)
with open("seen", "a") as f:
    names = "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE", "SWEEPD_TRIAL"
    f.write(json.dumps({"rank": rank, "reports": "SWEEPD_METRICS_FD" in os.environ, "cores": os.environ["OMP_NUM_THREADS"], **{n: os.environ[n] for n in names}}) + "\\n")
total(0)
os.rmdir(f"alone{rank}")
""", run_cap=2))
    wait_file(tmp_path, "began")
    lead = next(s for s in client.slots() if s["state"] == "BUSY")
    assert sum(s["state"] == "BUSY" for s in client.slots()) == 1
    assert sweep_command(daemon, "devices")[1].count(f"as slot {lead['slot']}") == 2
    (tmp_path / "go").touch()
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2, output(daemon, sweep, 1)
    for trial in (1, 2):
        assert [r["metrics"]["loss"] for r in client.reports(sweep, trial)] == [6, 9, 12]
        text = output(daemon, sweep, trial)
        assert "hello\n" in text and "[rank 1] hello\n" in text and "[rank 2] {" in text
    with open(tmp_path / "seen", encoding="utf-8") as file:
        seen = [json.loads(line) for line in file]
    assert sorted((s["SWEEPD_TRIAL"], s["rank"]) for s in seen) == [
        (f"{sweep}/{t}", r) for t in (1, 2) for r in range(3)]
    assert all(s["LOCAL_RANK"] == str(s["rank"]) and s["WORLD_SIZE"] == s["LOCAL_WORLD_SIZE"] == "3" for s in seen)
    assert {s["rank"] for s in seen if s["reports"]} == {0}
    assert {s["cores"] for s in seen} == {str(lead["cores"])}


WAIT = """
open(f"pid{rank}.part", "w").write(str(os.getpid()))
os.rename(f"pid{rank}.part", f"pid{rank}")
if rank == 0:
    report(1, loss=1)
total(0)
while True:
    signal.pause()
"""


def pid_of(folder, rank):
    with open(wait_file(folder, f"pid{rank}"), encoding="ascii") as file:
        return int(file.read())


@pytest.mark.parametrize("rank", range(3))
@pytest.mark.slots("cpu:3")
def test_rank_that_is_lost_ends_the_others(daemon, client, tmp_path, rank):
    sweep = client.submit(ranks(tmp_path, 3, WAIT))
    pids = [pid_of(tmp_path, r) for r in range(3)]
    os.kill(pids[rank], signal.SIGKILL)
    client.wait_sweep(sweep)
    cause = client.trials(sweep)[0]["cause"]
    assert cause == (f"rank {rank} signal:9" if rank else "signal:9")
    wait_until(lambda: not marked(daemon), "nothing left of the ranks")


@pytest.mark.slots("cpu:3")
def test_rank_that_fails_is_named_with_its_last_words(daemon, client, tmp_path):
    sweep = client.run(ranks(tmp_path, 3, """
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the others are killed at last, which is nobody's fault
total(0)
if rank == 2:
    sys.exit("no such tensor")
while True:
    signal.pause()
""", run={"grace_s": 0.1}))
    assert client.trials(sweep)[0]["cause"] == "rank 2 exit:1: no such tensor"
    assert "ended with rank 2 exit:1: no such tensor" in sweep_command(daemon, "log", f"{sweep}/1")[1]


@pytest.mark.slots("cpu:2")
def test_program_of_which_a_rank_cannot_start_leaves_none(daemon, client, tmp_path):
    spec = ranks(tmp_path, 2, "report(1, loss=1)")
    spec["command"] = ["./start${envvar:RANK}"]
    (tmp_path / "start0").write_text("#!/bin/sh\nexec sleep 1000\n")
    (tmp_path / "start0").chmod(0o755)
    sweep = client.run(spec)
    trial = client.trials(sweep)[0]
    assert trial["state"] == "FAILED" and "cannot start ./start1" in trial["cause"], trial
    wait_until(lambda: not marked(daemon), "nothing left of the first rank")


def test_file_of_arguments_is_not_written_again_beside_a_rank_that_reads_it(start, tmp_path):
    client = start("cpu:16").client()
    spec = ranks(tmp_path, 16, """
while not os.path.exists("started15"):
    time.sleep(0.01)
if rank == 0:
    report(1, loss=int(os.stat(sys.argv[1]).st_mtime_ns > os.stat("started0").st_mtime_ns))
""")
    spec["command"] = ["sh", "start.sh", "${args_json_file}"]
    (tmp_path / "start.sh").write_text(f"touch started$RANK\nexec {sys.executable} -S program.py $1\n")
    sweep = client.run(spec)
    assert client.trials(sweep)[0]["metrics"] == {"loss": 0}, client.trials(sweep)[0]


@pytest.mark.slots("cpu:2")
def test_other_ranks_may_end_after_the_first(client, tmp_path):
    sweep = client.submit(ranks(tmp_path, 2, """
if rank == 0:
    report(1, loss=1)
    total(0)
    sys.exit()
total(0)
assert first.readline() == ""  # the first has ended
time.sleep(0.7)                # longer than what a program that is stopped has
touch("saved")
"""))
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1
    assert (tmp_path / "saved").exists()


def test_ranks_outlive_their_daemon_and_end_with_their_worker(start, tmp_path):
    daemon = start("cpu:2")
    sweep = daemon.client().submit(ranks(tmp_path, 2, """
step, to = 0, 10 if os.environ["SWEEPD_ATTEMPT"] == "1" else 3
while step < to:
    step += 1
    total(rank)
    if rank == 0:
        report(step, loss=step)
        touch(f"step{os.environ['SWEEPD_ATTEMPT']}.{step}")
        while to == 10 and not os.path.exists(f"go{step}"):
            time.sleep(0.01)
"""))
    wait_file(tmp_path, "step1.1")
    before = sorted(marked(daemon))
    client = daemon.again()
    (tmp_path / "go1").touch()
    wait_file(tmp_path, "step1.2")
    assert sorted(marked(daemon)) == before and len(before) == 2
    held = next(s for s in client.slots() if s["state"] == "BUSY")
    assert f"as slot {held['slot']}" in sweep_command(daemon, "devices")[1]
    os.kill(held["pid"], signal.SIGKILL)
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1
    assert client.trials(sweep)[0]["attempt"] == 2
    assert not set(before) & set(marked(daemon))


def test_what_cannot_be_is_refused(client, tmp_path):
    for change, line in (
            ({"resources": {"cpu": 2}}, '"rank" starts a process on each slot of the trial'),
            ({"resources": {"cpu_slots": 2, "cpu": 2}}, '"cpu_slots" must be alone'),
            ({"resources": {"cpu_slots": 2, "gpu": 1}}, '"cpu_slots" must be alone'),
            ({"resources": {"cpu_slots": 65}}, '"cpu_slots" must be an integer, at least 1 and at most 64'),
            ({"run": {"cwd": "/", "launch": "ranks"}}, 'did you mean "rank"?')):
        error = client.refused("sweep.submit", spec={**ranks(tmp_path, 2, ""), **change})
        assert line in error.message, (change, error.message)


HOLD = """
touch("began-" + os.environ["SWEEPD_TRIAL"].replace("/", "-"))
while not os.path.exists("go"):
    time.sleep(0.01)
report(1, loss=1)
"""


def test_what_a_trial_of_several_slots_waits_for_and_what_is_kept_for_it_is_said(start, tmp_path):
    for name in ("many", "wide"):
        (tmp_path / name).mkdir()
    daemon = start("cpu:3", SWEEPD_RESERVE_MS="0")
    client = daemon.client()
    many = client.submit(own(tmp_path / "many", HOLD, run_cap=9))
    for trial in (1, 2, 3):
        wait_file(tmp_path / "many", f"began-{many}-{trial}")
    wide = client.submit(own(tmp_path / "wide", HOLD, run_cap=2, resources={"cpu_slots": 2}))
    client.call("trial.enqueue", sweep=wide, params={})
    client.call("trial.cancel", sweep=many, trial=1)
    why = wait_until(lambda: (t := client.call("trial.why", sweep=wide, trial=1)["text"]) and "kept" in t and t, "a slot")
    assert why.startswith("waits for 2 CPU slots at once: 3 of 3 suit, 1 free, "), why
    assert " free (it takes 2 CPU slots, 1 free, kept for it for " in why and why.count(f"held by {many}/") == 2, why
    client.call("trial.enqueue", sweep=many, params={})
    waits = next(t["trial"] for t in client.trials(many) if t["state"] == "PENDING")
    assert f"free (kept for sweep {wide} for " in client.call("trial.why", sweep=many, trial=waits)["text"]
    client.call("trial.cancel", sweep=many, trial=2)
    wait_file(tmp_path / "wide", f"began-{wide}-1")
    lead = next(s for s in client.slots() if s["sweep"] == wide)
    other = next(s["device"] for s in client.slots() if s["holder"] == lead["slot"])
    assert f"runs (attempt 1, step 0) on {lead['device']} with {other};" in client.call(
        "trial.why", sweep=wide, trial=1)["text"]
    shown = sweep_command(daemon, "devices")[1].splitlines()
    assert any(row.split()[1:3] == [other, "BUSY"] and f"as slot {lead['slot']}" in row for row in shown), shown
    assert client.call("sweep.watch", sweep=wide)["slots"] == {"mine": 2, "busy": 3, "total": 3}
    why = client.call("trial.why", sweep=many, trial=waits)["text"]
    assert f"held by {wide}/1" in why and f"held by {wide}/1 with {lead['device']}" in why, why
    for sweep in (many, wide):
        client.call("sweep.cancel", sweep=sweep)

"""A sweep is deleted: all of it or nothing, at whatever moment the daemon is killed, and nothing of any other sweep."""
import contextlib
import os
import random
import sqlite3
import subprocess
import time

import pytest

from harness import CONFLICT, NOT_FOUND, driven, fake_os, slow, sweep_command, trained, wait_until
from replays import database, refused, replay

# Sweeps, and moments of kill -9 among their deletions: SWEEPD_DELETE=1000,50 is the full size.
SWEEPS, KILLS = map(int, os.environ.get("SWEEPD_DELETE", "60,12").split(","))
TABLES = ("trial", "attempt", "report", "decision", "event", "log", "suggestion", "sampler", "prior")
FOLDERS = ("checkpoints", "logs", "tune")


def played(client, trials, reports, **more):
    """A driven sweep that has ended, of so many trials with so many reports each."""
    sweep = client.submit(driven(run_cap=trials, early_terminate={"type": "asha", "max_t": 200, "grace_period": 9},
                                 **more))
    for handed in client.ask(sweep, trials):
        for step in range(1, reports + 1):
            if client.report(sweep, handed, step, step, loss=handed["params"]["x"] + 1 / step) == "stop":
                break
        else:
            client.tell(sweep, handed)
    client.wait_sweep(sweep)
    return sweep


def rows(daemon, sweep, tables=TABLES):
    """How many rows the file has of a sweep. A reader: it never writes or checkpoints."""
    with contextlib.closing(sqlite3.connect(f"file:{database(daemon)}?mode=ro", uri=True)) as db:
        return sum(db.execute(f"SELECT count(*) FROM {table} WHERE sweep = ?", (sweep,)).fetchone()[0]
                   for table in tables)


def files(daemon, sweep):
    """The files of a sweep, with their sizes."""
    found = {}
    for folder in FOLDERS:
        for at, _, names in os.walk(os.path.join(daemon.state, folder, str(sweep))):
            for path in (os.path.join(at, name) for name in names):
                with contextlib.suppress(FileNotFoundError):  # one that goes meanwhile is gone
                    found[os.path.relpath(path, daemon.state)] = os.path.getsize(path)
    return found


def logged(daemon):
    with open(daemon.log, encoding="utf-8") as log:
        return log.read()


def copy_sweep(db, of, sweep):
    """The same sweep under another number."""
    for table in ("sweep", *TABLES):
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        db.execute(f"INSERT INTO {table} SELECT {', '.join('?1' if name == 'sweep' else name for name in names)}"
                   f" FROM {table} WHERE sweep = ?2", (sweep, of))


def add_files(daemon, sweep):
    """What a Python driver keeps, and a program's log."""
    for name in (f"tune/{sweep}/9-3.ckpt/state.pkl", f"tune/{sweep}/9/result.json", f"logs/{sweep}/9.log"):
        path = os.path.join(daemon.state, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"x" * 20000)


def numbers(client):
    found, after = [], 0
    while after is not None:
        page = client.call("sweep.list", limit=1000, after=after)
        found += [row["sweep"] for row in page["sweeps"]]
        after = page["next"]
    return set(found)


def look(client, sweep):
    """All that the socket says of a sweep."""
    trials = client.trials(sweep)
    return client.sweep(sweep), trials, [client.reports(sweep, trial["trial"]) for trial in trials]


@pytest.mark.long
def test_sweep_is_deleted_whole_or_not_at_all_whenever_the_daemon_is_killed(daemon, record_property):
    draw = random.Random(7)
    client = daemon.client()
    large, small = played(client, 8, 150), played(client, 3, 4)
    daemon.term()
    with contextlib.closing(sqlite3.connect(database(daemon))) as db, db:  # nobody else has it open
        for sweep in range(3, SWEEPS + 1):
            copy_sweep(db, large if sweep % 3 == 0 else small, sweep)
    victims = draw.sample(range(3, SWEEPS + 1, 3), KILLS + 1)
    for sweep in victims:
        add_files(daemon, sweep)
    client = daemon.start().client()
    before = {sweep: (look(client, sweep), files(daemon, sweep)) for sweep in victims}
    stored = replay(daemon.state)
    assert stored[0] == 0 and len(stored[1]) == SWEEPS

    began = time.monotonic()
    assert client.call("sweep.delete", sweep=victims[0])["bytes"] > 60000
    takes, there = time.monotonic() - began, set(range(1, SWEEPS + 1)) - {victims[0]}
    ends = {"untouched": 0, "cut short": 0, "over": 0}
    for sweep in victims[1:]:
        client.send({"jsonrpc": "2.0", "id": 1, "method": "sweep.delete", "params": {"sweep": sweep}})
        time.sleep(draw.uniform(0, draw.choice((0, takes / 20, 1.1 * takes))))  # the moment of the kill
        daemon.kill9()
        over = f"sweep.deleted sweep={sweep} " in logged(daemon)
        client = daemon.start().client()
        if sweep in numbers(client):
            assert (look(client, sweep), files(daemon, sweep)) == before[sweep]
            ends["untouched"] += 1
            continue
        there.discard(sweep)
        assert client.refused("sweep.get", sweep=sweep).code == NOT_FOUND
        wait_until(lambda: not rows(daemon, sweep) and not files(daemon, sweep), "a deletion that goes on")
        ends["over" if over else "cut short"] += 1
    record_property("counts", f"kill -9: {ends}; a deletion takes {takes:.3f} s")
    assert numbers(client) == there
    kept = [line for line in stored[1] if int(line.split()[1].rstrip(":")) in there]
    assert replay(daemon.state) == (0, kept, "")


@pytest.mark.slots("cpu:1")
def test_deleted_sweep_is_unknown_and_its_number_is_not_given_again(daemon, client):
    sweep = client.run(trained(epochs=2, run_cap=3))
    add_files(daemon, sweep)
    assert rows(daemon, sweep) > 10 and len(files(daemon, sweep)) > 3
    status, out, err = sweep_command(daemon, "rm", str(sweep))
    assert (status, err) == (0, "") and out.startswith("sweep 1 deleted: ") and out.endswith(" freed\n")
    assert not rows(daemon, sweep) and not files(daemon, sweep)
    assert client.call("sweep.list")["sweeps"] == []
    for method, more in (("sweep.get", {}), ("sweep.best", {}), ("trial.list", {}), ("sweep.extend", {"run_cap": 9}),
                         ("sweep.watch", {}), ("trial.get", {"trial": 1}), ("sweep.delete", {})):
        error = client.refused(method, sweep=sweep, **more)
        assert (error.code, error.message) == (NOT_FOUND, "sweep 1 was deleted"), method
    assert refused(daemon.state, 1, status=2) == "sweepd: sweep 1 was deleted: its events are gone\n"
    assert client.refused("sweep.find", name="trained").code == NOT_FOUND
    assert client.submit(driven()) == 2
    client = daemon.again()
    assert numbers(client) == {2} and client.call("daemon.info")["sweeps"] == 1


@pytest.mark.slots("cpu:1")
def test_program_that_is_still_ending_leaves_nothing_behind(daemon, client):
    program = ("import os, pathlib, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
               "path = pathlib.Path(os.environ['SWEEPD_CHECKPOINT_DIR'])\n"
               "while True: path.mkdir(parents=True, exist_ok=True); (path / str(os.getpid())).touch(); time.sleep(0.01)")
    sweep = client.submit(driven(command=["python3", "-c", program], run={"grace_s": 2, "cwd": str(daemon.state)}))
    pid = os.path.basename(wait_until(lambda: [name for name in files(daemon, sweep) if name[-3:].isdigit()], "its file")[0])
    client.call("sweep.cancel", sweep=sweep)
    client.call("sweep.delete", sweep=sweep)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the program")
    assert not files(daemon, sweep)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small disk")
def test_full_disk_is_no_bar_to_a_deletion(daemon, tmp_path):
    assert daemon.term() == 0
    daemon.state = str(tmp_path / "disk")
    os.mkdir(daemon.state, 0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "sweepd", daemon.state], check=False).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        client = daemon.start().client()
        sweep = played(client, 1, 2)
        add_files(daemon, sweep)
        with contextlib.suppress(OSError), open(os.path.join(daemon.state, "other"), "wb", buffering=0) as other:
            while other.write(b"x" * 4096):
                pass
        assert client.call("sweep.delete", sweep=sweep)["bytes"] >= 60000 and not files(daemon, sweep)
        os.unlink(os.path.join(daemon.state, "other"))
        assert played(client, 1, 2) == sweep + 1
        client.close()
        assert daemon.term() == 0
    finally:
        if daemon.process:
            daemon.kill9()
        subprocess.run(["umount", "-l", daemon.state], check=True)


@pytest.mark.slots("cpu:1")
def test_best_trial_stays_as_a_record(daemon, client):
    sweep = client.run(trained(epochs=3, run_cap=5, checkpoint={"keep": "all"}))
    add_files(daemon, sweep)
    best = client.call("sweep.best", sweep=sweep)["trials"][0]
    trial, path = best["trial"], client.call("trial.checkpoint", sweep=sweep, trial=best["trial"])["path"]
    status, out, _ = sweep_command(daemon, "rm", str(sweep), "--keep-best")
    assert status == 0 and out.startswith(f"sweep 1 deleted but for trial 1/{trial}: ")
    for _ in range(2):
        wait_until(lambda: list(files(daemon, sweep)) == [os.path.relpath(path, daemon.state)], "its checkpoint alone")
        assert client.call("sweep.best", sweep=sweep)["trials"] == [best]
        assert client.call("trial.checkpoint", sweep=sweep, trial=trial)["path"] == path
        listed = client.call("sweep.list")["sweeps"][0]
        assert listed["cause"] == f"deleted but for its best trial, {trial}" and sum(listed["counts"].values()) == 1
        assert len(client.reports(sweep, trial)) == 3
        assert client.refused("sweep.simulate", sweep=sweep, early_terminate={"type": "asha", "max_t": 3}).code == CONFLICT
        line = client.refused("sweep.extend", sweep=sweep, run_cap=9).message
        assert line.startswith(f"sweep 1 was deleted but for its best trial, {trial}")
        client = daemon.again()
    assert replay(daemon.state)[1] == [f"sweep 1: deleted but for its best trial, {trial}: its events are gone, nothing "
                                       "to compare"]
    warm = client.run(trained(epochs=1, run_cap=1, method="tpe", warm_start=[sweep]))
    client.call("sweep.delete", sweep=sweep)
    assert not files(daemon, sweep) and numbers(client) == {warm}


def test_quota_lets_no_trial_begin_and_loses_no_report(start, tmp_path):
    daemon = start("cpu:1", "--quota", "1000M", **fake_os(tmp_path, speed=10))  # it looks every ten seconds
    client = daemon.client()
    mine, theirs = client.submit(driven()), client.submit(slow(run_cap=40))
    (held,) = client.ask(mine)
    wait_until(lambda: any(trial["step"] for trial in client.trials(theirs)), "a trial that trains")
    waste = os.path.join(daemon.state, "logs")  # a file with a hole: its size counts
    os.makedirs(waste, exist_ok=True)
    for size, line in ((970000000, "when it is met no trial begins"), (1100000000, "no trial begins; those that run go on")):
        with open(os.path.join(waste, "large"), "wb") as file:
            file.truncate(size)
        wait_until(lambda: line in logged(daemon), line)
    got = client.call("trial.ask", sweep=mine)
    assert (got["trials"], got["reason"]) == ([], "quota")
    cause = client.sweep(theirs)["cause"]
    assert cause.startswith("the state directory has ") and cause.endswith("no trial begins; sweep rm makes room")
    for step in (1, 2):
        client.report(mine, held, step, step, loss=step)
    client.tell(mine, held)
    wait_until(lambda: client.slots()[0]["state"] == "IDLE", "the end of what ran")
    ended = client.sweep(theirs)["counts"]["COMPLETED"]
    assert ended >= 1 and len(client.reports(mine, held["trial"])) == 2
    client.send({"jsonrpc": "2.0", "id": 7, "method": "trial.ask", "params": {"sweep": mine, "wait_s": 60}})
    os.remove(os.path.join(waste, "large"))
    assert client.receive()["result"]["trials"], "an ask that waits is served when there is room again"
    wait_until(lambda: client.sweep(theirs)["counts"]["COMPLETED"] > ended, "trials that begin again")

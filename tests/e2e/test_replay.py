"""`sweepd replay`: a database is what its events lead to, and what is no database is refused."""
import os
import pty
import random
import shutil
import signal
import sqlite3
import subprocess

import pytest

from harness import BIN, DEADLINE, asha, driven, slow, wait_until
from replays import Life, database, refused, replay
from search_model import LEARNING, METHODS, loss, searched

# --- what is as stored ---

PRUNERS = {"none": None, "stop": asha(max_t=9), "brackets": asha(max_t=9, brackets=2),
           "promote": asha(max_t=9, variant="promote"),
           "hyperband": {"type": "hyperband", "min_iter": 1, "eta": 2},
           "median": {"type": "median", "n_startup_trials": 3},
           "patience": {"type": "patience", "patience": 2, "min_delta": 0.1},
           "threshold": {"type": "threshold", "upper": 4.0, "lower": -1}}


# Each method where trials stop and where they pause, and each pruner. Of other pairs tests/sim tells.
PAIRS = [*((method, "promote") for method in METHODS), *(("random", pruner) for pruner in PRUNERS if pruner != "stop"),
         ("bohb", "hyperband"), ("bayes", "brackets"), ("tpe", "median")]
ONCE = [pytest.param(*pair, marks=pytest.mark.once("as with another pruner")) for pair in dict.fromkeys(PAIRS)]


@pytest.mark.parametrize("method, pruner", [*((method, "stop") for method in METHODS), *ONCE])
def test_sweep_with_kills_replays_as_it_is_stored(start, method, pruner):
    daemon = start()
    more = {"early_terminate": PRUNERS[pruner]} if PRUNERS[pruner] else {}
    life = Life(daemon, 7, searched(method, run_cap=200, **more)).live(60, kills=(5, 21, 40)).end()
    counts = life.client.sweep(life.sweep)["counts"]
    status, lines, errors = replay(database(daemon))
    assert (status, errors) == (0, "") and len(lines) == 1, (lines, errors)
    trials = sum(counts.values())
    assert lines[0].startswith(f"sweep 1: {trials} trials, ") and lines[0].endswith("as stored")
    numbers = [int(w) for w in lines[0].replace(",", "").split() if w.isdigit()]
    assert (numbers[-1] > 20) == (method in LEARNING), lines
    with sqlite3.connect(f"file:{database(daemon)}?mode=ro", uri=True) as db:
        pauses, = db.execute("SELECT count(*) FROM attempt WHERE state = 'PAUSED'").fetchone()
    assert (pauses > 5) == (pruner == "promote"), pauses


@pytest.mark.parametrize("method", [m for m in METHODS if m != "grid"])
def test_points_of_a_small_space_come_once_each_over_a_restart_and_replay(start, method):
    daemon = start()
    client = daemon.client()
    sweep = client.submit(driven(method=method, run_cap=20, parameters={
        "k": {"min": 1, "max": 3}, "q": {"values": [0.5, 0.25]}, "b": {"values": [True, False]}}))
    seen, held = [], []
    for turn in range(9):
        if turn == 2:
            client = daemon.again()
        if turn == 3:
            client.call("trial.enqueue", sweep=sweep, params=next(
                p for k in (1, 2, 3) for q in (0.5, 0.25) for b in (True, False)
                if (p := {"k": k, "q": q, "b": b}) not in seen))
        held += client.ask(sweep, 2)
        seen += [trial["params"] for trial in held[-2:]]
        if len(held) > 3:
            client.tell(sweep, held.pop(0), metrics={"loss": seen[-1]["k"]})
    assert len({str(sorted(p.items())) for p in seen[:12]}) == 12 and len(seen) == 18, seen
    status, lines, errors = replay(database(daemon), sweep)
    assert (status, errors) == (0, "") and lines[0].endswith("all as stored so far (it is RUNNING)"), (lines, errors)


@pytest.mark.parametrize("method", ["random", "bayes"])
def test_population_with_kills_replays_as_it_is_stored(start, method):
    daemon = start()
    client = daemon.client()
    sweep = client.submit(searched(method, run_cap=6, early_terminate={
        "type": "pbt", "perturbation_interval": 2, "hyperparam_mutations": ["lr", "layers"]}))
    draw, held, turn = random.Random(2), [], 0
    while held or client.sweep(sweep)["state"] == "RUNNING":
        turn += 1
        if turn in (5, 20, 41):
            client = daemon.again()
        held += [[t, t["resume_step"], 0] for t in client.ask(sweep, draw.choice((1, 2)))]
        if not held:
            continue
        run = held.pop(draw.randrange(len(held)))
        t, step, seq = run[0], run[1] + 1, run[2] + 1
        said = client.call("trial.report", sweep=sweep, trial=t["trial"], attempt=t["attempt"],
                           seq=seq, step=step, checkpoint=True,
                           metrics={"loss": loss(t["params"]) + 1 / step})["decision"]
        if said == "continue" and step == 12:
            client.tell(sweep, t)
        elif said == "continue":
            held.append([t, step, seq])
    status, lines, errors = replay(database(daemon))
    assert (status, errors) == (0, "") and lines[0].endswith("all as stored"), (lines, errors)
    with sqlite3.connect(f"file:{database(daemon)}?mode=ro", uri=True) as db:
        children, = db.execute("SELECT count(*) FROM trial WHERE parent > 0").fetchone()
    assert children > 2


WORKED = {"stop": asha(max_t=12, reduction_factor=2),
          "promote": asha(max_t=12, reduction_factor=2, variant="promote"),
          "pbt": {"type": "pbt", "perturbation_interval": 3}}


@pytest.mark.parametrize("pruner", WORKED)
@pytest.mark.slots("cpu:2")
def test_sweep_on_slots_whose_daemon_and_workers_are_killed_replays(daemon, client, pruner):
    sweep = client.submit(slow(epochs=12, run_cap=8, early_terminate=WORKED[pruner], parameters={
        "width": {"value": 32}, "batch_size": {"value": 8},
        "lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 0.1}}))

    def reports(n):
        wait_until(lambda: sum(len(client.reports(sweep, t["trial"]))
                               for t in client.trials(sweep)) >= n, f"{n} reports")

    reports(6)
    client = daemon.again()
    reports(12)
    busy = [slot["pid"] for slot in client.slots() if slot.get("pid")]
    os.kill(busy[0], signal.SIGKILL)
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    status, lines, errors = replay(database(daemon))
    assert (status, errors) == (0, "") and lines[0].endswith("all as stored"), (lines, errors)
    with sqlite3.connect(f"file:{database(daemon)}?mode=ro", uri=True) as db:
        ended = {state for state, in db.execute("SELECT DISTINCT state FROM attempt")}
    assert ("PAUSED" in ended) == (pruner != "stop") and "RUNNING" not in ended, ended


def test_suggestions_that_did_not_know_all_are_made_again_from_what_they_knew(start):
    daemon = start()
    spec = searched("bayes", run_cap=60, suggest_wait_ms=0, init=[{"opt": "sgd"}, {}])
    Life(daemon, 11, spec).live(70, kills=(30,)).end()
    with sqlite3.connect(f"file:{database(daemon)}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT why FROM suggestion").fetchall()
    assert any('"unseen":0' not in why for why, in rows), "none was behind: this tests nothing"
    status, lines, _ = replay(database(daemon))
    assert status == 0 and lines[0].endswith("all as stored"), lines


def test_sweep_of_several_metrics_that_learnt_from_another_replays(start):
    daemon = start()
    client = daemon.client()
    first = client.submit(driven(method="random", run_cap=12))
    while handed := client.ask(first):
        client.tell(first, handed[0], metrics={"loss": handed[0]["params"]["x"]})
    warm = client.submit(driven(method="tpe", run_cap=20, warm_start=[first], seed=5))
    while handed := client.ask(warm, 2):
        for t in handed:
            client.report(warm, t, 1, 1, loss=t["params"]["x"] + 1)
            client.tell(warm, t, metrics={"loss": t["params"]["x"]})
    spec = driven(method="bayes", run_cap=12, metric=None, suggest_wait_ms=60000, metrics=[
        {"name": "loss", "goal": "minimize"}, {"name": "acc", "goal": "maximize"}])
    several = client.submit(spec)
    while handed := client.ask(several, 3):
        for t in handed:
            x = t["params"]["x"]
            client.tell(several, t, metrics={"loss": x, "acc": x * (1 - x)})
    client.call("sweep.extend", sweep=warm, run_cap=22)
    running = client.ask(warm)
    status, lines, errors = replay(database(daemon))
    assert status == 0 and not errors
    assert [line.split(":")[0] for line in lines] == ["sweep 1", "sweep 2", "sweep 3"]
    assert "has not ended" in lines[1] and lines[2].endswith("as stored"), lines
    status, lines, _ = replay(daemon.state, 2)  # the directory will do
    assert status == 0 and lines[0].endswith("as stored so far (it is RUNNING)"), lines
    client.tell(warm, running[0], state="FAILED")
    assert replay(database(daemon), 2)[0] == 0


# What replay may say first of a sweep whose edit was altered: a point that learns may be as stored though the
# range is another, and then what it knew is not.
EDITED = {"random": ("its parameters",),
          **dict.fromkeys(("tpe", "bohb", "bayes"), ("its parameters", "its suggestion knew"))}


@pytest.mark.parametrize("method", EDITED)
def test_sweep_that_was_edited_replays(start, method):
    daemon = start()
    life = Life(daemon, 13, searched(method, run_cap=50, constraints=[]))
    life.client.call("trial.enqueue", sweep=life.sweep, params={"lr": 0.15})  # for alter_edit()
    life.live(25)

    def edit(**changes):
        life.client.call("sweep.edit", sweep=life.sweep, **changes)

    edit(ranges={"lr": {"min": 1e-3, "max": 0.1}, "layers": {"min": 2, "max": 3}}, run_cap=120)
    life.live(20, kills=(7,))
    edit(max_concurrent=6, weight=2, time_budget_s=1e6, target=-5)
    life.live(10)
    edit(ranges={"lr": {"min": 1e-4, "max": 0.5}}, max_concurrent=0)
    life.kill()
    life.live(25).end()
    status, lines, errors = replay(database(daemon))
    assert (status, errors) == (0, "") and lines[0].endswith("all as stored"), lines
    status, line = alter_edit(database(daemon), life.daemon.directory)
    assert status == 1 and line.startswith("sweep 1, event "), line
    assert any(said in line for said in EDITED[method]), line


def alter_edit(stored, directory):
    """The database with its first edit of a range altered: (status, line)."""
    path = os.path.join(directory, "edited.db")
    with sqlite3.connect(f"file:{stored}?mode=ro", uri=True) as db, sqlite3.connect(path) as copy:
        db.backup(copy)
        assert copy.execute("UPDATE event SET cause = replace(cause, '\"max\":0.1', '\"max\":0.2')"
                            " WHERE ev = (SELECT min(ev) FROM event WHERE kind = 'edit')"
                            ).rowcount == 1
    status, lines, _ = replay(path)
    return status, lines[0]


def test_sweeps_that_ended_early_failed_or_are_paused_replay(start):
    daemon = start()
    client = daemon.client()

    def run(value, **more):
        sweep = client.submit(driven(run_cap=60, **more))
        held = client.ask(sweep, 3)
        while held:
            t = held.pop(0)
            client.tell(sweep, t, metrics={"loss": value(t["trial"])})
            held += client.ask(sweep)
        return client.sweep(sweep)

    got = run(lambda t: 1 / t, metric={"name": "loss", "goal": "minimize", "target": 0.1})
    assert "target" in got["cause"]
    got = run(lambda t: 1.0, plateau={"top": 5, "std": 0.01, "patience": 1})
    assert "plateau" in got["cause"]
    sweep = client.submit(driven(time_budget_s=0.3))
    client.ask(sweep, 3)
    assert "budget" in client.wait_sweep(sweep)["cause"]
    failed = client.submit(driven(run_cap=3))
    while handed := client.ask(failed):
        client.tell(failed, handed[0], state="FAILED", cause="exit:1")
    assert client.sweep(failed)["state"] == "FAILED"
    paused = client.submit(driven(run_cap=5))
    client.ask(paused, 2)
    client.call("sweep.pause", sweep=paused)
    status, lines, errors = replay(database(daemon))
    assert (status, errors) == (0, "") and len(lines) == 5, lines
    assert all(line.endswith("all as stored") for line in lines[:4]) and "has not ended" in lines[4], lines
    status, lines, _ = replay(database(daemon), paused)
    assert status == 0 and lines[0].endswith("(it is PAUSED)")


def test_grids_replay_and_name_why_they_ended(start):
    daemon = start()
    client = daemon.client()
    for run_cap in (None, 3, 9):
        sweep = client.submit(driven(method="grid", run_cap=run_cap,
                                     parameters={"k": {"min": 1, "max": 5}}))
        while handed := client.ask(sweep):
            client.tell(sweep, handed[0], metrics={"loss": 1})
    daemon.stop()
    for change, differs in (("seed = seed", False), ("cause = NULL", True)):
        with sqlite3.connect(database(daemon)) as db:
            db.execute("UPDATE sweep SET " + change)
        status, lines, errors = replay(database(daemon))
        assert status == differs, (change, lines, errors)
        assert differs == any("why it ended" in line for line in lines), (change, lines)


def test_open_database_is_not_disturbed_and_a_copy_works(start, tmp_path):
    daemon = start()
    life = Life(daemon, 3, searched("tpe", run_cap=100, early_terminate=asha(max_t=9))).live(40)
    copy = tmp_path / "copy"
    shutil.copytree(daemon.state, copy)  # with the log beside it
    before = sorted(os.listdir(daemon.state))
    status, lines, _ = replay(database(daemon), 1)
    assert status == 0 and "so far (it is RUNNING)" in lines[0]
    assert sorted(os.listdir(daemon.state)) == before
    life.live(20).end()
    assert replay(database(daemon))[0] == 0
    assert replay(copy / "sweepd.db", 1)[0] == 0
    daemon.term()
    alone = tmp_path / "one #1%20?.db"
    shutil.copy(database(daemon), alone)
    os.chmod(alone, 0o400)
    beside = sorted(os.listdir(tmp_path))
    before = alone.read_bytes()
    status, lines, errors = replay(alone)
    assert (status, errors) == (0, "") and lines[0].endswith("all as stored")
    assert sorted(os.listdir(tmp_path)) == beside and alone.read_bytes() == before


@pytest.mark.parametrize("pruner", [*PRUNERS.values(), {"type": "median", "grace_period": 1}])
def test_zero_of_either_sign_replays_as_it_is_stored(client, daemon, pruner):
    for goal in "minimize", "maximize":
        for zero in 0, -0.0:
            sweep = client.submit(driven(metric={"name": "loss", "goal": goal}, run_cap=8, early_terminate=pruner))
            for t in client.ask(sweep, 8):
                if client.report(sweep, t, 1, 1, loss=zero) == "continue":
                    client.report(sweep, t, 2, 2, loss=zero)
                    client.tell(sweep, t, metrics={"loss": zero})
    status, lines, errors = replay(database(daemon))
    assert (status, errors, len(lines)) == (0, "", 4), (lines, errors)


# --- what is not a database, or not this one's ---

@pytest.fixture(name="small", scope="module")
def small_(tmp_path_factory):
    """A file with one small sweep, made once."""
    from harness import Daemon
    daemon = Daemon(tmp_path_factory.mktemp("small")).start()
    try:
        client = daemon.client()
        sweep = client.submit(driven(run_cap=400))
        for t in client.ask(sweep, 400):
            client.tell(sweep, t, metrics={"loss": 1.0})
    finally:
        daemon.stop()
    return database(daemon)


def test_what_is_no_database_is_refused_with_one_line(small, tmp_path):
    assert "No such file" in refused(tmp_path / "none.db")
    assert "No such file" in refused(tmp_path)  # a directory without one
    (tmp_path / "text").write_text("this is no database\n" * 100)
    assert "not a sweepd database" in refused(tmp_path / "text")
    (tmp_path / "empty").touch()
    assert "cut short" in refused(tmp_path / "empty")
    with sqlite3.connect(tmp_path / "other") as db:
        db.execute("CREATE TABLE t (x)")
    assert "not a sweepd database" in refused(tmp_path / "other")
    shutil.copy(small, tmp_path / "another")
    with sqlite3.connect(tmp_path / "another") as db:
        db.execute("PRAGMA user_version = 99")
        db.execute("UPDATE meta SET value = '9.8.7' WHERE key = 'program'")
    assert "was written by sweepd 9.8.7 (schema 99), and this is" in refused(tmp_path / "another")
    os.mkfifo(tmp_path / "pipe")
    assert "not a file" in refused(tmp_path / "pipe")


@pytest.mark.parametrize("left", [0.999, 0.7, 0.3, 0.01])
def test_truncated_file_is_refused(small, tmp_path, left):
    whole = open(small, "rb").read()
    (tmp_path / "cut.db").write_bytes(whole[:int(len(whole) * left)])
    assert "damaged" in refused(tmp_path / "cut.db") or "malformed" in refused(tmp_path / "cut.db")


def test_wrong_command_lines_are_refused(small):
    assert "replay takes DB" in refused(small, 1, 2, status=2)
    assert "not 'x'" in refused(small, "x", status=2)
    assert "not '0'" in refused(small, 0, status=2)
    assert "no sweep 7" in refused(small, 7, status=2)
    assert "replay takes DB" in refused("--nonsense", status=2)
    status, lines, _ = replay("--help")
    assert status == 0 and lines[0].startswith("usage: sweepd replay")


def test_long_replay_says_on_a_terminal_how_far_it_is(small):
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run([os.path.join(BIN, "sweepd"), "replay", small], check=False,
                              stdout=subprocess.PIPE, stderr=theirs, timeout=DEADLINE)
        said = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0 and done.stdout.count(b"\n") == 1
    assert "\rsweep 1: event 256 of 1,200 \r" in said

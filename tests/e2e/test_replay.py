"""`sweepd replay`: a database is what its events lead to, also with kills, and what is no database is refused. Each
story of tests/daemon ends with a replay, too."""
import os
import pty
import shutil
import sqlite3
import subprocess

import pytest

from harness import BIN, DEADLINE, asha, driven
from replays import Life, database, refused, replay
from search_model import LEARNING, METHODS, searched

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
def test_sweep_with_kills_replays_as_it_is_stored(daemon, method, pruner):
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


def test_open_database_is_not_disturbed_and_a_copy_works(daemon, tmp_path):
    life = Life(daemon, 3, searched("tpe", run_cap=100, early_terminate=asha(max_t=9))).live(40)
    copy = tmp_path / "copy"
    shutil.copytree(daemon.state, copy)  # with the log beside it
    before = sorted(os.listdir(daemon.state))
    status, lines, _ = replay(daemon.state, 1)  # the directory will do
    assert status == 0 and "so far (it is RUNNING)" in lines[0]
    status, lines, _ = replay(database(daemon))
    assert status == 0 and "has not ended" in lines[0]
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

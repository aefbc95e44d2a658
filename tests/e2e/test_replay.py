"""`sweepd replay`: a database is what its events lead to, and every alteration of it is found."""
import os
import pty
import random
import shutil
import signal
import sqlite3
import subprocess

import pytest

from harness import BIN, DEADLINE, ROOT, asha, driven, environment, slow, wait_until
from search_model import LEARNING, METHODS, key, loss, searched


def replay(path, *args):
    """(status, lines of stdout, stderr)."""
    done = subprocess.run([os.path.join(BIN, "sweepd"), "replay", str(path), *map(str, args)],
                          cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=DEADLINE, env=environment())
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode()


def database(daemon):
    return os.path.join(daemon.state, "sweepd.db")


class Life:
    """A sweep that meets everything at once, in an order that a seed draws."""

    def __init__(self, daemon, seed, spec):
        self.daemon, self.draw = daemon, random.Random(seed)
        self.client = daemon.client()
        self.sweep = self.client.submit(spec)
        self.held = []

    def any_held(self):
        return self.held.pop(self.draw.randrange(len(self.held)))

    def tell(self):
        t, state = self.any_held(), self.draw.choice(["COMPLETED"] * 6 + ["FAILED", "INFEASIBLE"])
        value = loss(t["params"])
        steps = [s for s in (1, 2, 3, 5, 9) if s > t.get("resume_step", 0)]
        for seq, step in enumerate(steps[:self.draw.randrange(1, 6)], 1):
            sent = "nan" if self.draw.random() < 0.02 else value + 1 / step
            if self.client.report(self.sweep, t, seq, step, loss=sent) != "continue":
                return
        more = {"metrics": {"loss": value}} if self.draw.random() < 0.5 else {}
        self.client.tell(self.sweep, t, state=state, **more)

    def step(self):
        what = self.draw.random()
        if what < 0.4 or not self.held:
            self.held += self.client.ask(self.sweep, self.draw.choice([1, 1, 2, 4]))
        elif what < 0.88:
            self.tell()
        elif what < 0.93:
            self.client.call("trial.enqueue", sweep=self.sweep, params={})
        elif what < 0.97:
            self.client.call("trial.cancel", sweep=self.sweep, trial=self.any_held()["trial"])
        else:
            self.client.call("sweep.pause", sweep=self.sweep)
            self.client.call("sweep.resume", sweep=self.sweep)

    def kill(self):
        self.daemon.kill9()
        self.client = self.daemon.start().client()

    def live(self, steps, kills=()):
        for i in range(steps):
            if i in kills:
                self.kill()
            self.step()
        return self

    def end(self):
        self.client.call("sweep.cancel", sweep=self.sweep)
        return self


# --- what is as stored ---

PRUNERS = {"none": None, "stop": asha(max_t=9), "brackets": asha(max_t=9, brackets=2),
           "promote": asha(max_t=9, variant="promote"),
           "hyperband": {"type": "hyperband", "min_iter": 1, "eta": 2},
           "median": {"type": "median", "n_startup_trials": 3},
           "patience": {"type": "patience", "patience": 2, "min_delta": 0.1},
           "threshold": {"type": "threshold", "upper": 4.0, "lower": -1}}


@pytest.mark.parametrize("pruner", PRUNERS)
@pytest.mark.parametrize("method", METHODS)
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


@pytest.mark.parametrize("method", ["random", "tpe", "bayes"])
def test_population_with_kills_replays_as_it_is_stored(start, method):
    daemon = start()
    client = daemon.client()
    sweep = client.submit(searched(method, run_cap=6, early_terminate={
        "type": "pbt", "perturbation_interval": 2, "hyperparam_mutations": ["lr", "layers"]}))
    draw, held, turn = random.Random(2), [], 0
    while held or client.sweep(sweep)["state"] == "RUNNING":
        turn += 1
        if turn in (5, 20, 41):
            daemon.kill9()
            client = daemon.start().client()
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
def test_sweep_on_slots_whose_daemon_and_workers_are_killed_replays(start, pruner):
    daemon = start("cpu:2")
    client = daemon.client()
    sweep = client.submit(slow(epochs=12, run_cap=8, early_terminate=WORKED[pruner], parameters={
        "width": {"value": 32}, "batch_size": {"value": 8},
        "lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 0.1}}))

    def reports(n):
        wait_until(lambda: sum(len(client.reports(sweep, t["trial"]))
                               for t in client.trials(sweep)) >= n, f"{n} reports")

    reports(6)
    daemon.kill9()
    client = daemon.start().client()
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


@pytest.mark.parametrize("method", ["random", "tpe", "bohb", "bayes"])
def test_sweep_that_was_edited_replays(start, method):
    daemon = start()
    life = Life(daemon, 13, searched(method, run_cap=50, constraints=[])).live(25)

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
    words = "its suggestion knew" if method == "bayes" else "its parameters"
    assert status == 1 and line.startswith("sweep 1, event ") and words in line, line


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


def test_sweeps_that_ended_early_replay(start):
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
    status, lines, errors = replay(database(daemon))
    assert (status, errors) == (0, "") and len(lines) == 3, lines
    assert all(line.endswith("all as stored") for line in lines), lines


def test_failed_and_paused_sweeps_replay(start):
    daemon = start()
    client = daemon.client()
    failed = client.submit(driven(run_cap=3))
    while handed := client.ask(failed):
        client.tell(failed, handed[0], state="FAILED", cause="exit:1")
    paused = client.submit(driven(run_cap=5))
    client.ask(paused, 2)
    client.call("sweep.pause", sweep=paused)
    assert client.sweep(failed)["state"] == "FAILED"
    assert replay(database(daemon))[0] == 0
    status, lines, _ = replay(database(daemon), paused)
    assert status == 0 and lines[0].endswith("(it is PAUSED)")


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


# --- what is not a database, or not this one's ---

def refused(*args, status=3):
    got, lines, errors = replay(*args)
    assert got == status and lines == [], (got, lines, errors)
    assert errors.startswith("sweepd: ") and errors.count("\n") == 1, errors
    return errors


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
    for words, version in (("newer", 99), ("older", 1)):
        shutil.copy(small, tmp_path / words)
        with sqlite3.connect(tmp_path / words) as db:
            db.execute(f"PRAGMA user_version = {version}")
            db.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (version,))
        assert f"by a{'n' if words == 'older' else ''} {words} sweepd" in refused(tmp_path / words)
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


# --- every alteration is found ---

@pytest.fixture(name="stored", scope="module")
def stored_(tmp_path_factory):
    """A file with one long sweep of bayes under ASHA, made once, as path."""
    from harness import Daemon
    daemon = Daemon(tmp_path_factory.mktemp("stored")).start()
    try:
        spec = searched("bayes", run_cap=300, early_terminate=asha(max_t=9), init=[{"opt": "sgd"}])
        life = Life(daemon, 5, spec).live(110, kills=(33,))
        handed = life.client.ask(life.sweep, 2)
        if handed:
            life.client.report(life.sweep, handed[0], 1, 1, loss=0.001)
        life.end()
    finally:
        daemon.stop()
    assert replay(database(daemon))[0] == 0
    return database(daemon)


def altered(stored, tmp_path, find, *change):
    """Applies the changes to the row found, and says what the replay says: (row, its line)."""
    path = tmp_path / "altered.db"
    shutil.copy(stored, path)
    os.chmod(path, 0o600)
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    row = dict(db.execute(find).fetchone())
    for sql in change:
        assert db.execute(sql, row).rowcount >= 1, sql
    db.commit()
    db.close()
    status, lines, errors = replay(path)
    assert (status, errors) == (1, "") and len(lines) == 1, (status, lines, errors)
    return row, lines[0]


DECISION = """SELECT d.*, r.ev FROM decision d JOIN report r USING (sweep, trial, attempt, seq)
              WHERE d.n >= 6 AND d.cutoff IS NOT NULL LIMIT 1 OFFSET 3"""
OF_DECISION = """ WHERE sweep = :sweep AND trial = :trial AND attempt = :attempt AND seq = :seq"""
REPORT = "SELECT * FROM report WHERE verdict = 'continue' AND value IS NOT NULL LIMIT 1 OFFSET 9"
OF_REPORT = OF_DECISION
TRIAL = """SELECT t.*, a.ev FROM trial t JOIN attempt a USING (sweep, trial)
           WHERE t.trial = 9 AND a.attempt = 1"""
OF_TRIAL = " WHERE sweep = :sweep AND trial = :trial"
LEARNT = """SELECT s.*, a.ev, t.params FROM suggestion s JOIN attempt a USING (sweep, trial)
            JOIN trial t USING (sweep, trial) WHERE s.known > 8 AND a.attempt = 1
            AND s.why LIKE '%"mean"%' LIMIT 1"""


@pytest.mark.parametrize("what, find, change", [
    ("verdict", DECISION, "UPDATE decision SET verdict = 'pause'" + OF_DECISION),
    ("rung", DECISION, "UPDATE decision SET rung = 27" + OF_DECISION),
    ("bracket", DECISION, "UPDATE decision SET bracket = bracket + 1" + OF_DECISION),
    ("n", DECISION, "UPDATE decision SET n = n + 1" + OF_DECISION),
    ("better", DECISION, "UPDATE decision SET better = better + 1" + OF_DECISION),
    ("keep", DECISION, "UPDATE decision SET keep = keep - 1" + OF_DECISION),
    ("cutoff", DECISION, "UPDATE decision SET cutoff = cutoff * (1 + 2.3e-16)" + OF_DECISION),
    ("no cutoff", DECISION, "UPDATE decision SET cutoff = NULL" + OF_DECISION),
    ("value", DECISION, "UPDATE decision SET value = value * (1 + 2.3e-16)" + OF_DECISION),
    ("missing", DECISION, "DELETE FROM decision" + OF_DECISION),
    ("twice", DECISION, """INSERT INTO decision SELECT sweep, trial, attempt, seq, rung + 100,
        verdict, bracket, n, better, keep, cutoff, value FROM decision""" + OF_DECISION),
    ("verdict of a report", REPORT, "UPDATE report SET verdict = 'stop'" + OF_REPORT),
    ("value of a report", REPORT, "UPDATE report SET value = value + 1" + OF_REPORT),
    ("metrics of a report", REPORT, """UPDATE report SET metrics = '{"loss":1e9}'""" + OF_REPORT),
    ("diverged", REPORT, "UPDATE report SET diverged = 1, value = NULL" + OF_REPORT),
    ("seq of a report", REPORT, "UPDATE report SET seq = seq + 50" + OF_REPORT),
    ("attempt of a report", REPORT, "UPDATE report SET attempt = attempt + 5" + OF_REPORT),
    ("params", TRIAL, """UPDATE trial SET params = replace(params, '"layers":', '"layers":1')"""
     + OF_TRIAL),
    ("params of a learnt one", LEARNT, "UPDATE trial SET params = '{}'" + OF_TRIAL),
    ("known", LEARNT, "UPDATE suggestion SET known = known - 1" + OF_TRIAL),
    ("known too much", LEARNT, "UPDATE suggestion SET known = 100000" + OF_TRIAL),
    ("why", LEARNT, """UPDATE suggestion SET why = replace(why, '"sd":', '"sd":1')""" + OF_TRIAL),
    ("no suggestion", LEARNT, "DELETE FROM suggestion" + OF_TRIAL),
    ("event of an attempt", TRIAL, "UPDATE attempt SET ev = ev + 1" + OF_TRIAL),
    ("no attempt", TRIAL, "DELETE FROM attempt" + OF_TRIAL),
], ids=lambda v: v if len(v) < 30 else "")
def test_altered_row_is_named_with_its_event_and_trial(stored, tmp_path, what, find, change):
    row, line = altered(stored, tmp_path, find, change)
    assert line.startswith(f"sweep 1, event {row['ev']}, trial {row['trial']}: "), (what, line)


def test_suggestion_of_bayes_that_differs_in_the_last_bits_says_what_that_may_mean(stored, tmp_path):
    set_lr = "UPDATE trial SET params = json_set(params, '$.lr', json_extract(params, '$.lr') * {})"
    words = "only on the kind of processor that made it"
    assert words in altered(stored, tmp_path, LEARNT, set_lr.format("(1 + 1e-14)") + OF_TRIAL)[1]
    assert words not in altered(stored, tmp_path, LEARNT, set_lr.format("1.01") + OF_TRIAL)[1]


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


ENDED = """SELECT t.*, max((SELECT coalesce(max(e.ev), 0) FROM event e WHERE e.sweep = t.sweep
           AND e.trial = t.trial), (SELECT max(r.ev) FROM report r WHERE r.sweep = t.sweep
           AND r.trial = t.trial)) AS ev FROM trial t
           WHERE t.state = '{}' AND t.attempt = 1 AND value IS NOT NULL LIMIT 1 OFFSET 1"""


@pytest.mark.parametrize("state", ["COMPLETED", "PRUNED"])
@pytest.mark.parametrize("change", [
    "UPDATE trial SET state = 'INFEASIBLE'", "UPDATE trial SET cause = 'because'",
    "UPDATE trial SET attempt = 2", "UPDATE trial SET step = step + 1",
    "UPDATE trial SET value = value * (1 + 2.3e-16)", "UPDATE trial SET value = NULL",
    "UPDATE attempt SET state = 'LOST'", "UPDATE attempt SET cause = 'because'"])
def test_altered_end_of_a_trial_is_named_where_it_ended(stored, tmp_path, state, change):
    row, line = altered(stored, tmp_path, ENDED.format(state), change + OF_TRIAL)
    assert line.startswith(f"sweep 1, event {row['ev']}, trial {row['trial']}: "), line


@pytest.mark.parametrize("what, find, change", [
    ("state", "SELECT * FROM sweep", "UPDATE sweep SET state = 'COMPLETED'"),
    ("cause", "SELECT * FROM sweep", "UPDATE sweep SET cause = 'because'"),
    ("run cap", "SELECT * FROM sweep", "UPDATE sweep SET run_cap = 301"),
    ("last event", "SELECT max(ev) AS ev FROM event", "DELETE FROM event WHERE ev = :ev"),
    ("the sampler's trial", "SELECT * FROM sampler", "UPDATE sampler SET trial = trial - 1")],
                         ids=lambda v: v if len(v) < 30 else "")
def test_altered_sweep_is_named(stored, tmp_path, what, find, change):
    _, line = altered(stored, tmp_path, find, change)
    assert line.startswith("sweep 1"), (what, line)


def test_altered_state_of_the_sampler_is_named_with_its_trial(stored, tmp_path):
    row, line = altered(stored, tmp_path, "SELECT * FROM sampler",
                        "UPDATE sampler SET state = '00' || substr(state, 3)")
    assert f", trial {row['trial']}: the sampler's state" in line


def test_altered_seed_is_found_at_the_first_trial(stored, tmp_path):
    _, line = altered(stored, tmp_path, "SELECT * FROM sweep",
                      """UPDATE sweep SET spec = replace(spec, '"seed":3', '"seed":4')""")
    assert line.startswith("sweep 1, event 1, trial 1: its parameters"), line


SWAP = ["UPDATE {0} SET ev = -1 WHERE ev = :ev", "UPDATE {1} SET ev = :ev WHERE ev = :other",
        "UPDATE {0} SET ev = :other WHERE ev = -1"]


def test_swapped_reports_of_a_trial_are_found(stored, tmp_path):
    row, line = altered(stored, tmp_path, """SELECT a.ev, b.ev AS other, a.trial FROM report a
        JOIN report b USING (sweep, trial, attempt) WHERE b.seq = a.seq + 1 LIMIT 1 OFFSET 2""",
                        *(sql.format("report", "report") for sql in SWAP))
    assert line.startswith(f"sweep 1, event {row['ev']}, trial {row['trial']}: the replay refuses")


def test_swapped_reports_of_two_trials_at_one_rung_are_found(stored, tmp_path):
    row, line = altered(stored, tmp_path, """SELECT a.ev, min(b.ev) AS other, b.trial
        FROM report a JOIN decision d USING (sweep, trial, attempt, seq)
        JOIN decision f ON f.rung = d.rung AND f.n = d.n + 1 JOIN report b ON b.trial = f.trial
        AND b.attempt = f.attempt AND b.seq = f.seq WHERE d.n >= 4 AND a.trial <> b.trial
        AND NOT EXISTS (SELECT 1 FROM attempt t WHERE t.ev BETWEEN a.ev AND b.ev
        AND t.trial = b.trial) AND a.verdict = 'continue' AND b.verdict = 'continue'
        GROUP BY a.ev LIMIT 1""", *(sql.format("report", "report") for sql in SWAP))
    assert line.startswith(f"sweep 1, event {row['ev']}, trial {row['trial']}: the decision's n")


def test_event_that_is_gone_or_there_twice_is_found(stored, tmp_path):
    row, line = altered(stored, tmp_path, "SELECT * FROM event WHERE kind = 'ask' LIMIT 1 OFFSET 7",
                        "DELETE FROM event WHERE ev = :ev")
    assert line.startswith(f"sweep 1, event {row['ev']}: it is missing"), line
    row, line = altered(stored, tmp_path, "SELECT * FROM report LIMIT 1 OFFSET 20", """INSERT INTO
        event (sweep, ev, kind, trial, attempt, run_cap, time_ms, uid)
        VALUES (:sweep, :ev, 'pause', 0, 0, 0, 0, 0)""")
    assert line.startswith(f"sweep 1, event {row['ev']}: it is stored twice"), line


def test_altered_event_is_found(stored, tmp_path):
    row, line = altered(stored, tmp_path, """SELECT * FROM event WHERE kind = 'tell'
        AND state = 'COMPLETED' ORDER BY ev LIMIT 1""",
                        "UPDATE event SET state = 'FAILED' WHERE ev = :ev")
    assert line.startswith(f"sweep 1, event {row['ev']}, trial {row['trial']}: "), line
    row, line = altered(stored, tmp_path, """SELECT * FROM event WHERE kind = 'tell'
        AND state = 'COMPLETED' ORDER BY ev DESC LIMIT 1""",
                        "UPDATE event SET trial = trial + 500 WHERE ev = :ev")
    assert line.startswith(f"sweep 1, event {row['ev']}, trial {row['trial'] + 500}: ")
    assert "there is no trial" in line


def test_rows_of_nothing_are_found(stored, tmp_path):
    row, line = altered(stored, tmp_path, "SELECT * FROM trial ORDER BY trial DESC LIMIT 1",
                        """INSERT INTO attempt (sweep, trial, attempt, ev, slot, started_ms,
        ended_ms, state) VALUES (:sweep, :trial, 99, 1, -1, 1, 2, 'LOST')""")
    assert line.startswith(f"sweep 1, trial {row['trial']}: its attempt 99 is stored"), line
    row, line = altered(stored, tmp_path, "SELECT * FROM decision LIMIT 1",
                        """INSERT INTO decision SELECT sweep, trial, attempt, 77, rung, verdict,
        bracket, n, better, keep, cutoff, value FROM decision""" + OF_DECISION)
    assert line.startswith(f"sweep 1, trial {row['trial']}: a decision at rung"), line
    row, line = altered(stored, tmp_path, "SELECT max(trial) + 1 AS trial FROM trial",
                        """INSERT INTO trial (sweep, trial, state, attempt, step, created_ms,
        started_ms, ended_ms, seconds, params) VALUES (1, :trial, 'CANCELLED', 0, 0, 0, 0, 0, 0.0,
        '{}')""")
    assert line.startswith(f"sweep 1, trial {row['trial']}: it is stored"), line


def test_trial_without_a_row_is_found(stored, tmp_path):
    row, line = altered(stored, tmp_path, TRIAL, "DELETE FROM trial" + OF_TRIAL)
    assert line.startswith(f"sweep 1, event {row['ev']}, trial 9: it is not stored"), line


def test_row_of_a_wrong_type_is_damage_and_not_a_difference(stored, tmp_path):
    path = tmp_path / "bad.db"
    shutil.copy(stored, path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE sweep SET spec = '{'")
    assert "sweep 1" in refused(path)

"""`sweepd replay` finds every alteration of what is stored."""
import os
import shutil
import sqlite3

import pytest

from harness import Daemon, asha
from replays import Life, database, refused, replay
from search_model import searched


@pytest.fixture(name="stored", scope="module")
def stored_(tmp_path_factory):
    """A file with one long sweep of bayes under ASHA, whose range was edited, made once, as path."""
    daemon = Daemon(tmp_path_factory.mktemp("stored")).start()
    try:
        spec = searched("bayes", run_cap=300, early_terminate=asha(max_t=9), init=[{"opt": "sgd"}])
        life = Life(daemon, 5, spec).live(110, kills=(33,))
        life.client.call("sweep.edit", sweep=life.sweep, ranges={"lr": {"min": 1e-3, "max": 0.1}})
        life.live(5)
        handed = life.client.ask(life.sweep, 2)
        if handed:
            life.client.report(life.sweep, handed[0], 1, 1, loss=0.001)
        life.end()
    finally:
        daemon.stop()
    assert replay(database(daemon))[0] == 0
    return database(daemon)


SWEEP, REPORT = "SELECT * FROM sweep", "SELECT * FROM report WHERE verdict = 'continue' AND value IS NOT NULL LIMIT 1 OFFSET 9"
DECISION = """SELECT d.*, r.ev FROM decision d JOIN report r USING (sweep, trial, attempt, seq)
              WHERE d.n >= 6 AND d.cutoff IS NOT NULL LIMIT 1 OFFSET 3"""
TRIAL = """SELECT t.*, a.ev FROM trial t JOIN attempt a USING (sweep, trial)
           WHERE t.trial = 9 AND a.attempt = 1"""
LEARNT = """SELECT s.*, a.ev, t.params FROM suggestion s JOIN attempt a USING (sweep, trial)
            JOIN trial t USING (sweep, trial) WHERE s.known > 8 AND a.attempt = 1
            AND s.why LIKE '%"mean"%' LIMIT 1"""
ENDED = """SELECT t.*, max((SELECT coalesce(max(e.ev), 0) FROM event e WHERE e.sweep = t.sweep
           AND e.trial = t.trial), (SELECT max(r.ev) FROM report r WHERE r.sweep = t.sweep
           AND r.trial = t.trial)) AS ev FROM trial t
           WHERE t.state = '{}' AND t.attempt = 1 AND value IS NOT NULL LIMIT 1 OFFSET 1"""
TOLD = "SELECT * FROM event WHERE kind = 'tell' AND state = 'COMPLETED' ORDER BY ev "
OF_TRIAL, OF_REPORT = " WHERE sweep = :sweep AND trial = :trial", " WHERE sweep = :sweep AND trial = :trial AND attempt = :attempt AND seq = :seq"
DECIDED = "INSERT INTO decision SELECT sweep, trial, attempt, {}, verdict, bracket, n, better, keep, cutoff, value FROM decision" + OF_REPORT
# Of two reports each takes the other's place.
SWAP = tuple(sql.format("report") for sql in ("UPDATE {} SET ev = -1 WHERE ev = :ev", "UPDATE {} SET ev = :ev WHERE ev = :other",
                                              "UPDATE {} SET ev = :other WHERE ev = -1"))
NEXT = """SELECT a.ev, b.ev AS other, a.trial FROM report a JOIN report b USING (sweep, trial, attempt)
          WHERE b.seq = a.seq + 1 LIMIT 1 OFFSET 2"""
BESIDE = """SELECT a.ev, min(b.ev) AS other, b.trial
    FROM report a JOIN decision d USING (sweep, trial, attempt, seq)
    JOIN decision f ON f.rung = d.rung AND f.n = d.n + 1 JOIN report b ON b.trial = f.trial
    AND b.attempt = f.attempt AND b.seq = f.seq WHERE d.n >= 4 AND a.trial <> b.trial
    AND NOT EXISTS (SELECT 1 FROM attempt t WHERE t.ev BETWEEN a.ev AND b.ev
    AND t.trial = b.trial) AND a.verdict = 'continue' AND b.verdict = 'continue'
    GROUP BY a.ev LIMIT 1"""
EVENT, OF_ROW = "sweep 1, event {ev}: ", "sweep 1, event {ev}, trial {trial}: "

# The row that is altered, how, and what is said of it.
ALTERED = [
    *((DECISION, (change + OF_REPORT,), OF_ROW) for change in (
        "UPDATE decision SET verdict = 'pause'", "UPDATE decision SET rung = 27", "UPDATE decision SET bracket = bracket + 1",
        "UPDATE decision SET n = n + 1", "UPDATE decision SET better = better + 1", "UPDATE decision SET keep = keep - 1",
        "UPDATE decision SET cutoff = cutoff * (1 + 2.3e-16)", "UPDATE decision SET cutoff = NULL",
        "UPDATE decision SET value = value * (1 + 2.3e-16)", "DELETE FROM decision")),
    (DECISION, (DECIDED.format("seq, rung + 100"),), OF_ROW),
    *((REPORT, (change + OF_REPORT,), OF_ROW) for change in (
        "UPDATE report SET verdict = 'stop'", "UPDATE report SET value = value + 1",
        """UPDATE report SET metrics = '{"loss":1e9}'""", "UPDATE report SET diverged = 1, value = NULL",
        "UPDATE report SET seq = seq + 50", "UPDATE report SET attempt = attempt + 5")),
    *((TRIAL, (change + OF_TRIAL,), OF_ROW) for change in (
        """UPDATE trial SET params = replace(params, '"layers":', '"layers":1')""", "UPDATE attempt SET ev = ev + 1",
        "DELETE FROM attempt")),
    (TRIAL, ("DELETE FROM trial" + OF_TRIAL,), OF_ROW + "it is not stored"),
    *((LEARNT, (change + OF_TRIAL,), OF_ROW) for change in (
        "UPDATE trial SET params = '{}'", "UPDATE suggestion SET known = known - 1", "UPDATE suggestion SET known = 100000",
        """UPDATE suggestion SET why = replace(why, '"sd":', '"sd":1')""", "DELETE FROM suggestion")),
    *((ENDED.format(state), (change + OF_TRIAL,), OF_ROW) for state in ("COMPLETED", "PRUNED") for change in (
        "UPDATE trial SET state = 'INFEASIBLE'", "UPDATE trial SET cause = 'because'", "UPDATE trial SET attempt = 2",
        "UPDATE trial SET step = step + 1", "UPDATE trial SET value = value * (1 + 2.3e-16)", "UPDATE trial SET value = NULL",
        "UPDATE attempt SET state = 'LOST'", "UPDATE attempt SET cause = 'because'")),
    (SWEEP, ("UPDATE sweep SET state = 'COMPLETED'",), "sweep 1"),
    (SWEEP, ("UPDATE sweep SET cause = 'because'",), "sweep 1: why it ended"),
    (SWEEP, ("UPDATE sweep SET run_cap = 301",), "sweep 1"),
    (SWEEP, ("""UPDATE sweep SET spec = replace(spec, '"seed":3', '"seed":4')""",), "sweep 1, event 1, trial 1: its parameters"),
    ("SELECT * FROM sampler", ("UPDATE sampler SET trial = trial - 1",), "sweep 1"),
    ("SELECT * FROM sampler", ("UPDATE sampler SET state = '00' || substr(state, 3)",), "sweep 1, event {}, trial {trial}: the sampler's state"),
    ("SELECT max(ev) AS ev FROM event", ("DELETE FROM event WHERE ev = :ev",), "sweep 1"),
    ("SELECT * FROM event WHERE kind = 'ask' LIMIT 1 OFFSET 7", ("DELETE FROM event WHERE ev = :ev",), EVENT + "it is missing"),
    ("SELECT * FROM report LIMIT 1 OFFSET 20", ("INSERT INTO event (sweep, ev, kind, trial, attempt, run_cap, time_ms, uid)"
                                                " VALUES (:sweep, :ev, 'pause', 0, 0, 0, 0, 0)",), EVENT + "it is stored twice"),
    ("SELECT * FROM event WHERE kind = 'edit'", ("UPDATE event SET cause = replace(cause, '\"max\":0.1', '\"max\":0.2') WHERE ev = :ev",),
     "sweep 1, event {}, trial {}: "),
    (TOLD + "LIMIT 1", ("UPDATE event SET state = 'FAILED' WHERE ev = :ev",), OF_ROW),
    ("SELECT *, trial + 500 AS no FROM (" + TOLD + "DESC LIMIT 1)", ("UPDATE event SET trial = :no WHERE ev = :ev",),
     "sweep 1, event {ev}, trial {no}: the replay refuses the event: there is no trial"),
    (NEXT, SWAP, OF_ROW + "the replay refuses"),
    (BESIDE, SWAP, OF_ROW + "the decision's n"),
    ("SELECT * FROM trial ORDER BY trial DESC LIMIT 1", (
        "INSERT INTO attempt (sweep, trial, attempt, ev, slot, started_ms, ended_ms, state, resume_step, gpu, share)"
        " VALUES (:sweep, :trial, 99, 1, -1, 1, 2, 'LOST', 0, 0, 1.0)",), "sweep 1, trial {trial}: its attempt 99 is stored"),
    ("SELECT * FROM decision LIMIT 1", (DECIDED.format("77, rung"),), "sweep 1, trial {trial}: a decision at rung"),
    ("SELECT max(trial) + 1 AS trial FROM trial", (
        "INSERT INTO trial (sweep, trial, state, attempt, step, created_ms, started_ms, ended_ms, seconds, params, parent,"
        " resume_step, left_out) VALUES (1, :trial, 'CANCELLED', 0, 0, 0, 0, 0, 0.0, '{}', 0, 0, 0)",), "sweep 1, trial {trial}: it is stored"),
]


def altered(stored, folder, find, changes):
    """Applies the changes to the row found: (row, what the replay says)."""
    path = folder / "altered.db"
    shutil.copy(stored, path)
    os.chmod(path, 0o600)
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    row = dict(db.execute(find).fetchone())
    for sql in changes:
        assert db.execute(sql, row).rowcount >= 1, sql
    db.commit()
    db.close()
    status, lines, errors = replay(path)
    assert (status, errors) == (1, "") and len(lines) == 1, (changes, status, lines, errors)
    return row, lines[0]


def test_every_alteration_is_found_and_named_with_its_event_and_trial(stored, tmp_path):
    for find, changes, says in ALTERED:
        row, line = altered(stored, tmp_path, find, changes)
        begins, *rest = says.split("{}")  # any number
        assert line.startswith(begins.format(**row)) and all(part.format(**row) in line for part in rest), (changes, line)


def test_suggestion_of_bayes_that_differs_in_the_last_bits_says_what_that_may_mean(stored, tmp_path):
    set_lr = "UPDATE trial SET params = json_set(params, '$.lr', json_extract(params, '$.lr') * {})"
    words = "only on the kind of processor that made it"
    assert words in altered(stored, tmp_path, LEARNT, (set_lr.format("(1 + 1e-14)") + OF_TRIAL,))[1]
    assert words not in altered(stored, tmp_path, LEARNT, (set_lr.format("1.01") + OF_TRIAL,))[1]


def test_row_of_a_wrong_type_is_damage_and_not_a_difference(stored, tmp_path):
    path = tmp_path / "bad.db"
    shutil.copy(stored, path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE sweep SET spec = '{'")
    assert "sweep 1" in refused(path)

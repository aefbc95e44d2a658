"""`sweepd replay` finds every alteration of what is stored."""
import os
import shutil
import sqlite3

import pytest

from harness import asha
from replays import Life, database, refused, replay
from search_model import searched

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
        ended_ms, state, resume_step, gpu, share)
        VALUES (:sweep, :trial, 99, 1, -1, 1, 2, 'LOST', 0, 0, 1.0)""")
    assert line.startswith(f"sweep 1, trial {row['trial']}: its attempt 99 is stored"), line
    row, line = altered(stored, tmp_path, "SELECT * FROM decision LIMIT 1",
                        """INSERT INTO decision SELECT sweep, trial, attempt, 77, rung, verdict,
        bracket, n, better, keep, cutoff, value FROM decision""" + OF_DECISION)
    assert line.startswith(f"sweep 1, trial {row['trial']}: a decision at rung"), line
    row, line = altered(stored, tmp_path, "SELECT max(trial) + 1 AS trial FROM trial",
                        """INSERT INTO trial (sweep, trial, state, attempt, step, created_ms,
        started_ms, ended_ms, seconds, params, parent, resume_step, left_out)
        VALUES (1, :trial, 'CANCELLED', 0, 0, 0, 0, 0, 0.0, '{}', 0, 0, 0)""")
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

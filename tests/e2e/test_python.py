"""The Python package against a real daemon: the client and its loop."""
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from harness import BIN, DEADLINE, INVALID_PARAMS, NOT_FOUND, ROOT, alive, asha, driven, environment, wait_until

PACKAGE = os.path.join(ROOT, "clients", "python")
sys.path.insert(0, PACKAGE)
import sweepd  # noqa: E402
import sweepd._loop  # noqa: E402

NOTHING = "no-metric: nothing was returned, and nothing reported"


@pytest.fixture
def user(daemon):
    """The package's client, as its users have it."""
    with sweepd.Client(daemon.socket, patience_s=DEADLINE) as client:
        yield client


def test_client_drives_a_sweep_by_ask_report_and_tell(user):
    sweep = user.submit(driven(run_cap=3))
    assert user.validate(driven())["ok"]
    for _ in range(3):
        (trial,) = user.ask(sweep)["trials"]
        who = dict(sweep=sweep, trial=trial["trial"], attempt=trial["attempt"])
        assert user.report(**who, seq=1, step=1, metrics={"loss": trial["params"]["x"], "note": math.inf}) == "continue"
        assert user.heartbeat(**who) == "continue"
        assert user.tell(**who) == "COMPLETED"
    assert user.ask(sweep) == {"trials": [], "reason": "done"}
    rows = user.trials(sweep)
    assert [row["trial"] for row in rows] == [1, 2, 3] and rows[0]["metrics"]["note"] == math.inf
    best = user.best(sweep)
    assert best["value"] == min(row["params"]["x"] for row in rows)
    assert [row["trial"] for row in user.bests(sweep, n=3)][0] == best["trial"]
    assert user.sweeps()[0]["sweep"] == sweep and user.sweep(sweep)["state"] == "COMPLETED"
    assert user.reports(sweep, 1)[0]["metrics"]["note"] == math.inf


def test_client_error_has_code_message_and_pointer(user):
    with pytest.raises(sweepd.SweepdError) as caught:
        user.submit(driven(method="randm"))
    assert caught.value.code == INVALID_PARAMS and caught.value.pointer.endswith("/method")
    assert "random" in caught.value.message
    with pytest.raises(sweepd.SweepdError) as caught:
        user.call("sweep.get", sweep=99)
    assert caught.value.code == NOT_FOUND
    with pytest.raises(sweepd.SweepdError, match="'loss' is no number"):
        user.report(1, 1, 1, 1, 1, {"loss": "low"})
    with pytest.raises(sweepd.SweepdError, match="no daemon answers at"):
        sweepd.Client("/nowhere/at/all")


def test_watch_ends_with_the_sweep_and_survives_kill9(user, daemon):
    sweep = user.submit(driven(run_cap=2))
    states = []
    first = threading.Event()

    def watch():
        for update in sweepd.Client(daemon.socket).watch(sweep):
            states.append(update["state"])
            first.set()

    thread = threading.Thread(target=watch)
    thread.start()
    assert first.wait(60)
    daemon.kill9()
    daemon.start()
    for trial in user.loop(sweep):
        trial.done(loss=1.0)
    thread.join()
    assert states[0] == "RUNNING" and states[-1] == "COMPLETED"
    assert user.wait(sweep)["state"] == "COMPLETED"


def test_loop_of_a_trial_without_a_report_fails_it(user):
    sweep = user.submit(driven(run_cap=2))
    for trial in user.loop(sweep):
        if trial.number == 2:
            trial.failed("ValueError: no")
    assert [(row["state"], row["cause"]) for row in user.trials(sweep)] == [
        ("FAILED", NOTHING), ("FAILED", "ValueError: no")]


def test_loop_heartbeats_while_a_step_is_long(user, monkeypatch):
    """The lease is shorter than the step: only heartbeats keep the trial."""
    beats = []
    real = sweepd.Client.heartbeat
    monkeypatch.setattr(sweepd.Client, "heartbeat", lambda *a: beats.append(1) or real(*a))
    sweep = user.submit(driven(run_cap=1, lease_s=0.6))
    for trial in user.loop(sweep):
        wait_until(lambda: len(beats) >= 6, "six heartbeats, two leases")
        assert trial.report(1, loss=1) == "continue"
    assert user.trials(sweep)[0]["attempt"] == 1


def test_loop_of_a_cancelled_sweep_learns_it_by_a_heartbeat(user, monkeypatch):
    monkeypatch.setattr(sweepd._loop, "BEAT_S", 0.05)
    sweep = user.submit(driven(run_cap=5))
    for trial in user.loop(sweep):
        # The answer of a cancel comes once its trials have ended, so it must not wait for this thread.
        threading.Thread(target=sweepd.Client(user.socket).cancel, args=(sweep,)).start()
        wait_until(lambda trial=trial: trial.ended, "a trial that ends")
        assert trial.report(1, loss=1) == "stop"
    assert user.sweep(sweep)["state"] == "CANCELLED"


def test_study_whose_sweep_cannot_go_on_says_why(user):
    sweep = user.submit(driven(time_budget_s=0.01))
    user.wait(sweep)
    with pytest.raises(sweepd.SweepdError, match="time budget of 0.01 s is spent"):
        sweepd._loop.hand(user, sweep)


def test_client_starts_a_daemon_when_none_answers_and_says_so(tmp_path):
    run, state = tmp_path / "r", tmp_path / "state"
    run.mkdir(mode=0o700)
    if len(str(run)) > 80:
        pytest.skip("the folder's path is too long for a socket")
    code = "import sweepd; print(sweepd.Client().info()['pid'])"
    env = environment(PYTHONPATH=PACKAGE, XDG_RUNTIME_DIR=str(run), XDG_STATE_HOME=str(state), SWEEPD_BIN=BIN)
    first, second = (subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
                     for _ in range(2))
    assert first.returncode == 0, first.stderr
    pid = int(first.stdout)
    try:
        assert "no daemon answered" in first.stderr and f"kill {pid}" in first.stderr
        assert (second.stdout, second.stderr) == (first.stdout, "")
        assert (state / "sweepd" / "sweepd.log").exists()
    finally:
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not alive(pid), "the daemon's end")


# --- inside a trial: the worker's side of the contract is a socketpair here ---

TRIAL = """
import sweepd
p = sweepd.params({"lr": 1.0, "more": 2})
try:
    for step in range(sweepd.resume_step() + 1, 10):
        sweepd.report(step, loss=p["lr"] / step, other=float("nan"))
except sweepd.Pruned as pruned:
    open(sweepd.checkpoint_dir() + "/seen", "w").write(pruned.decision + str(sweepd.resume_dir()) + str(p))
    raise
"""


def run_trial(tmp_path, answers, code=TRIAL, **env):
    """A program as the worker runs it; (status, the lines it wrote, stderr)."""
    ours, its = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-c", code], pass_fds=[its.fileno()], stderr=subprocess.PIPE, text=True,
        env=environment(PYTHONPATH=PACKAGE, SWEEPD_TRIAL="1/7", SWEEPD_ATTEMPT="1", SWEEPD_PARAMS='{"lr": 0.5}',
                        SWEEPD_CHECKPOINT_DIR=str(tmp_path), SWEEPD_METRICS_FD=str(its.fileno()), **env))
    its.close()
    lines = []
    with ours, ours.makefile("rb") as reader:
        for answer, line in zip(answers, reader):
            lines.append(json.loads(line))
            ours.sendall(json.dumps(answer).encode() + b"\n")
    _, errors = process.communicate()  # the worker's end is closed by now
    return process.returncode, lines, errors


GO, STOP, PAUSE = ({"decision": word} for word in ("continue", "stop", "pause"))


def test_trial_reports_until_it_is_told_to_stop_and_ends_quietly(tmp_path):
    status, lines, errors = run_trial(tmp_path, [GO, GO, STOP])
    assert (status, errors) == (0, "")
    assert lines == [{"step": n, "loss": 0.5 / n, "other": "nan"} for n in (1, 2, 3)]
    assert (tmp_path / "seen").read_text() == "stopNone{'lr': 0.5, 'more': 2}"


def test_trial_that_resumes_is_told_the_folder_and_the_step(tmp_path):
    status, lines, _ = run_trial(tmp_path, [PAUSE], SWEEPD_RESUME="/old", SWEEPD_RESUME_STEP="4")
    assert status == 0 and [line["step"] for line in lines] == [5]
    assert (tmp_path / "seen").read_text().startswith("pause/old")


def test_trial_whose_report_is_refused_or_whose_worker_is_gone_says_so(tmp_path):
    status, _, errors = run_trial(tmp_path, [{"error": "steps must rise"}])
    assert status == 1 and "SweepdError: steps must rise" in errors
    status, _, errors = run_trial(tmp_path, [])
    assert status == 1 and "the worker that ran this trial is gone" in errors


def test_only_the_first_rank_reports(tmp_path):
    status, _, errors = run_trial(tmp_path, [], RANK="1")
    assert (status, errors) == (0, "")


def test_outside_a_trial_reports_are_printed_and_params_say_what_is_missing(capsys, monkeypatch):
    assert not sweepd.in_trial() and sweepd.resume_dir() is None
    sweepd.report(2, loss=0.5)
    sweepd.report(loss=1)
    assert capsys.readouterr().out == '{"step": 2, "loss": 0.5}\n{"loss": 1}\n'
    assert sweepd.params({"lr": 1}) == {"lr": 1}
    with pytest.raises(sweepd.SweepdError, match="not run by sweepd"):
        sweepd.params()
    assert os.listdir(sweepd.checkpoint_dir()) == [] and sweepd.checkpoint_dir() == sweepd.checkpoint_dir()


FOUR_LINES = """
import os, sys, sweepd
client, sweep = sweepd.Client(), int(sys.argv[1])
print("connected", flush=True)
for trial in client.loop(sweep):
    for step in range(trial.resume_step + 1, 10):
        if trial.report(step, loss=trial.params["x"] + 1 / step) != "continue": break
print("ended", client.sweep(sweep)["state"], flush=True)
"""


def test_four_lines_end_when_the_sweep_does_through_all_at_once(user, daemon):
    """Two programs drive a sweep of rungs, while it pauses, goes on and loses its daemon, once by a plain stop.

    Only the last edit lets it end, however slow this test is. The lease is for a trial whose answer was lost with the
    daemon, or whose program had no turn for so long: it is handed out again.
    """
    sweep = user.submit(driven(run_cap=1000000, early_terminate=asha(variant="promote", max_t=9), lease_s=3))
    user.pause(sweep)
    env = environment(PYTHONPATH=PACKAGE, SWEEPD_SOCKET=daemon.socket)
    loops = [subprocess.Popen([sys.executable, "-c", FOUR_LINES, str(sweep)], env=env, stdout=subprocess.PIPE, text=True)
             for _ in range(2)]
    made = lambda: sum(user.sweep(sweep)["counts"].values())  # noqa: E731
    assert [loop.stdout.readline() for loop in loops] == ["connected\n"] * 2
    for end in (daemon.kill9, daemon.stop, daemon.kill9):
        more = made() + 8
        user.resume(sweep)
        wait_until(lambda more=more: made() >= more, f"{more} trials")
        end()
        daemon.start()
        user.pause(sweep)
        wait_until(lambda: user.sweep(sweep)["counts"]["RUNNING"] == 0, "a sweep at rest")
        assert all(loop.poll() is None for loop in loops)
    run_cap = made() + 20
    user.edit(sweep, run_cap=run_cap)
    user.resume(sweep)
    assert [loop.communicate()[0] for loop in loops] == ["ended COMPLETED\n"] * 2
    got = user.sweep(sweep)
    assert sum(got["counts"].values()) == run_cap and got["counts"]["COMPLETED"] > 0
    assert got["counts"]["FAILED"] == got["counts"]["RUNNING"] == 0
    for row in user.trials(sweep):
        for attempt in user.trial(sweep, row["trial"])["attempts"]:
            steps = [r["step"] for r in user.reports(sweep, row["trial"]) if r["attempt"] == attempt["attempt"]]
            assert steps == [attempt["resume_step"] + i for i in range(1, len(steps) + 1)]


def test_client_says_where_a_program_runs_and_that_it_reads_no_yaml(user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    sweep = user.submit({**driven(run_cap=1), "program": "train.py"})
    assert user.sweep(sweep)["spec"]["run"]["cwd"] == str(tmp_path)
    user.cancel(sweep)
    with pytest.raises(sweepd.SweepdError, match="YAML is read by `sweep submit`"):
        user.submit("sweep.yaml")

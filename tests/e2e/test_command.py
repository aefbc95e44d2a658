"""Trials that are the user's own program: what it sees, what it reports, how it ends."""
import json

import pytest

from harness import sweep_command
from programs import marked, output, own

pytestmark = pytest.mark.slots("cpu:1")


def ended(client, spec):
    """Runs a sweep of one trial to its end: (sweep, trial's row)."""
    sweep = client.run(spec)
    return sweep, client.trials(sweep)[0]


def test_program_sees_its_parameters_and_its_place(client, tmp_path):
    script = """
        json.dump({"env": dict(os.environ), "argv": sys.argv[1:], "cwd": os.getcwd(),
                   "session": os.getsid(0) == os.getpid(), "fds": sorted(int(n) for n in os.listdir("/proc/self/fd")),
                   "pipe": signal.getsignal(signal.SIGINT) == signal.default_int_handler}, open("seen", "w"))
        report(loss=1)
    """
    spec = own(tmp_path, script, run={"env": {"DATA": "/data", "OMP_NUM_THREADS": "3"}})
    sweep, trial = ended(client, spec)
    assert trial["state"] == "COMPLETED" and trial["step"] == 1 and trial["metrics"] == {"loss": 1}
    with open(tmp_path / "seen", encoding="utf-8") as file:
        seen = json.load(file)
    env = seen["env"]
    assert json.loads(env["SWEEPD_PARAMS"]) == trial["params"]
    assert seen["argv"] == [f"--x={trial['params']['x']}"]
    assert seen["cwd"] == str(tmp_path) and seen["session"] and seen["pipe"]
    assert set(seen["fds"]) <= {0, 1, 2, 3, 4, 5}  # those of listdir() and open() itself
    assert env["SWEEPD_TRIAL"] == f"{sweep}/1" and env["SWEEPD_ATTEMPT"] == "1"
    assert env["DATA"] == "/data" and env["OMP_NUM_THREADS"] == "3" and env["CUDA_VISIBLE_DEVICES"] == ""
    assert "SWEEPD_RESUME" not in env and "SWEEPD_RESUME_STEP" not in env


def test_program_reports_by_the_socket_and_prints(daemon, client, tmp_path):
    sweep, trial = ended(client, own(tmp_path, """
        for step in range(1, 4):
            print("epoch", step, flush=True)
            print(json.dumps({"loss": 77.0}), flush=True)  # no report: the socket has them
            if step == 1:
                assert report(loss=1.0) == "continue"
                continue
            print("warning", file=sys.stderr)
            assert report(step, loss=1.0 / step, note="text", nested={"a": 1}) == "continue"
    """.replace('print(json.dumps', 'step > 1 and print(json.dumps')))
    assert trial["state"] == "COMPLETED", (trial, output(daemon, sweep, 1))
    assert [(r["step"], r["metrics"]) for r in client.reports(sweep, 1)] == [
        (1, {"loss": 1.0}), (2, {"loss": 0.5}), (3, {"loss": 1 / 3})]
    text = output(daemon, sweep, 1)
    assert "epoch 1\n" in text and "epoch 3\n" in text and text.count("warning\n") == 2
    log = sweep_command(daemon, "log", f"{sweep}/1")[1]
    assert log.count("is left out") == 1, log


@pytest.mark.parametrize("script, reports", [
    ("""
for epoch in range(3):
    print(f"Epoch {epoch}: loss={3 - epoch}")
print("best loss was 1")""", [(1, {"loss": 3}), (2, {"loss": 2}), (3, {"loss": 1})]),
    ("""
import logging
logging.basicConfig(level=logging.INFO)
for epoch in 1, 2:
    print("Epoch", epoch, "of 2")
    logging.info("step=%d loss: %g acc: 0.5", 10 * epoch, 1 / epoch)""",
     [(10, {"loss": 1, "acc": 0.5}), (20, {"loss": 0.5, "acc": 0.5})]),
    ("""
for k in 1, 2, 3, 4:
    print({"loss": 1 / k, "epoch": k / 2})
print({"train_loss": 1, "epoch": 2.0})""", [(k, {"loss": 1 / k}) for k in (1, 2, 3, 4)]),
    ("""
for epoch in 1, 2:
    for k in 1, 2:
        sys.stderr.write(f"\\r {50 * k}%|####| {k}/2 [00:01<00:00, 9.1it/s, loss={epoch + k}]")
    sys.stderr.write("\\n")""", [(1, {"loss": 3}), (2, {"loss": 4})]),
    ("""
print({"loss": 0.5, "epoch": 1.0})
print('{"loss": 0.25, "step": 2, "checkpoint": false}')
print("Traceback: loss: high")""", [(1, {"loss": 0.5}), (2, {"loss": 0.25})]),
])
def test_program_reports_by_the_text_that_it_prints(client, tmp_path, script, reports):
    sweep, trial = ended(client, own(tmp_path, script, run={"metrics": "text"}))
    assert trial["state"] == "COMPLETED", trial
    assert [(r["step"], r["metrics"]) for r in client.reports(sweep, 1)] == reports


def test_program_ends_as_its_exit_says(client, tmp_path):
    for script, state, cause in (
            ("report(loss=1); sys.exit(3)", "FAILED", "exit:3"),
            ("report(loss=1); os.kill(os.getpid(), signal.SIGSEGV)", "FAILED", "signal:11"),
            ("print('done')", "FAILED",
             "no-metric: printed no number: print {\"loss\": 0.1} as a line of stdout, or call sweepd.report"),
            ("print('epoch 1 loss: 0.5')", "FAILED",
             "no-metric: printed it as text: \"run\": {\"metrics\": \"text\"} in the spec reads that, or print"
             " {\"loss\": 0.1}"),
            ("print('{\"loss\": NaN}')", "INFEASIBLE", "diverged"),
            ("send('{\"step\": 1, \"loss\": -Infinity}')", "INFEASIBLE", "diverged"),
            ("print('torch.cuda.OutOfMemoryError: CUDA out of memory.', file=sys.stderr); sys.exit(1)",
             "INFEASIBLE", "oom"),
            ("a = []\nwhile True: a.append(MemoryError()); raise MemoryError()", "INFEASIBLE", "oom"),
            ("report(loss=1); print('out of memory, so smaller', file=sys.stderr)", "COMPLETED", None)):
        _, trial = ended(client, own(tmp_path, script))
        assert (trial["state"], trial["cause"]) == (state, cause), (script, trial)


def test_program_of_too_many_processes_is_ended(daemon, tmp_path):
    sweep, trial = ended(daemon.client(), own(tmp_path, """
        report(loss=1)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # its helpers, too: only SIGKILL ends them
        for _ in range(3):
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
        while True:
            time.sleep(1)
    """, run={"max_processes": 3}))
    assert (trial["state"], trial["cause"]) == ("FAILED", "max-processes") and trial["step"] == 1, trial
    assert "it had more than 3 processes (run.max_processes)" in sweep_command(daemon, "log", f"{sweep}/1")[1]
    assert not marked(daemon)


def test_report_that_is_not_stored_is_a_warning_in_python(daemon, tmp_path):
    sweep, trial = ended(daemon.client(), own(tmp_path, """
        import sweepd, warnings
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            sweepd.report(2, loss=1)
            sweepd.report(2, loss=9)
            sweepd.report(3, loss=9, **{f"metric_{i}": 0.5 for i in range(4000)})
            sweepd.report(4, loss=2)
        print([str(w.message) for w in seen if w.filename == __file__])
    """))
    assert (trial["state"], trial["step"]) == ("COMPLETED", 4), output(daemon, sweep, 1)
    assert output(daemon, sweep, 1) == (
        "['sweepd did not store a report: line 2: step 2 after step 2: steps rise', "
        "'sweepd did not store a report: line 3: a report has at most 65536 bytes']\n")
    assert [r["step"] for r in daemon.client().reports(sweep, 1)] == [2, 4]
    assert "left out of the socket: line 3: a report has" in sweep_command(daemon, "log", f"{sweep}/1")[1]


def test_lines_that_are_no_reports_are_counted_with_their_first_reason(daemon, tmp_path):
    """A second fit() of some trainers begins its epochs anew, and epochs are often counted from 0."""
    sweep, _ = ended(daemon.client(), own(tmp_path, """
        for step, loss in ((0, 9), (1, 0.5), (2, 0.4), (1, 0.3), (2, 0.2)):
            print(json.dumps({"step": step, "loss": loss}), flush=True)
    """))
    row = daemon.client().trials(sweep)[0]
    assert (row["left_out"], row["left_why"]) == (3, "line 1: steps begin with 1")
    head, row = sweep_command(daemon, "trials", str(sweep))[1].splitlines()
    assert row[:head.index("left out") + len("left out")].split()[-1] == "3"
    for verb in "show", "why":
        assert "left out 3 of its reports, the first: line 1: steps begin with 1" in \
            " ".join(sweep_command(daemon, verb, f"{sweep}/1")[1].split())
    sweep, _ = ended(daemon.client(), own(tmp_path, "report(loss=1)"))
    assert "left" not in sweep_command(daemon, "trials", str(sweep))[1]


def test_program_that_cannot_start_fails_with_one_line(client, tmp_path):
    """Where the trial alone says which program it is: another one is looked for at the submission."""
    for tool, why in (("no-such-program-anywhere", "it is in no folder of PATH"), ("/dev/null", "Permission denied")):
        _, trial = ended(client, own(tmp_path, "", command=["${envvar:TOOL}"], run={"env": {"TOOL": tool}}))
        assert (trial["state"], trial["cause"]) == ("FAILED", f"cannot start {tool}: {why}")


def test_folder_that_goes_away_fails_the_next_trial_with_one_line(start, tmp_path):
    """One that was never there is refused at the submission (test_validate.py)."""
    folder = tmp_path / "gone"
    folder.mkdir()
    client = start("cpu:1").client()
    sweep, _ = ended(client, own(tmp_path, "report(1, loss=1); os.rmdir(os.getcwd())", run={"cwd": str(folder)}, run_cap=2))
    assert [(t["state"], t["cause"]) for t in client.trials(sweep)] == [
        ("COMPLETED", None), ("FAILED", f"run.cwd: {folder}: No such file or directory")]


def test_program_is_told_what_of_its_folder_is_not_kept(daemon, client, tmp_path):
    script = """
        save(1)
        report(1, loss=1)
        {after}
    """
    for after, told in (("", 1), ("report(2, loss=1, checkpoint=True)", 0)):
        sweep, trial = ended(client, own(tmp_path, script.format(after=after)))
        assert trial["state"] == "COMPLETED"
        assert sweep_command(daemon, "log", f"{sweep}/1")[1].count("what SWEEPD_CHECKPOINT_DIR holds is not kept") == told

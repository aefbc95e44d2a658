"""sweepd.tune(): a function's trials as processes, against a real daemon."""
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import pytest

from harness import alive, asha, environment, wait_until
from test_python import NOTHING, PACKAGE, sweepd, user  # noqa: F401
from sweepd._driver import Driver


SPACE = {"x": {"min": -2.0, "max": 2.0}, "kind": {"values": ["a", "b"]}}


def test_tune_of_a_function_that_returns_its_metric(user):
    pids = []
    result = sweepd.tune(lambda p: pids.append(1) or {"loss": p["x"] ** 2, "pid": os.getpid()}, SPACE,
                         {"name": "loss", "goal": "minimize"}, client=user,
                         run_cap=12, n=3, seed=1)
    assert not pids and result.state == "COMPLETED" and user.sweep(result.sweep)["method"] == "bayes"
    assert result.best_value == min(row["params"]["x"] ** 2 for row in result.trials) == result.best_params["x"] ** 2
    assert f"best_value={result.best_value}, best_params={{'x': " in repr(result)
    assert len({row["metrics"]["pid"] for row in result.trials}) == 12
    assert result.reports[1][-1]["loss"] == result.trials[0]["value"]


def test_tune_fails_the_trial_whose_result_is_refused_and_goes_on(user):
    result = sweepd.tune(lambda p: {"loss": p["x"], "long" * 100: 1} if p["kind"] == "a" else p["x"], SPACE, client=user,
                         run_cap=8, n=2, seed=1)
    states = {row["params"]["kind"]: row["state"] for row in result.trials}
    assert states == {"a": "FAILED", "b": "COMPLETED"} and result.state == "COMPLETED"
    assert all("metric" in row["cause"] for row in result.trials if row["state"] == "FAILED")


def test_tune_prunes_and_resumes_from_checkpoints(user):
    """Under promote a trial pauses at each rung, and goes on from the folder that it left."""
    def fn(params):
        step = sweepd.resume_step()
        if step:
            with open(sweepd.resume_dir() + "/step", encoding="ascii") as file:
                assert int(file.read()) == step
        for step in range(step + 1, 10):
            with open(sweepd.checkpoint_dir() + "/step", "w", encoding="ascii") as file:
                file.write(str(step))
            sweepd.report(step, loss=abs(params["x"]) + 1 / step)

    result = sweepd.tune(fn, SPACE, client=user, run_cap=9, n=3, early_terminate=asha(variant="promote", max_t=9))
    states = [row["state"] for row in result.trials]
    assert set(states) == {"COMPLETED", "PRUNED"} and result.state == "COMPLETED"
    assert max(row["attempt"] for row in result.trials) > 1
    assert all(row["step"] == 9 for row in result.trials if row["state"] == "COMPLETED")
    assert os.listdir(result.checkpoint(result.best_trial["trial"])) == ["step"]


def test_copy_that_runs_again_goes_on_from_its_own_checkpoint(tmp_path):
    """A child of a population: from its parent's of the very step until it has one itself, also in another attempt."""
    driver, child = Driver.__new__(Driver), SimpleNamespace(number=7, parent=2, resume_step=4, step=4)
    driver.folder = str(tmp_path)
    for name in ("2-4.ckpt", "2-6.ckpt"):
        (tmp_path / name).mkdir()
    assert driver.resume(child) == {"SWEEPD_RESUME": f"{tmp_path}/2-4.ckpt", "SWEEPD_RESUME_STEP": "4"}
    child.step = 6
    assert driver.resume(child) == {"SWEEPD_RESUME": f"{tmp_path}/2-4.ckpt", "SWEEPD_RESUME_STEP": "4"}
    (tmp_path / "7-6.ckpt").mkdir()
    assert driver.resume(child) == {"SWEEPD_RESUME": f"{tmp_path}/7-6.ckpt", "SWEEPD_RESUME_STEP": "6"}


def test_tune_of_which_all_trials_fail_raises_the_first_error(user):
    def fn(params):
        raise ValueError("no such thing")

    with pytest.raises(sweepd.SweepdError, match=r"^all 3 trials of sweep 1 failed, the first with ValueError: no such"):
        sweepd.tune(fn, {"x": {"min": 0.0, "max": 1.0}}, client=user, method="random", run_cap=3, n=2)


def test_tune_of_trials_that_fail_names_each_cause(user):
    def fn(params):
        if params["n"] == 1:
            raise ValueError("no such thing")
        if params["n"] == 2:
            raise MemoryError("too large")
        if params["n"] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        if params["n"] == 4:
            os._exit(3)
        if params["n"] == 6:
            return {"loss": 1.0}
        if params["n"] == 7:
            sweepd.report("1", loss=1.0)

    result = sweepd.tune(fn, {"n": {"values": [1, 2, 3, 4, 5, 6, 7]}}, client=user, method="grid", n=2)
    assert {row["params"]["n"]: (row["state"], row["cause"]) for row in result.trials} == {
        1: ("FAILED", "ValueError: no such thing"), 2: ("INFEASIBLE", "oom"), 3: ("FAILED", "signal:9"),
        4: ("FAILED", "exit:3"), 5: ("FAILED", NOTHING), 6: ("COMPLETED", None),
        7: ("FAILED", 'SweepdError: "step" must be a whole number')}


def test_tune_ends_a_process_that_ignores_pruned_and_sigterm(user):
    def fn(params):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for step in range(1, 4):
            try:
                sweepd.report(step, loss=params["x"])
            except sweepd.Pruned:
                while True:
                    time.sleep(1)

    result = sweepd.tune(fn, SPACE, client=user, run_cap=2, n=2, grace_s=0.1, early_terminate=asha(max_t=2))
    assert {row["state"] for row in result.trials} <= {"COMPLETED", "PRUNED"}


def test_tune_that_is_interrupted_cancels_its_sweep_and_ends_its_processes(user, tmp_path, monkeypatch):
    pid = tmp_path / "pid"

    def fn(params):
        pid.write_text(str(os.getpid()))
        sweepd.report(1, loss=1)
        time.sleep(3600)

    monkeypatch.setattr(sweepd.Trial, "beat", lambda trial: (_ for _ in ()).throw(KeyboardInterrupt()) if trial.step else None)
    with pytest.raises(KeyboardInterrupt):
        sweepd.tune(fn, SPACE, client=user, run_cap=2, n=1)
    assert user.sweeps()[0]["state"] == "CANCELLED"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_tune_keeps_what_a_report_calls_a_checkpoint(user):
    """A report takes the folder's content away; what is kept is the last and the best; a paused trial resumes from it."""
    def fn(params):
        step = sweepd.resume_step()
        for step in range(step + 1, 10):
            assert not os.listdir(sweepd.checkpoint_dir())
            with open(sweepd.checkpoint_dir() + f"/{step}", "w", encoding="ascii"):
                pass
            sweepd.report(step, checkpoint=True, loss=abs(params["x"]) + abs(step - 4), resumed=sweepd.resume_step())

    result = sweepd.tune(fn, SPACE, client=user, run_cap=9, n=3, early_terminate=asha(variant="promote", max_t=9))
    assert max(row["attempt"] for row in result.trials) > 1
    for row in result.trials:
        number, last = row["trial"], row["step"]
        assert os.listdir(result.checkpoint(number)) == [str(last)]
        assert os.listdir(result.checkpoint(number, best=True)) == [str(min(last, 4))]
        assert not os.listdir(os.path.join(result.folder, str(number)))
        kept = [name for name in os.listdir(result.folder) if name.startswith(f"{number}-")]
        assert sorted(kept) == sorted({f"{number}-{last}.ckpt", f"{number}-{min(last, 4)}.ckpt"})
    assert {report["resumed"] for rows in result.reports.values() for report in rows} >= {0, 1}


@pytest.mark.parametrize("pruner", [asha(variant="promote", max_t=9), {"type": "pbt", "perturbation_interval": 3}],
                         ids=["promote", "pbt"])
@pytest.mark.parametrize("steps", [True, False], ids=["steps", "no steps"])
def test_tune_of_a_function_that_keeps_nothing_stores_the_steps_that_it_did(user, capfd, pruner, steps):
    """It begins again after a pause, whatever it takes resume_step() for, and nobody is copied."""
    def fn(params):
        done = 0
        for step in range(sweepd.resume_step() + 1, 13):
            done += 1
            sweepd.report(*([step] if steps else []), loss=abs(params["x"]) + 1 / done, done=done)

    result = sweepd.tune(fn, SPACE, client=user, run_cap=6, n=2, early_terminate=pruner)
    # a population does not pause who would lose its steps by it
    assert (max(row["attempt"] for row in result.trials) > 1) == (pruner["type"] == "asha")
    assert not [row for row in result.trials if row["parent"]]
    for row in result.trials:
        reports = result.reports[row["trial"]]
        assert [(one["step"], one["done"]) for one in reports] == [(n, n) for n in range(1, row["step"] + 1)]
        assert all(one["metrics"]["done"] == one["step"] for one in user.reports(result.sweep, row["trial"]))
    said = "starts from scratch: nothing was kept in checkpoint_dir()" in capfd.readouterr().out
    assert said == (pruner["type"] == "asha")


def test_tune_s_population_has_the_reports_that_its_members_made(user):
    """Also where a child's parent had no step left, and where what is judged is no multiple of the interval."""
    def fn(params):
        step, path = sweepd.resume_step(), "/step"
        if step:
            with open(sweepd.resume_dir() + path, encoding="ascii") as file:
                assert int(file.read()) == step
        for step in range(step + 2, 13, 2):
            with open(sweepd.checkpoint_dir() + path, "w", encoding="ascii") as file:
                file.write(str(step))
            sweepd.report(step, loss=abs(params["x"]), x=params["x"])

    result = sweepd.tune(fn, SPACE, client=user, run_cap=8, n=2, early_terminate={
        "type": "pbt", "perturbation_interval": 3, "quantile_fraction": 0.25})
    children = [row for row in result.trials if row["parent"]]
    assert children and all(row["resume_step"] > 0 for row in children)
    for row in result.trials:
        reports = result.reports.get(row["trial"], [])
        assert all(one["step"] <= 12 and one["x"] == row["params"]["x"] for one in reports)
        assert reports or row["state"] == "PRUNED" and row["cause"].startswith("nothing to train after step"), row


KILLED = """
import os, time, sweepd
def fn(params):
    open(os.environ["PIDS"], "a").write(f"{os.getpid()}\\n")
    time.sleep(3600)
sweepd.tune(fn, {"x": {"min": 0.0, "max": 1.0}}, n=2)
"""


def test_report_that_tune_does_not_store_is_a_warning_and_counted(user, tmp_path):
    def fn(params):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for step, loss in ((0, 9), (1, 3), (2, 2), (1, 8), (3, 1)):
                sweepd.report(step, loss=loss)
        (tmp_path / "said").write_text("\n".join(str(each.message) for each in seen), encoding="utf-8")

    result = sweepd.tune(fn, {"x": {"min": 0.0, "max": 1.0}}, run_cap=1, method="random", client=user, n=1)
    row = result.trials[0]
    assert (row["state"], row["value"], row["left_out"]) == ("COMPLETED", 1, 1)
    assert row["left_why"] == "step 1 is not above the last step, 2"
    first, second = (tmp_path / "said").read_text(encoding="utf-8").splitlines()
    assert "at least 1" in first and second == f"sweepd did not store a report: {row['left_why']}"


def test_tune_counts_metrics_that_come_in_some_reports_only(user):
    def fn(params):
        for step in range(1, 7):
            sweepd.report(step, **({"loss": params["x"] / step} if step % 3 == 0 else {"train_loss": 1.0}))

    result = sweepd.tune(fn, {"x": {"min": 0.5, "max": 1.0}}, run_cap=2, method="random", client=user, n=1)
    assert [(row["state"], row["step"]) for row in result.trials] == [("COMPLETED", 6)] * 2
    with pytest.raises(sweepd.SweepdError, match='no report carries the sweep.s metric "loss".*train_loss'):
        sweepd.tune(lambda params: sweepd.report(1, train_loss=1), {"x": {"min": 0.5, "max": 1.0}}, run_cap=2,
                    method="random", client=user, n=1)


def test_script_that_is_killed_leaves_no_process_behind(user, tmp_path):
    pids = tmp_path / "pids"
    env = environment(PYTHONPATH=PACKAGE, SWEEPD_SOCKET=user.socket, PIDS=str(pids))
    with subprocess.Popen([sys.executable, "-c", KILLED], env=env) as script:
        wait_until(lambda: pids.exists() and len(pids.read_text().splitlines()) == 2, "two trials")
        script.kill()
    for pid in pids.read_text().split():
        wait_until(lambda pid=pid: not alive(int(pid)), "the end of a trial's process")


def test_tune_goes_on_through_kill9_of_the_daemon(user, daemon):
    def fn(params):
        for step in range(1, 10):
            sweepd.report(step, loss=abs(params["x"]) + 1 / step)

    def kill():
        for n in (2, 10):
            wait_until(lambda n=n: sum(os.path.exists(f"{daemon.state}/tune/1/{i}") for i in range(1, 40)) >= n, f"trial {n}")
            daemon.kill9()
            daemon.start()

    thread = threading.Thread(target=kill)
    thread.start()
    result = sweepd.tune(fn, SPACE, client=user, run_cap=30, n=2, lease_s=3)
    thread.join()
    assert result.state == "COMPLETED" and {row["state"] for row in result.trials} == {"COMPLETED"}
    assert all([row["step"] for row in rows] == list(range(1, 10)) for rows in result.reports.values())


def test_tune_does_not_wait_for_what_a_trial_left_running(user, tmp_path):
    """It has the trial's channel open, in a session of its own."""
    def fn(params):
        pid = os.fork()
        if pid == 0:
            os.setsid()
            while not (tmp_path / "end").exists():
                time.sleep(0.01)
            os._exit(0)
        return params["x"] ** 2

    try:
        result = sweepd.tune(fn, SPACE, client=user, run_cap=1, n=1)
    finally:
        (tmp_path / "end").touch()
    assert [row["state"] for row in result.trials] == ["COMPLETED"]


def test_tune_loads_what_the_first_trial_loaded_but_for_the_users_own(user, tmp_path, monkeypatch):
    """n=1: each trial sees what the one before left. None of it is loaded before a trial did."""
    folder = tmp_path / "site-packages"  # counts as installed
    folder.mkdir()
    for name, where in (("sweepd_heavy", folder), ("sweepd_other", folder), ("sweepd_mine", tmp_path)):
        (where / f"{name}.py").write_text("import os\nloaded = os.getpid()")
        monkeypatch.syspath_prepend(str(where))

    def fn(params):
        del params
        import sweepd_heavy
        import sweepd_mine
        os.environ["LEVEL"] = "1"  # what is loaded after this may depend on it
        import sweepd_other
        return {"loss": 1, "heavy": sweepd_heavy.loaded, "mine": sweepd_mine.loaded, "other": sweepd_other.loaded}

    rows = [row["metrics"] for row in sweepd.tune(fn, SPACE, client=user, run_cap=4, n=1).trials]
    assert [row["heavy"] for row in rows] == [rows[0]["mine"]] + [os.getpid()] * 3
    assert len({row["mine"] for row in rows}) == 4 and all(row["other"] == row["mine"] for row in rows)
    assert "sweepd_mine" not in sys.modules and "sweepd_other" not in sys.modules
    del sys.modules["sweepd_heavy"]


def test_tune_loads_at_once_what_an_optimizer_loads(user, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("class cuda:\n    is_initialized = staticmethod(bool)\n"
                                                    "def set_num_threads(n):\n    del n\n")
    (tmp_path / "torch" / "_dynamo.py").write_text("")
    made = "import sys\ndef fn(params):\n    return {'loss': 1, 'there': 'torch._dynamo' in sys.modules}\n"
    for name, more, there in ("sweepd_a", "", 0), ("sweepd_b", "# environ, optim", 0), ("sweepd_c", "# optim", 1):
        (tmp_path / f"{name}.py").write_text(made + more)
        monkeypatch.delitem(sys.modules, "torch", raising=False)
        importlib.import_module("torch")
        fn = importlib.import_module(name).fn
        rows = sweepd.tune(fn, SPACE, client=user, run_cap=1, n=1).trials
        assert [row["metrics"]["there"] for row in rows] == [there]
        for loaded in ("torch._dynamo", "torch", name):
            sys.modules.pop(loaded, None)

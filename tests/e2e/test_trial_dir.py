"""SWEEPD_TRIAL_DIR: a folder for each trial, which attempts and ranks share, and which stays as its checkpoint would."""
import os
import sys

import pytest

from harness import asha, sweep_command, wait_until
from programs import output, own
from test_warm import package

pytestmark = pytest.mark.slots("cpu:1")


def folders(daemon, sweep):
    """{trial: the names in its folder}; os.walk passes over one that goes meanwhile"""
    return {int(os.path.basename(at)[:-4]): sorted(inside + names)
            for at, inside, names in os.walk(os.path.join(daemon.state, "checkpoints", str(sweep))) if at.endswith(".dir")}


def settled(daemon, sweep, want):
    wait_until(lambda: folders(daemon, sweep) == want, f"the folders {want}, not {folders(daemon, sweep)}")


# As a script that saves under fixed names where it is started.
SAVES = """
trial = int(os.environ["SWEEPD_TRIAL"].split("/")[1])
assert os.getcwd() == os.environ["SWEEPD_TRIAL_DIR"] == os.environ["PWD"] and os.listdir(".") == []
open("best.pt", "x").write(str(trial))
print(sys.argv[1])
report(1, loss=[3, 1, 4, 2][trial - 1])
"""


@pytest.mark.parametrize("warm", (True, False))
@pytest.mark.slots("cpu:2")
def test_trials_have_folders_of_their_own_of_which_the_best_and_the_last_stay(daemon, client, tmp_path, warm):
    spec = own(tmp_path, SAVES, run={"cwd": "${trial_dir}", "warm": warm}, run_cap=4, max_concurrent=1,
               command=[sys.executable, f"{tmp_path}/program.py", "${trial_dir}"])
    sweep = client.submit(spec)
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 4, output(daemon, sweep, 1)
    settled(daemon, sweep, {2: ["best.pt"], 4: ["best.pt"]})
    assert output(daemon, sweep, 2) == os.path.join(daemon.state, "checkpoints", str(sweep), "2.dir") + "\n"
    assert ("starts cold" in sweep_command(daemon, "log", f"{sweep}/2")[1]) is False
    client = daemon.again()
    settled(daemon, sweep, {2: ["best.pt"], 4: ["best.pt"]})
    for keep, want in ("none", {}), ("all", {trial: ["best.pt"] for trial in (1, 2, 3, 4)}):
        other = client.submit({**spec, "checkpoint": {"keep": keep}})
        assert client.wait_sweep(other)["counts"]["COMPLETED"] == 4
        settled(daemon, other, want)
    assert sweep_command(daemon, "rm", sweep, "--keep-best")[0] == 0
    settled(daemon, sweep, {2: ["best.pt"]})
    assert sweep_command(daemon, "rm", other)[0] == 0
    settled(daemon, other, {})


def test_program_finds_its_script_from_the_trials_folder(daemon, tmp_path):
    (tmp_path / "train.py").write_text("import json, os\nopen('a', 'w').close()\nprint(json.dumps({'loss': 1}))\n", encoding="utf-8")
    (tmp_path / "s.yaml").write_text("{program: train.py, method: random, run_cap: 1, metric: {name: loss}, parameters: "
                                     "{x: {min: 0.0, max: 1.0}}, run: {cwd: '${trial_dir}'}}", encoding="utf-8")
    status, _, err = sweep_command(daemon, "submit", "s.yaml", cwd=tmp_path)
    assert status == 0, err
    assert daemon.client().wait_sweep(1)["counts"]["COMPLETED"] == 1
    assert folders(daemon, 1) == {1: ["a"]}
    assert sweep_command(daemon, "submit", f"{tmp_path}/s.yaml", cwd="/")[0] == 0  # it lies beside its spec
    assert daemon.client().wait_sweep(2)["counts"]["COMPLETED"] == 1
    (tmp_path / "train.py").unlink()
    status, _, err = sweep_command(daemon, "submit", f"{tmp_path}/s.yaml", cwd="/")
    assert status == 1 and "train.py in ${trial_dir}: No such file or directory: it must be an absolute path" in err


@pytest.mark.parametrize("text, why", (
    ("import multiprocessing, os\nclass C:\n    def __eq__(self, other): return True\nat = C()", None),
    ("import os\nat = os.path.abspath('.')", "heavy asks for os.getcwd() when it is imported")))
def test_a_package_that_asks_for_the_folder_makes_it_cold(daemon, client, tmp_path, text, why):
    script = "import heavy, multiprocessing.process as p\nprint(heavy.at == os.getcwd() == p.ORIGINAL_DIR)\nreport(loss=1)"
    spec = own(tmp_path, script, run={**package(tmp_path, text), "cwd": "${trial_dir}"}, run_cap=3,
               command=[sys.executable, f"{tmp_path}/program.py"])
    (tmp_path / "program.py").write_text("import heavy\n" + (tmp_path / "program.py").read_text())
    sweep = client.run(spec)
    for trial in 1, 2, 3:
        log = sweep_command(daemon, "log", f"{sweep}/{trial}")[1]
        assert "True" in log and ("starts cold" in log) == bool(why) and (why or "") in log, log


@pytest.mark.slots("cpu:2")
def test_attempts_and_ranks_share_a_folder(daemon, client, tmp_path):
    sweep = client.submit(own(tmp_path, """
        rank, attempt = os.environ["RANK"], os.environ["SWEEPD_ATTEMPT"]
        os.chdir(os.environ["SWEEPD_TRIAL_DIR"])
        open(rank + "-" + attempt, "x").close()
        while not os.path.exists("1-" + attempt) or (rank == "1" and attempt == "1"):
            time.sleep(0.01)
        if attempt == "1":
            os.kill(os.getppid(), 9)
        if rank == "0":
            report(1, loss=1)
    """, run={"launch": "rank"}, resources={"cpu_slots": 2}, retries=3))
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1
    assert folders(daemon, sweep) == {1: ["0-1", "0-2", "1-1", "1-2"]}


def test_children_of_a_population_have_folders_of_their_own(daemon, client, tmp_path):
    sweep = client.run(own(tmp_path, """
        own = os.environ["SWEEPD_TRIAL_DIR"]
        if not resume:
            assert os.listdir(own) == []
        open(os.path.join(own, os.environ["SWEEPD_TRIAL"].split("/")[1]), "w").close()
        done = load()
        for step in range(done + 1, 7):
            save(step)
            if report(step, loss=params["x"], done=done) != "continue":
                break
    """, run_cap=2, checkpoint={"keep": "all"},
                              early_terminate={"type": "pbt", "perturbation_interval": 2, "quantile_fraction": 0.5}))
    found = folders(daemon, sweep)
    assert len(found) > 2 and all(names == [str(trial)] for trial, names in found.items()), found
    children = [t["trial"] for t in client.trials(sweep) if t["parent"]]
    for child in children:  # it begins from what its parent saved
        assert all(r["metrics"]["done"] == r["step"] - 1 >= 2 for r in client.reports(sweep, child)[:1]), child
    assert children


def test_program_that_is_told_to_stop_still_has_its_folder(daemon, client, tmp_path):
    """Two trials are pruned, worse than the first; each saves once it is told, and its folder goes when it has ended."""
    sweep = client.run(own(tmp_path, """
        trial, step = int(os.environ["SWEEPD_TRIAL"].split("/")[1]), 0
        os.chdir(os.environ["SWEEPD_TRIAL_DIR"])
        open("a", "w").close()
        decision = "continue"
        while step < 4 and decision == "continue":
            step += 1
            decision = report(step, loss=trial)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it takes its time
        time.sleep(0.3)
        os.rename("a", "b")
        print("saved", decision)
    """, run_cap=3, early_terminate=asha(max_t=4, reduction_factor=2)))
    settled(daemon, sweep, {1: ["b"]})
    for trial in client.trials(sweep):
        assert "saved" in output(daemon, sweep, trial["trial"]), output(daemon, sweep, trial["trial"])
    assert [trial["state"] for trial in client.trials(sweep)].count("PRUNED") > 0

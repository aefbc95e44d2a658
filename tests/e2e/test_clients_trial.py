"""The clients inside trials that the daemon's own workers run: the Python package and the C header. And one without a
client: examples/ask_tell.py."""
import json
import os
import subprocess
import sys

import pytest

from harness import ROOT, asha, environment
from test_python import PACKAGE

SCRIPTS = os.path.join(os.path.dirname(__file__), "scripts")
PYTHON = """
import os, sweepd
p = sweepd.params({"x": 1.0})
begin = 0
if sweepd.resume_dir():
    begin = int(open(os.path.join(sweepd.resume_dir(), "step")).read())
    assert begin == sweepd.resume_step(), (begin, sweepd.resume_step())
for step in range(begin + 1, 10):
    with open(os.path.join(sweepd.checkpoint_dir(), "step"), "w") as file:
        file.write(str(step))
    sweepd.report(step, checkpoint=step % 2 == 0, loss=p["x"] + 1 / step)
    assert step % 2 or not os.listdir(sweepd.checkpoint_dir())
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """scripts/trial.c, by a compiler that takes C99 alone."""
    path = tmp_path_factory.mktemp("c") / "trial"
    subprocess.run(["cc", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion",
                    "-pedantic", "-I", os.path.join(ROOT, "clients", "c"), "-o", str(path),
                    os.path.join(SCRIPTS, "trial.c")], check=True)
    return str(path)


def spec(command, folder):
    return {"name": "own", "method": "random", "seed": 3, "run_cap": 9, "metric": {"name": "loss"},
            "parameters": {"x": {"min": 0.0, "max": 1.0}}, "command": command,
            "early_terminate": asha(variant="promote", max_t=9),
            "run": {"cwd": str(folder), "env": {"PYTHONPATH": PACKAGE}}}


@pytest.mark.parametrize("client", ["python", "c"])
def test_client_in_a_trial_reports_pauses_and_resumes(start, tmp_path, compiled, client):
    (tmp_path / "program.py").write_text(PYTHON)
    command = [compiled] if client == "c" else [sys.executable, "-S", str(tmp_path / "program.py")]
    rpc = start("cpu:2").client()
    sweep = rpc.submit(spec(command, tmp_path))
    got = rpc.wait_sweep(sweep)
    assert got["state"] == "COMPLETED" and got["counts"]["COMPLETED"] > 0, got
    assert got["counts"]["COMPLETED"] + got["counts"]["PRUNED"] == 9, rpc.trials(sweep)
    for row in rpc.trials(sweep):
        reports = rpc.reports(sweep, row["trial"])
        assert [report["step"] for report in reports] == list(range(1, len(reports) + 1))
        assert [report["metrics"]["loss"] for report in reports] == [
            pytest.approx(row["params"]["x"] + 1 / report["step"], rel=1e-15) for report in reports]


def test_python_report_of_a_process_that_a_launcher_started_is_printed(start, tmp_path):
    """Its descriptors are closed, and the socket's number is a file of its own, which stays as it is."""
    (tmp_path / "data").write_text("mine")
    (tmp_path / "rank.py").write_text("import sweepd\nown = [open('data', 'r+') for _ in range(3)]\nsweepd.report(loss=2)\n")
    (tmp_path / "program.py").write_text(
        "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '-S', 'rank.py']))\n")
    rpc = start("cpu:1").client()
    one = {**spec([sys.executable, "-S", "program.py"], tmp_path), "run_cap": 1}
    del one["early_terminate"]
    sweep = rpc.run(one)
    trial = rpc.trials(sweep)[0]
    assert (trial["state"], trial["metrics"]) == ("COMPLETED", {"loss": 2}), trial
    assert (tmp_path / "data").read_text() == "mine"


def test_c_header_reads_parameters_of_every_kind(compiled):
    params = {"a": -1.5e-3, "n": 7, "yes": True, "no": False, "none": None, "text": "x", "nested": {"text": "inner"},
              "list": ["text", {"deep": 1}], "odd \"name": "q\"\\/\b\f\n\r\té€😀", "long": "é" * 60, "last": 2}
    want = {"a": "-0.0015", "n": "7", "yes": "1", "no": "0", "none": "-1", "text": "x", "deep": "-1", "missing": "-1",
            "nested": "-1", "last": "2", "long": "é" * 31}
    for text in (json.dumps(params), json.dumps(params, ensure_ascii=False, separators=(",", ":"))):
        for name, value in want.items():
            done = subprocess.run([compiled, name], env=environment(SWEEPD_PARAMS=text), capture_output=True, check=True)
            assert done.stdout.decode() == value + "\n", name
    text = json.dumps({"odd": params["odd \"name"]})
    done = subprocess.run([compiled, "odd"], env=environment(SWEEPD_PARAMS=text), capture_output=True, check=True)
    assert done.stdout.decode() == params["odd \"name"] + "\n"


def test_c_program_by_hand_has_defaults_and_prints_its_reports(compiled):
    done = subprocess.run([compiled], env=environment(), capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0] == {"step": 1, "loss": 1.5} and [line["step"] for line in lines] == list(range(1, 10))


def test_c_program_whose_worker_is_gone_says_so(compiled, tmp_path):
    done = subprocess.run([compiled], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          env=environment(SWEEPD_METRICS_FD="0", SWEEPD_CHECKPOINT_DIR=str(tmp_path)))
    assert done.returncode == 1 and done.stderr == "sweepd: the worker that ran this trial is gone\n"


def test_example_client_finds_a_minimum(daemon):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "examples", "ask_tell.py"),
                           daemon.socket], capture_output=True, text=True, check=False,
                          timeout=90, env=environment())
    assert done.returncode == 0, done.stderr
    assert "best y" in done.stdout
    best, = daemon.client().call("sweep.best", sweep=1)["trials"]
    with open(os.path.join(ROOT, "examples", "ask_tell.json"), encoding="utf-8") as file:
        assert best["trial"] <= json.load(file)["run_cap"]
    assert 0.397 < best["value"] < 3

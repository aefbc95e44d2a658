"""Hydra's programs on the daemon: by the sweeper plugin, and as a sweep's program with keys that their config lacks."""
import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("hydra", reason="Hydra cannot be installed here")

from harness import ROOT, Daemon, environment, sweep_command  # noqa: E402
from hydra.core.override_parser.overrides_parser import OverridesParser  # noqa: E402
from hydra.errors import HydraException  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402

import sweepd  # noqa: E402
from hydra_plugins.sweepd_sweeper import _parameter  # noqa: E402

PACKAGE = os.path.join(ROOT, "clients", "python")
CONFIG = """\
defaults:
  - db: mysql
  - override hydra/sweeper: sweepd
lr: 0.1
units: 4
act: relu
hydra:
  sweeper:
    n_trials: 12
    n_jobs: 2
    seed: 1
    study_name: mine
    params:
      lr: tag(log, interval(1e-4, 1.0))
      units: range(1, 9)
"""
HEAD = """\
import hydra, logging, os, sweepd
@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
"""
LOSS = """\
    assert type(cfg.lr) is float and type(cfg.units) is int
    logging.getLogger("mine").info("lr is %s", cfg.lr)
    open("here", "w").close()
    return (cfg.lr - 0.03) ** 2 + 1 / cfg.units
"""


@pytest.fixture(autouse=True)
def user(daemon):
    with sweepd.Client(daemon.socket) as client:
        yield client


def multirun(folder, body, *words, config=CONFIG):
    """Runs the program with its jobs in the folder `out`; gives its status, its output and the number of its sweep."""
    (folder / "conf" / "db").mkdir(parents=True)
    (folder / "conf" / "config.yaml").write_text(config, encoding="utf-8")
    for name in ("mysql", "postgresql"):
        (folder / "conf" / "db" / f"{name}.yaml").write_text(f"driver: {name}\n", encoding="utf-8")
    (folder / "app.py").write_text(f"{HEAD}{body}main()\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "app.py", "-m", "hydra.sweep.dir=out", *words], cwd=folder, check=False, timeout=120,
                          capture_output=True, text=True, env=environment(PYTHONPATH=PACKAGE, SWEEPD_SOCKET=os.environ["SWEEPD_SOCKET"]))
    return done.returncode, done.stdout + done.stderr


def results(folder):
    return OmegaConf.to_container(OmegaConf.load(folder / "out" / "optimization_results.yaml"))


def test_jobs_are_trials_in_the_folders_of_a_multirun(user, tmp_path):
    status, said = multirun(tmp_path, LOSS, "db=glob(*)", "+extra=a,[b,1],null,'c d'", "act=tanh", "++units=range(2, 9)",
                            "hydra.job.chdir=true")
    assert status == 0, said
    found = results(tmp_path)
    rows = user.trials(found["sweep"])
    assert len(rows) == 12 and {row["state"] for row in rows} == {"COMPLETED"} and user.sweep(found["sweep"])["name"] == "mine"
    assert found["best_value"] == min(row["value"] for row in rows) < 0.3 and sorted(found["best_params"]) == ["++units", "+extra", "db", "lr"]
    assert (tmp_path / "out" / "multirun.yaml").exists()
    for row in rows:
        job = tmp_path / "out" / str(row["trial"] - 1)
        config = OmegaConf.load(job / ".hydra" / "config.yaml")
        assert config.lr == row["params"]["lr"] and config.units == row["params"]["++units"] and config.act == "tanh", config
        assert config.db.driver == row["params"]["db"] and config.extra in ("a", ["b", 1], None, "c d")
        assert "lr is" in (job / "app.log").read_text() and (job / "here").exists()
        assert OmegaConf.load(job / ".hydra" / "hydra.yaml").hydra.job.num == row["trial"] - 1


def test_job_that_reports_is_pruned(user, tmp_path):
    body = "    for step in range(1, 10):\n        sweepd.report(step, objective=cfg.lr + 1 / step)\n"
    status, said = multirun(tmp_path, body, "hydra.sweeper.spec={early_terminate:{type:asha,max_t:9}}", "hydra.sweeper.method=random")
    assert status == 0, said
    counts = user.sweep(results(tmp_path)["sweep"])["counts"]
    assert counts["PRUNED"] > 0 < counts["COMPLETED"] and counts["PRUNED"] + counts["COMPLETED"] == 12


def test_job_of_several_objectives_has_a_front(user, tmp_path):
    status, said = multirun(tmp_path, "    return cfg.lr, cfg.units\n", "hydra.sweeper.direction=[minimize,maximize]")
    assert status == 0, said
    found = results(tmp_path)
    assert [goal["goal"] for goal in user.sweep(found["sweep"])["spec"]["metrics"]] == ["minimize", "maximize"]
    assert found["solutions"] and all(each["values"] == [each["params"]["lr"], each["params"]["units"]] for each in found["solutions"])


def test_job_that_fails_is_a_failed_trial_and_others_go_on(user, tmp_path):
    status, said = multirun(tmp_path, "    return [1.0, None][cfg.units > 4 and 1 / 0]\n", "units=1,8", "hydra.sweeper.method=grid",
                            "lr=0.1", "hydra.sweeper.sampler={seed:1}")
    assert status == 0 and "sampler: without effect" in said, said
    states = {row["params"]["units"]: (row["state"], row["cause"]) for row in user.trials(results(tmp_path)["sweep"])}
    assert states == {1: ("COMPLETED", None), 8: ("FAILED", "ZeroDivisionError: division by zero")}


@pytest.mark.parametrize("rate, status", [(0.5, 0), (0.4, 1)])
def test_more_failures_than_may_be_fail_the_program(user, tmp_path, rate, status):
    ended, said = multirun(tmp_path, "    return 1 / (cfg.units - 1)\n", "units=1,8", "lr=0.1", "hydra.sweeper.method=grid",
                           f"hydra.sweeper.max_failure_rate={rate}")
    assert ended == status and ("1 of 2 jobs failed, and hydra.sweeper.max_failure_rate is 0.4" in said) == bool(status), said


def test_nothing_to_search_says_what_to_write(tmp_path):
    status, said = multirun(tmp_path, LOSS, config="defaults:\n  - override hydra/sweeper: sweepd\nlr: 0.1\n")
    assert status == 1 and "give a key choice(), range() or interval()" in said, said


@pytest.mark.parametrize("text, spec, back", [
    ("interval(1, 10)", {"distribution": "uniform", "min": 1.0, "max": 10.0}, {5: "5.0", 1e-05: "1e-05"}),
    ("int(interval(1, 10))", {"distribution": "int_uniform", "min": 1, "max": 10}, {5: "5"}),
    ("tag(log, int(interval(1, 10)))", {"distribution": "int_log_uniform", "min": 1, "max": 10}, {5: "5"}),
    ("tag(log, interval(1e-5, 0.1))", {"distribution": "log_uniform_values", "min": 1e-5, "max": 0.1}, {0.01: "0.01"}),
    ("range(1, 9)", {"distribution": "int_uniform", "min": 1, "max": 8}, {8: "8"}),
    ("range(8, 33, 8)", {"values": [8, 16, 24, 32]}, {24: "24"}),
    ("range(0.5, 1, 0.25)", {"values": [0.5, 0.75]}, {0.75: "0.75"}),
    ("choice(a, 2, true, 'b c')", {"values": ["a", 2, True, "b c"]}, {2: "2", True: "True", "b c": "b\\ c"}),
    ("[64,32],{a:1}", {"values": ["[64,32]", "{a:1}"]}, {"[64,32]": "[64,32]"}),
])
def test_grammar_of_overrides_is_a_parameter(text, spec, back):
    override, = OverridesParser.create().parse_overrides([f"key={text}"])
    found, read = _parameter(override)
    assert found == spec and {value: read(value)[1] for value in back} == back


def test_parameter_of_too_many_values_is_refused_by_name():
    override, = OverridesParser.create().parse_overrides(["x=range(0, 100000, 0.5)"])
    with pytest.raises(HydraException, match="x has more than 10000 values"):
        _parameter(override)


def test_program_has_keys_that_its_config_lacks(tmp_path):
    (tmp_path / "app.py").write_text("import hydra, json\n@hydra.main(version_base=None)\ndef main(cfg):\n"
                                     "    print(json.dumps({'loss': cfg.lr + cfg.opt.wd}), flush=True)\nmain()\n", encoding="utf-8")
    (tmp_path / "sweep.json").write_text(json.dumps({
        "program": "app.py", "run": {"cwd": str(tmp_path)}, "command": [sys.executable, "${program}", "${args_no_hyphens}"], "run_cap": 2, "metric": {"name": "loss"},
        "parameters": {"+lr": {"min": 0.1, "max": 0.2}, "++opt.wd": {"value": 1}}}), encoding="utf-8")
    daemon = Daemon(tmp_path, "cpu:1").start()
    try:
        status, _, err = sweep_command(daemon, "submit", str(tmp_path / "sweep.json"))
        assert status == 0, err
        with sweepd.Client(daemon.socket) as client:
            assert client.wait(1)["counts"]["COMPLETED"] == 2
            assert all(row["value"] == row["params"]["+lr"] + 1 for row in client.trials(1))
    finally:
        daemon.stop()

"""Scripts as people write them (scripts/), each by the way that fits it: from the script to its best trial.

`changed` are the lines of a script that must be others; most have none. A script whose library is not installed is a
counted skip: PyTorch's and what needs it are too large for each run of scripts/check.
"""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, NamedTuple, Optional, Sequence, Union

import pytest

from harness import ROOT, Daemon, environment, sweep_command

import sweepd

SCRIPTS = os.path.join(os.path.dirname(__file__), "scripts")
LR = {"distribution": "log_uniform_values", "min": 1e-3, "max": 0.3}


class Row(NamedTuple):
    name: str
    needs: str  # libraries or programs
    how: Union[Dict[str, Any], Sequence[str]]  # the spec of a sweep that runs it; or the arguments of one that makes a sweep itself
    enough: float  # of the best trial
    reports: Optional[int] = None  # of each trial
    changed: Dict[str, str] = {}


def swept(metric, run_cap=4, goal="minimize", command=None, **parameters):
    return {"method": "random", "seed": 1, "run_cap": run_cap, "metric": {"name": metric, "goal": goal}, "parameters": parameters,
            "run": {"metrics": "text", "env": {"KERAS_BACKEND": "torch", "WANDB_MODE": "offline"}}, **({"command": command} if command else {})}


ROWS = {
    "argparse and print": Row("argparse_print.py", "", swept("val_loss", lr=LR, momentum={"min": 0.0, "max": 0.9}), 0.1, 5),
    "Hugging Face": Row("hf_trainer.py", "transformers torch accelerate", swept(
        "eval_accuracy", goal="maximize", learning_rate=LR, hidden_size={"values": [16, 32]}), 0.8, 3),
    "Lightning": Row("lightning_fit.py", "lightning", swept("val_loss", lr=LR, width={"values": [8, 32]}), 3),
    "Keras": Row("keras_fit.py", "keras torch", swept("val_loss", lr=LR, units={"values": [8, 32]}), 3, 3),
    "XGBoost": Row("xgboost_train.py", "xgboost", swept("val-rmse", eta=LR, max_depth={"values": [2, 4, 6]}), 1.5, 20),
    "shell": Row("shell.sh", "", swept("cost", 9, command=["sh", "${program}", "${args}"], n={"min": 1, "max": 9},
                                       size={"min": 0.1, "max": 2.0}), 3, 3),
    "C": Row("program.c", "cc", swept("residual", command=["./program", "${args}"], alpha={"min": 0.01, "max": 0.9},
                                      iters={"value": 20}), 1, 20),
    "W&B": Row("wandb_train.py", "wandb", swept("val.loss", lr=LR, epochs={"value": 5}), 0.9, 5),
    "W&B without its package": Row("wandb_train.py", "", swept("val.loss", lr=LR, epochs={"value": 5}), 0.9, 5, {
        "import wandb": "import sweepd.wandb as wandb"}),
    "W&B's agent": Row("wandb_agent.py", "", [], 7.01, 1, {"import wandb": "import sweepd.wandb as wandb"}),
    "scikit-learn": Row("sklearn_grid.py", "sklearn", [], 0.9, changed={
        "from sklearn.model_selection import GridSearchCV": "from sweepd.sklearn import GridSearchCV"}),
    "hyperopt": Row("hyperopt_fmin.py", "hyperopt", [], 4, changed={
        "from hyperopt import STATUS_OK, Trials, fmin, hp, tpe": "from sweepd.hyperopt import STATUS_OK, Trials, fmin, hp, tpe"}),
    "Optuna": Row("optuna_study.py", "optuna", [], 30, changed={"import optuna": "import sweepd.optuna as optuna"}),
    "Hydra": Row("hydra_app.py", "hydra", ["-m", "hydra/sweeper=sweepd", "lr=interval(0.001,0.1)", "dropout=choice(0.1,0.5)"], 0.1),
    "Ray, a function": Row("ray_function.py", "", [], 0.5, changed={
        "from ray import tune": "from sweepd.ray import tune",
        "from ray.tune.schedulers import ASHAScheduler": "from sweepd.ray.tune.schedulers import ASHAScheduler"}),
    "Ray, a class": Row("ray_class.py", "", [], -0.1, 5, {
        "import ray": "import sweepd.ray as ray", "from ray import tune": "from sweepd.ray import tune"}),
    "the socket's JSON, from Perl": Row("search.pl", "perl", [], 4),
}


@pytest.fixture(scope="module")
def slots(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("slots"), "cpu:2").start()
    yield daemon
    daemon.stop()


def brought(folder, row):
    """The script in the folder, with the lines changed that must be, and what its author has beside it."""
    with open(os.path.join(SCRIPTS, row.name), encoding="utf-8") as file:
        lines = file.read().split("\n")
    for old, new in row.changed.items():
        lines[lines.index(old)] = new
    (folder / row.name).write_text("\n".join(lines), encoding="utf-8")
    (folder / "conf").mkdir()
    (folder / "conf" / "config.yaml").write_text("lr: 0.1\ndropout: 0.5\n", encoding="utf-8")
    if row.name.endswith(".c"):
        subprocess.run(["cc", "-o", "program", row.name], cwd=folder, check=True)


@pytest.mark.parametrize("kind", ROWS)
def test_script_comes_to_its_best_trial(slots, tmp_path, kind):
    row = ROWS[kind]
    for need in row.needs.split():
        if not shutil.which(need) and not importlib.util.find_spec(need):
            pytest.skip(f"needs {need}")
    brought(tmp_path, row)
    env = {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}", "HOME": str(tmp_path), "SWEEPD_SOCKET": slots.socket,
           "PYTHONPATH": os.path.join(ROOT, "clients", "python")}
    with sweepd.Client(slots.socket) as user:
        if isinstance(row.how, dict):
            (tmp_path / "sweep.json").write_text(json.dumps({"program": row.name, **row.how}), encoding="utf-8")
            status, out, err = sweep_command(slots, "submit", "sweep.json", cwd=tmp_path, **env)
            assert status == 0, err
            user.wait(int(out.split()[1]))
        else:
            done = subprocess.run(["perl" if row.name.endswith(".pl") else "python", row.name, *row.how], cwd=tmp_path, check=False,
                                  env=environment(**env), capture_output=True, text=True)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        sweep = user.sweeps()[0]
        trials, best = user.trials(sweep["sweep"]), user.best(sweep["sweep"])
        assert sweep["state"] == "COMPLETED" and {trial["state"] for trial in trials} <= {"COMPLETED", "PRUNED"}, trials
        sign = -1 if user.sweep(sweep["sweep"])["goal"] == "maximize" else 1
        assert sign * best["value"] <= sign * row.enough and best["params"], best
        if row.reports:
            assert {len(user.reports(sweep["sweep"], trial["trial"])) for trial in trials} == {row.reports}, trials

"""Scripts as users of other libraries have them (scripts/) run with their import lines changed, and nothing else.

The one for Optuna: tests/peers/test_optuna.py.
"""
import os
import re
import subprocess
import sys

import pytest

from harness import DEADLINE, environment
from test_python import PACKAGE, user  # noqa: F401


SCRIPTS = os.path.join(os.path.dirname(__file__), "scripts")
STUB = os.path.join(SCRIPTS, "stub")


def migrated(name, tmp_path):
    """A script with sweepd.optuna for optuna and sweepd.ray for ray in its import lines."""
    with open(os.path.join(SCRIPTS, name), encoding="utf-8") as file:
        lines = file.read().splitlines(keepends=True)
    out = []
    for line in lines:
        if re.match(r"(import|from) ", line):
            line = re.sub(r"^import (optuna|ray)$", r"import sweepd.\1 as \1", line.rstrip("\n")) + "\n"
            line = re.sub(r"^(from|import) (optuna|ray)\b", r"\1 sweepd.\2", line)
        out.append(line)
    changed = [line for line, was in zip(out, lines) if line != was]
    assert changed and all(re.match(r"(import|from) ", line) for line in changed)
    path = tmp_path / name
    path.write_text("".join(out), encoding="utf-8")
    return path


def run(path, daemon, *args, **env):
    where = [PACKAGE, os.environ.get("PYTHONPATH", "")]
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        where.append(STUB)
    done = subprocess.run([sys.executable, str(path), *map(str, args)], cwd=path.parent, capture_output=True, text=True,
                          check=False, timeout=3 * DEADLINE,
                          env=environment(PYTHONPATH=":".join(filter(None, where)), SWEEPD_SOCKET=daemon.socket, **env))
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def number_after(text, output):
    return float(re.search(re.escape(text) + r"\s*([0-9.eE+-]+)", output)[1])


def test_ray_script_in_the_older_form(user, daemon, tmp_path):
    output = run(migrated("ray_cifar.py", tmp_path), daemon, 6, 4)
    assert output.count("== Status") >= 1 and "Number of trials: 6/6" in output
    sweep = user.sweeps()[0]
    assert sweep["state"] == "COMPLETED" and sweep["name"] == "train_cifar"
    assert sweep["counts"]["COMPLETED"] + sweep["counts"]["PRUNED"] == 6
    best = user.best(sweep["sweep"], scope="last")
    assert number_after("final validation loss:", output) == pytest.approx(best["value"], rel=1e-6)
    assert 0 <= number_after("test set accuracy:", output) <= 1


def test_ray_script_in_the_newer_form(user, daemon, tmp_path):
    output = run(migrated("ray_cifar_new.py", tmp_path), daemon, 6, 4)
    sweep = user.sweeps()[0]
    assert sweep["state"] == "COMPLETED" and sweep["name"] == "cifar"
    best = user.best(sweep["sweep"], scope="last")
    assert number_after("final validation loss:", output) == pytest.approx(best["value"], rel=1e-6)
    assert number_after("last epoch:", output) == best["step"] - 1

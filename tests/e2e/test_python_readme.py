"""The Python blocks of clients/python/README.md run as they are, with stand-ins for the reader's own functions."""
import os
import re
import subprocess
import sys

import pytest

from harness import DEADLINE, ROOT, environment
from test_python import PACKAGE, user  # noqa: F401


README = os.path.join(ROOT, "clients", "python", "README.md")
HEAD = """
def train(p):
    return (p["lr"] - 0.1) ** 2
def save(folder):
    assert __import__("os").path.isdir(folder)
class model:
    def fit(x, y, epochs, callbacks):
        callbacks[0].on_epoch_end(0, {"loss": 1.0, "val_loss": 2.0, "accuracy": 0.5})
x = y = None
"""


def blocks():
    with open(README, encoding="utf-8") as file:
        found = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
    return [code for code in found if "sweepd.optuna" not in code]  # tests/peers/test_optuna.py


@pytest.mark.parametrize("i", range(len(blocks())))
def test_block_of_the_readme_runs(user, daemon, i, tmp_path):
    code = blocks()[i]
    if "client.loop" in code and "client =" not in code:  # it goes on from the block before it
        code = blocks()[i - 1].split("for trial")[0] + code
    done = subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, check=False, cwd=tmp_path,
                          timeout=DEADLINE, env=environment(PYTHONPATH=PACKAGE, SWEEPD_SOCKET=daemon.socket))
    assert done.returncode == 0, done.stderr
    for row in user.sweeps():
        assert row["state"] == "COMPLETED" and row["counts"]["FAILED"] == 0


def test_readme_has_the_blocks_that_it_should():
    assert len(blocks()) == 6

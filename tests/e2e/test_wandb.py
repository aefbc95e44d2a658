"""W&B's sweep files, as people have them: each of tests/fixtures/wandb is submitted and runs unchanged. The files were
written after W&B's published schema."""
import glob
import json
import os
import subprocess

import pytest

from harness import BIN, ROOT, environment

FOLDER = os.path.join(ROOT, "tests", "fixtures", "wandb")
FILES = sorted(os.path.basename(path) for path in glob.glob(os.path.join(FOLDER, "*.yaml")))


def sweep(daemon, *args, **more):
    """The command as it is called beside the file: status, stdout, stderr."""
    p = subprocess.run([os.path.join(BIN, "sweep"), "--socket", daemon.socket, *args], cwd=FOLDER, timeout=60,
                       env=environment(HOME="/home/me", **more), capture_output=True, text=True)
    return p.returncode, p.stdout, p.stderr


# What warns, and may: keys of W&B that have no effect here, and what the file lacks.
WARNED = {"random.yaml": ["project", "entity", "controller", "impute", "impute_while_running"],
          "bayes.yaml": ["apiVersion", "kind"]}


@pytest.mark.parametrize("name", FILES)
def test_file_is_submitted_unchanged(daemon, client, name):
    for verb in ("validate", "submit"):
        status, out, err = sweep(daemon, verb, name)
        assert status == 0 and out, err
        warned = [line.split('"')[1] for line in err.splitlines() if "no slots" not in line]
        assert warned == WARNED.get(name, []), err
    got = client.sweep(1)
    assert got["state"] == "RUNNING" and got["spec"]["run"]["cwd"] == FOLDER
    client.call("sweep.cancel", sweep=1)


def last_line(daemon, trial):
    """What the script says it was given."""
    out = sweep(daemon, "log", trial)[1].splitlines()
    return next(line.partition("ended with ")[2] for line in reversed(out) if "ended with " in line)


@pytest.mark.slots("cpu:2")
def test_files_run_unchanged(daemon, client):
    """Each to its end, all beside each other."""
    for name in FILES:
        assert sweep(daemon, "submit", name)[0] == 0, name
    for number, name in enumerate(FILES, 1):
        got = client.wait_sweep(number)
        made = sum(got["counts"].values())
        assert got["state"] == "COMPLETED" and made == (got["run_cap"] or got["points"]), (name, got)
        assert got["counts"]["COMPLETED"] + got["counts"]["PRUNED"] == made, (name, got["counts"])
        assert got["counts"]["PRUNED"] == 0 or name == "hyperband.yaml"
    given = {name: last_line(daemon, f"{i}/1") for i, name in enumerate(FILES, 1) if name != "hyperband.yaml"}
    params = {name: client.trials(i)[0]["params"] for i, name in enumerate(FILES, 1)}
    assert "'words': ['/home/me', 'fast']" in given["command.yaml"]
    assert ("'verbose': True" in given["command.yaml"]) == params["command.yaml"]["verbose"]
    assert f"'model.width': {params['hydra.yaml']['model.width']}" in given["hydra.yaml"]
    assert "'categorical': " in given["random.yaml"] and "'constant': '3'" in given["random.yaml"]
    sizes = params["nested.yaml"]["sizes"]
    assert sizes in ([64, 64], [128, 64, 32], [], {"first": 64, "then": {"units": 32}})
    assert f"'sizes': '{json.dumps(sizes, separators=(',', ':'))}'" in given["nested.yaml"]
    assert "'seed': '1'" in given["nested.yaml"] and '"heads"' in given["nested.yaml"]


def test_values_stay_what_they_are(daemon, client):
    """Types go over the wire as W&B reads them."""
    sweep(daemon, "submit", "random.yaml")
    spec = client.sweep(1)["spec"]
    kinds = spec["parameters"]["categorical"]["values"]
    assert kinds == ["relu", "yes", True, 2, 2.5, None] and isinstance(kinds[3], int)
    assert spec["parameters"]["log_uniform_values"] == {"distribution": "log_uniform_values", "min": 1e-5, "max": 0.1}
    assert spec["description"] == "One parameter of each kind, drawn at random."
    sweep(daemon, "submit", "bayes.yaml")
    assert client.sweep(2)["spec"]["parameters"]["augment"]["values"] == [True, False]
    sweep(daemon, "submit", "nested.yaml")
    decoder = client.sweep(3)["spec"]["parameters"]["decoder"]["parameters"]
    assert decoder["width"] == {"value": 16} and decoder["dropout"] == {"min": 0.0, "max": 0.5}

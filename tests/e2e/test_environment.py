"""A program meets what it meets by hand: the environment, folder and umask of `sweep submit`."""
import json
import os
import subprocess
import sys
import venv

import pytest

from harness import BIN, DEADLINE, environment, sweep_command, wait_until
from test_python import PACKAGE
from test_warm import launchers

pytestmark = pytest.mark.slots("cpu:1")

SHOWS = """\
import json, os, sys
import fresh
mask = os.umask(0)
os.umask(mask)
open("made", "w").close()
seen = {"env": dict(os.environ), "cwd": os.getcwd(), "umask": mask, "mode": os.stat("made").st_mode, "path": sys.path,
        "prefix": sys.prefix, "executable": sys.executable, "fresh": fresh.__file__}
os.remove("made")
with open("seen", "w") as file:
    json.dump(seen, file)
print(json.dumps({"loss": 1}), flush=True)
"""
SPEC = {"method": "random", "run_cap": 1, "metric": {"name": "loss"}, "parameters": {"x": {"min": 0.0, "max": 1.0}},
        "program": "train.py"}
# What docs/programs.md names: of a login, of a job with ranks, the slot's, the trial's.
LEFT_OUT = {"DISPLAY": ":0", "SSH_AUTH_SOCK": "/a", "SSH_TTY": "/dev/pts/1", "XDG_RUNTIME_DIR": "/run/user/1",
            "XDG_SESSION_ID": "7", "DBUS_SESSION_BUS_ADDRESS": "unix:", "TERM": "xterm", "TERM_PROGRAM": "x", "TMUX": "1",
            "WINDOWID": "9", "COLUMNS": "80", "SHLVL": "2", "OLDPWD": "/", "_": "/bin/sweep", "SUDO_USER": "u",
            "RANK": "3", "WORLD_SIZE": "4", "MASTER_PORT": "1", "SLURM_PROCID": "3", "TORCHELASTIC_RUN_ID": "x",
            "OMPI_COMM_WORLD_RANK": "3", "PMI_RANK": "3", "CUDA_VISIBLE_DEVICES": "7", "SWEEPD_TRIAL": "9/9",
            "WANDB_RUN_ID": "r"}
MASK = os.umask(0o022)  # of the tests' daemons
os.umask(MASK)
OURS = {"CUDA_VISIBLE_DEVICES": "", "SWEEPD_TRIAL": "1/1"}


@pytest.fixture(name="shell")
def _shell(tmp_path):
    """The variables of a shell in which a venv, conda and a module system are active."""
    venv.create(tmp_path / "venv", symlinks=True)
    lib = tmp_path / "modules"
    lib.mkdir()
    (lib / "fresh.py").touch()
    (tmp_path / "train.py").write_text(SHOWS, encoding="utf-8")
    (tmp_path / "sweep.json").write_text(json.dumps(SPEC), encoding="utf-8")
    return {"PATH": f"{tmp_path}/venv/bin:/opt/conda/envs/e/bin:{os.environ['PATH']}", "VIRTUAL_ENV": f"{tmp_path}/venv",
            "CONDA_PREFIX": "/opt/conda/envs/e", "CONDA_DEFAULT_ENV": "e", "CONDA_SHLVL": "1", "CONDA_EXE": "/opt/conda/bin/conda",
            "LOADEDMODULES": "gcc/12:openmpi/4", "_LMFILES_": "/m/gcc/12", "MODULEPATH": "/m", "LD_LIBRARY_PATH": "/opt/gcc/lib",
            "BASH_FUNC_module%%": "() {  eval `modulecmd bash $*`\n}", "PYTHONPATH": str(lib), "OMP_NUM_THREADS": "3",
            "EMPTY": "", "ODD.NAME-1": "a=b", "WORDS": "ö \x1b[1m\t\"\\", "SLURMISH": "kept", "RANKS": "kept"}


def in_shell(folder, words, mask=0o027, **env):
    return subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, check=False, timeout=DEADLINE,
                          stdin=subprocess.DEVNULL, env=env, umask=mask)


def seen(folder):
    with open(folder / "seen", encoding="utf-8") as file:
        got = json.load(file)
    os.remove(folder / "seen")
    return got


PYTHON = f"""\
import sys, json
sys.path.insert(0, {PACKAGE!r})
import sweepd
c = sweepd.Client()
c.wait(c.submit(json.load(open("sweep.json"))))
"""


@pytest.mark.parametrize("how", ("warm", "cold", "Python"))
def test_program_meets_what_it_meets_by_hand(start, tmp_path, shell, how):
    daemon = start("cpu:1", PYTHONPATH="/daemon", LD_LIBRARY_PATH="/daemon", VIRTUAL_ENV="/daemon", CONDA_ENV="/daemon",
                   TMPDIR=str(tmp_path))
    by_hand = in_shell(tmp_path, [f"{tmp_path}/venv/bin/python", "train.py", "--x=0.5"], **shell)
    assert by_hand.returncode == 0, by_hand.stderr
    want = seen(tmp_path)
    assert want["umask"] == 0o027 and want["prefix"] == f"{tmp_path}/venv" and want["fresh"].startswith(str(tmp_path))
    (tmp_path / "sweep.json").write_text(json.dumps({**SPEC, "run": {"warm": how == "warm"}}), encoding="utf-8")
    words = [sys.executable, "-c", PYTHON] if how == "Python" else [f"{BIN}/sweep", "submit", "sweep.json"]
    done = in_shell(tmp_path, words, **{**LEFT_OUT, **shell, "SWEEPD_SOCKET": daemon.socket})
    assert done.returncode == 0, done.stderr
    assert daemon.client().wait_sweep(1)["counts"]["COMPLETED"] == 1, sweep_command(daemon, "log", "1/1")
    got = seen(tmp_path)
    assert {name: got["env"].get(name) for name in LEFT_OUT} == {**dict.fromkeys(LEFT_OUT), **OURS}
    for env in want["env"], got["env"]:
        assert env.pop("PWD", str(tmp_path)) == str(tmp_path)
        for name in [name for name in env if name.startswith("SWEEPD_") or name in {*LEFT_OUT, "WANDB_SWEEP_PARAM_PATH"}]:
            del env[name]
    assert got == want
    spec = daemon.client().call("sweep.get", sweep=1)["spec"]["run"]
    assert spec == {"cwd": str(tmp_path), "umask": "027", "warm": how == "warm"}


def test_clean_env_and_the_bare_socket_have_the_daemons_short_list(start, tmp_path, shell):
    daemon = start("cpu:1", PYTHONPATH=shell["PYTHONPATH"], MINE="x")
    client = daemon.client()
    for sweep in 1, 2:
        if sweep == 1:
            done = in_shell(tmp_path, [f"{BIN}/sweep", "submit", "--clean-env", "sweep.json"], SWEEPD_SOCKET=daemon.socket, **shell)
            assert done.returncode == 0, done.stderr
        else:
            client.submit({**SPEC, "run": {"cwd": str(tmp_path)}})
        assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1, sweep_command(daemon, "log", f"{sweep}/1")
        got = seen(tmp_path)
        assert got["env"]["PYTHONPATH"] == shell["PYTHONPATH"] and got["umask"] == (0o027 if sweep == 1 else MASK)
        assert not got["env"].keys() & {"MINE", "LOADEDMODULES", "EMPTY"}
    assert not os.path.exists(os.path.join(daemon.state, "env"))


def test_program_is_looked_for_in_the_path_of_its_submission(daemon, tmp_path, shell):
    (tmp_path / "venv" / "bin" / "mine").write_text("#!/bin/sh\necho '{\"loss\": 1}'\n", encoding="utf-8")
    os.chmod(tmp_path / "venv" / "bin" / "mine", 0o755)
    (tmp_path / "sweep.json").write_text(json.dumps({**SPEC, "program": None, "command": ["mine", "${envvar:EMPTY}", "${args}"]})
                                         .replace('"program": null, ', ""), encoding="utf-8")
    for verb in "validate", "submit":
        done = in_shell(tmp_path, [f"{BIN}/sweep", verb, "sweep.json"], **environment(SWEEPD_SOCKET=daemon.socket))
        assert done.returncode == 1 and b"mine: it is in no folder of PATH" in done.stderr
        done = in_shell(tmp_path, [f"{BIN}/sweep", verb, "sweep.json"], **shell, SWEEPD_SOCKET=daemon.socket)
        assert done.returncode == 0, done.stderr
    assert daemon.client().wait_sweep(1)["counts"]["COMPLETED"] == 1


def test_shells_share_a_launcher_and_each_umask_has_one(daemon, client, tmp_path, shell):
    seen_launchers = []
    for sweep, (window, mask) in enumerate((("1", 0o027), ("2", 0o027), ("2", 0o002)), 1):
        done = in_shell(tmp_path, [f"{BIN}/sweep", "submit", "sweep.json"], mask, **shell, SWEEPD_SOCKET=daemon.socket,
                        WINDOWID=window, SHLVL=window, XDG_SESSION_ID=window, OLDPWD="/" + window)
        assert done.returncode == 0, done.stderr
        assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1
        assert seen(tmp_path)["umask"] == mask
        seen_launchers.append(launchers(daemon))
    assert len(seen_launchers[0]) == 1 and seen_launchers[1] == seen_launchers[0] and len(seen_launchers[2]) == 2


def test_odd_environments_are_sent_or_named_in_a_line(daemon, client, tmp_path, shell):
    run = f"{BIN}/sweep", "submit", "sweep.json"
    done = in_shell(tmp_path, run, **shell, SWEEPD_SOCKET=daemon.socket, LATIN=b"\xe9")
    assert done.returncode == 0 and done.stderr.decode().count("\n") == 1
    assert b"warning: the variable LATIN is not passed on: it is no UTF-8" in done.stderr
    client.wait_sweep(1)
    assert "LATIN" not in seen(tmp_path)["env"]
    large = {f"BIG{i}": "x" * 120000 for i in range(8)}
    done = in_shell(tmp_path, run, **shell, SWEEPD_SOCKET=daemon.socket, **large)
    assert done.returncode == 0, done.stderr
    client.wait_sweep(2)
    assert seen(tmp_path)["env"].items() >= large.items()
    done = in_shell(tmp_path, run, **shell, SWEEPD_SOCKET=daemon.socket, **large, BIG8="x" * 130000)
    line = done.stderr.decode()
    assert done.returncode == 1 and line.count("\n") == 1 and "a spec has at most" in line and "--clean-env" in line, line
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run([sys.executable, "-c", PYTHON], cwd=tmp_path, check=True, capture_output=True, timeout=DEADLINE,
                       env={**shell, **large, "BIG8": "x" * 130000, "SWEEPD_SOCKET": daemon.socket})
    wait_until(lambda: len(client.call("sweep.list")["sweeps"]) == 2, "two sweeps")

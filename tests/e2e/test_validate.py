"""`sweep validate`: the same check with a daemon and without one."""
import json
import os
import subprocess

import pytest

from harness import BIN, DEADLINE, ROOT, environment

GOOD = {"metric": {"name": "loss"}, "method": "random", "run_cap": 3, "parameters": {"lr": {"min": 0.1, "max": 1}}}
NETS = {"digits.json", "digits_bayes.json", "regression.json"}  # with a trainer: their data are read


def validate(folder, spec, *args, name="spec.json", socket="/nowhere/s"):
    text = spec if isinstance(spec, str) else json.dumps(spec)
    (folder / name).write_text(text)
    done = subprocess.run([os.path.join(BIN, "sweep"), "validate", name, *args], cwd=folder, check=False,
                          capture_output=True, text=True, timeout=DEADLINE, env=environment(SWEEPD_SOCKET=socket))
    return done.returncode, done.stdout, done.stderr.splitlines()


@pytest.mark.parametrize("name", sorted(NETS))
def test_answer_is_the_same_without_a_daemon(start, tmp_path, name):
    spec = json.loads(open(os.path.join(ROOT, "examples", name), encoding="utf-8").read())
    there = validate(tmp_path, spec, socket=start("cpu:1").socket)
    alone = validate(tmp_path, spec)
    assert there[:2] == alone[:2] and alone[0] == 0 and "a good spec" in alone[1]
    assert alone[2][0].startswith("sweep: no daemon at /nowhere/s: checked by the devices of this machine")
    assert alone[2][1:] == there[2]


def test_refusal_is_the_same_without_a_daemon(start, tmp_path):
    spec = dict(GOOD, parameters={"lr": {"min": 5, "max": 3}})
    there = validate(tmp_path, spec, socket=start("none").socket)
    alone = validate(tmp_path, spec)
    assert there[0] == alone[0] == 1 and alone[2][1:] == there[2] and "min 5 is above max 3" in alone[2][1]


def test_what_only_a_daemon_knows_is_named(tmp_path):
    status, _, lines = validate(tmp_path, dict(GOOD, method="tpe", warm_start=[1]))
    assert status == 0 and "a daemon has the earlier sweeps" in lines[1]
    status, _, lines = validate(tmp_path, {"refine": {"of": 1}})
    assert status == 1 and "start one with sweepd" in lines[1]


def test_gpu_that_this_machine_lacks_is_a_warning(tmp_path):
    status, out, lines = validate(tmp_path, dict(GOOD, program="true", command=["true"], resources={"gpu": 64},
                                                 run={"cwd": str(tmp_path)}))
    assert status == 0 and "a good spec" in out
    assert "warning" in lines[1] and "GPU" in lines[1]


def test_other_methods_are_not_answered(tmp_path):
    """Who speaks to `sweepd validate` gets nothing but a check; it ends with its client."""
    import socket
    ours, theirs = socket.socketpair()
    with ours:
        child = subprocess.Popen([os.path.join(BIN, "sweepd"), "validate"], stdin=theirs, env=environment())
        theirs.close()
        ours.settimeout(DEADLINE)
        ours.sendall(b'{"jsonrpc":"2.0","id":1,"method":"sweep.list"}\n')
        assert b"unknown method" in ours.recv(1 << 16)
    assert child.wait(DEADLINE) == 0

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


def test_answer_is_the_same_without_a_daemon(start, tmp_path):
    daemon = start("cpu:1")
    for name in sorted(NETS):
        spec = json.loads(open(os.path.join(ROOT, "examples", name), encoding="utf-8").read())
        there = validate(tmp_path, spec, socket=daemon.socket)
        alone = validate(tmp_path, spec)
        assert there[:2] == alone[:2] and alone[0] == 0 and "a good spec" in alone[1], name
        assert alone[2][0].startswith("sweep: no daemon at /nowhere/s: checked by the devices of this machine"), name
        assert alone[2][1:] == there[2], name


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


BAD = """name: x
methd: bayes
metric:
  name: val_loss
  gaol: minimise
parameters:
  lr: {min: 5, max: 3}
  bs: {valus: [1, 2]}
  wd:
    min: a
    max: 2
  opt: {values: [sgd, adm]}
run_cap: many
early_terminate: {type: ahsa, min_t: 0}
resources: {gpu: -1, cpuu: 2}
trainer:
  dataset: {format: csv, path: /nowhere/x.csv, label: y}
  model: [{linear: 64}, relux, {linear: nothere}]
  lr: lr
  batch_size: bs
  weight_decay: wd
  optimizer: opt
  epochs: -3
"""
PLACES = """methd 2, metric.gaol 5, parameters.lr.min 7, parameters.bs.valus 8, parameters.wd.min 10, parameters.opt.values.1 12,
run_cap 13, early_terminate.type 14, early_terminate.min_t 14, resources.gpu 15, resources.cpuu 15, trainer.dataset.path 17,
trainer.model.1 18, trainer.model.2.linear 18, trainer.epochs 23"""


def places(lines):
    """Of "sweep: PLACE (line N): ..." what stands before the message: "PLACE N"."""
    return {line.removeprefix("sweep: ").partition(": ")[0].replace(" (line", "").rstrip(")") for line in lines}


def test_all_mistakes_are_named_at_once(tmp_path):
    status, out, lines = validate(tmp_path, BAD, name="spec.yaml")
    assert (status, out) == (1, "") and places(lines[1:]) == set(PLACES.replace("\n", " ").split(", "))


def test_submit_refuses_with_the_same_list(daemon, tmp_path):
    with_daemon = validate(tmp_path, BAD, name="spec.yaml", socket=daemon.socket)
    done = subprocess.run([os.path.join(BIN, "sweep"), "--socket", daemon.socket, "submit", "spec.yaml"], cwd=tmp_path,
                          check=False, capture_output=True, text=True, timeout=DEADLINE, env=environment())
    assert done.returncode == 1 and done.stderr.splitlines() == with_daemon[2] == validate(
        tmp_path, BAD, name="spec.yaml")[2][1:]
    assert daemon.client().call("sweep.list")["sweeps"] == []


def test_json_has_pointers_and_lines(tmp_path):
    lines = validate(tmp_path, '{"metric": {"name": "l"},\n"parameters": {"a/b": {"min": 1,\n"max": "x"}},\n"run_cap": 0}')
    assert places(lines[2][1:]) == {"/parameters/a~1b/max 3", "/run_cap 4"}


def test_long_lists_are_cut(tmp_path):
    spec = dict(GOOD, parameters={f"p{i}": {"min": "a", "max": 1} for i in range(30)})
    lines = validate(tmp_path, spec)[2][1:]
    assert len(lines) == 21 and lines[-1] == "sweep: and 10 more"


def test_file_that_is_not_there_is_a_mistake(tmp_path):
    for more, place in (
            ({"command": ["./nothing"], "run": {"cwd": str(tmp_path)}}, "/command/0"),
            ({"program": "train.py"}, "/program"),
            ({"command": ["true"], "run": {"cwd": "/nowhere"}}, "/run/cwd"),
            ({"command": ["true"], "run": {"cwd": "/dev/null"}}, "/run/cwd"),
            ({"trainer": {"dataset": {"format": "csv", "path": "/nowhere/x.csv", "label": "y"}, "model": [{"linear": 2}]},
              "run_cap": "x"}, "/trainer/dataset/path")):
        status, _, lines = validate(tmp_path, dict(GOOD, **more))
        assert status == 1 and any(line.startswith(f"sweep: {place} (line 1): ") for line in lines), (more, lines)


def test_what_is_noted_does_not_hide_nor_make_others(tmp_path):
    """A key that is put aside or guessed makes no mistakes of its own."""
    spec = {"metrics": [{"name": "a"}, {"nam": "b"}], "paramters": {"lr": {"min": 1, "max": 0}, "on": {"values": []}},
            "constraints": ["lr < 3"], "method": "gird", "shuffle": True, "run": {"cwd": 3}, "command": ["true"]}
    assert {place.split()[0] for place in places(validate(tmp_path, spec)[2][1:])} == {
        "/paramters", "/metrics/1/nam", "/method", "/run/cwd", "/parameters/on/values", "/parameters/lr/min"}


def test_python_names_all_mistakes(start):
    import sys
    sys.path.insert(0, os.path.join(ROOT, "clients", "python"))
    import sweepd
    with sweepd.Client(start("none").socket) as client, pytest.raises(sweepd.SweepdError) as caught:
        client.validate({"metric": {"name": "l"}, "parameters": {"lr": {"min": 5, "max": 3}, "a": {}}})
    first, second = str(caught.value).splitlines()
    assert first.startswith("parameters.a: ") and second == "parameters.lr.min: min 5 is above max 3"
    assert caught.value.pointer == "/spec/parameters/a"

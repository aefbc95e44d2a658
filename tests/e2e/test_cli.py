"""The `sweep` command with a real daemon: its exit statuses, its output for people and for programs. With one that says
what a test wants: tests/cli/test_sweep.py and tests/cli/test_screens.py."""
import json
import os
import pty
import re
import select
import subprocess
import time

import pytest

import data_files
from harness import BIN, DEADLINE, ROOT, Daemon, asha, driven, environment, sweep_command, trained


@pytest.fixture
def spec_file(tmp_path):
    def write(spec, name="spec.json"):
        path = tmp_path / name
        path.write_text(spec if isinstance(spec, str) else json.dumps(spec))
        return str(path)
    return write


def test_sweep_is_known_by_its_name_too(daemon, client):
    for name in ("digits", "wine", "digits", "12", "a/b"):
        client.submit(driven(name=name))
    named = {name: sweep_command(daemon, "show", name, "--json")[1:] for name in ("wine", "digits", "a/b")}
    assert [json.loads(out)["sweep"] for out, _ in named.values()] == [2, 3, 5]
    assert [err for _, err in named.values()] == ["", "sweep: digits is sweep 3, the newest of 2 of that name\n", ""]
    assert sweep_command(daemon, "show", "12")[2] == "sweep: no sweep 12; the last one is 5\n"
    assert sweep_command(daemon, "pause", "wime")[2] == 'sweep: no sweep is called "wime"; did you mean "wine"?\n'
    assert sweep_command(daemon, "cancel", "wine")[1] == "sweep 2 CANCELLED\n"
    assert client.call("sweep.find", name="digits") == {"sweep": 3, "same": 2, "sweeps": [1, 3]}
    for verb in "cancel", "rm":  # what is not undone is not guessed
        assert sweep_command(daemon, verb, "digits") == (
            2, "", "sweep: digits is sweep 3, the newest of 2 of that name: give its number\n")
    assert client.sweep(3)["state"] == "RUNNING"


def test_tags_and_notes_stay_and_change_nothing_of_the_search(daemon, client):
    sweep = client.submit(driven(run_cap=2))
    client.tell(sweep, client.ask(sweep)[0], metrics={"loss": 1})
    assert sweep_command(daemon, "tag", 1, "good", "base-1") == (0, "sweep 1 tag: good base-1\n", "")
    assert sweep_command(daemon, "note", "driven", "with the", "old data") == (0, "sweep 1 note: with the old data\n", "")
    for wrong in (["a b"], [""], ["x" * 41], [1], ["x"] * 17, ["a\x7f"]):
        assert client.refused("sweep.annotate", sweep=1, tags=wrong).pointer == "/tags"
    client.call("sweep.cancel", sweep=1)  # an ended one can be written on, too
    sweep_command(daemon, "tag", 1, "good")
    client = daemon.again()
    for row in (client.sweep(1), client.call("sweep.list")["sweeps"][0]):
        assert (row["tags"], row["note"]) == (["good"], "with the old data")
    out = sweep_command(daemon, "show", 1)[1]
    assert "\ntags    good\n" in out and "\nnote    with the old data\n" in out
    sweep_command(daemon, "tag", 1, "")
    sweep_command(daemon, "note", 1, "")
    assert (client.sweep(1)["tags"], client.sweep(1)["note"]) == ([], None)
    done = subprocess.run([os.path.join(BIN, "sweepd"), "replay", daemon.state], capture_output=True, text=True,
                          check=False, timeout=DEADLINE)
    assert done.returncode == 0 and "all as stored" in done.stdout, done


def test_show_fits_a_screen_and_spec_has_the_rest(daemon, client):
    sweep = client.submit(driven(early_terminate=asha(max_t=1024, reduction_factor=2),
                                 parameters={f"x{i}": {"value": 1} for i in range(12)}))
    for n in range(1, 6):
        client.call("sweep.edit", sweep=sweep, weight=n + 1, max_concurrent=n)
    short, whole = (sweep_command(daemon, "show", sweep, *more)[1] for more in ([], ["--spec"]))
    assert short.count("\n") < 24 and whole.count("\n") > 60
    assert whole.count("weight: ") == 5 and short.count("weight: ") == 2 and "3 earlier; --spec" in short
    assert "more; --spec shows all" in short and "and 4 more; `sweep show 1 --spec`" in short


def test_clone_submits_the_spec_as_it_was(daemon, client):
    spec = driven(name="digits", parameters={"x": {"min": 1.0, "max": 5.0}}, run_cap=3)
    client.submit(spec)
    client.call("sweep.edit", sweep=1, run_cap=9)
    assert sweep_command(daemon, "clone", "digits") == (0, "sweep 2\n", "")
    first, second = (client.sweep(n) for n in (1, 2))
    assert second["spec"] == first["spec"] == spec and (first["run_cap"], second["run_cap"]) == (9, 3)
    assert isinstance(second["spec"]["parameters"]["x"]["max"], float)
    same = [[t["params"] for t in client.ask(n, 3)] for n in (1, 2)]  # the seed is the spec's
    assert same[0] == same[1]


def test_layers_of_a_preset_are_shown_with_the_parameters_names(daemon, client, spec_file):
    """Before there is a trial, and of a sweep: the same list."""
    spec = trained(layers={"preset": "mlp", "outputs": 3, "width": "width", "depth": "depth",
                           "dropout": 0.5}, parameters={
                               "width": {"values": [8, 16]}, "depth": {"min": 1, "max": 4},
                               "lr": {"value": 0.1}, "batch_size": {"value": 16}})
    want = [{"depth times": [{"linear": "width"}, "relu", {"dropout": 0.5}]}, {"linear": 3}]
    for args in (["validate", spec_file(spec)], ["show", client.submit(spec), "--spec"]):
        status, out, err = sweep_command(daemon, *args)
        assert status == 0 and out.count("layers of mlp\n") == 1, (args, out, err)
        assert json.loads(out.partition("layers of mlp\n")[2]) == want
    for plain in (driven(), trained()):
        assert "layers of" not in sweep_command(daemon, "validate", spec_file(plain))[1]


def test_layers_of_an_mlp_begin_with_flatten_where_rows_are_images(daemon, client, spec_file,
                                                                   tmp_path):
    for name, data in (data_files.idx() | data_files.npy()).items():
        (tmp_path / name).write_bytes(data)
    for more, first in (({"name": "digits", "image": [1, 8, 8]}, "flatten"),
                        ({"name": "digits"}, {"linear": 64}),
                        ({"format": "idx", "path": str(tmp_path)}, "flatten"),
                        ({"format": "npy", "path": f"{tmp_path}/x.npy",
                          "label_path": f"{tmp_path}/y.npy"}, {"for images": "flatten"})):
        spec = trained(dataset=more, layers={"preset": "mlp", "outputs": 10},
                       parameters={"lr": {"value": 0.1}, "batch_size": {"value": 16}})
        for args in (["validate", spec_file(spec)], ["show", client.submit(spec), "--spec"]):
            status, out, err = sweep_command(daemon, *args)
            assert status == 0, (out, err)
            assert json.loads(out.partition("layers of mlp\n")[2])[0] == first


def test_watch_ends_with_every_trial_as_it_ended(daemon, client, tmp_path):
    sweep = client.submit(driven(run_cap=3))
    for t, state in zip(client.ask(sweep, 3), ("FAILED", "COMPLETED", "INFEASIBLE")):
        client.tell(sweep, t, state, metrics={"loss": 2} if state == "COMPLETED" else {"other": 1})
    status, out, _ = sweep_command(daemon, "watch", sweep)
    rows = [line.split()[:2] for line in out.splitlines() if line.startswith("1/")]
    assert status == 0
    assert rows == [["1/2", "COMPLETED"], ["1/1", "FAILED"], ["1/3", "INFEASIBLE"]]


def in_terminal(daemon, args, keys=(), rows=40, columns=120, **env):
    """Runs the command on a terminal of its own: (status, what it drew). keys: pairs (what it has drawn since
    the one before, what is then pressed, or done). daemon: or the words that name one."""
    where = ["--socket", daemon.socket] if isinstance(daemon, Daemon) else daemon
    pid, master = pty.fork()
    if pid == 0:
        try:
            os.chdir(ROOT)
            os.execve(os.path.join(BIN, "sweep"),
                      ["sweep", *where, *map(str, args)],
                      environment(TERM="xterm-256color", LINES=str(rows), COLUMNS=str(columns),
                                  **env))
        finally:
            os._exit(127)
    drawn, end, since, keys = b"", time.monotonic() + DEADLINE, 0, list(keys)
    while True:
        assert time.monotonic() < end, drawn[-2000:]
        if select.select([master], [], [], 0.2)[0]:
            try:
                chunk = os.read(master, 1 << 16)
            except OSError:
                break
            if not chunk:
                break
            drawn += chunk
        if keys and keys[0][0] in drawn[since:]:
            then = keys.pop(0)[1]
            then() if callable(then) else os.write(master, then)
            since = len(drawn)
    os.close(master)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), drawn


def test_watch_draws_the_curve_of_a_trial_as_it_reports(daemon, client):
    sweep = client.submit(driven())
    handed = client.ask(sweep)[0]
    for step in range(1, 1006):  # two pages
        client.report(sweep, handed, step, step, loss=1 / step)
    status, drawn = in_terminal(daemon, ["watch", sweep], [
        (b"RUNNING", b"\r"), ("└".encode(), b"q"), (b"seconds", b"q")], LANG="C.UTF-8")
    assert status == 0 and b"1005" in drawn and b"goes on" in drawn


DIGITS = """name: digits
method: random
seed: 1
run_cap: 3
metric: {name: val_loss}
parameters:
  lr: {min: 0.05, max: 0.4}
  batch_size: {values: [32, 64]}
trainer: {dataset: {name: digits}, epochs: 3, model: [{linear: 10}]}
"""


def test_examples_of_the_help_run(start, tmp_path):
    """In the order of the verbs of cli/help.c, each with what those before it have left."""
    daemon = start("cpu:1")
    verbs = re.findall(r"^  ([a-z]+)", sweep_command(daemon, "help")[1].split("\n\n")[1], re.M)
    lines = [line for verb in verbs
             for line in re.findall(r"^  (sweep .*)", sweep_command(daemon, "help", verb)[1].partition("Example:\n")[2], re.M)]
    order = ["init", "submit", "validate", "schema", "ls", "show", "trials", "watch", "best", "why", "simulate", "log", "checkpoint",
             "fit", "predict", "extend", "pause", "edit", "enqueue", "resume", "cancel", "tag", "note", "clone",
             "devices", "rpc", "rm"]
    lines.sort(key=lambda line: (order + [line.split()[1]]).index(line.split()[1]))
    assert len(lines) > 20 and set(order) <= {line.split()[1] for line in lines}
    (tmp_path / "sweep.yaml").write_text(DIGITS)
    (tmp_path / "median.json").write_text('{"type": "median"}')
    (tmp_path / "new.csv").write_text(open(os.path.join(ROOT, "data", "digits.csv"), encoding="utf-8").read())
    for line in lines:
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, check=False, capture_output=True, text=True,
                              env=environment(SWEEPD_SOCKET=daemon.socket, PATH=f"{BIN}:{os.environ['PATH']}"),
                              timeout=DEADLINE)
        assert done.returncode == 0 and (done.stdout or ">" in line), (line, done.stdout, done.stderr)

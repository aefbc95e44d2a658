"""Scripts that use W&B, run by a daemon: with a package `wandb` that knows nothing of sweepd (standin/), and with
sweepd.wandb. What they pass on from the environment, and sweeps that name no metric."""
import contextlib
import json
import os
import re
import stat
import subprocess
import sys

import pytest

from harness import BIN, DEADLINE, environment, sweep_command, wait_until
from test_python import PACKAGE, sweepd, user  # noqa: F401

STANDIN = os.path.join(os.path.dirname(__file__), "standin")
TRAIN = """\
import wandb
wandb.init(project="mine", config={"epochs": 9, "lr": 9.0, "units": 1})
config = wandb.config
for epoch in range(config.epochs):
    wandb.log({"epoch": epoch, "train": {"loss": 1 / (epoch + 1)}, "note": "text"})
    wandb.log({"loss": (config.lr - 0.00003) ** 2 + 1 / config["units"] + 1 / (epoch + 1)})
print("took", {key: config[key] for key in ("lr", "units")})
wandb.finish()
"""
SWEEP = """\
program: train.py
method: bayes
run_cap: 12
seed: 4
metric: {name: loss, goal: minimize}
early_terminate: {type: hyperband, min_iter: 3}
parameters:
  lr: {distribution: log_uniform_values, min: 0.00001, max: 0.0001}
  units: {values: [32, 64, 128]}
"""


def write(folder, script, spec):
    (folder / "train.py").write_text(script, encoding="utf-8")
    (folder / "sweep.yaml").write_text(spec, encoding="utf-8")
    return f"run: {{cwd: {folder}, env: {{PYTHONPATH: '{STANDIN}:{PACKAGE}'}}}}\n"


def submit(daemon, folder, spec, **env):
    """By the command, in the folder; gives the sweep's number."""
    path = folder / "sweep.yaml"
    path.write_text(spec, encoding="utf-8")
    status, out, err = sweep_command(daemon, "submit", str(path), **env)
    assert status == 0, err
    return int(out.split()[1])


def check_searched(client, sweep):
    """Hyperband counts reports of the metric, and each program was told its trial's parameters."""
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED" and got["counts"]["PRUNED"] >= 1 <= got["counts"]["COMPLETED"], got
    for row in client.trials(sweep):
        assert row["step"] == 9 if row["state"] == "COMPLETED" else 3 <= row["step"] <= 9, row
        assert row["metrics"]["epoch"] == row["step"] - 1 and row["metrics"]["train.loss"] == 1 / row["step"]
        expected = (row["params"]["lr"] - 0.00003) ** 2 + 1 / row["params"]["units"] + 1 / row["step"]
        assert row["metrics"]["loss"] == pytest.approx(expected, rel=1e-12) and "note" not in row["metrics"]
    return got


def test_script_of_wandb_runs_unchanged(start, tmp_path):
    daemon = start("cpu:2")
    check_searched(daemon.client(), submit(daemon, tmp_path, SWEEP + write(tmp_path, TRAIN, SWEEP)))


def test_script_that_looks_for_wandb_first_is_heard_in_its_first_trial(start, tmp_path):
    """As transformers does."""
    daemon = start("cpu:1")
    script = "import importlib.util\nassert importlib.util.find_spec('wandb')\ndef later():\n    import wandb\nlater()\n" + TRAIN
    check_searched(daemon.client(), submit(daemon, tmp_path, SWEEP + write(tmp_path, script, SWEEP)))


@pytest.mark.parametrize("line", ["import wandb", "import sweepd.wandb as wandb"])
@pytest.mark.slots("cpu:1")
def test_metric_behind_more_numbers_than_a_report_may_have_is_reported(daemon, client, tmp_path, line):
    spec = "program: train.py\nmethod: random\nrun_cap: 1\nmetric: {name: loss}\nparameters: {x: {min: 0.0, max: 1.0}}\n"
    script = line + "\nwandb.init()\nfor loss in 0.7, 0.5:\n    wandb.log({**{f'grad {i}': i for i in range(300)}, 'loss': loss})\n"
    sweep = submit(daemon, tmp_path, spec + write(tmp_path, script, spec))
    client.wait_sweep(sweep)
    row, = client.trials(sweep)
    assert (row["state"], row["step"], row["value"]) == ("COMPLETED", 2, 0.5), row


@pytest.mark.parametrize("body", ["with wandb.init() as run:\n    run.summary['loss'] = 0.5\n",
                                  "run = wandb.init()\nrun.summary['loss'] = 0.5\nrun.finish()\n",
                                  "run = wandb.init()\nrun.summary['loss'] = 0.5\n"], ids=["with", "finish", "neither"])
@pytest.mark.slots("cpu:1")
def test_metric_that_only_the_summary_has_is_reported(daemon, client, tmp_path, body):
    spec = "program: train.py\nmethod: random\nrun_cap: 1\nmetric: {name: loss}\nparameters: {x: {min: 0.0, max: 1.0}}\n"
    sweep = submit(daemon, tmp_path, spec + write(tmp_path, "import wandb\n" + body, spec))
    client.wait_sweep(sweep)
    row, = client.trials(sweep)
    assert (row["state"], row["value"]) == ("COMPLETED", 0.5), row


@pytest.mark.slots("cpu:1")
def test_parameters_are_there_in_yaml_while_the_program_runs(daemon, client, tmp_path):
    """1e-05 is a string in YAML 1.1: it is written with a point. The user's own path counts more."""
    script = "import os\nprint('{\"loss\": 1}', flush=True)\nprint(open(os.environ['WANDB_SWEEP_PARAM_PATH']).read())\n"
    spec = SWEEP.replace("bayes", "random").replace("run_cap: 12", "run_cap: 2")
    spec += "  opt: {parameters: {name: {value: 'a e-1 \"1e5\"'}, big: {value: 1.0e+30}, n: {value: 3}}}\n"
    sweep = submit(daemon, tmp_path, spec + write(tmp_path, script, spec))
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2
    text = sweep_command(daemon, "log", f"{sweep}/1")[1]
    row = client.trials(sweep)[0]
    assert float(re.search(r'"lr": \{"value": (\d\.\d+e-\d+)\}', text)[1]) == row["params"]["lr"]
    assert re.search(r'"opt": \{"value": \{"name":"a e-1 \\"1e5\\"","big":1.0e\+30,"n":3\}\}', text), text
    assert not [name for _, _, names in os.walk(daemon.state) for name in names if name.endswith(".yaml")]
    (tmp_path / "mine").write_text("my own file", encoding="utf-8")
    other = spec + write(tmp_path, script, spec).replace("env: {", f"env: {{WANDB_SWEEP_PARAM_PATH: '{tmp_path}/mine', ")
    sweep = submit(daemon, tmp_path, other)
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2
    assert "my own file" in sweep_command(daemon, "log", f"{sweep}/1")[1]


SHOWS = """\
import json, os, time
names = ("WANDB_API_KEY", "HF_TOKEN", "AWS_PROFILE", "MY_TOKEN", "DVC_A", "OTHER", "HF_HOME", "SWEEPD_X")
with open("seen", "a") as file:
    file.write(json.dumps({name: os.environ.get(name) for name in names}) + "\\n")
print(json.dumps({"loss": 1}), flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
"""
KEYS = {"WANDB_API_KEY": "key-1", "HF_TOKEN": "key-2", "AWS_PROFILE": "key-3", "MY_TOKEN": "key-4", "DVC_A": "key-5",
        "OTHER": "key-6", "HF_HOME": "key-7", "SWEEPD_X": "key-8"}
SEEN = {**KEYS, "SWEEPD_X": None, "HF_HOME": "/from/spec"}


def files_with(daemon, word):
    """What the daemon has written that has the word: its files below the state folder, and its log."""
    found = []
    for where, _, names in os.walk(daemon.directory):
        for path in (os.path.join(where, name) for name in names):
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb") as file:
                    if word in file.read():
                        found.append(os.path.relpath(path, daemon.state))
    return found


def passing(tmp_path):
    """A spec of one trial that notes what it sees and waits for a file."""
    spec = ("program: train.py\nmethod: random\nrun_cap: 1\nmetric: {name: loss}\nparameters: {x: {min: 0.0, max: 1.0}}\n"
            f"run: {{cwd: {tmp_path}, env: {{HF_HOME: /from/spec}}}}\n")
    write(tmp_path, SHOWS, spec)
    return spec


@pytest.mark.slots("cpu:1")
def test_variables_come_with_the_submission_and_go_when_the_sweep_is_deleted(daemon, client, tmp_path):
    sweep = submit(daemon, tmp_path, passing(tmp_path), **KEYS)
    wait_until(lambda: [row for row in client.trials(sweep) if row["step"]], "a report")
    assert json.loads((tmp_path / "seen").read_text(encoding="utf-8")) == SEEN
    assert files_with(daemon, b"key-1") == [f"env/{sweep}"]
    assert stat.S_IMODE(os.stat(os.path.join(daemon.state, "env", str(sweep))).st_mode) == 0o600
    for verb in ("show", "best", "log"):
        status, out, err = sweep_command(daemon, verb, f"{sweep}/1" if verb == "log" else sweep)
        assert status == 0 and "key-" not in out + err, (verb, out)
    daemon.kill9()  # and it is there for the next daemon's attempts
    daemon.start()
    client = daemon.client()
    assert files_with(daemon, b"key-1") == [f"env/{sweep}"]
    (tmp_path / "go").touch()
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 1
    assert files_with(daemon, b"key-1") == [f"env/{sweep}"]  # it may be extended
    assert sweep_command(daemon, "extend", sweep, "--run-cap", 2)[0] == 0
    client.wait_sweep(sweep)
    assert [json.loads(line) for line in (tmp_path / "seen").read_text(encoding="utf-8").splitlines()] == [SEEN] * 2
    assert sweep_command(daemon, "rm", sweep)[0] == 0
    assert not files_with(daemon, b"key-")


def test_variables_that_are_none_are_refused_and_leave_nothing(daemon, client, tmp_path):
    spec = {"program": "train.py", "method": "random", "run_cap": 1, "metric": {"name": "loss"},
            "parameters": {"x": {"min": 0.0, "max": 1.0}}, "run": {"cwd": str(tmp_path)}}
    (tmp_path / "train.py").touch()
    error = client.refused("sweep.submit", spec=spec, env={"A": "key-1", "B": 1})
    assert error.pointer == "/env" and "B must be a string" in str(error)
    error = client.refused("sweep.submit", spec=spec, env={"A=B": "key-1"})
    assert error.pointer == "/env" and '"A=B" is no variable\'s name' in str(error)
    error = client.refused("sweep.submit", spec={**spec, "metric": {}}, env={"A": "key-1"})
    assert error.pointer == "/spec/metric/name"
    assert not files_with(daemon, b"key-1") and client.call("sweep.list")["sweeps"] == []


NO_METRIC = """\
program: train.py
method: grid
parameters: {lr: {values: [0.1, 0.2]}}
"""


@pytest.mark.parametrize("line", ["import wandb\n", "import sweepd.wandb as wandb\n"])
@pytest.mark.slots("cpu:2")
def test_sweep_without_a_metric_keeps_all_numbers(daemon, client, tmp_path, line):
    script = line + ("wandb.init()\nfor i in range(3):\n    wandb.log({'a': i * wandb.config.lr})\n"
                     "    wandb.log({'b': float('nan') if i == 1 else i})\n")
    sweep = submit(daemon, tmp_path, NO_METRIC + write(tmp_path, script, NO_METRIC))
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED" and got["counts"]["COMPLETED"] == 2 and got["metric"] is None, got
    for row in client.trials(sweep):
        assert row["metrics"] == {"a": pytest.approx(2 * row["params"]["lr"]), "b": 2} and row["value"] is None
    reports = client.reports(sweep, 1)
    assert [len(each["metrics"]) for each in reports] == [1, 2, 2, 2, 2, 2] and reports[3]["metrics"]["b"] == "nan"
    assert sweep_command(daemon, "best", sweep)[1].startswith("the sweep names no metric")
    assert client.call("sweep.best", sweep=sweep)["trials"] == []
    assert "none: the sweep names no metric" in sweep_command(daemon, "show", sweep)[1]
    assert " lr a b step " in re.sub(" +", " ", sweep_command(daemon, "trials", sweep)[1])
    assert client.call("trial.why", sweep=sweep, trial=1) and sweep_command(daemon, "ls")[0] == 0
    assert "names no metric" in str(client.refused("sweep.simulate", sweep=sweep, early_terminate={"type": "asha"}))
    assert "0 metrics" in str(client.refused("sweep.validate", spec={"refine": {"of": sweep}}))
    daemon.kill9()
    daemon.start()
    assert daemon.client().sweep(sweep)["metric"] is None
    daemon.term()
    replayed = subprocess.run([os.path.join(BIN, "sweepd"), "replay", os.path.join(daemon.state, "sweepd.db")],
                              capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


@pytest.mark.slots("cpu:1")
def test_printed_numbers_are_reports_where_no_metric_is_named(daemon, client, tmp_path):
    script = "print('{\"a\": 1}')\nprint('{\"text\": \"x\"}')\nprint('no report')\nprint('{\"b\": 2}')\n"
    sweep = submit(daemon, tmp_path, NO_METRIC + write(tmp_path, script, NO_METRIC))
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2
    assert [each["metrics"] for each in client.reports(sweep, 1)] == [{"a": 1}, {"b": 2}]


def test_trial_without_any_report_completes_where_no_metric_is_named(start, tmp_path):
    daemon = start("cpu:1")
    sweep = submit(daemon, tmp_path, NO_METRIC + write(tmp_path, "pass\n", NO_METRIC))
    assert daemon.client().wait_sweep(sweep)["counts"]["COMPLETED"] == 2


AGENT = """\
import sys
import sweepd.wandb as wandb

def main():
    with wandb.init(project="mine", config={"lr": 9.0, "epochs": 9}) as run:
        run.watch(None)
        for epoch in range(wandb.config.epochs):
            wandb.log({"loss": (run.config["lr"] - 0.3) ** 2 + 1 / (epoch + 1), "image": wandb.Image(None)})
        wandb.summary["test"] = 1

sweep_id = wandb.sweep({"method": sys.argv[1], "project": "mine", "parameters": {"lr": {"values": [0.1, 0.3, 0.5, 0.7]}},
                        **({} if sys.argv[1] == "grid" else {"metric": {"name": "loss", "goal": "minimize"},
                           "early_terminate": {"type": "hyperband", "min_iter": 3}})})
wandb.agent(sweep_id, main, count=2)
wandb.agent("me/mine/" + sweep_id, function=main, count=3)
"""


@pytest.mark.parametrize("method, made", [("bayes", 5), ("grid", 4)])
def test_agent_runs_a_function(user, daemon, tmp_path, method, made):
    subprocess.run([sys.executable, "-c", AGENT, method], cwd=tmp_path, check=True, timeout=DEADLINE,
                   env=environment(PYTHONPATH=PACKAGE, SWEEPD_SOCKET=daemon.socket))
    got = user.sweep(1)
    assert got["state"] == "COMPLETED" and sum(got["counts"].values()) == made, got
    assert got["counts"]["COMPLETED"] + got["counts"]["PRUNED"] == made
    assert all(row["step"] == 9 for row in user.trials(1, state="COMPLETED"))
    if method == "bayes":
        assert user.best(1)["value"] == pytest.approx((user.best(1)["params"]["lr"] - 0.3) ** 2 + 1 / 9)


AGENTS = """\
import multiprocessing, sys, warnings
import sweepd.wandb as wandb
warnings.simplefilter("ignore")
wandb.init(project="of the script itself")
counts = [int(word) for word in sys.argv[1:]]
sweep = wandb.sweep({"method": "random", "metric": {"name": "loss"}, "parameters": {"x": {"min": 0.0, "max": 1.0}}})
def train():
    run = wandb.init()
    assert run.sweep_id == sweep
    run.log({"loss": run.config.x})
agents = [multiprocessing.Process(target=wandb.agent, args=(sweep, train), kwargs={"count": count}) for count in counts]
for each in agents:
    each.start()
for each in agents:
    each.join()
sys.exit(max(each.exitcode for each in agents))
"""


@pytest.mark.parametrize("counts", [(4, 4, 4), (6, 1), (1, 1, 1, 1, 5)])
def test_counts_of_agents_at_once_add_up(user, daemon, tmp_path, counts):
    subprocess.run([sys.executable, "-c", AGENTS, *map(str, counts)], cwd=tmp_path, check=True, timeout=DEADLINE,
                   env=environment(PYTHONPATH=PACKAGE, SWEEPD_SOCKET=daemon.socket))
    got = user.sweep(1)
    assert (got["state"], got["counts"]["COMPLETED"], sum(got["counts"].values())) == ("COMPLETED", sum(counts), sum(counts))


def test_cap_that_a_person_sets_ends_an_agent(user, daemon, tmp_path):
    agent = subprocess.Popen([sys.executable, "-c", AGENTS, "100000"], cwd=tmp_path, stderr=subprocess.DEVNULL,
                             env=environment(PYTHONPATH=PACKAGE, SWEEPD_SOCKET=daemon.socket))

    def capped():
        made = sum(user.sweep(1)["counts"].values())
        with contextlib.suppress(sweepd.SweepdError):
            user.edit(1, run_cap=made + 2)
            return made
    wait_until(lambda: user.sweeps() and sum(user.sweep(1)["counts"].values()) > 3, "some trials")
    wait_until(capped, "a cap")
    assert agent.wait(DEADLINE) == 0
    assert user.sweep(1)["state"] == "COMPLETED" and user.sweep(1)["counts"]["COMPLETED"] == user.sweep(1)["run_cap"] < 1000


def test_agent_of_a_sweep_of_wandb_says_what_it_takes():
    import sweepd.wandb
    for name in ("a1b2c3d4", "me/mine/a1b2c3d4", ""):
        with pytest.raises(sweepd.wandb.Error, match="is no sweep of sweepd"):
            sweepd.wandb.agent(name)


NAMES = """\
import argparse, os
import sweepd.wandb as wandb
from sweepd.wandb import Table
run = wandb.init(config=argparse.Namespace(a=1, b=2), name="mine", group="g")
assert wandb.run is run and wandb.config == {"a": 1, "b": 2} and run.name == "mine" and run.group == "g"
wandb.config.c = 3
wandb.config.update({"b": 5}, allow_val_change=True)
wandb.config.setdefaults({"a": 9, "d": 4})
assert {**wandb.config} == {"a": 1, "b": 5, "c": 3, "d": 4} and wandb.config.get("e") is None
table = Table(columns=["x"])
table.add_data(1)
wandb.log({"table": table, "x": {"y": 1}}, step=3)
wandb.log({"z": 2})
assert wandb.summary["z"] == 2 and run.step == 4 and os.path.isdir(run.dir)
wandb.watch(None), wandb.save("x"), run.log_artifact(wandb.Artifact("n", type="t")), wandb.login()
assert wandb.init() is run
wandb.finish()
assert wandb.init() is not run
try:
    os.path.join(run.use_artifact("me/mine/words:latest").download(), "words.txt")
except wandb.Error as error:
    assert "put their folder's path into the config" in str(error), error
else:
    raise SystemExit("download")
for words in ("wandb.Api()", "__import__('sweepd.wandb.keras')"):
    try:
        eval(words)
    except NotImplementedError as error:
        assert "is not carried over" in str(error), error
    else:
        raise SystemExit(words)
print("good")
"""


def test_names_outside_of_a_sweep_report_nothing(tmp_path):
    done = subprocess.run([sys.executable, "-c", NAMES], cwd=tmp_path, check=False, timeout=DEADLINE, capture_output=True,
                          text=True, env=environment(PYTHONPATH=PACKAGE, SWEEPD_SOCKET="/nowhere"))
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr

"""python -m sweepd.importer: studies of Optuna, written by Optuna, and folders as Ray Tune writes them, become sweeps."""
import json
import os
import subprocess
import sys

import pytest

from harness import environment
from test_python import PACKAGE


def run(daemon, *args):
    done = subprocess.run([sys.executable, "-m", "sweepd.importer", *map(str, args)], capture_output=True, text=True,
                          env=environment(PYTHONPATH=PACKAGE, SWEEPD_SOCKET=daemon.socket))
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def optuna():
    """Not in Debian: where it is not installed the tests that need it are skipped, and counted."""
    it = pytest.importorskip("optuna")
    it.logging.set_verbosity(it.logging.ERROR)
    return it


def storage(optuna, kind, folder):
    """A storage of Optuna, and its file."""
    path = str(folder / f"study.{kind}")
    if kind == "db":
        return optuna.storages.RDBStorage(f"sqlite:///{path}"), path
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(path)), path


def fill(optuna, study):
    """Trials of every state. "momentum" is there where "opt" is "sgd"; one trial lacks what no value explains."""
    state, dist = optuna.trial.TrialState, optuna.distributions
    lr, units = dist.FloatDistribution(1e-4, 0.1, log=True), dist.IntDistribution(16, 128, step=16)
    drop, odd = dist.FloatDistribution(0.0, 0.5, step=0.1), dist.IntDistribution(1, 9, step=2)
    opt = dist.CategoricalDistribution(["sgd", "adam", None, True, 1.5])

    def add(word, lr_value, choice, *, momentum=None, width=0.95, steps=None, value=None, less=False):
        params = {"lr": lr_value, "units": 48, "drop": 0.30000000000000004, "odd": 5, "opt": choice}
        kinds = {"lr": lr, "units": units, "drop": drop, "odd": odd, "opt": opt}
        if momentum is not None:
            params["momentum"], kinds["momentum"] = momentum, dist.FloatDistribution(0.0, width)
        if less:
            params, kinds = {"lr": lr_value}, {"lr": lr}
        study.add_trial(optuna.trial.create_trial(state=word, params=params, distributions=kinds, value=value,
                                                  intermediate_values=steps or {}))

    add(state.COMPLETE, 0.01, "sgd", momentum=0.5, width=0.9, steps={1: 2.0, 0: 3.0}, value=2.0)
    add(state.COMPLETE, 0.02, "adam", steps={0: 2.5, 1: float("nan"), 2: 2.25}, value=1.5)
    add(state.PRUNED, 0.1, None, steps={0: 9.0})
    add(state.FAIL, 0.05, "adam", less=True)
    add(state.FAIL, 0.05, "adam")
    add(state.RUNNING, 0.03, "adam", steps={0: 1.0})
    add(state.COMPLETE, 0.0001, True, value=float("inf"))
    add(state.COMPLETE, 0.03, "sgd", momentum=0.1, value=1.25)


@pytest.mark.parametrize("kind", ["db", "log"])
def test_optuna_study_becomes_a_sweep(daemon, client, tmp_path, optuna, kind):
    at, file = storage(optuna, kind, tmp_path)
    fill(optuna, optuna.create_study(storage=at, study_name="demo"))
    status, out, err = run(daemon, "optuna", file)
    assert (status, out) == (0, "sweep 1: 3 COMPLETED, 1 PRUNED, 1 FAILED, 1 INFEASIBLE\n"), err
    assert "1 trials are left out: they had not ended" in err and "1 trials are left out: they lack" in err
    sweep = client.sweep(1)
    assert (sweep["state"], sweep["name"], sweep["metric"], sweep["goal"]) == ("COMPLETED", "demo", "value", "minimize")
    assert sweep["spec"]["parameters"] == {
        "lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 0.1},
        "units": {"distribution": "q_uniform", "min": 16, "max": 128, "q": 16},
        "drop": {"distribution": "q_uniform", "min": 0.0, "max": 0.5, "q": 0.1},
        "odd": {"distribution": "int_uniform", "min": 1, "max": 9},
        "opt": {"values": ["sgd", "adam", None, True, 1.5]},
        "momentum": {"distribution": "uniform", "min": 0.0, "max": 0.95, "when": {"opt": ["sgd"]}}}
    rows = client.trials(1)
    assert [r["state"] for r in rows] == ["COMPLETED", "COMPLETED", "PRUNED", "FAILED", "INFEASIBLE", "COMPLETED"]
    assert [r["value"] for r in rows[:3]] == [2.0, 1.5, 9.0]
    assert rows[0]["params"] == {"lr": 0.01, "units": 48, "drop": 0.3, "odd": 5, "opt": "sgd", "momentum": 0.5}
    assert [(r["step"], r["metrics"]["value"]) for r in client.reports(1, 1)] == [(1, 3.0), (2, 2.0)]
    assert [(r["step"], r["metrics"]["value"]) for r in client.reports(1, 2)] == [(1, 2.5), (3, 2.25), (4, 1.5)]


def test_optuna_layers_of_a_loop_wait_for_their_number(daemon, client, tmp_path, optuna):
    at, file = storage(optuna, "db", tmp_path)
    study = optuna.create_study(storage=at, sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda trial: sum(trial.suggest_int(f"units_l{i}", 4, 64)
                                     for i in range(trial.suggest_int("n_layers", 1, 3))), n_trials=20)
    status, out, err = run(daemon, "optuna", file)
    assert (status, out, err) == (0, "sweep 1: 20 COMPLETED, 0 PRUNED, 0 FAILED\n", "")
    parameters = client.sweep(1)["spec"]["parameters"]
    assert sorted(parameters["units_l1"]["when"]["n_layers"]) == [2, 3]
    assert parameters["units_l2"]["when"] == {"n_layers": [3]} and "when" not in parameters["units_l0"]


def test_optuna_study_of_a_search_teaches_another(daemon, client, tmp_path, optuna):
    """What optimize() left, more trials than are played at once; its URL and a name that a spec does not allow."""
    at, file = storage(optuna, "db", tmp_path)
    study = optuna.create_study(storage=at, direction="maximize", sampler=optuna.samplers.RandomSampler(1))
    study.optimize(lambda trial: -trial.suggest_float("learning rate", 0, 1) ** 2, n_trials=130)
    status, out, err = run(daemon, "optuna", f"sqlite:///{file}", "--metric", "accuracy")
    assert (status, out) == (0, "sweep 1: 130 COMPLETED, 0 PRUNED, 0 FAILED\n"), err
    assert [t["value"] for t in client.trials(1)] == pytest.approx([t.value for t in study.trials])
    warm = client.submit({"method": "tpe", "metric": {"name": "accuracy", "goal": "maximize"}, "warm_start": [1],
                          "parameters": client.sweep(1)["spec"]["parameters"], "run_cap": 2})
    client.ask(warm)
    assert client.call("trial.why", sweep=warm, trial=1)["suggestion"]["earlier"] == [{"sweep": 1, "results": 130}]
    fine = client.submit({"name": "fine", "refine": {"of": 1, "top": 3}})
    values = [t["params"]["learning_rate"] for t in sorted(client.trials(1), key=lambda t: -t["value"])[:3]]
    body = client.sweep(fine)["spec"]["parameters"]["learning_rate"]
    assert (body["min"], body["max"]) == (min(values), max(values))


@pytest.mark.parametrize("kind", ["db", "log"])
def test_optuna_study_of_several_objectives_is_named(daemon, client, tmp_path, optuna, kind):
    at, file = storage(optuna, kind, tmp_path)
    optuna.create_study(storage=at, study_name="one")
    two = optuna.create_study(storage=at, study_name="two", directions=["minimize", "maximize"])
    two.set_metric_names(["loss", "acc"])
    x = optuna.distributions.FloatDistribution(0, 1)
    for values in ([0.5, 0.75], [0.25, 0.5]):
        two.add_trial(optuna.trial.create_trial(params={"x": values[0]}, distributions={"x": x}, values=values))
    status, _, err = run(daemon, "optuna", file)
    assert status == 1 and "several studies are in it, name one after the file: one, two" in err
    status, out, err = run(daemon, "optuna", file, "two")
    assert (status, out, err) == (0, "sweep 1: 2 COMPLETED, 0 PRUNED, 0 FAILED\n", "")
    assert [t["metrics"] for t in client.trials(1)] == [{"loss": 0.5, "acc": 0.75}, {"loss": 0.25, "acc": 0.5}]
    assert client.sweep(1)["spec"]["metrics"][1] == {"name": "acc", "goal": "maximize"}
    assert len(client.call("sweep.best", sweep=1)["trials"]) == 2


def test_optuna_file_that_is_wrong_is_one_line(daemon, client, tmp_path, optuna):
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "j.log").write_text('{"op_code": 0, "study_name": "s", "directions": [1]}\n{"op_code": 4,}\n{}\n')
    (tmp_path / "nothing").write_text("")
    at, _ = storage(optuna, "db", tmp_path)
    optuna.create_study(storage=at, study_name="s").ask()
    for args, line in (
            ([tmp_path / "no"], "No such file"), ([tmp_path / "text"], "Optuna cannot read it"),
            ([tmp_path / "nothing"], "Optuna cannot read it"), ([tmp_path / "j.log"], "Optuna cannot read it"),
            ([tmp_path / "study.db"], "no trial in it has ended"),
            ([tmp_path / "study.db", "t"], "there is no study 't' in it: s")):
        status, out, err = run(daemon, "optuna", *args)
        assert status == 1 and out == "" and line in err and err.count("\n") == 1, (args, err)
    assert client.call("sweep.list")["sweeps"] == [] and os.path.getsize(tmp_path / "nothing") == 0


def ray_folder(folder, *, states=True):
    """An experiment's folder: Python's JSON, trials as JSON in strings. A dying writer left each last line."""
    os.makedirs(folder)
    rows = []
    for i in range(4):
        name = f"f_ab12_0000{i}_{i}_lr=0.1_2026-01-01_00-00-00"
        os.makedirs(os.path.join(folder, name))
        config = {"lr": 10.0 ** -i, "units": 2 ** i, "opt": {"name": "sgd" if i % 2 else "adam"}, "fixed": 7,
                  "sizes": [i, 1], "objects": [{"a": i}], "const": [1, 2],
                  "depth": [3, 5, 7, None][i]}
        status = ["TERMINATED", "TERMINATED", "ERROR", "RUNNING"][i]
        rows.append(json.dumps({"trial_id": f"ab12_0000{i}", "status": status, "config": config}))
        with open(os.path.join(folder, name, "params.json"), "w", encoding="utf-8") as f:
            json.dump(config, f)
        with open(os.path.join(folder, name, "result.json"), "w", encoding="utf-8") as f:
            for step in (1, 2, 1, 2, 3):  # it was restarted after 2
                f.write(json.dumps({"loss": i + 1 / step, "val": {"acc": step / 4}, "bad": float("nan"), "pid": 7,
                                    "done": False, "training_iteration": step, "trial_id": f"ab12_0000{i}",
                                    "config": config}) + "\n")
            f.write('{"loss": 0.')
    if states:
        for when, trials in (("00-00", []), ("00-01", [[row, "{}"] for row in rows])):
            with open(os.path.join(folder, f"experiment_state-2026-01-01_{when}.json"), "w", encoding="utf-8") as f:
                json.dump({"trial_data": trials, "runner_data": {"_metric": "loss"}}, f)


def test_ray_experiment_becomes_a_sweep(daemon, client, tmp_path):
    ray_folder(tmp_path / "exp")
    status, out, err = run(daemon, "ray", tmp_path / "exp", "--goal", "minimize")
    assert (status, out) == (0, "sweep 1: 2 COMPLETED, 0 PRUNED, 1 FAILED\n"), err
    sweep = client.sweep(1)
    assert (sweep["name"], sweep["metric"], sweep["goal"]) == ("exp", "loss", "minimize")
    assert sweep["spec"]["parameters"] == {
        "lr": {"distribution": "log_uniform_values", "min": 0.01, "max": 1.0},
        "units": {"distribution": "int_uniform", "min": 1, "max": 4}, "opt.name": {"values": ["adam", "sgd"]},
        "fixed": {"value": 7}, "sizes": {"values": [[0, 1], [1, 1], [2, 1]]}, "const": {"value": [1, 2]},
        "depth": {"distribution": "int_uniform", "min": 3, "max": 7}}
    assert [(r["step"], r["metrics"]) for r in client.reports(1, 2)] == [
        (s, {"loss": 1 + 1 / s, "val/acc": s / 4}) for s in (1, 2, 3)]
    bayes = client.submit({"method": "bayes", "metric": {"name": "loss"}, "warm_start": [1], "run_cap": 1,
                           "parameters": {"lr": {"min": 0.001, "max": 1.0}, "opt": {
                               "parameters": {"name": {"values": ["adam", "sgd"]}}}}})
    assert client.sweep(bayes)["state"] == "RUNNING"


def test_ray_folder_without_its_state_needs_the_metric(daemon, client, tmp_path):
    ray_folder(tmp_path / "exp", states=False)
    status, _, err = run(daemon, "ray", tmp_path / "exp", "--goal", "maximize")
    assert status == 1 and "--metric says which of these is compared: loss, val/acc" in err
    status, out, _ = run(daemon, "ray", tmp_path / "exp", "--goal", "maximize", "--metric", "val/acc")
    assert (status, out) == (0, "sweep 1: 4 COMPLETED, 0 PRUNED, 0 FAILED\n")
    assert client.sweep(1)["best"]["value"] == 0.75
    assert client.sweep(1)["spec"]["parameters"]["depth"] == {"values": [3, 5, 7, None]}  # numbers, and one that is none


def test_import_counts_what_it_made(daemon, client, tmp_path):
    """Not what the source calls its trials: one that was killed before its first result is no TERMINATED one."""
    for name, text in (("t1", '{"loss": 0.5, "training_iteration": 1}\n'), ("t2", ""), ("t3", '{"loss": NaN, "training_iteration": 1}\n')):
        os.makedirs(tmp_path / "exp" / name)
        (tmp_path / "exp" / name / "params.json").write_text('{"lr": 0.%s}' % name[1])
        (tmp_path / "exp" / name / "result.json").write_text(text)
    status, out, err = run(daemon, "ray", tmp_path / "exp", "--goal", "minimize", "--metric", "loss")
    assert (status, err) == (0, ""), err
    made = client.sweep(1)["counts"]
    assert out == f"sweep 1: {made['COMPLETED']} COMPLETED, 0 PRUNED, {made['FAILED']} FAILED\n" and made["COMPLETED"] == 1


def test_ray_run_of_ray_becomes_a_sweep(daemon, client, tmp_path):
    """By the real Ray where it is installed: its files are what the folder above says."""
    pytest.importorskip("ray.tune")
    script = tmp_path / "run.py"
    script.write_text("""
import sys
from ray import tune
def train(config):
    for i in range(3):
        tune.report({"loss": config["lr"] + config["opt"]["wd"] + 1 / (i + 1)})
    if config["n"] == 2:
        raise ValueError("no")
tune.Tuner(train, param_space={"lr": tune.uniform(0.1, 0.2), "n": tune.grid_search([1, 2, 3]), "opt": {"wd": 0.5}},
           tune_config=tune.TuneConfig(metric="loss", mode="min", max_concurrent_trials=1),
           run_config=tune.RunConfig(name="exp", storage_path=sys.argv[1], verbose=0)).fit()
""")
    subprocess.run([sys.executable, script, tmp_path], env=environment(RAY_USAGE_STATS_ENABLED="0"), check=True,
                   capture_output=True)
    status, out, err = run(daemon, "ray", tmp_path / "exp", "--goal", "minimize")
    assert (status, out, err) == (0, "sweep 1: 2 COMPLETED, 0 PRUNED, 1 FAILED\n", "")
    assert client.sweep(1)["metric"] == "loss"
    space = client.sweep(1)["spec"]["parameters"]
    assert space["n"] == {"distribution": "int_uniform", "min": 1, "max": 3} and space["opt.wd"] == {"value": 0.5}
    assert [r["step"] for r in client.reports(1, 1)] == [1, 2, 3]


def test_ray_folder_that_is_wrong_is_one_line(daemon, client, tmp_path):
    (tmp_path / "empty").mkdir()
    ray_folder(tmp_path / "broken", states=False)
    name = min(entry for entry in os.listdir(tmp_path / "broken"))
    (tmp_path / "broken" / name / "result.json").write_text('{"loss": 1,}\n')
    ray_folder(tmp_path / "large", states=False)
    (tmp_path / "large" / name / "params.json").write_text('{"lr": "%s"}' % ("x" * (1 << 20)))
    odd = [("experiment_state-1.json", b'{"trial_data": [5]}'), ("experiment_state-1.json", b'{"trial_data": [["{}"]]}'),
           (f"{name}/params.json", b"\xff"), (f"{name}/params.json", b'{"a":' * 5000),
           (f"{name}/result.json", b'{"training_iteration": 1, "loss": %s}\n' % (b"9" * 400)),
           (f"{name}/result.json", b"[" * 3000 + b"\n")]
    for i, (file, content) in enumerate(odd):
        ray_folder(tmp_path / f"odd{i}", states=False)
        (tmp_path / f"odd{i}" / file).write_bytes(content)
    for args, status, line in (
            *(([tmp_path / f"odd{i}", "--goal", "minimize", "--metric", "loss"], 1, "not as ray writes it")
              for i in range(len(odd))),
            ([tmp_path / "empty"], 2, "--goal"), ([tmp_path / "no", "--goal", "minimize"], 1, "No such file"),
            ([tmp_path / "empty", "--goal", "minimize"], 1, "there is no trial of Ray Tune in it"),
            ([tmp_path / "broken", "--goal", "minimize"], 1, f"{name}/result.json:1: "),
            ([tmp_path / "large", "--goal", "minimize"], 1, "params.json: more than 1 MiB")):
        got, out, err = run(daemon, "ray", *args)
        assert got == status and out == "" and line in err and (status == 2 or err.count("\n") == 1), (args, err)
    assert client.call("sweep.list")["sweeps"] == []

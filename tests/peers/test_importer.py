"""python -m sweepd.importer: studies of Optuna, written by Optuna, become sweeps. Folders of Ray Tune:
tests/e2e/test_import.py."""
import os

import pytest

optuna = pytest.importorskip("optuna", reason="Optuna cannot be installed here")

from harness import Daemon  # noqa: E402
from test_import import run  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture(name="daemon")
def own_daemon(tmp_path):
    """Whose first sweep is the one that is made."""
    daemon = Daemon(tmp_path).start()
    yield daemon
    daemon.stop()


@pytest.fixture
def client(daemon):
    return daemon.client()


def storage(kind, folder):
    """A storage of Optuna, and its file."""
    path = str(folder / f"study.{kind}")
    if kind == "db":
        return optuna.storages.RDBStorage(f"sqlite:///{path}"), path
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(path)), path


def fill(study):
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
def test_study_becomes_a_sweep(daemon, client, tmp_path, kind):
    at, file = storage(kind, tmp_path)
    fill(optuna.create_study(storage=at, study_name="demo"))
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


def test_layers_of_a_loop_wait_for_their_number(daemon, client, tmp_path):
    at, file = storage("db", tmp_path)
    study = optuna.create_study(storage=at, sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda trial: sum(trial.suggest_int(f"units_l{i}", 4, 64)
                                     for i in range(trial.suggest_int("n_layers", 1, 3))), n_trials=20)
    status, out, err = run(daemon, "optuna", file)
    assert (status, out, err) == (0, "sweep 1: 20 COMPLETED, 0 PRUNED, 0 FAILED\n", "")
    parameters = client.sweep(1)["spec"]["parameters"]
    assert sorted(parameters["units_l1"]["when"]["n_layers"]) == [2, 3]
    assert parameters["units_l2"]["when"] == {"n_layers": [3]} and "when" not in parameters["units_l0"]


def test_study_of_a_search_teaches_another(daemon, client, tmp_path):
    """What optimize() left, more trials than are played at once; its URL and a name that a spec does not allow."""
    at, file = storage("db", tmp_path)
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
def test_study_of_several_objectives_is_named(daemon, client, tmp_path, kind):
    at, file = storage(kind, tmp_path)
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


def test_file_that_is_wrong_is_one_line(daemon, client, tmp_path):
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "j.log").write_text('{"op_code": 0, "study_name": "s", "directions": [1]}\n{"op_code": 4,}\n{}\n')
    (tmp_path / "nothing").write_text("")
    at, _ = storage("db", tmp_path)
    optuna.create_study(storage=at, study_name="s").ask()
    for args, line in (
            ([tmp_path / "no"], "No such file"), ([tmp_path / "text"], "Optuna cannot read it"),
            ([tmp_path / "nothing"], "Optuna cannot read it"), ([tmp_path / "j.log"], "Optuna cannot read it"),
            ([tmp_path / "study.db"], "no trial in it has ended"),
            ([tmp_path / "study.db", "t"], "there is no study 't' in it: s")):
        status, out, err = run(daemon, "optuna", *args)
        assert status == 1 and out == "" and line in err and err.count("\n") == 1, (args, err)
    assert client.call("sweep.list")["sweeps"] == [] and os.path.getsize(tmp_path / "nothing") == 0

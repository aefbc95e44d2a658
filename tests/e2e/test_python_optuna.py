"""sweepd.optuna where Optuna is not installed: the tutorial's names, define-by-run, and what the sweep has in the end.

With Optuna: tests/peers/test_optuna.py.
"""
import math
import sys
from unittest import mock

import pytest

from test_python import sweepd, user  # noqa: F401

with mock.patch.dict(sys.modules, {"optuna": None}):
    import sweepd.optuna as optuna  # noqa: E402
from sweepd.optuna.trial import TrialState  # noqa: E402


@pytest.fixture(autouse=True)
def quiet(daemon, monkeypatch):
    monkeypatch.setenv("SWEEPD_SOCKET", daemon.socket)
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def same_trials(user, study):
    """The study's last sweep has every trial that taught something, with its params and values."""
    assert user.sweep(study.sweep)["state"] == "COMPLETED"
    rows = [row for row in user.trials(study.sweep) if row["state"] != "FAILED"]
    mine = [trial for trial in study.trials if trial.state != TrialState.FAIL]
    key = lambda params: sorted(params.items())  # noqa: E731
    assert sorted(key(row["params"]) for row in rows) == sorted(key(trial.params) for trial in mine)
    done = [trial for trial in mine if trial.state == TrialState.COMPLETE]
    by_params = {str(key(row["params"])): row for row in rows}
    for trial in done:
        row = by_params[str(key(trial.params))]
        assert (row["state"], row["value"]) == ("COMPLETED", trial.value)


def test_study_of_a_plain_function_finds_its_minimum(user):
    def objective(trial):
        x = trial.suggest_float("x", -10, 10)
        n = trial.suggest_int("n", 1, 64, log=True)
        step = trial.suggest_int("odd", 1, 9, step=2)
        wide = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
        kind = trial.suggest_categorical("kind", ["a", None, ("t", 1)])
        assert -10 <= x < 10 and 1 <= n <= 64 and step in (1, 3, 5, 7, 9) and 1e-5 <= wide <= 1e-1
        assert kind in ("a", None, ("t", 1)) and trial.suggest_float("x", -10, 10) == x
        return (x - 2) ** 2

    study = optuna.create_study(study_name="plain", sampler=optuna.samplers.TPESampler(seed=3))
    study.optimize(objective, n_trials=20)
    study.optimize(objective, n_trials=5)
    assert [trial.number for trial in study.trials] == list(range(25))
    assert study.best_value == min(trial.value for trial in study.trials) == study.best_trial.value
    assert study.best_value == (study.best_params["x"] - 2) ** 2
    assert user.sweep(study.sweep)["name"] == "plain" and len(user.sweeps()) == 1
    got = user.sweep(study.sweep)
    assert (got["state"], got["counts"]["COMPLETED"], got["run_cap"]) == ("COMPLETED", 25, 25)


@pytest.mark.parametrize("low, high, step, last", [(0.0, 0.6, 0.1, 0.6), (0.1, 0.7, 0.2, 0.7), (0.05, 0.35, 0.05, 0.35),
                                                   (0.0, 0.65, 0.1, 0.6), (0.1, 0.7, 0.25, 0.6), (-0.3, 0.3, 0.1, 0.3)])
def test_study_tries_every_value_of_a_stepped_range(user, low, high, step, last):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(lambda trial: (trial.suggest_float("x", low, high, step=step) - last) ** 2, n_trials=40)
    values = {min(low + i * step, last) for i in range(round((last - low) / step) + 1)}
    assert {trial.params["x"] for trial in study.trials} == values and study.best_params == {"x": last}
    assert user.sweep(study.sweep)["counts"]["COMPLETED"] == 40


def test_study_of_objects_that_equal_nothing_else(user):
    class Layer:
        pass

    choices = [Layer(), Layer()]
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(lambda trial: 1.0 + trial.suggest_float("x", 0, 1) if trial.suggest_categorical("layer", choices) is
                   choices[0] else 0.0, n_trials=15)
    assert {trial.params["layer"] is choices[0] for trial in study.trials} == {True, False}
    assert user.sweep(study.sweep)["counts"]["COMPLETED"] == 15 and user.best(study.sweep)["value"] == 0.0
    rows = user.trials(study.sweep)
    assert all((row["value"] >= 1) == (row["params"]["layer"][0] == "0") == ("x" in row["params"]) for row in rows)


def test_study_counts_no_returned_value_as_a_step(user):
    def objective(trial):
        trial.suggest_float("x", 0, 1)
        for epoch in range(3 if trial.number == 0 else 6):
            trial.report(1.0 if trial.number == 0 else 0.5, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned()
        return 0.1

    study = optuna.create_study(pruner=optuna.pruners.MedianPruner(n_startup_trials=1))
    study.optimize(objective, n_trials=4)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 4


def test_study_prunes_and_steps_count_from_0(user):
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        for step in range(10):
            trial.report(x + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned()
        return x

    study = optuna.create_study(pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=2),
                                sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(objective, n_trials=25)
    pruned = study.get_trials(states=[TrialState.PRUNED])
    assert pruned and {min(trial.last_step for trial in pruned)} == {2}
    assert all(trial.value == trial.intermediate_values[trial.last_step] for trial in pruned)
    same_trials(user, study)
    assert user.sweep(study.sweep)["counts"]["PRUNED"] == len(pruned)


@pytest.mark.parametrize("pruner, first", [
    (optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3), 1),
    (optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9, reduction_factor=3), 1),
    (optuna.pruners.ThresholdPruner(upper=1.2), 0)])
def test_study_with_each_pruner_prunes_no_earlier_than_it_may(user, pruner, first):
    def objective(trial):
        x = trial.suggest_float("x", 0, 2)
        for step in range(9):
            trial.report(x, step)
            if trial.should_prune():
                raise optuna.TrialPruned()
        return x

    study = optuna.create_study(pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=2))
    study.optimize(objective, n_trials=20)
    steps = {trial.last_step for trial in study.get_trials(states=[TrialState.PRUNED])}
    assert steps and min(steps) == first


def test_study_with_branches_goes_on_in_a_wider_sweep_with_its_history(user):
    def objective(trial):
        kind = trial.suggest_categorical("classifier", ["svc", "forest", "knn"])
        if kind == "svc":
            return trial.suggest_float("c", 1e-3, 1e3, log=True)
        if kind == "forest":
            return 2 + trial.suggest_int("depth", 2, 32)
        return 50 + trial.suggest_int("k", 1, 5)

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=5))
    study.optimize(objective, n_trials=40)
    same_trials(user, study)
    parameters = user.sweep(study.sweep)["spec"]["parameters"]
    assert parameters["c"]["when"] == {"classifier": ["svc"]} and parameters["depth"]["when"] == {"classifier": ["forest"]}
    assert 2 <= len(user.sweeps()) <= 4
    kinds = [trial.params["classifier"] for trial in study.trials[20:]]
    assert kinds.count("svc") > 10  # it has learnt from what it was told


def test_condition_under_a_condition_is_found(user):
    def objective(trial):
        if trial.suggest_categorical("kind", ["net", "tree"]) == "tree":
            return 1
        layers = trial.suggest_int("layers", 1, 2)
        return sum(trial.suggest_int(f"units{i}", 4, 8) for i in range(layers))

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=5))
    study.optimize(objective, n_trials=25)
    same_trials(user, study)
    whens = {name: body.get("when") for name, body in user.sweep(study.sweep)["spec"]["parameters"].items()}
    assert whens["layers"] == {"kind": ["net"]} and whens["units1"] == {"layers": [2]}


def test_study_whose_ranges_and_layers_change_from_trial_to_trial(user):
    def objective(trial):
        n = trial.suggest_int("n_layers", 1, 3)
        units = [trial.suggest_int(f"units l{i}", 4, 16 * (1 + trial.number % 2)) for i in range(n)]
        assert all(4 <= unit <= 16 * (1 + trial.number % 2) for unit in units)
        return sum(units)

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=5))
    study.optimize(objective, n_trials=30)
    assert len(study.trials) == 30 and study.best_value == sum(study.best_params.values()) - study.best_params["n_layers"]
    assert len(user.sweeps()) <= 6
    rows = user.trials(study.sweep)
    done = [row for row in rows if row["state"] == "COMPLETED"]
    assert sorted(row["value"] for row in done) == sorted(trial.value for trial in study.trials)
    assert all(row["value"] == sum(row["params"].values()) - row["params"]["n_layers"] for row in done)


def test_studies_without_a_name_of_one_moment_are_two(user):
    studies = [optuna.create_study() for _ in range(2)]
    for study in studies:
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    names = {user.sweep(study.sweep)["name"] for study in studies}
    assert len(names) == 2 and all(name.startswith("no-name-") for name in names)  # as Optuna's


def test_study_of_trials_that_fail(user):
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.number == 1:
            raise ValueError("no")
        return {2: math.nan, 3: None, 4: "low"}.get(trial.number, x)

    study = optuna.create_study()
    study.optimize(objective, n_trials=6, catch=(ValueError,))
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "FAIL", "FAIL", "FAIL", "FAIL", "COMPLETE"]
    assert "ValueError: no" in [row["cause"] for row in user.trials(study.sweep)]
    with pytest.raises(ZeroDivisionError):
        study.optimize(lambda trial: 1 / 0 * trial.suggest_float("x", 0, 1), n_trials=3)
    assert len(study.trials) == 7 and user.sweep(study.sweep)["state"] == "COMPLETED"


def test_study_takes_enqueued_trials(user):
    def objective(trial):
        trial.set_user_attr("seen", True)
        return trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 0, 3)

    study = optuna.create_study()
    study.enqueue_trial({"x": 0.25, "n": 2})
    study.optimize(objective, n_trials=3)
    study.enqueue_trial({"x": 0.5})
    study.enqueue_trial({"x": 7.0})
    study.optimize(objective, n_trials=3)
    assert study.trials[0].params == {"x": 0.25, "n": 2} and study.trials[0].user_attrs == {"seen": True}
    assert study.trials[3].params["x"] == 0.5 and study.trials[4].params["x"] == 7.0
    assert not [row for row in user.trials(study.sweep) if row["params"]["x"] > 1]


def test_study_of_two_objectives_has_a_front(user):
    study = optuna.create_study(directions=["minimize", "maximize"])
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)), n_trials=20)
    front = study.best_trials
    assert front and all(not (other.values[0] <= trial.values[0] and other.values[1] >= trial.values[1])
                         for trial in front for other in study.trials if other is not trial)
    assert {row["params"]["x"] for row in user.bests(study.sweep)} == {trial.params["x"] for trial in front}
    with pytest.raises(RuntimeError, match="best_trials"):
        study.best_trial  # noqa: B018


@pytest.mark.parametrize("sampler", ["RandomSampler", "GPSampler", "QMCSampler"])
def test_study_with_each_sampler(user, sampler):
    study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=1), direction="maximize")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=8)
    assert study.best_value == max(trial.value for trial in study.trials)
    same_trials(user, study)


def test_study_by_ask_and_tell(user):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(lambda trial: trial.suggest_float(trial.suggest_categorical("of", ["x", "y"]), 0, 1), n_trials=24)
    assert sorted(trial.number for trial in study.trials) == list(range(24))
    same_trials(user, study)
    trial = study.ask()
    x = trial.suggest_float(trial.suggest_categorical("of", ["x", "y"]), 0, 1)
    assert study.tell(trial, x).value == x and study.trials[24].state == TrialState.COMPLETE
    study.tell(study.ask(), state=TrialState.FAIL)
    assert study.trials[-1].state == TrialState.FAIL


def test_study_stops_by_callback_timeout_and_cancel(user):
    def objective(trial):
        return trial.suggest_float("x", 0, 1)

    study = optuna.create_study()
    study.optimize(objective, callbacks=[lambda study, trial: study.stop() if trial.number == 3 else None])
    assert len(study.trials) == 4
    study.optimize(objective, timeout=0.01)
    here = len(study.trials)

    def cancel(study, trial):
        if trial.number == here + 3:
            user.cancel(study.sweep)

    study.optimize(objective, n_trials=50, callbacks=[cancel])
    assert len(study.trials) == here + 5  # the one that met it ran


def test_what_needs_optuna_itself_says_so():
    for get in (lambda: optuna.visualization, lambda: optuna.samplers.CmaEsSampler, lambda: optuna.load_study,
                lambda: optuna.pruners.WilcoxonPruner, lambda: optuna.samplers.BaseSampler(),
                lambda: optuna.create_study(storage="sqlite:///x.db")):
        with pytest.raises(NotImplementedError, match="pip install optuna"):
            get()
    with pytest.raises(ImportError, match="pip install optuna"):
        import sweepd.optuna.integration.lightgbm  # noqa: F401
    with pytest.raises(NotImplementedError, match="pip install optuna"):
        from sweepd.optuna.pruners import PatientPruner  # noqa: F401

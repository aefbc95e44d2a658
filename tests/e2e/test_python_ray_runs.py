"""sweepd.ray: what a run tells of, where it keeps things, how it is interrupted and goes on, and the names it lacks."""
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import types

import pytest

from harness import DEADLINE, environment, sweep_command, wait_until
from test_python import PACKAGE, user  # noqa: F401
from test_python_ray import Counter, quiet_run, two_cores  # noqa: F401

import sweepd.ray as ray
from sweepd.ray import tune
from sweepd.ray.schedulers import ASHAScheduler, PopulationBasedTraining
from sweepd.ray.tune.logger import LoggerCallback
from sweepd.ray.tune.result import SHOULD_CHECKPOINT
from sweepd.ray.tune.schedulers.hb_bohb import HyperBandForBOHB
from sweepd.ray.tune.schedulers.pb2 import PB2
from sweepd.ray.tune.search.optuna import OptunaSearch
from sweepd.ray.tune.stopper import (CombinedStopper, ExperimentPlateauStopper, FunctionStopper, MaximumIterationStopper,
                                     TimeoutStopper, TrialPlateauStopper)
from sweepd.ray.tune.utils import validate_save_restore


def steps(config):
    """Reports until it is stopped, or to step 6; every other report has a checkpoint."""
    i = tune.get_checkpoint().to_dict()["i"] if tune.get_checkpoint() else 0
    for i in range(i + 1, config.get("n", 6) + 1):
        tune.report({"loss": config["x"] / i}, checkpoint=tune.Checkpoint.from_dict({"i": i}) if i % 2 == 0 else None)


class Heard(LoggerCallback):
    """What a logger is told of, by trial."""

    def __init__(self):
        self.events = []

    def setup(self, **info):
        self.events.append("setup")

    def log_trial_start(self, trial):
        self.events.append((trial.trial_id, "start"))

    def log_trial_result(self, iteration, trial, result):
        assert result["training_iteration"] == len(trial.results) and result["trial_id"] == trial.trial_id
        self.events.append((trial.trial_id, result["training_iteration"]))

    def log_trial_save(self, trial):
        self.events.append((trial.trial_id, f"save {trial.checkpoint.to_dict()['i']}"))

    def log_trial_end(self, trial, failed=False):
        self.events.append((trial.trial_id, "failed" if failed else "end"))

    def on_experiment_end(self, trials, **info):
        self.events.append(len(trials))


def test_logger_is_told_of_everything_in_order(user):
    def fn(config):
        steps({"x": 1, "n": 3})
        if config["bad"]:
            raise ValueError("bad luck")

    heard = Heard()
    grid = tune.Tuner(fn, param_space={"bad": tune.grid_search([False, True])},
                      run_config=tune.RunConfig(callbacks=[heard], verbose=0)).fit()
    assert heard.events[0] == "setup" and heard.events[-1] == 2
    for result in grid:
        mine = [event[1] for event in heard.events[1:-1] if event[0] == result.trial_id]
        assert mine == ["start", 1, 2, "save 2", 3, "failed" if result.config["bad"] else "end"]


def test_callback_asks_a_trainable_for_a_checkpoint(user):
    class Second(tune.Callback):
        def on_trial_result(self, iteration, trials, trial, result, **info):
            if result["training_iteration"] == 2:
                result[SHOULD_CHECKPOINT] = True

    result = quiet_run(Counter, config={"start": 0}, callbacks=[Second()], stop=MaximumIterationStopper(4))
    assert [step for step, _ in result.trials[0].checkpoints] == [2] and result.best_checkpoint.to_dict() == {"x": 2}


def test_stopper_is_one_for_all_trials_and_may_end_the_run(user):
    class Third(tune.Stopper):
        seen = 0

        def __call__(self, trial_id, result):
            self.seen += 1
            return result["training_iteration"] == 3

        def stop_all(self):
            return self.seen >= 9

    stop = Third()
    grid = tune.Tuner(steps, param_space={"x": tune.uniform(0, 1)}, run_config=tune.RunConfig(stop=stop, verbose=0),
                      tune_config=tune.TuneConfig("loss", "min", num_samples=50, max_concurrent_trials=1)).fit()
    assert [len(result.results) for result in grid] == [3, 3, 3] and stop.seen == 9 and not grid.errors


@pytest.mark.parametrize("stop, reports", [
    (TrialPlateauStopper("loss", std=0.01), 13),  # 1/9 to 1/12 deviate by 0.0104, 1/10 to 1/13 by 0.0087
    (TrialPlateauStopper("loss", std=0.01, metric_threshold=0.05, mode="min"), 20),
    (TrialPlateauStopper("loss", std=0.01, grace_period=30), 30),
    (CombinedStopper(TrialPlateauStopper("loss", std=1e-9), MaximumIterationStopper(5)), 5),
    (FunctionStopper(lambda trial, result: result["loss"] < 0.3), 4),
    (CombinedStopper(MaximumIterationStopper(7), FunctionStopper(lambda trial, result: False)), 7),
    (lambda trial, result: result["loss"] <= 0.25, 4),
    ({"training_iteration": 5}, 5),
])
def test_stopper_of_rays_ends_a_trial(user, stop, reports):
    result = quiet_run(steps, config={"x": 1, "n": 40}, stop=stop, num_samples=2)
    assert [(len(trial.results), trial.state) for trial in result.trials] == [(reports, "COMPLETED")] * 2


@pytest.mark.parametrize("stop", [TimeoutStopper(0), ExperimentPlateauStopper("loss", top=2), ExperimentPlateauStopper("loss", std=0.5, top=3, patience=1),
                                  CombinedStopper(MaximumIterationStopper(30), TimeoutStopper(0))])
def test_stopper_of_rays_ends_the_run(user, stop):
    result = quiet_run(lambda config: [tune.report({"loss": 1}) for _ in range(20)], config={"x": 1}, stop=stop, num_samples=500)
    assert 1 <= len(result.trials) <= 4 and user.sweep(1)["state"] == "CANCELLED"


@pytest.mark.parametrize("order, kept", [("max", [3, 5, 6]), ("min", [1, 4, 6]), (None, [3, 5, 6])])
def test_best_checkpoints_by_a_score_are_kept(user, order, kept):
    def fn(config):
        for i, score in enumerate([1, 2, 9, 0, 8, 5], 1):
            tune.report({"score": score, "loss": 1.0}, checkpoint=tune.Checkpoint.from_dict({"i": i}))

    config = tune.CheckpointConfig(num_to_keep=2, checkpoint_score_attribute="score", checkpoint_score_order=order)
    result, = tune.Tuner(fn, param_space={"x": 1}, tune_config=tune.TuneConfig("score", "max" if order != "min" else "min"),
                         run_config=tune.RunConfig(checkpoint_config=config, verbose=0)).fit()
    assert [checkpoint.to_dict()["i"] for checkpoint, _ in result.best_checkpoints] == kept


def test_population_ends_where_stop_says(user):
    def fn(config):
        i = tune.get_checkpoint().to_dict()["i"] if tune.get_checkpoint() else 0
        while True:
            i += 1
            tune.report({"loss": config["x"]}, checkpoint=tune.Checkpoint.from_dict({"i": i}))

    result = quiet_run(fn, config={"x": tune.uniform(0, 1)}, num_samples=4, metric="loss", mode="min", stop={"training_iteration": 8},
                       scheduler=PopulationBasedTraining(time_attr="training_iteration", perturbation_interval=4,
                                                         hyperparam_mutations={"x": tune.uniform(0, 1)}))
    ends = [trial.last_result["training_iteration"] for trial in result.trials if trial.results]
    assert max(ends) == 8 and ends.count(8) == 4 and all(end in (4, 8) for end in ends), ends


def test_population_ends_with_a_result_that_is_done(user):
    class Four(tune.Trainable):
        i = 0

        def step(self):
            self.i += 1
            return {"loss": self.config["x"] + 1 / self.i, "done": self.i >= 4}

        def save_checkpoint(self, folder):
            return {"i": self.i}

        def load_checkpoint(self, kept):
            self.i = kept["i"]

    result = quiet_run(Four, config={"x": tune.uniform(0, 1)}, num_samples=4, metric="loss", mode="min", time_budget_s=30,
                       scheduler=PopulationBasedTraining(time_attr="training_iteration", perturbation_interval=1,
                                                         hyperparam_mutations={"x": tune.uniform(0, 1)}))
    ends = [trial.last_result["training_iteration"] for trial in result.trials if trial.results]
    assert max(ends) == 4 and ends.count(4) == 4 and user.sweep(result.sweep)["state"] == "COMPLETED", ends


@pytest.mark.parametrize("how, begins", [("resume_errored", 3), ("restart_errored", 1)])
def test_restored_run_has_results_and_runs_what_failed_again(user, tmp_path, how, begins):
    def fn(config):
        first = tune.get_checkpoint().to_dict()["i"] + 1 if tune.get_checkpoint() else 1
        for i in range(first, 5):
            if config["x"] > 2 and i == 4 and not (tmp_path / "mended").exists():
                raise ValueError("not yet")
            tune.report({"loss": config["x"], "first": first}, checkpoint=tune.Checkpoint.from_dict({"i": i}) if i == 2 else None)

    first = tune.Tuner(fn, param_space={"x": tune.grid_search([1, 2, 3])}, run_config=tune.RunConfig("mine", verbose=0),
                       tune_config=tune.TuneConfig("loss", "min")).fit()
    assert first.num_errors == 1 and first[0].log_dir / "x" == first[0].log_dir.joinpath("x")
    read = tune.Tuner.restore("mine", fn, **{how: True}).get_results()  # fit() alone runs them again
    assert [(each.config, len(each.results), each.state) for each in read] == [
        (each.config, len(each.results), each.state) for each in first] and len(user.trials(1)) == 3
    (tmp_path / "mended").touch()
    for _ in range(2):  # what has run again is not run a third time
        again = tune.Tuner.restore("mine", fn, **{how: True}).fit()
        assert sorted(each.config["x"] for each in again) == [1, 2, 3] and not again.errors
        assert {each.config["x"]: each.metrics["first"] for each in again} == {1: 1, 2: 1, 3: begins}
        assert all(each.metrics["training_iteration"] == 4 for each in again) and len(user.trials(1)) == 4


def test_trial_of_nan_counts_if_asked_for(user):
    grid = tune.Tuner(lambda config: tune.report({"loss": config["x"]}), param_space={"x": tune.grid_search([float("inf"), 1.0])},
                      run_config=tune.RunConfig(verbose=0), tune_config=tune.TuneConfig("loss", "max")).fit()
    assert grid.get_best_result().config["x"] == 1 and grid.get_best_result(filter_nan_and_inf=False).config["x"] == float("inf")


def test_output_and_checkpoints_are_found_by_the_command(user, daemon, capsys, tmp_path):
    def fn(config):
        print("to stdout")
        steps(config)
        print("to stderr", file=sys.stderr)
        subprocess.run(["sh", "-c", "echo from a child"], check=True)

    grid = tune.Tuner(fn, param_space={"x": tune.uniform(0, 1)}, tune_config=tune.TuneConfig("loss", "min"),
                      run_config=tune.RunConfig("kept", storage_path=str(tmp_path), log_to_file=True, verbose=0)).fit()
    lines = "to stdout\nto stderr\nfrom a child\n"
    assert capsys.readouterr().out == lines
    assert sweep_command(daemon, "log", "1/1")[1] == lines
    assert sweep_command(daemon, "checkpoint", "1/1")[1].endswith(f"after step 6: {grid[0].checkpoint.path}\n")
    assert os.path.realpath(tmp_path / "kept") == grid.experiment_path
    assert os.path.realpath(tmp_path / "kept" / "1") == os.path.realpath(grid[0].path)


def test_long_output_begins_anew(user, daemon, monkeypatch, capsys):
    monkeypatch.setattr("sweepd._driver.LOG_MAX", 1000)

    def fn(config):
        for i in range(100):
            print(f"{i:3}", "x" * 95)
            tune.report(loss=i)

    quiet_run(fn, config={"x": 1})
    seen = [int(line[:3]) for line in capsys.readouterr().out.splitlines()]
    assert seen[0] == 0 and seen == sorted(set(seen))  # what is written while it begins anew is lost
    assert len(sweep_command(daemon, "log", "1/1")[1]) < 3000


SCRIPT = """
    import os, sys, time
    import sweepd.ray as ray
    from sweepd.ray import tune

    def fn(config):
        i = tune.get_checkpoint().to_dict()["i"] if tune.get_checkpoint() else 0
        for i in range(i + 1, 7):
            tune.report({"loss": config["x"] + (i - 2) ** 2}, checkpoint=tune.Checkpoint.from_dict({"i": i}))
            while i == 3 and not os.path.exists(os.environ["GO"]):
                time.sleep(0.01)

    if __name__ == "__main__":
        ray.init(num_cpus=2)
        tuner = tune.Tuner(fn, param_space={"x": tune.choice([1, 2])}, tune_config=tune.TuneConfig("loss", "min", num_samples=4),
                           run_config=tune.RunConfig("mine", verbose=0))
        if len(sys.argv) > 1:
            tuner = tune.Tuner.restore(sys.argv[1], fn)
        print([(len(result.results), [row["training_iteration"] for _, row in result.best_checkpoints])
               for result in tuner.fit()])
    """


@pytest.fixture
def script(daemon, tmp_path):
    """Starts the script; both of its first trials wait for a file after their third report."""
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))

    def start(*args):
        # What a shell starts in the background ignores Ctrl-C, and so would all that it starts.
        return subprocess.Popen(["env", "--default-signal=INT", sys.executable, str(tmp_path / "script.py"), *args],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(
                                    SWEEPD_SOCKET=daemon.socket, PYTHONPATH=PACKAGE, GO=str(tmp_path / "go")))
    return start


def at_step_3(user):
    return all(user.call("trial.get", sweep=1, trial=trial)["step"] == 3 for trial in (1, 2))


@pytest.mark.parametrize("where", ["folder", "name"])
def test_ctrl_c_pauses_and_restore_goes_on(user, script, tmp_path, where):
    process = script()
    wait_until(lambda: user.sweeps() and len(user.trials(1)) >= 2 and at_step_3(user), "third reports")
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=DEADLINE)
    assert process.returncode != 0 and "sweep 1 is paused: Tuner.restore(" in text
    assert user.sweep(1)["state"] == "PAUSED" and not user.trials(1, state="RUNNING")
    assert user.sweep(1)["spec"].get("lease_s") in (None, 0)
    path = text.split("Tuner.restore('")[1].split("'")[0] if where == "folder" else os.path.join("anywhere", "mine")
    (tmp_path / "go").touch()
    output, text = script(path).communicate(timeout=2 * DEADLINE)
    assert output.strip() == str([(6, [2, 6])] * 4), text
    assert [row["attempt"] for row in user.trials(1)] == [2, 2, 1, 1] and user.sweep(1)["state"] == "COMPLETED"
    assert [report["step"] for report in user.reports(1, 1)] == [1, 2, 3, 4, 5, 6]


def test_restore_says_what_it_needs(user, tmp_path):
    assert not tune.Tuner.can_restore("no_such_run")
    with pytest.raises(ValueError, match="no_such_run: there is no run of this folder or name"):
        tune.Tuner.restore("no_such_run", steps)
    tune.Tuner(steps, param_space={"x": 1, "y": tune.sample_from(lambda spec: 3)}, tune_config=tune.TuneConfig("loss", "min"),
               run_config=tune.RunConfig("lambda", verbose=0)).fit()
    assert tune.Tuner.can_restore(str(tmp_path / "lambda"))
    restored = tune.Tuner.restore("lambda", steps, param_space={"x": 1, "y": 3}).fit()
    assert [row["loss"] for row in restored[0].results] == [1 / i for i in range(1, 7)]
    quiet_run(steps, config={"x": 1}, name="run")
    with pytest.raises(ValueError, match="resume=True"):
        tune.Tuner.restore("run", steps)
    assert quiet_run(steps, config={"x": 1}, name="run", resume=True).sweep == 2
    assert quiet_run(steps, config={"x": 1}, name="other", resume="AUTO").sweep == 3
    with pytest.raises(ValueError, match="no run of the name 'third'"):
        quiet_run(steps, config={"x": 1}, name="third", resume=True)
    user.submit({"name": "third", "method": "random", "run_cap": 1, "metric": {"name": "loss"}, "parameters": {"y": {"value": 1}}})
    assert not tune.Tuner.can_restore("third")  # it is no run of this package


def test_link_of_the_users_own_stays(user, tmp_path):
    (tmp_path / "mine").symlink_to("elsewhere")
    with pytest.warns(UserWarning, match="no link to the run's folder"):
        quiet_run(steps, config={"x": 1}, name="mine", storage_path=str(tmp_path))
    assert os.readlink(tmp_path / "mine") == "elsewhere"


def test_several_metrics_have_a_mode_each(user):
    def fn(config):
        tune.report({"loss": config["x"], "gain": 1 - config["x"]})

    grid = tune.Tuner(fn, param_space={"x": tune.uniform(0, 1)}, run_config=tune.RunConfig(verbose=0), tune_config=tune.TuneConfig(
        num_samples=4, search_alg=OptunaSearch(metric=["loss", "gain"], mode=["min", "max"]))).fit()
    assert user.sweep(1)["spec"]["metrics"] == [{"name": "loss", "goal": "minimize"}, {"name": "gain", "goal": "maximize"}]
    best = grid.get_best_result("gain", "max").config["x"]
    assert best == min(result.config["x"] for result in grid) == grid.get_best_result("loss", "min").config["x"]
    with pytest.raises(ValueError, match="one for each metric"):
        quiet_run(fn, metric=["loss", "gain"], mode=["min"])


class Ends(LoggerCallback):
    ended = ()

    def log_trial_end(self, trial, failed=False):
        self.ended = (*self.ended, trial.trial_id)


def test_population_takes_functions_and_pb2_bounds(user):
    def fn(config):
        start = tune.get_checkpoint().to_dict()["i"] if tune.get_checkpoint() else 0
        for i in range(start + 1, 9):
            tune.report({"score": int(tune.get_trial_id()[-1])}, checkpoint=tune.Checkpoint.from_dict({"i": i}))

    with pytest.warns(UserWarning, match="PB2 is PopulationBasedTraining here"):
        pb2 = PB2(perturbation_interval=2, time_attr="training_iteration", hyperparam_bounds={"rate": [0.2, 0.6]})
    by_function = PopulationBasedTraining(
        time_attr="training_iteration", perturbation_interval=2,
        hyperparam_mutations={"rate": lambda: random.uniform(0.2, 0.6), "kind": lambda: random.choice("ab")})
    for scheduler in (pb2, by_function):
        ends = Ends()
        result = tune.run(fn, config={"rate": 0.3, "kind": "a"}, num_samples=4, metric="score", mode="max", verbose=0,
                          scheduler=scheduler, callbacks=[ends])
        assert len(set(ends.ended)) == len(ends.ended) >= 4  # a pause is no end
        rows = user.trials(result.sweep)
        assert any(row["parent"] for row in rows)
        for row in rows:
            assert 0.19 < row["params"]["rate"] < 0.61 and row["params"]["kind"] in ("a", "b")
            assert row["parent"] or (row["params"]["rate"], row["params"]["kind"]) == (0.3, "a")
    with pytest.warns(UserWarning, match="HyperBandForBOHB is HyperBandScheduler here"):
        assert HyperBandForBOHB(max_t=9, stop_last_trials=False).spec()["brackets"] == 3


def test_child_starts_from_a_checkpoint_that_its_parent_no_longer_needs(user):
    """One trial runs at a time, and is judged at steps 3, 5 ...: a parent goes on before its child has begun."""
    def fn(config):
        start = tune.get_checkpoint().to_dict()["i"] if tune.get_checkpoint() else 0
        for i in range(start + 1, 8):
            tune.report({"score": int(tune.get_trial_id()[-1]), "start": start}, checkpoint=tune.Checkpoint.from_dict({"i": i}))

    result = tune.run(fn, config={"rate": tune.uniform(0, 1)}, num_samples=4, metric="score", mode="max", verbose=0,
                      max_concurrent_trials=1, scheduler=PopulationBasedTraining(
                          time_attr="training_iteration", perturbation_interval=2, burn_in_period=3,
                          hyperparam_mutations={"rate": tune.uniform(0, 1)}))
    children = [row for row in user.trials(result.sweep) if row["parent"]]
    begun = [result.trials[row["trial"] - 1].results[0]["start"] for row in children
             if not (row["cause"] or "").startswith("nothing to train")]
    assert begun and min(begun) >= 3, children


class OneFile(tune.Trainable):
    """As Ray 1 had it: save_checkpoint() gives a path, which load_checkpoint() gets."""

    def setup(self, config, more=0):
        self.n = more

    def step(self):
        self.n += 1
        return {"loss": -self.n}

    def save_checkpoint(self, checkpoint_dir):
        path = os.path.join(checkpoint_dir, "n")
        with open(path, "w", encoding="ascii") as file:
            file.write(str(self.n))
        return path

    def load_checkpoint(self, checkpoint):
        with open(checkpoint, encoding="ascii") as file:
            self.n = int(file.read())


def test_trainable_alone_saves_and_restores(user):
    assert validate_save_restore(OneFile) and validate_save_restore(Counted)
    given = tune.with_parameters(OneFile, more=5)
    best = quiet_run(given, config={"x": 1}, stop={"training_iteration": 3}, checkpoint_freq=1)
    assert best.best_result["loss"] == -8
    again = OneFile({"x": 1})
    again.restore(best.best_checkpoint)
    assert again.n == 8 and again.train() == {"loss": -9, "training_iteration": 1}
    assert os.path.exists(os.path.join(best.best_checkpoint, "n"))


class Counted(Counter):
    def setup(self, config):
        self.x = 0


def test_put_gives_what_get_takes(user):
    data = ray.put([1, 2, 3])
    result = quiet_run(lambda config: {"loss": sum(ray.get(config["data"]))}, config={"data": data, "x": tune.uniform(0, 1)})
    assert result.best_result["loss"] == 6 and ray.get([data, data]) == [[1, 2, 3]] * 2


def library(monkeypatch, name, **names):
    """A stand-in for a library, by its module and the parents of that, which need not be installed."""
    for end in range(name.count("."), -1, -1):
        made = types.ModuleType(name.rsplit(".", end)[0])
        monkeypatch.setitem(sys.modules, made.__name__, made)
    made.__dict__.update(names)


class Base:
    """A library's own, as which it knows its callbacks."""


class Model:
    def save_model(self, path):
        with open(path, "w", encoding="ascii") as file:
            file.write("model")


def rounds_of_xgboost(monkeypatch):
    library(monkeypatch, "xgboost.callback", TrainingCallback=Base)
    from sweepd.ray.tune.integration.xgboost import TuneReportCheckpointCallback
    callback = TuneReportCheckpointCallback({"loss": "test-error"}, frequency=2)
    assert isinstance(callback, Base)
    for i in range(5):
        callback.after_iteration(Model(), i, {"test": {"error": [9, 1 / (i + 1)], "other": [(3, 0.1)]}})
    callback.after_training(Model())


def rounds_of_lightgbm(monkeypatch):
    library(monkeypatch, "lightgbm", Booster=Model)
    from sweepd.ray.tune.integration.lightgbm import TuneReportCheckpointCallback
    callback = TuneReportCheckpointCallback({"loss": "test-error-mean"}, frequency=2)
    for i in range(5):
        callback(types.SimpleNamespace(model=Model(), iteration=i, end_iteration=5, evaluation_result_list=[
            ("test", "error", 1 / (i + 1), False, 0.1), ("test", "other", 3, False)]))


def rounds_of_keras(monkeypatch):
    library(monkeypatch, "keras.callbacks", Callback=Base)
    from sweepd.ray.tune.integration.keras import TuneReportCheckpointCallback
    callback = TuneReportCheckpointCallback({"loss": "val_loss"})
    assert isinstance(callback, Base)
    callback.model = types.SimpleNamespace(save=Model().save_model)
    for i in range(5):
        callback.on_epoch_end(i, {"val_loss": 1 / (i + 1)})


def rounds_of_lightning(monkeypatch):
    library(monkeypatch, "lightning.pytorch.callbacks", Callback=Base)
    from sweepd.ray.tune.integration.pytorch_lightning import TuneReportCheckpointCallback
    callback = TuneReportCheckpointCallback({"loss": "val_loss"}, on="train_end")
    assert isinstance(callback, Base)
    for i in range(5):
        callback.on_train_end(types.SimpleNamespace(sanity_checking=False, callback_metrics={"val_loss": 1 / (i + 1)},
                                                    save_checkpoint=Model().save_model), None)


@pytest.mark.parametrize("rounds, reports, last", [
    (rounds_of_xgboost, 6, "model.ubj"), (rounds_of_lightgbm, 5, "model.txt"), (rounds_of_keras, 5, "model.keras"),
    (rounds_of_lightning, 5, "checkpoint")], ids=["xgboost", "lightgbm", "keras", "lightning"])
def test_integration_reports_each_round_with_the_model(user, monkeypatch, rounds, reports, last):
    result = quiet_run(lambda config: rounds(monkeypatch), config={"x": 1}, scheduler=ASHAScheduler(max_t=9, grace_period=9))
    (trial,) = result.trials
    assert len(trial.results) == reports and trial.last_result["loss"] == 0.2 and os.listdir(trial.checkpoint.path) == [last]
    assert trial.checkpoints[-1][0] == reports


def test_missing_library_is_named_where_it_is_needed(monkeypatch):
    from sweepd.ray.tune.integration.xgboost import TuneReportCheckpointCallback
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match="xgboost"):
        TuneReportCheckpointCallback.get_model("anywhere")


@pytest.mark.parametrize("line, words", [
    ("import sweepd.ray.rllib.algorithms.ppo", r"ray\.rllib is not carried over: sweepd\.ray is Ray Tune alone"),
    ("from sweepd.ray import data", r"ray\.data is not carried over"),
    ("from sweepd.ray.tune.search.nevergrad import NevergradSearch", r"ray\.tune\.search\.nevergrad is not carried over: Opt"),
    ("from sweepd.ray.tune.suggest import Repeater", r"ray\.tune\.search\.Repeater is not carried over"),
    ("from sweepd.ray.tune.logger import pretty_print", r"pretty_print is not carried over: of it there are LoggerCallback"),
    ("from sweepd.ray.tune.integration.torch import X", r"ray\.tune\.integration\.torch is not carried over: keras"),
    ("from sweepd.ray.train import ScalingConfig", r"ray\.train\.ScalingConfig is not carried over"),
    ("import sweepd.ray as ray; ray.tune.suggest.zoopt", r"ray\.tune\.search\.zoopt is not carried over"),
    ("import sweepd.ray as ray; ray.tune.unifrom", r"ray\.tune\.unifrom is not carried over: did you mean uniform\?")])
def test_name_that_is_not_carried_ends_in_a_sentence(line, words):
    with pytest.raises(NotImplementedError, match=words) as caught:
        exec(line, {})  # pylint: disable=exec-used
    assert isinstance(caught.value, AttributeError if ";" in line else ImportError)


def test_protocols_that_ask_for_names_go_on():
    assert not hasattr(tune, "no_such_thing") and getattr(ray, "data", None) is None and not hasattr(tune, "__wrapped__")
    assert pickle.loads(pickle.dumps(tune.choice([1, (2, 3)]))).read("1: (2, 3)") == (2, 3)
    try:
        from sweepd.ray.train import ScalingConfig
    except ImportError:  # as scripts try one place after another
        ScalingConfig = None
    assert ScalingConfig is None

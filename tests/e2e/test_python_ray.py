"""sweepd.ray against a real daemon: the names of Ray Tune, and what the sweep has in the end."""
import os
import random

import pytest

from test_python import sweepd, user  # noqa: F401

from sweepd import _driver  # noqa: E402
import sweepd.ray as ray  # noqa: E402
from sweepd.ray import tune  # noqa: E402
from sweepd.ray.air import session  # noqa: E402
from sweepd.ray.schedulers import ASHAScheduler, MedianStoppingRule  # noqa: E402
from sweepd.ray.tune.search import ConcurrencyLimiter  # noqa: E402
from sweepd.ray.tune.search.bayesopt import BayesOptSearch  # noqa: E402
from sweepd.ray.tune.search.optuna import OptunaSearch  # noqa: E402


@pytest.fixture(autouse=True)
def two_cores(daemon, monkeypatch):
    monkeypatch.setenv("SWEEPD_SOCKET", daemon.socket)
    ray.init(num_cpus=2)
    yield
    ray.shutdown()


def quiet_run(fn, **more):
    return tune.run(fn, **{"metric": "loss", "mode": "min", "verbose": 0, **more})


def test_every_domain_gives_values_of_its_kind(user):
    class Odd:
        pass

    def fn(config):
        assert 0 <= config["uniform"] < 1 and config["quniform"] in (0.0, 0.5, 1.0)
        assert 1e-3 <= config["loguniform"] < 1 and isinstance(config["randn"], float)
        assert config["randint"] in (1, 2) and config["qrandint"] in (2, 4, 6) and 1 <= config["lograndint"] < 9
        assert config["choice"] in (None, True, 1, "a") and config["any"] in (Odd, (1, 2))
        assert config["nested"]["deep"]["x"] in (3, 4) and config["constant"] == [1] and config["n"] == 7
        assert config["twice"] == 2 * config["nested"]["deep"]["x"] and config["later"] == config["twice"] + 1
        tune.report(loss=config["uniform"])

    result = quiet_run(fn, num_samples=4, config={
        "uniform": tune.uniform(0, 1), "quniform": tune.quniform(0, 1, 0.5), "loguniform": tune.loguniform(1e-3, 1),
        "qloguniform": tune.qloguniform(0.5, 8, 0.5), "randn": tune.randn(), "qrandn": tune.qrandn(0, 1, 0.5),
        "randint": tune.randint(1, 3), "qrandint": tune.qrandint(2, 6, 2), "lograndint": tune.lograndint(1, 9),
        "qlograndint": tune.qlograndint(2, 8, 2), "choice": tune.choice([None, True, 1, "a"]),
        "any": tune.choice([Odd, (1, 2)]), "constant": [1], "n": 7,
        "later": tune.sample_from(lambda spec: spec.config["twice"] + 1),
        "nested": {"deep": {"x": tune.choice([3, 4])}},
        "twice": tune.sample_from(lambda spec: 2 * spec.config.nested.deep.x)})
    assert len(result.trials) == 4
    row = user.trial(result.sweep, 1)
    assert row["params"]["nested.deep.x"] in (3, 4) and row["params"]["n"] == 7


def test_sample_from_draws_anew_for_each_trial(user):
    random.seed(1)
    result = quiet_run(lambda config: tune.report(loss=config["x"]), num_samples=6,
                       config={"x": tune.sample_from(lambda _: random.random())})
    assert len({trial.config["x"] for trial in result.trials}) == 6


def test_grid_is_repeated_num_samples_times(user):
    result = quiet_run(lambda config: tune.report(loss=config["a"] + config["x"]), num_samples=2, config={
        "a": tune.grid_search([1, 2, 3]), "b": {"c": tune.grid_search(["p", "q"])}, "x": tune.uniform(0, 1)})
    seen = sorted((trial.config["a"], trial.config["b"]["c"]) for trial in result.trials)
    assert seen == sorted([(a, c) for a in (1, 2, 3) for c in "pq"] * 2)
    assert len({trial.config["x"] for trial in result.trials}) == 12


def test_asha_stops_and_scopes_choose_the_best(user):
    def fn(config):
        for i in range(20):
            tune.report({"loss": abs(config["x"]) + abs(i - 3) / 10, "note": "text", "list": [1, {"a": None}]})

    result = quiet_run(fn, num_samples=12, config={"x": tune.uniform(-1, 1)}, metric=None, mode=None,
                       scheduler=ASHAScheduler(metric="loss", mode="min", max_t=9, grace_period=1, reduction_factor=3))
    lengths = [len(trial.results) for trial in result.trials]
    assert max(lengths) == 9 and min(lengths) < 9
    assert {trial.status for trial in result.trials} == {"TERMINATED"}
    assert {trial.state for trial in result.trials} == {"COMPLETED", "PRUNED"}
    best = result.get_best_trial("loss", "min", "all")
    assert best.value("loss", "min", "all") == min(row["loss"] for trial in result.trials for row in trial.results)
    assert result.get_best_trial(scope="last") is result.best_trial
    assert result.best_trial.last_result["loss"] == user.best(result.sweep, scope="last")["value"]
    longest = max(result.trials, key=lambda trial: len(trial.results)).last_result
    assert longest["training_iteration"] == 9 and longest["note"] == "text"
    assert result.best_result["list"] == [1, {"a": None}] and result.best_config == result.best_trial.config
    one = result.trials[0]
    values = [row["loss"] for row in one.results]
    assert one.value("loss", "min", "avg") == pytest.approx(sum(values) / len(values))
    assert one.value("loss", "min", "last-5-avg") == pytest.approx(sum(values[-5:]) / len(values[-5:]))
    with pytest.raises(ValueError, match="scope must be one of"):
        result.get_best_trial(scope="first")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_trial_that_diverged_is_no_error_of_the_run(user, value):
    def fn(config):
        tune.report(loss=config["x"] if config["x"] else value)
        tune.report(loss=config["x"])

    result = quiet_run(fn, config={"x": tune.grid_search([0, 1, 2])})
    assert result.best_config == {"x": 1} and result.num_errors == 0
    odd = next(trial for trial in result.trials if trial.config["x"] == 0)
    assert (odd.status, odd.state, len(odd.results)) == ("TERMINATED", "INFEASIBLE", 1)
    assert quiet_run(lambda config: tune.report(loss=value), config={"x": tune.grid_search([0, 1])}).best_config is None


def test_metric_in_a_dict_is_named_by_its_path(user):
    def fn(config):
        for i in range(1, 4):
            tune.report({"eval": {"acc": config["x"] * i, "by": {f"class {n}" + "!" * 70: n for n in range(3)}}, "loss": 1.0,
                         **{f"other {n}": {"x": n} for n in range(400)}})

    tuner = tune.Tuner(fn, param_space={"x": tune.grid_search([1, 2])}, run_config=ray.air.RunConfig(stop={"eval/acc": 3}, verbose=0),
                       tune_config=tune.TuneConfig(metric="eval/acc", mode="max"))
    best = tuner.fit().get_best_result()
    assert best.config == {"x": 2} and [row["eval/acc"] for row in best.results] == [2, 4]
    assert best.metrics["eval"]["acc"] == 4
    row = user.best(1)
    assert row["value"] == 4 and row["metrics"]["loss"] == 1 and row["metrics"]["other 0/x"] == 0


def test_scope_last_is_the_last_value_that_was_reported(user):
    def fn(config):
        for i in range(1, 5):
            tune.report({"loss": config["x"] * i, "epoch": i} if i < 4 else {"loss": None, "epoch": i})

    result = quiet_run(fn, config={"x": tune.grid_search([1, 2])})
    assert result.best_config == {"x": 1} and result.best_trial.value("loss", "min") == 3
    assert len(result.best_trial.results) == 4


@pytest.mark.parametrize("reports", [3, 30])
def test_stop_that_no_report_has_is_a_warning(user, recwarn, reports):
    def fn(config):
        for i in range(reports):
            tune.report(loss=config["x"], done_epochs=i, **({"late": 1} if i else {}))

    for stop in ({"done_epoch": 2}, {"done_epochs": reports, "late": 2}, {"training_iteration": 99, "eval/x": 1}):
        quiet_run(fn, config={"x": tune.grid_search([1, 2])}, stop=stop)
    said = [str(each.message) for each in recwarn if "stop names" in str(each.message)]
    assert [text.partition(",")[0] for text in said] == ["stop names done_epoch", "stop names eval/x"]
    assert "done_epochs" in said[0]


def test_run_without_a_metric_and_with_a_returned_value(user):
    result = tune.run(lambda config: {"score": config["x"]}, config={"x": tune.uniform(0, 1)}, num_samples=3, verbose=0)
    with pytest.raises(ValueError, match='mode "min" or "max"'):
        result.get_best_trial("score")
    best = result.get_best_trial("score", "max")
    assert best.last_result["score"] == max(trial.config["x"] for trial in result.trials)


def test_failed_trials_run_again_from_their_checkpoint_and_then_raise(user):
    def fn(config, checkpoint_dir=None):
        step = 0
        if checkpoint_dir:
            with open(os.path.join(checkpoint_dir, "step"), encoding="ascii") as file:
                step = int(file.read())
        for step in range(step + 1, 5):
            with tune.checkpoint_dir(step) as folder, open(os.path.join(folder, "step"), "w", encoding="ascii") as file:
                file.write(str(step))
            tune.report(loss=step, began=bool(checkpoint_dir))
            if step in (2, 3) and config["bad"]:
                raise ValueError("bad luck")

    config = {"bad": tune.grid_search([True, False])}
    result = quiet_run(fn, config=config, max_failures=2)
    bad = next(trial for trial in result.trials if trial.config["bad"])
    assert [row["training_iteration"] for row in bad.results] == [1, 2, 3, 4]
    assert [row["began"] for row in bad.results] == [0, 0, 1, 1]
    assert [step for step, _ in bad.checkpoints] == [1, 4] and os.listdir(bad.checkpoint.value) == ["step"]
    assert result.get_best_checkpoint(bad, "loss", "min").path.endswith("-1.ckpt")
    with pytest.raises(tune.TuneError, match="ValueError: bad luck"):
        quiet_run(fn, config=config)
    grid = tune.Tuner(fn, param_space=config, tune_config=tune.TuneConfig("loss", "min"),
                      run_config=tune.RunConfig(verbose=0)).fit()
    assert len(grid) == 2 and grid.num_errors == 1 and "bad luck" in str(grid.errors[0])
    assert not grid.get_best_result().error or grid.get_best_result().metrics["loss"] == 2


def test_report_takes_metrics_by_that_name(user):
    """As Ray's documentation writes it."""
    def fn(config):
        tune.report(metrics={"loss": config["x"]}, checkpoint=tune.Checkpoint.from_dict({"x": config["x"]}))

    best = quiet_run(fn, config={"x": tune.uniform(0, 1)}, num_samples=2).best_trial
    assert best.last_result["loss"] == best.config["x"] == best.checkpoint.to_dict()["x"]


class Counting(tune.Trainable):
    """Each iteration's result, and a checkpoint that says how many there were."""

    def step(self):
        return {"loss": self.config["x"] / (self.training_iteration + 1), "done": self.training_iteration + 1 == 5}

    def save_checkpoint(self, checkpoint_dir):
        return {"iterations": self.training_iteration}


@pytest.mark.parametrize("more, last", [({}, 5), ({"stop": {"training_iteration": 3}}, 3),
                                        ({"scheduler": ASHAScheduler(max_t=3, grace_period=3)}, 3)],
                         ids=["done", "stop", "scheduler"])
def test_checkpoint_at_end_is_there_whatever_ends_the_trial(user, more, last):
    tuner = tune.Tuner(Counting, param_space={"x": tune.uniform(0, 1)},
                       tune_config=tune.TuneConfig("loss", "min", scheduler=more.get("scheduler")),
                       run_config=tune.RunConfig(verbose=0, stop=more.get("stop"), checkpoint_config=tune.CheckpointConfig(
                           checkpoint_frequency=2, checkpoint_at_end=True)))
    (result,) = tuner.fit()
    assert result.checkpoint.to_dict() == {"iterations": last}
    assert [step for step, _ in result.checkpoints] == [last // 2 * 2, last]  # the best report's, and the last
    assert [(there.to_dict(), row["training_iteration"]) for there, row in result.best_checkpoints] == [
        ({"iterations": step}, step) for step in (last // 2 * 2, last)]
    with pytest.raises(ValueError, match="checkpoint_at_end is for a Trainable"):
        quiet_run(lambda config: None, checkpoint_at_end=True)


def test_fail_fast_ends_the_run_with_the_first_error(user):
    """fit() gives what there is, run() raises; a trial beside it is ended, and none follows."""
    def fn(config):
        while True:
            tune.report(loss=1)
            if config["bad"]:
                raise ValueError("bad luck")

    space = {"bad": tune.grid_search([False, True, True, True])}
    grid = tune.Tuner(fn, param_space=space, tune_config=tune.TuneConfig("loss", "min"), run_config=tune.RunConfig(
        verbose=0, failure_config=tune.FailureConfig(fail_fast=True))).fit()
    assert len(grid) == 2 and grid.num_errors == 1 and "bad luck" in str(grid.errors[0])
    assert sorted(trial.status for trial in grid) == ["ERROR", "TERMINATED"]
    for how in (True, "raise"):
        with pytest.raises(tune.TuneError, match="bad luck"):
            quiet_run(fn, config=space, fail_fast=how)
    assert {user.sweep(n)["state"] for n in (1, 2, 3)} == {"CANCELLED"}
    with pytest.raises(ValueError, match="max_failures must be 0"):
        quiet_run(fn, config=space, fail_fast=True, max_failures=1)


def test_dict_checkpoints_and_num_to_keep(user):
    def fn(config):
        for i in range(3):
            session.report({"loss": i}, checkpoint=ray.air.Checkpoint.from_dict({"i": i}))

    grid = tune.Tuner(fn, param_space={"x": tune.uniform(0, 1)}, tune_config=tune.TuneConfig("loss", "max"),
                      run_config=ray.air.RunConfig(verbose=0, checkpoint_config=ray.air.CheckpointConfig(1))).fit()
    best = grid.get_best_result()
    assert best.checkpoint.to_dict() == {"i": 2} and len(best.checkpoints) == 1


class Counter(tune.Trainable):
    def setup(self, config):
        self.x = config["start"]

    def step(self):
        self.x += 1
        return {"loss": -self.x}

    def save_checkpoint(self, folder):
        return {"x": self.x}

    def load_checkpoint(self, checkpoint):
        self.x = checkpoint["x"]


def test_search_algorithm_and_limit(user):
    result = quiet_run(lambda config: tune.report(loss=config["x"]), config={"x": tune.uniform(0, 1)}, num_samples=5,
                       search_alg=ConcurrencyLimiter(OptunaSearch(points_to_evaluate=[{"x": 0.5}], seed=3), 1))
    space = {"x": tune.uniform(2, 3), "fixed": 1}
    assert 2 <= quiet_run(lambda config: tune.report(loss=config["x"]), search_alg=OptunaSearch(space)).best_config["x"] < 3
    with pytest.raises(NotImplementedError, match="carried over: give it as config or param_space"):
        BayesOptSearch(space={"x": (0, 1)})
    assert result.trials[0].config == {"x": 0.5} and user.sweep(result.sweep)["method"] == "tpe"


def test_parameters_and_resources_reach_the_trial(user, monkeypatch):
    # A test before it may have loaded a library with OpenMP, and the runner of tests has a thread that Python does not
    # know: then a trial is given one core, as it must be.
    monkeypatch.setattr(_driver, "may_have_pool", lambda: False)

    def fn(config, data=None):
        tune.report(loss=len(data), devices=len(os.environ["CUDA_VISIBLE_DEVICES"]), threads=os.environ["OMP_NUM_THREADS"])

    os.environ.pop("OMP_NUM_THREADS", None)
    fn = tune.with_resources(tune.with_parameters(fn, data=[1, 2, 3]), {"cpu": 2})
    result = quiet_run(fn, config={"x": 1})
    assert result.best_result["loss"] == 3 and result.best_result["devices"] == 0
    assert int(result.best_result["threads"]) == 2
    ray.init(num_gpus=0)
    with pytest.raises(tune.TuneError, match="wants 0.5 GPUs, and there are 0"):
        quiet_run(fn, config={"x": 1}, resources_per_trial={"cpu": 1, "gpu": 0.5})


def test_reporter_prints_a_table(user, capsys):
    reporter = tune.CLIReporter(metric_columns=["loss"], parameter_columns={"long name": "x"}, max_progress_rows=2)
    quiet_run(lambda config: tune.report(loss=1.5, other=3), config={"long name": tune.choice(["w" * 40])},
              num_samples=3, progress_reporter=reporter)
    output = capsys.readouterr().out
    assert "Number of trials: 3/3 (3 TERMINATED)" in output and "Current best trial: " in output
    assert "| x " in output and "..." + "w" * 17 in output and "other" not in output
    assert "1 more trials not shown" in output


def test_report_outside_a_trial_is_printed(capsys):
    tune.report({"loss": 1, "note": "x"})
    assert capsys.readouterr().out == '{"loss": 1}\n'
    assert tune.get_checkpoint() is None and tune.get_trial_id() == "default"


def test_what_is_not_carried_over_is_named(user):
    for call in (lambda: MedianStoppingRule(), lambda: tune.run_experiments, lambda: ray.remote, lambda: ray.train.torch, lambda: ray.init("ray://host"), lambda: tune.run(print, scheduler="asha"),
                 lambda: quiet_run(print, resources_per_trial={"tpu": 1})):
        with pytest.raises(NotImplementedError, match="carried over"):
            call()
    with pytest.raises(TypeError, match="no argument 'nmu_samples'"):
        tune.run(print, nmu_samples=3)
    with pytest.raises(AttributeError):
        tune.no_such_thing  # noqa: B018


def test_checkpoint_is_the_folder_that_was_given(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "x").write_bytes(b"3")
    checkpoint = tune.Checkpoint.from_directory(str(mine))
    with checkpoint.as_directory() as folder:
        assert os.listdir(folder) == ["x"]
    assert os.listdir(checkpoint.to_directory()) == ["x"] and checkpoint.to_air_checkpoint() is checkpoint


@pytest.mark.parametrize("scheduler", [
    MedianStoppingRule(time_attr="training_iteration", grace_period=2, min_samples_required=2),
    ray.HyperBandScheduler(max_t=9), ray.FIFOScheduler(), ASHAScheduler(time_attr="epoch", max_t=5, reduction_factor=2)])
def test_each_scheduler_ends_a_run(user, scheduler):
    def fn(config):
        for i in range(8):
            tune.report(loss=config["x"] + 1 / (i + 1), epoch=i)

    result = quiet_run(fn, num_samples=8, config={"x": tune.uniform(0, 1)}, scheduler=scheduler)
    got = user.sweep(result.sweep)
    assert got["state"] == "COMPLETED" and got["counts"]["COMPLETED"] + got["counts"]["PRUNED"] == 8
    most = 6 if scheduler.time_attr == "epoch" else 8
    assert max(len(trial.results) for trial in result.trials) <= most

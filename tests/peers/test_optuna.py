"""Optuna on the daemon: its own suites for samplers and storages that are not its own, shipped in its package, and what
is promised of a study."""
import io
import json
import os
import re
import signal
import subprocess
import sys
import uuid

import pytest

optuna = pytest.importorskip("optuna", reason="Optuna cannot be installed here")

from harness import ROOT, Daemon, environment, wait_until  # noqa: E402
from optuna.testing import pytest_samplers, pytest_storages  # noqa: E402

import sweepd  # noqa: E402
import sweepd.optuna  # noqa: E402

PACKAGE = os.path.dirname(os.path.dirname(sweepd.__file__))
optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture(autouse=True)
def user(daemon):
    with sweepd.Client(daemon.socket) as client:
        yield client


class TestBayes(pytest_samplers.BasicSamplerTestCase, pytest_samplers.RelativeSamplerTestCase,
                pytest_samplers.MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return sweepd.optuna.Sampler


class TestStorage(pytest_storages.StorageTestCase):
    @pytest.fixture
    def storage(self):
        return sweepd.optuna.Storage(uuid.uuid4().hex)


def mirror(user, study):
    """The study's last sweep, and its rows."""
    last = next(row["sweep"] for row in user.sweeps() if row["name"] == study.study_name)
    return user.sweep(last), user.trials(last)


def same_trials(user, study):
    """That sweep has ended with every trial of the study, its values and its state."""
    sweep, rows = mirror(user, study)
    assert sweep["state"] == "COMPLETED", sweep["counts"]
    states = {"COMPLETE": "COMPLETED", "PRUNED": "PRUNED"}
    told = [trial for trial in study.trials if trial.state.name in states]
    assert sorted([states[trial.state.name], trial.value, sorted(trial.params.items())] for trial in told) == sorted(
        [row["state"], row["value"], sorted(row["params"].items())] for row in rows if row["state"] != "FAILED")
    return sweep


def reported(trial, values):
    """Reports one value a step, until it is to end; the last."""
    for step, value in enumerate(values):
        trial.report(value, step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return value


def test_every_name_and_module_is_optunas():
    import sweepd.optuna.visualization
    from sweepd.optuna.samplers import TPESampler
    from sweepd.optuna.storages.journal import JournalFileBackend
    from sweepd.optuna.study import MaxTrialsCallback, create_study

    assert TPESampler is optuna.samplers.TPESampler and JournalFileBackend is optuna.storages.journal.JournalFileBackend
    assert sweepd.optuna.visualization is optuna.visualization
    assert optuna.visualization.__spec__.name == "optuna.visualization"
    assert MaxTrialsCallback is optuna.study.MaxTrialsCallback
    assert create_study is sweepd.optuna.create_study is sweepd.optuna.study.create_study
    assert {*optuna.__all__} < {*sweepd.optuna.__all__}
    assert all(getattr(sweepd.optuna, name) is not None for name in sweepd.optuna.__all__)
    with pytest.raises(ModuleNotFoundError):
        import sweepd.optuna.nothing  # noqa: F401


@pytest.mark.parametrize("method", ["bayes", "tpe", "bohb", "random"])
def test_plain_study_with_the_daemons_sampler_and_pruner(user, method):
    study = optuna.create_study(sampler=sweepd.optuna.Sampler(method, seed=3), study_name=uuid.uuid4().hex,
                                pruner=sweepd.optuna.Pruner("asha", grace_period=1, reduction_factor=2))
    study.optimize(lambda trial: reported(trial, (abs(trial.suggest_float("x", -4, 4)) + 1 / step for step in range(1, 10))),
                   n_trials=20)
    sweep, rows = mirror(user, study)
    assert (sweep["method"], sweep["seed"], len(rows)) == (method, 3, 20)
    pruned = [trial.number for trial in study.trials if trial.state.name == "PRUNED"]
    assert pruned and len(pruned) == sweep["counts"]["PRUNED"]
    assert user.best(sweep["sweep"])["value"] == study.best_value


def test_trials_that_never_ask_whether_to_end_are_whole(user):
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        for step in range(4):
            trial.report(x + step, step)
        return x

    study = sweepd.optuna.create_study(study_name=uuid.uuid4().hex)
    study.optimize(objective, n_trials=15)
    assert same_trials(user, study)["counts"]["COMPLETED"] == 15
    with pytest.raises(ValueError, match="GridSampler"):
        sweepd.optuna.Sampler("grid")


def ran(study, objective, n):
    study.optimize(objective, n_trials=n)
    return study


@pytest.mark.parametrize("pruner, settings, first", [
    ("median", {"n_startup_trials": 3, "n_warmup_steps": 2}, 2), ("asha", {"grace_period": 1, "reduction_factor": 3}, 1),
    ("asha", {"grace_period": 1, "reduction_factor": 3, "brackets": 3}, 1), ("threshold", {"upper": 1.2}, 0)])
def test_pruner_prunes_no_earlier_than_it_may_and_steps_count_from_0(user, pruner, settings, first):
    study = ran(sweepd.optuna.create_study(sampler=sweepd.optuna.Sampler("random", seed=2),
                                           pruner=sweepd.optuna.Pruner(pruner, **settings)),
                lambda trial: reported(trial, [trial.suggest_float("x", 0, 2)] * 9), 25)
    pruned = study.get_trials(states=[optuna.trial.TrialState.PRUNED])
    assert pruned and min(trial.last_step for trial in pruned) == first
    assert same_trials(user, study)["counts"]["PRUNED"] == len(pruned)


def test_hyperband_of_optunas_prunes_a_study_whose_sweep_has_all_brackets(user):
    study = ran(sweepd.optuna.create_study(sampler=sweepd.optuna.Sampler("random", seed=2),
                                           pruner=optuna.pruners.HyperbandPruner(max_resource=9)),
                lambda trial: reported(trial, [trial.suggest_float("x", 0, 2)] * 9), 25)
    pruned = study.get_trials(states=[optuna.trial.TrialState.PRUNED])
    assert pruned and same_trials(user, study)["counts"]["PRUNED"] == len(pruned)


def test_study_with_branches_goes_on_in_a_wider_sweep_with_its_history(user):
    def objective(trial):
        kind = trial.suggest_categorical("classifier", ["svc", "forest", "knn"])
        if kind == "svc":
            return trial.suggest_float("c", 1e-3, 1e3, log=True)
        if kind == "forest":
            return 2 + trial.suggest_int("depth", 2, 32)
        return 50 + trial.suggest_int("k", 1, 5)

    study = ran(sweepd.optuna.create_study(sampler=sweepd.optuna.Sampler("tpe", seed=5)), objective, 40)
    parameters = same_trials(user, study)["spec"]["parameters"]
    assert parameters["c"]["when"] == {"classifier": ["svc"]} and parameters["depth"]["when"] == {"classifier": ["forest"]}
    assert sum(row["name"] == study.study_name for row in user.sweeps()) == 1  # the narrower ones are gone
    kinds = [trial.params["classifier"] for trial in study.trials[20:]]
    assert kinds.count("svc") > 10  # it has learnt from what it was told


def test_condition_under_a_condition_is_found(user):
    def objective(trial):
        if trial.suggest_categorical("kind", ["net", "tree"]) == "tree":
            return 1
        return sum(trial.suggest_int(f"units{i}", 4, 8) for i in range(trial.suggest_int("layers", 1, 2)))

    study = ran(sweepd.optuna.create_study(sampler=sweepd.optuna.Sampler("random", seed=5)), objective, 25)
    whens = {name: body.get("when") for name, body in same_trials(user, study)["spec"]["parameters"].items()}
    assert whens["layers"] == {"kind": ["net"]} and whens["units1"] == {"layers": [2]}


def test_study_whose_ranges_and_layers_change_from_trial_to_trial(user):
    def objective(trial):
        high = 16 * (1 + trial.number % 2)
        units = [trial.suggest_int(f"units l{i}", 4, high) for i in range(trial.suggest_int("n_layers", 1, 3))]
        assert all(4 <= unit <= high for unit in units)
        return sum(units)

    study = ran(sweepd.optuna.create_study(sampler=sweepd.optuna.Sampler("tpe", seed=5)), objective, 30)
    assert len(study.trials) == 30 and study.best_value == sum(study.best_params.values()) - study.best_params["n_layers"]
    assert sum(row["name"] == study.study_name for row in user.sweeps()) == 1
    done = [row for row in mirror(user, study)[1] if row["state"] == "COMPLETED"]
    assert sorted(row["value"] for row in done) == sorted(trial.value for trial in study.trials)


def test_trials_that_fail_teach_nothing_and_the_study_goes_on(user):
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.number == 1:
            raise ValueError("no")
        return {2: float("nan"), 3: None, 4: "low"}.get(trial.number, x)

    study = sweepd.optuna.create_study()
    study.optimize(objective, n_trials=6, catch=(ValueError,))
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "FAIL", "FAIL", "FAIL", "FAIL", "COMPLETE"]
    assert same_trials(user, study)["counts"]["FAILED"] == 4
    with pytest.raises(ZeroDivisionError):
        ran(study, lambda trial: 1 / 0 * trial.suggest_float("x", 0, 1), 3)
    assert len(study.trials) == 7 and mirror(user, study)[0]["state"] == "COMPLETED"


def test_enqueued_trials_and_objects_are_taken_and_those_outside_are_not_the_sweeps(user):
    def objective(trial):
        trial.set_user_attr("open", open)
        return trial.suggest_float("x", 0, 1) + len(trial.suggest_categorical("shape", [(8,), (8, 8)]))

    study = sweepd.optuna.create_study()
    study.enqueue_trial({"x": 0.25, "shape": (8, 8)})
    ran(study, objective, 3)
    study.enqueue_trial({"x": 0.5})
    study.enqueue_trial({"x": 7.0})
    with pytest.warns(UserWarning, match="value 7.0 is out of range"):
        ran(study, objective, 3)
    assert study.trials[0].params == {"x": 0.25, "shape": (8, 8)} and study.trials[0].user_attrs["open"] is open
    assert study.trials[3].params["x"] == 0.5 and study.trials[4].params["x"] == 7.0
    assert not [row for row in mirror(user, study)[1] if row["params"]["x"] > 1 and row["state"] == "COMPLETED"]


def test_study_by_ask_and_tell(user):
    def objective(trial):
        return trial.suggest_float(trial.suggest_categorical("of", ["x", "y"]), 0, 1)

    study = ran(sweepd.optuna.create_study(sampler=sweepd.optuna.Sampler("tpe", seed=1)), objective, 24)
    same_trials(user, study)
    trial = study.ask()
    assert study.tell(trial, value := objective(trial)).value == value
    study.tell(study.ask(), state=optuna.trial.TrialState.FAIL)
    assert [trial.state.name for trial in study.trials[24:]] == ["COMPLETE", "FAIL"]


def test_sweep_that_is_cancelled_ends_its_study(user):
    study = sweepd.optuna.create_study()
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=50,
                   callbacks=[lambda study, trial: user.cancel(study.sweep) if trial.number == 3 else None])
    assert len(study.trials) == 5  # the one that met it ran


@pytest.mark.parametrize("page", ["clients/python/README.md", "docs/coming-from.md"])
def test_block_of_the_docs_runs(user, tmp_path, page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
    block, = (block for block in blocks if block.startswith("import sweepd.optuna as optuna"))
    (tmp_path / "train.py").write_text("".join(block for block in blocks if block.startswith("import argparse")))
    (tmp_path / "block.py").write_text(block)
    done = subprocess.run([sys.executable, "block.py"], cwd=tmp_path, stdout=subprocess.PIPE, check=True, text=True,
                          env=environment(SWEEPD_SOCKET=user.socket, PYTHONPATH=PACKAGE))
    assert done.stdout.startswith("{")
    assert user.sweeps()[0]["state"] == "COMPLETED" and not user.sweeps()[0]["counts"]["FAILED"]


@pytest.mark.parametrize("low, high, step", [(0.0, 0.6, 0.1), (0.1, 0.7, 0.2), (0.05, 0.35, 0.05), (-0.3, 0.3, 0.1),
                                             (1, 9, 2), (0.0, 0.65, 0.1)])
def test_every_value_of_a_stepped_range_is_tried_and_is_optunas(user, low, high, step):
    """The best is the top, and a multiple of the step may be a little above it: 6 * 0.1 > 0.6."""
    def objective(trial):
        suggest = trial.suggest_int if isinstance(low, int) else trial.suggest_float
        return (suggest("x", low, high, step=step) - high) ** 2

    theirs = optuna.create_study(sampler=optuna.samplers.RandomSampler(1))
    theirs.optimize(objective, n_trials=100)
    study = sweepd.optuna.create_study(sampler=sweepd.optuna.Sampler(seed=1))
    study.optimize(objective, n_trials=25)
    study.enqueue_trial({"x": high if high != 0.65 else 0.6})
    study.optimize(objective, n_trials=1)
    assert {trial.params["x"] for trial in study.trials} == {trial.params["x"] for trial in theirs.trials}
    sweep, rows = mirror(user, study)
    assert (sweep["state"], sweep["counts"]["COMPLETED"], sweep["counts"]["FAILED"]) == ("COMPLETED", 26, 0)
    assert sorted(row["params"]["x"] for row in rows) == pytest.approx(sorted(trial.params["x"] for trial in study.trials))


def test_choices_that_equal_nothing_else_stay_apart(user):
    class Layer:
        pass

    apart = [Layer(), Layer()]
    for choices in (apart, [[Layer()], [Layer()]], [Layer(), None], [lambda: 1, lambda: 2]):
        def objective(trial):
            first, second = trial.suggest_categorical("first", choices), trial.suggest_categorical("second", apart)
            assert any(first is each for each in choices) and any(second is each for each in apart)
            return 2.0 * (first is choices[1]) + (second is apart[1]) + (
                trial.suggest_float("x", 0, 1) if first is choices[0] else 0)

        for sampler in (sweepd.optuna.Sampler(seed=1), optuna.samplers.RandomSampler(1)):
            study = sweepd.optuna.create_study(sampler=sampler)
            study.optimize(objective, n_trials=15)
            assert {trial.state.name for trial in study.trials} == {"COMPLETE"} and study.best_value < 1
            assert {int(trial.value) for trial in study.trials} == {0, 1, 2, 3}
            if study.sweep:
                sweep, rows = mirror(user, study)
                assert sweep["counts"]["COMPLETED"] == 15
                assert {row["value"] >= 2 for row in rows if row["params"]["first"] == rows[0]["params"]["first"]} == {
                    rows[0]["value"] >= 2}


def test_what_an_objective_returns_prunes_no_other_trial(user):
    """Optuna's median compares what was reported at a step; a returned value has none."""
    def objective(trial):
        trial.suggest_float("x", 0, 1)
        for epoch in range(3 if trial.number == 0 else 6):
            trial.report(1.0 if trial.number == 0 else 0.5, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned()
        return 0.1

    study = sweepd.optuna.create_study(pruner=sweepd.optuna.Pruner("median", n_startup_trials=1),
                                       sampler=optuna.samplers.RandomSampler(0))
    study.optimize(objective, n_trials=4)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 4
    same_trials(user, study)


def test_attribute_that_no_entry_can_have_stays_in_its_process(user):
    def objective(trial):
        for name, value in large.items():
            trial.set_user_attr(name, value)
        return trial.suggest_float("x", 0, 1)

    large = {"list": [0.123456789] * 100000, "text": '"' * 700000, "dict": {"a": [0.5] * 150000, "b": [0.5] * 150000}, "small": [1]}
    study = sweepd.optuna.create_study()
    with pytest.warns(UserWarning, match="stays in this process"):
        study.optimize(objective, n_trials=2)
    assert [trial.user_attrs for trial in study.trials] == [large] * 2
    done = subprocess.run([sys.executable, "-c", "import sys, sweepd.optuna as optuna\n"
                           "print([*map(len, optuna.load_study(study_name=sys.argv[1]).trials[0].user_attrs.values())])",
                           study.study_name], env=environment(SWEEPD_SOCKET=user.socket, PYTHONPATH=PACKAGE),
                          stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout == "[200, 200, 200, 1]\n"


def test_constraints_objectives_and_no_parameter(user):
    study = sweepd.optuna.create_study(sampler=sweepd.optuna.Sampler(
        constraints_func=lambda trial: (trial.params["x"] - 0.5,)))
    study.optimize(lambda trial: -trial.suggest_float("x", 0, 1), n_trials=15)
    study.optimize(lambda trial: -trial.suggest_float("x", 0, trial.suggest_int("most", 1, 1)), n_trials=1)  # in a wider one
    sweep, rows = mirror(user, study)
    assert {row["state"] == "INFEASIBLE" for row in rows if row["params"]["x"] > 0.5} == {True}
    assert user.best(sweep["sweep"])["value"] >= -0.5
    study = sweepd.optuna.create_study(directions=["minimize", "maximize"])
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)), n_trials=12)
    sweep, rows = mirror(user, study)
    assert {row["params"]["x"] for row in user.bests(sweep["sweep"])} == {trial.params["x"] for trial in study.best_trials}
    study = sweepd.optuna.create_study()
    study.optimize(lambda trial: trial.number, n_trials=3)
    assert [row["value"] for row in mirror(user, study)[1]] == [0, 1, 2]


def test_studies_that_the_daemon_keeps(user):
    names = [uuid.uuid4().hex for _ in range(3)]
    for name in names[:2]:
        sweepd.optuna.create_study(study_name=name).optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    assert sweepd.optuna.create_study(study_name=names[0]).study_name == names[0] + "-2"  # as the next run of a script
    again = sweepd.optuna.create_study(study_name=names[0], load_if_exists=True)
    again.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    assert len(again.trials) == len(sweepd.optuna.load_study(study_name=names[0]).trials) == 3
    assert again.sweep == mirror(user, again)[0]["sweep"]
    sweepd.optuna.copy_study(from_study_name=names[0], to_study_name=names[2])
    gone = sweepd.optuna.load_study(study_name=names[1])
    journals = [f"optuna/{names[1]}", sweepd.optuna._mirror.Mirror(gone, {}).journal.name]
    assert all(user.call("journal.read", journal=each)["entries"] for each in journals)
    sweepd.optuna.delete_study(study_name=names[1])
    assert not any(user.call("journal.read", journal=each)["entries"] for each in journals)
    assert {name for name in sweepd.optuna.get_all_study_names() if name in names} == {names[0], names[2]}
    with pytest.raises(KeyError):
        sweepd.optuna.load_study(study_name=names[1])
    anew = sweepd.optuna.create_study(study_name=names[1])
    anew.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    assert anew.study_name == names[1] and len(anew.trials) == 2
    sweepd.optuna.delete_study(study_name=names[1])
    summaries = {one.study_name: one.n_trials for one in sweepd.optuna.get_all_study_summaries()}
    assert summaries[names[0]] == summaries[names[2]] == 3 and names[1] not in summaries


SCRIPT = """
import sys
import sweepd.optuna as optuna
def objective(trial):
    kind = trial.suggest_categorical("kind", ["a", "b"])
    x = trial.suggest_float("x", -9, 9)
    return (x - 2) ** 2 + (trial.suggest_int("n", 1, 9) if kind == "a" else 0)
study = optuna.create_study(study_name="of three", load_if_exists=True)
print("begun", flush=True)
study.optimize(objective, n_trials=8)
"""


def script(socket, code, **how):
    return subprocess.Popen([sys.executable, "-c", code], env=environment(SWEEPD_SOCKET=socket, PYTHONPATH=PACKAGE), **how)


def test_choices_that_no_process_can_send_another(user):
    """Two runs of one script, the second of which finds the choices of the first."""
    code = """
import sweepd.optuna as optuna
class Power:
    def __call__(self, x):
        return x ** (3 + (self is choices[-1]))
choices = [abs, lambda x: x * x, lambda x: 3.5, None, Power(), Power()]
def objective(trial):
    of = trial.suggest_categorical("of", choices)
    assert any(of is each for each in choices)
    return of(-2) if of else trial.suggest_float("x", 1, 2)
study = optuna.create_study(study_name="objects", load_if_exists=True)
study.optimize(objective, n_trials=12)
"""
    for _ in range(2):
        assert script(user.socket, code).wait(300) == 0
    study = sweepd.optuna.load_study(study_name="objects")
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 24
    sweep, rows = mirror(user, study)
    assert sorted(row["value"] for row in rows) == sorted(trial.value for trial in study.trials)
    assert {row["params"]["of"] for row in rows} <= set(sweep["spec"]["parameters"]["of"]["values"])
    values = {0: {2}, 1: {4}, 2: {3.5}, 4: {-8}, 5: {16}}
    assert all(row["value"] in values.get(int(row["params"]["of"][0]), {row["value"]}) for row in rows), rows


@pytest.mark.parametrize("sampler", ["sweepd.optuna.Sampler(seed=1)", "optuna.samplers.RandomSampler(1)"])
@pytest.mark.parametrize("holds", ["", "return study"])
def test_sweep_of_a_plain_study_ends_with_its_script(user, sampler, holds):
    code = f"""
import tempfile
folder = tempfile.TemporaryDirectory()
import optuna, sweepd.optuna
def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    for step in range(2):
        trial.report(x, step)
        trial.should_prune()
    return x
def main():
    study = optuna.create_study(sampler={sampler}, pruner=sweepd.optuna.Pruner())
    study.optimize(objective, n_trials=3)
    {holds}
held = main()
"""
    assert script(user.socket, code).wait(300) == 0
    row = user.sweeps()[0]
    assert row["state"] == "COMPLETED" and row["counts"]["COMPLETED"] == 3, row


def test_processes_that_are_forked_have_trials_of_their_own(user):
    code = """
import os
import sweepd.optuna as optuna
study = optuna.create_study(study_name="forked")
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
for _ in range(3):
    if os.fork() == 0:
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=6)
        os._exit(0)
assert [os.wait()[1] for _ in range(3)] == [0, 0, 0]
"""
    assert script(user.socket, code).wait(300) == 0
    study = sweepd.optuna.load_study(study_name="forked")
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 19
    assert len({trial.value for trial in study.trials}) == 19
    same_trials(user, study)


def three(socket):
    """Three processes of one script, each with its study loaded."""
    processes = [script(socket, SCRIPT, stdout=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == b"begun\n"
    return processes


def test_narrower_sweep_goes_though_a_trial_of_it_was_lost(user):
    def two(trial):
        return trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1)

    code = """
import sys
import sweepd.optuna as optuna
def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    if trial.number == 2:
        print("begun", flush=True)
        sys.stdin.readline()
    return x
optuna.create_study(study_name="loses one").optimize(objective, n_trials=3)
"""
    process = script(user.socket, code, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGSTOP)
    try:
        narrower = next(row["sweep"] for row in user.sweeps() if row["name"] == "loses one")
        study = ran(sweepd.optuna.load_study(study_name="loses one"), two, 2)
        user.edit(narrower, lease_s=0.001)
        wait_until(lambda: user.trials(narrower, state="PENDING"), "a trial whose process is silent")
        ran(study, two, 1)
        assert [row["sweep"] for row in user.sweeps() if row["name"] == "loses one"] == [study.sweep] != [narrower]
    finally:
        process.send_signal(signal.SIGCONT)
    process.communicate(b"\n", 300)
    assert process.returncode == 0
    assert sorted(row["value"] for row in user.trials(study.sweep)) == sorted(trial.value for trial in study.trials)


@pytest.mark.parametrize("kills", [0, 3])
def test_three_processes_of_one_script_make_24_trials(tmp_path, monkeypatch, kills):
    daemon = Daemon(tmp_path).start()
    try:
        monkeypatch.setenv("SWEEPD_SOCKET", daemon.socket)
        processes = three(daemon.socket)
        for k in range(kills):
            wait_until(lambda: daemon.ready() and len(sweepd.optuna.load_study(study_name="of three").trials) > 4 * k,
                       "more trials")
            daemon.kill9()
            daemon.start()
        assert [process.wait(300) for process in processes] == [0, 0, 0]
        study = sweepd.optuna.load_study(study_name="of three")
        assert sorted(trial.number for trial in study.trials) == list(range(24))
        assert {trial.state.name for trial in study.trials} == {"COMPLETE"}
        with sweepd.Client(daemon.socket) as user:
            # An ask whose answer a kill took is a trial more, which nobody runs.
            rows = [row for row in mirror(user, study)[1] if row["state"] == "COMPLETED"]
            assert sorted(row["value"] for row in rows) == sorted(trial.value for trial in study.trials)
            if not kills:
                same_trials(user, study)
                assert len(user.sweeps()) == 1
    finally:
        for process in processes:
            process.kill()
            process.wait()
        daemon.stop()


def test_dashboard_lists_the_study_of_the_daemon():
    dashboard = pytest.importorskip("optuna_dashboard", reason="optuna-dashboard cannot be installed here")
    study = sweepd.optuna.create_study()
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    app = dashboard.wsgi(sweepd.optuna.Storage(f"optuna/{study.study_name}"))
    answer = b"".join(app({"REQUEST_METHOD": "GET", "PATH_INFO": "/api/studies", "wsgi.input": io.BytesIO(), "wsgi.errors": sys.stderr,
                           "SERVER_NAME": "here", "SERVER_PORT": "80", "wsgi.url_scheme": "http"}, lambda *_: None))
    assert [each["study_name"] for each in json.loads(answer)["study_summaries"]] == [study.study_name]

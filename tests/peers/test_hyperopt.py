"""sweepd.hyperopt beside hyperopt: the same names, shapes and values, and a sweep of each search."""
import math
import pickle

import pytest

hyperopt = pytest.importorskip("hyperopt", reason="hyperopt cannot be installed here")

import sweepd  # noqa: E402
from sweepd.hyperopt import (STATUS_FAIL, STATUS_OK, Trials, anneal, fmin, hp, rand, space_eval,  # noqa: E402
                             tpe)
from sweepd.hyperopt.early_stop import no_progress_loss  # noqa: E402
from sweepd.hyperopt.pyll.base import scope  # noqa: E402

SPACE = {
    "u": hp.uniform("u", -1, 1), "q": hp.quniform("q", 1, 10, 2), "lu": hp.loguniform("lu", -5, 0),
    "ql": hp.qloguniform("ql", 0, 4, 1), "n": hp.normal("n", 0, 2), "qn": hp.qnormal("qn", 0, 3, 1),
    "ln": hp.lognormal("ln", 0, 1), "r": hp.randint("r", 5), "r2": hp.randint("r2", 2, 9),
    "i": hp.uniformint("i", 1, 7), "p": hp.pchoice("p", [(0.2, "a"), (0.8, None)]),
    "model": hp.choice("model", [{"type": "svm", "C": hp.uniform("C", 0, 1)},
                                 {"type": "forest", "depth": scope.int(hp.quniform("depth", 2, 8, 1)),
                                  "how": hp.choice("how", [("x", hp.uniform("x", 0, 1)), "y"])}])}


@pytest.fixture(autouse=True)
def user(daemon):
    with sweepd.Client(daemon.socket) as client:
        yield client


def search(function, space, trials=None, **named):
    trials = Trials() if trials is None else trials
    best = fmin(function, space, trials=trials, show_progressbar=False, **named)
    return best, trials


def shape(value):
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    return [shape(each) for each in value] if isinstance(value, tuple) else type(value).__name__


@pytest.mark.parametrize("ours", [tpe.suggest, rand.suggest])
def test_objective_gets_points_of_the_same_kinds(ours):
    def kinds(suggest):
        seen = {}

        def objective(point):
            seen.setdefault((point["model"]["type"], str(point["model"].get("how"))[:1], point["p"]), shape(point))
            return point["u"]
        hyperopt.fmin(objective, SPACE, algo=suggest, max_evals=60, show_progressbar=False)
        return seen
    here, there = kinds(ours), kinds(hyperopt.rand.suggest)
    common = set(here) & set(there)
    assert len(common) >= 3 and {key: here[key] for key in common} == {key: there[key] for key in common}


def test_result_is_as_hyperopt_gives_it_and_a_sweep(user):
    def objective(point):
        """Its best is a forest."""
        return {"loss": point["u"] ** 2 + (point["model"]["type"] == "svm"), "status": STATUS_OK, "more": object()}
    best, trials = search(objective, SPACE, algo=tpe.suggest, max_evals=25)
    assert best == trials.argmin and best["model"] == 1 and "C" not in best
    point = space_eval(SPACE, best)
    assert point["model"]["type"] == "forest" and isinstance(point["model"]["depth"], int)
    assert len(trials.trials) == len(trials.losses()) == 25
    assert trials.best_trial["result"]["loss"] == min(trials.losses())
    assert all(1 <= value <= 10 and value % 2 == 0 for value in trials.vals["q"])
    row = next(row for row in user.sweeps() if row["name"] == "objective")
    q = user.call("sweep.get", sweep=row["sweep"])["spec"]["parameters"]["q"]
    assert (q["min"], q["max"]) == (2, 10)  # 0 comes of 1 itself alone
    assert row["state"] == "COMPLETED" and user.best(row["sweep"])["value"] == min(trials.losses())
    for told, doc in zip(user.trials(row["sweep"]), trials.trials):
        assert told["params"]["u"] == doc["misc"]["vals"]["u"][0]
        assert ("C" in told["params"]) == bool(doc["misc"]["vals"]["C"])


def test_daemon_learns_as_hyperopt_does():
    best, _ = search(lambda x: (x - 0.7) ** 2, hp.uniform("x", -5, 5), algo=tpe.suggest, max_evals=60)
    assert abs(best["x"] - 0.7) < 0.5


def test_same_trials_go_on_in_the_same_sweep(user, tmp_path):
    def grows(x):
        return x * x
    _, trials = search(grows, hp.uniform("x", -5, 5), max_evals=5)
    trials = pickle.loads(pickle.dumps(trials))
    search(grows, hp.uniform("x", -5, 5), trials, max_evals=9)
    assert len(trials) == 9
    row, = (row for row in user.sweeps() if row["name"] == "grows")
    assert row["counts"]["COMPLETED"] == 9 and row["state"] == "COMPLETED"


def test_fmin_of_trials_ends_its_sweep(user):
    def alone(x):
        return x
    Trials().fmin(alone, hp.uniform("x", 0, 1), algo=tpe.suggest, max_evals=4, show_progressbar=False)
    row, = (row for row in user.sweeps() if row["name"] == "alone")
    assert row["state"] == "COMPLETED" and row["counts"]["COMPLETED"] == 4


def test_points_thresholds_and_stops(tmp_path):
    seen = []
    best = fmin(lambda x: seen.append(x) or x * x, hp.uniform("x", -5, 5), max_evals=8, show_progressbar=False,
                points_to_evaluate=[{"x": 4.0}, {"x": 0.0}], trials_save_file=str(tmp_path / "saved"))
    assert seen[:2] == [4.0, 0.0] and best == {"x": 0.0} and (tmp_path / "saved").exists()
    assert len(search(lambda x: 1.0, hp.uniform("x", 0, 1), max_evals=50, early_stop_fn=no_progress_loss(5))[1]) < 10
    assert len(search(lambda x: x, hp.uniform("x", 0, 1), max_evals=50, loss_threshold=1)[1]) == 1
    assert len(search(lambda x: x, hp.uniform("x", 0, 1), algo=anneal.suggest, max_evals=4)[1]) == 4


def test_failures_and_nan_are_no_results(user):
    def fails(x):
        return {"status": STATUS_FAIL} if x < 0 else {"status": STATUS_OK, "loss": math.nan if x < 1 else x}
    best, trials = search(fails, hp.uniform("x", -5, 5), algo=rand.suggest, max_evals=12,
                          points_to_evaluate=None)
    row = next(row for row in user.sweeps() if row["name"] == "fails")
    good = [loss for loss in trials.losses() if loss is not None and loss == loss]
    assert row["counts"]["COMPLETED"] == len(good) and row["counts"]["INFEASIBLE"] == 12 - len(good)
    with pytest.raises(ZeroDivisionError):
        search(lambda x: 1 / 0, hp.uniform("x", -5, 5), max_evals=3)


def test_space_that_no_sweep_can_have_is_refused():
    with pytest.raises(sweepd.SweepdError, match="y: a parameter of uniform with numbers is needed"):
        search(lambda p: 0, {"y": hp.uniform("y", 0, hp.uniform("z", 1, 2))}, max_evals=3)

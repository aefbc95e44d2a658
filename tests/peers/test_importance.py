"""`sweep importance` beside Optuna's own PED-ANOVA, on the same trials of functions whose important parameters are known."""
import math

import pytest

optuna = pytest.importorskip("optuna", reason="Optuna cannot be installed here")

from optuna.distributions import CategoricalDistribution, FloatDistribution  # noqa: E402
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances  # noqa: E402

import sweepd  # noqa: E402

TRIALS = 300
UNIT = FloatDistribution(0.0, 1.0)
LOG = FloatDistribution(1e-6, 1.0, log=True)
KIND = CategoricalDistribution(["a", "b", "c", "d", "e"])
# what it is, the space, the function, the parameters that matter
FUNCTIONS = [
    ("one linear", [UNIT] * 5, lambda x: 10 * x[0] + x[1], [0]),
    ("two linear", [UNIT] * 5, lambda x: 10 * x[3] + 6 * x[1], [3, 1]),
    ("two together", [UNIT] * 5, lambda x: 1 - math.exp(-20 * ((x[0] - .5) ** 2 + (x[1] - .5) ** 2)), [0, 1]),
    ("a category", [KIND] + [UNIT] * 4, lambda x: (x[0] != "c") + .1 * x[1], [0]),
    ("a log scale", [LOG] + [UNIT] * 4, lambda x: abs(math.log10(x[0]) + 3) + .3 * x[1], [0]),
    ("one valley", [UNIT] * 5, lambda x: (x[2] - .3) ** 2, [2]),
]


def parameter(d):
    if isinstance(d, CategoricalDistribution):
        return {"values": list(d.choices)}
    return {"distribution": "log_uniform_values" if d.log else "uniform", "min": d.low, "max": d.high}


@pytest.mark.parametrize(["what", "space", "function", "matter"], FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_planted_parameters_come_first_here_as_there(daemon, what, space, function, matter):
    names = {f"p{k}": d for k, d in enumerate(space)}
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
    with sweepd.Client(daemon.socket) as client:
        sweep = client.submit({"name": what, "method": "random", "seed": 3, "run_cap": TRIALS,
                               "metric": {"name": "loss", "goal": "minimize"},
                               "parameters": {name: parameter(d) for name, d in names.items()}})
        for trial in client.loop(sweep):
            value = function([trial.params[name] for name in names])
            trial.report(1, loss=value)
            study.add_trial(optuna.trial.create_trial(params=trial.params, distributions=names, value=value))
        panel, = client.call("sweep.plot", sweep=sweep, plot="importance")["panels"]
    bars = panel["series"][0]
    ours = {panel["y"]["names"][round((y + y2) / 2)]: x2 for y, y2, x2 in zip(bars["y"], bars["y2"], bars["x2"])}
    theirs = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    planted = {f"p{k}" for k in matter}
    assert set(sorted(ours, key=ours.get, reverse=True)[:len(matter)]) == planted, (ours, theirs)
    # Optuna's smooths a category's chances: with five of them it puts the second parameter first.
    assert planted <= set(sorted(theirs, key=theirs.get, reverse=True)[:len(matter) + (KIND in space)]), (ours, theirs)
    if what == "two linear":
        assert max(ours, key=ours.get) == max(theirs, key=theirs.get) == "p3"

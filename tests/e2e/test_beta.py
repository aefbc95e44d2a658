"""Parameters that are drawn from a beta distribution, through everything that a client does."""
from harness import driven, sweep_command, trained, wait_until
from replays import database, replay
from search_model import PATIENT

REAL = {"distribution": "beta", "a": 2, "b": 5}
STEPS = {"distribution": "q_beta", "a": 0.5, "b": 0.5, "q": 0.1}
TENTHS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]


def spec(method, **more):
    parameters = {"s": STEPS} if method == "grid" else {"x": REAL, "s": STEPS}
    return driven(**{"method": method, "seed": 7, "run_cap": 11 if method == "grid" else 40,
                     "parameters": parameters, "suggest_wait_ms": PATIENT, **more})


def run(client, sweep):
    """Every trial, best at x = 0.2 and s = 1."""
    points = []
    while handed := client.ask(sweep, 2):
        for trial in handed:
            p = trial["params"]
            points.append(p)
            assert 0 < p.get("x", 0.5) < 1 and p["s"] in TENTHS, p
            client.tell(sweep, trial,
                        metrics={"loss": abs(p.get("x", 0.2) - 0.2) + 1 - p["s"]})
    return points


def test_every_method_draws_betas(daemon, client):
    points = {}
    for method in "random", "grid", "sobol", "tpe", "bayes":
        sweep = client.submit(spec(method))
        points[method] = run(client, sweep)
        got = client.sweep(sweep)
        assert got["state"] == "COMPLETED", method
        assert method not in ("tpe", "bayes") or got["best"]["value"] < 0.1, (method, got["best"])
    assert sorted(p["s"] for p in points["grid"]) == TENTHS
    assert sum(p["x"] < 0.51 for p in points["random"]) >= 30  # of a Beta(2, 5) nine tenths are
    status, lines, errors = replay(database(daemon))
    assert (status, errors) == (0, "") and all(line.endswith("all as stored") for line in lines), (lines, errors)


def test_defaults_are_uniform_as_wandb_has_them(client):
    sweep = client.submit(driven(run_cap=30, parameters={"x": {"distribution": "beta"},
                                                         "s": {"distribution": "q_beta"}}))
    points = [t["params"] for t in client.ask(sweep, 30)]
    assert min(p["x"] for p in points) < 0.3 and max(p["x"] for p in points) > 0.7
    assert {p["s"] for p in points} == {0, 1}


def test_refine_lists_points_between_the_best_quantiles(client):
    old = client.submit(spec("random"))
    run(client, old)
    sweep = client.submit({"name": "fine", "seed": 1, "refine": {"of": old, "top": 3, "points": 4}})
    got = client.sweep(sweep)["spec"]["parameters"]
    xs, steps = got["x"]["values"], got["s"]["values"]
    assert xs == sorted(xs) and len(xs) == 4 and 0 < xs[0] and xs[-1] < 1
    assert steps == sorted(set(steps)) and set(steps) <= set(TENTHS)


def test_range_of_a_beta_cannot_be_edited(daemon, client):
    sweep = client.submit(spec("random"))
    status, out, err = sweep_command(daemon, "edit", sweep, "--range", "x=0..0.5")
    assert status == 1 and err.count("\n") == 1 and "beta" in err
    error = client.refused("sweep.edit", sweep=sweep, ranges={"s": {"min": 0, "max": 0.5}})
    assert error.pointer == "/ranges/s" and "q_beta" in error.message


def test_trainer_takes_betas_where_it_takes_their_values(start):
    client = start("cpu:2").client()
    layers = [{"linear": 16}, "relu", {"dropout": "p"}, {"linear": 3}]
    parameters = {"lr": {"distribution": "beta", "a": 2, "b": 20},
                  "p": {"distribution": "beta", "a": 0.5, "b": 3}}
    spec = trained(layers=layers, parameters=parameters, epochs=4, run_cap=4)
    population = {**spec, "early_terminate": {"type": "pbt", "perturbation_interval": 1,
                                              "quantile_fraction": 0.5}}
    sweeps = [client.submit(spec), client.submit(population)]
    for sweep in sweeps:
        wait_until(lambda: client.sweep(sweep)["state"] == "COMPLETED", "the end")
        assert client.sweep(sweep)["counts"]["FAILED"] == 0, client.trials(sweep)
        assert all(0 < t["params"][k] < 1 for t in client.trials(sweep) for k in ("lr", "p"))
    assert client.sweep(sweeps[0])["counts"]["COMPLETED"] == 4
    assert len(client.trials(sweeps[1])) > 4  # children: theirs are changed, not drawn
    parameters["p"] = {"distribution": "q_beta", "q": 0.25}  # which may be 1
    error = client.refused("sweep.submit", spec={**spec, "parameters": parameters})
    assert error.pointer.endswith("/trainer/model/2/dropout") and "below 1" in error.message

from hyperopt import STATUS_OK, Trials, fmin, hp, tpe

space = {
    "x": hp.uniform("x", -5, 5),
    "model": hp.choice("model", [{"type": "linear"}, {"type": "forest", "depth": hp.quniform("depth", 2, 8, 1)}]),
}


def objective(params):
    depth = params["model"].get("depth", 1)
    return {"loss": (params["x"] - 1) ** 2 + 1 / depth, "status": STATUS_OK}


trials = Trials()
best = fmin(objective, space, algo=tpe.suggest, max_evals=20, trials=trials)
print(best, trials.best_trial["result"]["loss"])

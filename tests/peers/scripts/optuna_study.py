import optuna


def objective(trial):
    x = trial.suggest_float("x", -10, 10)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    y = trial.suggest_int("y", 0, 5) if kind == "b" else 3
    for step in range(5):
        trial.report(x ** 2 + y + 5 - step, step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return x ** 2 + y


study = optuna.create_study(direction="minimize")
study.optimize(objective, n_trials=20)
print(study.best_params, study.best_value)

"""A script as a user of Optuna has it: a small network by hand on two moons, define-by-run, with pruning."""
import math
import random

import optuna
from optuna.trial import TrialState

POINTS = 80
EPOCHS = 12


def moons(seed):
    rng = random.Random(seed)
    rows = []
    for i in range(POINTS):
        label, angle = i % 2, rng.uniform(0, math.pi)
        x, y = (math.cos(angle), math.sin(angle)) if label == 0 else (1 - math.cos(angle), 0.5 - math.sin(angle))
        rows.append(((x + rng.gauss(0, 0.1), y + rng.gauss(0, 0.1)), label))
    return rows


class Net:
    """One hidden layer, one output, plain gradient descent."""

    def __init__(self, hidden, activation, rng):
        self.w = [[rng.gauss(0, 1), rng.gauss(0, 1), 0.0] for _ in range(hidden)]
        self.v = [rng.gauss(0, 0.5) for _ in range(hidden + 1)]
        self.activation = activation

    def forward(self, point):
        sums = [w[0] * point[0] + w[1] * point[1] + w[2] for w in self.w]
        hidden = [math.tanh(s) if self.activation == "tanh" else max(0.0, s) for s in sums]
        total = sum(v * h for v, h in zip(self.v, hidden)) + self.v[-1]
        return hidden, 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))

    def step(self, point, label, lr):
        hidden, output = self.forward(point)
        error = output - label
        for j, (w, h) in enumerate(zip(self.w, hidden)):
            slope = 1 - h * h if self.activation == "tanh" else float(h > 0)
            back = error * self.v[j] * slope
            self.v[j] -= lr * error * h
            w[0] -= lr * back * point[0]
            w[1] -= lr * back * point[1]
            w[2] -= lr * back
        self.v[-1] -= lr * error


def objective(trial):
    hidden = trial.suggest_int("hidden", 1, 16, log=True)
    activation = trial.suggest_categorical("activation", ["tanh", "relu"])
    optimizer = trial.suggest_categorical("optimizer", ["plain", "decay"])
    lr = trial.suggest_float("lr", 1e-4, 1.0, log=True)
    decay = trial.suggest_float("decay", 0.5, 1.0) if optimizer == "decay" else 1.0
    train, valid = moons(1), moons(2)
    net = Net(hidden, activation, random.Random(0))
    accuracy = 0.0
    for epoch in range(EPOCHS):
        for point, label in train:
            net.step(point, label, lr)
        lr *= decay
        accuracy = sum((net.forward(point)[1] > 0.5) == (label == 1) for point, label in valid) / len(valid)
        trial.report(accuracy, epoch)
        if trial.should_prune():
            raise optuna.exceptions.TrialPruned()
    return accuracy


if __name__ == "__main__":
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=10),
                                pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=2))
    study.enqueue_trial({"hidden": 8, "lr": 0.1})
    study.optimize(objective, n_trials=30, timeout=600)

    pruned = study.get_trials(deepcopy=False, states=[TrialState.PRUNED])
    complete = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    print("Study statistics: ")
    print("  Number of finished trials: ", len(study.trials))
    print("  Number of pruned trials: ", len(pruned))
    print("  Number of complete trials: ", len(complete))
    print("Best trial:")
    trial = study.best_trial
    print("  Value: ", trial.value)
    print("  Params: ")
    for key, value in trial.params.items():
        print("    {}: {}".format(key, value))

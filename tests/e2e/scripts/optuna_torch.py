"""A script as a user of Optuna and PyTorch has it: the number of layers, the optimizer and lr, with pruning."""
import sys

import optuna
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from optuna.trial import TrialState
from torch.utils.data import DataLoader, TensorDataset, random_split

CLASSES = 10
EPOCHS = 6


def define_model(trial):
    layers = []
    in_features = 28 * 28
    for i in range(trial.suggest_int("n_layers", 1, 3)):
        out_features = trial.suggest_int("n_units_l{}".format(i), 4, 64)
        layers.append(nn.Linear(in_features, out_features))
        layers.append(nn.ReLU())
        p = trial.suggest_float("dropout_l{}".format(i), 0.2, 0.5)
        layers.append(nn.Dropout(p))
        in_features = out_features
    layers.append(nn.Linear(in_features, CLASSES))
    return nn.Sequential(*layers)


def get_data():
    torch.manual_seed(0)
    labels = torch.randint(0, CLASSES, (160,))
    images = torch.randn(160, 28 * 28) + (labels.float().view(160, 1) - 4.5) / 3
    return random_split(TensorDataset(images, labels), [120, 40])


def objective(trial):
    model = define_model(trial)
    optimizer_name = trial.suggest_categorical("optimizer", ["Adam", "RMSprop", "SGD"])
    lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    optimizer = getattr(optim, optimizer_name)(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    train_data, valid_data = get_data()
    accuracy = 0.0
    for epoch in range(EPOCHS):
        model.train()
        for data, target in DataLoader(train_data, batch_size=20, shuffle=True):
            optimizer.zero_grad()
            loss = criterion(model(F.relu(data)), target)
            loss.backward()
            optimizer.step()
        model.eval()
        correct, total = 0, 0
        with torch.no_grad():
            for data, target in DataLoader(valid_data, batch_size=20):
                output = model(F.relu(data))
                criterion(output, target)
                _, predicted = torch.max(output, 1)
                correct += (predicted == target).sum().item()
                total += len(target)
        accuracy = correct / total
        trial.report(accuracy, epoch)
        if trial.should_prune():
            raise optuna.exceptions.TrialPruned()
    return accuracy


if __name__ == "__main__":
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=4))
    study.optimize(objective, n_trials=int(sys.argv[1]), timeout=600)

    pruned_trials = study.get_trials(deepcopy=False, states=[TrialState.PRUNED])
    complete_trials = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    print("Study statistics: ")
    print("  Number of finished trials: ", len(study.trials))
    print("  Number of pruned trials: ", len(pruned_trials))
    print("  Number of complete trials: ", len(complete_trials))
    print("Best trial:")
    trial = study.best_trial
    print("  Value: ", trial.value)
    for key, value in trial.params.items():
        print("    {}: {}".format(key, value))

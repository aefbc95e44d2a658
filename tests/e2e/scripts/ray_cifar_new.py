"""The same in the newer form: Tuner, Checkpoint.from_directory, get_checkpoint, train.report."""
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset, random_split

import ray
import ray.cloudpickle as pickle
from ray import train, tune
from ray.train import Checkpoint, get_checkpoint
from ray.tune.schedulers import ASHAScheduler


def load_data():
    torch.manual_seed(0)
    labels = torch.randint(0, 10, (128,))
    images = torch.randn(128, 3, 32, 32) + (labels.float().view(128, 1, 1, 1) - 4.5) / 3
    return TensorDataset(images, labels)


class Net(nn.Module):
    def __init__(self, l1=120, l2=84):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(4, 4)
        self.fc1 = nn.Linear(6 * 7 * 7, l1)
        self.fc2 = nn.Linear(l1, l2)
        self.fc3 = nn.Linear(l2, 10)

    def forward(self, x):
        x = torch.flatten(self.pool(F.relu(self.conv(x))), 1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def train_cifar(config, data=None, max_epochs=10):
    net = Net(config["net"]["l1"], config["net"]["l2"])
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=config["lr"], momentum=0.9)
    start_epoch = 0

    checkpoint = get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            with open(Path(folder) / "data.pkl", "rb") as fp:
                state = pickle.load(fp)
        start_epoch = state["epoch"] + 1
        net.load_state_dict(state["net_state_dict"])
        optimizer.load_state_dict(state["optimizer_state_dict"])

    share = int(len(data) * 0.8)
    train_part, val_part = random_split(data, [share, len(data) - share])
    trainloader = DataLoader(train_part, batch_size=config["batch_size"], shuffle=True)
    valloader = DataLoader(val_part, batch_size=config["batch_size"], shuffle=True)

    for epoch in range(start_epoch, max_epochs):
        for inputs, labels in trainloader:
            optimizer.zero_grad()
            loss = criterion(net(inputs), labels)
            loss.backward()
            optimizer.step()
        val_loss, steps, total, correct = 0.0, 0, 0, 0
        with torch.no_grad():
            for inputs, labels in valloader:
                outputs = net(inputs)
                _, predicted = torch.max(outputs.data, 1)
                total += labels.size(0)
                correct += (predicted == labels).sum().item()
                val_loss += criterion(outputs, labels).cpu().numpy()
                steps += 1
        state = {"epoch": epoch, "net_state_dict": net.state_dict(), "optimizer_state_dict": optimizer.state_dict()}
        with tempfile.TemporaryDirectory() as folder:
            with open(Path(folder) / "data.pkl", "wb") as fp:
                pickle.dump(state, fp)
            train.report({"loss": val_loss / steps, "accuracy": correct / total},
                         checkpoint=Checkpoint.from_directory(folder))


def main(num_samples, max_num_epochs):
    ray.init(num_cpus=2)
    scheduler = ASHAScheduler(max_t=max_num_epochs, grace_period=1, reduction_factor=2)
    tuner = tune.Tuner(
        tune.with_resources(tune.with_parameters(train_cifar, data=load_data(), max_epochs=max_num_epochs),
                            resources={"cpu": 1, "gpu": 0}),
        tune_config=tune.TuneConfig(metric="loss", mode="min", scheduler=scheduler, num_samples=num_samples),
        run_config=train.RunConfig(name="cifar", checkpoint_config=train.CheckpointConfig(num_to_keep=1)),
        param_space={
            "net": {"l1": tune.choice([2 ** i for i in range(2, 7)]), "l2": tune.choice([2 ** i for i in range(2, 7)])},
            "lr": tune.loguniform(1e-4, 1e-1),
            "batch_size": tune.choice([8, 16]),
        })
    results = tuner.fit()

    best_result = results.get_best_result("loss", "min")
    print("Best trial config: {}".format(best_result.config))
    print("Best trial final validation loss: {}".format(best_result.metrics["loss"]))
    print("Best trial final validation accuracy: {}".format(best_result.metrics["accuracy"]))
    best_model = Net(best_result.config["net"]["l1"], best_result.config["net"]["l2"])
    with open(os.path.join(best_result.checkpoint.to_directory(), "data.pkl"), "rb") as fp:
        state = pickle.load(fp)
    best_model.load_state_dict(state["net_state_dict"])
    print("Best trial last epoch: {}".format(state["epoch"]))


if __name__ == "__main__":
    main(num_samples=int(sys.argv[1]), max_num_epochs=int(sys.argv[2]))

"""A script as a user of Ray Tune has it, in the older form: tune.run, checkpoint_dir, resources_per_trial."""
import os
import sys
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset, random_split

from ray import tune
from ray.tune import CLIReporter
from ray.tune.schedulers import ASHAScheduler


def load_data(data_dir=None):
    """Images of CIFAR's shape, whose mean tells the class."""
    torch.manual_seed(0)

    def fake(rows):
        labels = torch.randint(0, 10, (rows,))
        images = torch.randn(rows, 3, 32, 32) + (labels.float().view(rows, 1, 1, 1) - 4.5) / 3
        return TensorDataset(images, labels)

    return fake(128), fake(32)


class Net(nn.Module):
    def __init__(self, l1=120, l2=84):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, l1)
        self.fc2 = nn.Linear(l1, l2)
        self.fc3 = nn.Linear(l2, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def train_cifar(config, checkpoint_dir=None, data_dir=None, max_epochs=10):
    net = Net(config["l1"], config["l2"])
    device = "cpu"
    if torch.cuda.is_available():
        device = "cuda:0"
    net.to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=config["lr"], momentum=0.9)

    if checkpoint_dir:
        model_state, optimizer_state = torch.load(os.path.join(checkpoint_dir, "checkpoint"))
        net.load_state_dict(model_state)
        optimizer.load_state_dict(optimizer_state)

    trainset, _ = load_data(data_dir)
    share = int(len(trainset) * 0.8)
    train_part, val_part = random_split(trainset, [share, len(trainset) - share])
    trainloader = DataLoader(train_part, batch_size=int(config["batch_size"]), shuffle=True)
    valloader = DataLoader(val_part, batch_size=int(config["batch_size"]), shuffle=True)

    for epoch in range(max_epochs):
        for inputs, labels in trainloader:
            inputs, labels = inputs.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = criterion(net(inputs), labels)
            loss.backward()
            optimizer.step()

        val_loss, steps, total, correct = 0.0, 0, 0, 0
        for inputs, labels in valloader:
            with torch.no_grad():
                inputs, labels = inputs.to(device), labels.to(device)
                outputs = net(inputs)
                _, predicted = torch.max(outputs.data, 1)
                total += labels.size(0)
                correct += (predicted == labels).sum().item()
                val_loss += criterion(outputs, labels).cpu().numpy()
                steps += 1

        with tune.checkpoint_dir(epoch) as folder:
            path = os.path.join(folder, "checkpoint")
            torch.save((net.state_dict(), optimizer.state_dict()), path)

        tune.report(loss=(val_loss / steps), accuracy=correct / total)
    print("Finished Training")


def test_accuracy(net, device="cpu"):
    _, testset = load_data()
    correct, total = 0, 0
    with torch.no_grad():
        for images, labels in DataLoader(testset, batch_size=4, shuffle=False):
            outputs = net(images.to(device))
            _, predicted = torch.max(outputs.data, 1)
            total += labels.size(0)
            correct += (predicted == labels.to(device)).sum().item()
    return correct / total


def main(num_samples=10, max_num_epochs=10, gpus_per_trial=0):
    data_dir = os.path.abspath("./data")
    load_data(data_dir)
    config = {
        "l1": tune.sample_from(lambda _: 2 ** torch.randint(2, 7, (1,)).item()),
        "l2": tune.choice([4, 8, 16, 32]),
        "lr": tune.loguniform(1e-4, 1e-1),
        "batch_size": tune.choice([8, 16, 32]),
    }
    scheduler = ASHAScheduler(metric="loss", mode="min", max_t=max_num_epochs, grace_period=1, reduction_factor=2)
    reporter = CLIReporter(metric_columns=["loss", "accuracy", "training_iteration"])
    result = tune.run(
        partial(train_cifar, data_dir=data_dir, max_epochs=max_num_epochs),
        resources_per_trial={"cpu": 1, "gpu": gpus_per_trial},
        config=config,
        num_samples=num_samples,
        scheduler=scheduler,
        progress_reporter=reporter)

    best_trial = result.get_best_trial("loss", "min", "last")
    print("Best trial config: {}".format(best_trial.config))
    print("Best trial final validation loss: {}".format(best_trial.last_result["loss"]))
    print("Best trial final validation accuracy: {}".format(best_trial.last_result["accuracy"]))

    best_trained_model = Net(best_trial.config["l1"], best_trial.config["l2"])
    best_checkpoint_dir = best_trial.checkpoint.value
    model_state, optimizer_state = torch.load(os.path.join(best_checkpoint_dir, "checkpoint"))
    best_trained_model.load_state_dict(model_state)
    print("Best trial test set accuracy: {}".format(test_accuracy(best_trained_model)))


if __name__ == "__main__":
    main(num_samples=int(sys.argv[1]), max_num_epochs=int(sys.argv[2]), gpus_per_trial=0)

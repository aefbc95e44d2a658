"""bench/programs.py's trial: a net on digits, one way or another.

    programs_net.py --lr=... --hidden=...          as a `program` of sweepd
    programs_net.py tune SOCKET TRIALS PROCESSES   sweepd.tune
    programs_net.py optuna STORAGE TRIALS          one of several Optuna processes, which share the storage

Each prints when a trial's function began, with all imported.
"""
import os
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    import heavy  # what bench/programs.py makes where there is no PyTorch
    torch = None

STARTED = time.time()
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EPOCHS, BATCH = 9, 32


def train(lr, hidden, report):
    """Reports the loss of each epoch."""
    if torch is None:
        heavy.step()  # loads more, as PyTorch's first step does
        for epoch in range(1, EPOCHS + 1):
            report(epoch, sum(i * lr for i in range(30000)) % 1 / epoch + 1 / hidden)
        return
    torch.set_num_threads(1)
    with open(os.path.join(ROOT, "data", "digits.csv"), encoding="ascii") as file:
        rows = torch.tensor([[float(v) for v in line.split(",")] for line in file if line[0].isdigit()])
    x, y = rows[:, :-1] / 16, rows[:, -1].long()
    net = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    for epoch in range(1, EPOCHS + 1):
        for at in range(0, 1500, BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[at:at + BATCH]), y[at:at + BATCH]).backward()
            optimizer.step()
        with torch.no_grad():
            report(epoch, nn.functional.cross_entropy(net(x[1500:]), y[1500:]).item())


def report_to_sweepd(epoch, loss):
    import sweepd
    sweepd.report(epoch, loss=loss)


def as_program():
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float)
    parser.add_argument("--hidden", type=int)
    args = parser.parse_args()
    print("started", STARTED, flush=True)
    train(args.lr, args.hidden, report_to_sweepd)


def as_tune(socket, trials, processes):
    import sweepd

    def fn(params):
        train(params["lr"], params["hidden"], report_to_sweepd)

    sweepd.tune(fn, {"lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1e-1},
                     "hidden": {"distribution": "int_uniform", "min": 16, "max": 128}},
                method="random", seed=1, run_cap=trials, n=processes, client=sweepd.Client(socket),
                early_terminate={"type": "asha", "grace_period": 1, "reduction_factor": 3, "max_t": EPOCHS})


def as_optuna(storage, trials):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial):
        last = []

        def report(epoch, loss):
            last[:] = [loss]
            trial.report(loss, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        train(trial.suggest_float("lr", 1e-4, 1e-1, log=True), trial.suggest_int("hidden", 16, 128), report)
        return last[0]

    journal = optuna.storages.journal
    study = optuna.create_study(
        study_name="bench", load_if_exists=True, storage=optuna.storages.JournalStorage(journal.JournalFileBackend(storage)),
        sampler=optuna.samplers.RandomSampler(),
        pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3))
    study.optimize(objective, callbacks=[optuna.study.MaxTrialsCallback(trials, states=None)])


if __name__ == "__main__":
    if sys.argv[1] == "tune":
        as_tune(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1] == "optuna":
        as_optuna(sys.argv[2], int(sys.argv[3]))
    else:
        as_program()

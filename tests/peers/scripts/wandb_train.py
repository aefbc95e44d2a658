import random

import wandb

with wandb.init(project="demo", config={"lr": 0.01, "epochs": 5}) as run:
    loss = 1.0
    for epoch in range(run.config.epochs):
        loss = loss * (1 - min(run.config.lr * 10, 0.9)) + random.random() * 0.001
        run.log({"epoch": epoch, "val": {"loss": loss}})
    run.summary["final"] = loss

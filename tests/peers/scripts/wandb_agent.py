import wandb

sweep_configuration = {
    "method": "random",
    "metric": {"goal": "minimize", "name": "score"},
    "parameters": {"x": {"max": 0.1, "min": 0.01}, "y": {"values": [1, 3, 7]}},
}


def main():
    with wandb.init(project="my-first-sweep") as run:
        run.log({"score": run.config.x ** 3 + run.config.y})


sweep_id = wandb.sweep(sweep=sweep_configuration, project="my-first-sweep")
wandb.agent(sweep_id, function=main, count=10)

import os
import tempfile

from ray import tune
from ray.tune.schedulers import ASHAScheduler


def train_fn(config):
    loss, start = 10.0, 1
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder, open(os.path.join(folder, "step")) as file:
            start = int(file.read()) + 1
    for step in range(start, 10):
        loss = (config["lr"] - 0.01) ** 2 + config["layers"] / step
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "step"), "w") as file:
                file.write(str(step))
            tune.report({"loss": loss}, checkpoint=tune.Checkpoint.from_directory(folder))


if __name__ == "__main__":
    tuner = tune.Tuner(
        tune.with_resources(train_fn, {"cpu": 1}),
        param_space={"lr": tune.loguniform(1e-4, 1e-1), "layers": tune.choice([1, 2, 3])},
        tune_config=tune.TuneConfig(metric="loss", mode="min", num_samples=8, scheduler=ASHAScheduler(max_t=9)),
        run_config=tune.RunConfig(name="demo"),
    )
    best = tuner.fit().get_best_result()
    print("best", best.config, best.metrics["loss"], best.checkpoint)

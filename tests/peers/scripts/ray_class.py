import json
import os

import ray
from ray import tune


class MyTrainable(tune.Trainable):
    def setup(self, config):
        self.x = 0.0
        self.lr = config["lr"]

    def step(self):
        self.x += self.lr * (2 - self.x)
        return {"score": -abs(self.x - 2)}

    def save_checkpoint(self, checkpoint_dir):
        with open(os.path.join(checkpoint_dir, "state.json"), "w") as file:
            json.dump({"x": self.x}, file)

    def load_checkpoint(self, checkpoint_dir):
        with open(os.path.join(checkpoint_dir, "state.json")) as file:
            self.x = json.load(file)["x"]


if __name__ == "__main__":
    ray.init(num_cpus=2)
    analysis = tune.run(MyTrainable, config={"lr": tune.grid_search([0.1, 0.3, 0.5])}, stop={"training_iteration": 5},
                        metric="score", mode="max", checkpoint_at_end=True)
    print(analysis.best_config, analysis.best_checkpoint)

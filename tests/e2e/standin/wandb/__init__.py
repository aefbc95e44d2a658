"""Stands in for W&B's package where that is not installed: what a script and the hook see of it, and no more. As the
real one it takes the sweep's parameters from the file that WANDB_SWEEP_PARAM_PATH names."""
import json
import os

config = run = log = finish = None


class Config(dict):
    __getattr__ = dict.__getitem__


class Run:
    def __init__(self, given):
        with open(os.environ["WANDB_SWEEP_PARAM_PATH"], encoding="utf-8") as file:  # YAML that is JSON line by line
            swept = {name: value["value"] for line in file for name, value in json.loads("{" + line + "}").items()}
        object.__setattr__(self, "config", Config({**given, **swept}))
        object.__setattr__(self, "summary", {})

    def __setattr__(self, name, value):
        if name not in ("log", "finish", "_finish"):  # the real one takes no name that it has not
            raise Exception(f"Attribute {name} is not supported on Run object.")
        object.__setattr__(self, name, value)

    def log(self, data, step=None, commit=None):
        self.summary.update(data)

    def finish(self, exit_code=None):
        self._finish(exit_code)

    def _finish(self, exit_code=None):
        object.__setattr__(self, "summary", {})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._finish()


def init(project=None, config=None, **settings):
    global run, log, finish
    if run is None:
        run = Run(config or {})
        globals()["config"], log, finish = run.config, run.log, run.finish
    return run

"""LightGBM's."""
from __future__ import annotations

import functools
import os
from typing import Any

import lightgbm  # type: ignore

from sweepd.ray.integration._report import Metrics, send


class TuneReportCheckpointCallback:
    """Reports each round's evaluations, with the model every `frequency` rounds and at the end."""

    order = 20

    def __init__(self, metrics: Metrics = None, filename: str = "model.txt", frequency: int = 5,
                 checkpoint_at_end: bool = True, results_postprocessing_fn: Any = None) -> None:
        self.metrics, self.filename, self.frequency, self.at_end = metrics, filename, frequency, checkpoint_at_end
        self.change = results_postprocessing_fn

    def __call__(self, env: Any) -> None:
        given = {}
        for data, name, value, _, *deviation in env.evaluation_result_list:  # the last in lightgbm.cv() alone
            given[f"{data}-{name}{'-mean' if deviation else ''}"] = value
            if deviation:
                given[f"{data}-{name}-stdv"] = deviation[0]
        done = env.iteration + 1
        due = isinstance(env.model, lightgbm.Booster) and (
            self.frequency > 0 and done % self.frequency == 0 or self.at_end and done == env.end_iteration)
        send(self.metrics, self.change(given) if self.change else given,
             (lambda folder: env.model.save_model(os.path.join(folder, self.filename))) if due else None)

    @classmethod
    def get_model(cls, checkpoint: Any, filename: str = "model.txt") -> Any:
        """The model of a checkpoint."""
        return lightgbm.Booster(model_file=os.path.join(checkpoint, filename))


TuneReportCallback = functools.partial(TuneReportCheckpointCallback, frequency=0, checkpoint_at_end=False)

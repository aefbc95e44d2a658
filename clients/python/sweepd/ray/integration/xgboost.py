"""XGBoost's."""
from __future__ import annotations

import functools
import os
from typing import Any, Callable, Dict, Optional

import xgboost  # type: ignore

from sweepd.ray.integration._report import Metrics, send


class TuneReportCheckpointCallback(xgboost.callback.TrainingCallback):  # type: ignore[misc]
    """Reports each round's evaluations, with the model every `frequency` rounds and at the end."""

    def __init__(self, metrics: Metrics = None, filename: str = "model.ubj", frequency: int = 5,
                 checkpoint_at_end: bool = True,
                 results_postprocessing_fn: Optional[Callable[[Dict[str, Any]], Dict[str, float]]] = None) -> None:
        self.metrics, self.filename, self.frequency, self.at_end = metrics, filename, frequency, checkpoint_at_end
        self.change = results_postprocessing_fn
        self.last: Optional[Dict[str, Any]] = None  # of a round without a checkpoint

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """XGBoost calls it after a round. In xgboost.cv() a value is that of all folds: a mean, and its deviation."""
        given = {f"{data}-{name}": values[-1] for data, log in evals_log.items() for name, values in log.items()}
        if self.change:
            given = self.change(given)
        given = {name: value[0] if isinstance(value, tuple) else value for name, value in given.items()}
        due = self.frequency > 0 and (epoch + 1) % self.frequency == 0 and hasattr(model, "save_model")
        self.last = None if due else given
        send(self.metrics, given, (lambda folder: self._save(model, folder)) if due else None)
        return False

    def after_training(self, model: Any) -> Any:
        """XGBoost calls it at the end."""
        if self.at_end and self.last is not None and hasattr(model, "save_model"):
            send(self.metrics, self.last, lambda folder: self._save(model, folder))
        return model

    def _save(self, model: Any, folder: str) -> None:
        model.save_model(os.path.join(folder, self.filename))

    @classmethod
    def get_model(cls, checkpoint: Any, filename: str = "model.ubj") -> Any:
        """The model of a checkpoint."""
        model = xgboost.Booster()
        model.load_model(os.path.join(checkpoint, filename))
        return model


TuneReportCallback = functools.partial(TuneReportCheckpointCallback, frequency=0, checkpoint_at_end=False)

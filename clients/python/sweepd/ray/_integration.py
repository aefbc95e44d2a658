"""The callbacks of ray.tune.integration and ray.air.integrations: a module for each library, and its names. The library
is not imported before a callback is made."""
import functools
import importlib
import os
import tempfile
from typing import Any, Callable, Dict, Mapping, Optional

from ..callbacks import KerasCallback, LightningCallback, _Callback, _chosen
from .._wire import flat
from ._callbacks import KeptAnyway
from ._results import Checkpoint
from ._session import report


class Reporting(_Callback):
    """`metrics`: names of what the library gives, or {yours: theirs}; default: all. `filename`: of the model."""

    def __init__(self, metrics: Any, filename: str) -> None:
        super().__init__([metrics] if isinstance(metrics, str) else metrics)
        self.filename = filename

    def send(self, given: Mapping[str, Any], save: Optional[Callable[[str], Any]] = None) -> None:
        """Reports, with a checkpoint if there is a `save`, which writes the file."""
        if save is None:
            report(_chosen(self.metrics, given))
            return
        with tempfile.TemporaryDirectory() as folder:
            save(os.path.join(folder, self.filename))
            report(_chosen(self.metrics, given), checkpoint=Checkpoint(folder))


class Keras(Reporting):
    """Reports the logs of each epoch, with the model. `on`: "epoch_end", where Ray has more."""

    bases = KerasCallback.bases

    def __init__(self, metrics: Any = None, filename: str = "model.keras", on: Any = "epoch_end",
                 checkpoint_on: Any = "epoch_end", report_metrics_on: Any = None, **_: Any) -> None:
        super().__init__(metrics, filename)
        if (report_metrics_on or on) not in ("epoch_end", ["epoch_end"]):
            raise NotImplementedError(f"on={report_metrics_on or on!r} is not carried over: \"epoch_end\" is")
        self.saves = bool(checkpoint_on)

    def on_epoch_end(self, epoch: int, logs: Optional[Mapping[str, Any]] = None) -> None:
        self.send(logs or {}, self.model.save if self.saves else None)  # type: ignore[attr-defined]


class Lightning(Reporting):
    """Reports the logged metrics, with the trainer's checkpoint, whenever Lightning calls on_NAME (`on`)."""

    bases = LightningCallback.bases

    def __init__(self, metrics: Any = None, filename: str = "checkpoint", save_checkpoints: bool = True,
                 on: Any = "validation_end") -> None:
        super().__init__(metrics, filename)
        self.saves = save_checkpoints
        for name in [on] if isinstance(on, str) else on:
            setattr(self, f"on_{name}", self._heard)

    def _heard(self, trainer: Any, *_: Any) -> None:
        if not trainer.sanity_checking:
            self.send(trainer.callback_metrics, trainer.save_checkpoint if self.saves else None)


class Boosting(Reporting):
    """Reports each round's evaluations, with the model every `frequency` rounds and at the end."""

    library = file = ""

    def __init__(self, metrics: Any = None, filename: str = "", frequency: int = 5, checkpoint_at_end: bool = True,
                 results_postprocessing_fn: Optional[Callable[[Dict[str, Any]], Dict[str, float]]] = None) -> None:
        super().__init__(metrics, filename or self.file)
        self.frequency, self.at_end = frequency, checkpoint_at_end
        self.change = results_postprocessing_fn or dict

    def due(self, done: int) -> bool:
        """Does this round have a checkpoint?"""
        return self.frequency > 0 and done % self.frequency == 0

    @classmethod
    def get_model(cls, checkpoint: Any, filename: str = "") -> Any:
        """The model of a checkpoint."""
        booster = importlib.import_module(cls.library).Booster
        return booster(model_file=os.path.join(checkpoint, filename or cls.file))


class XGBoost(Boosting):
    """In xgboost.cv() a value is that of all folds: a mean, and its deviation."""

    bases = ("xgboost.callback.TrainingCallback",)
    library, file = "xgboost", "model.ubj"
    last: Optional[Dict[str, Any]] = None  # of a round without a checkpoint

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        given = self.change({name: values[-1] for name, values in flat(evals_log, "-").items()})
        given = {name: value[0] if isinstance(value, tuple) else value for name, value in given.items()}
        due = self.due(epoch + 1) and hasattr(model, "save_model")
        self.last = None if due else given
        self.send(given, model.save_model if due else None)
        return False

    def after_training(self, model: Any) -> Any:
        if self.at_end and self.last is not None and hasattr(model, "save_model"):
            self.send(self.last, model.save_model)
        return model


class LightGBM(Boosting):
    """A function for lightgbm.train(callbacks=[...]), and lightgbm.cv()."""

    library, file, order = "lightgbm", "model.txt", 20

    def __call__(self, env: Any) -> None:
        import lightgbm  # type: ignore
        given = {}
        for data, name, value, _, *deviation in env.evaluation_result_list:  # the last in lightgbm.cv() alone
            given[f"{data}-{name}{'-mean' if deviation else ''}"] = value
            if deviation:
                given[f"{data}-{name}-stdv"] = deviation[0]
        done = env.iteration + 1
        due = isinstance(env.model, lightgbm.Booster) and (self.due(done) or self.at_end and done == env.end_iteration)
        self.send(self.change(given), env.model.save_model if due else None)


def _both(kind: Any, **no_checkpoint: Any) -> Dict[str, Any]:
    return {"TuneReportCheckpointCallback": kind, "TuneReportCallback": functools.partial(kind, **no_checkpoint)}


MODULES: Dict[str, Dict[str, Any]] = {
    "keras": {"ReportCheckpointCallback": Keras, **_both(Keras, checkpoint_on=None)},
    "lightgbm": _both(LightGBM, frequency=0, checkpoint_at_end=False),
    "mlflow": {"MLflowLoggerCallback": KeptAnyway},
    "pytorch_lightning": _both(Lightning, save_checkpoints=False),
    "wandb": {"WandbLoggerCallback": KeptAnyway},
    "xgboost": _both(XGBoost, frequency=0, checkpoint_at_end=False),
}

"""Callbacks that report to sweepd: Keras (KerasCallback), Lightning (LightningCallback) and Hugging Face
(HuggingFaceCallback). A trainer that has one is stopped by its own means when its trial is to end.

The libraries are not imported before a callback is used. The base of each is the library's own if it is there.
`metrics`: names to report, or {yours: theirs}; by default all numbers that the library gives. Each report is a step of
its own: a second fit(), or a second validation in an epoch, goes on counting.
"""
import contextlib
import importlib
import warnings
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from ._errors import Pruned
from ._trial import report
from ._wire import numbers

Names = Union[None, Sequence[str], Mapping[str, str]]


def _chosen(metrics: Names, given: Mapping[str, Any]) -> Dict[str, Any]:
    if metrics is None:
        return numbers(given)
    names = metrics if isinstance(metrics, Mapping) else {name: name for name in metrics}
    chosen = {name: given[theirs] for name, theirs in names.items() if theirs in given}
    if not chosen:  # now and then it is empty: Keras validates every tenth epoch, say
        warnings.warn(f"sweepd reports nothing: no {', '.join(names.values())} is among {', '.join(given)}", stacklevel=4)
    return chosen


class _Callback:
    """Makes a class whose base is the library's, once it is needed."""

    bases: Sequence[str] = ()

    def __new__(cls, *arguments: Any, **settings: Any) -> Any:
        for name in cls.bases:
            module, _, kind = name.rpartition(".")
            with contextlib.suppress(ImportError, AttributeError):
                base = getattr(importlib.import_module(module), kind)
                return object.__new__(type(cls.__name__, (cls, base), {}))
        return object.__new__(cls)

    def __init__(self, metrics: Names = None) -> None:
        super().__init__()
        self.metrics = metrics
        self.pruned: Optional[Pruned] = None

    def _report(self, given: Mapping[str, Any]) -> bool:
        """Reports a next step. Is the training to stop?"""
        values = _chosen(self.metrics, given)
        if values and self.pruned is None:
            try:
                report(None, False, **values)
            except Pruned as pruned:
                self.pruned = pruned
        return self.pruned is not None


class KerasCallback(_Callback):
    """For model.fit(callbacks=[...]): reports the logs of each epoch."""

    bases = ("keras.callbacks.Callback", "tensorflow.keras.callbacks.Callback")

    def on_epoch_end(self, epoch: int, logs: Optional[Mapping[str, Any]] = None) -> None:
        if self._report(logs or {}):
            self.model.stop_training = True  # type: ignore[attr-defined]


class LightningCallback(_Callback):
    """For Trainer(callbacks=[...]): reports the logged metrics after each validation."""

    bases = ("lightning.pytorch.callbacks.Callback", "pytorch_lightning.callbacks.Callback")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking and self._report(trainer.callback_metrics):
            trainer.should_stop = True


class HuggingFaceCallback(_Callback):
    """For Trainer(callbacks=[...]): reports the metrics of each evaluation: max_t is a number of evaluations, and not of
    the trainer's steps."""

    bases = ("transformers.TrainerCallback",)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Optional[Mapping[str, Any]] = None,
                    **more: Any) -> Any:
        if self._report(metrics or {}):
            control.should_training_stop = True
        return control

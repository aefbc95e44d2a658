"""The callbacks, with stand-ins of the libraries' base classes and of their trainers."""
import sys
import types

import pytest

from test_python import sweepd

import sweepd.callbacks as callbacks  # noqa: E402


@pytest.fixture
def reports(monkeypatch):
    """What was reported; the third report is told to stop."""
    seen = []

    def report(step=None, checkpoint=False, **metrics):
        seen.append((step, metrics))
        if len(seen) == 3:
            raise sweepd.Pruned("stop")

    monkeypatch.setattr(callbacks, "report", report)
    return seen


def library(monkeypatch, name, kind):
    """A module with a base class, whose __init__ must run."""
    class Base:
        def __init__(self):
            self.made = True

    Base.__name__ = kind
    parts = name.split(".")
    for i in range(len(parts)):
        module = types.ModuleType(".".join(parts[:i + 1]))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    setattr(module, kind, Base)
    return Base


def test_keras_model_stops_after_the_epoch_that_was_told_so(reports, monkeypatch):
    base = library(monkeypatch, "keras.callbacks", "Callback")
    callback = callbacks.KerasCallback()
    assert isinstance(callback, base) and callback.made
    callback.model = types.SimpleNamespace(stop_training=False)
    for epoch in range(5):
        callback.on_epoch_end(epoch, {"loss": 1 / (epoch + 1), "name": "text"})
        if callback.model.stop_training:
            break
    assert reports == [(None, {"loss": 1.0}), (None, {"loss": 0.5}), (None, {"loss": 1 / 3})]


def test_lightning_trainer_stops_and_sanity_checks_are_not_reported(reports, monkeypatch):
    base = library(monkeypatch, "pytorch_lightning.callbacks", "Callback")
    callback = callbacks.LightningCallback({"loss": "val_loss"})
    assert isinstance(callback, base)
    trainer = types.SimpleNamespace(sanity_checking=True, current_epoch=0, should_stop=False,
                                    callback_metrics={"val_loss": 0.25, "other": 3})
    callback.on_validation_end(trainer, None)
    assert not reports
    trainer.sanity_checking = False
    while not trainer.should_stop:
        callback.on_validation_end(trainer, None)
        trainer.current_epoch += 1
    assert reports == [(None, {"loss": 0.25})] * 3


def test_hugging_face_trainer_stops(reports, monkeypatch):
    base = library(monkeypatch, "transformers", "TrainerCallback")
    callback = callbacks.HuggingFaceCallback(["eval_loss"])
    assert isinstance(callback, base)
    control = types.SimpleNamespace(should_training_stop=False)
    state = types.SimpleNamespace(global_step=0)
    while not control.should_training_stop:
        state.global_step += 100
        callback.on_evaluate(None, state, control, metrics={"eval_loss": 2.0, "epoch": 1.0})
    assert reports == [(step, {"eval_loss": 2.0}) for step in (None, None, None)]
    callback.on_evaluate(None, state, control, metrics={"eval_loss": 2.0})
    assert len(reports) == 3  # nothing is reported after the end


def test_callback_without_its_library_or_its_metric(reports):
    callback = callbacks.KerasCallback(["accuracy"])
    callback.model = types.SimpleNamespace(stop_training=False)
    with pytest.warns(UserWarning, match="no accuracy is among loss"):
        callback.on_epoch_end(0, {"loss": 1})
    callback.on_epoch_end(1, {"loss": 1, "accuracy": 0.5})  # validated every second epoch
    assert reports == [(None, {"accuracy": 0.5})]

"""Keras'."""
from __future__ import annotations

import functools
import os
from typing import Any, Mapping, Optional

try:
    import keras  # type: ignore
except ImportError:
    from tensorflow import keras  # type: ignore

from sweepd.ray.integration._report import Metrics, send


class ReportCheckpointCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Reports the logs of each epoch, with the model. `on`: "epoch_end", where Ray has more."""

    def __init__(self, metrics: Metrics = None, filename: str = "model.keras", on: Any = "epoch_end",
                 checkpoint_on: Any = "epoch_end", report_metrics_on: Any = None, **_: Any) -> None:
        super().__init__()
        if (report_metrics_on or on) not in ("epoch_end", ["epoch_end"]):
            raise NotImplementedError(f"on={report_metrics_on or on!r} is not carried over: \"epoch_end\" is")
        self.metrics, self.filename, self.saves = metrics, filename, bool(checkpoint_on)

    def on_epoch_end(self, epoch: int, logs: Optional[Mapping[str, Any]] = None) -> None:
        """Keras calls it after an epoch."""
        send(self.metrics, logs or {},
             (lambda folder: self.model.save(os.path.join(folder, self.filename))) if self.saves else None)


TuneReportCallback = functools.partial(ReportCheckpointCallback, checkpoint_on=None)
TuneReportCheckpointCallback = ReportCheckpointCallback

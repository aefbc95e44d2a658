"""Lightning's."""
from __future__ import annotations

import functools
import os
from typing import Any

try:
    from lightning.pytorch import Callback  # type: ignore
except ImportError:
    from pytorch_lightning import Callback  # type: ignore

from sweepd.ray.integration._report import Metrics, send


class TuneReportCheckpointCallback(Callback):  # type: ignore[misc]
    """Reports the logged metrics, with the trainer's checkpoint, whenever Lightning calls on_NAME (`on`)."""

    def __init__(self, metrics: Metrics = None, filename: str = "checkpoint", save_checkpoints: bool = True,
                 on: Any = "validation_end") -> None:
        super().__init__()
        self.metrics, self.filename, self.saves = metrics, filename, save_checkpoints
        for name in [on] if isinstance(on, str) else on:
            setattr(self, f"on_{name}", self._send)

    def _send(self, trainer: Any, *_: Any) -> None:
        if not trainer.sanity_checking:
            send(self.metrics, trainer.callback_metrics,
                 (lambda folder: trainer.save_checkpoint(os.path.join(folder, self.filename))) if self.saves else None)


TuneReportCallback = functools.partial(TuneReportCheckpointCallback, save_checkpoints=False)

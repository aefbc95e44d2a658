"""What the callbacks share."""
from __future__ import annotations

import tempfile
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

from sweepd.callbacks import _chosen as chosen
from sweepd.ray._checkpoint import Checkpoint
from sweepd.ray._session import report

Metrics = Union[None, str, Sequence[str], Mapping[str, str]]


def send(metrics: Metrics, given: Mapping[str, Any], save: Optional[Callable[[str], Any]] = None) -> None:
    """Reports `metrics` of what the library gives (names, or {yours: theirs}; default: all); `save` writes a checkpoint."""
    values: Dict[str, Any] = chosen([metrics] if isinstance(metrics, str) else metrics, given)
    if save is None:
        report(values)
        return
    with tempfile.TemporaryDirectory() as folder:
        save(folder)
        report(values, checkpoint=Checkpoint(folder))

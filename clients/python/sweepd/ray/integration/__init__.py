"""The callbacks of ray.tune.integration and ray.air.integrations: a module for each library, which must be installed."""
from __future__ import annotations

from sweepd._names import stands_for

__getattr__ = stands_for(__name__, "ray.tune.integration", {},
                         "xgboost, lightgbm, keras, pytorch_lightning, wandb and mlflow are, and sweepd.callbacks has Hugging Face")

"""The search algorithms: each stands for a `method` of a sweep (docs/search.md), which has its own settings."""
from __future__ import annotations

import warnings
from typing import Any, Dict, List, Mapping, Optional

from .._names import stands_for
from .._space import is_scalar
from ._space import Domain


class Searcher:
    """The base of the others. A searcher of your own cannot run in the daemon."""

    method = ""

    def __init__(self, space: Any = None, metric: Optional[str] = None, mode: Optional[str] = None,
                 points_to_evaluate: Optional[List[Dict[str, Any]]] = None, **settings: Any) -> None:
        if not self.method:
            raise NotImplementedError("a searcher of your own does not run in the daemon: sweepd.Client's enqueue() takes "
                                      "points of yours")
        if space is not None and not (isinstance(space, Mapping) and all(
                isinstance(each, Domain) or is_scalar(each) for each in space.values())):
            raise NotImplementedError(f"{type(self).__name__}(space=...) in the library's own words is not carried over: give "
                                      "it as config or param_space, or in tune's words (tune.uniform(...))")
        self.space = space
        self.metric, self.mode, self.points = metric, mode, points_to_evaluate
        self.seed = settings.pop("random_state", None) or settings.pop("random_state_seed", None) or settings.pop("seed", None)
        self.max_concurrent: Optional[int] = settings.pop("max_concurrent", None) or None
        if settings:
            warnings.warn(f"{type(self).__name__}: {', '.join(sorted(settings))}: without effect, the daemon's method "
                          f"{self.method!r} has its own settings", stacklevel=2)


class BasicVariantGenerator(Searcher):
    """Method "random", and the default."""

    method = "random"


class OptunaSearch(Searcher):
    """Method "tpe"."""

    method = "tpe"


class HyperOptSearch(Searcher):
    """Method "tpe"."""

    method = "tpe"


class TuneBOHB(Searcher):
    """Method "bohb"."""

    method = "bohb"


class BayesOptSearch(Searcher):
    """Method "bayes"."""

    method = "bayes"


class AxSearch(Searcher):
    """Method "bayes"."""

    method = "bayes"


class HEBOSearch(Searcher):
    """Method "bayes"."""

    method = "bayes"


class ConcurrencyLimiter:
    """A searcher with so many trials at once."""

    def __new__(cls, searcher: Searcher, max_concurrent: int, batch: bool = False) -> Any:
        del batch
        searcher.max_concurrent = max_concurrent
        return searcher


__getattr__ = stands_for(__name__, "ray.tune.search", {},
                         "OptunaSearch and HyperOptSearch (tpe), BayesOptSearch, AxSearch and HEBOSearch (bayes), TuneBOHB are")

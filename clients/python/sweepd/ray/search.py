"""The search algorithms: each stands for a `method` of a sweep (docs/search.md), which has its own settings."""
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional

from .._names import stands_for
from .._wire import is_scalar
from ._space import Domain, Own, of_hyperopt, of_optuna


class Searcher:
    """The base of the others. A searcher of your own cannot run in the daemon."""

    method = ""
    reads: Optional[Callable[[Any], Own]] = None  # of a space in the library's own words

    def __init__(self, space: Any = None, metric: Optional[str] = None, mode: Optional[str] = None,
                 points_to_evaluate: Optional[List[Dict[str, Any]]] = None, **settings: Any) -> None:
        if not self.method:
            raise NotImplementedError("a searcher of your own does not run in the daemon: sweepd.Client's enqueue() takes "
                                      "points of yours")
        tunes = isinstance(space, Mapping) and all(isinstance(each, Domain) or is_scalar(each) for each in space.values())
        if space is not None and not tunes and self.reads is None:
            raise NotImplementedError(f"{type(self).__name__}(space=...) in the library's own words is not carried over: give "
                                      "it as config or param_space, or in tune's words (tune.uniform(...))")
        self.space, self.theirs = (space, None) if tunes else ({}, space)
        self.metric, self.mode, self.points = metric, mode, points_to_evaluate
        self.seed = settings.pop("random_state", None) or settings.pop("random_state_seed", None) or settings.pop("seed", None)
        self.max_concurrent: Optional[int] = settings.pop("max_concurrent", None) or None
        if settings:
            warnings.warn(f"{type(self).__name__}: {', '.join(sorted(settings))}: without effect, the daemon's method "
                          f"{self.method!r} has its own settings", stacklevel=2)

    def own(self) -> Optional[Own]:
        return None if self.theirs is None or self.reads is None else self.reads(self.theirs)


def _searcher(name: str, method: str, **more: Any) -> Any:
    return type(name, (Searcher,), {"method": method, "__doc__": f'Method "{method}".', **more})


BasicVariantGenerator = _searcher("BasicVariantGenerator", "random")
OptunaSearch = _searcher("OptunaSearch", "tpe", reads=staticmethod(of_optuna))
HyperOptSearch = _searcher("HyperOptSearch", "tpe", reads=staticmethod(of_hyperopt))
TuneBOHB = _searcher("TuneBOHB", "bohb")
BayesOptSearch = _searcher("BayesOptSearch", "bayes")
AxSearch = _searcher("AxSearch", "bayes")
HEBOSearch = _searcher("HEBOSearch", "bayes")


def ConcurrencyLimiter(searcher: Searcher, max_concurrent: int, batch: bool = False) -> Searcher:  # noqa: N802
    """A searcher with so many trials at once."""
    searcher.max_concurrent = max_concurrent
    return searcher


__getattr__ = stands_for(__name__, "ray.tune.search", {},
                         "OptunaSearch and HyperOptSearch (tpe), BayesOptSearch, AxSearch and HEBOSearch (bayes), TuneBOHB are")

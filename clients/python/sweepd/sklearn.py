"""scikit-learn's searches over sweepd: write `from sweepd.sklearn import GridSearchCV`, or use SearchCV.

Each is a BaseSearchCV of scikit-learn's: scoring, splits, refit, metadata and cv_results_ are its own, and the daemon
chooses the candidates. A candidate is a trial of a sweep. With n_jobs above 1 trials are forked processes of this one,
and one of the first runs in this process: scikit-learn ends its fit() with what it has evaluated here.
"""
import contextlib
import math
import os
import pickle
import tempfile
import threading
import warnings
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

try:
    import joblib  # type: ignore
    import numpy as np
    from sklearn.base import is_classifier  # type: ignore
    from sklearn.exceptions import FitFailedWarning  # type: ignore
    from sklearn.model_selection import ParameterGrid, check_cv  # type: ignore
    from sklearn.model_selection._search import BaseSearchCV  # type: ignore
    from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures  # type: ignore
    from sklearn.utils import check_random_state, resample  # type: ignore
    from sklearn.utils.validation import _num_samples  # type: ignore
    from threadpoolctl import threadpool_limits  # type: ignore
except ModuleNotFoundError as error:
    raise ImportError(f"sweepd.sklearn needs scikit-learn, and {error.name} is not installed: pip install "
                      "scikit-learn") from None

from ._client import Client
from ._driver import Driver
from ._errors import SweepdError
from ._loop import Trial
from ._trial import report
from ._tune import check_fork
from ._wire import Domain, as_step, choice, find, wire_names

DRAWS = 256  # values that stand for a distribution that the daemon does not have
BEAT_S = 10.0  # while this process evaluates a candidate, it says so often that its trials run


def _drawn(parameter: str, distribution: Any, random: Any) -> Any:
    """A distribution of scipy's: the daemon's of the same kind; else 256 values, quantiles where it has them."""
    kind = getattr(getattr(distribution, "dist", None), "name", "")
    low, high = distribution.support() if hasattr(distribution, "support") else (-math.inf, math.inf)
    if math.isnan(low):
        raise ValueError(f"nothing can be drawn for {parameter!r}: the range of its distribution is empty, or scipy does "
                         "not allow its arguments")
    if kind == "randint":
        return _range({"distribution": "int_uniform", "min": int(low), "max": int(high)})
    if kind in ("uniform", "loguniform", "reciprocal"):
        name = "uniform" if kind == "uniform" else "log_uniform_values"
        return _range({"distribution": name, "min": float(low), "max": float(high)})
    if kind == "norm":
        return _range({"distribution": "normal", "mu": float(distribution.mean()), "sigma": float(distribution.std())})
    draws = distribution.ppf((np.arange(DRAWS) + 0.5) / DRAWS).astype(  # of a discrete one they are whole floats
        np.asarray(distribution.rvs(random_state=0)).dtype).tolist() if hasattr(distribution, "ppf") else [
            distribution.rvs(random_state=random) for _ in range(DRAWS)]
    return choice(sorted(set(draws)))._replace(listed=False)


def _range(spec: Mapping[str, Any]) -> Domain:
    return Domain(dict(spec), lambda value: value)


class _Space:
    """A grid of scikit-learn's, or a list of such, as a sweep's parameters: each of these a group with a condition."""

    def __init__(self, given: Any, random: Any) -> None:
        self.grids: List[Dict[str, Any]] = []
        if not isinstance(given, (Mapping, list, tuple)):
            ParameterGrid(given)  # says what is wrong
        for grid in [given] if isinstance(given, Mapping) else given:
            self.grids.append({name: self._domain(name, each, random) for name, each in sorted(grid.items())})
        self.names = [wire_names(grid) for grid in self.grids]
        self.listed = all(each.listed for grid in self.grids for each in grid.values())
        groups = [{names[name]: each.spec for name, each in grid.items()} or {"nothing": {"value": 0}}
                  for grid, names in zip(self.grids, self.names)]
        self.parameters: Dict[str, Any] = groups[0] if len(groups) == 1 else {
            "grid": {"values": list(range(len(groups)))},
            **{f"grid{i}": {"when": {"grid": i}, "parameters": group} for i, group in enumerate(groups)}}

    @staticmethod
    def _domain(name: str, given: Any, random: Any) -> Any:
        if isinstance(given, Mapping):
            return _range(given)
        if hasattr(given, "rvs"):
            return _drawn(name, given, random)
        ParameterGrid({name: given})  # says what is wrong
        return choice(given)

    def points(self) -> int:
        """How many there are, of lists."""
        return sum(math.prod(len(each.spec["values"]) for each in grid.values()) for grid in self.grids)

    def _found(self, params: Mapping[str, Any]) -> Tuple[int, Mapping[str, Any]]:
        which = params["grid"] if len(self.grids) > 1 else 0
        return which, params[f"grid{which}"] if len(self.grids) > 1 else params

    def candidate(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        """A trial's parameters as scikit-learn has them."""
        which, params = self._found(params)
        return {name: each.read(params[self.names[which][name]]) for name, each in self.grids[which].items()}

    def place(self, params: Mapping[str, Any]) -> Any:
        """Of a trial in the order of ParameterGrid, whose last name changes first."""
        which, params = self._found(params)
        return which, [
            find(each.spec["values"], params[self.names[which][name]]) for name, each in self.grids[which].items()]


class _Splits:
    """A splitter whose splits are the same for each candidate, in any process; `fraction` of the samples train."""

    def __init__(self, cv: Any, seed: int) -> None:
        self.cv, self.seed, self.fraction = cv, seed, 1.0
        self.made: List[Any] = []

    def split(self, X: Any, y: Any = None, **params: Any) -> Iterator[Any]:  # noqa: N803
        self.made = self.made or list(self.cv.split(X, y, **params))
        for train, test in self.made:
            yield train if self.fraction >= 1 else resample(
                train, replace=False, n_samples=max(1, int(self.fraction * len(train))), random_state=self.seed), test


class _Evaluation:
    """The candidates of one fit(): what scikit-learn measured of each, by its trial's number."""

    def __init__(self, search: "SearchCV", n_samples: int) -> None:
        self.search, self.n_samples = search, n_samples
        self.random = check_random_state(search.random_state)
        self.seed = None if search.random_state is None else int(self.random.randint(2 ** 31 - 1))
        self.space = _Space(search.space, self.random)
        self.results: Dict[str, Any] = {}  # what fit() takes for the last evaluation's: finish() fills it
        self.rows: List[Any] = []  # of the last evaluation
        self.rungs = search._rungs(n_samples)
        if any(search.resource in grid for grid in self.space.grids):
            raise ValueError(f"the resource {search.resource!r} is a parameter of the space: leave it out of there")
        self.metric = wire_names([search.refit])[search.refit] if isinstance(search.refit, str) else "score"
        self.done: Dict[int, Tuple[Dict[str, Any], Any, int]] = {}  # parameters, rows or why all fits failed, resource

        points = self.space.points() if self.space.listed else math.inf
        self.method = "grid" if search.method == "random" and self.space.listed else search.method  # no point twice
        self.run_cap = None if search.method == "grid" else int(min(search._whole("n_iter", 1), points))
        self.shuffle = self.method == "grid" and (self.run_cap or points) < points
        self.n = min(joblib.effective_n_jobs(search.n_jobs), self.run_cap or points)

    def spec(self) -> Dict[str, Any]:
        spec = {"name": type(self.search.estimator).__name__[:64], "method": self.method, "seed": self.seed,
                "metric": {"name": self.metric, "goal": "maximize"}, "parameters": self.space.parameters,
                "run_cap": self.run_cap, "shuffle": self.shuffle or None}
        if self.rungs:
            spec["early_terminate"] = {"type": "asha", "grace_period": self.rungs[0], "max_t": self.rungs[-1],
                                       "reduction_factor": self.search._whole("factor", 2)}
        return {**{name: value for name, value in spec.items() if value is not None}, **(self.search.spec or {})}

    def measure(self, number: int, params: Dict[str, Any], tell: Callable[..., Any]) -> Dict[str, float]:
        """Evaluates a candidate, with more of the resource until tell(step, metrics) says that it is to end."""
        for rung in self.rungs or [0]:
            given = {**params, self.search.resource: rung} if rung and self.search.resource != "n_samples" else params
            self.splits.fraction = rung / self.n_samples if rung and given is params else 1.0
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FitFailedWarning)  # finish() says it of all
                    self.evaluate([given], self.splits)
            except ValueError as error:
                if self.search.error_score == "raise" or "fits failed" not in str(error):
                    raise
                self.keep(number, given, str(error).rpartition("-" * 20)[2].partition("error:\n")[2], rung)
                return {self.metric: math.nan}
            self.keep(number, given, self.rows, rung)
            metrics = self.means()
            if rung and tell(rung, metrics):
                break
        return {} if self.rungs else metrics

    def means(self) -> Dict[str, float]:
        scores = [row["test_scores"] for row in self.rows]
        if not isinstance(scores[0], dict):
            return {self.metric: float(np.mean(scores))}
        wire = wire_names(scores[0])
        means = {wire[name]: float(np.mean([each[name] for each in scores])) for name in scores[0]}
        return {self.metric: next(iter(means.values())), **means}

    def keep(self, number: int, params: Dict[str, Any], rows: Any, rung: int) -> None:
        self.done[number] = params, rows, rung

    def here(self, trial: Trial) -> None:
        """Evaluates a trial in this process."""
        trial.done(**self.measure(trial.number, self.space.candidate(trial.params), lambda step, metrics: trial.report(
            step, **metrics) != "continue"))

    def run(self, evaluate: Callable[..., Any], cv: Any) -> None:
        self.evaluate, self.splits = evaluate, _Splits(cv, self.seed or 0)
        try:
            evaluate([], self.splits)  # all processes are to have the same splits
        except ValueError:  # there is no candidate
            if not self.splits.made:
                raise
        with Client() as client:
            self.search.sweep_ = sweep = int(client.call("sweep.submit", spec=self.spec())["sweep"])
            if self.n > 1:
                check_fork()
                with tempfile.TemporaryDirectory(prefix="sweepd-") as folder:
                    _Driver(client, sweep, self, folder).run()
            else:
                try:
                    for trial in client.loop(sweep):
                        self.here(trial)
                except BaseException:
                    with contextlib.suppress(SweepdError):  # it has ended
                        client.cancel(sweep)
                    raise
            trials = client.trials(sweep)
        self.finish(trials)

    def finish(self, trials: List[Dict[str, Any]]) -> None:
        """Makes cv_results_ of all candidates. One without a fit that worked has error_score everywhere."""
        if self.method == "grid" and not self.shuffle:
            trials = sorted(trials, key=lambda row: self.space.place(row["params"]))
        n, score = len(self.splits.made), self.search.error_score
        first = next((rows[0] for _, rows, _ in self.done.values() if isinstance(rows, list)), {})
        scores = {name: dict.fromkeys(first[name], score) if isinstance(first[name], dict) else score
                  for name in ("test_scores", "train_scores") if name in first}
        failed = {**first, **scores, "fit_time": 0.0, "score_time": 0.0}
        every, out = [], []
        for trial in trials:
            params, rows, rung = self.done.get(trial["trial"], (
                self.space.candidate(trial["params"]), f"its process ended by {trial['cause']}", 0))
            out += rows if isinstance(rows, list) else [{**failed, "fit_error": rows}] * n
            every.append((params, rung))
        _warn_or_raise_about_fit_failures(out, self.search.error_score)
        self.results.update(BaseSearchCV._format_results(
            self.search, [params for params, _ in every], n, out,
            {"n_resources": [rung for _, rung in every]} if self.rungs else None))


class _Driver(Driver):
    """The trials of an evaluation in processes, and one in this one while the first of them run."""

    def __init__(self, client: Client, sweep: int, evaluation: _Evaluation, folder: str) -> None:
        super().__init__(client, sweep, self.child, evaluation.metric, evaluation.n)
        self.it, self.kept = evaluation, folder
        self.mine = [self.free.pop()]  # the place of this process
        self.reserved: List[Trial] = []

    def params(self, trial: Trial) -> Dict[str, Any]:
        return {"number": trial.number, "params": self.it.space.candidate(trial.params)}

    def child(self, given: Dict[str, Any]) -> Dict[str, float]:
        """In a trial's process."""
        number = given["number"]
        self.it.keep = lambda *of: self.save(number, of)  # type: ignore[method-assign,assignment]
        with threadpool_limits(int(os.environ["OMP_NUM_THREADS"])):
            try:
                return self.it.measure(number, given["params"], lambda step, metrics: report(step, **metrics))
            except Exception as error:
                self.save(number, error)
                raise

    def save(self, number: int, what: Any) -> None:
        path = os.path.join(self.kept, str(number))
        with open(path + ".new", "wb") as file:
            pickle.dump(what, file)
        os.rename(path + ".new", path)

    def saved(self, number: int) -> Any:
        try:
            with open(os.path.join(self.kept, str(number)), "rb") as file:
                return pickle.load(file)
        except FileNotFoundError:
            return None  # its process was killed

    def ended(self, it: Any) -> None:
        what = self.saved(it.trial.number)
        if isinstance(what, tuple):
            self.it.keep(*what)
        super().ended(it)

    def failed(self, trial: Trial, text: str) -> bool:
        error = self.saved(trial.number)
        if isinstance(error, Exception):
            raise error
        return False

    def run(self) -> None:
        for handed in self.client.ask(self.sweep, wait_s=10)["trials"]:
            self.reserved.append(Trial(self.client, self.sweep, handed))
        super().run()
        worked = [params for params, rows, _ in self.it.done.values() if isinstance(rows, list)]
        if worked and not self.it.rows:  # none of them in this process, and fit() needs one
            self.it.evaluate([worked[0]], self.it.splits)

    def tick(self) -> None:
        """One trial that works is evaluated here while others run; then its place is another process'."""
        if not self.mine:
            return
        over = threading.Event()
        beats = threading.Thread(target=self.beat_until, args=(over,))
        beats.start()
        try:
            with threadpool_limits(self.threads):
                for trial in self.reserved:
                    self.it.here(trial)
        finally:
            over.set()
            beats.join()
        self.free += self.mine
        self.mine = []

    def beat_until(self, over: threading.Event) -> None:
        while not over.wait(BEAT_S):
            for it in self.running:
                it.trial.beat()


class SearchCV(BaseSearchCV):  # type: ignore[misc]
    """Searches `space` for the parameters with which an estimator has the best cross-validated score.

    `space`: a dict, or a list of dicts as in ParameterGrid, of lists, scipy's distributions, or parameters of a
    sweep's spec ({"min": 1e-4, "max": 1.0, "log": True}). `method`: "bayes", "tpe", "random", "sobol", "grid", which
    has no `n_iter`. `n_jobs`: trials at once, each in a process; None: one after the other in this one. `resource`:
    "n_samples" or an estimator's parameter that is a number. With it candidates begin with `min_resources` of it, and
    the best of each rung go on with `factor` times as much (asha), each fitted anew, up to `max_resources`. `spec`:
    more keys of the sweep. The others are scikit-learn's. Fitted, it has GridSearchCV's attributes, and `sweep_`, the
    sweep's number.
    """

    def __init__(self, estimator: Any, space: Any, *, n_iter: int = 20, method: str = "bayes", scoring: Any = None,
                 n_jobs: Optional[int] = None, refit: Any = True, cv: Any = None, verbose: int = 0,
                 pre_dispatch: Any = "2*n_jobs", error_score: Any = np.nan, return_train_score: bool = False,
                 random_state: Any = None, resource: Optional[str] = None, min_resources: Optional[int] = None,
                 max_resources: Optional[int] = None, factor: int = 3, spec: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(estimator=estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose,
                         pre_dispatch=pre_dispatch, error_score=error_score, return_train_score=return_train_score)
        self.space, self.n_iter, self.method, self.random_state = space, n_iter, method, random_state
        self.resource, self.min_resources, self.max_resources = resource, min_resources, max_resources
        self.factor, self.spec = factor, spec

    def fit(self, X: Any, y: Any = None, **params: Any) -> "SearchCV":  # noqa: N803
        """As GridSearchCV.fit. SweepdError: a fault of `space` or `spec`, or no daemon."""
        self._evaluation = _Evaluation(self, _num_samples(X))
        given, self.n_jobs = self.n_jobs, None  # candidates are in parallel, not the splits of one
        self._y = y
        try:
            return super().fit(X, y, **params)
        finally:
            self.n_jobs = given
            del self._evaluation, self._y

    def _run_search(self, evaluate_candidates: Callable[..., Any]) -> None:
        self._evaluation.run(evaluate_candidates, getattr(self, "_checked_cv_orig", None) or check_cv(
            self.cv, self._y, classifier=is_classifier(self.estimator)))

    def _format_results(self, candidate_params: Any, n_splits: int, out: List[Any], more_results: Any = None) -> Any:
        self._evaluation.rows = out[-n_splits:]
        return self._evaluation.results

    def _rungs(self, n_samples: int) -> List[int]:
        """Numbers of the resource, rising."""
        if self.resource is None:
            return []
        if self.max_resources is None and self.resource != "n_samples":
            raise ValueError(f"max_resources is needed with resource={self.resource!r}")
        factor = self._whole("factor", 2)
        most = n_samples if self.max_resources is None else self._whole("max_resources", 1)
        rungs = [max(1, most // factor ** 2) if self.min_resources is None else self._whole("min_resources", 1)]
        while rungs[-1] * factor <= most:
            rungs.append(rungs[-1] * factor)
        return rungs if rungs[-1] == most else [*rungs, most]

    def _whole(self, name: str, least: int) -> int:
        """A setting that is a whole number, of any kind."""
        number = as_step(getattr(self, name))
        if not isinstance(number, int) or number < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, not {getattr(self, name)!r}")
        return number

    @staticmethod
    def _select_best_index(refit: Any, refit_metric: str, results: Mapping[str, Any]) -> int:
        """Of those that came furthest."""
        if callable(refit) or "n_resources" not in results:
            return int(BaseSearchCV._select_best_index(refit, refit_metric, results))
        scores = np.where(results["n_resources"] == results["n_resources"].max(),
                          results[f"mean_test_{refit_metric}"], np.nan)
        return int(np.nanargmax(scores))


class GridSearchCV(SearchCV):
    """scikit-learn's GridSearchCV, whose candidates are trials of a sweep."""

    space = property(lambda self: self.param_grid, lambda self, value: setattr(self, "param_grid", value))

    def __init__(self, estimator: Any, param_grid: Any, *, scoring: Any = None, n_jobs: Optional[int] = None,
                 refit: Any = True, cv: Any = None, verbose: int = 0, pre_dispatch: Any = "2*n_jobs",
                 error_score: Any = np.nan, return_train_score: bool = False) -> None:
        super().__init__(estimator, param_grid, method="grid", scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv,
                         verbose=verbose, pre_dispatch=pre_dispatch, error_score=error_score,
                         return_train_score=return_train_score)


class RandomizedSearchCV(SearchCV):
    """scikit-learn's RandomizedSearchCV, whose candidates are trials of a sweep. `method` may be another one."""

    space = property(lambda self: self.param_distributions,
                     lambda self, value: setattr(self, "param_distributions", value))

    def __init__(self, estimator: Any, param_distributions: Any, *, n_iter: int = 10, scoring: Any = None,
                 n_jobs: Optional[int] = None, refit: Any = True, cv: Any = None, verbose: int = 0,
                 pre_dispatch: Any = "2*n_jobs", random_state: Any = None, error_score: Any = np.nan,
                 return_train_score: bool = False, method: str = "random") -> None:
        super().__init__(estimator, param_distributions, n_iter=n_iter, method=method, scoring=scoring, n_jobs=n_jobs,
                         refit=refit, cv=cv, verbose=verbose, pre_dispatch=pre_dispatch, error_score=error_score,
                         return_train_score=return_train_score, random_state=random_state)

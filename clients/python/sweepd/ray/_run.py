"""tune.run(): a sweep whose trials are forked processes of this one (sweepd/_driver.py)."""
import functools
import glob
import inspect
import math
import os
import shutil
import sys
import time
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .._client import Client
from .._driver import Driver, Running, checkpoint_path, checkpoints
from .._errors import SweepdError
from .._loop import Trial as Handle
from .._tune import check_fork
from .._wire import as_number
from ._callbacks import Callback, CLIReporter, Reached, Stopper, reached
from ._results import ExperimentAnalysis, Text, Trial, TuneError
from ._session import ITERATION, SHOULD_CHECKPOINT, Session, trial_main
from ._space import Space
from .schedulers import FIFOScheduler, TrialScheduler
from .search import BasicVariantGenerator, Searcher

MOST_POINTS = 1000  # of a spec's init
MARK = "a run of sweepd.ray"
PATIENCE = 10  # reports, until a run says what `stop` names and none had
SAVED = "tuner.pkl"  # in a run's folder: what Tuner.restore() needs beside the daemon's rows
INSTEAD = {
    "restore": "give the trainable a checkpoint of your own to begin with",
    "sync_config": "a run is of one machine",
    "trial_executor": "a run is of one machine",
    "server_port": "the daemon has its own socket",
}
IGNORED = {"log_to_file", "reuse_actors", "trial_name_creator", "trial_dirname_creator",
           "export_formats", "queue_trials", "checkpoint_keep_all_ranks", "checkpoint_upload_from_workers",
           "chdir_to_trial_dir", "_experiment_checkpoint_dir"}
cluster: Dict[str, Optional[int]] = dict.fromkeys(("num_cpus", "num_gpus", "initialized"))  # as ray.init() said


class _Driver(Driver):
    """With Ray's words for each trial. fail_fast: the first error ends the run, and if it is "raise", run() at once."""

    def __init__(self, *of_driver: Any, space: Space, name: str, reporter: Optional[CLIReporter], stop: Reached,
                 callbacks: List[Callback], max_failures: float, fail_fast: Any) -> None:
        super().__init__(*of_driver)
        self.space, self.name, self.reporter, self.stop, self.callbacks = space, name, reporter, stop, callbacks
        self.max_failures, self.fail_fast = max_failures, fail_fast
        self.planned = self.client.sweep(self.sweep)["spec"].get("run_cap")
        self.trials: Dict[int, Trial] = {}
        self.failures: Dict[int, int] = {}
        self.told, self.over = 0, False  # reports so far; end_all() was called
        self.ends = False  # the report in hand reaches `stop`, or is "done"
        self.kept: Tuple[int, Text, Text] = (0, None, None)  # how many checkpoints, by which metric, "min" or "max"
        self.unseen = set(stop) if isinstance(stop, Mapping) else set()  # names that no report has had

    def search(self, metric: Any, mode: Any, restored: bool, errored: str, only_read: bool) -> ExperimentAnalysis:
        """Runs the trials. `errored`: "resume" or "restart" those that have failed in an earlier run. `only_read`: none."""
        if self.reporter is not None and isinstance(metric, str):
            self.reporter.metric, self.reporter.mode = self.reporter.metric or metric, self.reporter.mode or mode
        if restored:
            self.recall("" if only_read else errored)
        if only_read:
            return ExperimentAnalysis(self.sweep, self.finish(), metric, mode, self.folder)
        if self.client.sweep(self.sweep)["state"] == "PAUSED":
            self.client.resume(self.sweep)
        for callback in self.callbacks:
            callback.setup()
        self.run()
        analysis = ExperimentAnalysis(self.sweep, self.finish(), metric, mode, self.folder)
        if self.reporter is not None:
            self.reporter.report(analysis.trials, self.planned, self.sweep)
        for callback in self.callbacks:
            callback.on_experiment_end(trials=analysis.trials)
        return analysis

    def tell(self, event: str, it: Trial, **more: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, event)(iteration=self.told, trials=list(self.trials.values()), trial=it, **more)

    def start(self, trial: Handle) -> None:
        if trial.attempt == 1 and not trial.parent:  # it may go on in the place of one that failed
            trial.step = max([0, *checkpoints(self.folder, trial.number)])
        super().start(trial)
        it = self.trials[trial.number]
        it.results = [row for step, row in zip(it.steps, it.results) if step <= trial.step]  # the rest comes again
        it.steps = [step for step in it.steps if step <= trial.step]
        self.tell("on_trial_start", it)

    def known(self, number: int, params: Mapping[str, Any]) -> Trial:
        """The trial of this number, made if it is new."""
        if number not in self.trials:
            self.trials[number] = Trial(f"{self.name}_{self.sweep}_{number:05d}", number, self.space.config(params),
                                        os.path.join(self.folder, str(number)), self.name)
        return self.trials[number]

    def useless(self, trial: int, older: List[int], at: int) -> List[int]:
        most, score, order = self.kept
        rows = dict(zip(self.trials[trial].steps, self.trials[trial].results))

        def rank(step: int) -> Any:  # the first go; a report without the score before all
            value = as_number(rows.get(step, {}).get(score)) if score else step
            return -math.inf if value is None or math.isnan(value) else -value if order == "min" else value

        others = super().useless(trial, older, at)
        return others if most < 2 else [step for step in sorted([*older, at], key=rank)[:-most] if step in others]

    def report(self, trial: Handle, at: int, checkpoint: bool, metrics: Dict[str, float], more: Dict[str, Any]) -> str:
        it = self.trials[trial.number]
        result = {**more, **metrics, "config": it.config}
        self.ends = reached(self.stop, it.trial_id, result) or bool(result.get("done"))
        if not self.ends or not self.interval:
            return super().report(trial, at, checkpoint, metrics, more)
        if checkpoint:  # it ends before its population judges it, which would make a copy of it or of another
            self.keep(os.path.join(self.folder, str(trial.number)), at, True)
        trial.done(**metrics)
        self.noted(trial, {"step": at, **metrics}, more)
        return "continue"

    def recall(self, errored: str) -> None:
        """An earlier run's trials, as the daemon has kept them. `errored` ones go on as new trials, which get their
        checkpoints; a trial whose folder is gone has such a one."""
        for row in self.client.trials(self.sweep):
            number, live = row["trial"], os.path.join(self.folder, str(row["trial"]))
            if row["state"] == "FAILED" and not os.path.isdir(live):
                continue
            if row["state"] == "FAILED" and errored:
                number, row["state"] = self.client.retry(self.sweep, number), "PENDING"
                for step in checkpoints(self.folder, row["trial"]) if errored == "resume" else []:
                    os.rename(checkpoint_path(self.folder, row["trial"], step), checkpoint_path(self.folder, number, step))
                shutil.rmtree(live)
            it = self.known(number, row["params"])
            it.state, it.cause = "PENDING" if row["state"] == "RUNNING" else row["state"], row["cause"]
            reports, kept = self.client.reports(self.sweep, row["trial"]), checkpoints(self.folder, it.number)
            it.steps = [report["step"] for report in reports]
            it.results = [{**report["metrics"], ITERATION: report["step"], "trial_id": it.trial_id, "config": it.config}
                          for report in reports]
            scored = [(self.sign * report["metrics"][self.metric], report["step"]) for report in reports
                      if report["step"] in kept and math.isfinite(report["metrics"].get(self.metric, math.nan))]
            if scored:
                self.best[it.number] = min(scored)

    def broken(self, error: BaseException) -> None:
        if not isinstance(error, KeyboardInterrupt):
            return super().broken(error)
        try:
            self.client.pause(self.sweep)
            give_back(self.client, self.sweep)
        except SweepdError:
            return  # it has ended
        print(f"sweepd: sweep {self.sweep} is paused: Tuner.restore({self.folder!r}, trainable).fit() goes on, "
              f"`sweep cancel {self.sweep}` ends it", file=sys.stderr)

    def params(self, trial: Handle) -> Dict[str, Any]:
        it = self.known(trial.number, trial.params)
        it.state = "RUNNING"
        return {"config": it.config, "trial_id": it.trial_id}

    def noted(self, trial: Handle, row: Dict[str, Any], more: Dict[str, Any]) -> None:
        it, step = self.trials[trial.number], row.pop("step")
        it.steps.append(step)
        it.results.append({**more, **row, "config": it.config})
        path = checkpoint_path(self.folder, trial.number, step)
        if os.path.isdir(path):
            it.checkpoints = [(at, old) for at, old in it.checkpoints if os.path.isdir(old)] + [(step, path)]
        result = dict(it.results[-1])
        self.told += 1
        self.tell("on_trial_result", it, result=result)
        if os.path.isdir(path):
            self.tell("on_checkpoint", it, checkpoint=it.checkpoint)
        self.unseen.difference_update(result)
        if self.told >= PATIENCE:
            self.warn_unseen(row)
        self.more = {"save": bool(result.get(SHOULD_CHECKPOINT)), "end": self.ends}
        if isinstance(self.stop, Stopper) and self.stop.stop_all():
            self.end_all()

    def warn_unseen(self, reported: Mapping[str, Any]) -> None:
        if self.unseen and reported:
            warnings.warn(f"stop names {', '.join(sorted(self.unseen))}, and no report has had that: it ends no trial. Reported "
                          f"are {', '.join(sorted(reported))}", stacklevel=2)
            self.unseen.clear()

    def failed(self, trial: Handle, text: str) -> bool:
        self.failures[trial.number] = self.failures.get(trial.number, 0) + 1
        if self.max_failures < 0 or self.failures[trial.number] <= self.max_failures:
            return True
        if str(self.fail_fast).lower() == "raise":
            raise TuneError(f"{self.trials[trial.number].trial_id}: {text}")
        self.trials[trial.number].error_msg = text
        return False

    def ended(self, it: Running) -> None:
        super().ended(it)
        trial = self.trials[it.trial.number]
        if all(other.trial is not it.trial for other in self.running):
            trial.state = "FAILED" if trial.error_msg else "PAUSED" if it.trial.decision == "pause" else "COMPLETED"
            if it.trial.decision != "pause":
                self.warn_unseen(self.last.get(trial.number, {}))
                self.tell("on_trial_error" if trial.error_msg else "on_trial_complete", trial)
        if self.fail_fast and trial.error_msg:
            self.end_all()

    def end_all(self) -> None:
        """No trial follows, and those that run end."""
        if not self.over:
            self.over = True
            self.client.cancel(self.sweep)
            for it in self.running:
                it.trial._decided("stop")

    def tick(self) -> None:
        if self.reporter is not None and self.reporter.due():
            self.reporter.report(list(self.trials.values()), self.planned, self.sweep)

    def finish(self) -> List[Trial]:
        """The trials with the daemon's last word on each."""
        for row in self.client.trials(self.sweep):
            it = self.trials.get(row["trial"])
            if it is not None:
                it.state, it.cause = row["state"], row["cause"]
                if it.status == "ERROR":
                    it.error_msg = it.error_msg or row["cause"]
                it.checkpoints = [(step, checkpoint_path(self.folder, it.number, step))
                                  for step in checkpoints(self.folder, it.number)]
        return [self.trials[number] for number in sorted(self.trials)]


def give_back(client: Client, sweep: int) -> None:
    """Makes the daemon hand out again at once what this process held: by a lease that has run out."""
    try:
        client.edit(sweep, lease_s=0.001)
        end = time.monotonic() + 30
        while client.trials(sweep, state="RUNNING") and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        client.edit(sweep, lease_s=0)


def find(client: Client, path: str) -> Optional[int]:
    """The sweep of an earlier run, by its folder, by a link to that, or as the newest of the name at the path's end."""
    folder, last = os.path.split(os.path.realpath(os.path.expanduser(path)))
    if folder == os.path.realpath(os.path.join(client.info()["state_dir"], "tune")):
        return int(last)
    named = [row["sweep"] for row in client.sweeps() if row["name"] == os.path.basename(path.rstrip("/"))[:64]]
    return next((sweep for sweep in named if client.sweep(sweep)["spec"].get("description") == MARK), None)


def link(folder: str, storage_path: str, name: str) -> None:
    """A run's folder where RunConfig(storage_path=) has it: a link, because the daemon keeps it."""
    at = os.path.join(os.path.expanduser(storage_path), name)
    if "://" not in at:
        os.makedirs(os.path.dirname(at), exist_ok=True)
        if os.path.islink(at) and os.path.dirname(os.path.realpath(at)) == os.path.realpath(os.path.dirname(folder)):
            os.remove(at)  # an earlier run's; any other is the user's
        if not os.path.lexists(at):
            os.symlink(folder, at)
            return
    warnings.warn(f"no link to the run's folder, {folder}, can be made at {at}", stacklevel=4)


def gpus() -> List[str]:
    """The GPUs that a trial may see, as CUDA_VISIBLE_DEVICES has them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    found = [name for name in visible.split(",") if name] if visible is not None else [
        path[len("/dev/nvidia"):] for path in sorted(glob.glob("/dev/nvidia[0-9]*"))]
    return found if cluster["num_gpus"] is None else (found or [str(i) for i in range(99)])[:cluster["num_gpus"]]


def places(resources: Mapping[str, Any], most: Optional[int]) -> Any:
    """How many trials fit at once, and each one's GPUs."""
    unknown = set(resources) - {"cpu", "gpu"}
    if unknown:
        raise NotImplementedError(f"the resource {', '.join(sorted(unknown))} is not carried over: cpu and gpu are")
    cpu, gpu = float(resources["cpu"]), float(resources["gpu"])
    cores = cluster["num_cpus"] or len(os.sched_getaffinity(0))
    n = max(1, int(cores // cpu)) if cpu > 0 else cores
    if cpu > cores:
        warnings.warn(f"a trial wants {cpu:g} cores, and there are {cores}: one runs at a time", stacklevel=4)
    shares: List[str] = []
    if gpu > 0:
        there = gpus()
        if gpu < 1:
            shares = [name for _ in range(int(1 / gpu + 1e-9)) for name in there]
        else:
            whole = int(gpu)
            shares = [",".join(there[i:i + whole]) for i in range(0, len(there) - whole + 1, whole)]
        if not shares:
            raise TuneError(f"a trial wants {gpu:g} GPUs, and there are {len(there)}: set \"gpu\" to 0 to run on the CPU")
        n = min(n, len(shares))
    return min(n, most or n), shares


def run(run_or_experiment: Callable[..., Any], *, name: Text = None, metric: Any = None, mode: Any = None,
        stop: Any = None, time_budget_s: Any = None, config: Optional[Mapping[str, Any]] = None, num_samples: int = 1,
        resources_per_trial: Optional[Mapping[str, Any]] = None, search_alg: Optional[Searcher] = None,
        scheduler: Optional[TrialScheduler] = None, keep_checkpoints_num: Optional[int] = None,
        checkpoint_freq: int = 0, checkpoint_at_end: bool = False, verbose: Optional[int] = None,
        progress_reporter: Optional[CLIReporter] = None, max_failures: float = 0, fail_fast: Any = False,
        raise_on_failed_trial: bool = True, max_concurrent_trials: Optional[int] = None,
        callbacks: Optional[List[Callback]] = None, storage_path: Text = None, local_dir: Text = None,
        resume: Any = False, _sweep: Optional[int] = None, _saved: bytes = b"",
        _errored: str = "", _only_read: bool = False, checkpoint_score_attr: Text = None, **more: Any) -> ExperimentAnalysis:
    """Runs num_samples trials of a function or a Trainable, each in a process of its own, and waits for them.

    `resume`: the newest run of this `name` goes on. `metric` and `mode` may be lists.
    """
    _check(more, stop, search_alg, scheduler)
    check_fork()
    if fail_fast and max_failures:
        raise ValueError("max_failures must be 0 if fail_fast is given")
    if checkpoint_at_end and not inspect.isclass(run_or_experiment):
        raise ValueError("checkpoint_at_end is for a Trainable: a function reports its last checkpoint itself")
    scheduler, search = scheduler or FIFOScheduler(), search_alg or BasicVariantGenerator()
    metric, mode = metric or scheduler.metric or search.metric, mode or scheduler.mode or search.mode
    goals = _goals(metric, mode)
    trainable, key = run_or_experiment, next(iter(goals))
    wanted = resources_per_trial or getattr(trainable, "_sweepd_resources", None) or {}
    resources = {"cpu": 1, "gpu": 0, **{name.lower(): value or 0 for name, value in wanted.items()}}
    n, shares = places(resources, min(filter(None, (max_concurrent_trials, search.max_concurrent)), default=None))
    space = Space({**search.space, **(config or {})}, scheduler.mutations, search.own())
    title = name or _title(trainable)
    client = Client()
    old = _sweep or (find(client, title) if resume else None)
    if resume and not old and resume != "AUTO":
        raise ValueError(f"there is no run of the name {title!r} to resume")
    sweep = old or _submit(client, _spec(title, space, scheduler, search, num_samples, time_budget_s, goals))
    session = functools.partial(Session, name=title, time_attr=scheduler.time_attr, metric=key)
    every = checkpoint_freq or scheduler.settings.get("perturbation_interval", 0)

    def main(given: Dict[str, Any]) -> None:
        trial_main(trainable, functools.partial(session, given["trial_id"]), every, checkpoint_at_end, given["config"])

    driver = _Driver(client, sweep, main, key, n, shares, space=space, name=_title(trainable), stop=stop,
                     reporter=progress_reporter or (None if verbose == 0 else CLIReporter()), callbacks=callbacks or [],
                     max_failures=max_failures, fail_fast=fail_fast)
    driver.threads = max(1, int(resources["cpu"]))
    score = checkpoint_score_attr or ""
    driver.kept = (keep_checkpoints_num or 0, score[4:] if score.startswith("min-") else score or None,
                   "min" if score.startswith("min-") else "max")
    os.makedirs(driver.folder, exist_ok=True)
    if _saved and not old:
        with open(os.path.join(driver.folder, SAVED), "wb") as file:
            file.write(_saved)
    if storage_path or local_dir:
        link(driver.folder, str(storage_path or local_dir), title)
    analysis = driver.search(metric, mode, bool(old), _errored, _only_read)
    errors = [trial for trial in analysis.trials if trial.status == "ERROR"]
    if errors and raise_on_failed_trial:
        raise TuneError(f"trials failed: {', '.join(f'{trial.trial_id} ({trial.error_msg})' for trial in errors)}")
    return analysis


def _check(more: Mapping[str, Any], stop: Any, search: Any, scheduler: Any) -> None:
    """Names what is not carried over."""
    for key, value in more.items():
        if key in INSTEAD and value:
            raise NotImplementedError(f"tune.run({key}=...) is not carried over: {INSTEAD[key]}")
        if key not in INSTEAD and key not in IGNORED:
            raise TypeError(f"tune.run() has no argument {key!r}")
    if isinstance(search, str) or isinstance(scheduler, str):
        raise NotImplementedError("the name of a scheduler or search algorithm is not carried over: give the object")
    if isinstance(stop, Mapping) and not all(isinstance(value, (int, float)) for value in stop.values()):
        raise TypeError(f"stop has a number for each metric: {stop}")


def _goals(metric: Any, mode: Any) -> Dict[str, str]:
    """The metrics, each with its mode."""
    names = list(metric) if isinstance(metric, (list, tuple)) else [metric or ITERATION]
    modes = list(mode) if isinstance(mode, (list, tuple)) else [mode or ("min" if metric else "max")] * len(names)
    if len(modes) != len(names) or any(each not in ("min", "max") for each in modes):
        raise ValueError(f'mode is "min" or "max", one for each metric, not {mode!r}')
    return dict(zip(names, modes))


def _submit(client: Client, spec: Dict[str, Any]) -> int:
    """The sweep's number. A spec has so many first points at most; more are enqueued."""
    points = spec["init"]
    sweep = int(client.call("sweep.submit", spec={**spec, "init": points[:MOST_POINTS]})["sweep"])
    for point in points[MOST_POINTS:]:
        client.enqueue(sweep, point)
    return sweep


def _title(trainable: Any) -> str:
    while isinstance(trainable, functools.partial):
        trainable = trainable.func
    return str(getattr(trainable, "__name__", type(trainable).__name__))


def _spec(title: str, space: Space, scheduler: TrialScheduler, search: Searcher, num_samples: int, budget: Any,
          goals: Mapping[str, str]) -> Dict[str, Any]:
    points = space.points(max(num_samples, 1))
    given = [{space.names[key]: value for key, value in point.items()} for point in search.points or []]
    grids = math.prod(len(values) for values in space.grids.values())
    metrics = [{"name": name, "goal": "minimize" if mode == "min" else "maximize"} for name, mode in goals.items()]
    method = search.method if search.method != "tpe" or len(metrics) == 1 else "bayes"  # tpe learns from one metric
    spec = {
        "name": title[:64], "description": MARK, "method": method, "init": given + points,
        "parameters": space.parameters or {"config": {"value": None}},
        **({"metric": metrics[0]} if len(metrics) == 1 else {"metrics": metrics}),
        "run_cap": num_samples * grids if num_samples > 0 else None, "seed": search.seed and int(search.seed),
        "time_budget_s": budget.total_seconds() if hasattr(budget, "total_seconds") else budget,
        "early_terminate": scheduler.spec(space.mutable)}
    return {name: value for name, value in spec.items() if value is not None}


def with_parameters(trainable: Callable[..., Any], **parameters: Any) -> Callable[..., Any]:
    """A trainable with more arguments, which may be large objects."""
    if inspect.isclass(trainable):
        class Given(trainable):  # type: ignore[misc]
            def setup(self, config: Dict[str, Any]) -> None:
                super().setup(config, **parameters)

        Given.__name__ = trainable.__name__
        return Given
    return functools.partial(trainable, **parameters)


def with_resources(trainable: Callable[..., Any], resources: Mapping[str, Any]) -> Callable[..., Any]:
    """A trainable with what each of its trials needs."""
    if not isinstance(resources, Mapping):
        raise NotImplementedError('with_resources() takes {"cpu": 2, "gpu": 0.5}: nothing else is carried over')
    out: Any = trainable if inspect.isclass(trainable) else functools.partial(trainable)
    out._sweepd_resources = dict(resources)
    return out

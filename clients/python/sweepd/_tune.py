"""tune(): the best parameters of a function, each trial in a process of its own."""
import os
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._client import Client
from ._driver import Driver, checkpoint_path, checkpoints
from ._errors import SweepdError


class TuneResult:
    """The outcome of a search. `trials` are the daemon's rows, `reports` the metrics of each trial, step by step."""

    def __init__(self, client: Client, driver: Driver) -> None:
        self.sweep = sweep = driver.sweep
        self.state: str = client.sweep(sweep)["state"]
        self.trials: List[Dict[str, Any]] = client.trials(sweep)
        self.best_trial: Optional[Dict[str, Any]] = client.best(sweep)
        self.reports: Dict[int, List[Dict[str, Any]]] = driver.reports
        self.folder = driver.folder
        self._best = driver.best

    @property
    def best_params(self) -> Optional[Dict[str, Any]]:
        """The parameters of the trial with the best report; None if no trial has reported."""
        return self.best_trial["params"] if self.best_trial else None

    @property
    def best_value(self) -> Optional[float]:
        """The best report's metric; None if no trial has reported."""
        return self.best_trial["value"] if self.best_trial else None

    def __repr__(self) -> str:
        return (f"TuneResult(sweep={self.sweep}, state={self.state!r}, trials={len(self.trials)}, "
                f"best_value={self.best_value!r}, best_params={self.best_params!r})")

    def checkpoint(self, trial: int, best: bool = False) -> Optional[str]:
        """The folder with a trial's last checkpoint, or with that of its best report; None if it has none.

        Only reports with checkpoint=True, and those at which a trial paused, may be the best.
        """
        if best:
            return checkpoint_path(self.folder, trial, self._best[trial][1]) if trial in self._best else None
        live = os.path.join(self.folder, str(trial))
        if os.path.isdir(live) and os.listdir(live):
            return live
        steps = checkpoints(self.folder, trial)
        return checkpoint_path(self.folder, trial, steps[-1]) if steps else None


def tune(fn: Callable[[Dict[str, Any]], Any], space: Mapping[str, Any],
         metric: Union[str, Mapping[str, str], Sequence[Mapping[str, str]]] = "loss", goal: str = "minimize",
         run_cap: int = 20, n: Optional[int] = None, method: str = "bayes", client: Optional[Client] = None,
         gpus: Optional[List[str]] = None, grace_s: float = 10, **spec: Any) -> TuneResult:
    """Searches `space` (the `parameters` of docs/spec.md) for the params with which fn(params) does best.

    fn runs in a process of its own for each trial, `n` at once (default: the cores, or one for each of `gpus`). It may
    call sweepd.report(step, loss=...), which ends the trial when it is to end, and it may return the metric, or a dict
    of metrics. `metric` may be the spec's own {"name": ..., "goal": ...}, or a list of them. `gpus`: what CUDA_VISIBLE_DEVICES is in each
    process. More keys of the spec, such as early_terminate, go by name. If all trials fail the first one's error is
    raised. CUDA must not have been initialised before: a forked process cannot use it.
    """
    check_fork()
    goals = [{"name": metric, "goal": goal} if isinstance(metric, str) else metric] if isinstance(
        metric, (str, Mapping)) else list(metric)
    client = client or Client()
    sweep = client.submit({"method": method, "run_cap": run_cap, "parameters": dict(space),
                           **({"metric": goals[0]} if len(goals) == 1 else {"metrics": goals}), **spec})
    driver = Driver(client, sweep, fn, goals[0]["name"], n or (len(gpus) if gpus else len(os.sched_getaffinity(0))), gpus, grace_s)
    driver.run()
    result = TuneResult(client, driver)
    if result.trials and all(trial["state"] in ("FAILED", "INFEASIBLE") for trial in result.trials):
        raise SweepdError(f"all {len(result.trials)} trials of sweep {sweep} failed, the first with "
                          f"{result.trials[0]['cause']}")
    return result


def check_fork() -> None:
    """Refuses what a forked process could not use."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        raise SweepdError("CUDA is initialised in this process, so processes forked from it cannot use it: do that in "
                          "the function instead")

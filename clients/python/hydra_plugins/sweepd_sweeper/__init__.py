"""A sweeper for Hydra 1.1 and later: `hydra/sweeper: sweepd`, or `hydra/sweeper=sweepd` behind `-m`.

A job is a trial: a fork of the script's process, in which Hydra's own launcher runs it, so that folders, logs, callbacks
and `hydra.job.num` are as with any sweeper. As many run at once as sweepd.tune() would run. What a job returns is the
metric; one that calls sweepd.report() can be pruned. Hydra loads this module in every program of its, so it loads
sweepd only to sweep.
"""
import logging
import os
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep, Transformer
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from omegaconf import DictConfig, ListConfig, OmegaConf

MOST_VALUES = 10000  # of a parameter of a spec
log = logging.getLogger(__name__)
Read = Callable[[Any], Tuple[Any, str]]  # a value on the wire as Hydra has it, and as an override's text


@dataclass
class SweepdSweeperConf:
    """`direction` and `metric` may be lists: then a job returns as many numbers. `spec` has more keys of a sweep's spec,
    such as early_terminate. sampler and storage, of Hydra's Optuna sweeper, are taken with a warning: they have no effect."""

    _target_: str = "hydra_plugins.sweepd_sweeper.SweepdSweeper"
    method: str = "bayes"
    direction: Any = "minimize"
    metric: Any = "objective"
    n_trials: int = 20
    n_jobs: Optional[int] = None  # at once: by default one on each GPU, or on each core
    seed: Optional[int] = None
    study_name: Optional[str] = None  # by default hydra.job.name
    params: Dict[str, Any] = field(default_factory=dict)
    spec: Any = None
    sampler: Any = None
    storage: Any = None
    max_failure_rate: float = 1.0  # if more of the jobs fail, the program does


ConfigStore.instance().store(group="hydra/sweeper", name="sweepd", node=SweepdSweeperConf, provider="sweepd")


class SweepdSweeper(Sweeper):
    """Makes the jobs of a sweep of the daemon."""

    def __init__(self, params: Any, spec: Any, **settings: Any) -> None:
        self.params, self.spec, self.settings = dict(params or {}), OmegaConf.to_container(OmegaConf.create(spec or {})), settings
        without = [name for name in ("sampler", "storage") if settings[name] is not None]
        if without:
            log.warning("hydra/sweeper=sweepd: %s: without effect; method, seed and spec say how it searches", ", ".join(without))

    def setup(self, *, hydra_context: Any, task_function: Any, config: DictConfig) -> None:
        self.config, self.loader = config, hydra_context.config_loader
        self.launcher: Launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config)

    def sweep(self, arguments: List[str]) -> Any:
        """Runs all jobs, and writes what is best into optimization_results.yaml; gives the sweepd.TuneResult."""
        import sweepd
        from sweepd.ray._run import gpus

        space, reads = self._space([*(f"{key}={value}" for key, value in self.params.items()), *arguments])
        of, n_jobs = self.settings, self.settings["n_jobs"]
        names, goals = _listed(of["metric"]), [str(goal).lower() for goal in _listed(of["direction"])]
        if len(names) != len(goals):
            names = [f"{names[0]}_{i}" for i in range(len(goals))]
        folder = Path(str(self.config.hydra.sweep.dir))
        folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, folder / "multirun.yaml")

        def job(params: Dict[str, Any]) -> Optional[Dict[str, Any]]:
            number = int(os.environ["SWEEPD_TRIAL"].partition("/")[2])
            given = [f"{key}={read(params[name])[1]}" for name, (key, read) in reads.items()]
            value = self.launcher.launch([[*self.fixed, *given]], initial_job_idx=number - 1)[0].return_value
            return None if value is None else dict(zip(names, _listed(value)))

        spec = {"name": str(of["study_name"] or self.config.hydra.job.name)[:64], **self.spec,
                **({} if of["seed"] is None else {"seed": of["seed"]})}
        result = sweepd.tune(job, space, [{"name": name, "goal": goal} for name, goal in zip(names, goals)],
                             run_cap=of["n_trials"], n=n_jobs, method=of["method"], gpus=None if n_jobs else gpus() or None, **spec)
        best = [{"params": {key: read(row["params"][name])[0] for name, (key, read) in reads.items()},
                 "values": [row["metrics"].get(name) for name in names] if len(names) > 1 else row["value"]}
                for row in sweepd.Client().bests(result.sweep)]
        OmegaConf.save(OmegaConf.create({"name": "sweepd", "sweep": result.sweep, **(
            {"solutions": best} if len(names) > 1 else {"best_params": best[0]["params"], "best_value": best[0]["values"]})}),
            folder / "optimization_results.yaml")
        ended = Counter(trial["state"] for trial in result.trials)
        if ended["FAILED"] > of["max_failure_rate"] * len(result.trials):
            raise HydraException(f"{ended['FAILED']} of {len(result.trials)} jobs failed, and hydra.sweeper.max_failure_rate is "
                                 f"{of['max_failure_rate']}: `sweep show {result.sweep}` says why")
        log.info("sweep %d: %s; %s", result.sweep, ", ".join(f"{n} {state}" for state, n in ended.items()), best[0])
        return result

    def _space(self, arguments: List[str]) -> Tuple[Dict[str, Any], Dict[str, Tuple[str, Read]]]:
        """The parameters, and for each its key, and what reads its value. `fixed` are the overrides that all jobs have."""
        from sweepd._wire import wire_names

        last = {each.get_key_element().lstrip("+~"): each  # `++lr` of the command line is the `lr` of params
                for each in OverridesParser.create(self.loader).parse_overrides(arguments)}
        parsed = {each.get_key_element(): each for each in last.values()}
        swept = {key: _parameter(each) for key, each in parsed.items() if each.is_sweep_override()}
        self.fixed = [str(each.input_line) for key, each in parsed.items() if key not in swept]
        if not swept:
            raise HydraException("hydra/sweeper=sweepd has nothing to search: give a key choice(), range() or interval(), "
                                 "on the command line or in hydra.sweeper.params")
        names = wire_names(swept)
        return {names[key]: spec for key, (spec, _) in swept.items()}, {names[key]: (key, read) for key, (_, read) in swept.items()}


def _listed(value: Any) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple, ListConfig)) else [value]


def _parameter(override: Override) -> Tuple[Dict[str, Any], Read]:
    """A parameter of a spec, and what gives its value as Hydra has it, and as the text of an override. A range of whole
    numbers by 1 is one, an interval too; all else that can be listed is a choice."""
    from sweepd._wire import find, is_scalar, wire_values

    swept = override.value()
    if isinstance(swept, IntervalSweep):
        number = int if isinstance(swept.start, int) and isinstance(swept.end, int) else float
        kinds = ("int_log_uniform", "int_uniform") if number is int else ("log_uniform_values", "uniform")
        return ({"distribution": kinds["log" not in swept.tags], "min": swept.start, "max": swept.end},
                lambda value: (number(value), str(number(value))))
    listed = swept.range() if isinstance(swept, RangeSweep) else None
    if isinstance(listed, range) and listed and listed.step == 1:
        return {"distribution": "int_uniform", "min": listed[0], "max": listed[-1]}, lambda value: (value, str(value))
    both = [(getattr(value, "text", value), Transformer.str(value)) for value in islice(override.sweep_iterator(), MOST_VALUES + 1)]
    if len(both) > MOST_VALUES:
        raise HydraException(f"{override.key_or_group} has more than {MOST_VALUES} values, the most of a sweep's parameter: "
                             "write interval(), or range() with a larger step")
    values = wire_values([value if is_scalar(value) else text for value, text in both])
    return {"values": values}, lambda value: both[find(values, value)]

"""A study that the daemon has, by its name: its trials and its distributions from its sweep."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List

from ._link import MARK
from .distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from .trial import FrozenTrial, TrialState

if TYPE_CHECKING:
    from .study import Study

STATES = {"COMPLETED": TrialState.COMPLETE, "PRUNED": TrialState.PRUNED}


def load(study: "Study") -> bool:
    """Fills a study with the newest one of its name; False if there is none."""
    from .study import StudyDirection
    link = study._link
    client = link._client()
    named = (row["sweep"] for row in client.sweeps() if row["name"] == study.study_name)
    for number in named:
        sweep = client.sweep(number)
        spec = sweep["spec"]
        if spec.get("description") != MARK:
            continue
        metrics = spec.get("metrics") or [spec["metric"]]
        study.directions[:] = [StudyDirection[metric["goal"].upper()] for metric in metrics]
        link.__init__(study, study.study_name, study.sampler, study.pruner)  # type: ignore[misc]
        link.client, link.sweep = client, number
        link.space = {name: _distribution(parameter) for name, parameter in spec["parameters"].items()}
        link.names = {name: name for name in link.space}
        link.whens = {name: (on, [link.space[on].from_wire(value) for value in values])
                      for name, parameter in spec["parameters"].items()
                      for on, values in parameter.get("when", {}).items()}
        link.early_terminate = spec.get("early_terminate")
        rows = client.trials(number)
        link.made, link.cap = len(rows), sweep["run_cap"]
        study._trials = [_trial(link, row, i, client.reports(number, row["trial"])) for i, row in enumerate(rows)]
        return True
    return False


def _distribution(parameter: Dict[str, Any]) -> BaseDistribution:
    kind = parameter.get("distribution")
    if kind is None:
        return CategoricalDistribution(parameter.get("values", [parameter.get("value")]))
    low, high, step = parameter["min"], parameter["max"], parameter.get("q")
    if kind in ("int_uniform", "int_log_uniform") or isinstance(step, int):
        return IntDistribution(low, high, kind == "int_log_uniform", step or 1)
    return FloatDistribution(low, high, kind == "log_uniform_values", step)


def _trial(link: Any, row: Dict[str, Any], number: int, reports: List[Dict[str, Any]]) -> FrozenTrial:
    state = STATES.get(row["state"], TrialState.FAIL)
    values = [row["metrics"].get(name) for name in link.metrics] if row.get("metrics") else None
    if state == TrialState.COMPLETE:
        reports = reports[:-1]  # the last is the objective's value
    trial = FrozenTrial(
        number, state, {name: link.space[name].from_wire(value) for name, value in row["params"].items()},
        {name: link.space[name] for name in row["params"]},
        values if state != TrialState.FAIL and values and None not in values else None,
        {report["step"] - link.shift: report["metrics"][link.metrics[0]] for report in reports
         if link.metrics[0] in report["metrics"]})
    trial.datetime_start = trial.datetime_complete = None
    return trial

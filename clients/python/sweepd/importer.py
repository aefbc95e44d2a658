"""A study of Optuna or an experiment of Ray Tune becomes a sweep, with all its trials that have ended.

    python3 -m sweepd.importer optuna FILE [STUDY] [--metric NAME]
    python3 -m sweepd.importer ray FOLDER --goal minimize|maximize [--metric NAME]

Optuna's storages are read by Optuna itself. Of Ray the JSON files are read that it writes for others: Ray need not be
installed, and nothing is unpickled, which would run code of whoever wrote the folder.
"""
import argparse
import collections
import json
import math
import os
import re
import sys
import warnings
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import _distributions
from ._client import Client
from ._connection import Connection
from ._errors import SweepdError
from ._wire import conditions, flat, key, to_wire, wire_names

CHUNK, FLIGHT = 100, 64  # trials that run at once; requests without an answer, of which a daemon takes 256
LINE = 1 << 20  # bytes: what the daemon takes, and what is read of one file of a trial
FILE = 64 << 20  # bytes of an experiment's state
MOST_TRIALS, MOST_CHOICES = 1_000_000, 1000
Body = Dict[str, Any]


class Past(NamedTuple):
    """A trial that has ended; a report is a step and its metrics."""

    state: str
    params: Dict[str, Any]
    reports: List[Tuple[int, Dict[str, float]]]
    last: Dict[str, float]  # metrics that come with its end


class Study(NamedTuple):
    """The makings of a sweep; `metrics` are names with their goals."""

    name: str
    metrics: List[Dict[str, str]]
    parameters: Dict[str, Body]
    trials: List[Past]
    open: int  # trials that had not ended


# Optuna

def read_optuna(path: str, name: Optional[str], metric: Optional[str]) -> Study:
    """A study of a storage: an SQLite file, a journal, or a URL as Optuna takes it."""
    try:
        import optuna  # type: ignore
    except ImportError:
        raise SweepdError("Optuna reads its storages itself, and is not installed: pip install optuna") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")  # of Optuna: what is experimental there
    try:
        storage = _storage(optuna, path)
        names = optuna.get_all_study_names(storage)
        if name is None and len(names) != 1:
            raise SweepdError(f"several studies are in it, name one after the file: {', '.join(names)[:200]}" if names
                              else "there is no study in it")
        if name is not None and name not in names:
            raise SweepdError(f"there is no study {name!r} in it: {', '.join(names)[:200]}")
        study = optuna.load_study(study_name=name or names[0], storage=storage)
        trials, own = study.trials, getattr(study, "metric_names", None)
    except (SweepdError, OSError):
        raise
    except Exception as error:  # of Optuna, its database or its journal
        raise SweepdError(f"Optuna cannot read it: {type(error).__name__}: {(str(error) or '-').splitlines()[0]}") from error
    several = len(study.directions) > 1
    if several and metric:
        raise SweepdError("the study has several objectives, and --metric names one")
    metrics = [metric] if metric else own or [f"value_{i}" if several else "value" for i in range(len(study.directions))]
    plain = wire_names(dict.fromkeys(key for trial in trials for key in trial.distributions))
    past = []
    shift = 1 - min([1, *(step for trial in trials for step in trial.intermediate_values)])
    states = {"COMPLETE": "COMPLETED", "PRUNED": "PRUNED", "FAIL": "FAILED"}
    ended = [trial for trial in trials if trial.state.name in states]
    for trial in ended:
        state = states[trial.state.name]
        params = {plain[name]: _distributions.to_wire(trial.distributions[name], value) for name, value in trial.params.items()}
        reports = [(step + shift, {metrics[0]: float(value)})
                   for step, value in sorted(trial.intermediate_values.items()) if math.isfinite(value)]
        last = dict(zip(metrics, trial.values or ())) if state == "COMPLETED" else {}
        past.append(Past(state, params, reports, {} if reports and last == reports[-1][1] else last))
    return Study(study.study_name, [{"name": metrics[i], "goal": direction.name.lower()}
                                    for i, direction in enumerate(study.directions)],
                 {plain[name]: _distributions.spec(each, exact=False)
                  for name, each in _distributions.ranges(ended).items()}, past, len(trials) - len(past))


def _storage(optuna: Any, path: str) -> Any:
    if "://" in path:
        return optuna.storages.get_storage(path)
    with open(path, "rb") as file:
        first = file.read(1)
    if first != b"{":
        return optuna.storages.RDBStorage(f"sqlite:///{os.path.abspath(path)}", skip_table_creation=True)
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(path))


# Ray Tune

BOOKKEEPING = {"training_iteration", "timestamp", "pid", "time_this_iter_s", "time_total_s", "time_since_restore",
               "timesteps_total", "episodes_total", "timesteps_since_restore", "warmup_time", "episodes_this_iter",
               "iterations_since_restore"}


def read_ray(folder: str, goal: str, metric: Optional[str]) -> Study:
    """An experiment's folder. Its search space is in pickles only: a parameter gets the range of its values. Of trials
    that a scheduler has stopped Ray says TERMINATED, as of those that ran to their end."""
    states: Dict[str, str] = {}
    entries = sorted(os.listdir(folder))
    for entry in entries:
        if re.fullmatch(r"experiment_state-.*\.json", entry):  # names sort by time
            state = _parse(os.path.join(folder, entry), FILE)
            for row in state.get("trial_data") or state.get("checkpoints") or ():  # since and before Ray 2.7
                one = json.loads(row[0] if isinstance(row, list) else row)
                states[one["trial_id"]] = one["status"]
            metric = metric or (state.get("runner_data") or {}).get("_metric")
    raw, seen = [], {}
    left_open = 0
    for entry in entries:
        path = os.path.join(folder, entry)
        if not os.path.isfile(os.path.join(path, "params.json")):
            continue
        word = next((states[trial] for trial in states if trial in entry), "TERMINATED")
        failed = word == "ERROR" or os.path.exists(os.path.join(path, "error.txt"))
        if not failed and word != "TERMINATED":
            left_open += 1
            continue
        rows, params = list(_ray_reports(os.path.join(path, "result.json"))), _parse(os.path.join(path, "params.json"), LINE)
        seen.update(dict.fromkeys(name for _, row in rows for name in row if name not in BOOKKEEPING))
        raw.append(("FAILED" if failed else "COMPLETED", flat(params, "."), rows))
    if not raw:
        raise SweepdError("there is no trial of Ray Tune in it: no folder with a params.json, or none that has ended")
    if metric is None or not any(metric in row for _, _, rows in raw for _, row in rows):
        what = f"no trial reported {metric!r}; reported are" if metric else "--metric says which of these is compared"
        raise SweepdError(f"{what}: {', '.join(seen)[:200]}")
    found = {name: _ray_body([params[name] for _, params, _ in raw if name in params])
             for name in dict.fromkeys(name for _, params, _ in raw for name in params)}
    bodies = {name: body for name, body in found.items() if body is not None}
    past = []
    for word, params, rows in raw:
        reports: List[Tuple[int, Dict[str, float]]] = []
        for step, row in rows:
            # A trial that was restarted has steps again: the first of each counts.
            if metric in row and step > (reports[-1][0] if reports else 0):
                reports.append((step, {name: value for name, value in row.items()
                                       if math.isfinite(value) and (name == metric or name not in BOOKKEEPING)}))
        past.append(Past(word, {name: value for name, value in params.items() if name in bodies}, reports, {}))
    return Study(os.path.basename(os.path.abspath(folder)), [{"name": metric, "goal": goal}], bodies, past, left_open)


def _parse(path: str, most: int) -> Dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise SweepdError(f"{path}: more than {most >> 20} MiB")
    try:
        found = json.loads(text, parse_constant=lambda _: None)
    except ValueError as error:
        raise SweepdError(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise SweepdError(f"{path}: an object was expected")
    return found


def _ray_reports(path: str) -> Iterator[Tuple[int, Dict[str, float]]]:
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(iter(lambda: file.readline(LINE), ""), 1):
            if not line.endswith("\n") and len(line) < LINE:
                return  # a writer died here, or still writes
            try:
                row = json.loads(line)
            except ValueError as error:
                raise SweepdError(f"{path}:{number}: {error}") from None
            step = row.pop("training_iteration", None) if isinstance(row, dict) else None
            if type(step) is int:
                yield step, {"training_iteration": step, **{
                    name: value for name, value in flat({**row, "config": None}, "/").items()
                    if type(value) in (int, float)}}


def _ray_body(values: List[Any]) -> Optional[Body]:
    """A parameter by the values that it had; None: no spec can say it."""
    different = {json.dumps(value): value for value in values}
    if len(different) == 1:
        return {"value": values[0]}
    if all(type(value) in (int, float) for value in values):
        low, high = min(values), max(values)
        if all(type(value) is int for value in values):
            return {"distribution": "int_uniform", "min": low, "max": high}
        log = low > 0 and high >= 100 * low
        return {"distribution": "log_uniform_values" if log else "uniform", "min": float(low), "max": float(high)}
    if len(different) > MOST_CHOICES or any("{" in text for text in different):
        return None
    return {"values": list(different.values())}


# The sweep

def _listed(body: Body) -> Sequence[Any]:
    """The values that a condition may name."""
    few = body.get("distribution") == "int_uniform" and body["max"] - body["min"] < _distributions.FEW
    return range(body["min"], body["max"] + 1) if few else body.get("values", ())


def _active(study: Study) -> Tuple[List[Past], int]:
    """Says of a parameter that some trials lack when it is active, by the values of another one; gives the trials that
    fit, and how many do not."""
    told = [trial for trial in study.trials if trial.state != "FAILED"]  # that may have ended before it drew all
    for name, (on, values) in conditions({name: _listed(body) for name, body in study.parameters.items()},
                                         [trial.params for trial in told]).items():
        study.parameters[name]["when"] = {on: values}

    def needs(trial: Past, body: Body) -> bool:
        return all(on in trial.params and key(trial.params[on]) in map(key, values)
                   for on, values in body.get("when", {}).items())

    fit = [trial for trial in study.trials
           if all(needs(trial, body) == (name in trial.params) for name, body in study.parameters.items())]
    return fit, len(study.trials) - len(fit)


class _Sender:
    """Requests on one connection, several without an answer."""

    def __init__(self, path: str) -> None:
        self.connection, self.waiting = Connection(path), collections.deque([0][:0])

    def send(self, method: str, **params: Any) -> None:
        self.settle(FLIGHT - 1)
        self.waiting.append(self.connection.send(method, params))

    def settle(self, most: int = 0) -> None:
        while len(self.waiting) > most:
            self.connection.receive(self.waiting.popleft())


def _play(sender: _Sender, sweep: int, chunk: Sequence[Past]) -> None:
    for trial in chunk:
        sender.send("trial.enqueue", sweep=sweep, params=trial.params)
    sender.settle()
    handed = sender.connection.call("trial.ask", {"sweep": sweep, "count": len(chunk)})["trials"]
    if len(handed) != len(chunk):
        raise SweepdError(f"sweep {sweep} handed out {len(handed)} of {len(chunk)} trials")
    for trial, given in zip(chunk, handed):
        who = {"sweep": sweep, "trial": given["trial"], "attempt": given["attempt"]}
        for seq, (step, metrics) in enumerate(trial.reports, 1):
            sender.send("trial.report", **who, seq=seq, step=step, metrics=to_wire(metrics))
        sender.send("trial.tell", **who, state=trial.state, **({"metrics": to_wire(trial.last)} if trial.last else {}))
    sender.settle()


def send(study: Study, origin: str) -> str:
    """Submits the sweep and plays its trials; gives the line that says what became of it. A part of a study is of no
    use: if it fails on the way, the sweep is cancelled."""
    trials, unfit = _active(study)
    if not trials:
        raise SweepdError("no trial in it has ended" + (" with all its parameters" if study.trials else ""))
    if len(trials) > MOST_TRIALS:
        raise SweepdError(f"{len(trials)} trials are in it: at most {MOST_TRIALS} can be imported")
    for n, why in ((study.open, "had not ended"),
                   (unfit, "lack a parameter, and no other one's value says when it is needed")):
        if n:
            print(f"warning: {n} trials are left out: they {why}", file=sys.stderr)
    goals = {"metric": study.metrics[0]} if len(study.metrics) == 1 else {"metrics": study.metrics}
    spec = {"name": study.name.encode()[:63].decode(errors="ignore"), "description": f"imported from {origin}"[:200],
            "method": "random", **goals, "parameters": study.parameters, "run_cap": len(trials)}
    if len(json.dumps(spec)) > LINE - 100:
        raise SweepdError("its parameters are too large for a spec, which has at most 1 MiB")
    with Client() as client:
        sweep = int(client.call("sweep.submit", spec=spec)["sweep"])
        try:
            sender = _Sender(client.socket)
            for i in range(0, len(trials), CHUNK):
                _play(sender, sweep, trials[i:i + CHUNK])
            sender.connection.close()
            made = client.sweep(sweep)["counts"]  # of what the source calls complete some have no number
        except BaseException:
            client.cancel(sweep)
            raise
    return f"sweep {sweep}: " + ", ".join(
        f"{n} {state}" for state, n in made.items() if n or state in ("COMPLETED", "PRUNED", "FAILED"))


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """An exit status."""
    parser = argparse.ArgumentParser("python3 -m sweepd.importer", description="makes a sweep of a study of another tool")
    parser.add_argument("tool", choices=["optuna", "ray"])
    parser.add_argument("path", help="Optuna's file, or Ray's folder")
    parser.add_argument("study", nargs="?", help="of Optuna: needed if there are several")
    parser.add_argument("--goal", choices=["minimize", "maximize"], help="of Ray, whose files do not say which")
    parser.add_argument("--metric", help="of Optuna: what the value is called here; of Ray: which number is compared")
    given = parser.parse_args(arguments)
    if (given.tool == "ray") != bool(given.goal) or given.tool == "ray" and given.study:
        parser.error("ray needs --goal, and takes no study; optuna takes no --goal")
    try:
        study = (read_optuna(given.path, given.study, given.metric) if given.tool == "optuna"
                 else read_ray(given.path, given.goal, given.metric))
        print(send(study, f"{'Optuna' if given.tool == 'optuna' else 'Ray Tune'}: {given.path}"))
    except (SweepdError, OSError, EOFError) as error:
        print(f"{given.path}: {error}", file=sys.stderr)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        print(f"{given.path}: not as {given.tool} writes it: {type(error).__name__}: {error}", file=sys.stderr)
    else:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())

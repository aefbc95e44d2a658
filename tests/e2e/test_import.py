"""`sweep import`: studies of Optuna, NNI and Ray Tune, in files as those tools write them, become sweeps."""
import json
import os
import sqlite3

import pytest

from harness import sweep_command

STATES = ["RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"]


def dist(kind, **attributes):
    return json.dumps({"name": kind, "attributes": attributes})


LR = dist("FloatDistribution", step=None, low=1e-4, high=0.1, log=True)
UNITS = dist("IntDistribution", log=False, step=16, low=16, high=128)
DROP = dist("FloatDistribution", step=0.1, low=0.0, high=0.5, log=False)
ODD = dist("IntDistribution", log=False, step=2, low=1, high=9)
OPT = dist("CategoricalDistribution", choices=["sgd", "adam", None, True, 1.5])
MOMENTUM = dist("FloatDistribution", step=None, low=0.0, high=0.95, log=False)


def trial(state, lr, opt, *, momentum=None, steps=(), values=None, extra=()):
    """A trial as Optuna keeps it: of a category the index, of an integer a real."""
    params = [("lr", lr, LR), ("units", 48.0, UNITS), ("drop", 0.30000000000000004, DROP), ("odd", 5.0, ODD),
              ("opt", float(opt), OPT)]
    if momentum is not None:
        params.append(("momentum", momentum, MOMENTUM))
    return {"state": state, "params": params + list(extra), "steps": list(steps), "values": values}


TRIALS = [
    trial("COMPLETE", 0.01, 0, momentum=0.5, steps=[(1, 2.0), (0, 3.0)], values=[2.0]),
    trial("COMPLETE", 0.02, 1, steps=[(0, 2.5), (1, None), (2, 2.25)], values=[1.5]),
    trial("PRUNED", 0.1, 2, steps=[(0, 9.0)], values=[9.0]),
    {"state": "FAIL", "params": [("lr", 0.05, LR)], "steps": [], "values": None},
    trial("FAIL", 0.05, 1),
    trial("RUNNING", 0.03, 1, steps=[(0, 1.0)]),
    trial("COMPLETE", 0.0001, 3, values=[None]),
]


def rdb(path, studies):
    """Optuna's SQLite storage, of what is read the tables and columns that it has."""
    db = sqlite3.connect(path)
    db.executescript("""
        CREATE TABLE studies (study_id INTEGER PRIMARY KEY, study_name VARCHAR(512));
        CREATE TABLE study_directions (study_direction_id INTEGER PRIMARY KEY, direction VARCHAR(8), study_id INTEGER,
            objective INTEGER);
        CREATE TABLE study_system_attributes (id INTEGER PRIMARY KEY, study_id INTEGER, "key" TEXT, value_json TEXT);
        CREATE TABLE trials (trial_id INTEGER PRIMARY KEY, number INTEGER, study_id INTEGER, state VARCHAR(8));
        CREATE TABLE trial_params (param_id INTEGER PRIMARY KEY, trial_id INTEGER, param_name TEXT, param_value FLOAT,
            distribution_json TEXT);
        CREATE TABLE trial_values (id INTEGER PRIMARY KEY, trial_id INTEGER, objective INTEGER, value FLOAT);
        CREATE TABLE trial_intermediate_values (id INTEGER PRIMARY KEY, trial_id INTEGER, step INTEGER,
            intermediate_value FLOAT);""")
    for s, (name, directions, metrics, trials) in enumerate(studies, 1):
        db.execute("INSERT INTO studies VALUES (?, ?)", (s, name))
        for i, direction in enumerate(directions):
            db.execute("INSERT INTO study_directions (direction, study_id, objective) VALUES (?, ?, ?)",
                       (direction, s, i))
        if metrics:
            db.execute("INSERT INTO study_system_attributes (study_id, key, value_json) VALUES (?, ?, ?)",
                       (s, "study:metric_names", json.dumps(metrics)))
        for number, t in enumerate(trials):
            at = db.execute("INSERT INTO trials (number, study_id, state) VALUES (?, ?, ?)",
                            (number, s, t["state"])).lastrowid
            for p in t["params"]:
                db.execute("INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) "
                           "VALUES (?, ?, ?, ?)", (at, *p))
            for i, v in enumerate(t["values"] or []):
                db.execute("INSERT INTO trial_values (trial_id, objective, value) VALUES (?, ?, ?)", (at, i, v))
            for step in t["steps"]:
                db.execute("INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value) "
                           "VALUES (?, ?, ?)", (at, *step))
    db.commit()
    db.close()


def journal(path, studies):
    """Optuna's journal: Python's JSON, with its NaN. The last line is one that a dying writer left."""
    n = 0
    with open(path, "w", encoding="utf-8") as f:
        def op(code, **more):
            f.write(json.dumps({"op_code": code, "worker_id": "w", **more}) + "\n")
        for s, (name, directions, metrics, trials) in enumerate(studies):
            op(0, study_name=name, directions=[1 if d == "MINIMIZE" else 2 for d in directions])
            if metrics:
                op(3, study_id=s, system_attr={"study:metric_names": metrics})
            for t in trials:
                op(4, study_id=s, datetime_start="2026-01-01T00:00:00.000000")
                for param, v, distribution in t["params"]:
                    op(5, trial_id=n, param_name=param, param_value_internal=v, distribution=distribution)
                for step, v in t["steps"]:
                    op(7, trial_id=n, step=step, intermediate_value=float("nan") if v is None else v)
                if t["state"] != "RUNNING":
                    values = t["values"] and [float("nan") if v is None else v for v in t["values"]]
                    op(6, trial_id=n, state=STATES.index(t["state"]), values=values)
                n += 1
        f.write('{"op_code": 4, "stu')


def run(daemon, *args):
    status, out, err = sweep_command(daemon, "import", *map(str, args))
    return status, out, err


@pytest.mark.parametrize("write, file", [(rdb, "o.db"), (journal, "j.log")])
def test_optuna_study_becomes_a_sweep(daemon, client, tmp_path, write, file):
    write(tmp_path / file, [("demo", ["MINIMIZE"], None, TRIALS)])
    status, out, err = run(daemon, "--from", "optuna", tmp_path / file)
    assert (status, out) == (0, "sweep 1: 3 COMPLETED, 1 PRUNED, 1 FAILED\n"), err
    assert "1 trials are left out: they had not ended" in err and "1 trials are left out: they lack" in err
    sweep = client.sweep(1)
    assert (sweep["state"], sweep["name"], sweep["metric"], sweep["goal"]) == ("COMPLETED", "demo", "value", "minimize")
    assert sweep["spec"]["parameters"] == {
        "lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 0.1},
        "units": {"distribution": "q_uniform", "min": 16, "max": 128, "q": 16},
        "drop": {"distribution": "q_uniform", "min": 0.0, "max": 0.5, "q": 0.1},
        "odd": {"distribution": "int_uniform", "min": 1, "max": 9},
        "opt": {"values": ["sgd", "adam", None, True, 1.5]},
        "momentum": {"distribution": "uniform", "min": 0.0, "max": 0.95, "when": {"opt": ["sgd"]}}}
    rows = client.trials(1)
    assert [r["state"] for r in rows] == ["COMPLETED", "COMPLETED", "PRUNED", "FAILED", "INFEASIBLE"]
    assert [r["value"] for r in rows[:3]] == [2.0, 1.5, 9.0]
    assert rows[0]["params"] == {"lr": 0.01, "units": 48, "drop": 0.3, "odd": 5, "opt": "sgd", "momentum": 0.5}
    assert [(r["step"], r["metrics"]["value"]) for r in client.reports(1, 1)] == [(1, 3.0), (2, 2.0)]
    assert [(r["step"], r["metrics"]["value"]) for r in client.reports(1, 2)] == [(1, 2.5), (3, 2.25), (4, 1.5)]


def test_imported_sweep_teaches_another(daemon, client, tmp_path):
    rdb(tmp_path / "o.db", [("demo", ["MAXIMIZE"], None, TRIALS[:3])])
    assert run(daemon, "--from", "optuna", tmp_path / "o.db", "--metric", "accuracy")[0] == 0
    space = client.sweep(1)["spec"]["parameters"]
    warm = client.submit({"method": "tpe", "metric": {"name": "accuracy", "goal": "maximize"}, "warm_start": [1],
                          "parameters": space, "run_cap": 2})
    client.ask(warm)
    assert client.call("trial.why", sweep=warm, trial=1)["suggestion"]["earlier"] == [{"sweep": 1, "results": 2}]
    fine = client.submit({"name": "fine", "refine": {"of": 1, "top": 1, "points": 2}})
    assert client.sweep(fine)["points"] > 1


@pytest.mark.parametrize("write, file", [(rdb, "o.db"), (journal, "j.log")])
def test_optuna_study_of_several_objectives_is_named(daemon, client, tmp_path, write, file):
    two = [trial("COMPLETE", 0.01, 1, values=[0.5, 0.75]), trial("COMPLETE", 0.02, 1, values=[0.25, 0.5])]
    write(tmp_path / file, [("one", ["MINIMIZE"], None, TRIALS[:1]),
                            ("two", ["MINIMIZE", "MAXIMIZE"], ["loss", "acc"], two)])
    status, _, err = run(daemon, "--from", "optuna", tmp_path / file)
    assert status == 1 and "several studies in it, name one after the file: one, two" in err
    status, out, err = run(daemon, "--from", "optuna", tmp_path / file, "two")
    assert (status, out, err) == (0, "sweep 1: 2 COMPLETED, 0 PRUNED, 0 FAILED\n", "")
    assert [t["metrics"] for t in client.trials(1)] == [{"loss": 0.5, "acc": 0.75}, {"loss": 0.25, "acc": 0.5}]
    assert client.sweep(1)["spec"]["metrics"][1] == {"name": "acc", "goal": "maximize"}
    assert len(client.call("sweep.best", sweep=1)["trials"]) == 2


def nni(path, *, space=None, mode="maximize"):
    """NNI's database: its schema, and JSON in JSON."""
    space = space or {"lr": {"_type": "loguniform", "_value": [1e-4, 0.1]}, "n": {"_type": "randint", "_value": [1, 9]},
                      "act": {"_type": "choice", "_value": ["relu", "tanh"]},
                      "sd": {"_type": "normal", "_value": [0, 2]}, "q": {"_type": "quniform", "_value": [0, 1, 0.25]}}
    db = sqlite3.connect(path)
    db.executescript("""
        create table TrialJobEvent (timestamp integer, trialJobId text, event text, data text, logPath text,
            sequenceId integer, message text);
        create table MetricData (timestamp integer, trialJobId text, parameterId text, type text, sequence integer,
            data text);
        create table ExperimentProfile (params text, id text, execDuration integer, startTime integer,
            endTime integer, logDir text, nextSequenceId integer, revision integer);""")
    for revision in (1, 2):
        params = {"experimentName": "mnist", "searchSpace": space if revision == 2 else {},
                  "tuner": {"name": "TPE", "classArgs": {"optimize_mode": mode}}}
        db.execute("insert into ExperimentProfile (params, revision) values (?, ?)", (json.dumps(params), revision))
    for i, (end, final) in enumerate((("SUCCEEDED", 0.9), ("EARLY_STOPPED", None), ("FAILED", None), ("RUNNING", None),
                                      ("SUCCEEDED", {"default": 0.8, "loss": 1}))):
        data = {"parameter_id": i, "parameter_source": "algorithm", "parameter_index": 0,
                "parameters": {"lr": 0.01, "n": 8, "act": "relu", "sd": -1.5, "q": 0.75}}
        for event in ("WAITING", "RUNNING", end):
            db.execute("insert into TrialJobEvent (trialJobId, event, data) values (?, ?, ?)",
                       (f"T{i}", event, json.dumps(data) if event == "WAITING" else None))
        for s in range(2):
            db.execute("insert into MetricData (trialJobId, type, sequence, data) values (?, 'PERIODICAL', ?, ?)",
                       (f"T{i}", s, json.dumps(str(0.5 + s / 10))))
        if final is not None:
            db.execute("insert into MetricData (trialJobId, type, sequence, data) values (?, 'FINAL', 0, ?)",
                       (f"T{i}", json.dumps(json.dumps(final))))
    db.commit()
    db.close()


def test_nni_experiment_becomes_a_sweep(daemon, client, tmp_path):
    nni(tmp_path / "nni.sqlite")
    status, out, err = run(daemon, "--from", "nni", tmp_path / "nni.sqlite")
    assert (status, out) == (0, "sweep 1: 2 COMPLETED, 1 PRUNED, 1 FAILED\n"), err
    sweep = client.sweep(1)
    assert (sweep["name"], sweep["metric"], sweep["goal"]) == ("mnist", "default", "maximize")
    assert sweep["spec"]["parameters"] == {
        "lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 0.1},
        "n": {"distribution": "int_uniform", "min": 1, "max": 8}, "act": {"values": ["relu", "tanh"]},
        "sd": {"distribution": "normal", "mu": 0, "sigma": 2},
        "q": {"distribution": "q_uniform", "min": 0.0, "max": 1.0, "q": 0.25}}
    assert [(t["state"], t["value"]) for t in client.trials(1)] == [
        ("COMPLETED", 0.9), ("PRUNED", 0.6), ("FAILED", 0.6), ("COMPLETED", 0.8)]
    assert [r["metrics"]["default"] for r in client.reports(1, 1)] == [0.5, 0.6, 0.9]


def ray(folder, *, states=True):
    """An experiment's folder: Python's JSON, trials as JSON in strings. A dying writer left each last line."""
    os.makedirs(folder)
    rows = []
    for i in range(4):
        name = f"f_ab12_0000{i}_{i}_lr=0.1_2026-01-01_00-00-00"
        os.makedirs(os.path.join(folder, name))
        config = {"lr": 10.0 ** -i, "units": 2 ** i, "opt": {"name": "sgd" if i % 2 else "adam"}, "fixed": 7,
                  "sizes": [i, 1], "objects": [{"a": i}], "const": [1, 2],
                  "depth": [3, 5, 7, None][i]}
        status = ["TERMINATED", "TERMINATED", "ERROR", "RUNNING"][i]
        rows.append(json.dumps({"trial_id": f"ab12_0000{i}", "status": status, "config": config}))
        with open(os.path.join(folder, name, "params.json"), "w", encoding="utf-8") as f:
            json.dump(config, f)
        with open(os.path.join(folder, name, "result.json"), "w", encoding="utf-8") as f:
            for step in (1, 2, 1, 2, 3):  # it was restarted after 2
                f.write(json.dumps({"loss": i + 1 / step, "val": {"acc": step / 4}, "bad": float("nan"), "pid": 7,
                                    "done": False, "training_iteration": step, "trial_id": f"ab12_0000{i}",
                                    "config": config}) + "\n")
            f.write('{"loss": 0.')
    if states:
        for when, trials in (("00-00", []), ("00-01", [[row, "{}"] for row in rows])):
            with open(os.path.join(folder, f"experiment_state-2026-01-01_{when}.json"), "w", encoding="utf-8") as f:
                json.dump({"trial_data": trials, "runner_data": {"_metric": "loss"}}, f)


def test_ray_experiment_becomes_a_sweep(daemon, client, tmp_path):
    ray(tmp_path / "exp")
    status, out, err = run(daemon, "--from", "ray", tmp_path / "exp", "--goal", "minimize")
    assert (status, out) == (0, "sweep 1: 2 COMPLETED, 0 PRUNED, 1 FAILED\n"), err
    sweep = client.sweep(1)
    assert (sweep["name"], sweep["metric"], sweep["goal"]) == ("exp", "loss", "minimize")
    assert sweep["spec"]["parameters"] == {
        "lr": {"distribution": "log_uniform_values", "min": 0.01, "max": 1.0},
        "units": {"distribution": "int_uniform", "min": 1, "max": 4}, "opt.name": {"values": ["adam", "sgd"]},
        "fixed": {"value": 7}, "sizes": {"values": [[0, 1], [1, 1], [2, 1]]}, "const": {"value": [1, 2]},
        "depth": {"distribution": "int_uniform", "min": 3, "max": 7}}
    assert [(r["step"], r["metrics"]) for r in client.reports(1, 2)] == [
        (s, {"loss": 1 + 1 / s, "val/acc": s / 4}) for s in (1, 2, 3)]
    bayes = client.submit({"method": "bayes", "metric": {"name": "loss"}, "warm_start": [1], "run_cap": 1,
                           "parameters": {"lr": {"min": 0.001, "max": 1.0}, "opt": {
                               "parameters": {"name": {"values": ["adam", "sgd"]}}}}})
    assert client.sweep(bayes)["state"] == "RUNNING"


def test_ray_folder_without_its_state_needs_the_metric(daemon, client, tmp_path):
    ray(tmp_path / "exp", states=False)
    status, _, err = run(daemon, "--from", "ray", tmp_path / "exp", "--goal", "maximize")
    assert status == 1 and "--metric says which of these is compared: loss, val/acc" in err
    status, out, _ = run(daemon, "--from", "ray", tmp_path / "exp", "--goal", "maximize", "--metric", "val/acc")
    assert (status, out) == (0, "sweep 1: 4 COMPLETED, 0 PRUNED, 0 FAILED\n")
    assert client.sweep(1)["best"]["value"] == 0.75
    assert client.sweep(1)["spec"]["parameters"]["depth"] == {"values": [3, 5, 7, None]}  # numbers, and one that is none


def test_what_is_wrong_is_one_line(daemon, client, tmp_path):
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "j.log").write_text('{"op_code": 0, "study_name": "s", "directions": [1]}\n{"op_code": 4,}\n')
    rdb(tmp_path / "none.db", [])
    rdb(tmp_path / "open.db", [("s", ["MINIMIZE"], None, [TRIALS[5]])])
    rdb(tmp_path / "dist.db", [("s", ["MINIMIZE"], None, [
        {"state": "COMPLETE", "params": [("x", 1.0, dist("Mine", a=1))], "steps": [], "values": [1.0]}])])
    rdb(tmp_path / "name.db", [("s", ["MINIMIZE"], None, [
        {"state": "COMPLETE", "params": [("two words", 1.0, LR)], "steps": [], "values": [1.0]}])])
    nni(tmp_path / "nested.sqlite", space={"a": {"_type": "mutable", "_value": [1]}})
    (tmp_path / "empty").mkdir()
    for args, line in (
            (["nofrom"], "--from optuna, nni or ray"), (["--from", "hyperopt", "x"], "--from optuna, nni or ray"),
            (["--from", "optuna", "x", "y", "z"], "one word too many: 'z'"),
            (["--from", "nni", "x", "y"], "one word too many: 'y'"),
            (["--from", "optuna", "x", "--goal", "minimize"], "takes no --goal"),
            (["--from", "optuna", tmp_path / "no"], "unable to open"),
            (["--from", "optuna", tmp_path / "text"], "not a storage of Optuna"),
            (["--from", "nni", tmp_path / "text"], "not an nni.sqlite"),
            (["--from", "nni", tmp_path / "none.db"], "not an nni.sqlite: no such table"),
            (["--from", "nni", tmp_path / "nested.sqlite"], 'parameter "a" is of a type that is not known'),
            (["--from", "optuna", tmp_path / "j.log"], "j.log:2: "),
            (["--from", "optuna", tmp_path / "none.db"], "there is no study in it"),
            (["--from", "optuna", tmp_path / "open.db"], "no trial in it has ended"),
            (["--from", "optuna", tmp_path / "open.db", "t"], 'there is no study "t" in it: s'),
            (["--from", "optuna", tmp_path / "dist.db"], 'parameter "x" has a distribution that is not known'),
            (["--from", "optuna", tmp_path / "name.db"], "two words"),
            (["--from", "ray", tmp_path / "empty"], "--goal minimize or"),
            (["--from", "ray", tmp_path / "empty", "--goal", "minimize"], "there is no trial of Ray Tune in it"),
            (["--from", "ray", tmp_path / "no", "--goal", "minimize"], "No such file")):
        status, out, err = run(daemon, *args)
        assert status in (1, 2) and out == "" and line in err and err.count("\n") == 1, (args, err)
    assert client.call("sweep.list")["sweeps"] == []

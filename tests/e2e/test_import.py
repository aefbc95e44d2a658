"""python -m sweepd.importer: folders as Ray Tune writes them become sweeps. Studies of Optuna: tests/peers/test_importer.py."""
import json
import os
import subprocess
import sys

from harness import environment
from test_python import PACKAGE


def run(daemon, *args):
    done = subprocess.run([sys.executable, "-m", "sweepd.importer", *map(str, args)], capture_output=True, text=True,
                          env=environment(PYTHONPATH=PACKAGE, SWEEPD_SOCKET=daemon.socket))
    return done.returncode, done.stdout, done.stderr


def ray_folder(folder, *, states=True):
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
    ray_folder(tmp_path / "exp")
    status, out, err = run(daemon, "ray", tmp_path / "exp", "--goal", "minimize")
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
    ray_folder(tmp_path / "exp", states=False)
    status, _, err = run(daemon, "ray", tmp_path / "exp", "--goal", "maximize")
    assert status == 1 and "--metric says which of these is compared: loss, val/acc" in err
    status, out, _ = run(daemon, "ray", tmp_path / "exp", "--goal", "maximize", "--metric", "val/acc")
    assert (status, out) == (0, "sweep 1: 4 COMPLETED, 0 PRUNED, 0 FAILED\n")
    assert client.sweep(1)["best"]["value"] == 0.75
    assert client.sweep(1)["spec"]["parameters"]["depth"] == {"values": [3, 5, 7, None]}  # numbers, and one that is none


def test_import_counts_what_it_made(daemon, client, tmp_path):
    """Not what the source calls its trials: one that was killed before its first result is no TERMINATED one."""
    for name, text in (("t1", '{"loss": 0.5, "training_iteration": 1}\n'), ("t2", ""), ("t3", '{"loss": NaN, "training_iteration": 1}\n')):
        os.makedirs(tmp_path / "exp" / name)
        (tmp_path / "exp" / name / "params.json").write_text('{"lr": 0.%s}' % name[1])
        (tmp_path / "exp" / name / "result.json").write_text(text)
    status, out, err = run(daemon, "ray", tmp_path / "exp", "--goal", "minimize", "--metric", "loss")
    assert (status, err) == (0, ""), err
    made = client.sweep(1)["counts"]
    assert out == f"sweep 1: {made['COMPLETED']} COMPLETED, 0 PRUNED, {made['FAILED']} FAILED\n" and made["COMPLETED"] == 1


def test_ray_folder_that_is_wrong_is_one_line(daemon, client, tmp_path):
    (tmp_path / "empty").mkdir()
    ray_folder(tmp_path / "broken", states=False)
    name = min(entry for entry in os.listdir(tmp_path / "broken"))
    (tmp_path / "broken" / name / "result.json").write_text('{"loss": 1,}\n')
    ray_folder(tmp_path / "large", states=False)
    (tmp_path / "large" / name / "params.json").write_text('{"lr": "%s"}' % ("x" * (1 << 20)))
    odd = [("experiment_state-1.json", b'{"trial_data": [5]}'), ("experiment_state-1.json", b'{"trial_data": [["{}"]]}'),
           (f"{name}/params.json", b"\xff"), (f"{name}/params.json", b'{"a":' * 5000),
           (f"{name}/result.json", b'{"training_iteration": 1, "loss": %s}\n' % (b"9" * 400)),
           (f"{name}/result.json", b"[" * 3000 + b"\n")]
    for i, (file, content) in enumerate(odd):
        ray_folder(tmp_path / f"odd{i}", states=False)
        (tmp_path / f"odd{i}" / file).write_bytes(content)
    for args, status, line in (
            *(([tmp_path / f"odd{i}", "--goal", "minimize", "--metric", "loss"], 1, "not as ray writes it")
              for i in range(len(odd))),
            ([tmp_path / "empty"], 2, "--goal"), ([tmp_path / "no", "--goal", "minimize"], 1, "No such file"),
            ([tmp_path / "empty", "--goal", "minimize"], 1, "there is no trial of Ray Tune in it"),
            ([tmp_path / "broken", "--goal", "minimize"], 1, f"{name}/result.json:1: "),
            ([tmp_path / "large", "--goal", "minimize"], 1, "params.json: more than 1 MiB")):
        got, out, err = run(daemon, "ray", *args)
        assert got == status and out == "" and line in err and (status == 2 or err.count("\n") == 1), (args, err)
    assert client.call("sweep.list")["sweeps"] == []

"""sweep export: CSV and JSON. TensorBoard's event files: tests/peers/test_tensorboard.py, with the sweeps from here."""
import csv
import json
import os
import subprocess

import pytest

from harness import BIN, DEADLINE, asha, cramped_command, driven, environment, sweep_command, wait_until

SPACE = {"x": {"min": 0.0, "max": 1.0}, "k": {"min": 1, "max": 8}, "c": {"values": ["a", "<b>"]},
         "opt": {"parameters": {"wd": {"values": [True, 0.5, [1, 2]]}, "on": {"values": [True, False]}}},
         "fixed": {"value": 3}}


def export(daemon, sweep, to, out, *more):
    status, said, err = sweep_command(daemon, "export", sweep, "--to", to, "--out", out, *more)
    assert (status, err) == (0, ""), (said, err)
    return said


def a_sweep(client):
    """Trials of each end, one that runs; metrics that not all have, and one that is no number."""
    sweep = client.submit(driven(run_cap=9, parameters=SPACE))
    ends = ["COMPLETED", "FAILED", "PRUNED", "INFEASIBLE", None]
    for t, end in zip(client.ask(sweep, 5), ends):
        for i in range(1, 4):
            client.report(sweep, t, i, 2 * i, loss=t["params"]["x"] / i, **({"acc": i} if i > 1 else {"odd": "nan"}))
        if end:
            client.tell(sweep, t, end)
    return sweep


def test_csv_has_the_trials_and_their_curves(daemon, client, tmp_path):
    sweep = a_sweep(client)
    assert export(daemon, sweep, "csv", tmp_path / "out") == f"5 trials, 15 reports in {tmp_path / 'out'}\n"
    table = (tmp_path / "out" / "trials.csv").read_text()
    ended, asked = ("".join(line for line in text.splitlines(True) if "RUNNING" not in line)  # whose time goes on
                    for text in (table, sweep_command(daemon, "trials", sweep, "--csv")[1]))
    assert ended == asked
    for row, trial in zip(csv.DictReader(table.splitlines()), client.trials(sweep)):
        assert row["best_value"] == repr(trial["best"]["value"]) and row["best_step"] == "6"
        assert row["created_ms"] == str(trial["created_ms"]) and row["ended_ms"] == str(trial["ended_ms"] or "")
        assert row["opt.wd"] == json.dumps(trial["params"]["opt"]["wd"], separators=(",", ":"))
    with open(tmp_path / "out" / "curves.csv", encoding="utf-8") as file:
        got = [tuple(row.values()) for row in csv.DictReader(file)]
    assert got == [(str(n), "1", str(r["step"]), name, str(v), str(r["time_ms"])) for n in range(1, 6)
                   for r in client.reports(sweep, n) for name, v in r["metrics"].items()]


def test_csv_says_of_a_name_that_is_there_twice_where_it_is_from(daemon, client):
    sweep = client.submit(driven(parameters={"lr": {"value": 1}, "step": {"value": 2}}))
    t, = client.ask(sweep)
    client.tell(sweep, t, metrics={"loss": 3, "lr": 4, "seconds": 5})
    row, = csv.DictReader(sweep_command(daemon, "trials", sweep, "--csv")[1].splitlines())
    assert [row[n] for n in ("lr", "params.step", "loss", "metrics.lr", "metrics.seconds")] == ["1", "2", "3", "4", "5"]


def test_json_is_one_document_of_what_the_daemon_says(daemon, client, tmp_path):
    sweep = a_sweep(client)
    client.call("sweep.cancel", sweep=sweep)
    export(daemon, sweep, "json", tmp_path / "out")
    text = (tmp_path / "out").read_text()
    assert export(daemon, sweep, "json", "/dev/stdout") == text + "5 trials, 15 reports in /dev/stdout\n"
    assert json.loads(text) == {"sweep": client.sweep(sweep), "trials": [
        {**t, "reports": client.reports(sweep, t["trial"])} for t in client.trials(sweep)]}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to lay another user's links")
def test_links_that_another_user_laid_lead_nowhere(daemon, client, tmp_path):
    """In a folder that all may write in: at the name itself, at one that could be guessed, at a file of an export."""
    sweep = a_sweep(client)
    client.call("sweep.cancel", sweep=sweep)
    mine = tmp_path / "mine"
    mine.write_text("mine")
    folder = tmp_path / "all"
    (folder / "csv").mkdir(parents=True)
    for name in ("x.json", "x.json.part", "csv/trials.csv", "csv/curves.csv"):
        os.symlink(mine, folder / name)
        os.chown(folder / name, 65534, 65534, follow_symlinks=False)
    for how, name in (("json", "x.json"), ("csv", "csv")):
        export(daemon, sweep, how, folder / name)
        assert mine.read_text() == "mine", how
    assert not (folder / "x.json").is_symlink() and json.loads((folder / "x.json").read_text())["trials"]
    os.symlink(mine, tmp_path / "own.json")  # one's own leads on
    export(daemon, sweep, "json", tmp_path / "own.json")
    assert json.loads(mine.read_text())["trials"] and (tmp_path / "own.json").is_symlink()


def test_document_that_was_cut_off_does_not_look_whole(daemon, client, tmp_path):
    sweep = client.submit(driven(method="grid", run_cap=None,
                                 parameters={"a": {"values": [f"{i}" + "x" * 4000 for i in range(100)]}}))
    for handed in client.ask(sweep, 100):
        client.report(sweep, handed, 1, 1, loss=1.)
        client.tell(sweep, handed)
    out = tmp_path / "cut.json"
    out.write_text("before")
    status, wrong = cramped_command(daemon, 200, "export", sweep, "--to", "json", "--out", out)
    assert status == 1 and wrong.count("\n") == 1 and "File too large" in wrong
    assert out.read_text() == "before" and not list(tmp_path.glob("cut.json?*"))
    pipe = tmp_path / "pipe"  # it is full before the daemon has been asked for all
    os.mkfifo(pipe)
    with subprocess.Popen([os.path.join(BIN, "sweep"), "--socket", daemon.socket, "export", str(sweep), "--to", "json",
                           "--out", str(pipe)], stderr=subprocess.DEVNULL, env=environment()) as export:
        with open(pipe, "rb") as file:
            text = file.read(1)
            daemon.kill9()
            text += file.read()
        assert export.wait(DEADLINE) != 0
    with pytest.raises(ValueError):
        json.loads(text)


def two_attempts(client):
    """Two sweeps with a trial 1 of two attempts: the first is lost behind step 6, and it begins again; it goes on from
    its rung, one curve of both."""
    lost = client.submit(driven(run_cap=1))
    first, = client.ask(lost)
    for step in (2, 4, 6):
        client.report(lost, first, step // 2, step, loss=step)
    client.call("sweep.edit", sweep=lost, lease_s=0.1)
    wait_until(lambda: client.sweep(lost)["counts"]["PENDING"], "the end of the lease")
    client.call("sweep.edit", sweep=lost, lease_s=3600)
    again, = client.ask(lost)
    client.report(lost, again, 1, 2, loss=20)
    client.tell(lost, again, metrics={"loss": 40}, step=4)
    paused = client.submit(driven(run_cap=2, early_terminate=asha(variant="promote", max_t=4, reduction_factor=2)))
    for t in client.ask(paused, 2):
        client.report(paused, t, 1, 1, loss=t["trial"])
    again, = client.ask(paused)
    client.report(paused, again, 1, 2, loss=0.5)
    return lost, paused, again


def test_curves_of_two_attempts_have_both(daemon, client, tmp_path):
    for sweep in two_attempts(client)[:2]:
        assert {r["attempt"] for r in client.reports(sweep, 1)} == {1, 2}
        export(daemon, sweep, "csv", tmp_path / f"csv{sweep}")
        with open(tmp_path / f"csv{sweep}" / "curves.csv", encoding="utf-8") as file:
            rows = [r for r in csv.DictReader(file) if r["trial"] == "1"]
        assert [(int(r["attempt"]), int(r["step"]), float(r["value"])) for r in rows] == [
            (r["attempt"], r["step"], r["metrics"]["loss"]) for r in client.reports(sweep, 1)]


EVIL = ["../../x", "/abs", "<script>alert(1)</script>", "a b", "a_b", 'q"u,o\nte', "\u202ertl\x1b[2J", "日本", "."]
LONG = "\x1b]0;t\x07<b>\u202e" * 700


def hostile(client):
    """A sweep of such names and such a value."""
    sweep = client.submit(driven(run_cap=1, name="<b>&amp;", parameters={"c": {"values": [LONG]}}))
    t, = client.ask(sweep)
    client.report(sweep, t, 1, 1, loss=1, **{name: i for i, name in enumerate(EVIL)})
    client.call("sweep.cancel", sweep=sweep)
    return sweep


def test_hostile_names_and_values_stay_inert(daemon, client, tmp_path):
    sweep = hostile(client)
    export(daemon, sweep, "csv", tmp_path / "csv")
    with open(tmp_path / "csv" / "curves.csv", encoding="utf-8", newline="") as file:
        assert [row["metric"] for row in csv.DictReader(file)] == ["loss", *EVIL]
    with open(tmp_path / "csv" / "trials.csv", encoding="utf-8", newline="") as file:
        assert [row["c"] for row in csv.DictReader(file)] == [LONG]
    export(daemon, sweep, "json", tmp_path / "json")
    assert json.loads((tmp_path / "json").read_text())["trials"][0]["params"] == {"c": LONG}


def more_than_a_page(client):
    """601 trials, of which the last has 1,104 reports, each other one one."""
    sweep = client.submit(driven(run_cap=1100))
    for t in client.ask(sweep, 600):
        client.tell(sweep, t, metrics={"loss": t["trial"]})
    t, = client.ask(sweep)
    client.send(b"".join(json.dumps({"jsonrpc": "2.0", "id": 10 ** 6 + i, "method": "trial.report", "params": {
        "sweep": sweep, "trial": t["trial"], "attempt": 1, "seq": i, "step": i, "metrics": {"loss": i}}}).encode() + b"\n"
                         for i in range(1, 1105)))
    for _ in range(1, 1105):
        assert "result" in client.receive()
    return sweep


def test_more_trials_and_reports_than_a_page_are_whole(daemon, client, tmp_path):
    sweep = more_than_a_page(client)
    for to in ("csv", "json"):
        assert export(daemon, sweep, to, tmp_path / to).startswith("601 trials, 1704 reports in ")
    with open(tmp_path / "csv" / "curves.csv", encoding="utf-8") as file:
        assert [(int(r["trial"]), int(r["step"])) for r in csv.DictReader(file)] == \
            [(n, 1) for n in range(1, 601)] + [(601, i) for i in range(1, 1105)]
    assert [len(t["reports"]) for t in json.loads((tmp_path / "json").read_text())["trials"]] == [1] * 600 + [1104]


def test_command_line_that_cannot_be_meant_is_one_line(daemon, client):
    client.submit(driven())
    for words, said in (
            ([], "needs --to"), (["--to", "csv"], "--out"),
            (["--to", "xml", "--out", "x"], "csv or json, not 'xml'"),
            (["--to", "json", "--out", "x", "--follow"], "--follow"),
            (["--json", "--to", "json", "--out", "x"], "--to json")):
        status, out, err = sweep_command(daemon, "export", 1, *words)
        assert (status, out, err.count("\n")) == (2, "", 1) and said in err, (words, err)


@pytest.mark.parametrize("to", ["csv", "json"])
def test_output_that_cannot_be_written_is_one_line(daemon, client, tmp_path, to):
    client.submit(driven(run_cap=1))
    client.ask(1)
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file" / "x", tmp_path / "no" / "folder" / "x", tmp_path / ("x" * 300)):
        status, said, err = sweep_command(daemon, "export", 1, "--to", to, "--out", out)
        assert (status, said, err.count("\n")) == (1, "", 1) and str(out) in err, err
    assert (tmp_path / "file").read_text() == "mine"
    status, _, err = sweep_command(daemon, "export", 1, "--to", "json", "--out", "/dev/full")
    assert (status, err.count("\n")) == (1, 1) and "No space left" in err
    assert sweep_command(daemon, "export", 9, "--to", to, "--out", tmp_path / "x")[0] == 1

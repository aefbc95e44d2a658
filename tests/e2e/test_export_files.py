"""sweep export: CSV, JSON and TensorBoard's event files, read by a decoder of this file. tests/peers reads them by
TensorBoard itself."""
import csv
import json
import os
import struct
import subprocess

import pytest

from harness import BIN, DEADLINE, asha, cramped_command, driven, environment, sweep_command, wait_until

SPACE = {"x": {"min": 0.0, "max": 1.0}, "k": {"min": 1, "max": 8}, "c": {"values": ["a", "<b>"]},
         "opt": {"parameters": {"wd": {"values": [True, 0.5, [1, 2]]}, "on": {"values": [True, False]}}},
         "fixed": {"value": 3}}
UNKNOWN, SUCCESS, FAILURE = 0, 1, 2


# --- event files ---

def crc32c(data):
    """A bit at a time, masked as TFRecord has it."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


assert crc32c(b"123456789") == ((0xe3069283 >> 15 | 0xe3069283 << 17) + 0xa282ead8) & 0xffffffff


def records(path):
    data = path.read_bytes()
    while data:
        n, = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == crc32c(data[:8])
        record, data = data[12:12 + n], data[12 + n:]
        assert len(record) == n and struct.unpack("<I", data[:4])[0] == crc32c(record)
        data = data[4:]
        yield fields(record)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """A message: field -> values, of varints numbers, of others their bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        n = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            if n is None:
                assert key & 7 == 2
                n, at = varint(data, at)
            value, at = data[at:at + n], at + n
            assert len(value) == n
        found.setdefault(key >> 3, []).append(value)
    return found


def double(data):
    return struct.unpack("<d", data)[0]


def single(number):
    """As a float32 has it."""
    return struct.unpack("<f", struct.pack("<f", float(number)))[0]


def value_of(data):
    (kind, (v,)), = fields(data).items()
    return {2: double, 3: bytes.decode, 4: bool}[kind](v)


class Run:
    """What a run's event file says, as TensorBoard takes it."""

    def __init__(self, folder):
        self.scalars, self.start, self.end, self.restarts = {}, None, None, []
        name, = (n for n in os.listdir(folder) if "tfevents" in n)
        first, *rest = records(folder / name)
        assert first[3] == [b"brain.Event:2"]
        for event in rest:
            time, step = double(event[1][0]), event[2][0]
            if 7 in event:
                assert fields(event[7][0]) == {1: [1]}
                self.restarts.append(step)
                for tag, points in self.scalars.items():
                    self.scalars[tag] = [p for p in points if p[0] < step]
                continue
            for value in map(fields, fields(event[5][0]).get(1, [])):
                tag = value[1][0].decode()
                if 2 in value:
                    self.scalars.setdefault(tag, []).append((step, struct.unpack("<f", value[2][0])[0], time))
                    continue
                plugin = fields(fields(value[9][0])[1][0])
                assert plugin[1] == [b"hparams"]
                (kind, (data,)), = fields(plugin[2][0]).items()
                kind = {3: "start", 4: "end"}[kind]
                assert tag == f"_hparams_/session_{kind}_info" and getattr(self, kind) is None
                setattr(self, kind, fields(data))

    def params(self):
        entries = map(fields, self.start.get(1, []))
        return {e[1][0].decode(): value_of(e[2][0]) for e in entries}

    def status(self):
        return self.end and self.end[1][0]


def runs(folder):
    """Trial -> Run of DIR/SWEEP."""
    return {int(n): Run(folder / n) for n in os.listdir(folder)}


def curve(client, sweep, trial, name):
    return [(r["step"], single(r["metrics"][name]), r["time_ms"] / 1e3) for r in client.reports(sweep, trial)
            if name in r["metrics"]]


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
    (folder / "board" / "1").mkdir(parents=True)
    (folder / "csv").mkdir()
    for name in ("x.json", "x.json.part", "csv/trials.csv", "csv/curves.csv", "board/1/events.out.tfevents.1.sweepd"):
        os.symlink(mine, folder / name)
        os.chown(folder / name, 65534, 65534, follow_symlinks=False)
    for how, name in (("json", "x.json"), ("csv", "csv"), ("tensorboard", "board")):
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


def test_event_files_have_a_category_that_is_an_object_as_its_json(daemon, client, tmp_path):
    values = [{"d": 1, "w": [2]}, {}]
    sweep = client.submit(driven(method="grid", parameters={
        "arch": {"values": values}, "opt": {"parameters": {"inner": {"values": [{"q": 1}]}}}}))
    client.ask(sweep, 2)
    export(daemon, sweep, "tensorboard", tmp_path / "out")
    assert [run.params() for _, run in sorted(runs(tmp_path / "out" / str(sweep)).items())] == [
        {"arch": json.dumps(value, separators=(",", ":")), "opt.inner": '{"q":1}'} for value in values]


def test_event_files_have_curves_and_what_the_hparams_tab_needs(daemon, client, tmp_path):
    sweep = a_sweep(client)
    export(daemon, sweep, "tensorboard", tmp_path / "out")
    got, trials = runs(tmp_path / "out" / str(sweep)), client.trials(sweep)
    assert set(got) == set(range(1, 6))
    for t in trials:
        run = got[t["trial"]]
        assert run.scalars["loss"] == curve(client, sweep, t["trial"], "loss")
        assert run.scalars["acc"] == curve(client, sweep, t["trial"], "acc")
        (step, odd, _), = run.scalars["odd"]
        assert step == 2 and odd != odd and not run.restarts
        p = t["params"]
        wd = p["opt"]["wd"] if not isinstance(p["opt"]["wd"], list) else "[1,2]"
        assert run.params() == {"x": p["x"], "k": p["k"], "c": p["c"], "opt.on": p["opt"]["on"], "fixed": 3, "opt.wd": wd}
        assert double(run.start[5][0]) == t["created_ms"] / 1e3
        assert t["ended_ms"] is None or double(run.end[2][0]) == t["ended_ms"] / 1e3
    assert [got[n].status() for n in range(1, 6)] == [SUCCESS, FAILURE, UNKNOWN, FAILURE, None]


def test_lost_attempt_is_not_in_a_curve(daemon, client, tmp_path):
    """Trial 1 is lost behind step 6 and begins again. Trial 2 goes on from its rung: one curve of two attempts."""
    sweep = client.submit(driven(run_cap=1))
    first, = client.ask(sweep)
    for step in (2, 4, 6):
        client.report(sweep, first, step // 2, step, loss=step)
    client.call("sweep.edit", sweep=sweep, lease_s=0.1)
    wait_until(lambda: client.sweep(sweep)["counts"]["PENDING"], "the end of the lease")
    client.call("sweep.edit", sweep=sweep, lease_s=3600)
    again, = client.ask(sweep)
    client.report(sweep, again, 1, 2, loss=20)
    client.tell(sweep, again, metrics={"loss": 40}, step=4)
    paused = client.submit(driven(run_cap=2, early_terminate=asha(variant="promote", max_t=4, reduction_factor=2)))
    for t in client.ask(paused, 2):
        client.report(paused, t, 1, 1, loss=t["trial"])
    again, = client.ask(paused)
    client.report(paused, again, 1, 2, loss=0.5)
    for number, trial, want in ((sweep, 1, [(2, 20), (4, 40)]), (paused, 1, [(1, 1), (2, 0.5)])):
        assert {r["attempt"] for r in client.reports(number, trial)} == {1, 2}
        export(daemon, number, "tensorboard", tmp_path / "tb")
        run = Run(tmp_path / "tb" / str(number) / str(trial))
        assert [p[:2] for p in run.scalars["loss"]] == want and run.restarts == ([2] if number == sweep else [])
        export(daemon, number, "csv", tmp_path / f"csv{number}")
        with open(tmp_path / f"csv{number}" / "curves.csv", encoding="utf-8") as file:
            rows = [r for r in csv.DictReader(file) if r["trial"] == str(trial)]
        assert [(int(r["attempt"]), int(r["step"]), float(r["value"])) for r in rows] == [
            (r["attempt"], r["step"], r["metrics"]["loss"]) for r in client.reports(number, trial)]
    # A second export takes the place of the first.
    client.tell(paused, again)
    export(daemon, paused, "tensorboard", tmp_path / "tb")
    run = Run(tmp_path / "tb" / str(paused) / "1")
    assert [p[:2] for p in run.scalars["loss"]] == want and run.end


def test_hostile_names_and_values_stay_inert(daemon, client, tmp_path):
    evil = ["../../x", "/abs", "<script>alert(1)</script>", "a b", "a_b", 'q"u,o\nte', "\u202ertl\x1b[2J", "日本", "."]
    long = "\x1b]0;t\x07<b>\u202e" * 700
    sweep = client.submit(driven(run_cap=1, name="<b>&amp;", parameters={"c": {"values": [long]}}))
    t, = client.ask(sweep)
    client.report(sweep, t, 1, 1, loss=1, **{name: i for i, name in enumerate(evil)})
    client.call("sweep.cancel", sweep=sweep)
    export(daemon, sweep, "tensorboard", tmp_path / "tb")
    found = sorted(os.path.relpath(os.path.join(at, name), tmp_path / "tb")
                   for at, _, names in os.walk(tmp_path / "tb") for name in names)
    assert found == ["1/1/events.out.tfevents.1.sweepd"]
    run = Run(tmp_path / "tb" / "1" / "1")
    plain = [name.replace("\n", "?").replace("\u202e", "?").replace("\x1b", "?") for name in evil]
    assert {tag: value for tag, ((_, value, _),) in run.scalars.items()} == dict(zip(["loss", *plain], [1, *range(9)]))
    assert run.params() == {"c": "?]0;t?<b>?" * 700}
    export(daemon, sweep, "csv", tmp_path / "csv")
    with open(tmp_path / "csv" / "curves.csv", encoding="utf-8", newline="") as file:
        assert [row["metric"] for row in csv.DictReader(file)] == ["loss", *evil]
    with open(tmp_path / "csv" / "trials.csv", encoding="utf-8", newline="") as file:
        assert [row["c"] for row in csv.DictReader(file)] == [long]
    export(daemon, sweep, "json", tmp_path / "json")
    assert json.loads((tmp_path / "json").read_text())["trials"][0]["params"] == {"c": long}


def test_more_trials_and_reports_than_a_page_are_whole(daemon, client, tmp_path):
    sweep = client.submit(driven(run_cap=1100))
    for t in client.ask(sweep, 600):
        client.tell(sweep, t, metrics={"loss": t["trial"]})
    t, = client.ask(sweep)
    client.send(b"".join(json.dumps({"jsonrpc": "2.0", "id": 10 ** 6 + i, "method": "trial.report", "params": {
        "sweep": sweep, "trial": t["trial"], "attempt": 1, "seq": i, "step": i, "metrics": {"loss": i}}}).encode() + b"\n"
                         for i in range(1, 1105)))
    for _ in range(1, 1105):
        assert "result" in client.receive()
    for to in ("csv", "json", "tensorboard"):
        assert export(daemon, sweep, to, tmp_path / to).startswith("601 trials, 1704 reports in ")
    with open(tmp_path / "csv" / "curves.csv", encoding="utf-8") as file:
        assert [(int(r["trial"]), int(r["step"])) for r in csv.DictReader(file)] == \
            [(n, 1) for n in range(1, 601)] + [(601, i) for i in range(1, 1105)]
    assert [len(t["reports"]) for t in json.loads((tmp_path / "json").read_text())["trials"]] == [1] * 600 + [1104]
    folder = tmp_path / "tensorboard" / str(sweep)
    assert len(os.listdir(folder)) == 601
    assert [p[0] for p in Run(folder / "601").scalars["loss"]] == list(range(1, 1105))


class Follower:
    def __init__(self, daemon, sweep, out):
        self.process = subprocess.Popen(
            [os.path.join(BIN, "sweep"), "--socket", daemon.socket, "export", str(sweep), "--to", "tensorboard", "--out",
             str(out), "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())

    def end(self):
        out, err = self.process.communicate(timeout=DEADLINE)
        return self.process.returncode, out, err

    def stop(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def follow():
    started = []

    def make(*args):
        started.append(Follower(*args))
        return started[-1]

    yield make
    for one in started:
        one.stop()


def points(folder, trial):
    """Of a file that grows: a record may be there in part."""
    try:
        return len(Run(folder / str(trial)).scalars.get("loss", []))
    except (OSError, ValueError, AssertionError, struct.error):
        return 0


def test_follow_appends_until_the_sweep_ends(daemon, client, tmp_path, follow):
    sweep, folder = client.submit(driven(run_cap=2)), tmp_path / "out" / "1"
    follower = follow(daemon, sweep, tmp_path / "out")
    one, two = client.ask(sweep, 2)
    for step in (1, 2):
        client.report(sweep, one, step, step, loss=step)
        wait_until(lambda n=step: points(folder, 1) == n, f"step {step} in the event file")
    wait_until(lambda: os.path.exists(folder / "2"), "trial 2")
    assert Run(folder / "1").end is None
    client.tell(sweep, one, metrics={"loss": 3})
    wait_until(lambda: points(folder, 1) == 3 and Run(folder / "1").end, "the end of trial 1")
    assert follower.process.poll() is None
    client.tell(sweep, two, "FAILED", metrics={"loss": 9})
    assert follower.end() == (0, f"2 trials, 4 reports in {tmp_path / 'out'}\n", "")
    got = runs(folder)
    for n, state in ((1, SUCCESS), (2, FAILURE)):
        assert got[n].scalars["loss"] == curve(client, sweep, n, "loss") and got[n].status() == state
    # All at once makes the same files.
    export(daemon, sweep, "tensorboard", tmp_path / "again")
    for name in (f"{n}/events.out.tfevents.1.sweepd" for n in ("1/1", "1/2")):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_follower_of_a_daemon_that_goes_away_says_so(daemon, client, tmp_path, follow):
    client.submit(driven(run_cap=1))
    client.ask(1)
    follower = follow(daemon, 1, tmp_path / "out")
    wait_until(lambda: os.path.exists(tmp_path / "out" / "1" / "1"), "the trial")
    daemon.kill9()
    daemon.start()
    status, out, err = follower.end()
    assert (status, out, err.count("\n")) == (3, "", 1) and "closed the connection" in err, err


def test_command_line_that_cannot_be_meant_is_one_line(daemon, client):
    client.submit(driven())
    for words, said in (
            ([], "needs --to"), (["--to", "csv"], "--out"),
            (["--to", "xml", "--out", "x"], "tensorboard, csv or json, not 'xml'"),
            (["--to", "json", "--out", "x", "--follow"], "--follow"),
            (["--json", "--to", "json", "--out", "x"], "--to json")):
        status, out, err = sweep_command(daemon, "export", 1, *words)
        assert (status, out, err.count("\n")) == (2, "", 1) and said in err, (words, err)


@pytest.mark.parametrize("to", ["csv", "json", "tensorboard"])
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

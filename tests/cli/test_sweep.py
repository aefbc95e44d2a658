"""The `sweep` command as a person runs it, against fake_daemon.py: output, exit statuses, and that
nothing from the daemon reaches the terminal raw."""
import csv
import fcntl
import io
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
SWEEP = os.environ.get("SWEEP_BIN", os.path.join(HERE, "..", "..", "build", "bin", "sweep"))


def start(path, *args):
    p = subprocess.Popen([sys.executable, os.path.join(HERE, "fake_daemon.py"), str(path), *args],
                         stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    return p


@pytest.fixture
def daemon(tmp_path):
    started = []

    def run(*args, path=tmp_path / "d.sock"):
        started.append(start(path, *args))
        return started[-1], path

    yield run
    for p in started:
        p.kill()
        p.wait()
        p.stdout.close()


def env(path, **more):
    e = dict(os.environ, SWEEPD_SOCKET=str(path), LC_ALL="C.UTF-8", PAGER="")
    e.pop("NO_COLOR", None)
    return {name: value for name, value in dict(e, **more).items() if value is not None}


def sweep(path, *args, stdin="", **more):
    return subprocess.run([SWEEP, *args], input=stdin, env=env(path, **more), text=True,
                          capture_output=True, timeout=60, encoding="utf-8", errors="strict")


@pytest.mark.parametrize("args,has", [
    (["ls"], "digits"), (["show", "1"], "params  l1, l2"), (["show", "1", "--spec"], '"parameters"'), (["show", "1/7"], "signal:9"),
    (["trials", "1"], "1/40"), (["best", "1"], "at step 27 (maximize)"),
    (["best", "1", "-n", "3"], "1/2"), (["why", "1/7"], "rank 5 of 12"),
    (["log", "1/7"], "started on cpu:0"), (["devices"], "exit:1"), (["info"], "2m05s"),
    (["pause", "1"], "sweep 1 PAUSED"), (["resume", "1"], "sweep 1 RUNNING"),
    (["cancel", "1"], "sweep 1 CANCELLED"), (["cancel", "1/7"], "trial 1/7 CANCELLED"),
    (["rm", "1"], "sweep 1 deleted: 1.2 GB freed"),
    (["rm", "1", "2", "--keep-best"], "sweep 2 deleted but for trial 2/7: 1.2 GB freed"),
    (["tag", "1", "good", "base"], "sweep 1 tag: good base\n"), (["note", "1", "a", "b"], "sweep 1 note: a b\n"),
    (["stop", "1/7"], "trial 1/7 CANCELLED"), (["clone", "1"], "sweep 3\n"),
    (["extend", "1", "--run-cap", "80"], "run cap 80"), (["watch", "1"], "the best 20 of 40"),
    (["rpc", "sweep.get", '{"sweep": 1}'], '"spec"'), (["help", "trials"], "--csv"),
    (["--version"], "sweep 0"), (["watch", "1", "--help"], "Ctrl-C")])
def test_verb_prints_its_answer(daemon, args, has):
    got = sweep(daemon()[1], *args)
    assert (got.returncode, got.stderr) == (0, "")
    assert has in got.stdout


@pytest.mark.parametrize("args,method,params", [
    (["ls"], "sweep.list", {}), (["show", "1"], "sweep.get", {"sweep": 1}),
    (["show", "1/7"], "trial.get", {"sweep": 1, "trial": 7}), (["best", "1"], "sweep.best", {"sweep": 1, "n": 1}),
    (["why", "1/7"], "trial.why", {"sweep": 1, "trial": 7}), (["log", "1/7"], None, {}),
    (["devices"], "device.list", {}), (["info"], None, {}), (["pause", "1"], "sweep.pause", {"sweep": 1}),
    (["trials", "1", "--state", "COMPLETED"], None, {}), (["watch", "1"], None, {})])
def test_json_prints_the_result_on_one_line(daemon, args, method, params):
    path = daemon()[1]
    got = sweep(path, *args, "--json")
    assert got.returncode == 0
    assert got.stdout.endswith("\n") and got.stdout.count("\n") == 1
    assert isinstance(json.loads(got.stdout), dict)
    assert method is None or json.loads(got.stdout) == json.loads(sweep(path, "rpc", method, json.dumps(params)).stdout)


@pytest.mark.parametrize("args,status,line", [
    (["submitt", "x"], 2, "sweep: no verb 'submitt'; did you mean submit? (see: sweep help)"),
    ([], 2, "sweep: which verb? (see: sweep help)"), (["delete", "1"], 2, "did you mean rm?"),
    (["dashboard"], 2, "did you mean web?"), (["status"], 2, "did you mean ls?"),
    (["trials", "1", "--sttae", "X"], 2, "did you mean --state?"),
    (["show", "digitz"], 1, 'sweep: no sweep is called "digitz"; did you mean "digits"?'), (["show", "1/0"], 2, "not '1/0'"),
    (["why", "digits"], 2, "a trial such as 1/7 or NAME/7"), (["pause", "digits/7"], 2, "not 'digits/7'"),
    (["show", "9"], 1, "sweep: no sweep 9"),
    (["watch", "9"], 1, "sweep: no sweep 9"), (["watch", "1/7"], 2, "a sweep such as 1"),
    (["rpc", "no.such"], 1, "no method no.such"), (["rpc", "x", "{"], 2, "sweep help rpc"),
    (["submit", "/nowhere/x.json"], 1, "No such file"),
    (["ls", "--socket", "/nowhere/d.sock"], 3,
     "sweep: no daemon at /nowhere/d.sock (start one with: sweepd)"),
    (["ls", "--socket", "x" * 200], 2, "at most 107 bytes")])
def test_error_is_one_line_and_a_status(daemon, args, status, line):
    got = sweep(daemon()[1], *args)
    assert got.returncode == status, got.stderr
    assert line in got.stderr and got.stderr.count("\n") == 1 and got.stdout == ""


@pytest.mark.parametrize("spec,line", [
    ('{"a": 1,\n  "b": [1,\n 2,]}', "sweep: stdin:3:4: "),
    ('{"a": {"b": 1, "b": 2}}', 'stdin:1:16: /a/b: the key "b" appears twice\n'),
    ('{"a": 1e999}', "sweep: stdin:1:7: /a: a number that is not finite\n"),
    ('{"a": ' + "[" * 40, "stdin:1:38: /a" + "/0" * 31 + ": nested deeper than 32\n"), ("", "sweep: stdin:1:1: "),
    ("method: random\nrun_cap: [1\n", "sweep: stdin:3:1: did not find expected ',' or ']'"),
    ("metric: {name: a}\nmetric: {name: b}\n", 'stdin:2:1: the key "metric" appears twice\n'),
    ('{"parameters": {"lr":\n {"min": 5, "max": 3}}}',
     "sweep: /parameters/lr/min (line 2): min 5 is above max 3\n"),
    ("# W&B's\nparameters:\n  lr: {min: 5, max: 3}\n",
     "sweep: parameters.lr.min (line 3): min 5 is above max 3\n")])
def test_bad_spec_is_refused_with_its_place(daemon, spec, line):
    got = sweep(daemon()[1], "submit", "-", stdin=spec)
    assert got.returncode == 1 and got.stdout == ""
    assert line in got.stderr and got.stderr.count("\n") == 1


def test_spec_that_fits_no_line_is_refused(daemon):
    got = sweep(daemon()[1], "submit", "-", stdin='"' + "x" * (1 << 20) + '"')
    assert got.returncode == 1 and "a spec has at most" in got.stderr


def test_file_is_yaml_by_its_name(daemon, tmp_path):
    """JSON is YAML too; YAML in a file of another name is not JSON."""
    path = daemon()[1]
    for name, text, line in (("a.yaml", "parameters: {}", ""), ("b.yml", '{"parameters": {}}', ""),
                             ("c.json", "parameters: {}", "c.json:1:1: "),
                             ("d.yaml", "a: 1\n  b: 2", "d.yaml:2:4: mapping values")):
        (tmp_path / name).write_text(text)
        got = sweep(path, "submit", str(tmp_path / name))
        assert got.returncode == (line != "") and line in got.stderr, got.stderr


def test_submit_prints_the_number_and_watch_follows(daemon):
    path = daemon()[1]
    assert sweep(path, "submit", "-", stdin='{"parameters":\n{}}').stdout == "sweep 3\n"
    got = sweep(path, "submit", "-", "--watch", stdin="{}")
    assert got.returncode == 0 and got.stdout.startswith("sweep 4\ntrial")


def test_list_has_all_pages(daemon):
    path = daemon()[1]
    for _ in range(3):
        sweep(path, "submit", "-", stdin="{}")
    assert [line.split()[0] for line in sweep(path, "ls").stdout.splitlines()[1:]] == list("12345")
    pages = [json.loads(line) for line in sweep(path, "ls", "--json").stdout.splitlines()]
    assert [s["sweep"] for page in pages for s in page["sweeps"]] == [5, 4, 3, 2, 1]


def test_list_on_a_terminal_has_the_newest_that_fit_last(daemon):
    """Finding 22: of many sweeps the newest scrolled off the top."""
    path = daemon()[1]
    for _ in range(7):
        sweep(path, "submit", "-", stdin="{}")

    def shown(*args):
        t = Terminal(path, "ls", *args, rows=10)
        assert t.end() == 0
        lines = t.seen.decode().splitlines()
        more = lines.pop(0) if "not shown" in lines[0] else None
        return more, [int(line.split()[0]) for line in lines[1:]]

    assert shown() == ("3 older sweeps are not shown; `sweep ls --all` shows all", [4, 5, 6, 7, 8, 9])
    assert shown("-n8")[1] == list(range(2, 10))  # more than a page of this daemon's
    assert shown("--all") == shown("--state=completed", "--all") == (None, list(range(1, 10)))
    assert sweep(path, "ls", "-n", "2").stdout.splitlines()[0].startswith("7 older")
    assert sweep(path, "ls", "--state", "Running").stdout == "no sweep is in that state\n"


def test_show_of_a_sweep_fits_a_screen(daemon):
    t = Terminal(daemon()[1], "show", "1")
    assert t.end() == 0 and len(t.seen.splitlines()) < 24 and b"--spec" in t.seen


def test_name_stands_for_the_newest_sweep_that_has_it(daemon):
    path = daemon()[1]
    for args in (["best", "digits"], ["show", "digits/7"], ["watch", "1", "digits"], ["why", "digits/7"]):
        number = [arg.replace("digits", "2") for arg in args]
        got, want = sweep(path, *args), sweep(path, *number)
        assert (got.returncode, got.stdout) == (0, want.stdout) and want.stdout
        assert (got.stderr, want.stderr) == ("sweep: digits is sweep 2, the newest of 2 of that name\n", "")


def test_list_has_columns_for_tags_and_notes_where_there_are_some(daemon):
    path = daemon()[1]
    assert "tags" not in sweep(path, "ls").stdout + sweep(path, "show", "1").stdout
    sweep(path, "note", "1", "the base", "line")
    assert sweep(path, "ls").stdout.splitlines()[0].split()[-2:] == ["note", "cause"]
    sweep(path, "tag", "2", "good", "base")
    head, first, second = sweep(path, "ls").stdout.splitlines()
    assert head.split()[-3:] == ["tags", "note", "cause"] and "the base line" in first and "good base" in second
    assert "\ntags    good base\n" in sweep(path, "show", "2").stdout
    assert "\nnote    the base line\n" in sweep(path, "show", "1").stdout


def test_states_are_taken_in_any_case(daemon):
    path = daemon()[1]
    upper, lower = (sweep(path, "trials", "1", "--csv", "--state", s).stdout for s in ("PRUNED", "pruned"))
    assert upper == lower and upper.count("\n") > 1


PAGED = ["show", "1"], ["trials", "1"], ["log", "1/6"], ["help"], ["best", "--help"]


def test_long_text_on_a_terminal_goes_through_the_pager(daemon, tmp_path):
    path = daemon()[1]
    for args in (*PAGED, ["ls"], ["trials", "1", "--json"], ["trials", "1", "--csv"], ["log", "1/6", "-f"]):
        t = Terminal(path, *args, PAGER="sed 's/^/P:/'")
        assert t.end() == 0
        lines = t.seen.decode().splitlines()
        assert all(line.startswith("P:") for line in lines) == (args in PAGED) and len(lines) > 0, args
    plain = Terminal(path, "help", PAGER="")
    plain.end()
    for more in ({"PAGER": "/nowhere/pager"}, {"TERM": "dumb", "PAGER": "wc"}, {"PAGER": "cat"}):
        t = Terminal(path, "help", **more)
        assert t.end() == 0 and t.seen == plain.seen, more
    t = Terminal(path, "help", PAGER="/nowhere/pager -x")  # which the shell starts, and says that it is not there
    assert t.end() == 0 and t.seen.endswith(plain.seen)
    assert sweep(path, "help", PAGER="wc").stdout.encode() == plain.seen.replace(b"\r", b"")
    # The default; LESS says whether it was the user's. An error starts none.
    (tmp_path / "less").write_text('#!/bin/sh\necho "less, LESS=$LESS"\ncat > /dev/null\n')
    (tmp_path / "less").chmod(0o755)
    for less, says in (None, b"less, LESS=FRX\r\n"), ("S", b"less, LESS=S\r\n"):
        t = Terminal(path, "help", PAGER=None, LESS=less, PATH=f"{tmp_path}:{os.environ['PATH']}")
        assert t.end() == 0 and t.seen == says
    t = Terminal(path, "show", "9", PAGER="wc")
    assert t.end() == 1 and t.seen.count(b"\n") == 1


def test_pager_that_is_left_early_ends_it_cleanly(daemon):
    t = Terminal(daemon("--trials", "2000")[1], "trials", "1", PAGER="head -n2")
    assert t.end() == 0
    assert t.seen.count(b"\n") == 2 and b"sweep:" not in t.seen


def test_ctrl_c_waits_for_the_pager(daemon):
    """less lives on, and the shell must not read from the terminal beside it."""
    t = Terminal(daemon("--trials", "2000")[1], "trials", "1",
                 PAGER="trap 'echo trapped' INT; head -n1; while ! read x; do :; done < /dev/tty; echo left $x")
    t.until(b"trial")
    os.write(t.fd, b"\x03")
    t.until(b"trapped")
    os.write(t.fd, b"now\n")
    assert t.end() in (0, 130)
    assert b"left now" in t.seen


def test_why_says_the_state_once(daemon):
    path = daemon()[1]
    assert sweep(path, "why", "1/8").stdout == "trial 1/8 CANCELLED: sweep-failed\n"
    assert sweep(path, "why", "1/7").stdout.startswith("trial 1/7 PRUNED: stopped at rung 9")


@pytest.mark.parametrize("path,sent", [
    ("here.csv", "{cwd}/here.csv"), ("./here.csv", "{cwd}/here.csv"), ("gone.csv", "gone.csv"),
    ("/gone.csv", "/gone.csv")])
def test_data_file_of_this_directory_is_sent_absolute(daemon, tmp_path, monkeypatch, path, sent):
    socket = daemon()[1]
    (tmp_path / "here.csv").write_text("x")
    monkeypatch.chdir(tmp_path)
    spec = ('{"parameters": {"x": {"min": 5.0, "max": 6.0}},\n'
            ' "trainer": {"dataset": {"format": "csv", "path": "%s"}}}' % path)
    got = sweep(socket, "submit", "-", stdin=spec)
    assert got.returncode == 0
    told = json.loads(got.stderr[len("sweep: warning: "):])
    want = json.loads(spec)
    want["trainer"]["dataset"]["path"] = sent.format(cwd=tmp_path)
    assert told == want
    assert isinstance(told["parameters"]["x"]["min"], float)


def test_csv_has_all_pages_and_times_last(daemon):
    path = daemon()[1]
    rows = list(csv.reader(io.StringIO(sweep(path, "trials", "1", "--csv").stdout)))
    assert rows[0] == ["trial", "attempt", "state", "cause", "step", "value", "best_step", "best_value", "l1", "l2",
                       "lr", "batch_size", "momentum", "train_loss", "val_accuracy", "val_loss",
                       "samples_per_s", "seconds", "created_ms", "ended_ms"]
    assert [int(r[0]) for r in rows[1:]] == list(range(1, 41))
    trials = json.loads(sweep(path, "rpc", "trial.list", '{"sweep": 1}').stdout)["trials"]
    assert [float(r[10]) for r in rows[1:31]] == [t["params"]["lr"] for t in trials]


def test_hostile_names_reach_no_terminal(daemon):
    path = daemon("--hostile")[1]
    for args in (["ls"], ["show", "1"], ["show", "1/7"], ["trials", "1"], ["best", "1"],
                 ["best", "1", "-n", "2"], ["log", "1/7"], ["watch", "1"]):
        got = sweep(path, *args)
        assert got.returncode == 0
        for bad in "\x1b\x07\x9b\u202e":
            assert bad not in got.stdout, (args, bad)


def test_log_shows_all_pages_of_the_output_raw_to_a_pipe_and_harmless_to_a_terminal(daemon):
    path = daemon()[1]
    for args in (["log", "1/6"], ["log", "1/6", "-f"]):
        got = sweep(path, *args).stdout
        assert got.endswith("epoch 1\n\x1b[32mgreen\x1b[0m \u00e9\tx\x07\nno end of line\n"), args
    pages = [json.loads(line) for line in sweep(path, "log", "1/6", "-f", "--json").stdout.splitlines()]
    assert [len(page["lines"]) for page in pages if "lines" in page] == [1]  # once, though it looked again and again
    t = Terminal(path, "log", "1/6")
    assert t.end() == 0
    shown = t.seen.decode()
    assert "green \u00e9\tx" in shown and not set(HARMFUL) & set(shown), shown


def test_full_disk_is_said(daemon):
    with open("/dev/full", "w") as full:
        p = subprocess.run([SWEEP, "ls"], env=env(daemon()[1]), stdout=full,
                           stderr=subprocess.PIPE, text=True, timeout=60)
    assert p.returncode == 1 and "No space left" in p.stderr


def test_watch_without_terminal_ends_with_the_table(daemon):
    path = daemon("--tick", "0.01", "--trials", "12")[1]
    got = sweep(path, "watch", "1", "2")
    assert got.returncode == 0
    assert "sweep 1 digits  COMPLETED" in got.stdout and "sweep 2 digits  COMPLETED" in got.stdout
    assert "\x1b" not in got.stdout


class Terminal:
    """The command on a pty."""

    def __init__(self, path, *args, rows=24, columns=80, **more):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(SWEEP, [SWEEP, *args], env(path, **dict({"TERM": "xterm-256color"}, **more)))
        self.seen = b""

    def until(self, text=None):
        """Reads until text was seen, or (None) to the end."""
        while text is None or text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], 60)
            assert ready, self.seen
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                got = b""
            if not got:
                assert text is None, self.seen
                break
            self.seen += got
        return self.seen

    def end(self):
        self.until()
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.mark.parametrize("columns, heads", [(39, "sweep name state done best"), (25, "sweep name state"),
                                            (14, "sweep name"), (8, "sweep n…")])
def test_narrow_terminal_has_fewer_columns_with_whole_heads(daemon, columns, heads):
    t = Terminal(daemon()[1], "ls", columns=columns, NO_COLOR="1")
    assert t.end() == 0
    lines = t.seen.decode().splitlines()
    assert lines[0].split() == heads.split() and max(map(len, lines)) <= columns, lines


def test_plot_says_that_a_terminal_is_too_narrow(daemon):
    path = daemon()[1]
    t = Terminal(path, "plot", "1", columns=39)
    assert t.end() == 1
    assert t.seen.decode() == "sweep: a plot needs 40 columns, and here are 39; --out x.svg draws it\r\n"


HARMFUL = "\x1b\x07\x7f\x9b\u202e"


@pytest.mark.parametrize("args", [["rpc", "trial.list", '{"sweep": 1}'], ["ls", "--json"],
                                  ["show", "1", "--json"], ["trials", "1", "--json"]])
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_json_on_a_terminal_is_escaped_and_means_the_same(daemon, args, locale):
    path = daemon("--hostile")[1]
    piped = sweep(path, *args).stdout
    assert "\x9b" in piped and ("\u202e" in piped or args[0] == "ls")
    t = Terminal(path, *args, LC_ALL=locale)
    assert t.end() == 0
    shown = t.seen.decode()
    assert not set(HARMFUL) & set(shown), shown
    assert [json.loads(line) for line in shown.splitlines()] == [
        json.loads(line) for line in piped.rstrip("\n").split("\n")]


def test_csv_is_lossless_in_a_pipe_and_harmless_on_a_terminal(daemon):
    path = daemon("--hostile")[1]
    name = "l\x1b[31mr\u202e\x9b2J\x7f\t\n"
    piped = list(csv.reader(io.StringIO(sweep(path, "trials", "1", "--csv").stdout, newline="")))
    assert name in piped[0] and len(piped) == 41
    t = Terminal(path, "trials", "1", "--csv")
    assert t.end() == 0
    shown = t.seen.decode().replace("\r\n", "\n")
    assert not set(HARMFUL) & set(shown), shown
    rows = list(csv.reader(io.StringIO(shown, newline="")))
    assert len(rows) == 41 and rows[1:] == piped[1:]
    assert "l?[31mr??2J?\t\n" in rows[0]


@pytest.mark.parametrize("leave", [b"q", b"\x03"])
def test_watch_on_a_terminal_is_left_with_a_word(daemon, leave):
    t = Terminal(daemon("--tick", "0.2", "--trials", "100")[1], "watch", "1")
    t.until(b"RUNNING")
    os.write(t.fd, leave)
    assert t.end() == 0
    assert b"\x1b[?1049h" in t.seen and b"\x1b[?1049l" in t.seen
    tail = t.seen.split(b"\x1b[?1049l")[-1]
    assert b"sweep 1 goes on; `sweep watch 1` shows it again" in tail


def test_watch_on_a_terminal_ends_with_the_table(daemon):
    t = Terminal(daemon("--tick", "0.02", "--trials", "12")[1], "watch", "1")
    assert t.end() == 0
    tail = t.seen.split(b"\x1b[?1049l")[-1].decode()
    assert "COMPLETED" in tail and "best" in tail and "val_accuracy" in tail


def test_watch_finds_a_daemon_that_comes_back(daemon, tmp_path):
    first, path = daemon("--tick", "0.2", "--trials", "100")
    t = Terminal(path, "watch", "1", NO_COLOR="1")
    t.until(b"RUNNING")
    first.send_signal(signal.SIGKILL)
    first.wait()
    t.until(b"away")
    daemon("--tick", "0.01", "--trials", "8", path=path)
    assert t.end() == 0
    assert "COMPLETED" in t.seen.split(b"\x1b[?1049l")[-1].decode()


def test_dumb_terminal_gets_plain_blocks(daemon):
    t = Terminal(daemon("--tick", "0.01", "--trials", "8")[1], "watch", "1", TERM="dumb")
    assert t.end() == 0
    assert b"\x1b" not in t.seen and b"COMPLETED" in t.seen

"""What the machine does to the daemon: its clock is set, its disk fails, its terminal closes."""
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile

import pytest

from harness import BIN, DEADLINE, driven, environment, wait_until
from system import NEEDS_FAKE, Machine

DAY = 86400


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def rig(start, machine):
    """A daemon on that machine."""
    daemon = start()
    daemon.kill9()
    return daemon.start(**machine.env)


def logged(daemon, *words):
    with open(daemon.log, encoding="utf-8") as file:
        return [line for line in file if all(word in line for word in words)]


# --- the clock ---

@NEEDS_FAKE
def test_clock_that_is_set_is_logged(rig, machine):
    machine.set_clock(DAY)
    line, = wait_until(lambda: logged(rig, "daemon.clock"), "a line about the clock")
    # Two clocks are read for it, one after the other.
    assert float(re.search(r"ahead_s=(\S+)", line)[1]) == pytest.approx(DAY, abs=5)
    machine.set_clock(0)
    wait_until(lambda: len(logged(rig, "daemon.clock")) == 2, "a line about the clock, right again")


# --- the disk ---

@NEEDS_FAKE
def test_disk_that_fails_ends_the_daemon_with_70_when_the_loop_is_first(rig, machine):
    """The writer's thread hangs between its failed commit and its word about it."""
    client = rig.client()
    sweep = client.submit(driven(run_cap=1000))
    machine.break_disk()
    request = {"jsonrpc": "2.0", "id": 1, "method": "trial.ask", "params": {"sweep": sweep}}

    def ended():
        try:
            client.send(request)
        except OSError:
            pass
        return rig.process.poll() is not None

    wait_until(ended, "the daemon's end")
    assert rig.process.returncode == 70, rig.tail()
    assert logged(rig, "error daemon.die", 'what="record a change"')
    rig.process = None
    machine.disk.unlink()
    assert rig.start(**machine.env).client().sweep(sweep)["state"] == "RUNNING"


# --- a database that was damaged where no checksum looks ---

@pytest.mark.parametrize("bad", [b'{"x":0.5', b"\xff\xfe", b'{"x":"\xff"}', b"7", b'{"x":1}\n{"id":1}'])
def test_stored_text_that_is_no_json_object_goes_out_as_null(start, bad):
    """Every line that the daemon sends can be read, and the log says which trial's it is."""
    daemon = start()
    client = daemon.client()
    sweep = client.submit(driven(run_cap=2))
    for t in client.ask(sweep, 2):
        client.report(sweep, t, 1, 1, loss=t["trial"])
        client.tell(sweep, t)
    client.wait_sweep(sweep)
    client.close()
    assert daemon.term() == 0
    with sqlite3.connect(os.path.join(daemon.state, "sweepd.db")) as db:
        for text in ("trial SET params", "report SET metrics"):
            db.execute(f"UPDATE {text} = CAST(? AS TEXT) WHERE trial = 1", (bad,))
        db.execute("UPDATE trial SET cause = CAST(? AS TEXT) WHERE trial = 1", (b"a\xffb",))
    client = daemon.start().client()
    one, two = client.trials(sweep)
    assert (one["params"], one["metrics"], one["cause"]) == (None, None, "a\ufffdb")
    assert two["params"] and two["metrics"] == {"loss": 2}
    assert client.call("trial.get", sweep=sweep, trial=1)["params"] is None
    assert client.reports(sweep, 1)[0]["metrics"] is None
    assert client.call("sweep.best", sweep=sweep)["trials"][0]["params"] is None
    assert client.sweep(sweep)["best"]["params"] is None
    assert client.call("sweep.watch", sweep=sweep)["trials"]
    assert logged(daemon, "store.damaged", "trial=1/1", "params")
    assert not logged(daemon, "store.damaged", "trial=1/2")


# --- its terminal, and the log ---

@pytest.fixture
def bare(tmp_path):
    """bare(*options) starts a sweepd whose log goes to a file as its stderr; (process, text of the log)."""
    started = []

    def make(*options):
        socket = os.path.join(tempfile.mkdtemp(prefix="sw-"), "s")
        stderr = tmp_path / "stderr"
        with open(stderr, "wb") as file:
            process = subprocess.Popen(
                [os.path.join(BIN, "sweepd"), "--state", tmp_path / "state", "--socket", socket, "--devices", "none",
                 *options], stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment())
        started.append((process, socket))
        wait_until(lambda: os.path.exists(socket) or process.poll() is not None, "a socket")
        return process, stderr.read_text

    yield make
    for process, socket in started:
        process.kill()
        process.wait()
        shutil.rmtree(os.path.dirname(socket))


def test_hangup_without_a_log_file_is_ignored_with_a_line(bare):
    process, log = bare()
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: "daemon.hangup" in log() or process.poll() is not None, "a line about it")
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == 0


def test_hangup_opens_a_renamed_log_again(daemon, client):
    os.rename(daemon.log, daemon.log + ".1")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: os.path.exists(daemon.log) and logged(daemon, "daemon.hangup"), "a new log")
    client.submit(driven())
    assert logged(daemon, "sweep.submit")
    with open(daemon.log + ".1", encoding="utf-8") as old:
        assert "sweep.submit" not in old.read()


def test_hangup_with_a_log_that_cannot_be_opened_keeps_the_old_one(daemon, client):
    os.rename(daemon.log, daemon.log + ".1")
    os.mkdir(daemon.log)
    daemon.process.send_signal(signal.SIGHUP)
    daemon.log += ".1"
    wait_until(lambda: logged(daemon, "daemon.hangup", "Is a directory"), "a line about it")


def test_log_in_a_folder_that_is_not_there_is_made(bare, tmp_path):
    """In the state directory, before that is made."""
    process, _ = bare("--log", tmp_path / "state" / "sweepd.log")
    log = tmp_path / "state" / "sweepd.log"
    wait_until(lambda: process.poll() is not None or "daemon.start" in log.read_text(), "a line in the log")
    assert process.poll() is None
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_workers_do_not_inherit_an_ignored_hangup(start):
    client = start("cpu:1").client()
    slot, = wait_until(lambda: [s for s in client.slots() if s["state"] == "IDLE"], "an idle slot")
    with open(f"/proc/{slot['pid']}/status", encoding="ascii") as file:
        ignored, = (line.split()[1] for line in file if line.startswith("SigIgn:"))
    assert not int(ignored, 16) & 1 << (signal.SIGHUP - 1)


def test_error_carries_nothing_that_turns_or_moves_text(client):
    said = client.refused("sweep.submit", spec=driven(**{"a\x9b2J\u202eb\x7f": 1}))
    assert '"a?2J?b?"' in said.message and said.pointer == "/spec/a?2J?b?"

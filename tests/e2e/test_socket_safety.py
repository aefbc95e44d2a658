"""Whose socket it is: a folder that others may write in, a daemon of another user, one that is stopped.

Tests that need a second user run as root, as `nobody` for the other one; elsewhere they are skipped."""
import json
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

from harness import BIN, DEADLINE, ROOT, Daemon, environment, sweep_command, trained, wait_until

NOBODY = 65534
NO_DAEMON = 3  # the exit status of `sweep`
two_users = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be nobody as well")


@pytest.fixture
def shared():
    """A folder in which everybody may make things, and nobody may remove another's, like /tmp."""
    path = tempfile.mkdtemp(prefix="sw-")
    os.chmod(path, 0o1777)
    yield path
    shutil.rmtree(path)


def as_nobody(act, *args):
    """A process of nobody's that does this. It is forked: nobody may not be able to run this Python."""
    def child():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        act(*args)

    process = multiprocessing.get_context("fork").Process(target=child, daemon=True)
    process.start()
    return process


def done_as_nobody(act, *args):
    process = as_nobody(act, *args)
    process.join(DEADLINE)
    assert process.exitcode == 0


def make_folder(path, mode):
    os.mkdir(path)
    os.chmod(path, mode)


def refusal(tmp_path, path):
    """Starts sweepd on that socket, which it must refuse: its one line."""
    directory = tmp_path / f"refused{len(os.listdir(tmp_path))}"
    directory.mkdir()
    daemon = Daemon(directory)
    daemon.socket = path
    return daemon.refused()


@two_users
@pytest.mark.parametrize("mode", [0o777, 0o755])
def test_daemon_in_a_folder_that_another_user_made_is_refused(tmp_path, shared, mode):
    folder = os.path.join(shared, "sweepd-0")
    done_as_nobody(make_folder, folder, mode)
    line = refusal(tmp_path, os.path.join(folder, "sweepd.sock"))
    assert f"the socket's folder {folder} belongs to another user (uid 65534)" in line
    assert "--socket PATH" in line and os.listdir(folder) == []


@two_users
def test_daemon_behind_a_link_that_another_user_made_is_refused(tmp_path, shared):
    mine = os.path.join(shared, "mine")
    os.mkdir(mine, 0o700)
    link = os.path.join(shared, "sweepd-0")
    done_as_nobody(os.symlink, mine, link)
    assert "belongs to another user (uid 65534)" in refusal(tmp_path, os.path.join(link, "s"))


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o757])
def test_daemon_in_a_folder_that_others_may_write_in_is_refused(tmp_path, mode):
    folder = tempfile.mkdtemp(prefix="sw-")
    os.chmod(folder, mode)
    line = refusal(tmp_path, os.path.join(folder, "s"))
    assert f"others may write in the socket's folder {folder} (mode 0{mode:o})" in line
    assert "chmod go-w" in line
    os.rmdir(folder)


@pytest.mark.parametrize("mode", [0o1777, 0o755, 0o700])
def test_daemon_in_a_folder_that_others_cannot_meddle_with_starts(daemon, tmp_path, mode):
    """The sticky bit is what keeps others' hands off a socket in /tmp itself."""
    assert daemon.term() == 0
    os.chmod(daemon.short, mode)
    daemon.start()
    assert sweep_command(daemon, "info")[0] == 0


def impersonate(path, job, told):
    """Plays the daemon for whoever connects: hello, then this job. Tells of each connection and of
    each message that it gets."""
    def tell(*words):
        print(*words, file=told, flush=True)

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o777)
    listener.listen(16)
    tell("ready")
    while True:
        peer, _ = listener.accept()
        tell("connected")
        for line in peer.makefile("rb"):
            message = json.loads(line)
            tell("got", message["method"])
            result = {"ok": True, "run": True, "decision": "continue"}
            if message["method"] == "worker.next":
                result, job = job, None
            if "id" in message and result is not None:
                peer.sendall(json.dumps({"jsonrpc": "2.0", "id": message["id"],
                                         "result": result}).encode() + b"\n")


class Impostor:
    """nobody's fake daemon, on a socket in a folder of nobody's."""

    def __init__(self, shared, tmp_path, job):
        folder = os.path.join(shared, "sweepd-0")
        done_as_nobody(make_folder, folder, 0o755)
        self.socket = os.path.join(folder, "sweepd.sock")
        self.out = tmp_path / "impostor"
        with open(self.out, "w", encoding="utf-8") as told:
            self.process = as_nobody(impersonate, self.socket, job, told)
        wait_until(lambda: "ready" in self.said(), "the impostor to listen")

    def said(self):
        return self.out.read_text().splitlines()

    def stop(self):
        self.process.kill()
        self.process.join()


@pytest.fixture
def impostor(shared, tmp_path):
    """impostor(job) listens."""
    made = []

    def make(job):
        made.append(Impostor(shared, tmp_path, job))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@two_users
def test_command_that_reaches_another_users_daemon_sends_nothing(impostor):
    fake = impostor({})
    status, out, err = sweep_command(fake.socket, "info")
    assert (status, out) == (NO_DAEMON, "")
    assert f"another user (uid 65534) listens at {fake.socket}" in err and err.count("\n") == 1
    wait_until(lambda: "connected" in fake.said(), "the connection")
    assert sweep_command(fake.socket, "watch", 1)[0] == NO_DAEMON
    assert set(fake.said()) == {"ready", "connected"}


@two_users
def test_worker_that_reaches_another_users_daemon_runs_no_job(impostor, tmp_path):
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    job = {"sweep": 7, "trial": 7, "attempt": 1, "seed": 1, "data_seed": 1, "resume_step": 0,
           "params": {"width": 8, "lr": 0.1, "batch_size": 32}, "max_t": None,
           "checkpoint_dir": str(private), "checkpoint_end": True, "checkpoint_every": 1,
           "trainer": trained(epochs=1)["trainer"]}
    fake = impostor(job)
    errors = tmp_path / "errors"
    with open(errors, "wb") as stderr:
        worker = subprocess.Popen(
            [os.path.join(BIN, "sweep-worker"), "--socket", fake.socket, "--slot", "0", "--device",
             "cpu:0"], cwd=ROOT, stdin=subprocess.PIPE, stderr=stderr, env=environment())
        worker.stdin.write(b"w")
        worker.stdin.close()
    try:
        wait_until(lambda: fake.said().count("connected") >= 3 or "got worker.tell" in fake.said(),
                   "the worker to come back, as to a daemon that is away")
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(DEADLINE) == 0
    finally:
        worker.kill()
        worker.wait()
    assert set(fake.said()) == {"ready", "connected"}
    assert os.listdir(private) == []
    line, = errors.read_text().splitlines()
    assert f"another user (uid 65534) listens at {fake.socket}" in line


def fill_backlog(path):
    """Connections that a stopped daemon does not take, up to the first that has no place."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    waiting = []
    try:
        while True:
            waiting.append(socket.socket(socket.AF_UNIX))
            waiting[-1].setblocking(False)
            waiting[-1].connect(path)
    except BlockingIOError:
        return waiting
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_start_beside_a_stopped_daemon_whose_backlog_is_full_is_refused(daemon, tmp_path):
    os.kill(daemon.process.pid, signal.SIGSTOP)
    waiting = []
    try:
        waiting = fill_backlog(daemon.socket)
        line = refusal(tmp_path, daemon.socket)
    finally:
        for each in waiting:
            each.close()
        os.kill(daemon.process.pid, signal.SIGCONT)
    assert f"another daemon answers at {daemon.socket}" in line

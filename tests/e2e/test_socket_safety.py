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
    process = daemon.start(wait=False).process
    try:
        assert process.wait(DEADLINE) == 3
    finally:
        process.kill()
        process.wait()
        os.rmdir(daemon.short)
    line, = (directory / "stderr").read_text().splitlines()
    return line


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
def test_daemon_in_a_folder_that_others_cannot_meddle_with_starts(start, tmp_path, mode):
    """The sticky bit is what keeps others' hands off a socket in /tmp itself."""
    daemon = start("none")
    assert daemon.term() == 0
    os.chmod(daemon.short, mode)
    daemon.start()
    assert sweep_command(daemon, "info")[0] == 0


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

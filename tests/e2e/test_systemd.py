"""A service manager that is not there: its socket, its descriptor, its watchdog."""
import os
import socket
import subprocess
import sys
import tempfile

import pytest

from harness import BIN, DEADLINE, environment, trained

# Becomes the rest of its arguments with descriptor 3 bound to the first, as a .socket unit has it.
ACTIVATE = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(8)
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.fixture(name="manager", params=["a file", "a name without a file"])
def manager_fixture(request, short):
    """What listens to the daemon, and what the daemon knows it by."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(DEADLINE)
        path = os.path.join(short, "notify")
        listener.bind(path if request.param == "a file" else "\0" + path)
        yield listener, path if request.param == "a file" else "@" + path


@pytest.fixture(name="short")
def short_fixture(tmp_path_factory):
    """A folder with a path that a socket's may begin with."""
    with tempfile.TemporaryDirectory(prefix="sw-") as folder:
        yield folder


def test_manager_hears_ready_then_the_loops_beats_then_stopping(start, manager):
    listener, path = manager
    daemon = start("none", NOTIFY_SOCKET=path, WATCHDOG_USEC="500000")
    said = [listener.recv(100) for _ in range(4)]
    assert said == [b"READY=1"] + 3 * [b"WATCHDOG=1"]
    assert daemon.term() == 0
    while said[-1] == b"WATCHDOG=1":
        said.append(listener.recv(100))
    assert said[-1] == b"STOPPING=1"


def test_watchdog_of_another_process_is_not_fed(start, manager):
    listener, path = manager
    daemon = start("none", NOTIFY_SOCKET=path, WATCHDOG_USEC="1", WATCHDOG_PID="1")
    assert listener.recv(100) == b"READY=1"
    daemon.client().call("daemon.info")
    assert daemon.term() == 0
    assert listener.recv(100) == b"STOPPING=1"


def test_daemon_serves_the_socket_that_it_was_started_with(tmp_path, short, daemon):
    assert daemon.term() == 0
    daemon.devices, given = "cpu:1", os.path.join(short, "given")
    own, daemon.socket = daemon.socket, given
    daemon.before = [sys.executable, "-c", ACTIVATE, given]
    daemon.start()
    client = daemon.client()
    sweep = client.run(trained(epochs=2, run_cap=2), "COMPLETED")
    assert not os.path.exists(own)
    client.close()
    assert daemon.term() == 0
    assert os.path.exists(given), "the manager's socket was removed with the daemon"


def test_socket_whose_file_is_gone_is_refused(tmp_path, short):
    lost = ("import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n"
            "os.unlink(sys.argv[1]); os.dup2(s.fileno(), 3); os.set_inheritable(3, True)\n"
            "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])")
    path = os.path.join(short, "lost")
    done = subprocess.run([sys.executable, "-c", lost, path, os.path.join(BIN, "sweepd"), "--state", tmp_path / "state"],
                          stdin=subprocess.DEVNULL, check=False, capture_output=True, text=True, timeout=DEADLINE,
                          env=environment())
    assert done.returncode == 3 and done.stderr.startswith(f"sweepd: LISTEN_FDS: {path} is gone")


@pytest.mark.parametrize("more, says", [
    ({"LISTEN_FDS": "2"}, "LISTEN_FDS is 2: sweepd has one socket"),
    ({"LISTEN_FDS": "1"}, "LISTEN_FDS: descriptor 3 is not a listening unix socket"),
])
def test_other_descriptors_are_refused_with_one_line(tmp_path, more, says):
    done = subprocess.run(["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", os.path.join(BIN, "sweepd"), "--state",
                           tmp_path / "state", "--socket", tmp_path / "s"], stdin=subprocess.DEVNULL, check=False,
                          capture_output=True, text=True, timeout=DEADLINE, env=environment(**more))
    assert done.returncode == 3
    assert done.stderr.startswith(f"sweepd: {says}") and done.stderr.count("\n") == 1

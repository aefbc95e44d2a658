"""Which daemon it is: one that was started in another session, one whose socket is gone, another user's."""
import os
import signal
import subprocess
import sys

import pytest

from harness import BIN, DEADLINE, Daemon, driven, environment, others_may_run, trained, wait_until
from test_python import PACKAGE, sweepd

NOBODY = 65534
NO_DAEMON = 3


@pytest.fixture
def session(tmp_path):
    """A daemon on the default state folder of XDG_STATE_HOME; the environment of another session."""
    daemon = Daemon(tmp_path)
    daemon.state = str(tmp_path / "home" / "sweepd")
    (tmp_path / "run").mkdir()
    yield daemon.start(), environment(XDG_STATE_HOME=str(tmp_path / "home"), XDG_RUNTIME_DIR=str(tmp_path / "run"),
                                      PYTHONPATH=PACKAGE)
    daemon.stop()


def pid_by(env, *command):
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=DEADLINE, check=False)
    return done.stdout.strip() or done.stderr


def test_daemon_is_found_from_another_session_by_its_state_folder(session):
    daemon, env = session
    sweep = os.path.join(BIN, "sweep")
    code = "import sweepd; print(sweepd.Client(start=False).info()['pid'])"
    pid = str(daemon.process.pid)
    with open(os.path.join(daemon.state, "lock"), encoding="ascii") as lock:
        assert lock.read() == f"{pid}\n{daemon.socket}\n"
    assert f'"pid":{pid},' in pid_by(env, sweep, "info", "--json").replace(" ", "")
    daemon.client().submit(driven())
    daemon.client().call("sweep.cancel", sweep=1)
    assert "CANCELLED" in pid_by(env, sweep, "watch", "1")  # it has a connection of its own
    assert pid_by(env, sys.executable, "-c", code) == pid
    # Who says which socket means that one.
    assert "no daemon at /nowhere/s" in pid_by(env | {"SWEEPD_SOCKET": "/nowhere/s"}, sweep, "info")
    assert "no daemon answers at /nowhere/s" in pid_by(env | {"SWEEPD_SOCKET": "/nowhere/s"}, sys.executable, "-c", code)
    daemon.kill9()
    assert "no daemon at" in pid_by(env, sweep, "info")


def test_daemon_without_its_socket_is_named_until_it_has_one_again(session):
    """A logout removes /run/user/UID, a cleaner what is old in /tmp. Here a file is in the way of a new folder at first."""
    daemon, env = session
    sweep, pid = os.path.join(BIN, "sweep"), daemon.process.pid
    folder = os.path.dirname(daemon.socket)
    held = daemon.client()
    os.remove(daemon.socket)
    os.rmdir(folder)
    with open(folder, "w", encoding="ascii"):
        pass
    says = f"sweep: sweepd (pid {pid}) runs without its socket {daemon.socket}: it makes it again within seconds"
    assert pid_by(env, sweep, "info").startswith(says)
    assert pid_by(env | {"SWEEPD_SOCKET": daemon.socket}, sweep, "info").startswith(says)
    assert "no daemon at /nowhere/s" in pid_by(env | {"SWEEPD_SOCKET": "/nowhere/s"}, sweep, "info")
    wait_until(lambda: "nobody finds this daemon" in log_of(daemon), "a line that says why")
    os.remove(folder)
    wait_until(lambda: f'"pid":{pid},' in pid_by(env, sweep, "info", "--json").replace(" ", ""), "a new socket")
    assert [os.stat(path).st_mode & 0o777 for path in (folder, daemon.socket)] == [0o700, 0o600]
    assert log_of(daemon).count("nobody finds this daemon") == 1 and "made again" in log_of(daemon)
    assert held.call("daemon.info")["pid"] == pid, "who was connected still is"


def log_of(daemon):
    with open(daemon.log, encoding="utf-8") as log:
        return log.read()


@pytest.mark.slots("cpu:1")
def test_worker_that_was_started_without_a_socket_finds_the_new_one(daemon, client):
    wait_until(lambda: client.slots()[0]["pid"], "a worker")
    os.remove(daemon.socket)
    os.kill(client.slots()[0]["pid"], signal.SIGKILL)
    sweep = client.run(trained(epochs=1, run_cap=1))
    assert client.sweep(sweep)["counts"]["COMPLETED"] == 1


@pytest.mark.parametrize("lock", ["", "1\n", "1\nrelative\n", "1\n/no/end", f"1\n/{'x' * 200}\n", "\0" * 300])
def test_lock_that_tells_no_path_is_no_daemon(tmp_path, lock):
    (tmp_path / "sweepd").mkdir()
    (tmp_path / "sweepd" / "lock").write_text(lock)
    env = environment(XDG_STATE_HOME=str(tmp_path), XDG_RUNTIME_DIR=str(tmp_path))
    assert f"no daemon at {tmp_path}/sweepd/sweepd.sock" in pid_by(env, os.path.join(BIN, "sweep"), "info")


@pytest.mark.skipif(not others_may_run(NOBODY), reason="needs root, and a build that nobody may run")
def test_another_users_daemon_is_named_as_such(start):
    daemon = start()
    done = subprocess.run([os.path.join(BIN, "sweep"), "--socket", daemon.socket, "info"], user=NOBODY, group=NOBODY,
                          extra_groups=[], env=environment(), capture_output=True, text=True, timeout=DEADLINE,
                          check=False)
    assert done.returncode == NO_DAEMON and done.stderr.count("\n") == 1
    assert f"permission denied: the daemon at {daemon.socket} is another user's (root, uid 0)" in done.stderr
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setuid(NOBODY)
            sweepd.Client(daemon.socket)
        except sweepd.SweepdError as wrong:
            os.write(write, str(wrong).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1000).decode() == f"permission denied: the daemon at {daemon.socket} is another user's"

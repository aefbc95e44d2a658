"""A daemon that is killed before it has stored what it started, and a second one beside the first. Who lives on, and loses
nothing: test_command_crash.py, test_gang.py, test_promote.py, tests/store/test_kill.c."""
import os
import signal
import subprocess

import pytest

from harness import BIN, ROOT, alive, environment, fake_os, wait_until


def test_worker_that_was_started_but_not_stored_ends_with_its_daemon(start, tmp_path):
    gate = tmp_path / "gate"
    daemon = start("cpu:1", **fake_os(tmp_path, gate=gate))
    client = daemon.client()
    wait_until(lambda: client.slots()[0]["state"] == "IDLE", "a worker")
    first = client.slots()[0]["pid"]
    gate.touch()  # the disk answers nothing from here on
    os.kill(first, signal.SIGKILL)

    def second():
        pid = client.slots()[0].get("pid")
        return pid if pid != first else None

    wait_until(second, "the worker after it")
    pid = second()
    daemon.kill9()
    gate.unlink()
    # No later daemon can know of it.
    wait_until(lambda: not alive(pid), "its end")


@pytest.mark.parametrize("socket", ["same socket", "other socket"])
def test_second_daemon_on_the_state_directory_is_refused_with_one_line(daemon, tmp_path, socket):
    path = daemon.socket if socket == "same socket" else str(tmp_path / "s2")
    done = subprocess.run([os.path.join(BIN, "sweepd"), "--state", daemon.state, "--socket", path,
                           "--devices", "none"], cwd=ROOT, capture_output=True, text=True,
                          check=False, timeout=60, env=environment())
    assert done.returncode != 0
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and daemon.state in lines[0], lines
    assert daemon.client().call("daemon.info")["pid"] == daemon.process.pid

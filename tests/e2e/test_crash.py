"""What survives: kill -9 of a worker, kill -9 of the daemon, SIGTERM."""
import os
import signal
import subprocess

import pytest

from harness import BIN, ROOT, alive, asha, environment, fake_os, slow, wait_until


@pytest.mark.slots("cpu:2")
def test_daemon_killed_in_mid_sweep_loses_no_report_and_readopts_what_runs(daemon, client):
    sweep = client.submit(slow(epochs=120, run_cap=6, early_terminate=asha(
        max_t=120, grace_period=40)))
    wait_until(lambda: [t["step"] in range(2, 30) for t in client.trials(sweep, state="RUNNING")]
               == [True, True], "two trials in their middle")
    slots = {s["slot"]: s for s in client.slots()}
    before = {t["trial"]: client.reports(sweep, t["trial"]) for t in client.trials(sweep)}
    daemon.kill9()
    assert all(alive(s["pid"]) for s in slots.values()), "workers outlive the daemon"

    daemon.start()
    client = daemon.client()
    for trial, reports in before.items():
        now = client.reports(sweep, trial)
        assert now[:len(reports)] == reports, f"acknowledged reports of trial {trial}"
    wait_until(lambda: all(s["state"] in ("BUSY", "IDLE") for s in client.slots()),
               "workers that are back")
    assert {s["slot"]: s["pid"] for s in client.slots()} == {
        k: s["pid"] for k, s in slots.items()}, "the same processes hold the slots"
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED"
    assert sum(got["counts"].values()) == 6
    for trial in client.trials(sweep):
        assert trial["attempt"] == 1, trial
        seqs = [r["seq"] for r in client.reports(sweep, trial["trial"])]
        assert seqs == list(range(1, len(seqs) + 1))


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


def test_socket_left_by_a_dead_daemon_is_taken_over(daemon):
    daemon.kill9()
    assert os.path.exists(daemon.socket)
    daemon.start()
    assert daemon.client().call("daemon.info")["pid"] == daemon.process.pid

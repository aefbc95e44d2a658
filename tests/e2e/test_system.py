"""What the machine does to the daemon: its clock is set, its disk fails, its terminal closes."""
import pytest

from harness import driven, wait_until
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
@pytest.mark.parametrize("ahead_s", [DAY, -DAY])
def test_clock_that_is_set_for_a_moment_spends_no_time(rig, machine, ahead_s):
    """Neither while the daemon is up nor in what the next one reads."""
    client = rig.client()
    sweep = client.submit(driven(time_budget_s=3600, lease_s=600))
    first, = client.ask(sweep)
    machine.set_clock(ahead_s)
    inside, ends_inside = client.ask(sweep, 2)
    client.tell(sweep, ends_inside, metrics={"loss": 1})
    client.report(sweep, first, 1, 1, loss=1)
    machine.set_clock(0)
    client.tell(sweep, first, metrics={"loss": 1})
    client.tell(sweep, inside, metrics={"loss": 1})

    def is_sane(client):
        got = client.sweep(sweep)
        assert got["state"] == "RUNNING" and got["cause"] is None
        assert 0 <= got["seconds"] < 3600 and 0 <= got["budget"]["time_used_s"] < 3600
        assert all(0 <= t["seconds"] < 3600 for t in client.trials(sweep))
        for t in (first, inside, ends_inside):
            for attempt in client.call("trial.get", sweep=sweep, trial=t["trial"])["attempts"]:
                assert 0 <= attempt["ended_ms"] - attempt["started_ms"] < 3600e3

    is_sane(client)
    rig.kill9()
    is_sane(rig.start(**machine.env).client())


@NEEDS_FAKE
def test_clock_that_is_set_is_logged(rig, machine):
    machine.set_clock(DAY)
    wait_until(lambda: logged(rig, "daemon.clock", f"ahead_s={DAY}."), "a line about the clock")
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

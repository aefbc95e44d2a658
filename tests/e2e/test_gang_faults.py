"""A rank that ends, is killed, or is stopped ends the attempt on all; the next one has the undisturbed curve."""
import os
import random
import re
import signal
import time

import pytest

from checkpoints import curve, log, undisturbed
from gangs import Machine, lead, long, ranks, shared
from harness import Daemon, alive, wait_until

SILENT_S = 2
MOMENTS = int(os.environ.get("SWEEPD_GANG_MOMENTS", "2"))  # of each rank and signal; 8: about 30 in all


def strike(client, sweep, pids, rank, how):
    """Seconds until the attempt has ended everywhere."""
    began = time.monotonic()
    os.kill(pids[rank], how)
    wait_until(lambda: not any(map(alive, pids)), "the end of all ranks", 20)
    wait_until(lambda: client.call("trial.get", sweep=sweep, trial=1)["attempts"][0]["state"] != "RUNNING",
               "the end of the attempt", 20)
    return time.monotonic() - began


def check_again(client, sweep, whole):
    """One loss, then the rest of the curve."""
    assert client.wait_sweep(sweep)["state"] == "COMPLETED", client.trials(sweep)
    first, second = client.call("trial.get", sweep=sweep, trial=1)["attempts"]
    assert (first["state"], second["state"]) == ("LOST", "COMPLETED")
    got = curve(client, sweep, 1)
    assert got == whole
    return first


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """whole(stages): the curve that nobody disturbs, trained once for all ranks and signals."""
    daemon = Daemon(tmp_path_factory.mktemp("whole"), "cpu:2").start()
    curves = {n: undisturbed(daemon.client(), {**shared(long(), stages=n), "run_cap": 2}, 2)[1] for n in (1, 2)}
    daemon.stop()
    return curves.get


# The two in the middle run again: each rank, and each signal.
AGAIN = pytest.mark.once("as the others")


@pytest.mark.long
@pytest.mark.parametrize("how, rank", [
    pytest.param(signal.SIGKILL, 0, marks=AGAIN, id="killed-0"), pytest.param(signal.SIGKILL, 1, id="killed-1"),
    pytest.param(signal.SIGSTOP, 0, id="stopped-0"), pytest.param(signal.SIGSTOP, 1, marks=AGAIN, id="stopped-1")])
def test_rank_lost_at_any_moment_ends_the_attempt_and_the_next_has_the_same_curve(start, whole, rank, how):
    rng = random.Random(rank * 2 + (how == signal.SIGKILL))
    daemon = start("cpu:2", SWEEPD_COMM_SILENT_MS=str(SILENT_S * 1000))
    client = daemon.client()
    machine = Machine(daemon, client)
    for moment in range(MOMENTS):
        stages = [2, 1, 1, 2][moment % 4]
        sweep = client.submit(shared(long(), stages=stages))
        pids = wait_until(lambda: ranks(client, sweep, 2), "both ranks")
        step = rng.choice([0, rng.randrange(1, 30)])
        wait_until(lambda: (client.trials(sweep)[0]["step"] or 0) >= step, f"step {step}")
        time.sleep(rng.uniform(0, 0.02))
        took = strike(client, sweep, pids, rank, how)
        assert took < SILENT_S + 4, took
        first = check_again(client, sweep, whole(stages))
        lines = [line for line in log(client, sweep, 1) if line.startswith("lost: ")]
        if rank == 1:
            assert len(lines) == 1, lines
            if how == signal.SIGKILL:  # before it met the others they only heard nothing of it
                assert re.fullmatch(r"lost: rank 1 of 2 (has ended|is silent for 2 s) \(signal 9\)", lines[0]), lines
            else:
                assert "is silent" in lines[0] or "has not come" in lines[0], lines
            assert first["cause"].startswith("exit:1")
        else:
            assert not lines and first["cause"] == "signal:9"
        machine.check()


@pytest.mark.long
def test_stopped_rank_ends_the_attempt_within_10_seconds(start):
    client = start("cpu:2").client()
    sweep = client.submit(shared(long(epochs=100000, retries=0)))
    pids = wait_until(lambda: ranks(client, sweep, 2), "both ranks")
    wait_until(lambda: (client.trials(sweep)[0]["step"] or 0) > 1, "an epoch")
    assert 5 < strike(client, sweep, pids, 0, signal.SIGSTOP) < 10
    client.wait_sweep(sweep)
    assert client.trials(sweep)[0]["state"] == "FAILED"


def test_loss_of_a_rank_counts_once_against_retries(start):
    client = start("cpu:3").client()
    sweep = client.submit(shared(long(epochs=100000, retries=2), ranks=3))
    for attempt in (1, 2, 3):
        wait_until(lambda: client.trials(sweep) and any(r["attempt"] == attempt for r in client.reports(sweep, 1)),
                   f"attempt {attempt}")
        pids = ranks(client, sweep, 3)
        began = time.monotonic()
        os.kill(pids[2], signal.SIGKILL)
        wait_until(lambda: not any(map(alive, pids)), "their end")
        assert time.monotonic() - began < 2
    client.wait_sweep(sweep)
    row, = client.trials(sweep)
    assert (row["state"], row["attempt"]) == ("FAILED", 3)
    said = [line for line in log(client, sweep, 1) if line.startswith("lost")]
    assert said == ["lost: rank 2 of 3 has ended (signal 9)"] * 3, said


def test_all_ranks_end_with_a_daemon_that_ends(start):
    daemon = start("cpu:2")
    client = daemon.client()
    sweep = client.submit(shared(long(epochs=100000)))
    pids = wait_until(lambda: ranks(client, sweep, 2), "both ranks")
    assert daemon.term() == 0
    wait_until(lambda: not any(map(alive, pids)), "their end")


def test_slots_of_a_lost_gang_are_free_at_once(start):
    """A single trial takes one while the gang's next attempt waits for two."""
    client = start("cpu:2").client()
    sweep = client.submit(shared(long(epochs=100000, retries=0)))
    pids = wait_until(lambda: ranks(client, sweep, 2), "both ranks")
    held = [s for s in client.slots() if s["pid"] != lead(client, sweep)]
    assert [s["holder"] for s in held] == [s["slot"] for s in client.slots() if s["pid"] == pids[0]]
    os.kill(pids[1], signal.SIGKILL)
    client.wait_sweep(sweep)
    wait_until(lambda: all(s["state"] == "IDLE" and s.get("holder") is None for s in client.slots()), "free slots", 5)

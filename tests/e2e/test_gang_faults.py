"""A worker that is killed ends the attempt of all its ranks; the next one has the undisturbed curve."""
import os
import random
import signal

import pytest

from checkpoints import curve, undisturbed
from gangs import Machine, lead, long, shared
from harness import Daemon, alive, wait_until

pytestmark = pytest.mark.slots("cpu:2")

MOMENTS = int(os.environ.get("SWEEPD_GANG_MOMENTS", "2"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """whole(stages): the curve that nobody disturbs, trained once."""
    daemon = Daemon(tmp_path_factory.mktemp("whole"), "cpu:2").start()
    curves = {n: undisturbed(daemon.client(), {**shared(long(), stages=n), "run_cap": 2}, 2)[1] for n in (1, 2)}
    daemon.stop()
    return curves.get


@pytest.mark.long
@pytest.mark.parametrize("stages", [1, 2])
def test_ranks_killed_at_any_moment_end_the_attempt_and_the_next_has_the_same_curve(daemon, client, whole, stages):
    rng = random.Random(stages)
    machine = Machine(daemon, client)
    for _ in range(MOMENTS):
        sweep = client.submit(shared(long(), stages=stages))
        pid = wait_until(lambda: lead(client, sweep), "the trial")
        held, = {s["slot"] for s in client.slots() if s["pid"] == pid}
        assert {s.get("holder") for s in client.slots() if s["slot"] != held} == {held}
        step = rng.choice([0, rng.randrange(1, 30)])
        wait_until(lambda: (client.trials(sweep)[0]["step"] or 0) >= step, f"step {step}")
        os.kill(pid, signal.SIGKILL)
        assert client.wait_sweep(sweep)["state"] == "COMPLETED", client.trials(sweep)
        first, second = client.call("trial.get", sweep=sweep, trial=1)["attempts"]
        assert (first["state"], first["cause"], second["state"]) == ("LOST", "signal:9", "COMPLETED")
        assert curve(client, sweep, 1) == whole(stages)
        machine.check()


def test_ranks_end_with_a_daemon_that_ends(daemon, client):
    sweep = client.submit(shared(long(epochs=100000)))
    pid = wait_until(lambda: lead(client, sweep), "the trial")
    assert daemon.term() == 0
    wait_until(lambda: not alive(pid), "its end")

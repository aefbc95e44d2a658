"""A GPU that loses one attempt after another is taken out; the others go on."""
import os
import signal

from gpus import NEEDS_FAKES, cards, gpus, idle, machine, net, wait_card  # noqa: F401
from harness import sweep_command, wait_until

pytestmark = NEEDS_FAKES

ADVICE = "it takes no trial until sweepd is started again"


def running(client, i):
    """The slot, if its worker lives and has a trial."""
    slot = client.slots()[i]
    return slot if slot["state"] == "BUSY" and slot["pid"] else None


def attempts(client, sweep, trial=1):
    return client.call("trial.get", sweep=sweep, trial=trial)["attempts"]


def test_gpu_whose_worker_ends_again_and_again_is_taken_out_and_its_trial_goes_on_elsewhere(machine):
    daemon, client = idle(machine("gpu:0,1,2", *cards(3)))
    sweep = client.submit(net(1, 100000, rates=(0.05, 0.04, 0.03)))
    wait_until(lambda: all(running(client, i) for i in range(3)), "a trial on each")
    for _ in range(3):
        bad = wait_until(lambda: running(client, 1), "a trial on gpu:1")
        os.kill(bad["pid"], signal.SIGKILL)
        wait_until(lambda: client.slots()[1]["pid"] != bad["pid"], "its end")
    card = wait_card(client, "OUT", 1)
    trial = bad["trial"]
    assert card["cause"] == f"lost 3 attempts in a row ({', '.join([f'{sweep}/{trial}'] * 3)}): {ADVICE}"
    shown = sweep_command(daemon, "devices")[1]
    assert "OUT" in shown and ADVICE in shown, shown
    assert [(a["state"], a["cause"]) for a in attempts(client, sweep, trial)] == [
        ("LOST", "signal:9")] * 2 + [("RELEASED", "gpu:1 is taken out: signal:9")]
    why = client.call("trial.why", sweep=sweep, trial=trial)["text"]
    assert "gpu:1 takes none (lost 3 attempts in a row" in why, why
    client.call("trial.cancel", sweep=sweep, trial=client.slots()[0]["trial"])
    wait_until(lambda: client.slots()[0]["trial"] == trial, "the trial on another GPU")
    assert [g["state"] for g in gpus(client)] == ["OK", "OUT", "OK"]
    client.call("sweep.cancel", sweep=sweep)

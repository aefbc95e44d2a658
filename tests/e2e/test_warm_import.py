"""What happens to a trial while the launcher that is to fork it still imports."""
import pytest

from checkpoints import log
from harness import merged, wait_until
from programs import output
from test_warm import TRIALS, launchers, package, warm

pytestmark = pytest.mark.slots("cpu:1")


def import_forever(tmp_path):
    """A sweep whose launcher imports until the file `go` is there."""
    go = tmp_path / "go"
    run = package(tmp_path, f"import os, time\nwhile not os.path.exists({str(go)!r}):\n    time.sleep(0.01)")
    spec = warm(tmp_path, "print('began')\nreport(loss=1)", run=run)
    script = (tmp_path / "program.py").read_text()
    (tmp_path / "program.py").write_text("import heavy\n" + script)
    return spec, go


def test_a_trial_whose_launcher_imports_when_the_daemon_stops_is_started_by_the_next(daemon, client, tmp_path):
    spec, go = import_forever(tmp_path)
    sweep = client.submit(spec)
    wait_until(lambda: launchers(daemon), "a launcher")
    assert daemon.term() == 0
    go.touch()
    client = daemon.start().client()
    client.wait_sweep(sweep)
    assert [output(daemon, sweep, t["trial"]) for t in client.trials(sweep)] == ["began\n"] * TRIALS
    attempts = client.call("trial.get", sweep=sweep, trial=1)["attempts"]
    assert [(a["state"], a["cause"]) for a in attempts] == [("RELEASED", "shutdown"), ("COMPLETED", None)]
    assert not any("cold" in line for line in log(client, sweep, 1))


def test_a_trial_that_is_cancelled_while_its_launcher_imports_is_never_started(daemon, client, tmp_path):
    spec, go = import_forever(tmp_path)
    sweep = client.submit(spec)
    wait_until(lambda: launchers(daemon), "a launcher")
    client.call("trial.cancel", sweep=sweep, trial=1)
    wait_until(lambda: any("ended after" in line for line in log(client, sweep, 1)), "the worker leaves the trial")
    launcher, = launchers(daemon)
    go.touch()
    client.wait_sweep(sweep)
    assert launchers(daemon) == [launcher]
    assert [output(daemon, sweep, t["trial"]) for t in client.trials(sweep)] == [""] + ["began\n"] * (TRIALS - 1)
    assert not any("cold" in line for t in client.trials(sweep) for line in log(client, sweep, t["trial"]))


def test_a_trial_whose_launcher_imports_for_longer_than_it_may_run_is_ended(daemon, client, tmp_path):
    spec, _ = import_forever(tmp_path)
    sweep = client.run(merged(spec, {"run_cap": 1, "method": "random", "run": {**spec["run"], "timeout_s": 2}}))
    trial, = client.trials(sweep)
    assert (trial["state"], trial["cause"], output(daemon, sweep, 1)) == ("FAILED", "timeout", ""), trial
    assert "ended: this attempt ran for 2 s (run.timeout_s)" in log(client, sweep, 1)

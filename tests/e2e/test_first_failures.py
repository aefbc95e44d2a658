"""First trials that all fail in the same way: the sweep pauses and says why, before it has used up its run cap."""
import json
import os
import re

import pytest

from harness import sweep_command, wait_until
from programs import own
from replays import database, replay
from test_python import sweepd

FIRST = 5


@pytest.mark.parametrize("script, more, cause", [
    # Which word it is, the trial says: a program that is not there is refused at its submission.
    ("", {"command": ["${envvar:TOOL}", "${args}"], "run": {"env": {"TOOL": "no-such-program"}}},
     "cannot start no-such-program: it is in no folder of PATH"),
    ("report(lost=1)", {}, 'no-metric: printed "lost", no "loss"; did you mean "lost"?'),
    ("raise ValueError(f'no {time.time()}')", {}, "exit:1: ValueError: no "),  # each another one
    ("sys.exit(7)", {}, "exit:7")])
@pytest.mark.slots("cpu:2")
def test_sweep_whose_first_trials_fail_alike_pauses_with_the_cause(daemon, client, tmp_path, script, more, cause):
    sweep = client.submit(own(tmp_path, script, run_cap=200, **more))
    for round_n in (1, 2):
        got = client.wait_sweep(sweep, {"PAUSED"})
        assert got["cause"].startswith(cause), got
        assert re.search(rf" \({FIRST} trials FAILED alike; sweep log {sweep}/[1-9][0-9]* has more, sweep resume {sweep} "
                         r"goes on, sweep retry runs one again\)$", got["cause"]), got
        # others may have begun, and failed, on the other slot before the last of the five had
        assert FIRST * round_n <= got["counts"]["FAILED"] + got["counts"]["RUNNING"] < 100, got
        assert cause in sweep_command(daemon, "ls")[1]
        if round_n == 1:
            client = daemon.again()
            assert client.sweep(sweep)["cause"] == got["cause"]
            assert sweep_command(daemon, "resume", sweep)[0] == 0
    status, said, _ = sweep_command(daemon, "retry", f"{sweep}/2")
    again = client.trials(sweep)[-1]
    assert (status, said) == (0, f"trial {sweep}/{again['trial']}\n") and again["params"] == client.trials(sweep)[1]["params"]
    assert "trial 2 again, by user " in client.call("trial.why", sweep=sweep, trial=again["trial"])["text"]
    client.call("trial.enqueue", sweep=sweep, params={"x": 0.5})
    last = client.trials(sweep)[-1]["trial"]
    assert cause in client.call("trial.why", sweep=sweep, trial=last)["text"]
    status, out, err = replay(database(daemon))
    assert status == 0, out + err


def test_sweep_that_had_a_value_or_other_causes_goes_on(start, tmp_path):
    client = start("cpu:1").client()
    for script in ("os.environ['SWEEPD_TRIAL'].endswith('/1') and report(loss=1); sys.exit(7)",
                   "sys.exit(int(os.environ['SWEEPD_TRIAL'].split('/')[1]) % 2 + 1)"):
        got = client.wait_sweep(client.submit(own(tmp_path, script, run_cap=8)))
        assert got["counts"]["FAILED"] == 8, got


def test_first_that_run_well_keep_the_sweep_going_while_others_fail(start, tmp_path):
    client = start("cpu:3").client()
    sweep = client.submit(own(tmp_path, """
        if int(os.environ["SWEEPD_TRIAL"].split("/")[1]) > 2:
            sys.exit(7)
        while not os.path.exists("go"):
            time.sleep(0.01)
        report(loss=1)
        """, run_cap=9))
    wait_until(lambda: client.sweep(sweep)["counts"]["FAILED"] == 7, "seven failures beside two that run")
    assert client.sweep(sweep)["state"] == "RUNNING"
    (tmp_path / "go").touch()
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2


@pytest.mark.slots("cpu:2")
def test_slot_where_all_fails_while_others_work_rests(daemon, client, tmp_path):
    sweep = client.submit(own(tmp_path, """
        try:  # the slot of the second trial is the broken one
            if os.environ["SWEEPD_TRIAL"].endswith("/2"):
                open("broken", "x").write(os.environ["SWEEPD_COOKIE"])
            if open("broken").read() == os.environ["SWEEPD_COOKIE"]:
                sys.exit(7)
        except OSError:
            pass
        report(loss=1)
        if os.environ["SWEEPD_TRIAL"].endswith("/3"):
            while not os.path.exists("go"):
                time.sleep(0.01)
        """, run_cap=60))
    cause = "5 trials in a row failed there before they reported: exit:7"
    wait_until(lambda: cause in sweep_command(daemon, "devices")[1], "a slot that rests")
    (tmp_path / "go").touch()
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] > 30  # most would have failed there


def test_validate_and_submit_look_for_the_program(client, tmp_path):
    os.mkdir(tmp_path / "bin")
    os.symlink("/bin/true", tmp_path / "bin" / "tool")
    for more, fault in (
            ({"command": ["no-such-program"]}, "/command/0: no-such-program: it is in no folder of PATH"),
            ({"command": ["./nothing"]}, "/command/0: ./nothing: No such file or directory"),
            ({"command": ["./program.py"]}, "/command/0: ./program.py: Permission denied"),
            ({"command": ["./bin"]}, "/command/0: ./bin: Is a directory"),
            ({"command": None, "program": "train.py"}, "/program: train.py in "),
            ({"command": None, "program": "program.py"}, None),
            ({"command": ["${envvar:SHELL}", "-c", "true"]}, None),
            ({"command": ["${program}"], "program": "./program.py"}, "/command/0: ./program.py: Permission denied"),
            ({"command": ["${env}", "python3", "-m", "${program}", "${args}"], "program": "pkg.train"}, None),
            ({"command": ["tool"], "run": {"env": {"PATH": f"{tmp_path}/bin"}}}, None)):
        spec = own(tmp_path, "", **{**more, "run": {"cwd": str(tmp_path), "env": {}, **more.get("run", {})}})
        for method in ("sweep.validate", "sweep.submit"):
            if fault is None:
                client.call(method, spec=spec)
                continue
            error = client.refused(method, spec=spec)
            assert f"{error.pointer}: {error.message}".startswith(f"/spec{fault}"), error


def test_argument_that_argparse_takes_for_true_is_warned_of(client, tmp_path):
    (tmp_path / "train.py").write_text("""
import argparse
a = argparse.ArgumentParser()
a.add_argument("--on", type=int, help="no bool")
a.add_argument('--amp_more', default=1)
a.add_argument(
    '--amp', default=False, type=bool)
a.add_argument("--other", type=bool)
""")
    parameters = {"on": {"values": [0, 1]}, "amp": {"values": [True, False]}, "amp_more": {"value": True}}
    spec = {"method": "grid", "metric": {"name": "loss"}, "parameters": parameters, "program": "train.py",
            "run": {"cwd": str(tmp_path)}}
    for more, warned in (({}, True), ({"command": ["python3", "${program}", "${args_no_equals}"]}, True),
                         ({"command": ["python3", "${program}", "${args_json}"]}, False)):
        warnings = client.call("sweep.validate", spec={**spec, **more})["warnings"]
        assert [line.split(":")[0] for line in warnings if "train.py has type=bool" in line] == ["/parameters/amp"] * warned


@pytest.mark.parametrize("script, line", [
    ("sys.exit(7)", "sweep 1 failed: exit:7"),
    ("print('out of memory', file=sys.stderr); sys.exit(7)", "sweep 1: every trial failed")])
def test_watch_of_a_sweep_of_which_every_trial_failed_ends_with_1(start, tmp_path, script, line):
    daemon = start("cpu:1")
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(own(tmp_path, script, run_cap=3)))
    for args in (["submit", path, "--watch"], ["watch", 1]):
        status, _, err = sweep_command(daemon, *args)
        assert status == 1 and line in err, err


def test_watchers_of_a_sweep_that_the_daemon_paused_end_with_the_cause(start, tmp_path):
    daemon = start("cpu:1")
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(own(tmp_path, "", command=["${envvar:TOOL}"], run_cap=20,
                                   run={"env": {"TOOL": "./" + "a" * 3 + "\u65e5\u672c" * 20}})))
    for args in (["submit", path, "--watch"], ["watch", 1]):
        status, _, err = sweep_command(daemon, *args, timeout=20)
        assert status == 1 and "sweep 1 is paused: cannot start ./aaa\u65e5" in err, err
        assert "...\u65e5" in err or "...\u672c" in err, err
        assert ": No such file or directory (5 trials FAILED alike; sweep log 1/1 has more" in err and "\ufffd" not in err, err
    with sweepd.Client(daemon.socket) as user, pytest.raises(sweepd.SweepdError, match="paused: cannot start"):
        user.wait(1)
    daemon.client().call("sweep.resume", sweep=1)

"""sweep.edit: limits and ranges of a sweep that goes on, through the CLI and the socket."""
import os
import pwd

import pytest

from harness import asha, driven, sweep_command, trained


def edit(daemon, sweep, *options):
    """The command's output lines; it must be accepted."""
    status, out, err = sweep_command(daemon, "edit", sweep, *options)
    assert (status, err) == (0, ""), err
    return out.splitlines()


def edit_refused(daemon, sweep, *options):
    """The one line with which the command is refused."""
    status, out, err = sweep_command(daemon, "edit", sweep, *options)
    assert status == 1 and out == "" and err.count("\n") == 1, (status, out, err)
    return err


def values(client, sweep, name, n):
    return [t["params"][name] for t in client.ask(sweep, n)]


# --- accepted ---

def test_each_setting_is_printed_old_and_new_and_listed_with_its_author(daemon, client):
    sweep = client.submit(driven())
    lines = edit(daemon, sweep, "--run-cap", 80, "--max-concurrent", 4, "--weight", 2,
                 "--time-budget", 3600, "--gpu-hours", 2, "--lease", 30, "--target", 0.001,
                 "--range", "x=0.25..0.5")
    assert lines[0] == f"sweep {sweep} RUNNING"
    assert set(lines[1:]) == {
        "  run_cap: 20 -> 80", "  max_concurrent: none -> 4", "  weight: 1 -> 2",
        "  time_budget_s: none -> 3600", "  gpu_hours: none -> 2", "  target: none -> 0.001",
        "  lease_s: none -> 30", "  x: 0.0..1.0 -> 0.25..0.5"}
    got = client.sweep(sweep)
    assert (got["run_cap"], got["max_concurrent"], got["weight"], got["target"]) == (80, 4, 2, 0.001)
    assert (got["budget"]["time_s"], got["budget"]["gpu_hours"]) == (3600, 2)
    one, = got["edits"]
    assert one["uid"] == os.getuid() and one["time_ms"] > 1.7e12
    assert {"key": "run_cap", "from": 20, "to": 80} in one["changes"]
    assert edit(daemon, sweep, "--max-concurrent", "none", "--time-budget=none", "--lease", "none")[1:] == [
        "  max_concurrent: 4 -> none", "  time_budget_s: 3600 -> none", "  lease_s: 30 -> none"]
    _, out, _ = sweep_command(daemon, "show", sweep)
    assert out.count(f" by {pwd.getpwuid(os.getuid()).pw_name}\n") == 2
    assert "    run_cap: 20 -> 80\n" in out and "    max_concurrent: 4 -> none\n" in out
    assert client.sweep(sweep)["max_concurrent"] is None


@pytest.mark.parametrize("method", ["random", "sobol", "tpe", "bayes"])
def test_range_narrowed_and_widened_bounds_what_is_suggested_next(daemon, client, method):
    sweep = client.submit(driven(method=method, run_cap=60))
    early = client.ask(sweep, 12)
    for t in early:
        client.tell(sweep, t, metrics={"loss": (t["params"]["x"] - 0.9) ** 2})
    edit(daemon, sweep, "--range", "x=0.1..0.2", "--range", "k=7..8")
    narrow = client.ask(sweep, 12)
    assert all(0.1 <= t["params"]["x"] <= 0.2 and t["params"]["k"] in (7, 8) for t in narrow)
    for t in narrow:
        client.tell(sweep, t, metrics={"loss": (t["params"]["x"] - 0.9) ** 2})
    edit(daemon, sweep, "--range", "x=2..3")
    wide = client.ask(sweep, 12)
    assert all(2 <= t["params"]["x"] <= 3 and t["params"]["k"] in (7, 8) for t in wide)
    rows = client.trials(sweep)
    assert [t["params"] for t in rows] == [t["params"] for t in early + narrow + wide]
    assert client.sweep(sweep)["edits"][1]["changes"] == [
        {"key": "x", "from": {"min": 0.1, "max": 0.2}, "to": {"min": 2, "max": 3}}]


def test_edit_is_replayed_after_kill_9(start):
    daemon = start("none")
    client = daemon.client()
    sweep = client.submit(driven(method="tpe", run_cap=60, early_terminate=asha()))
    twin = client.submit(driven(method="tpe", run_cap=60, early_terminate=asha()))

    def drive(both, n):
        for _ in range(n):
            for s in both:
                t, = client.ask(s)
                if client.report(s, t, 1, 1, loss=t["params"]["x"]) == "continue":
                    client.tell(s, t)

    options = ("--range", "x=0.4..0.6", "--run-cap", 50, "--weight", 3, "--time-budget", 900)
    drive((sweep, twin), 8)
    for s in (sweep, twin):
        edit(daemon, s, *options)
    drive((sweep,), 8)
    before = client.sweep(sweep)
    daemon.kill9()
    daemon.start()
    client = daemon.client()
    after = client.sweep(sweep)
    for key in ("run_cap", "weight", "edits", "counts", "rungs", "max_concurrent", "target"):
        assert after[key] == before[key], key
    assert after["budget"]["time_s"] == 900
    drive((twin,), 8)
    drive((sweep, twin), 8)
    assert [t["params"] for t in client.trials(sweep)] == [
        t["params"] for t in client.trials(twin)], "as if nobody had killed it"


# --- refused: one line, nothing changed ---

def test_wrong_edit_is_refused_in_one_line_and_changes_nothing(daemon, client):
    sweep = client.submit(driven(parameters={
        "x": {"min": 0.0, "max": 1.0}, "z": {"min": 0.0, "max": 1.0}, "k": {"min": 1, "max": 8},
        "l_rate": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1.0},
        "kind": {"values": ["a", "b"]}, "fixed": {"value": 3}}, constraints=["x <= z"]))
    client.ask(sweep, 3)
    before = client.sweep(sweep)
    for options, says in (
            (("--run-cap", 2), "below the 3 trials"),
            (("--range", "y=0..1"), "no parameter is called \"y\""),
            (("--range", "kind=0..1"), "categorical"),
            (("--range", "x=0.9..0.95", "--range", "z=0..0.01"), "x <= z"),
            (("--weight", 0), "weight"),
            (("--max-concurrent", 1.5), "max_concurrent"),
            (("--run-cap", 99, "--range", "x=3..2"), "min")):
        assert says in edit_refused(daemon, sweep, *options), options
        after = client.sweep(sweep)
        for key in ("run_cap", "max_concurrent", "weight", "target", "edits", "counts", "state"):
            assert after[key] == before[key], (options, key)
    assert before["edits"] == []
    assert all(0 <= v <= 1 for v in values(client, sweep, "x", 3))


def test_range_that_the_trainer_cannot_take_is_refused(daemon, client):
    """What submit refuses an edit refuses too: every trial made from then on would fail."""
    spec = trained(layers=[{"linear": "l1"}, {"linear": 3}])
    spec["parameters"] = {"l1": {"min": 4, "max": 32}, "lr": {"min": 0.01, "max": 0.1},
                          "momentum": {"min": 0.0, "max": 0.9}}
    sweep = client.submit(spec)
    for option, says in (
            ("momentum=0..1.5", "momentum: \"momentum\" feeds \"momentum\", which must be a number, "
                                "at least 0 and below 1"),
            ("lr=-1..0.1", "lr: \"lr\" feeds \"lr\", which must be a number, above 0"),
            ("l1=4..2000000", "l1: \"l1\" feeds \"linear\", which must be an integer"),
            ("momentum=0.5..0.2", "min 0.5 is above max 0.2")):
        assert says in edit_refused(daemon, sweep, "--range", option), option
    assert client.sweep(sweep)["edits"] == []
    assert edit(daemon, sweep, "--range", "momentum=0..0.99")[1:] == [
        "  momentum: 0.0..0.9 -> 0.0..0.99"]


def test_edit_that_cannot_be_read_is_a_usage_error(daemon, client):
    """A value that is no number is named as it was typed."""
    sweep = client.submit(driven())
    for options, says in (
            (("--weight", "x"), "--weight: expected a number, not 'x'"),
            (("--time-budget", "5m"), "--time-budget: expected a number or none, not '5m'"),
            (("--range", "x=0:1"), "--range: expected NAME=MIN..MAX, not 'x=0:1'"),
            *((options, "") for options in (
                (), ("--range", "x"), ("--range", "x=1"), ("--range", "x=a..b"),
                ("--range", "x=0..0.5", "--range", "x=0..0.6"), ("--run-cap", "none"), ("--watch",)))):
        status, out, err = sweep_command(daemon, "edit", sweep, *options)
        assert (status, out) == (2, "") and err.startswith(f"sweep: {says}"), (options, err)
        assert says or "sweep help edit" in err, (options, err)

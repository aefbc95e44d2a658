"""sweep.edit: limits and ranges of a sweep that goes on, through the CLI and the socket."""
import os
import pwd


from harness import driven, sweep_command, trained


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


# --- refused: one line, nothing changed ---

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

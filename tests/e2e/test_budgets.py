"""What is said of a sweep that ends before its trials are all done, of its budgets, and of who goes first on slots.
The rules: tests/sched/sweep/test_sweep_end.c and test_share.c, and tests/daemon/sweep/run/test_settle_story.c."""
import re

from harness import driven, slow, sweep_command, wait_until


def ended(client, sweep):
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED"
    return got


def test_cause_of_the_end_is_shown_by_show_ls_and_watch(daemon, client):
    sweep = client.submit(driven(metric={"name": "loss", "target": 0.5}))
    t, = client.ask(sweep)
    client.tell(sweep, t, metrics={"loss": 0.25})
    cause = ended(client, sweep)["cause"]
    assert cause == "target 0.5 reached by trial 1"
    for words in (("show", sweep), ("ls",), ("watch", sweep)):
        status, out, _ = sweep_command(daemon, *words)
        assert status == 0 and cause in out, (words, out)


def test_budgets_are_shown_as_used_of_limit(daemon, client):
    sweep = client.submit(driven(time_budget_s=3600, gpu_hours=2, weight=3))
    status, out, _ = sweep_command(daemon, "show", sweep)
    assert status == 0
    line, = [line for line in out.splitlines() if line.startswith("limits")]
    assert re.fullmatch(r"limits  \d+\.\ds of 1h00m, 0 of 2 GPU hours, weight 3", line), line


def test_why_of_one_that_waits_names_what_it_needs_and_who_goes_first(start):
    client = start("cpu:1").client()
    first = client.submit(slow(epochs=100000, run_cap=3, weight=2, max_concurrent=1))
    wait_until(lambda: client.slots()[0]["state"] == "BUSY", "the slot is held")
    own = client.call("trial.enqueue", sweep=first, params={})["trial"]
    text = client.call("trial.why", sweep=first, trial=own)["text"]
    assert "1 trials of the sweep run, max_concurrent is 1" in text and "enqueued" in text
    second = client.submit(slow(epochs=10, run_cap=1, weight=3))
    waits = client.call("trial.enqueue", sweep=second, params={})["trial"]
    text = client.call("trial.why", sweep=second, trial=waits)["text"]
    assert "waits for a slot: 1 of 1 suit, 0 free, cpu:0 held by 1/1" in text
    client.call("sweep.edit", sweep=first, max_concurrent=2)
    text = client.call("trial.why", sweep=second, trial=waits)["text"]
    assert "the next goes to sweep 2 (weight 3, 0 on slots), this one, before 1 other" in text
    text = client.call("trial.why", sweep=first, trial=own)["text"]
    assert "the next goes to sweep 2 (weight 3, 0 on slots; this one: weight 2, 1)" in text
    needs = client.submit(slow(epochs=10, run_cap=1, resources={"gpu": 1}))
    waits = client.call("trial.enqueue", sweep=needs, params={})["trial"]
    text = client.call("trial.why", sweep=needs, trial=waits)["text"]
    assert "waits for a GPU slot: 0 of 1 suit" in text

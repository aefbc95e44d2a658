"""What ends a sweep before its trials are all done: time, GPU hours, a target, a plateau; and how
several sweeps share the slots."""
import re


from harness import asha, driven, slow, sweep_command, trained, wait_until


def ended(client, sweep):
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED"
    return got


# --- time ---

def test_cause_of_the_end_is_shown_by_show_ls_and_watch(daemon, client):
    sweep = client.submit(driven(metric={"name": "loss", "target": 0.5}))
    t, = client.ask(sweep)
    client.tell(sweep, t, metrics={"loss": 0.25})
    cause = ended(client, sweep)["cause"]
    assert cause == "target 0.5 reached by trial 1"
    for words in (("show", sweep), ("ls",), ("watch", sweep)):
        status, out, _ = sweep_command(daemon, *words)
        assert status == 0 and cause in out, (words, out)


def test_time_budget_stops_trials_on_slots(start):
    client = start("cpu:1").client()
    sweep = client.submit(slow(epochs=100000, run_cap=2, time_budget_s=2))
    got = ended(client, sweep)
    assert got["cause"] == "time budget of 2 s is spent"
    wait_until(lambda: client.slots()[0]["state"] == "IDLE", "the slot is free again")
    after = client.submit(trained(epochs=1, run_cap=1))
    assert ended(client, after)["counts"]["COMPLETED"] == 1


def test_gpu_hours_do_not_count_on_slots_without_a_gpu(start):
    client = start("cpu:1").client()
    sweep = client.submit(trained(epochs=2, run_cap=2, gpu_hours=1e-9))
    got = ended(client, sweep)
    assert got["cause"] is None and got["counts"]["COMPLETED"] == 2
    assert got["budget"]["gpu_hours"] == 1e-9 and got["budget"]["gpu_used_hours"] == 0


def test_budgets_are_shown_as_used_of_limit(daemon, client):
    sweep = client.submit(driven(time_budget_s=3600, gpu_hours=2, weight=3))
    status, out, _ = sweep_command(daemon, "show", sweep)
    assert status == 0
    line, = [line for line in out.splitlines() if line.startswith("limits")]
    assert re.fullmatch(r"limits  \d+\.\ds of 1h00m, 0 of 2 GPU hours, weight 3", line), line


# --- target ---

def test_target_cancels_what_waits(client):
    sweep = client.submit(driven(metric={"name": "loss", "target": 0.1}, max_concurrent=1))
    t, = client.ask(sweep, 5)
    waits = client.call("trial.enqueue", sweep=sweep, params={"x": 0.5})["trial"]
    client.tell(sweep, t, metrics={"loss": 0.01})
    assert ended(client, sweep)["cause"] == "target 0.1 reached by trial 1"
    assert client.call("trial.get", sweep=sweep, trial=waits)["state"] == "CANCELLED"


# --- plateau ---

def test_plateau_ends_the_sweep_when_the_best_no_longer_differ(client):
    spec = driven(run_cap=50, plateau={"top": 3, "std": 0.01, "patience": 2})
    sweep = client.submit(spec)
    for n, value in enumerate([0.9, 0.5, 0.4, 0.401, 0.402, 0.403, 0.404], start=1):
        t, = client.ask(sweep)
        client.tell(sweep, t, metrics={"loss": value})
        if client.sweep(sweep)["state"] != "RUNNING":
            break
    got = ended(client, sweep)
    assert n == 6 and got["cause"].startswith("plateau:"), got["cause"]


# --- shares ---

def slot_time(client, sweeps, n):
    """Of each sweep the slot time of its ended attempts, once there are n; and the longest. In ms."""
    def lengths():
        got = {s: [a["ended_ms"] - a["started_ms"] for t in client.trials(s)
                   for a in client.call("trial.get", sweep=s, trial=t["trial"])["attempts"]
                   if a["ended_ms"]] for s in sweeps}
        return got if sum(map(len, got.values())) >= n else None
    got = wait_until(lengths, f"{n} attempts")
    return {s: sum(v) for s, v in got.items()}, max(max(v, default=0) for v in got.values())


def test_slot_time_goes_by_weight_and_an_edit_of_the_weight_counts_at_once(start):
    """Least served first: two accounts, time over weight, never part by more than an attempt of
    the lighter one, however long a busy machine makes that. Twice as much for what the stamps, in
    whole ms, leave out."""
    client = start("cpu:1").client()
    blocker = client.submit(slow(epochs=100000, run_cap=1))
    wait_until(lambda: client.slots()[0]["state"] == "BUSY", "the slot is held")
    light = client.submit(trained(epochs=200, run_cap=400, weight=1))
    heavy = client.submit(trained(epochs=200, run_cap=400, weight=4))
    assert client.sweep(heavy)["weight"] == 4
    client.call("sweep.cancel", sweep=blocker)
    used, longest = slot_time(client, (light, heavy), 60)
    assert abs(used[heavy] / 4 - used[light]) <= 2 * longest, (used, longest)
    client.call("sweep.edit", sweep=light, weight=16)
    before, _ = slot_time(client, (light, heavy), 60)
    after, longest = slot_time(client, (light, heavy), 120)
    more = {s: after[s] - before[s] for s in (light, heavy)}
    assert abs(more[heavy] / 4 - more[light] / 16) <= longest / 2, (more, longest)
    for sweep in (light, heavy):
        client.call("sweep.cancel", sweep=sweep)


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


def test_newcomer_gets_its_share_from_now_on_and_no_backlog(start):
    client = start("cpu:1").client()
    old = client.submit(trained(epochs=20, run_cap=400))
    wait_until(lambda: client.sweep(old)["counts"]["COMPLETED"] >= 15, "15 trials of the first")
    new = client.submit(trained(epochs=20, run_cap=400))
    before = client.sweep(old)["counts"]["COMPLETED"]
    wait_until(lambda: client.sweep(new)["counts"]["COMPLETED"] >= 15, "15 trials of the second")
    assert client.sweep(old)["counts"]["COMPLETED"] - before >= 5, "the first was not starved"
    for sweep in (old, new):
        client.call("sweep.cancel", sweep=sweep)


def test_asha_and_budget_together_keep_the_sweep_consistent(client):
    sweep = client.submit(driven(run_cap=40, early_terminate=asha(), time_budget_s=0.6))
    n = 0
    while handed := client.ask(sweep):
        for t in handed:
            client.report(sweep, t, 1, 1, loss=n % 7)
            n += 1
        if n > 30:
            break
    got = ended(client, sweep)
    assert sum(got["counts"].values()) == n and got["counts"]["RUNNING"] == 0

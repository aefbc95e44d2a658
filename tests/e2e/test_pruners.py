"""Every pruner through the socket: the decisions, who is resumed, what is said about them."""
from harness import TRIAL_ENDED, driven, sweep_command, trained


def promote(**more):
    return {"type": "asha", "variant": "promote", "max_t": 27, "grace_period": 1,
            "reduction_factor": 3, **more}


# --- promote ---

def test_paused_trials_are_shown_by_every_verb(daemon, client):
    sweep = client.submit(driven(run_cap=3, early_terminate=promote()))
    for t in client.ask(sweep, 2):
        client.report(sweep, t, 1, 1, loss=t["trial"])
    _, out, _ = sweep_command(daemon, "trials", sweep, "--state", "PAUSED")
    assert out.count("PAUSED") == 2
    for words in (("show", sweep), ("watch", sweep)):
        if words[0] == "show":
            _, out, _ = sweep_command(daemon, *words)
            assert "2 PAUSED" in out and "RUNNING" in out
    _, out, _ = sweep_command(daemon, "why", f"{sweep}/1")
    assert "PAUSED: waits at rung 1: rank 1 of 2, too few for any to go on" in out
    queue = client.call("trial.why", sweep=sweep, trial=1)["queue"]
    assert queue == {"rung": 1, "rank": 1, "n": 2, "keep": 0, "place": None}
    _, out, _ = sweep_command(daemon, "show", f"{sweep}/1")
    assert "PAUSED" in out and "pause" in out


# --- hyperband ---

def test_hyperband_s_bands_end_where_trials_do_and_empty_ones_are_not_listed(client):
    open_end = {"type": "hyperband", "min_iter": 3}
    known = client.call("sweep.validate", spec=trained(epochs=30, early_terminate=open_end))
    assert known["rungs"] == [3, 9, 27]
    bands = client.call("sweep.validate", spec=driven(early_terminate=open_end))["rungs"]
    assert bands == [3 ** k for k in range(1, 34)], "up to 2^53"
    sweep = client.submit(driven(early_terminate=open_end))
    assert [r["step"] for r in client.sweep(sweep)["rungs"]] == [3]
    t, = client.ask(sweep)
    for step in range(1, 10):
        client.report(sweep, t, step, step, loss=1.0)
    assert [(r["step"], r["n"]) for r in client.sweep(sweep)["rungs"]] == [(3, 1), (9, 1), (27, 0)]


# --- pbt ---

def test_pbt_replaces_the_worst_by_changed_copies_of_the_best(daemon, client):
    sweep = client.submit(driven(run_cap=4, early_terminate={"type": "pbt", "perturbation_interval": 2}, parameters={
        "x": {"min": 0.0, "max": 1.0}, "k": {"min": 1, "max": 8}}))
    live, first = {}, {}  # trial: its attempt, seq and step; what it was first handed out with
    for _ in range(60):
        while len(live) < 4 and (handed := client.ask(sweep)):
            t, = handed
            live[t["trial"]] = [t, 0, t["resume_step"]]
            first.setdefault(t["trial"], t)
        trial = min(live, key=lambda k: (live[k][2], k))
        t, seq, step = live[trial] = [live[trial][0], live[trial][1] + 1, live[trial][2] + 1]
        if client.call("trial.report", sweep=sweep, trial=trial, attempt=t["attempt"], seq=seq, step=step,
                       checkpoint=step % 2 == 0, metrics={"loss": trial / step})["decision"] != "continue":
            del live[trial]
    rows = {t["trial"]: t for t in client.trials(sweep)}
    children = [t for t in rows.values() if t["parent"]]
    assert children and len(rows) == 4 + len(children)
    for child in children:
        parent = rows[child["parent"]]
        begun = first[child["trial"]]
        assert begun["resume_step"] >= 2 and begun["resume_step"] % 2 == 0 and begun["parent"] == parent["trial"]
        assert 0 <= child["params"]["x"] <= 1 and child["params"]["k"] in range(1, 9)
        assert child["params"] != parent["params"]
        dead, = [t for t in rows.values() if t["cause"] and
                 f"trial {child['trial']} goes on from trial {parent['trial']}" in t["cause"]]
        assert dead["state"] == "PRUNED" and dead["cause"].startswith("exploited: rank ")
        text = client.call("trial.why", sweep=sweep, trial=dead["trial"])["text"]
        assert "exploited: rank" in text and f"trial {child['trial']} goes on from" in text
        why = client.call("trial.why", sweep=sweep, trial=child["trial"])
        assert f"a changed copy of trial {parent['trial']}" in why["text"]
        assert (why["suggestion"]["source"], why["suggestion"]["parent"]) == ("pbt", parent["trial"])
    open_ones = [t for t in rows.values() if t["state"] not in TRIAL_ENDED]
    assert len(open_ones) == 4, "the population keeps its size"
    _, out, _ = sweep_command(daemon, "trials", sweep)
    head, *lines = out.splitlines()
    assert "parent" in head.split() and len(lines) == len(rows)
    _, out, _ = sweep_command(daemon, "show", f"{sweep}/{children[0]['trial']}")
    assert f"a changed copy of trial {children[0]['parent']}" in out

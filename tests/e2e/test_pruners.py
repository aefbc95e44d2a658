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

def pbt(**more):
    return {"type": "pbt", "perturbation_interval": 2, **more}


def drive_population(client, sweep, steps, size, curve, state):
    """Each live member reports in turn up to `steps` times in all; who paused or ended is asked
    for again. state: what goes on over a restart."""
    live = state.setdefault("live", {})
    log = state.setdefault("log", [])
    for _ in range(steps):
        while len(live) < size:
            handed = client.ask(sweep)
            if not handed:
                break
            t, = handed
            live[t["trial"]] = [t, 0, t["resume_step"]]
            log.append((t["trial"], t["attempt"], t["resume_step"], t["parent"],
                        sorted(t["params"].items())))
        if not live:
            return
        trial = min(live, key=lambda k: (live[k][2], k))
        t, seq, step = live[trial]
        got = client.call("trial.report", sweep=sweep, trial=trial, attempt=t["attempt"],
                          seq=seq + 1, step=step + 1, checkpoint=(step + 1) % 2 == 0,
                          metrics={"loss": curve(trial, step + 1)})["decision"]
        live[trial] = [t, seq + 1, step + 1]
        log.append((trial, step + 1, got))
        if got != "continue":
            del live[trial]


def test_pbt_replaces_the_worst_by_changed_copies_of_the_best(daemon, client):
    sweep = client.submit(driven(run_cap=4, early_terminate=pbt(), parameters={
        "x": {"min": 0.0, "max": 1.0}, "k": {"min": 1, "max": 8}}))
    state = {}
    drive_population(client, sweep, 60, 4, lambda trial, step: trial / step, state)
    rows = {t["trial"]: t for t in client.trials(sweep)}
    children = [t for t in rows.values() if t["parent"]]
    assert children and len(rows) == 4 + len(children)
    for child in children:
        parent = rows[child["parent"]]
        handed = next(e for e in state["log"] if len(e) == 5 and e[:2] == (child["trial"], 1))
        assert handed[2] >= 2 and handed[2] % 2 == 0 and handed[3] == parent["trial"]
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

"""Every pruner through the socket: the decisions, who is resumed, what is said about them."""
import itertools
import random

import pytest

from again import first_again
from asha_model import Asha
from harness import CONFLICT, INVALID_PARAMS, TRIAL_ENDED, asha, driven, sweep_command, trained
from promote_client import Driver


def promote(**more):
    return {"type": "asha", "variant": "promote", "max_t": 27, "grace_period": 1,
            "reduction_factor": 3, **more}


def hashed(seed):
    """Curves by chance with few values, so that ties come up, each trial with its own level."""
    def curve(trial, step):
        level = random.Random(seed * 1000003 + trial).randrange(12)
        return level + random.Random((seed * 1000003 + trial) * 1009 + step).randrange(4) / 2
    return curve


# --- stop ---

@pytest.mark.parametrize("grace, max_t, factor, tops", [
    (1, 1000, 10, [1, 10, 100, 1000]), (1, 243, 3, [1, 3, 9, 27, 81, 243])])
@pytest.mark.parametrize("variant", ["stop", "promote"])
def test_rungs_have_their_top(client, grace, max_t, factor, tops, variant):
    spec = driven(early_terminate={"type": "asha", "variant": variant, "grace_period": grace,
                                   "max_t": max_t, "reduction_factor": factor})
    assert client.call("sweep.validate", spec=spec)["rungs"] == tops
    sweep = client.submit(spec)
    assert [r["step"] for r in client.sweep(sweep)["rungs"]] == tops
    t, = client.ask(sweep)
    if variant == "stop":
        assert client.report(sweep, t, 1, max_t - 1, loss=1) == "continue"
        assert client.report(sweep, t, 2, max_t, loss=1) == "stop"
        assert client.sweep(sweep)["rungs"][-1]["n"] == 1
    else:
        assert client.report(sweep, t, 1, tops[-2], loss=1) == "pause"
        assert client.call("trial.get", sweep=sweep, trial=1)["state"] == "PAUSED"


@pytest.mark.parametrize("seed", first_again(range(6)))
def test_stop_decides_as_the_model_in_any_interleaving(client, seed):
    rng = random.Random(seed)
    factor, grace = rng.choice([(2, 1), (3, 1), (4, 2), (10, 1)])
    config = {"grace": grace, "max_t": rng.choice([16, 27, 30]), "factor": factor}
    sweep = client.submit(driven(run_cap=60, early_terminate={
        "type": "asha", "grace_period": grace, "max_t": config["max_t"],
        "reduction_factor": factor}))
    model, curve, live = Asha(**config), hashed(seed), {}
    while True:
        if len(live) < 7 and (not live or rng.random() < 0.3):
            for t in client.ask(sweep, 2):
                live[t["trial"]] = [t, 0, 0]
        if not live:
            break
        trial = rng.choice(sorted(live))
        t, seq, step = live[trial]
        step += rng.choice((1, 1, 1, 2, 5))
        value = curve(trial, step)
        want = model.report(trial, step, value)[0]
        assert client.report(sweep, t, seq + 1, step, loss=value) == want
        live[trial] = [t, seq + 1, step]
        if want == "stop":
            del live[trial]
    got = client.wait_sweep(sweep)
    assert {r["step"]: r["n"] for r in got["rungs"]} == {
        step: len(rows) for step, rows in model.rungs.items()}


# --- promote ---

@pytest.mark.parametrize("seed", first_again(range(8)))
def test_promote_pauses_and_resumes_as_the_model_in_any_interleaving(client, seed):
    rng = random.Random(seed)
    config = {"grace": rng.choice([1, 2]), "max_t": rng.choice([9, 16, 20, 27]),
              "factor": rng.choice([2, 3, 4])}
    maximize = seed % 2 == 1
    run_cap = 40
    sweep = client.submit(driven(
        run_cap=run_cap, metric={"name": "loss", "goal": "maximize" if maximize else "minimize"},
        early_terminate=promote(grace_period=config["grace"], max_t=config["max_t"],
                                reduction_factor=config["factor"])))
    driver = Driver(client, sweep, config, run_cap, hashed(seed), lanes=rng.choice([1, 3, 8]),
                    maximize=maximize)
    jumps = (1,) if seed % 3 else (1, 1, 2, 4)
    while driver.act(rng, jumps):
        if rng.random() < 0.05:
            driver.check()
    got = driver.check()
    assert got["state"] == "COMPLETED"
    rows = {t["trial"]: t for t in client.trials(sweep)}
    top = {trial for trial, t in driver.model.trials.items() if t.step >= config["max_t"]}
    for trial, row in rows.items():
        if trial in top:
            assert row["state"] == "COMPLETED"
        else:
            rung, rank, n, _ = driver.model.place(trial)
            assert row["state"] == "PRUNED"
            assert row["cause"].startswith(f"rung {rung}: rank {rank} of {n}"), row["cause"]


def test_promote_resumes_the_highest_rung_first_and_before_anything_new(client):
    sweep = client.submit(driven(run_cap=40, early_terminate=promote(reduction_factor=2, max_t=8)))
    values = {1: 0.5, 2: 0.1, 3: 0.3, 4: 0.2}
    for trial in (1, 2, 3, 4):
        t, = client.ask(sweep)
        if t["trial"] == trial:
            assert client.report(sweep, t, 1, 1, loss=values[trial]) == "pause"
        else:  # the second best of two goes on before trial 3 is made
            assert (t["trial"], t["attempt"], t["resume_step"]) == (2, 2, 1)
            assert client.report(sweep, t, 1, 2, loss=0.1) == "pause"
            t, = client.ask(sweep)
            assert t["trial"] == trial
            assert client.report(sweep, t, 1, 1, loss=values[trial]) == "pause"
    t, = client.ask(sweep)
    assert (t["trial"], t["resume_step"]) == (4, 1), "2 of 4 go on; 2 went already"
    text = client.call("trial.why", sweep=sweep, trial=1)
    assert text["queue"] == {"rung": 1, "rank": 4, "n": 4, "keep": 2, "place": None}
    assert "waits at rung 1: rank 4 of 4, of which the best 2 go on" in text["text"]
    assert client.report(sweep, t, 1, 2, loss=0.05) == "pause"
    text = client.call("trial.why", sweep=sweep, trial=4)
    assert text["queue"] == {"rung": 2, "rank": 1, "n": 2, "keep": 1, "place": 1}
    assert "the next to be resumed" in text["text"]
    t, = client.ask(sweep)
    assert (t["trial"], t["attempt"], t["resume_step"]) == (4, 3, 2)


def test_paused_trial_keeps_its_state_through_late_words_of_its_attempt(client):
    sweep = client.submit(driven(early_terminate=promote()))
    t, = client.ask(sweep)
    assert client.report(sweep, t, 1, 1, loss=1) == "pause"
    assert client.report(sweep, t, 1, 1, loss=9) == "pause", "a repeat"
    assert client.report(sweep, t, 2, 2, loss=9) == "pause", "a late one"
    assert client.tell(sweep, t) == "PAUSED"
    row = client.call("trial.get", sweep=sweep, trial=1)
    assert (row["state"], row["step"], row["resume_step"]) == ("PAUSED", 1, 1)
    assert [(a["attempt"], a["state"]) for a in row["attempts"]] == [(1, "PAUSED")]
    assert [r["decision"] for r in client.reports(sweep, 1)] == ["pause"]
    error = client.refused("trial.report", sweep=sweep, trial=1, attempt=2, seq=1, step=2,
                           metrics={"loss": 1})
    assert error.code == CONFLICT
    client.call("trial.cancel", sweep=sweep, trial=1)
    assert client.call("trial.get", sweep=sweep, trial=1)["state"] == "CANCELLED"


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
    _, out, _ = sweep_command(daemon, "show", f"{sweep}/1")
    assert "PAUSED" in out and "pause" in out


@pytest.mark.parametrize("kill_every", [7, 23])
def test_promote_goes_on_after_kill_9_as_an_undisturbed_twin(start, kill_every):
    config = {"grace": 1, "max_t": 9, "factor": 3}
    spec = driven(run_cap=30, early_terminate=promote(max_t=9))
    daemon = start("none")
    drivers = [Driver(daemon.client(), None, config, 30, hashed(5), lanes=5) for _ in range(2)]
    rngs = [random.Random(9), random.Random(9)]
    for driver in drivers:
        driver.sweep = driver.client.submit(spec)
    twin, shaken = drivers
    while twin.act(rngs[0]):
        pass
    n = 0
    while shaken.act(rngs[1]):
        n += 1
        if n % kill_every == 0:
            before = shaken.check()
            daemon.kill9()
            daemon.start()
            shaken.client = daemon.client()
            after = shaken.check()
            for key in ("counts", "rungs", "best", "edits", "cause", "state"):
                drop = {"seconds"}
                strip = (lambda v: {k: x for k, x in v.items() if k not in drop}
                         if isinstance(v, dict) else v)
                assert strip(after[key]) == strip(before[key]), key
    assert shaken.log == twin.log and n > kill_every
    assert shaken.client.sweep(shaken.sweep)["state"] == "COMPLETED"


# --- hyperband ---

def test_hyperband_stops_above_the_value_of_its_place_at_the_band(client):
    """W&B's rule: bands 1, 3, 9, ...; beyond the best floor(n / eta) of the band a trial stops."""
    sweep = client.submit(driven(run_cap=30, early_terminate={
        "type": "hyperband", "min_iter": 1, "eta": 3, "strict": True}))
    rng, band = random.Random(3), []
    for _ in range(20):
        t, = client.ask(sweep)
        value = rng.randrange(8)
        band.append(value)
        want = "stop" if value > sorted(band)[len(band) // 3] else "continue"
        assert client.report(sweep, t, 1, 1, loss=value) == want, band
        if want == "stop":
            text = client.call("trial.why", sweep=sweep, trial=t["trial"])["text"]
            assert text.startswith("stopped at band 1: rank "), text


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


# --- median ---

def test_median_of_ray_stops_below_the_median_of_the_running_means(client):
    sweep = client.submit(driven(run_cap=30, early_terminate={
        "type": "median", "grace_period": 1, "min_samples_required": 3}))
    handed = client.ask(sweep, 5)
    for t, value in zip(handed, (1.0, 2.0, 3.0)):
        assert client.report(sweep, t, 1, 1, loss=value) == "continue"
    assert client.report(sweep, handed[3], 1, 1, loss=1.9) == "continue"
    assert client.report(sweep, handed[4], 1, 1, loss=2.5) == "stop", "median of 1, 2, 3, 1.9"
    why = client.call("trial.why", sweep=sweep, trial=5)
    assert why["state"] == "PRUNED"
    assert "best so far 2.5" in why["text"] and "median of 4 others 1.95" in why["text"]


def test_median_of_optuna_looks_at_completed_trials_of_that_step(client):
    sweep = client.submit(driven(run_cap=30, early_terminate={
        "type": "median", "n_startup_trials": 3, "n_warmup_steps": 2}))
    for value in (1.0, 2.0, 3.0):
        t, = client.ask(sweep)
        for step in (1, 2, 3):
            assert client.report(sweep, t, step, step, loss=value) == "continue"
        client.tell(sweep, t)
    t, = client.ask(sweep)
    assert client.report(sweep, t, 1, 1, loss=9.0) == "continue", "warm-up"
    assert client.report(sweep, t, 2, 2, loss=2.1) == "stop"
    assert "median of 3 others 2" in client.call("trial.why", sweep=sweep, trial=4)["text"]


# --- patience, threshold ---

def test_patience_stops_after_so_many_reports_without_a_better_one(client):
    sweep = client.submit(driven(early_terminate={
        "type": "patience", "patience": 3, "min_delta": 0.1}))
    t, = client.ask(sweep)
    curve = [1.0, 0.95, 0.85, 0.84, 0.80, 0.79]
    got = [client.report(sweep, t, i, i, loss=v) for i, v in enumerate(curve, start=1)]
    assert got == ["continue"] * 5 + ["stop"]
    text = client.call("trial.why", sweep=sweep, trial=1)["text"]
    assert text.startswith("stopped at step 6: 3 reports in a row not better"), text


@pytest.mark.parametrize("goal", ["minimize", "maximize"])
def test_threshold_stops_outside_its_bounds_after_the_warm_up(client, goal):
    sweep = client.submit(driven(metric={"name": "loss", "goal": goal}, early_terminate={
        "type": "threshold", "lower": 0.2, "upper": 0.8, "n_warmup_steps": 2}))
    one, two, three = client.ask(sweep, 3)
    assert client.report(sweep, one, 1, 1, loss=5.0) == "continue"
    assert client.report(sweep, one, 2, 3, loss=0.9) == "stop"
    assert client.report(sweep, two, 1, 3, loss=0.1) == "stop"
    assert client.report(sweep, three, 1, 3, loss=0.8) == "continue", "the bound itself is inside"
    assert client.report(sweep, three, 2, 4, loss=0.2) == "continue"
    assert "0.9 is above the upper bound 0.8" in client.call(
        "trial.why", sweep=sweep, trial=1)["text"]
    assert "0.1 is below the lower bound 0.2" in client.call(
        "trial.why", sweep=sweep, trial=2)["text"]


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
        text = client.call("trial.why", sweep=sweep, trial=child["trial"])["text"]
        assert f"a changed copy of trial {parent['trial']}" in text
    open_ones = [t for t in rows.values() if t["state"] not in TRIAL_ENDED]
    assert len(open_ones) == 4, "the population keeps its size"
    _, out, _ = sweep_command(daemon, "trials", sweep)
    head, *lines = out.splitlines()
    assert "parent" in head.split() and len(lines) == len(rows)
    _, out, _ = sweep_command(daemon, "show", f"{sweep}/{children[0]['trial']}")
    assert f"a changed copy of trial {children[0]['parent']}" in out


def test_pbt_with_fewer_lanes_than_members_takes_turns(client):
    sweep = client.submit(driven(run_cap=4, max_concurrent=1, early_terminate=pbt()))
    state, scores = {}, itertools.count(0, -1)
    # whoever reports is the best so far, so nobody is replaced
    drive_population(client, sweep, 16, 1, lambda trial, step: next(scores), state)
    turns = [e[0] for e in state["log"] if len(e) == 5]
    assert turns[:4] == [1, 2, 3, 4], "each gets its first turn"
    assert turns[4:8] == [1, 2, 3, 4], "then those with the least steps"


def test_pbt_goes_on_after_kill_9_as_an_undisturbed_twin(start):
    daemon = start("none")
    client = daemon.client()
    spec = driven(run_cap=4, early_terminate=pbt(), seed=3)

    def curve(trial, step):
        return random.Random(trial * 1009 + step).random()

    twin, shaken = client.submit(spec), client.submit(spec)
    one, two = {}, {}
    drive_population(client, twin, 80, 3, curve, one)
    for _ in range(8):
        drive_population(client, shaken, 10, 3, curve, two)
        daemon.kill9()
        daemon.start()
        client = daemon.client()
    assert two["log"] == one["log"]
    assert any(len(e) == 5 and e[3] for e in two["log"]), "children were handed out"


# --- refused ---

@pytest.mark.parametrize("config, pointer", [
    ({"type": "asha", "variant": "promte"}, "/variant"),
    ({"type": "hyperband"}, ""), ({"type": "median", "grace_period": 1, "n_warmup_steps": 1}, None),
    ({"type": "threshold"}, ""), ({"type": "patience"}, None), ({"type": "pbt"}, None),
])
def test_pruner_that_is_not_whole_is_refused_at_its_place(client, config, pointer):
    error = client.refused("sweep.submit", spec=driven(early_terminate=config))
    assert error.code == INVALID_PARAMS
    assert error.pointer.startswith("/spec/early_terminate" + (pointer or ""))


def test_no_pruner_leaves_every_report_alone(client):
    sweep = client.submit(driven(early_terminate=None))
    t, = client.ask(sweep)
    assert [client.report(sweep, t, i, i, loss=9.0 ** i) for i in range(1, 30)] == ["continue"] * 29
    assert client.sweep(sweep)["rungs"] == [] and asha()["type"] == "asha"

"""Suggestions made ahead of time (method bayes): who waits for how long, and what an ask learns."""
import json
import os

import pytest

from harness import BIN, asha, driven, trained, wait_until
from search_model import PATIENT, key, loss, run_out, searched, suggestion

# A model of this many parameters takes long enough to be met in its middle, on any machine.
WIDE = {f"x{i:02}": {"min": 0.0, "max": 1.0} for i in range(40)}


def wide_loss(p):
    return sum((v - 0.3) ** 2 for v in p.values())


def wide(**more):
    return driven(**{"method": "bayes", "parameters": WIDE, "run_cap": 2000,
                     "suggest_wait_ms": PATIENT, **more})


def taught(client, n=60, **more):
    """A sweep whose model has n results to fit."""
    sweep = client.submit(wide(**more))
    for t in [t for _ in range(3) for t in client.ask(sweep, n // 3)]:
        client.tell(sweep, t, metrics={"loss": wide_loss(t["params"])})
    return sweep


def request(method, number, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def parked(daemon, client, sweep, clients=8, count=200):
    """Clients that each wait for so many suggestions that none is answered soon."""
    waiting = [daemon.client() for _ in range(clients)]
    for c in waiting:
        c.send(request("trial.ask", 1, sweep=sweep, count=count))
    # Each of them has been read: the daemon answers this in the order of its connections' lines.
    wait_until(lambda: client.call("daemon.stats")["connections"] > clients, "all connected")
    return waiting


def answers(waiting):
    return [c.receive() for c in waiting]


# --- many at once ---

def test_fifty_in_one_ask_keep_apart_when_the_model_is_sure(client):
    """Of two smooth parameters a model soon knows the best to many digits, and has nothing else to
    propose."""
    sweep = client.submit(driven(method="bayes", run_cap=200, suggest_wait_ms=PATIENT,
                                 parameters={"x": {"min": 0.0, "max": 1.0},
                                             "y": {"min": 0.0, "max": 1.0}}))
    for _ in range(12):
        t, = client.ask(sweep)
        p = t["params"]
        client.tell(sweep, t, metrics={"loss": (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2})
    points = [t["params"] for t in client.ask(sweep, 50)]
    assert len(points) == 50
    for i, a in enumerate(points):
        beside = [b for b in points[:i] if max(abs(a[k] - b[k]) for k in a) < 0.9e-3]
        assert i < 8 or not beside, (i, a, beside)


def test_fifty_clients_at_once_get_fifty_different_points(daemon, client):
    sweep = client.submit(searched("bayes", run_cap=200))
    for t in client.ask(sweep, 20):
        client.tell(sweep, t, metrics={"loss": loss(t["params"])})
    waiting = [daemon.client() for _ in range(50)]
    for c in waiting:
        c.send(request("trial.ask", 1, sweep=sweep))
    handed = [reply["result"]["trials"][0] for reply in answers(waiting)]
    assert sorted(t["trial"] for t in handed) == list(range(21, 71))
    assert len({key(t["params"]) for t in handed}) == 50


def test_one_ask_for_many_gives_what_many_asks_for_one_give(client):
    points = []
    for counts in (6,), (1, 1, 1, 1, 1, 1), (3, 3), (2, 4):
        sweep = client.submit(searched("bayes"))
        for t in [t for _ in range(10) for t in client.ask(sweep)]:
            client.tell(sweep, t, metrics={"loss": loss(t["params"])})
        points.append([key(t["params"]) for count in counts for t in client.ask(sweep, count)])
        assert points[-1] == points[0], counts


# --- fresh before fast ---

def test_impatient_ask_takes_what_is_prepared_and_why_says_what_it_had_not_seen(client):
    sweep = taught(client, suggest_wait_ms=0)
    unseen = 0
    for _ in range(40):
        t, = client.ask(sweep)
        how = suggestion(client, sweep, t["trial"])
        now = client.sweep(sweep)["counts"]["COMPLETED"]
        assert how["known"] + how["unseen"] == now
        unseen = max(unseen, how["unseen"])
        text = client.call("trial.why", sweep=sweep, trial=t["trial"])["text"]
        assert ("had not seen" in text) == (how["unseen"] > 0)
        client.tell(sweep, t, metrics={"loss": wide_loss(t["params"])})
    assert unseen > 0 and how["source"] == "gp" and "suggested by gp" in text


# --- what may happen while asks wait ---

def test_drain_and_sigterm_refuse_the_asks_that_wait(start):
    for end in ("drain", "term"):
        daemon = start()
        client = daemon.client()
        sweep = taught(client)
        waiting = parked(daemon, client, sweep)
        if end == "drain":
            client.call("daemon.drain")
            assert daemon.process.wait(60) == 0
            daemon.process = None
        else:
            assert daemon.term() == 0
        for c in waiting:
            line = c.line()
            assert not line or "draining" in line.decode() or "stopping" in line.decode() \
                or len(json.loads(line)["result"]["trials"]) == 200
        client = daemon.start().client()
        got = client.sweep(sweep)
        assert got["state"] == "RUNNING" and got["counts"]["COMPLETED"] == 60
        assert len(client.ask(sweep)) == 1


def test_killed_while_asks_wait_hands_out_no_trial_twice(start):
    daemon = start()
    client = daemon.client()
    sweep = taught(client)
    for _ in range(3):
        parked(daemon, client, sweep, clients=4, count=5)
        daemon.kill9()
        client = daemon.start().client()
    rows = client.trials(sweep)
    assert [r["trial"] for r in rows] == list(range(1, len(rows) + 1))
    t, = client.ask(sweep)
    assert t["trial"] == len(rows) + 1
    assert len({key(r["params"]) for r in client.trials(sweep)}) == len(rows) + 1


def test_two_searches_at_once_do_not_touch_each_other(daemon, client):
    """Asked in turns, they give the points that each gives alone."""
    alone = [key(p) for p in run_out(client, client.submit(searched("bayes")))]
    pair = [client.submit(searched("bayes")) for _ in range(2)]
    points = {sweep: [] for sweep in pair}
    others = {sweep: daemon.client() for sweep in pair}
    for _ in range(24):
        for sweep, c in others.items():
            c.send(request("trial.ask", 1, sweep=sweep))
        for sweep, c in others.items():
            t, = c.receive()["result"]["trials"]
            points[sweep].append(key(t["params"]))
            c.tell(sweep, t, metrics={"loss": loss(t["params"])})
    assert points[pair[0]] == points[pair[1]] == alone


# --- with the built-in workers ---

@pytest.mark.parametrize("method", ["bayes", "tpe", "bohb"])
def test_built_in_trainer_is_searched_by(start, method):
    client = start("cpu:2").client()
    spec = trained(method=method, run_cap=14, epochs=9,
                   early_terminate=asha(max_t=9) if method != "tpe" else None)
    sweep = client.submit(spec)
    got = client.wait_sweep(sweep)
    assert got["state"] == "COMPLETED"
    assert got["counts"]["COMPLETED"] + got["counts"]["PRUNED"] == 14
    sources = {suggestion(client, sweep, trial)["source"] for trial in range(1, 15)}
    assert sources & {"gp", "tpe", "bohb"}, sources


# --- what stays in memory ---

def resident_kb(daemon):
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_sweeps_that_have_ended_keep_no_model(daemon, client):
    with open(os.path.join(BIN, "sweepd"), "rb") as program:
        if b"__asan_" in program.read():
            pytest.skip("a sanitizer keeps freed memory")

    def finish(sweeps):
        for _ in range(sweeps):
            sweep = client.submit(driven(method="bayes", suggest_wait_ms=0, run_cap=300))
            for _ in range(298):
                client.call("trial.enqueue", sweep=sweep, params={})
            run_out(client, sweep, lambda p: p["x"], count=50)
            assert client.sweep(sweep)["state"] == "COMPLETED"
        return resident_kb(daemon)

    before = finish(3)
    assert finish(6) - before < 6 * 2048

"""Suggestions made ahead of time (method bayes): who waits for how long, and what an ask learns."""
import json
import os
import select
import threading

import pytest

from harness import BIN, CONFLICT, asha, driven, trained, wait_until
from search_model import PATIENT, check_point, key, loss, run_out, searched, suggestion

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

def test_fifty_in_one_ask_are_fifty_different_points(client):
    sweep = client.submit(searched("bayes", run_cap=200))
    seen = []
    for _ in range(2):
        handed = client.ask(sweep, 50)
        assert len(handed) == 50
        seen += [key(t["params"]) for t in handed]
        for t in handed:
            check_point(t["params"])
            client.tell(sweep, t, metrics={"loss": loss(t["params"])})
    assert len(set(seen)) == 100


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


@pytest.mark.parametrize("counts", [(1, 1, 1, 1, 1, 1), (3, 3), (2, 4), (6,)])
def test_one_ask_for_many_gives_what_many_asks_for_one_give(client, counts):
    sweep = client.submit(searched("bayes"))
    run = [t for _ in range(10) for t in client.ask(sweep)]
    for t in run:
        client.tell(sweep, t, metrics={"loss": loss(t["params"])})
    points = [key(t["params"]) for count in counts for t in client.ask(sweep, count)]
    other = client.submit(searched("bayes"))
    for t in [t for _ in range(10) for t in client.ask(other)]:
        client.tell(other, t, metrics={"loss": loss(t["params"])})
    assert points == [key(t["params"]) for t in client.ask(other, 6)]


# --- fresh before fast ---

def test_patient_ask_knows_every_result_told_before_it(client):
    sweep = client.submit(searched("bayes"))
    for trial in range(1, 25):
        t, = client.ask(sweep)
        how = suggestion(client, sweep, trial)
        assert (how["known"], how["unseen"]) == (trial - 1, 0)
        client.tell(sweep, t, metrics={"loss": loss(t["params"])})
    how = suggestion(client, sweep, 24)
    assert how["source"] == "gp" and how["sd"] >= 0 and len(how["nearest"]) == 3
    assert all(1 <= near["trial"] < 24 for near in how["nearest"])
    assert "suggested by gp" in client.call("trial.why", sweep=sweep, trial=24)["text"]


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
    assert unseen > 0


def test_bounded_wait_ends_with_a_suggestion_while_results_keep_coming(daemon, client):
    """A stream of results makes every model stale before it is done: an ask is answered all the same."""
    sweep = taught(client, suggest_wait_ms=20)
    stop = threading.Event()

    def stream():
        with daemon.client() as other:
            while not stop.is_set():
                t, = other.ask(sweep)
                other.tell(sweep, t, metrics={"loss": wide_loss(t["params"])})

    thread = threading.Thread(target=stream)
    thread.start()
    try:
        for _ in range(3):
            assert len(client.ask(sweep, 8)) == 8
    finally:
        stop.set()
        thread.join()


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


def test_ended_search_that_is_loaded_after_a_restart_goes_on_when_extended(start):
    def life(restart):
        daemon = start()
        client = daemon.client()
        sweep = client.submit(searched("bayes", run_cap=12))
        points = run_out(client, sweep)
        if restart:
            daemon.kill9()
            client = daemon.start().client()
        assert client.refused("trial.enqueue", sweep=sweep, params={}).code == CONFLICT
        client.call("sweep.extend", sweep=sweep, run_cap=20)
        return [key(p) for p in points + run_out(client, sweep)]

    assert life(True) == life(False)


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


# --- in nobody's way ---

def test_ask_for_a_thousand_holds_up_nobody(daemon, client):
    sweep = client.submit(driven(method="tpe", run_cap=2000))
    for t in client.ask(sweep, 400):
        client.tell(sweep, t, metrics={"loss": t["params"]["x"]})
    other = daemon.client()
    client.send(request("trial.ask", 7, sweep=sweep, count=1000))
    running = set()
    while not select.select([client.socket], [], [], 0)[0]:
        running.add(other.sweep(sweep)["counts"]["RUNNING"])
    handed = client.receive()["result"]["trials"]
    assert [t["trial"] for t in handed] == list(range(401, 1401))
    assert running - {0, 1000}, "others were answered while it went on"
    assert len({key(t["params"]) for t in handed}) == 1000
    client.tell(sweep, handed[-1], metrics={"loss": 1})


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

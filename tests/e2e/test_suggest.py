"""Suggestions made ahead of time (method bayes): who waits for how long, and what an ask learns."""
import pytest

from harness import asha, driven, trained
from search_model import PATIENT, key, loss, run_out, searched, suggestion


def request(method, number, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


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


def test_one_ask_for_many_gives_what_many_asks_for_one_give(client):
    points = []
    for counts in (6,), (1, 1, 1, 1, 1, 1), (3, 3), (2, 4):
        sweep = client.submit(searched("bayes"))
        for t in [t for _ in range(10) for t in client.ask(sweep)]:
            client.tell(sweep, t, metrics={"loss": loss(t["params"])})
        points.append([key(t["params"]) for count in counts for t in client.ask(sweep, count)])
        assert points[-1] == points[0], counts


# --- what may happen while asks wait ---

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

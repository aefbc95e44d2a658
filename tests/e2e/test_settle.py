"""A sweep that ends with thousands of trials paused or waiting ends them in slices: what is said of it
meanwhile is true, and the replay verifies it."""
import json
import threading

from harness import CONFLICT, asha, driven
from replays import database, replay

SLICE = 512
N = 12 * SLICE
ABOUT = "about to be {}"


def many(client, calls):
    """The calls without a wait between them: their results."""
    lines = [json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params})
             for i, (method, params) in enumerate(calls)]
    sender = threading.Thread(target=client.socket.sendall,
                              args=("\n".join([*lines, ""]).encode(),))
    sender.start()
    replies = [client.receive() for _ in lines]
    sender.join()
    assert all("error" not in reply for reply in replies), replies[-1]
    return [reply["result"] for reply in replies]


def waiting(client, n=N):
    """A sweep all of whose trials are held by the client."""
    sweep = client.submit(driven(run_cap=n))
    while client.sweep(sweep)["counts"]["RUNNING"] < n:
        client.ask(sweep, 512)
    return sweep


def paused(client, n=N):
    """A sweep all of whose trials are paused for good but one, which runs: (sweep, that one)."""
    sweep = client.submit(driven(run_cap=n, early_terminate=asha(
        max_t=2, reduction_factor=10 * n, variant="promote")))
    last, made = None, 0
    while made < n:
        handed = client.ask(sweep, min(512, n - made))
        made += len(handed)
        if made == n:
            last = handed.pop()
        many(client, [("trial.report", {"sweep": sweep, "trial": t["trial"], "attempt": 1,
                                        "seq": 1, "step": 1, "metrics": {"loss": t["params"]["x"]}})
                      for t in handed])
    return sweep, last


def check_replay(daemon):
    status, lines, errors = replay(database(daemon))
    assert (status, errors) == (0, "") and lines[-1].endswith("all as stored"), (lines, errors)


class Looker:
    """Asks for the sweep again and again until it has ended, and keeps what it saw."""

    def __init__(self, daemon, sweep):
        self.client, self.sweep, self.seen = daemon.client(), sweep, []
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.seen or self.seen[-1]["state"] == "RUNNING":
            self.seen.append(self.client.sweep(self.sweep))

    def end(self):
        self.thread.join()
        return self.seen


def check_seen(seen, state):
    """While trials are still to end the sweep says so, and how many; once it has ended there are
    none. Returns how often it was seen between two slices."""
    between = 0
    for got in seen:
        counts = got["counts"]
        left = counts["PENDING"] + counts["RUNNING"] + counts["PAUSED"]
        if got["state"] == "RUNNING" and got["cause"] is not None:
            between += 1
            assert got["cause"].startswith(ABOUT.format(state)), got["cause"]
            assert f"{left} trials are still to end" in got["cause"], (got["cause"], counts)
        else:
            assert (got["state"] == "RUNNING") == (left > 0), (got["state"], counts)
    assert seen[-1]["state"] == state
    return between


def test_cancellation_of_many_is_answered_once_it_is_done(daemon, client):
    sweep = waiting(client)
    looker = Looker(daemon, sweep)
    assert client.call("sweep.cancel", sweep=sweep) == {"sweep": sweep, "state": "CANCELLED"}
    assert client.sweep(sweep)["counts"]["CANCELLED"] == N
    assert check_seen(looker.end(), "CANCELLED") > 0
    assert client.refused("sweep.cancel", sweep=sweep).code == CONFLICT
    check_replay(daemon)


def test_paused_trials_of_an_end_are_pruned_in_slices(daemon, client):
    sweep, last = paused(client)
    looker = Looker(daemon, sweep)
    # all in one write, so that they come before the last slice
    many_raw = [("trial.tell", {"sweep": sweep, "trial": last["trial"], "attempt": 1,
                                "state": "FAILED"}),
                ("trial.ask", {"sweep": sweep}), ("sweep.extend", {"sweep": sweep, "run_cap": 2 * N}),
                ("trial.why", {"sweep": sweep, "trial": N - 1}), ("sweep.get", {"sweep": sweep})]
    for i, (method, params) in enumerate(many_raw):
        client.send({"jsonrpc": "2.0", "id": i, "method": method, "params": params})
    told, asked, extended, why, got = (client.receive() for _ in many_raw)
    assert told["result"]["state"] == "FAILED"
    if got["result"]["state"] == "RUNNING":  # so it was before it, too
        assert asked["result"]["trials"] == [], asked
        assert "about to end" in extended["error"]["message"], extended
        assert "about to be COMPLETED" in why["result"]["text"], why
    assert client.wait_sweep(sweep)["counts"]["PRUNED"] == N - 1
    assert check_seen(looker.end(), "COMPLETED") > 0
    trials = client.trials(sweep)
    assert {t["state"] for t in trials} == {"PRUNED", "FAILED"}
    assert all(t["cause"].startswith("rung 1: rank ") and t["cause"].endswith(
        f" of {N - 1}, not promoted") for t in trials if t["state"] == "PRUNED")
    client.call("sweep.extend", sweep=sweep, run_cap=N + 1)
    assert len(client.ask(sweep)) == 1
    client.call("sweep.cancel", sweep=sweep)
    check_replay(daemon)

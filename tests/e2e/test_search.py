"""Searches over the socket: every method, its points, their order, a user's own points. What a sampler makes of
results, tests/sched tells; a longer life with kills, test_replay.py."""
import pytest

from harness import INVALID_PARAMS, driven, sweep_command
from replays import database, replay
from search_model import METHODS, check_point, key, loss, run_out, searched


# --- every method ---

@pytest.mark.parametrize("method", METHODS)
def test_killed_daemon_goes_on_with_the_points_that_another_makes_of_the_same_seed(start, method):
    def life(kills):
        """Trials pending at each kill, an enqueued one between, then some told."""
        daemon = start()
        client = daemon.client()
        sweep = client.submit(searched(method, run_cap=20))
        points, held = [], []
        for turn in range(1, 21):
            if turn == 9:
                client.call("trial.enqueue", sweep=sweep, params={"opt": "sgd", "lr": 0.1})
            held += client.ask(sweep)
            check_point(held[-1]["params"])
            points.append(key(held[-1]["params"]))
            if turn in kills:
                client = daemon.again()
            if turn % 4 == 0:
                for t in held[:-1]:
                    client.tell(sweep, t, metrics={"loss": loss(t["params"])})
                held = held[-1:]
        assert client.ask(sweep) == [] and len(set(points)) > 17
        return points

    assert life(kills=(2, 8, 9, 11, 15, 16)) == life(kills=())


# --- init ---

def test_init_points_come_first_in_their_order(client):
    init = [{"opt": "sgd", "lr": 0.1, "layers": 2, "momentum": 0.5, "arch": {"l1": 64, "l2": 16},
             "epochs": 5},
            {"opt": "adamw", "adam": {"beta": 0.5}}, {}]
    for method in METHODS:
        points = run_out(client, client.submit(searched(method, init=init)), count=2)
        assert points[0] == init[0], method
        assert points[1]["opt"] == "adamw" and points[1]["adam"]["beta"] == 0.5, method
        for point in points:
            check_point(point)
        assert len(points) == 24, method


# --- enqueue ---

def test_enqueued_trial_comes_next_and_what_it_does_not_name_is_drawn(client):
    for method in METHODS:
        sweep = client.submit(searched(method))
        client.ask(sweep)
        got = client.call("trial.enqueue", sweep=sweep, params={"opt": "adamw", "lr": 0.1})
        assert got == {"trial": 2, "state": "PENDING"}, method
        row = client.call("trial.get", sweep=sweep, trial=2)
        assert (row["state"], row["attempt"]) == ("PENDING", 0), method
        client.call("trial.enqueue", sweep=sweep, params={"arch.l1": 32, "arch": {"l2": 16}, "layers": 2})
        handed = client.ask(sweep, 3)
        assert [t["trial"] for t in handed] == [2, 3, 4], method
        first, second, _ = (t["params"] for t in handed)
        assert (first["opt"], first["lr"]) == ("adamw", 0.1), method
        assert (second["layers"], second["arch"]) == (2, {"l1": 32, "l2": 16}), method
        for t in handed:
            check_point(t["params"])


def test_cli_enqueues_by_name_and_value(daemon, client):
    sweep = client.submit(searched("bayes"))
    status, out, err = sweep_command(daemon, "enqueue", sweep, "lr=0.1", "opt=sgd", "arch.l1=32")
    assert (status, out, err) == (0, f"trial {sweep}/1\n", "")
    handed, = client.ask(sweep)
    assert (handed["params"]["lr"], handed["params"]["opt"]) == (0.1, "sgd")
    assert handed["params"]["arch"]["l1"] == 32
    for words in (["lr"], ["lr=1", "lr=2"], ["=1"]):
        status, out, err = sweep_command(daemon, "enqueue", sweep, *words)
        assert status == 2 and out == "" and "NAME=VALUE" in err
    status, out, err = sweep_command(daemon, "enqueue", sweep, "lrr=0.1")
    assert status == 1 and out == "" and err.startswith("sweep: lrr: ") and err.count("\n") == 1
    status, out, err = sweep_command(daemon, "enqueue", sweep, '{"lr": 0.5}', "--json")
    assert status == 0 and '"trial"' in out


def test_suggest_wait_under_a_method_that_waits_for_nothing_is_warned_of(client):
    for method in METHODS:
        spec = driven(method=method, suggest_wait_ms=5, parameters={"n": {"min": 1, "max": 9}})
        lines = client.call("sweep.validate", spec=spec)["warnings"]
        assert any("suggest_wait_ms" in line for line in lines) == (method != "bayes"), (method, lines)


# --- constraints that leave little ---

def test_impossible_constraint_is_refused_at_submission(client):
    for method in METHODS:
        error = client.refused("sweep.submit", spec=searched(method, constraints=["layers >= 1", "arch.l1 > 64"]))
        assert error.code == INVALID_PARAMS and "arch.l1 > 64" in error.message, method
        assert error.pointer.startswith("/spec/constraints"), method


INTEGER, REAL = {"min": 1, "max": 1000}, {"min": 0.0, "max": 1.0}


RARE = [
    ({"n1": INTEGER, "n2": INTEGER}, "n1 - n2 == 999", lambda p: p["n1"] - p["n2"] == 999),
    ({"n1": INTEGER, "n2": INTEGER}, "n1 * n2 <= 12", lambda p: p["n1"] * p["n2"] <= 12),
    ({name: REAL for name in "xabcdefgh"}, "x + a + b + c + d + e + f + g + h <= 1", lambda p: sum(p.values()) <= 1)]


def test_constraint_that_few_points_meet_has_trials_to_the_end(daemon, client):
    sweeps = {client.submit(driven(method=method, parameters=parameters, constraints=[constraint], run_cap=20, seed=4)):
              (method, constraint, holds)
              for method in METHODS if method != "grid" for parameters, constraint, holds in RARE}
    points = {sweep: [] for sweep in sweeps}
    for trial in range(1, 21):
        for sweep, seen in points.items():
            handed, = client.ask(sweep)
            seen.append(handed["params"])
            client.tell(sweep, handed, metrics={"loss": sum(seen[-1].values())})
        if trial == 10:
            client = daemon.again()
    for sweep, (method, constraint, holds) in sweeps.items():
        assert all(holds(p) for p in points[sweep]), (method, constraint, points[sweep])
        assert client.sweep(sweep)["state"] == "COMPLETED", (method, constraint)
        if "x" in points[sweep][0]:
            assert len({key(p) for p in points[sweep]}) == 20, method
            assert max(p["x"] for p in points[sweep]) - min(p["x"] for p in points[sweep]) > 0.1, method
    assert replay(database(daemon))[0] == 0


def test_constraint_that_nothing_was_found_for_is_not_called_impossible(client):
    """2 a + 4 b - 6 c + 8 d is even: a walk does not see it."""
    spec = driven(parameters={name: INTEGER for name in "abcd"},
                  constraints=["2 * a + 4 * b + 8 * d == 6 * c + 1"])
    error = client.refused("sweep.submit", spec=spec)
    assert "no point was found" in error.message and "a walk" in error.message
    spec["constraints"] = ["a + b + c + d < 4"]
    assert "no point was found" in client.refused("sweep.submit", spec=spec).message
    for name in "abcd":
        spec["parameters"][name] = {"min": 1, "max": 9}
    assert "no point of the space meets" in client.refused("sweep.submit", spec=spec).message


def test_equality_of_reals_is_refused_with_what_to_write_instead(client):
    spec = driven(parameters={"n": INTEGER, "x": REAL, "y": REAL}, constraints=["n >= 2", "x + y == 1"])
    error = client.refused("sweep.submit", spec=spec)
    assert (error.code, error.pointer) == (INVALID_PARAMS, "/spec/constraints/1")
    assert "compute it as the rest of the others" in error.message

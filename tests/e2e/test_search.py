"""Searches over the socket: every method, its points, their order, a user's own points."""
import random

import pytest

from harness import CONFLICT, INVALID_PARAMS, NOT_FOUND, RpcError, asha, driven, sweep_command
from replays import database, replay
from search_model import LEARNING, METHODS, PATIENT, check_point, key, loss, run_out, searched


def one(**more):
    """One real parameter."""
    return driven(**{"parameters": {"x": {"min": 0.0, "max": 1.0}}, "suggest_wait_ms": PATIENT,
                     **more})


# --- every method ---

@pytest.mark.parametrize("method", METHODS)
def test_method_reaches_its_run_cap_with_points_of_the_space(client, method):
    sweep = client.submit(searched(method))
    points = run_out(client, sweep)
    for point in points:
        check_point(point)
    got = client.sweep(sweep)
    assert len(points) == 24 and got["state"] == "COMPLETED"
    assert got["counts"]["COMPLETED"] == 24
    assert len({key(p) for p in points}) > 20
    stored = [row["params"] for row in client.trials(sweep)]
    assert [key(p) for p in stored] == [key(p) for p in points]


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_and_order_give_the_same_points_in_another_daemon(start, method):
    def points(**more):
        client = start().client()
        return [key(p) for p in run_out(client, client.submit(searched(method, **more)), count=3)]

    first = points()
    assert first == points()
    if method != "grid":
        assert first != points(seed=4)


@pytest.mark.parametrize("method", METHODS)
def test_killed_daemon_goes_on_with_the_points_it_would_have_made(start, method):
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
            points.append(key(held[-1]["params"]))
            if turn in kills:
                daemon.kill9()
                client = daemon.start().client()
            if turn % 4 == 0:
                for t in held[:-1]:
                    client.tell(sweep, t, metrics={"loss": loss(t["params"])})
                held = held[-1:]
        assert client.ask(sweep) == []
        return points

    assert life(kills=(2, 8, 9, 11, 15, 16)) == life(kills=())


class Life:
    """A sweep that meets everything at once, in an order that a seed draws."""

    def __init__(self, daemon, method, seed):
        self.daemon, self.draw = daemon, random.Random(seed)
        self.client = daemon.client()
        pruner = {"early_terminate": asha(max_t=9)} if seed % 2 else {}
        self.sweep = self.client.submit(searched(method, run_cap=300, **pruner))
        self.held = []

    def any_held(self):
        return self.held.pop(self.draw.randrange(len(self.held)))

    def tell(self):
        t, state = self.any_held(), self.draw.choice(["COMPLETED"] * 5 + ["FAILED", "INFEASIBLE"])
        value = loss(t["params"])
        for seq, step in enumerate((1, 3, 5)[:self.draw.randrange(1, 4)], 1):
            if self.client.report(self.sweep, t, seq, step, loss=value + 1 / step) == "stop":
                return
        self.client.tell(self.sweep, t, state=state)

    def step(self, kill):
        what = self.draw.random()
        if kill:
            self.daemon.kill9()
            self.client = self.daemon.start().client()
        if what < 0.4 or not self.held:
            self.held += self.client.ask(self.sweep, self.draw.choice([1, 1, 2, 4]))
        elif what < 0.85:
            self.tell()
        elif what < 0.92:
            self.client.call("trial.enqueue", sweep=self.sweep, params={"opt": "sgd"})
        elif what < 0.96:
            self.client.call("trial.cancel", sweep=self.sweep, trial=self.any_held()["trial"])
        else:
            self.client.call("sweep.pause", sweep=self.sweep)
            assert self.client.ask(self.sweep) == []
            self.client.call("sweep.resume", sweep=self.sweep)

    def points(self):
        return [key(row["params"]) for row in self.client.trials(self.sweep)]


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("seed", [1, 2])
def test_life_of_a_search_is_the_same_with_and_without_kills(start, method, seed):
    def live(kills):
        life = Life(start(), method, seed)
        for i in range(70):
            life.step(i in kills)
        return life.points()

    points = live(())
    assert points == live((3, 17, 18, 30, 44, 55, 69)) and len(points) > 30


@pytest.mark.parametrize("method", METHODS)
def test_maximized_metric_comes_back_as_it_was_told(client, method):
    sweep = client.submit(searched(method, run_cap=12,
                                   metric={"name": "loss", "goal": "maximize"}))
    points = run_out(client, sweep)
    best = client.sweep(sweep)["best"]
    assert best["value"] == max(loss(p) for p in points)


def test_grid_shuffles_by_its_seed_and_hands_out_each_point_once(client):
    spec = driven(method="grid", run_cap=None, shuffle=True,
                  parameters={"a": {"min": 1, "max": 5}, "b": {"values": ["u", "v", "w"]}})
    points = [key(p) for p in run_out(client, client.submit(spec), lambda p: p["a"])]
    again = [key(p) for p in run_out(client, client.submit(spec), lambda p: p["a"])]
    plain = [key(p) for p in run_out(client, client.submit({**spec, "shuffle": False}),
                                     lambda p: p["a"])]
    assert points == again != plain
    assert sorted(points) == sorted(plain) and len(set(points)) == 15


@pytest.mark.parametrize("method", LEARNING)
def test_asha_prunes_for_a_method_that_learns(client, method):
    sweep = client.submit(searched(method, run_cap=25, early_terminate=asha(max_t=9)))
    while handed := client.ask(sweep):
        t, = handed
        check_point(t["params"])
        for seq, step in enumerate((1, 3, 9), 1):
            if client.report(sweep, t, seq, step, loss=loss(t["params"]) + 1 / step) != "continue":
                break
        client.tell(sweep, t)
    got = client.sweep(sweep)
    assert got["state"] == "COMPLETED"
    assert got["counts"]["PRUNED"] > 5 and got["counts"]["COMPLETED"] > 2


# --- what a metric may be ---


@pytest.mark.parametrize("method", LEARNING)
def test_failed_and_infeasible_trials_do_not_stop_a_search(client, method):
    sweep = client.submit(one(method=method, run_cap=30))
    points = []
    while handed := client.ask(sweep):
        t, = handed
        x = t["params"]["x"]
        points.append(x)
        if x < 0.5:
            client.tell(sweep, t, state="INFEASIBLE" if t["trial"] % 2 else "FAILED", cause="bad")
        else:
            client.tell(sweep, t, metrics={"loss": x})
    got = client.sweep(sweep)
    assert got["state"] == "COMPLETED" and len(points) == 30
    assert 0.5 <= got["best"]["value"] < 0.6


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("state", ["FAILED", "INFEASIBLE"])
def test_search_all_of_whose_trials_fail_comes_to_its_end(client, method, state):
    sweep = client.submit(one(method=method, run_cap=15))
    points = set()
    while handed := client.ask(sweep):
        points.add(handed[0]["params"]["x"])
        client.tell(sweep, handed[0], state=state, cause="bad")
    assert client.sweep(sweep)["state"] == {"FAILED": "FAILED", "INFEASIBLE": "COMPLETED"}[state]
    assert len(points) == 15


# --- init ---

@pytest.mark.parametrize("method", METHODS)
def test_init_points_come_first_in_their_order(client, method):
    init = [{"opt": "sgd", "lr": 0.1, "layers": 2, "momentum": 0.5, "arch": {"l1": 64, "l2": 16},
             "epochs": 5},
            {"opt": "adamw", "adam": {"beta": 0.5}}, {}]
    sweep = client.submit(searched(method, init=init))
    points = run_out(client, sweep, count=2)
    assert points[0] == init[0]
    assert points[1]["opt"] == "adamw" and points[1]["adam"]["beta"] == 0.5
    for point in points:
        check_point(point)
    assert len(points) == 24


@pytest.mark.parametrize("point, pointer, words", [
    ({"lr": 0.01, "lrr": 1}, "/spec/init/1/lrr", "lr"),
    ({"arch": {"l1": 16, "l2": 64}, "layers": 2}, "/spec/init/1", "arch.l2 <= arch.l1"),
    ([], "/spec/init/1", "object")])
def test_wrong_init_point_is_refused_at_submission(client, point, pointer, words):
    error = client.refused("sweep.submit", spec=searched("bayes", init=[{}, point]))
    assert error.code == INVALID_PARAMS and error.pointer == pointer and words in error.message


# --- enqueue ---

@pytest.mark.parametrize("method", METHODS)
def test_enqueued_trial_comes_next_and_what_it_does_not_name_is_drawn(client, method):
    sweep = client.submit(searched(method))
    client.ask(sweep)
    got = client.call("trial.enqueue", sweep=sweep, params={"opt": "adamw", "lr": 0.1})
    assert got == {"trial": 2, "state": "PENDING"}
    row = client.call("trial.get", sweep=sweep, trial=2)
    assert row["state"] == "PENDING" and row["attempt"] == 0
    got = client.call("trial.enqueue", sweep=sweep, params={"arch.l1": 32, "arch": {"l2": 16},
                                                            "layers": 2})
    handed = client.ask(sweep, 3)
    assert [t["trial"] for t in handed] == [2, 3, 4]
    first, second, _ = (t["params"] for t in handed)
    assert (first["opt"], first["lr"]) == ("adamw", 0.1)
    assert (second["layers"], second["arch"]) == (2, {"l1": 32, "l2": 16})
    for t in handed:
        check_point(t["params"])


@pytest.mark.parametrize("params, pointer, words", [
    ({"arch": {"l3": 1}}, "/params/arch/l3", "\"l1\""),
    ({"layers": 3, "arch": {"l1": 64}}, "/params", "layers * arch.l1 <= 128")])
def test_wrong_enqueue_is_refused_with_one_line(client, params, pointer, words):
    sweep = client.submit(searched("bayes"))
    error = client.refused("trial.enqueue", sweep=sweep, params=params)
    assert error.code == INVALID_PARAMS and error.pointer == pointer and words in error.message
    assert client.trials(sweep) == []


def test_enqueue_is_refused_when_the_sweep_has_ended_or_its_cap_is_used_up(client):
    sweep = client.submit(one(run_cap=2))
    assert client.refused("trial.enqueue", sweep=9, params={}).code == NOT_FOUND
    client.call("trial.enqueue", sweep=sweep, params={"x": 0.25})
    client.call("trial.enqueue", sweep=sweep, params={"x": 0.5})
    error = client.refused("trial.enqueue", sweep=sweep, params={"x": 0.75})
    assert error.code == CONFLICT and "extend" in error.message
    assert run_out(client, sweep, lambda p: p["x"]) == [{"x": 0.25}, {"x": 0.5}]
    error = client.refused("trial.enqueue", sweep=sweep, params={"x": 0.75})
    assert error.code == CONFLICT and "COMPLETED" in error.message
    client.call("sweep.extend", sweep=sweep, run_cap=3)
    client.call("trial.enqueue", sweep=sweep, params={"x": 0.75})
    assert run_out(client, sweep, lambda p: p["x"]) == [{"x": 0.75}]


def test_enqueue_on_a_grid_leaves_every_point_of_it_to_come(client):
    sweep = client.submit(driven(method="grid", run_cap=None,
                                 parameters={"a": {"min": 1, "max": 3}}))
    client.ask(sweep)
    client.call("trial.enqueue", sweep=sweep, params={"a": 3})
    assert [t["params"]["a"] for t in client.ask(sweep, 10)] == [3, 2, 3]


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


@pytest.mark.parametrize("method", METHODS)
def test_suggest_wait_under_a_method_that_waits_for_nothing_is_warned_of(client, method):
    spec = driven(method=method, suggest_wait_ms=5, parameters={"n": {"min": 1, "max": 9}})
    lines = client.call("sweep.validate", spec=spec)["warnings"]
    assert any("suggest_wait_ms" in line for line in lines) == (method != "bayes"), lines


# --- constraints that leave little ---

@pytest.mark.parametrize("method", METHODS)
def test_impossible_constraint_is_refused_at_submission(client, method):
    error = client.refused("sweep.submit", spec=searched(
        method, constraints=["layers >= 1", "arch.l1 > 64"]))
    assert error.code == INVALID_PARAMS and "arch.l1 > 64" in error.message
    assert error.pointer.startswith("/spec/constraints")


@pytest.mark.parametrize("limit", [0.02, 0.0045])
@pytest.mark.parametrize("method", ["random", "sobol", "tpe", "bohb", "bayes"])
def test_constraint_that_leaves_one_point_in_many_is_met_or_refused(client, method, limit):
    """Points that meet it, or a clear end; what never happens is another point, or a hang."""
    constraint = f"a + b <= {limit}"
    spec = one(method=method, run_cap=8, constraints=[constraint],
               parameters={"a": {"min": 0.0, "max": 1.0}, "b": {"min": 0.0, "max": 1.0}})
    try:
        sweep = client.submit(spec)
    except RpcError as error:
        assert constraint in error.message
        return
    points = run_out(client, sweep, lambda p: p["a"])
    assert all(p["a"] + p["b"] <= limit for p in points)
    got = client.sweep(sweep)
    assert len(points) == 8 or (got["state"] == "FAILED" and "constraints" in got["cause"]), got


INTEGER, REAL = {"min": 1, "max": 1000}, {"min": 0.0, "max": 1.0}


@pytest.mark.parametrize("parameters, constraint, holds", [
    ({"n1": INTEGER, "n2": INTEGER}, "n1 - n2 == 999", lambda p: p["n1"] - p["n2"] == 999),
    ({"n1": INTEGER, "n2": INTEGER}, "n1 * n2 == 997", lambda p: p["n1"] * p["n2"] == 997),
    ({"x": REAL, "y": REAL}, "x + y == 1", lambda p: abs(p["x"] + p["y"] - 1) < 1e-15)],
                         ids=["difference", "product", "reals"])
@pytest.mark.parametrize("method", ["random", "sobol", "tpe", "bohb", "bayes"])
def test_equality_that_few_points_meet_has_trials_to_the_end(start, method, parameters, constraint,
                                                             holds):
    daemon = start()
    client = daemon.client()
    sweep = client.submit(driven(method=method, parameters=parameters, constraints=[constraint],
                                 run_cap=20, seed=4))
    points = []
    while handed := client.ask(sweep):
        points.append(handed[0]["params"])
        client.tell(sweep, handed[0], metrics={"loss": sum(points[-1].values())})
        if len(points) == 10:
            daemon.kill9()
            client = daemon.start().client()
    assert len(points) == 20 and all(holds(p) for p in points), points
    assert client.sweep(sweep)["state"] == "COMPLETED"
    if "x" in parameters:
        assert len({key(p) for p in points}) == 20
        assert max(p["x"] for p in points) - min(p["x"] for p in points) > 0.5
    daemon.stop()
    assert replay(database(daemon))[0] == 0


def test_constraint_that_nothing_was_found_for_is_not_called_impossible(client):
    """2 a + 4 b - 6 c + 8 d is even: a search does not see it."""
    spec = driven(parameters={name: INTEGER for name in "abcd"},
                  constraints=["2 * a + 4 * b + 8 * d == 6 * c + 1"])
    error = client.refused("sweep.submit", spec=spec)
    assert "no point was found" in error.message and "steps" in error.message
    spec["constraints"] = ["a + b + c + d < 4"]
    assert "no point of the space meets" in client.refused("sweep.submit", spec=spec).message

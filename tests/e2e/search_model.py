"""What the tests of searches share: a space with everything in it, what must hold of its points."""
import math

METHODS = ("random", "grid", "sobol", "tpe", "bohb", "bayes")
LEARNING = ("tpe", "bohb", "bayes")
PATIENT = 60000  # suggest_wait_ms: every ask waits until its suggestion knows all there is to know


def space(countable=False):
    """Mixed, conditional, nested; with the constraints below. A grid needs its values counted."""
    real = {"distribution": "q_uniform", "q": 0.5} if countable else {"distribution": "uniform"}
    return {
        "opt": {"values": ["sgd", "adamw"]},
        "lr": {"values": [0.001, 0.1]} if countable else
              {"distribution": "log_uniform_values", "min": 1e-4, "max": 1.0},
        "layers": {"min": 1, "max": 3},
        "momentum": {**real, "min": 0.0, "max": 1.0, "when": {"opt": "sgd"}},
        "adam": {"when": {"opt": ["adamw"]},
                 "parameters": {"beta": {**real, "min": 0.0, "max": 1.0},
                                "amsgrad": {"values": [True, False]}}},
        "arch": {"parameters": {
            "l1": {"distribution": "pow2", "min": 16, "max": 64},
            "l2": {"distribution": "pow2", "min": 16, "max": 64, "when": {"layers": [2, 3]}}}},
        "epochs": {"value": 5},
    }


CONSTRAINTS = ["arch.l2 <= arch.l1", "layers * arch.l1 <= 128"]


def searched(method, **more):
    """A sweep over that space which the client drives."""
    return {"name": method, "method": method, "seed": 3, "suggest_wait_ms": PATIENT,
            "metric": {"name": "loss", "goal": "minimize"},
            "parameters": space(method == "grid"), "constraints": CONSTRAINTS, "run_cap": 24,
            **more}


def check_point(p):
    """Inside its bounds, conditional parameters exactly where they are active, constraints met."""
    present = {"opt", "lr", "layers", "arch", "epochs"}
    present.add("momentum" if p["opt"] == "sgd" else "adam")
    assert set(p) == present, p
    assert p["opt"] in ("sgd", "adamw") and p["epochs"] == 5
    assert 1e-4 <= p["lr"] <= 1.0
    assert isinstance(p["layers"], int) and p["layers"] in (1, 2, 3)
    if p["opt"] == "sgd":
        assert 0 <= p["momentum"] <= 1
    else:
        assert set(p["adam"]) == {"beta", "amsgrad"}
        assert 0 <= p["adam"]["beta"] <= 1 and isinstance(p["adam"]["amsgrad"], bool)
    arch = p["arch"]
    assert set(arch) == ({"l1", "l2"} if p["layers"] > 1 else {"l1"})
    assert all(width in (16, 32, 64) for width in arch.values())
    assert arch.get("l2", 16) <= arch["l1"]
    assert p["layers"] * arch["l1"] <= 128


def loss(p):
    """Smallest at lr 0.01, sgd with momentum 0.8, two layers."""
    bad = (math.log10(p["lr"]) + 2) ** 2 + abs(p["layers"] - 2)
    if p["opt"] == "sgd":
        return bad + (p["momentum"] - 0.8) ** 2
    return bad + 0.5 + (p["adam"]["beta"] - 0.9) ** 2


def run_out(client, sweep, value=loss, count=1):
    """Asks and tells until there is no more; the points, in order."""
    points = []
    while handed := client.ask(sweep, count):
        for t in handed:
            points.append(t["params"])
            client.tell(sweep, t, metrics={"loss": value(t["params"])})
    return points


def suggestion(client, sweep, trial):
    return client.call("trial.why", sweep=sweep, trial=trial)["suggestion"]

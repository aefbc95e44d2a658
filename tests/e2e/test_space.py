"""The search space as clients see it: groups, conditions, constraints."""
import select


from harness import INVALID_PARAMS, driven

PARAMETERS = {
    "optimizer": {"values": ["sgd", "adamw"]},
    "momentum": {"min": 0.0, "max": 0.9, "when": {"optimizer": "sgd"}},
    "adam": {"when": {"optimizer": ["adamw"]},
             "parameters": {"beta1": {"min": 0.8, "max": 0.99},
                            "warm": {"parameters": {"steps": {"min": 1, "max": 9}}}}},
    "l1": {"distribution": "pow2", "min": 8, "max": 64},
    "l2": {"distribution": "pow2", "min": 8, "max": 64},
}


def check(params):
    sgd = params["optimizer"] == "sgd"
    assert list(params) == ["optimizer", "momentum" if sgd else "adam", "l1", "l2"]
    assert params["l2"] <= params["l1"]
    if not sgd:
        assert list(params["adam"]) == ["beta1", "warm"]
        assert 1 <= params["adam"]["warm"]["steps"] <= 9


def test_trials_have_the_active_parameters_alone_and_keep_the_constraints(client):
    sweep = client.submit(driven(run_cap=100, parameters=PARAMETERS, constraints=["l2 <= l1"]))
    seen = []
    while handed := client.ask(sweep, 20):
        for t in handed:
            check(t["params"])
            seen.append(t["params"])
            client.tell(sweep, t, metrics={"loss": 1.0})
    assert len(seen) == 100
    assert {p["optimizer"] for p in seen} == {"sgd", "adamw"}
    check(client.sweep(sweep)["best"]["params"])


def test_submission_that_takes_long_to_check_holds_up_nobody(daemon, client):
    digits = {f"k{i}": {"min": 1, "max": 10} for i in range(6)}
    spec = driven(method="grid", parameters=digits, constraints=["k0 < k1"], run_cap=None)
    other = daemon.client()
    client.send({"jsonrpc": "2.0", "id": 1, "method": "sweep.validate",
                 "params": {"spec": spec}})
    answered = 0
    while not select.select([client.socket], [], [], 0)[0]:
        other.call("daemon.info")
        answered += 1
    assert client.receive()["result"]["points"] == 450000
    assert answered > 4  # a few may come before the daemon reads the spec


def test_lists_and_objects_are_values(daemon, client):
    """Asked for, enqueued, learnt from, named by "when", and the same after a restart."""
    lists = [[64, 64], [128, [2.5, "a"], None], [], {"units": [8], "act": {"name": "elu"}}, {"units": [8], "act": {}}]
    sweep = client.submit(driven(method="tpe", run_cap=14, init=[{"net": [128, [2.5, "a"], None]}], parameters={
        "net": {"values": lists}, "skip": {"values": [True, False], "when": {"net": [[64, 64]]}}}))
    client.call("trial.enqueue", sweep=sweep, params={"net": []})
    client.call("trial.enqueue", sweep=sweep, params={"net": lists[3]})
    for wrong in [64], {"units": [8], "act": 1}:
        error = client.refused("trial.enqueue", sweep=sweep, params={"net": wrong})
        assert error.code == INVALID_PARAMS and error.pointer == "/params/net"
    handed = client.ask(sweep, 12)
    for t in handed:
        assert t["params"]["net"] in lists and ("skip" in t["params"]) == (t["params"]["net"] == [64, 64])
        client.tell(sweep, t, metrics={"loss": len(t["params"]["net"])})
    first = [t["params"]["net"] for t in handed[:3]]
    assert lists[1] in first and [] in first and lists[3] in first
    daemon.kill9()
    with daemon.start().client() as again:
        assert [t["params"] for t in again.trials(sweep)[:12]] == [t["params"] for t in handed]
        assert again.ask(sweep)[0]["params"]["net"] in lists
        fine = again.submit({"name": "fine", "refine": {"of": sweep, "top": 1}})
        assert again.sweep(fine)["spec"]["parameters"]["net"]["values"] == [[]]

"""Values of the search space that are lists and objects. Its groups, conditions and constraints are told by
tests/daemon/plan/test_plan_params.c and, for every method, by test_search.py."""
from harness import INVALID_PARAMS, driven


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
        assert again.sweep(fine)["spec"]["parameters"]["net"]["values"] == lists

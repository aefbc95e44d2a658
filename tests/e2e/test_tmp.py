import statistics
from harness import *
from checkpoints import *
from gangs import *
def speed(c, spec):
    s = c.submit(spec); assert c.wait_sweep(s, timeout=500)["state"] == "COMPLETED"
    return statistics.median(r["metrics"]["samples_per_s"] for r in c.reports(s, 1))
def test_speed(start):
    c = start("cpu:2").client()
    ex = example("resnet18-2ranks")
    for k in ("early_terminate", "resources", "parallel"): ex.pop(k, None)
    ex["run_cap"] = 1
    ex["trainer"]["epochs"] = 3
    cases = {}
    for w in (8, 16):
        cases[f"resnet18 w{w} b32"] = {**ex, "trainer": {**ex["trainer"], "model": {"preset": "resnet18-cifar", "width": w}}}
    cases["resnet18 w16 b128"] = {**ex, "trainer": {**ex["trainer"], "batch_size": 128, "model": {"preset": "resnet18-cifar", "width": 16}}}
    m = slow(epochs=10, run_cap=1, parameters={"width": {"value": 64}, "lr": {"value": 0.005}, "batch_size": {"value": 32}})
    cases["mlp 64-128-64-10 b32"] = m
    t = example("transformer"); t["run_cap"]=1; t.pop("early_terminate", None); t["trainer"]["epochs"]=2
    cases["transformer"] = t
    for name, spec in cases.items():
        got = {how: speed(c, f(spec)) for how, f in (("alone", lambda s: s), ("shm", shared), ("tcp", lambda s: shared(s, transport="tcp")))}
        print("SPEED", name, got, "shm x", round(got["shm"]/got["alone"], 2), "tcp x", round(got["tcp"]/got["alone"],2))
    print([l for l in log(c, 1, 1)])

"""Memory as an event: under a cap a trial takes its batches in parts, or ends INFEASIBLE, and no
other trial takes notice of it."""
import json
import os
import subprocess

import pytest

from harness import BIN, environment, sweep_command, trained

FITS, HUGE = 256, 3000  # widths: with 3000 the weights alone are over the cap


def spec(**more):
    return trained(name="memory", method="grid", epochs=3, run_cap=None, seed=4,
                   dataset={"name": "digits"},
                   layers=[{"linear": "width"}, "relu", {"linear": "width"}, "relu",
                           {"linear": 10}],
                   parameters={"width": {"values": [FITS, HUGE]},
                               "batch_size": {"values": [16, 1000, 1024]},
                               "lr": {"value": 0.05}}, **more)


def losses(client, sweep, trial):
    return [(r["metrics"]["train_loss"], r["metrics"]["val_loss"])
            for r in client.reports(sweep, trial)]


def test_sweep_under_a_cap_completes_with_the_same_curves_and_infeasible_ones_alone(start):
    daemon = start("cpu:2", "--cpu-memory", "2M")
    free, capped = start("cpu:2").client(), daemon.client()
    small = spec()
    small["parameters"]["width"] = {"values": [FITS]}
    whole, sweep = free.submit(small), capped.submit(spec())
    assert free.wait_sweep(whole)["counts"]["COMPLETED"] == 3
    got = capped.wait_sweep(sweep)
    assert got["state"] == "COMPLETED"
    assert (got["counts"]["COMPLETED"], got["counts"]["INFEASIBLE"]) == (3, 3), got["counts"]
    expected = {t["params"]["batch_size"]: losses(free, whole, t["trial"])
                for t in free.trials(whole)}
    for t in capped.trials(sweep):
        reports = capped.reports(sweep, t["trial"])
        lines = [line["text"] for line in
                 capped.call("trial.log", sweep=sweep, trial=t["trial"])["lines"]]
        if t["params"]["width"] == HUGE:
            assert (t["state"], t["cause"], reports) == ("INFEASIBLE", "oom", []), t
            assert any("a row at a time needs " in line for line in lines), lines
            continue
        batch = t["params"]["batch_size"]
        for step, (a, b) in enumerate(zip(losses(capped, sweep, t["trial"]), expected[batch])):
            assert a == pytest.approx(b, rel=1e-4), f"batch {batch} at step {step + 1}"
        assert len(reports) == 3
        for r in reports:
            if batch == 16:
                assert "oom_events" not in r["metrics"] and "micro_batch" not in r["metrics"]
                continue
            events, micro = r["metrics"]["oom_events"], r["metrics"]["micro_batch"]
            left = batch
            for _ in range(int(events)):
                left = (left + 1) // 2
            assert events > 0 and micro == left, r
        assert bool([line for line in lines if line.startswith("memory: batches of ")]) == (
            batch != 16)
        status, shown, _ = sweep_command(daemon, "show", f"{sweep}/{t['trial']}")
        assert status == 0 and ("oom_events" in shown) == ("micro_batch" in shown) == (batch != 16), shown


def test_validate_tells_the_bytes_of_the_largest_trial(daemon, tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec()))
    result = daemon.client().call("sweep.validate", spec=spec())
    # of the 64 pixels three are the same in all rows, and left out; those that are mostly 0 are cut in pieces, 35 more
    weights = (61 + 35 + 1) * HUGE + (HUGE + 1) * HUGE + (HUGE + 1) * 10
    assert result["weights"] == weights
    assert 2 * 4 * weights < result["bytes"] < 4 * 4 * weights
    status, shown, _ = sweep_command(daemon, "validate", str(path))
    assert status == 0
    assert shown.splitlines()[1] == (f"memory of the largest trial: {result['bytes']} bytes, its "
                                     f"data set among them; {weights} weights")


def test_memory_that_is_no_number_of_bytes_is_a_matter_of_usage():
    for option in "--cpu-memory", "--gpu-memory":
        for text in "0", "-1", "12X", "M", "1.5G", "", "9000000000G", "5MM":
            done = subprocess.run([os.path.join(BIN, "sweepd"), option, text],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                  timeout=60, env=environment())
            assert done.returncode == 2 and f"{option} {text}:" in done.stderr, done

"""A trial on several slots: the curve of one slot that takes its batches in parts, whatever comes between."""
import os

import pytest

from checkpoints import assert_continued, curve, curves, log, replay, undisturbed
from gangs import FACTS, Machine, alone, lead, long, shared, small
from harness import sweep_command, wait_until
from test_pbt import check_copies, copies


def assert_close(got, want):
    """Losses are sums in another order; what is counted is the same."""
    assert got.keys() == want.keys()
    for step, metrics in want.items():
        assert got[step].keys() == metrics.keys()
        for name, value in metrics.items():
            assert got[step][name] == pytest.approx(value, rel=1e-12, abs=1e-12), (step, name)


def weights(daemon, sweep, trial, folder):
    path = os.path.join(folder, f"{sweep}-{trial}.safetensors")
    status, _, error = sweep_command(daemon, "checkpoint", f"{sweep}/{trial}", "--out", path)
    assert status == 0, error
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        file.read(size)  # names the sweep
        return file.read()


@pytest.mark.parametrize("world", [2, 3])
def test_gang_trains_as_one_slot_does_in_parts(start, tmp_path, world):
    daemon = start(f"cpu:{world}")
    client = daemon.client()
    machine = Machine(daemon, client)
    spec = small(checkpoint={"keep": "all"})
    gang, one = client.submit(shared(spec, world)), client.submit(alone(spec, world))
    for sweep in (gang, one):
        assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 2, log(client, sweep, 1)
    for trial in (1, 2):
        assert_close(curve(client, gang, trial), curve(client, one, trial))
        assert weights(daemon, gang, trial, tmp_path) == weights(daemon, one, trial, tmp_path)
        assert f"{world} ranks share each batch" in log(client, gang, trial)
    machine.check()


BY_ROWS_AND_BY_LAYERS = pytest.mark.parametrize("stages", [1, 2])


@BY_ROWS_AND_BY_LAYERS
def test_asha_promote_pauses_gangs_and_continues_every_curve_exactly(start, stages):
    daemon = start("cpu:2")
    client = daemon.client()
    spec = shared(small(run_cap=9, epochs=9, parameters={**FACTS, "lr": {"min": 0.001, "max": 0.2}}), stages=stages)
    whole = undisturbed(client, spec, 9)
    sweep = client.submit({**spec, "early_terminate": {"type": "asha", "variant": "promote", "max_t": 9,
                                                       "grace_period": 1, "reduction_factor": 3}})
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert sum(t["attempt"] > 1 for t in client.trials(sweep)) >= 3
    assert_continued(curves(client, sweep), whole)
    replay(daemon, sweep)


def test_asha_stops_gangs(start):
    client = start("cpu:2").client()
    spec = shared(small(run_cap=9, epochs=9, parameters={**FACTS, "lr": {"min": 0.001, "max": 0.2}}))
    whole = undisturbed(client, spec, 9)
    sweep = client.submit({**spec, "early_terminate": {"type": "asha", "max_t": 9, "grace_period": 1,
                                                       "reduction_factor": 3}})
    counts = client.wait_sweep(sweep)["counts"]
    assert counts["PRUNED"] >= 3 and counts["COMPLETED"] >= 1
    assert all(t["attempt"] == 1 for t in client.trials(sweep))
    assert_continued(curves(client, sweep), whole)


@pytest.mark.once("as children of single trials, and as gangs that go on")
@BY_ROWS_AND_BY_LAYERS
def test_children_of_pbt_go_on_from_weights_of_gangs(start, stages):
    daemon = start("cpu:2")
    client = daemon.client()
    spec = shared(copies(), stages=stages)
    sweep = client.submit(spec)
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    born = [trial for trial, is_child in check_copies(client, sweep, spec).items() if is_child]
    assert any(curve(client, sweep, trial) for trial in born)
    replay(daemon, sweep)


def test_cancelled_gang_leaves_nothing(start):
    daemon = start("cpu:2")
    client = daemon.client()
    machine = Machine(daemon, client)
    sweep = client.submit(shared(long(epochs=100000)))
    pid = wait_until(lambda: lead(client, sweep), "the trial")
    wait_until(lambda: (client.trials(sweep)[0]["step"] or 0) > 1, "an epoch")
    client.call("sweep.cancel", sweep=sweep)
    machine.check()
    assert lead(client, sweep) is None and pid in [s["pid"] for s in client.slots()]  # the worker lives on
    after = client.submit(shared(small()))
    assert client.wait_sweep(after)["counts"]["COMPLETED"] == 2


@pytest.mark.once("trains for minutes with sanitizers")
def test_gang_trains_on_while_the_daemon_is_gone_and_is_adopted(start):
    daemon = start("cpu:2")
    client = daemon.client()
    spec = shared(long(epochs=150))
    whole = undisturbed(client, {**spec, "run_cap": 2}, 2)[1]
    sweep = client.submit(spec)
    pid = wait_until(lambda: lead(client, sweep), "the trial")
    wait_until(lambda: (client.trials(sweep)[0]["step"] or 0) > 1, "an epoch")
    daemon.kill9()
    daemon.start()
    client = daemon.client()
    wait_until(lambda: lead(client, sweep) == pid, "the same process")
    assert client.wait_sweep(sweep)["state"] == "COMPLETED"
    assert client.trials(sweep)[0]["attempt"] == 1
    assert curve(client, sweep, 1) == whole


def test_gang_whose_data_cannot_be_read_fails_as_one_slot_does(start, tmp_path):
    client = start("cpu:2").client()
    path = tmp_path / "rows.csv"
    path.write_text("a,b,label\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(40)))
    spec = small(run_cap=1, dataset={"format": "csv", "path": str(path), "label": "label"},
                 layers=[{"linear": "width"}, "relu", {"linear": 2}])
    blocker = client.submit(long(epochs=100000, run_cap=2))
    wait_until(lambda: client.sweep(blocker)["counts"]["RUNNING"] == 2, "slots that are taken")
    sweeps = [client.submit(shared(spec)), client.submit(spec)]
    path.unlink()
    client.call("sweep.cancel", sweep=blocker)
    causes = []
    for sweep in sweeps:
        client.wait_sweep(sweep)
        trial, = client.trials(sweep)
        causes.append((trial["state"], trial["cause"], trial["attempt"]))
    assert causes[0] == causes[1] and "/trainer/dataset" in causes[0][1], causes


def test_gang_without_the_memory_is_infeasible_as_one_slot_is(start):
    client = start("cpu:2", "--cpu-memory", "300K").client()
    spec = small(run_cap=1, parameters={**FACTS, "width": {"value": 4000}})
    for sweep in (client.submit(shared(spec)), client.submit(spec)):
        client.wait_sweep(sweep)
        trial, = client.trials(sweep)
        assert (trial["state"], trial["cause"]) == ("INFEASIBLE", "oom"), trial
        assert trial["attempt"] == 1


def test_best_trial_of_gangs_is_fitted_and_predicts(start, tmp_path):
    daemon = start("cpu:2")
    client = daemon.client()
    sweep = client.submit(shared(small(checkpoint={"keep": "all"})))
    client.wait_sweep(sweep)
    model = str(tmp_path / "model.safetensors")
    status, out, error = sweep_command(daemon, "fit", sweep, "--out", model)
    assert status == 0, out + error
    trained = str(tmp_path / "trained.safetensors")
    status, out, error = sweep_command(daemon, "checkpoint", sweep, "--out", trained)
    assert status == 0, out + error
    for path in (model, trained):
        status, out, error = sweep_command(daemon, "predict", path, "data/wine.csv")
        assert status == 0 and len(out.splitlines()) > 100, error

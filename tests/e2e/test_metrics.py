"""Sweeps with several metrics: what the command shows of the trials that no other beats. Which they are, and their
volume: tests/sched/sampler/test_pareto.c and tests/daemon/sweep/search/test_from_story.c."""
import json

from harness import driven, sweep_command

FRONT = {4: (0, 1), 1: (1, 5), 2: (2, 9)}  # by loss, which is minimised; acc is maximised
AREA = 30 * (1 + 1) + 29 * (5 - 1) + 28 * (9 - 5)  # of its steps, below the loss 30 and above the acc -1


def test_command_prints_the_front_as_a_table(daemon, client):
    sweep = client.submit(driven(metric=None, run_cap=9, metrics=[
        {"name": "loss", "reference": 30}, {"name": "acc", "goal": "maximize", "reference": -1}]))
    assert "no trial has a value yet" in sweep_command(daemon, "best", sweep)[1]
    for t in client.ask(sweep, 5):
        if t["trial"] == 5:  # the best by far, but it fails
            assert client.report(sweep, t, 1, 1, loss=-100.0, acc=100.0) == "continue"
            assert client.tell(sweep, t, "FAILED", cause="oom") == "FAILED"
            continue
        loss, acc = FRONT.get(t["trial"], (3, 7))  # the third is beaten by the second
        client.tell(sweep, t, metrics={"loss": loss, "acc": acc, "other": 1})
    got = client.call("sweep.best", sweep=sweep)
    assert got["pareto"] == client.sweep(sweep)["pareto"] == {
        "trials": 3, "hypervolume": AREA, "reference": {"loss": 30, "acc": -1}}
    status, out, _ = sweep_command(daemon, "best", sweep)
    head, columns, *rows = out.splitlines()
    assert status == 0 and "3 trials" in head and f"{AREA:g}" in head
    assert [row.split()[0] for row in rows] == [f"{sweep}/{t}" for t in FRONT]
    names = columns.lower().split()
    for row, values in zip(rows, FRONT.values()):
        cells = dict(zip(names, row.split()))
        assert (float(cells["loss"]), float(cells["acc"])) == values
    status, out, _ = sweep_command(daemon, "show", sweep)
    assert status == 0 and f"{AREA:g}" in out
    assert "loss (minimize)" in out and "acc (maximize)" in out
    row = sweep_command(daemon, "ls", COLUMNS="200")[1].splitlines()[1]
    assert "loss, acc" in row and "3 on the front" in row
    status, out, _ = sweep_command(daemon, "best", sweep, "--json")
    assert json.loads(out) == got and [t["trial"] for t in got["trials"]] == [*FRONT]

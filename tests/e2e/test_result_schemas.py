"""Real answers of every method against the schemas of rpc.discover: no field more, none less."""
import copy

import pytest

from harness import Client, asha, driven, slow, trained, wait_until
from pilots import Bed

pytest.importorskip("jsonschema", reason="python3-jsonschema is not here: answers are not checked")
import schemas  # noqa: E402


class Checked(Client):
    """Checks every answer, and remembers which methods gave one."""

    def __init__(self, path):
        super().__init__(path)
        self.path = path
        self.seen = set()

    def checked(self, name, value):
        wrong = schemas.fault(name, value) if name != "rpc.discover" else None
        assert wrong is None, wrong
        self.seen.add(name)

    def call(self, method, **params):
        result = super().call(method, **params)
        self.checked(method, result)
        return result

    def look(self, sweep):
        """All that can be asked about a sweep; its trials."""
        self.call("sweep.best", sweep=sweep, n=3)
        for plot, form in (("timeline", "marks"), ("saved", "marks"), ("saved", "svg"), ("saved", "text")):
            self.call("sweep.plot", sweep=sweep, plot=plot, format=form)
        trials = self.trials(sweep, limit=4)
        for t in trials:
            for method in ("trial.get", "trial.why", "trial.log", "trial.output", "trial.reports"):
                self.call(method, sweep=sweep, trial=t["trial"])
        self.call("trial.reports", sweep=sweep, trial=1, limit=1)
        with Checked(self.path) as watcher:
            watcher.call("sweep.watch", sweep=sweep)
            self.seen |= watcher.seen
        return trials

    def drive(self, sweep, curve, steps, at_once=1):
        """Runs a sweep: curve(trial, step) gives metrics. Looks at it on the way and at its end."""
        looked = 0
        while handed := self.ask(sweep, at_once):
            for t in handed:
                for seq in range(1, steps + 1):
                    step = t["resume_step"] + seq
                    said = self.call("trial.report", sweep=sweep, trial=t["trial"],
                                     attempt=t["attempt"], seq=seq, step=step, checkpoint=True,
                                     metrics=curve(t["trial"], step))
                    if said["decision"] != "continue":
                        break
                else:
                    self.tell(sweep, t)
            if looked < 2:
                self.look(sweep)
                looked += 1
        return self.look(sweep)


@pytest.fixture
def checked(daemon):
    with Checked(daemon.socket) as client:
        yield client


def loss(trial, step):
    return {"loss": trial % 7 + 1 / step}


def test_schema_refuses_a_field_that_is_not_there_and_misses_one_that_is(checked):
    """Else nothing below says anything."""
    answer = checked.call("sweep.get", sweep=checked.submit(driven()))
    for spoil in (lambda a: a.update(more=1), lambda a: a.pop("counts"),
                  lambda a: a["budget"].update(more=1), lambda a: a.update(state="RUNING"),
                  lambda a: a.update(seed="7"),
                  lambda a: a["rungs"].append({"bracket": 0, "step": 1, "n": 1})):
        wrong = copy.deepcopy(answer)
        spoil(wrong)
        assert schemas.fault("sweep.get", wrong)


def test_every_field_of_every_schema_has_a_kind():
    """A dangling name of a type, or a shape that says nothing, would let anything pass."""
    whole = schemas.document()
    names = set(whole["components"]["schemas"])

    def walk(schema, at):
        assert schema, f"{at} allows anything"
        if "$ref" in schema:
            assert schema["$ref"].rpartition("/")[2] in names, f"{at}: {schema['$ref']}"
        for key, inner in schema.get("properties", {}).items():
            walk(inner, f"{at}/{key}")
        for inner in schema.get("anyOf", []):
            walk(inner, at)
        if "items" in schema:
            walk(schema["items"], f"{at}[]")

    for name, schema in whole["components"]["schemas"].items():
        walk(schema, name)
    for method in whole["methods"]:
        walk(method["result"]["schema"], method["name"])


# --- every method ---

def start_from_another(checked):
    first = checked.submit(driven(run_cap=6))
    checked.drive(first, loss, 2)
    warm = checked.submit(driven(run_cap=3, method="bayes", warm_start=[first]))
    checked.drive(warm, loss, 2)
    fine = checked.submit({"refine": {"of": first}})
    checked.ask(fine)
    checked.look(fine)
    assert checked.call("sweep.simulate", sweep=first, early_terminate=asha(max_t=2))["trials"] == 6


def do_everything(checked):
    sweep = checked.submit(driven(early_terminate=asha()))
    checked.call("trial.enqueue", sweep=sweep, params={"x": 0.5})
    checked.look(sweep)
    held, other, third, *_ = checked.ask(sweep, 5)
    checked.heartbeat(sweep, held)
    checked.report(sweep, held, 1, 1, loss=1)
    checked.call("trial.cancel", sweep=sweep, trial=other["trial"])
    checked.tell(sweep, third, "INFEASIBLE", cause="too big")
    checked.call("trial.retry", sweep=sweep, trial=other["trial"])
    checked.call("sweep.pause", sweep=sweep)
    assert checked.call("trial.ask", sweep=sweep)["reason"] == "paused"
    checked.call("sweep.resume", sweep=sweep)
    checked.call("sweep.extend", sweep=sweep, run_cap=50)
    for change in ({"run_cap": 30, "weight": 2},
                   {"max_concurrent": 3, "target": -1, "lease_s": 9, "gpu_hours": 1},
                   {"max_concurrent": 0, "time_budget_s": 1e4},
                   {"ranges": {"x": {"min": 0.1, "max": 0.5}}}):
        assert checked.call("sweep.edit", sweep=sweep, **change)["changes"]
    checked.look(sweep)
    checked.call("sweep.cancel", sweep=sweep)
    checked.look(sweep)
    checked.call("sweep.delete", sweep=sweep, keep_best=True)
    checked.call("sweep.delete", sweep=sweep)


def train(checked):
    long = checked.submit(slow(checkpoint={"every": 1}))
    wait_until(lambda: any(t["step"] for t in checked.trials(long)), "a report")
    assert any(s["trial"] for s in checked.slots())
    checked.look(long)
    with Checked(checked.path) as watcher:
        view = watcher.call("sweep.watch", sweep=long)
        checked.call("sweep.cancel", sweep=long)
        while view["state"] == "RUNNING":
            view = watcher.watch(view)
        checked.seen |= watcher.seen
    sweep = checked.submit(trained(epochs=3, early_terminate=asha(max_t=3, variant="promote")))
    assert checked.wait_sweep(sweep)["state"] == "COMPLETED"
    checked.look(sweep)
    checked.call("trial.checkpoint", sweep=sweep, trial=checked.sweep(sweep)["best"]["trial"])
    bad = checked.submit(trained(epochs=2, metric={"name": "no_such"}))
    assert checked.wait_sweep(bad)["state"] == "FAILED"
    checked.look(bad)


def cancel_jobs_of_another_folder(checked):
    others = wait_until(lambda: checked.call("device.list")["pilots"]["others"], "a job of another state folder")
    checked.call("pilot.cancel", prefix=others[0]["prefix"])


def test_every_method_answers_as_promised(start, tmp_path):
    bed = Bed(tmp_path, start)
    bed.put("jobs/sweepd-0123456789ab-1.0")
    with Checked(bed.start().socket) as other:
        cancel_jobs_of_another_folder(other)
    daemon = start("cpu:2")
    with Checked(daemon.socket) as checked:
        start_from_another(checked)
        do_everything(checked)
        train(checked)
        checked.call("journal.append", journal="a", entries=["x"])
        checked.call("journal.read", journal="a")
        checked.call("journal.delete", journal="a")
        for method in ("rpc.discover", "daemon.info", "daemon.stats", "sweep.list"):
            checked.call(method)
        checked.call("sweep.validate", spec=driven())
        checked.call("sweep.find", name=driven()["name"])
        checked.call("sweep.annotate", sweep=1, note="x")
        checked.call("daemon.drain")  # last: after it the daemon ends when it will
    whole = schemas.document()
    public = {m["name"] for m in whole["methods"] + whole["x-notifications"]
              if not m.get("x-internal")}
    assert checked.seen | other.seen == public
    # It drains: it ends by itself once nothing runs.
    assert daemon.process.wait() == 0
    daemon.process = None


# --- what workers are told ---

"""What befalls jobs of a cluster, in a running sweep. SWEEPD_MOMENTS=20 python3 -m pytest tests/slurm/test_troubles.py
takes that many, each at a random moment; SWEEPD_SEED chooses them."""
import collections
import os
import random
import re
import signal
import time

from harness import wait_until
from pilots import pilots
from programs import own

# Holds a lock while it runs, keeps what was acknowledged, and where each of its attempts began.
PROGRAM = """
import fcntl
trial, attempt = os.environ["SWEEPD_TRIAL"].split("/")[1], os.environ["SWEEPD_ATTEMPT"]
def note(*words):
    with open("notes", "a") as f:
        f.write(" ".join(map(str, words)) + "\\n")
lock = open("lock-" + trial, "w")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    note("twice", trial, attempt)
for step in range(load() + 1, 16):
    time.sleep(0.25)
    save(step)
    report(step, loss=params["x"] + 1 / step)
    note("acknowledged", trial, step)
"""
MOMENTS = int(os.environ.get("SWEEPD_MOMENTS", "0"))
LONG = 60 if MOMENTS else 3
KINDS = ["scancel", "requeue", "slurmd", "drain", "preempt", "controller", "kill"]
WORDS = {"scancel": "slurm: CANCELLED on n", "preempt": "slurm: PREEMPTED on n", "kill": "slurm: FAILED on n"}


class Troubles:
    """A sweep on two pilots of each node, of whose jobs the time limit is a minute, and what is done to it."""

    def __init__(self, slurm, start, folder, trials):
        self.slurm, self.folder = slurm, folder
        self.daemon = pilots(start, slurm, folder, 4, time=60, cpus=2, partition="all")
        self.client = self.daemon.client()
        self.sweep = self.client.submit(own(folder, PROGRAM, run_cap=trials))
        self.counts, self.named = collections.Counter(), collections.Counter()

    def running(self):
        """Slots that train. One without a job is BUSY until what its trial left is gone."""
        return [slot for slot in self.client.slots() if slot["state"] == "BUSY" and slot["job"]]

    def victim(self):
        """One that trains now; None once nothing does."""
        found = wait_until(lambda: self.running() or self.client.sweep(self.sweep)["state"] == "COMPLETED" and [None],
                           "a trial that runs")
        return random.choice(found)

    def ends(self):
        """Why pilots have ended, by their jobs."""
        with open(self.daemon.log, encoding="utf-8") as log:
            return dict(re.findall(r'pilot.end .* id="([^"]*)" cause="([^"]*)"', log.read()))

    def befall(self, kind):
        """One whose job was leaving at that very moment is no such trouble: the next one, then."""
        for _ in range(5):
            slot = self.victim()
            if slot is None:
                return
            self.counts[kind] += 1
            getattr(self, kind)(slot)
            if kind not in WORDS:
                return
            if wait_until(lambda: self.ends().get(slot["job"]), f"{kind} ends {slot['job']}").startswith(WORDS[kind]):
                self.named[kind] += 1
                return

    def scancel(self, slot):
        self.slurm.run("scancel", slot["job"])

    def requeue(self, slot):
        """Refused: a job is never run twice."""
        try:
            self.slurm.run("scontrol", "requeue", slot["job"])
        except Exception:
            return
        raise AssertionError("Slurm has requeued a job")

    def slurmd(self, slot):
        """The node's daemon is killed; jobs run on, also when Slurm calls them lost after 20 s."""
        self.slurm.signal(slot["node"], signal.SIGKILL)
        time.sleep(random.choice([0, 1, LONG]))
        self.slurm.testbed("node", slot["node"])

    def drain(self, slot):
        self.slurm.run("scontrol", "update", f"nodename={slot['node']}", "state=drain", "reason=test")
        time.sleep(random.uniform(0, 3))
        self.slurm.mend(slot["node"])

    def preempt(self, slot):
        self.slurm.run("sbatch", "-p", "urgent", "-w", slot["node"], "-c", "4", "-o", "/dev/null", "--wrap", "sleep 2")

    def controller(self, _):
        self.slurm.signal("controller", signal.SIGSTOP)
        time.sleep(random.choice([2, LONG]))
        self.slurm.signal("controller", signal.SIGCONT)

    def kill(self, slot):
        """The worker itself, on its node."""
        for pid in self.slurm.workers(slot["job"]):
            os.kill(pid, signal.SIGKILL)

    def notes(self):
        with open(self.folder / "notes", encoding="ascii") as file:
            return [line.split() for line in file]

    def check(self):
        """Nothing acknowledged is lost, no trial has run twice at once, and each lost attempt says why."""
        client, sweep = self.client, self.sweep
        notes, causes = self.notes(), collections.Counter()
        assert not [note for note in notes if note[0] == "twice"]
        for trial in client.trials(sweep):
            # A step that was saved and not acknowledged may be missing, the last one too.
            assert trial["state"] == "COMPLETED" and trial["step"] >= 14, trial
            reports = client.reports(sweep, trial["trial"])
            steps = [report["step"] for report in reports]
            acknowledged = {int(step) for _, name, step in notes if int(name) == trial["trial"]}
            assert acknowledged <= set(steps) and steps == sorted(set(steps)), (trial, steps)
            attempts = client.call("trial.get", sweep=sweep, trial=trial["trial"])["attempts"]
            for attempt in attempts[:-1]:
                assert attempt["cause"], attempt
                causes[attempt["cause"].split(" on n")[0]] += 1
            for before, after in zip(attempts, attempts[1:]):
                assert before["ended_ms"] <= after["started_ms"], attempts
        assert all(self.named[kind] for kind in WORDS if self.counts[kind]), (self.counts, self.named)
        return f"{dict(self.counts)}; {len(notes)} reports acknowledged; attempts lost: {dict(causes)}"


def test_troubles_of_a_cluster_cost_attempts_alone(slurm, start, tmp_path, capsys):
    random.seed(os.environ.get("SWEEPD_SEED"))
    kinds = [random.choice(KINDS) for _ in range(MOMENTS)] or KINDS
    troubles = Troubles(slurm, start, tmp_path, 40 + 20 * MOMENTS)
    for kind in kinds:
        troubles.befall(kind)
        if MOMENTS:
            time.sleep(random.uniform(0, 8))
    assert troubles.client.wait_sweep(troubles.sweep, timeout=1200)["state"] == "COMPLETED"
    with capsys.disabled():
        print("\n" + troubles.check())

"""Trials that several slots share: their specs, their process, and what they leave behind."""
import glob
import os

from harness import slow, trained, wait_until

MICROBATCHES = 3
FACTS = {"lr": {"value": 0.05}, "width": {"value": 16}, "batch_size": {"value": 15}}


def shared(spec, ranks=2, stages=1):
    """The same trials on several slots each: pipelines of so many stages, with MICROBATCHES."""
    pipeline = {"pipeline": stages, "microbatches": MICROBATCHES} if stages > 1 else {}
    return {**spec, "resources": {"cpu_slots": ranks},
            "parallel": {"data": ranks // stages, **pipeline}}


def alone(spec, ranks=2):
    """The same trials on one slot each, every batch in as many parts."""
    batch = spec["parameters"]["batch_size"]["value"]
    return {**spec, "trainer": {**spec["trainer"], "micro_batch": -(-batch // ranks)}}


def small(**more):
    return trained(**{"run_cap": 2, "parameters": FACTS, **more})


def long(**more):
    """A trial that takes a second or so, with a checkpoint every few steps."""
    return slow(**{"epochs": 60, "run_cap": 1, "retries": 1, "checkpoint": {"every": 5}, **more})


def lead(client, sweep):
    """The process of a running trial's ranks, or None."""
    return next((s["pid"] for s in client.slots() if s["state"] == "BUSY" and s.get("sweep") == sweep), None)


def children(pid):
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="ascii", errors="replace") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if parent == pid:
            found.append(int(path.split("/")[2]))
    return sorted(found)


class Machine:
    """What trials may leave behind: the workers' children, threads, descriptors."""

    def __init__(self, daemon, client):
        self.daemon, self.client = daemon, client
        wait_until(self.is_idle, "workers")
        self.before = self.look()

    def is_idle(self):
        return all(s["state"] == "IDLE" and s.get("holder") is None for s in self.client.slots())

    def look(self):
        pid = self.daemon.process.pid
        workers = [s["pid"] for s in self.client.slots() if s["pid"]]
        return {"children": [children(w) for w in workers],
                "threads": [len(os.listdir(f"/proc/{w}/task")) for w in workers],
                "files": len(os.listdir(f"/proc/{pid}/fd")),
                "files of workers": [len(os.listdir(f"/proc/{w}/fd")) for w in workers]}

    def check(self):
        """All is as it was, once workers that were lost have been started again."""
        seen = []

        def same():
            try:
                seen[:] = [self.look()]
            except OSError:  # one that ends
                return False
            return self.is_idle() and seen[0] == self.before
        try:
            wait_until(same, "nothing left", 20)
        except AssertionError:
            raise AssertionError(f"{self.before} before, {seen} now") from None

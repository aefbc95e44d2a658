"""`sweepd replay` for tests: run it, and sweeps that are worth it."""
import os
import random
import subprocess

from harness import BIN, DEADLINE, ROOT, environment
from search_model import check_point, loss


def replay(path, *args):
    """(status, lines of stdout, stderr)."""
    done = subprocess.run([os.path.join(BIN, "sweepd"), "replay", str(path), *map(str, args)],
                          cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=DEADLINE, env=environment())
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode()


def refused(*args, status=3):
    got, lines, errors = replay(*args)
    assert got == status and lines == [], (got, lines, errors)
    assert errors.startswith("sweepd: ") and errors.count("\n") == 1, errors
    return errors


def database(daemon):
    return os.path.join(daemon.state, "sweepd.db")


class Life:
    """A sweep that meets everything at once, in an order that a seed draws."""

    def __init__(self, daemon, seed, spec):
        self.daemon, self.draw = daemon, random.Random(seed)
        self.client = daemon.client()
        self.sweep = self.client.submit(spec)
        self.held = []

    def any_held(self):
        return self.held.pop(self.draw.randrange(len(self.held)))

    def tell(self):
        t, state = self.any_held(), self.draw.choice(["COMPLETED"] * 6 + ["FAILED", "INFEASIBLE"])
        value = loss(t["params"])
        steps = [s for s in (1, 2, 3, 5, 9) if s > t.get("resume_step", 0)]
        for seq, step in enumerate(steps[:self.draw.randrange(1, 6)], 1):
            sent = "nan" if self.draw.random() < 0.02 else value + 1 / step
            if self.client.report(self.sweep, t, seq, step, loss=sent) != "continue":
                return
        more = {"metrics": {"loss": value}} if self.draw.random() < 0.5 else {}
        self.client.tell(self.sweep, t, state=state, **more)

    def step(self):
        what = self.draw.random()
        if what < 0.4 or not self.held:
            asked = self.client.ask(self.sweep, self.draw.choice([1, 1, 2, 4]))
            assert not {t["trial"] for t in asked} & {t["trial"] for t in self.held}, "two have one trial"
            for t in asked:
                check_point(t["params"])
            self.held += asked
        elif what < 0.88:
            self.tell()
        elif what < 0.93:
            self.client.call("trial.enqueue", sweep=self.sweep, params={})
        elif what < 0.97:
            self.client.call("trial.cancel", sweep=self.sweep, trial=self.any_held()["trial"])
        else:
            self.client.call("sweep.pause", sweep=self.sweep)
            self.client.call("sweep.resume", sweep=self.sweep)

    def kill(self):
        self.daemon.kill9()
        self.client = self.daemon.start().client()

    def live(self, steps, kills=()):
        for i in range(steps):
            if i in kills:
                self.kill()
            self.step()
        return self

    def end(self):
        self.client.call("sweep.cancel", sweep=self.sweep)
        return self

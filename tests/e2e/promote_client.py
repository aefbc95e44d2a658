"""A client that drives sweeps of the promote variant by chance, beside the model of its rule."""
from asha_model import Promote


class Driver:
    """Holds one sweep's model and what the client has in hand. Each act asserts what the daemon
    says against the model; `log` has what happened, so that two daemons can be compared."""

    def __init__(self, client, sweep, config, run_cap, curve, lanes=4, maximize=False):
        self.client = client
        self.sweep = sweep
        self.model = Promote(**config)
        self.run_cap = run_cap
        self.curve = curve  # (trial, step) -> oriented value
        self.lanes = lanes
        self.sign = -1 if maximize else 1
        self.made = 0
        self.attempts = {}
        self.live = {}  # trial -> [handed, seq, step]
        self.log = []
        self.values = {}

    def ask(self):
        """One trial, as the model has it; False: nothing to hand out."""
        want = self.model.next()
        if want is None and self.made < self.run_cap:
            want = self.made + 1
        handed = self.client.ask(self.sweep)
        if want is None:
            assert handed == []
            return False
        t, = handed
        resumed = want <= self.made
        attempt = self.attempts.get(want, 0) + 1
        step = self.model.resume(want) if resumed else 0
        assert (t["trial"], t["attempt"], t["resume_step"]) == (want, attempt, step)
        assert t["parent"] is None
        self.attempts[want] = attempt
        self.made = max(self.made, want)
        self.live[want] = [t, 0, step]
        self.log.append(("ask", want, attempt, step))
        return True

    def report(self, trial, jump=1):
        t, seq, step = self.live[trial]
        step += jump
        value = self.curve(trial, step)
        want = self.model.report(trial, step, value)
        got = self.client.report(self.sweep, t, seq + 1, step, loss=self.sign * value)
        assert got == want, (trial, step, value)
        self.live[trial] = [t, seq + 1, step]
        self.log.append(("report", trial, step, got))
        if got != "continue":
            del self.live[trial]
            # The last one to pause ends the sweep, and with it what is paused.
            late = self.client.report(self.sweep, t, seq + 2, step + 1, loss=0.0)
            assert late == got or late == "stop" and self.client.sweep(self.sweep)["ended_ms"]
        return got

    def act(self, rng, jumps=(1,)):
        """One act by chance; False: nothing is left to do."""
        if len(self.live) < self.lanes and (not self.live or rng.random() < 0.4) and self.ask():
            return True
        if not self.live:
            return False
        trial = rng.choice(sorted(self.live))
        self.report(trial, rng.choice(jumps))
        return True

    def check(self):
        """What can be read agrees with the model."""
        got = self.client.sweep(self.sweep)
        assert got["counts"]["RUNNING"] == len(self.live)
        if got["state"] == "RUNNING":
            assert got["counts"]["PAUSED"] == len(self.model.paused)
        assert {r["step"]: r["n"] for r in got["rungs"]} == {
            step: len(rows) for step, rows in self.model.rungs.items()}
        return got

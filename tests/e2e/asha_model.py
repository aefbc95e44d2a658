"""ASHA's two rules, stop and promote, as docs/design.md has them, written again and plainly: lists,
no trees.

One bracket. Values are oriented: lower is better.
"""
import math


class Trial:
    def __init__(self):
        self.step = 0
        self.value = None  # of the last report of this attempt
        self.filled = set()  # rungs that have this trial's value, or never will


class Asha:
    def __init__(self, grace=1, max_t=27, factor=3, min_results=None):
        self.max_t = max_t
        self.factor = factor
        self.min_results = factor if min_results is None else min_results
        self.rungs = {}
        step = grace
        while step <= max_t:
            self.rungs[step] = []
            step *= factor
        self.trials = {}

    def restart(self, trial):
        """A new attempt starts over; the rungs keep what they have."""
        t = self.trials[trial]
        t.step, t.value = 0, None

    def report(self, trial, step, value):
        """(decision, rung judged or None, n, better)"""
        t = self.trials.setdefault(trial, Trial())
        judged = None
        for rung in sorted(self.rungs):
            if rung > step or rung in t.filled:
                continue
            t.filled.add(rung)
            at_rung = value if rung == step else t.value
            if at_rung is not None:
                self.rungs[rung].append(at_rung)
                judged = (rung, at_rung)
        t.step, t.value = step, value
        n = better = 0
        decision = "continue"
        if judged:
            values = self.rungs[judged[0]]
            n = len(values)
            better = sum(v < judged[1] for v in values)
            if n >= self.min_results and better >= max(1, n // self.factor):
                decision = "stop"
        if step >= self.max_t:
            decision = "stop"  # COMPLETED, whatever the rungs say
        return decision, judged and judged[0], n, better

    def cutoff(self, rung):
        """The value a newcomer must not exceed; None while everybody goes on."""
        values = sorted(self.rungs[rung])
        if len(values) < self.min_results or not values:
            return None
        return values[max(1, math.floor(len(values) / self.factor)) - 1]


class Promote:
    """The promote rule: who pauses where, and who is resumed next."""

    def __init__(self, grace=1, max_t=27, factor=3):
        self.max_t = max_t
        self.factor = factor
        self.rungs = {}  # step -> [(value, trial)], all that was ever recorded there
        step = grace
        while step <= max_t:
            self.rungs[step] = []
            step *= factor
        self.trials = {}
        self.paused = {}  # trial -> rung

    def report(self, trial, step, value):
        """The decision."""
        t = self.trials.setdefault(trial, Trial())
        judged = None
        for rung in sorted(self.rungs):
            if rung > step or rung in t.filled:
                continue
            t.filled.add(rung)
            at_rung = value if rung == step else t.value
            if at_rung is not None:
                self.rungs[rung].append((at_rung, trial))
                judged = rung
        t.step, t.value = step, value
        if step >= self.max_t:
            return "stop"
        if judged is None:
            return "continue"
        self.paused[trial] = judged
        return "pause"

    def best_at(self, rung):
        """The trials that may go on from a rung, best first."""
        rows = sorted(self.rungs[rung])
        return [trial for _, trial in rows[:len(rows) // self.factor]]

    def next(self):
        """The paused trial to resume before a new one is made; None."""
        for rung in sorted((r for r in self.rungs if r < self.max_t), reverse=True):
            for trial in self.best_at(rung):
                if self.paused.get(trial) == rung:
                    return trial
        return None

    def resume(self, trial):
        """The step that it goes on from."""
        del self.paused[trial]
        return self.trials[trial].step

    def place(self, trial):
        """(rung, rank, n, keep) of a paused one."""
        rung = self.paused[trial]
        rows = sorted(self.rungs[rung])
        rank = [t for _, t in rows].index(trial) + 1
        return rung, rank, len(rows), len(rows) // self.factor

    def until(self, trial):
        """The next step at which it is judged."""
        filled = self.trials[trial].filled if trial in self.trials else set()
        return min((r for r in self.rungs if r not in filled), default=self.max_t)

"""ASHA's two rules, stop and promote, as docs/design.md has them, written again and plainly: lists,
no trees.

One bracket. Values are oriented: lower is better.
"""


class Trial:
    def __init__(self):
        self.step = 0
        self.value = None  # of the last report of this attempt
        self.filled = set()  # rungs that have this trial's value, or never will


class Ladder:
    """The rungs, and what the trials have left on them."""

    def __init__(self, grace=1, max_t=27, factor=3):
        self.max_t, self.factor = max_t, factor
        self.rungs = {}  # step -> [(value, trial)], all that was ever recorded there
        step = grace
        while step <= max_t:
            self.rungs[step] = []
            step *= factor
        self.trials = {}

    def fill(self, trial, step, value):
        """The rungs that a report fills: (the highest of them, the value there), or None."""
        t = self.trials.setdefault(trial, Trial())
        judged = None
        for rung in sorted(self.rungs):
            if rung > step or rung in t.filled:
                continue
            t.filled.add(rung)
            at_rung = value if rung == step else t.value
            if at_rung is not None:
                self.rungs[rung].append((at_rung, trial))
                judged = rung, at_rung
        t.step, t.value = step, value
        return judged


class Asha(Ladder):
    """The stop rule."""

    def report(self, trial, step, value):
        """The decision."""
        judged = self.fill(trial, step, value)
        if step >= self.max_t:
            return "stop"  # COMPLETED, whatever the rungs say
        if judged is None:
            return "continue"
        values = [value for value, _ in self.rungs[judged[0]]]
        better = sum(value < judged[1] for value in values)
        return "stop" if len(values) >= self.factor and better >= max(1, len(values) // self.factor) else "continue"


class Promote(Ladder):
    """The promote rule: who pauses where, and who is resumed next."""

    def __init__(self, grace=1, max_t=27, factor=3):
        super().__init__(grace, max_t, factor)
        self.paused = {}  # trial -> rung

    def report(self, trial, step, value):
        """The decision."""
        judged = self.fill(trial, step, value)
        if step >= self.max_t:
            return "stop"
        if judged is None:
            return "continue"
        self.paused[trial] = judged[0]
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

"""A trial of a sweep that this process drives."""
import contextlib
import random
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, Optional

from ._errors import CONFLICT, INVALID_PARAMS, NOT_FOUND, SweepdError
from ._wire import as_step

if TYPE_CHECKING:
    from ._client import Client

BEAT_S = 15.0  # a daemon that was restarted waits a minute for the holder of a trial
GONE = (CONFLICT, NOT_FOUND)  # it was handed to somebody else after too long a silence, cancelled or deleted
MORE = 1000  # trials by which a sweep that had ended is extended; end() takes back what was not used


class Trial:
    """One attempt at a trial. It is kept alive by a thread until report() says to end, done() or failed().

    `resume_step` is the step after which it goes on (0: from the start), from the checkpoint that you kept of it;
    with pbt from the checkpoint of trial `parent`, if that is not None.
    """

    def __init__(self, client: "Client", sweep: int, handed: Dict[str, Any], beat_s: Optional[float] = None,
                 thread: bool = True) -> None:
        self.client = client
        self.sweep = sweep
        self.number: int = handed["trial"]
        self.attempt: int = handed["attempt"]
        self.params: Dict[str, Any] = handed["params"]
        self.resume_step: int = handed["resume_step"]
        self.parent: Optional[int] = handed["parent"]
        self.step: int = self.resume_step
        self.decision = "continue"
        self._seq = 0
        self._over = threading.Event()
        self._beat_s = BEAT_S if beat_s is None else beat_s
        self._beaten = time.monotonic()
        if thread:
            threading.Thread(target=self._beat_on, daemon=True).start()

    @property
    def ended(self) -> bool:
        """Is there nothing more to do for it here?"""
        return self._over.is_set()

    def report(self, step: Optional[int] = None, checkpoint: bool = False, stateless: bool = False, **metrics: Any) -> str:
        """Reports a step's metrics (default: the next step). Anything but "continue" means: end this trial now.

        "stop": it has ended. "pause": keep a checkpoint of this step; the trial may be handed out again.
        `checkpoint`: you keep one of this step in any case, so that a lost trial resumes from it. `stateless`: you will
        not, even if it pauses: then it goes on from its last one, or from scratch.
        """
        if self.ended:
            return "stop" if self.decision == "continue" else self.decision
        step = self.step + 1 if step is None else as_step(step)
        try:
            decision = self.client.report(self.sweep, self.number, self.attempt, self._seq + 1, step, metrics, checkpoint,
                                          stateless)
        except SweepdError as error:
            if error.code not in GONE:
                raise
            decision = "stop"
        self._seq += 1
        self.step = step
        return self._decided(decision)

    def done(self, **metrics: Any) -> None:
        """Ends it as COMPLETED; `metrics`: what it came to, which no pruner compares. Nothing happens if it has ended."""
        self._tell("COMPLETED", metrics, None)

    def failed(self, cause: str, state: str = "FAILED") -> None:
        """Ends it as FAILED; or INFEASIBLE: its params cannot work, which the sampler learns; or PRUNED, by yourself."""
        self._tell(state, {}, cause)

    def beat(self) -> None:
        """Says that this process still works on it, if that is due."""
        if time.monotonic() - self._beaten < self._beat_s:
            return
        self._beaten = time.monotonic()
        try:
            decision = self.client.heartbeat(self.sweep, self.number, self.attempt)
            if not self.ended:
                self._decided(decision)
        except SweepdError as error:
            if error.code in GONE:
                self._decided("stop")

    def _tell(self, state: str, metrics: Dict[str, Any], cause: Optional[str]) -> None:
        if self.ended:
            return
        if state == "COMPLETED" and not metrics and self.step == 0:
            state, cause = "FAILED", "no-metric: nothing was returned, and nothing reported"
        try:
            self.client.tell(self.sweep, self.number, self.attempt, state, metrics, cause=cause)
        except SweepdError as error:
            if error.code not in GONE:
                raise
        self._over.set()

    def _decided(self, decision: str) -> str:
        if decision != "continue":
            self.decision = decision
            self._over.set()
        return decision

    def _beat_on(self) -> None:
        while not self._over.wait(self._beat_s):
            self.beat()


def hand(client: "Client", sweep: int, params: Optional[Dict[str, Any]] = None) -> Optional[Trial]:
    """A trial, with these parameters if they are given, of a sweep that goes on if it had ended. None: somebody cancelled
    it."""
    pause, refused = 0.002, ""
    while True:
        try:
            answer = client.call("trial.ask", sweep=sweep, params=params or None)
        except SweepdError as error:
            if error.code != CONFLICT:
                raise
            answer = {"trials": [], "reason": "done"}
        trials = [Trial(client, sweep, handed) for handed in answer["trials"]]
        for lost in trials[:-1]:
            lost.failed("lost by another process")
        if trials:
            return trials[-1]
        if answer.get("reason") == "done":
            try:
                client.extend(sweep, sum(client.sweep(sweep)["counts"].values()) + MORE)
            except SweepdError as error:
                state = client.sweep(sweep)["state"]
                if state in ("CANCELLED", "FAILED"):
                    return None
                # Another process was quicker, unless one that has ended is refused the same again.
                if error.code not in (CONFLICT, INVALID_PARAMS) or state == "COMPLETED" and refused == str(error):
                    raise
                refused = str(error)
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(0.2, pause * 1.5)


def end(client: "Client", sweep: int) -> bool:
    """Ends a sweep with the trials that it has. False: some of them run, or wait."""
    counts = client.sweep(sweep)["counts"]
    if counts["RUNNING"] or counts["PENDING"]:
        return False
    with contextlib.suppress(SweepdError):  # it has ended already, or another process goes on with it
        client.edit(sweep, run_cap=max(1, sum(counts.values())))
    return True

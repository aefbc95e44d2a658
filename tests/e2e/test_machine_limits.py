"""A machine that refuses processes, threads or memory: the daemon does not start, or serves and says what it waits
for; no trial fails by it."""
import os
import resource
import shutil
import subprocess
import tempfile

import pytest

from harness import BIN, ENDED, Daemon, environment, others_may_run, wait_until

USER = 61000  # and those behind it: the limit counts all processes of a user

STEPS = [("RLIMIT_NPROC", n) for n in (1, 4, 6, 8, 9, 10, 11, 12, 24)] + [
    ("RLIMIT_AS", n << 20) for n in (100, 300, 600, 800, 1000, 2000)]


def program(folder, script, **more):
    return {"name": "limits", "method": "random", "metric": {"name": "loss", "goal": "minimize"},
            "parameters": {"x": {"min": 0.0, "max": 1.0}}, "run_cap": 4, "run": {"cwd": str(folder)},
            "command": ["/bin/sh", "-c", script], **more}


ONCE = "echo '{\"loss\": 1}' >&3"


class Limited(Daemon):
    """The daemon of a user who has limits."""

    def __init__(self, user, **limits):
        super().__init__(tempfile.mkdtemp(prefix="sw-limits-"), "cpu:2")
        self.user, self.limits = user, limits
        os.chown(self.directory, user, user)
        os.chown(self.short, user, user)

    def confine(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.setgroups([])
        os.setgid(self.user)
        for name, n in self.limits.items():
            resource.setrlimit(getattr(resource, name), (n, resource.getrlimit(getattr(resource, name))[1]))
        os.setuid(self.user)

    def start(self):
        env = environment(HOME=self.directory)
        del env["OPENBLAS_NUM_THREADS"]  # most people have not set it
        with open(os.path.join(self.directory, "stderr"), "ab") as stderr:
            self.process = subprocess.Popen(
                [os.path.join(BIN, "sweepd"), "--state", self.state, "--socket", self.socket, "--devices",
                 self.devices, "--log", self.log], cwd=self.directory, stdin=subprocess.DEVNULL, stdout=stderr,
                stderr=stderr, env=env, preexec_fn=self.confine)
        return self


@pytest.fixture
def limited():
    if not others_may_run(USER):
        pytest.skip("only root may be another user, who must be able to run the build")
    made = []

    def make(user, **limits):
        made.append(Limited(user, **limits).start())
        return made[-1]

    yield make
    for daemon in made:
        try:
            daemon.stop()
        finally:
            shutil.rmtree(daemon.directory)


def is_over(client, sweeps):
    """They have ended, or some slot says that the machine refuses it what it needs."""
    return (all(client.sweep(n)["state"] in ENDED for n in sweeps) or
            any("esource temporarily unavailable" in (slot["cause"] or "") or "RLIMIT_NPROC" in (slot["cause"] or "")
                for slot in client.slots()))


@pytest.mark.once("a sanitizer takes more address space than there is")
@pytest.mark.parametrize("what, n", STEPS)
def test_daemon_with_few_resources_does_not_start_or_serves(limited, what, n):
    daemon = limited(USER + 1 + STEPS.index((what, n)), **{what: n})
    wait_until(lambda: daemon.process.poll() is not None or daemon.ready(), "an end, or a daemon that accepts")
    if daemon.process.poll() is not None:
        status, daemon.process = daemon.process.returncode, None
        assert status == 3 and daemon.tail().startswith("sweepd: ") and daemon.tail().count("\n") == 1, (
            status, daemon.tail())
        return
    client = daemon.client()
    sweeps = [client.submit(program(daemon.directory, ONCE, method=method, run_cap=6))
              for method in ("random", "bayes", "bayes")]
    wait_until(lambda: is_over(client, sweeps), "an end, or what it waits for")
    assert [client.sweep(sweep)["counts"]["FAILED"] for sweep in sweeps] == [0, 0, 0], client.trials(1)


def test_program_that_the_machine_does_not_start_goes_back_and_its_slot_rests(limited):
    daemon = limited(USER, RLIMIT_NPROC=100)
    wait_until(daemon.ready, "a daemon that accepts")
    client = daemon.client()
    workers = wait_until(lambda: all(s["state"] == "IDLE" for s in client.slots()) and client.slots(), "two workers")

    def allow(n):
        for slot in workers:
            subprocess.run(["prlimit", "--pid", str(slot["pid"]), f"--nproc={n}:"], user=USER, group=USER, check=True)

    allow(1)
    sweep = client.submit(program(daemon.directory, ONCE))
    refused = "cannot start /bin/sh: Resource temporarily unavailable"
    why = wait_until(lambda: client.trials(sweep) and "takes none" in (
        text := client.call("trial.why", sweep=sweep, trial=1)["text"]) and text, "a trial that says why it waits")
    assert f"takes none ({refused})" in why
    assert refused in [slot["cause"] for slot in client.slots()]
    attempts = client.call("trial.get", sweep=sweep, trial=1)["attempts"]
    assert (attempts[0]["state"], attempts[0]["cause"]) == ("RELEASED", refused)
    allow(100)
    assert client.wait_sweep(sweep)["counts"]["COMPLETED"] == 4

"""Nothing is left of a program when its trial has ended or goes on elsewhere: not of one that its environment does not
show, and not of a chain of forks, however worker and daemon ended."""
import itertools
import os
import shutil
import signal
import subprocess
import tempfile

import pytest

from harness import ROOT, Daemon, alive, others_may_run, wait_until
from programs import own, wait_file

USERS = itertools.count(60000 + os.getpid() % 1000 * 5)  # one a test: processes are counted by user
TAG = f"left{os.getpid()}"         # what the programs are called in /proc

# Whoever runs has the fifo HELD open. A look at /proc would miss a chain of forks.
SCRIPT = f"""
    import ctypes
    libc, attempt = ctypes.CDLL(None), int(os.environ["SWEEPD_ATTEMPT"])
    libc.prctl(15, b"{TAG}", 0, 0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    def holds(name):
        fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.read(fd, 1) != b""
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
    def hold(name):
        if not os.path.exists(name):
            os.mkfifo(name)
        touch("beside" if holds(name) else "alone")
        os.set_inheritable(os.open(name, os.O_RDWR), True)
    hold("held" + os.environ["SWEEPD_TRIAL"].replace("/", "-"))
"""
HIDE = {
    "title": """
    fields = open("/proc/self/stat").read().rpartition(")")[2].split()
    ctypes.memset(int(fields[47]), 32, int(fields[48]) - int(fields[47]))  # where its environment was
""",
    "undumpable": """
    libc.prctl(4, 0, 0, 0, 0)
""",
    "chain": f"""
    subprocess.run(["./chain", "{TAG}", "12000"], close_fds=False)
""",
}
STAY = """
    touch(f"begun{attempt}")
    time.sleep(1000)
"""
REPORT = """
    os.fork() and (report(loss=1), os._exit(0))  # and leaves the other one
    time.sleep(1000)
"""


def held(folder):
    """The trials of which something runs."""
    found = []
    for name in os.listdir(folder):
        if name.startswith("held"):
            fd = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NONBLOCK)
            try:
                found += [name] if os.read(fd, 1) else []
            except BlockingIOError:
                found.append(name)
            finally:
                os.close(fd)
    return found


def zombies(parent):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name == TAG and rest.split()[:2] == ["Z", str(parent)]:
            found.append(pid)
    return found


def worker_of(client):
    return wait_until(lambda: client.slots()[0].get("pid"), "a worker")


@pytest.fixture(params=["root", "another user"])
def place(request):
    """A daemon of that user with one slot, and a folder where its programs may write."""
    if request.param != "root" and not others_may_run(61000):
        pytest.skip("only root may be another user, who must be able to run the build")
    folder = tempfile.mkdtemp(prefix="sw-left-")
    subprocess.run(["cc", "-O1", "-o", os.path.join(folder, "chain"),
                    os.path.join(ROOT, "tests", "e2e", "chain.c")], check=True)
    daemon = Daemon(folder, "cpu:1")
    if request.param != "root":
        # The limit is more than two chains: init may reap a killed worker's dead links late, and they count.
        user = next(USERS)
        daemon.before = ["prlimit", "--nproc=30000", "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        for path in (folder, daemon.short):
            os.chown(path, user, user)
    yield daemon.start(), folder
    daemon.stop()
    shutil.rmtree(folder)


@pytest.mark.parametrize("kind", sorted(HIDE))
def test_nothing_is_left_of_a_program_that_hides(place, kind):
    daemon, folder = place
    client = daemon.client()
    sweep = client.run(own(folder, SCRIPT + HIDE[kind] + REPORT, run={"grace_s": 0.2}))
    assert held(folder) == [], "a trial that has ended has nothing left"
    wait_until(lambda: not zombies(worker_of(client)), "a worker that reaps")

    sweep = client.submit(own(folder, SCRIPT + HIDE[kind] + STAY, run={"grace_s": 0.2}, retries=3))
    wait_file(folder, "begun1")
    os.kill(worker_of(client), signal.SIGKILL)
    wait_file(folder, "begun2")
    worker = worker_of(client)
    daemon.kill9()
    os.kill(worker, signal.SIGKILL)
    client = daemon.start().client()
    wait_file(folder, "begun3")
    assert not os.path.exists(os.path.join(folder, "beside")), "an attempt beside what the one before left"
    client.call("sweep.cancel", sweep=sweep)
    wait_until(lambda: not held(folder), "nothing left after a stop")
    wait_until(lambda: not zombies(worker_of(client)), "a worker that reaps")


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.slots("cpu:1")
def test_program_whose_trial_has_ended_is_not_forgotten_in_its_grace(daemon, client, tmp_path, both):
    """Its worker is killed with the daemon, or after the next daemon's start."""
    sweep = client.submit(own(tmp_path, SCRIPT + STAY))
    wait_file(tmp_path, "begun1")
    client.call("sweep.cancel", sweep=sweep)
    client.wait_sweep(sweep)
    worker = worker_of(client)
    assert held(tmp_path)
    daemon.kill9()
    if both:
        os.kill(worker, signal.SIGKILL)
    client = daemon.start().client()
    if not both:
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not alive(worker), "the worker's end")
    client.wait_sweep(client.submit(own(tmp_path, "report(loss=1)")))
    assert not held(tmp_path)

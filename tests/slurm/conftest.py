"""sweepd on a real Slurm of two nodes (testbed), and on machines that only sshd stands for.

scripts/check runs these where slurm-wlm and openssh-server are installed. By hand: `python3 -m pytest tests/slurm`,
with SWEEPD_BIN for another build; `-k ssh` needs no Slurm.
"""
import os
import shutil
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "clients", "python")]

from cluster import Executor, Machines, Slurm  # noqa: E402
from harness import Daemon  # noqa: E402

os.environ["SWEEPD_SOCKET"] = "/nowhere/sweepd.sock"


@pytest.fixture(name="slurm", scope="session")
def slurm_fixture(tmp_path_factory):
    """The cluster. A test leaves its nodes up."""
    if not all(shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") for name in ("sbatch", "slurmd", "munged")):
        pytest.skip("no slurm-wlm or no munge here")
    slurm = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        why = slurm.up()  # nothing of ours runs yet, so it is the machine's fault: a container's, say
        if why is not None:
            pytest.skip(f"no Slurm comes up here: {why}")
        yield slurm
    finally:
        slurm.down()


@pytest.fixture(name="machines")
def machines_fixture(tmp_path):
    """Two machines behind ssh, box1 with two slots and box2 with one."""
    if not shutil.which("ssh") or not os.path.exists("/usr/sbin/sshd"):
        pytest.skip("no openssh-server here")
    machines = Machines(tmp_path / "ssh")
    yield machines
    machines.end()


@pytest.fixture(name="site", params=["slurm", "ssh"])
def site_fixture(request):
    """One or the other."""
    return request.getfixturevalue({"slurm": "slurm", "ssh": "machines"}[request.param])


@pytest.fixture(name="executor")
def executor_fixture(site, tmp_path):
    """The site's executor, called as the daemon calls it. What it began is ended with the test."""
    executor = Executor(site, tmp_path / "jobs 100%a")
    yield executor
    executor.end()


@pytest.fixture(name="start")
def start_fixture(tmp_path):
    """start(devices, *options) gives a running daemon on a fresh state directory, as in tests/e2e."""
    daemons = []

    def make(devices, *more, **env):
        directory = tmp_path / f"d{len(daemons)}"
        directory.mkdir()
        daemons.append(Daemon(directory, devices, more))
        return daemons[-1].start(**env)

    yield make
    for daemon in daemons:
        daemon.stop()

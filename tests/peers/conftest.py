"""Other tools' own tests and examples, run on a daemon of this build.

scripts/check runs them with the Python of build/peers, which has the packages of requirements.txt. By hand:
`build/peers/bin/python -m pytest tests/peers`, with SWEEPD_BIN for another build.
"""
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "clients", "python")]

from harness import BIN, Daemon  # noqa: E402


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    """One daemon for all tests of a process, in the environment as the one that sweepd's client looks for."""
    daemon = Daemon(tmp_path_factory.mktemp("daemon")).start()
    os.environ.update(SWEEPD_SOCKET=daemon.socket, SWEEPD_BIN=BIN)
    yield daemon
    daemon.stop()

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from harness import BIN, Daemon  # noqa: E402

# What runs again with sanitizers: files that reach code which no C suite runs with them. That is the programs
# themselves, processes and their ends, files and sockets of a real system, and answers made of many rows. The rules
# of a sweep, of its samplers and of its spec are told by C suites and stories, which all run with sanitizers.
SANITIZED = """
best checkpoint checkpoint_files cli clients_trial command command_left command_ranks
command_resume crash export export_files fairness gang gang_faults gpu_auto gpu_gangs gpu_lanes
gpus lanes limits machine_limits memory pbt predict promote replay replay_altered
result_schemas simulate socket_safety state_safety stop system train warm
warm_import why worker
""".split()


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes tens of seconds")
    config.addinivalue_line("markers", "once(why): not run again with sanitizers (SWEEPD_SANITIZED)")
    config.addinivalue_line("markers", "slots(devices, *options): of the daemon of the fixtures daemon and client")
    for name in SANITIZED:
        assert os.path.exists(os.path.join(os.path.dirname(__file__), f"test_{name}.py")), name
    for program in ("sweepd", "sweep", "sweep-worker"):
        path = os.path.join(BIN, program)
        if not os.access(path, os.X_OK):
            pytest.exit(f"{path} is not there: scripts/build, or set SWEEPD_BIN", returncode=4)


def pytest_collection_modifyitems(config, items):
    """The longest first: where tests run beside each other, none of them is left alone at the end."""
    if "SWEEPD_SANITIZED" in os.environ:
        out = [item for item in items
               if item.path.stem.removeprefix("test_") not in SANITIZED or item.get_closest_marker("once")]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_sessionstart():
    """Before the first test: some look at moments that pass while a schema is compiled."""
    os.environ["SWEEPD_SOCKET"] = "/nowhere/sweepd.sock"  # a client in a test finds no daemon but its own
    if "SWEEPD_CHECK_ANSWERS" in os.environ:
        import schemas
        schemas.validators()
        schemas.spec_validator()


def pytest_terminal_summary(terminalreporter):
    """What tests have counted."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "counts":
                terminalreporter.line(f"{value} ({report.nodeid.rpartition('::')[2]})")


@pytest.fixture
def start(tmp_path):
    """start(devices, *options) gives a running daemon on a fresh state directory; all end with the test."""
    daemons = []

    def make(devices="none", *more, **env):
        directory = tmp_path / f"d{len(daemons)}"
        directory.mkdir()
        daemons.append(Daemon(directory, devices, more))
        return daemons[-1].start(**env)

    yield make
    failures = []
    for daemon in daemons:
        try:
            daemon.stop()
        except AssertionError as error:
            failures.append(str(error))
    assert not failures, "\n".join(failures)


@pytest.fixture
def daemon(request, start):
    """A daemon as the test, or its file, is marked: slots("cpu:2", *options); else without slots."""
    mark = request.node.get_closest_marker("slots")
    return start(*mark.args) if mark else start("none")


@pytest.fixture
def client(daemon):
    return daemon.client()

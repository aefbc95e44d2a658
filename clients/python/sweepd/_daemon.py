"""Finds the daemon's socket, and starts a daemon if none listens there."""
import os
import shutil
import subprocess
import sys
import time
from typing import Optional

from ._errors import SweepdError
from ._programs import FOLDER


def default_socket() -> str:
    """The path that the `sweep` command uses."""
    if os.environ.get("SWEEPD_SOCKET"):
        return os.environ["SWEEPD_SOCKET"]
    run, own = os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}"
    if run.startswith("/"):
        return f"{run}/sweepd/sweepd.sock"
    if os.path.isdir(own) and os.stat(own).st_uid == os.getuid():
        return f"{own}/sweepd/sweepd.sock"
    return f"/tmp/sweepd-{os.getuid()}/sweepd.sock"


def state_dir() -> str:
    """The folder in which the daemon keeps everything by default."""
    home = os.environ.get("XDG_STATE_HOME", "")
    return os.path.join(home if home.startswith("/") else os.path.expanduser("~/.local/state"), "sweepd")


def told_socket() -> Optional[str]:
    """The socket at which the daemon of the default state folder says that it listens; None: no daemon has run there.
    From cron or another session it is not at default_socket()."""
    try:
        with open(os.path.join(state_dir(), "lock"), encoding="utf-8") as lock:
            return lock.read().split("\n")[1] or None
    except (OSError, ValueError, IndexError):
        return None


def find_program() -> str:
    """SWEEPD_BIN (the program or its folder), what this package's wheel brought, PATH, or the build beside this source."""
    given = os.environ.get("SWEEPD_BIN", "")
    built = os.path.join(os.path.dirname(__file__), "..", "..", "..", "build", "bin", "sweepd")
    for path in (given, os.path.join(given, "sweepd") if given else "", os.path.join(FOLDER, "sweepd"),
                 shutil.which("sweepd"), os.path.abspath(built)):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise SweepdError("no daemon answers, and there is no `sweepd` to start: build it with scripts/build, and put "
                      "build/bin in PATH or in SWEEPD_BIN")


def start(socket: str) -> None:
    """Starts a daemon that outlives this process, says so on stderr, and returns once its socket is there."""
    program, state = find_program(), state_dir()
    os.makedirs(state, mode=0o700, exist_ok=True)
    log = os.path.join(state, "sweepd.log")
    with open(log, "ab") as output:
        process = subprocess.Popen([program, "--state", state, "--socket", socket, "--log", log],
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                                   cwd="/")
    end, pause = time.monotonic() + 30, 0.01
    while not os.path.exists(socket):
        # Another process may have started one at the same moment: its socket counts, too.
        if process.poll() is not None and time.monotonic() > end - 25 or time.monotonic() > end:
            with open(log, encoding="utf-8", errors="replace") as file:
                last = (file.read().strip().splitlines() or ["its log is empty"])[-1]
            raise SweepdError(f"{program} did not start: {last} (its log: {log})")
        time.sleep(pause)
        pause = min(pause * 2, 0.2)
    print(f"sweepd: no daemon answered at {socket}: started {program} (process {process.pid}, state {state}); "
          f"`kill {process.pid}` ends it", file=sys.stderr)

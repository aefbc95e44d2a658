"""What `sweep watch` looks like, as golden files in screens/: captures of tmux at several sizes, and what a pipe gets.
Times are masked. SWEEPD_GOLDEN=1 in the environment writes the files anew. One sweep stands still in its middle."""
import os
import re
import shutil
import subprocess
import time

import pytest

from test_sweep import SWEEP, daemon, env  # noqa: F401

SCREENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "screens")
AGAIN = "SWEEPD_GOLDEN" in os.environ
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux")


def masked(text):
    """Without what the clock says: the header's times, and the column of seconds."""
    lines = [re.sub(r"(elapsed|ETA) [0-9.a-z]+", r"\1 TIME", line.rstrip()) for line in text.rstrip().split("\n")]
    lines = [re.sub(r"(ETA TIME) .*…$", r"\1 …", line) for line in lines]  # where it is cut depends on them
    for at, line in enumerate(lines):
        column = re.search(r" +seconds\b", line) if line.startswith("trial ") else None
        for row in range(at + 1, len(lines) if column else 0):
            if re.match(r"\d+/\d+ ", lines[row]):
                lines[row] = lines[row][:column.start()] + "    TIME".rjust(len(column[0])) + lines[row][column.end():]
    return "\n".join(lines) + "\n"


def check(name, look):
    """Does look() come to show what the file has?"""
    path = os.path.join(SCREENS, name)
    end, seen, same = time.monotonic() + 60, "", 0
    want = None
    if not AGAIN:
        with open(path, encoding="utf-8") as file:
            want = file.read()
    while time.monotonic() < end and seen != want and same < 20:
        time.sleep(0.05)
        before, seen = seen, masked(look())
        same = same + 1 if AGAIN and seen == before and "RUNNING" in seen else 0
    if AGAIN:
        with open(path, "w", encoding="utf-8") as file:
            file.write(seen)
    else:
        assert seen == want


class Pane:
    """The command on a terminal of tmux."""

    def __init__(self, folder, path, width, height, *args, **more):
        self.at = ["tmux", "-f", "/dev/null", "-S", os.path.join(folder, "tmux")]
        self.env = env(path, TERM="xterm-256color", **more)
        self.env.pop("TMUX", None)
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), "-s", "a", "sleep 1000", ";",
                  "set", "-g", "status", "off", ";", "set", "-g", "remain-on-exit", "on", ";",
                  "respawn-pane", "-k", " ".join([SWEEP, *args]))

    def tmux(self, *args):
        done = subprocess.run([*self.at, *args], env=self.env, capture_output=True, text=True, timeout=60,
                              encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def look(self, *options):
        return self.tmux("capture-pane", "-p", "-t", "a", *options)

    def wait_for(self, pattern, *options):
        end = time.monotonic() + 60
        while not re.search(pattern, self.look(*options)):
            assert time.monotonic() < end, self.look(*options)
            time.sleep(0.05)

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "a", *keys)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")


@pytest.fixture
def still(daemon):  # noqa: F811
    """A daemon whose sweep stands still after so many steps."""
    return str(daemon("--trials", "40", "--tick", "100000", "--steps", "46")[1])


@needs_tmux
@pytest.mark.parametrize("width,height", [(80, 24), (100, 30), (60, 15), (160, 50)])
def test_live_table_at(still, tmp_path, width, height):
    with Pane(tmp_path, still, width, height, "watch", "1") as pane:
        check(f"{width}x{height}.txt", pane.look)


@needs_tmux
def test_live_table_without_utf8(still, tmp_path):
    with Pane(tmp_path, still, 80, 24, "watch", "1", LC_ALL="C") as pane:
        check("ascii.txt", pane.look)


@needs_tmux
@pytest.mark.parametrize("colored,more", [(True, {}), (False, {"NO_COLOR": "1"})])
def test_live_table_has_colour_unless_told_otherwise(still, tmp_path, colored, more):
    with Pane(tmp_path, still, 80, 24, "watch", "1", **more) as pane:
        check("80x24.txt", pane.look)
        assert (re.search("\x1b\\[3[1-7]m", pane.look("-e")) is not None) == colored


@needs_tmux
@pytest.mark.parametrize("name,width,height,keys", [
    ("help-80x24", 80, 24, "?"), ("help-60x15", 60, 15, "?"), ("best-first-80x24", 80, 24, "s"),
    ("by-state-100x30", 100, 30, "f f s s"), ("end-60x15", 60, 15, "s End Up")])
def test_keys_change_the_table(still, tmp_path, width, height, keys, name):
    with Pane(tmp_path, still, width, height, "watch", "1") as pane:
        check(f"{width}x{height}.txt", pane.look)
        pane.keys(*keys.split())  # at once: each counts from what the one before it made of the table
        check(name + ".txt", pane.look)
        pane.keys("Escape")  # back, and in time: an Esc is not held for the rest of an arrow
        check(f"{width}x{height}.txt", pane.look)


@needs_tmux
@pytest.mark.parametrize("width,height", [(80, 24), (60, 15)])
def test_curve_of_a_trial(still, tmp_path, width, height):
    with Pane(tmp_path, still, width, height, "watch", "1") as pane:
        check(f"{width}x{height}.txt", pane.look)
        pane.keys("Enter")
        check(f"curve-{width}x{height}.txt", pane.look)
        pane.keys("Down", "Up")  # to the next trial's and back
        check(f"curve-{width}x{height}.txt", pane.look)
        pane.keys("q")
        check(f"{width}x{height}.txt", pane.look)


@needs_tmux
def test_curve_grows_as_its_trial_goes_on(daemon, tmp_path):  # noqa: F811
    path = str(daemon("--trials", "40", "--tick", "0.5")[1])
    with Pane(tmp_path, path, 80, 24, "watch", "1") as pane:
        seen, end = set(), time.monotonic() + 60
        pane.wait_for("RUNNING")
        pane.keys("Enter")
        while len(seen) < 3:
            assert time.monotonic() < end, pane.look()
            plot = re.search(r"rungs .* [A-Z]+\n((.*\n)*)", pane.look())
            if plot:
                seen.add(plot[1])


@needs_tmux
def test_curve_of_a_sweep_that_has_ended_beside_one_that_goes_on(daemon, tmp_path):  # noqa: F811
    path = str(daemon("--trials", "8", "--tick", "100000", "--steps", "9", "--ended", "1")[1])
    with Pane(tmp_path, path, 80, 24, "watch", "1", "2") as pane:
        pane.wait_for("sweep 2 digits")
        pane.keys("Enter")
        pane.wait_for(r"trial 1/\d (.*\n)*.*rungs .* (COMPLETED|PRUNED)\n")
        pane.keys("q", "Tab", "Enter")
        pane.wait_for(r"trial 2/\d (.*\n)*.*rungs .* RUNNING\n")


@needs_tmux
def test_row_under_the_cursor_is_shown_in_reverse(still, tmp_path):
    with Pane(tmp_path, still, 80, 24, "watch", "1", NO_COLOR="1") as pane:
        check("80x24.txt", pane.look)
        pane.keys("Down", "Down")
        pane.wait_for(r"\n\x1b\[7m1/21 .*\n(?!\x1b\[7m)", "-e")
        check("80x24.txt", pane.look)


def test_piped(still):
    p = subprocess.Popen([SWEEP, "watch", "1"], env=env(still), stdout=subprocess.PIPE, text=True, encoding="utf-8")
    lines = []
    while not lines or lines[-1].strip():
        lines.append(p.stdout.readline())
    p.kill()
    p.wait()
    check("piped.txt", lambda: "".join(lines))


@needs_tmux
def test_seconds_tick_where_nothing_happens(still, tmp_path):
    with Pane(tmp_path, still, 160, 24, "watch", "1") as pane:
        seen, end = {}, time.monotonic() + 60
        while time.monotonic() < end and (len(seen) < 3 or any(len(values) < 3 for values in seen.values())):
            time.sleep(0.1)
            for line in pane.look().split("\n"):
                found = re.match(r"(sweep 1).*elapsed (\S+)|(1/\d+) +RUNNING .* (\d+\.\d)(?: |$)", line)
                if found:
                    seen.setdefault(found[1] or found[3], set()).add(found[2] or found[4])
        assert len(seen) == 3 and all(len(values) >= 3 for values in seen.values()), seen


@needs_tmux
def test_line_that_another_program_prints_does_not_stay_in_the_table(still, tmp_path):
    with Pane(tmp_path, still, 80, 24, "watch", "1") as pane:
        check("80x24.txt", pane.look)
        with open(pane.tmux("display-message", "-p", "-t", "a", "#{pane_tty}").strip(), "w", encoding="utf-8") as tty:
            end = time.monotonic() + 60
            while "daemon's log" not in pane.look() and time.monotonic() < end:
                tty.write("\r\n2026 info a line of the daemon's log\r\n" * 3)
                tty.flush()
        check("80x24.txt", pane.look)

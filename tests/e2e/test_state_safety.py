"""The state directory and the files in it: another's, taken away in use, put back by halves, damaged.

Tests that need a second user run as root; elsewhere they are skipped."""
import os
import shutil

import pytest

from harness import DEADLINE, Daemon, driven, trained

NOBODY = 65534
two_users = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder to nobody")


def database(daemon, suffix=""):
    return os.path.join(daemon.state, "sweepd.db" + suffix)


def log(daemon):
    with open(daemon.log, encoding="utf-8") as file:
        return file.read()


def refusal(tmp_path, state):
    """Starts sweepd on that state directory, which it must refuse: its one line."""
    directory = tmp_path / f"refused{len(os.listdir(tmp_path))}"
    directory.mkdir()
    daemon = Daemon(directory)
    daemon.state = str(state)
    return daemon.refused()


# --- another's ---

@two_users
def test_state_directory_of_another_user_is_refused(tmp_path):
    state = tmp_path / "theirs"
    state.mkdir(mode=0o755)
    os.chown(state, NOBODY, NOBODY)
    line = refusal(tmp_path, state)
    assert f"the state directory {state} belongs to another user (uid 65534)" in line
    assert "--state DIR" in line and os.listdir(state) == []


@pytest.mark.parametrize("which", ["checkpoints", "checkpoints/1"])
def test_checkpoints_behind_a_link_are_not_removed(start, tmp_path, which):
    """Neither at start nor for a sweep that runs, which then keeps none."""
    foreign = tmp_path / "foreign"
    (foreign / "1").mkdir(parents=True)
    files = [foreign / "1-1.ckpt", foreign / "1" / "1-1.ckpt"]
    for file in files:
        file.write_bytes(b"of another program")
    daemon = start("none")
    assert daemon.term() == 0
    link = os.path.join(daemon.state, which)
    os.makedirs(os.path.dirname(link), exist_ok=True)
    os.symlink(foreign, link)
    daemon.devices = "cpu:1"
    client = daemon.start().client()
    assert [file.read_bytes() for file in files] == [b"of another program"] * 2
    sweep = client.run(trained(epochs=3, run_cap=2, checkpoint={"every": 1}), "COMPLETED")
    assert "checkpoint.folder" in log(daemon) and f'{link} is a link, or not a folder' in log(daemon)
    assert sorted(foreign.rglob("*.ckpt")) == sorted(files)


# --- taken away in use ---

def replace(path):
    """Another file with the same bytes in its place."""
    shutil.copy(path, path + ".copy")
    os.rename(path + ".copy", path)


TAKEN = [(suffix, take) for suffix in ("", "-wal") for take in (os.unlink, replace)]


def ended(daemon):
    status = daemon.process.wait(DEADLINE)
    daemon.process = None
    return status


@pytest.mark.parametrize("suffix,take", TAKEN)
def test_database_taken_away_ends_an_idle_daemon(daemon, suffix, take):
    take(database(daemon, suffix))
    assert ended(daemon) == 70
    assert f"the database in {daemon.state} was removed or replaced" in log(daemon)


@pytest.mark.parametrize("suffix,take", TAKEN)
def test_nothing_is_acknowledged_after_the_database_was_taken_away(daemon, client, suffix, take):
    client.submit(driven())
    take(database(daemon, suffix))
    with pytest.raises((AssertionError, BrokenPipeError)):
        client.submit(driven())
    assert ended(daemon) == 70


# --- put back by halves ---

def test_database_removed_after_a_crash_begins_anew(daemon, client):
    """What SQLite keeps beside it must not come back in the new one."""
    for _ in range(3):
        client.submit(driven())
    daemon.kill9()
    assert os.path.getsize(database(daemon, "-wal")) > 0
    os.unlink(database(daemon))
    client = daemon.start().client()
    assert client.call("sweep.list")["sweeps"] == []
    assert client.submit(driven()) == 1
    assert "its database is gone" in log(daemon)


def test_older_database_beside_a_newer_log_is_refused_with_what_to_do(daemon, client, tmp_path):
    """The pages of the one and the other do not fit together, and only all three files do."""
    for run in range(3):
        client = daemon.client()
        sweep = client.submit(driven(run_cap=400))
        for _ in range(2):
            for trial in client.ask(sweep, 200):
                client.tell(sweep, trial, metrics={"loss": run})
        if run < 2:
            assert daemon.term() == 0  # which folds the log into the database
            if run == 0:
                shutil.copy(database(daemon), database(daemon, ".old"))
            daemon.start()
    daemon.kill9()
    os.rename(database(daemon, ".old"), database(daemon))
    line = refusal(tmp_path, daemon.state)
    assert "sweepd.db" in line and "is damaged" in line
    assert "put a backup back in the place of sweepd.db, sweepd.db-wal and sweepd.db-shm" in line


# --- damaged ---

FRAME = 24 + 4096


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x10]))


@pytest.mark.parametrize("at", [8 + 16, 32 + 2 * FRAME + 1000])
def test_log_that_is_damaged_before_its_end_is_said_once(daemon, client, at):
    """SQLite drops all that comes behind the damage, and says nothing."""
    for _ in range(6):
        client.submit(driven())
    daemon.kill9()
    flip(database(daemon, "-wal"), at)
    daemon.start()
    assert len(daemon.client().call("sweep.list")["sweeps"]) < 6
    assert log(daemon).count(" warn store.wal ") == 1
    assert "what was acknowledged in their" in log(daemon) and "sweepd replay" in log(daemon)
    daemon.client().submit(driven())
    daemon.kill9()
    daemon.start()
    assert log(daemon).count(" warn store.wal ") == 1


# --- the database in a folder of its own ---

def test_database_in_a_folder_of_its_own(tmp_path, start):
    apart = tmp_path / "apart"
    daemon = start("none", "--database", str(apart))
    sweep = daemon.client().call("sweep.submit", spec=driven())["sweep"]
    daemon.kill9()
    assert (apart / "sweepd.db").exists() and (apart / "lock").exists()
    assert "lock" in os.listdir(daemon.state) and not os.path.exists(database(daemon))
    daemon.start()
    assert daemon.client().call("sweep.get", sweep=sweep)["sweep"] == sweep


def test_database_left_in_the_state_directory_is_not_passed_over(daemon, tmp_path):
    daemon.term()
    daemon.more = ["--database", str(tmp_path / "apart")]
    process = daemon.start(wait=False).process
    assert process.wait(DEADLINE) == 3
    assert f"{database(daemon)} is there: with --database, move it to {tmp_path}/apart" in daemon.tail()
    daemon.process = None

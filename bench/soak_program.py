"""The program of a soak's trials: soak_program.py KIND STEPS. bench/soak.py starts sweeps of it.

Each of its processes holds a lock on a file of the attempt, from here until the last of them has ended: the
lock belongs to the open file, which forks inherit and no kill survives. So the program itself sees whether
another attempt of its trial runs, and the driver sees what is left of an attempt, whatever its environment says.
"""
import contextlib
import fcntl
import os
import struct
import sys

LINGER_S, LIFE_S = 40, 60  # how long a program that heeds nobody goes on; how long any process may live


def flock(fd, what, kind):
    """F_OFD_SETLK or F_OFD_GETLK over the whole file; the lock's type afterwards."""
    return struct.unpack("hhqqi4x", fcntl.fcntl(fd, what, struct.pack("hhqqi4x", kind, 0, 0, 0, 0)))[0]


def is_held(path):
    """Does another open file hold a lock on it? Takes none, so looking disturbs nobody."""
    fd = os.open(path, os.O_RDWR)
    try:
        return flock(fd, fcntl.F_OFD_GETLK, fcntl.F_WRLCK) != fcntl.F_UNLCK
    finally:
        os.close(fd)


def note(path, *words):
    """One write(2) for a line, so that lines of many processes stay whole."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, (" ".join(map(str, words)) + "\n").encode())
    os.close(fd)


def last_word(path):
    """What rank 0 of an attempt wrote into its lock's file when it was told to end."""
    with contextlib.suppress(FileNotFoundError), open(path.rpartition(".")[0] + ".0", encoding="ascii") as file:
        return file.read() or "begun"
    return "begun"


def lock_attempt(kind):
    """Locks the attempt's file, then looks at all others of the trial: of two that overlap, one sees it."""
    sweep, trial = os.environ["SWEEPD_TRIAL"].split("/")
    me = f"{trial}.{os.environ['SWEEPD_ATTEMPT']}.{os.environ.get('RANK', 0)}"
    mine = os.open(f"lock.{me}", os.O_RDWR | os.O_CREAT, 0o600)
    flock(mine, fcntl.F_OFD_SETLK, fcntl.F_RDLCK)
    for name in os.listdir("."):
        if not name.startswith(f"lock.{trial}."):
            continue
        if name == f"lock.{me}":
            twice = flock(mine, fcntl.F_OFD_GETLK, fcntl.F_WRLCK) != fcntl.F_UNLCK
        else:  # ranks of one attempt run together
            twice = name.split(".")[2] != me.split(".")[1] and is_held(name)
        if twice:
            note("../overlaps", kind, sweep, trial, *sorted([me, name[len("lock."):]]), last_word(name))
    return mine


def hide(kind):
    """As setproctitle does it, or as programs that hold secrets do."""
    import ctypes
    if kind == "undumpable":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
        return
    with open("/proc/self/stat", encoding="utf-8") as file:
        begin, _, _, end = map(int, file.read().rpartition(")")[2].split()[45:49])  # arguments and environment
    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, b"soak", 4)


def fork_helpers(signal):
    """One that has left for a session and a parent of its own, one that has not."""
    for away in (True, False):
        pid = os.fork()
        if pid == 0:
            if away:
                os.setsid()
                if os.fork():
                    os._exit(0)
            signal.alarm(LIFE_S)
            while True:
                signal.pause()
        if away:
            os.waitpid(pid, 0)


def main(kind, steps):
    mine = lock_attempt(kind)
    here = {}
    with open("program.py", encoding="utf-8") as file:
        exec(file.read(), here)  # report(), save() and load() of tests/e2e/programs.py
    signal, time = here["signal"], here["time"]
    signal.alarm(LIFE_S)
    heeds = kind not in ("stubborn", "helpers")
    if not heeds:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if kind == "helpers":
        fork_helpers(signal)
    if kind in ("title", "undumpable"):
        hide(kind)
    trial, attempt = os.environ["SWEEPD_TRIAL"], os.environ["SWEEPD_ATTEMPT"]
    numbers = *trial.split("/"), attempt
    if int(os.environ.get("RANK", 0)):
        first = f"lock.{trial.split('/')[1]}.{attempt}.0"
        while not os.path.exists(first) or is_held(first):
            time.sleep(0.05)
        return

    def tell(step, loss):
        if kind != "prints":
            return here["report"](step, loss=loss)
        print(here["json"].dumps({"step": step, "loss": loss}), flush=True)
        while True:  # stored is what it can know; the daemon may be away
            try:
                here["wait_stored"](step)
                return "continue"
            except (OSError, ValueError, KeyError):
                time.sleep(0.05)

    def linger(word):
        """A program that has something else to do before it ends."""
        os.pwrite(mine, word.encode(), 0)
        if kind not in ("plain", "prints"):
            note("../lingering", trial, attempt)
            time.sleep(LINGER_S)

    def save(step):
        here["save"](step)
        if kind == "gaps" and not os.path.exists(os.path.join(here["live"], "cache")):
            os.mkdir(os.path.join(here["live"], "cache"))
            note(os.path.join(here["live"], "cache", "file"), step)
            os.chmod(os.path.join(here["live"], "cache"), 0o555)

    every = 2 + int(numbers[1]) % 4 if kind == "gaps" else 1
    begun = here["load"]()
    note("../begun", *numbers, begun)
    try:
        for step in range(begun + 1, steps + 1):
            time.sleep(0.08)
            save(step)
            if step % every and step < steps:
                continue
            loss = here["params"]["x"] + 1 / step
            decision = tell(step, loss)
            if decision is None:
                note("../refused", trial, attempt, step)
            else:
                note("../answered", *trial.split("/"), step, repr(loss), decision)
            if decision == "pause":
                note("../paused", *numbers, step, time.time())
            if decision != "continue":
                return linger(str(decision))
        os.pwrite(mine, b"done", 0)
    except (OSError, SystemExit):
        linger("gone")  # its worker is


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""bench/soak.py — never two attempts at once, nothing left, lost or repeated, while all is killed

    scripts/bench soak [MINUTES] [SEED]     24 minutes and seed 1 if not given
    scripts/bench soak --quick              about a minute

Sweeps of programs of eight kinds (one reports each few steps and keeps a folder that nobody may write, one starts warm
with a package that writes os.environ), of gangs, of pipelines and of built-in trainers on five CPU slots, clients that
ask and tell, and a journal, all at once and again and again; ended sweeps are deleted, half of them. Meanwhile daemon,
workers and programs are killed (kill -9), stopped (SIGSTOP) and go on, the daemon is ended (SIGTERM) and
started, and its wall clock is set back by days and forth again under --keep-days, in an order that the seed draws.

What is counted:
- overlaps: by the programs themselves. Each process of an attempt holds a lock (soak_program.py) until it has ended.
- left: what runs 20 s after its attempt has ended, by those locks; what runs 5 s after the daemon's SIGTERM, as
  descendants of this process, which takes in all orphans (PR_SET_CHILD_SUBREAPER): no mark of sweepd is looked at;
  files of deleted sweeps.
- lost: answers are written down by who gets them, and each must be in trial.reports after a last kill and start, or
  before the sweep is deleted; entries of the journal that were acknowledged.
- repeated: attempts that begin below a step whose report was answered "pause".

Exit status 0 if all three are 0, each sweep has ended, `sweepd replay` agrees, and the bounds below held. As root it
becomes a user without a name, so that programs that are not dumpable are hidden, and the number of processes bounded.
"""
import argparse
import collections
import contextlib
import ctypes
import glob
import itertools
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings

from common import ROOT, descendants
from soak_program import is_held, last_word, note

import sweepd
from gangs import long, shared
from harness import BIN, ENDED, Daemon, asha, driven, fake_os, trained
from programs import own
from replays import database, replay

KINDS = "plain", "prints", "stubborn", "helpers", "title", "undumpable", "gaps", "package"
SLOTS, LIVE, CLIENTS, STEPS = 5, 4, 2, 9
LEFT_S, TERM_S, DRAIN_S = 20, 5, 120
RSS_MB, FDS, PROCESSES, ZOMBIES = 100, 100, 200, 50  # more is a fault
# Kills: how often, beside the others; every PAUSE_S on average.
WEIGHTS = {"daemon": 25, "daemon + workers": 10, "worker": 25, "program": 20, "stop": 9, "SIGTERM": 5, "clock": 3}
PAUSE_S = 1.2
PRUNERS = [None, asha(max_t=STEPS), asha(max_t=STEPS, variant="promote"), asha(max_t=STEPS, variant="promote"),
           {"type": "pbt", "perturbation_interval": 3}]
PACKAGE = 'import os\nos.environ["SOAK_PACKAGE"] = os.environ.get("SOAK_PACKAGE", "") + "set"\n'
WARM = f"""import soak_package
import os, sys
sys.path.insert(0, {os.path.join(ROOT, "bench")!r})
import soak_program
if os.environ.get("SOAK_PACKAGE") != "set":
    soak_program.note("../refused", "environ", os.environ["SWEEPD_TRIAL"])
soak_program.main(*sys.argv[1:2], int(sys.argv[2]))
"""


def become_nobody(folder):
    """A user that no other process has, if this is root."""
    if os.getuid() == 0:
        uid = 61000 + os.getpid() % 4000
        os.chown(folder, uid, uid)
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        resource.setrlimit(resource.RLIMIT_NPROC, (2 * PROCESSES, 2 * PROCESSES))
    os.environ["HOME"] = folder
    for path in (sys.executable, os.path.join(BIN, "sweepd"), os.path.join(ROOT, "data")):
        if not os.access(path, os.R_OK):
            sys.exit(f"soak: user {os.getuid()} cannot read {path}: run it as an ordinary user who can")


def send(pid, number):
    """Whether it was there to be signalled."""
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


class Soak:
    def __init__(self, folder, seed):
        self.folder, self.rng = folder, random.Random(seed)
        self.python = self.environment_with_package()
        self.fake = fake_os(folder, wall=self.path("wall"))
        self.jump(0)
        self.daemon = Daemon(folder, f"cpu:{SLOTS}", more=["--keep-days", "1"])
        self.start()
        self.client = sweepd.Client(self.daemon.socket, patience_s=60)
        self.kills, self.made, self.ended = collections.Counter(), collections.Counter(), collections.Counter()
        self.peak, self.faults = collections.Counter(), []
        self.deck, self.live, self.folders, self.since = [], {}, {}, {}
        self.left, self.left_paths = collections.Counter(), set()
        self.number = itertools.count(1)
        self.lost, self.told = [], []  # answered reports that are not stored; told: answered "stop"
        self.terms, self.deleted, self.checked, self.gone = [], set(), 0, []
        self.over, self.shm = threading.Event(), set(os.listdir("/dev/shm"))
        self.clients = [threading.Thread(target=self.drive, args=(n,), daemon=True) for n in range(CLIENTS)]
        self.clients.append(threading.Thread(target=self.write_journal, daemon=True))
        for thread in self.clients:
            thread.start()

    def start(self):
        self.daemon.start(**self.fake)

    def jump(self, days):
        """The daemon's wall clock is so many days ahead from now on (fake_os.c)."""
        fd = os.open(self.path("wall"), os.O_RDWR | os.O_CREAT, 0o600)
        os.pwrite(fd, struct.pack("q", int(days * 86400)), 0)
        os.close(fd)

    def environment_with_package(self):
        """The Python of a virtual environment that has the package."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.path("venv")], check=True)
        site, = glob.glob(self.path("venv/lib/python3*/site-packages"))
        with open(os.path.join(site, "soak_package.py"), "w", encoding="ascii") as file:
            file.write(PACKAGE)
        return self.path("venv/bin/python3")

    # Sweeps

    def card(self):
        """(what, spec, folder) of the next sweep, each sort of them as often as the others."""
        if not self.deck:
            self.deck = [*KINDS, *KINDS, "ranks", "trainer", *2 * ["gang", "pipeline"]]
            self.rng.shuffle(self.deck)
        what, pruner, folder = self.deck.pop(), self.rng.choice(PRUNERS), None
        more = {"early_terminate": pruner, "retries": 100, "seed": self.rng.randrange(1 << 30), "run_cap": 6}
        if what in KINDS or what == "ranks":
            kind, run = what, {"grace_s": 2}
            if what == "ranks":
                kind = self.rng.choice(KINDS)
                run["launch"] = "rank"
                more |= {"resources": {"cpu_slots": 2}, "run_cap": 3}
            folder = tempfile.mkdtemp(dir=self.folder, prefix=f"{kind}-")
            spec = own(folder, "", run=run, **more, command=[
                sys.executable, "-S", os.path.join(ROOT, "bench", "soak_program.py"), kind, str(STEPS)])
            if kind == "package":
                with open(os.path.join(folder, "warm.py"), "w", encoding="ascii") as file:
                    file.write(WARM)
                spec["command"] = [self.python, os.path.join(folder, "warm.py"), kind, str(STEPS)]
        elif what == "trainer":
            spec = trained(epochs=STEPS, **more)
        else:
            more |= {"run_cap": 3, "early_terminate": self.rng.choice([None, asha(variant="promote", max_t=81)])}
            spec = shared(long(epochs=81, **more), stages=2 if what == "pipeline" else 1)
        return what, spec, folder

    def submit(self, client, what, spec):
        """A submit that a kill has cut short may have been taken: its name says so."""
        spec["name"] = f"{what}-{next(self.number)}"
        taken = []
        while not taken:
            try:
                taken = [client.submit(spec)]
            except sweepd.SweepdError as error:
                if error.code:
                    raise
                taken = [row["sweep"] for row in client.sweeps() if row["name"] == spec["name"]]
        self.live[taken[0]] = what
        self.made[what] += 1
        return taken[0]

    def look_at_sweeps(self):
        for sweep in list(self.live):
            state = self.client.sweep(sweep)["state"]
            if state == "PAUSED":  # by itself: its first trials were killed before they reported
                self.client.resume(sweep)
                self.ended["PAUSED and resumed"] += 1
            elif state in ENDED:
                what = self.live.pop(sweep)
                self.ended[state] += 1
                if what != "ask/tell" and self.rng.random() < 0.5:
                    self.gone.append(sweep)
        for sweep in [sweep for sweep in self.gone if sweep not in self.folders]:
            self.delete(sweep)
            self.gone.remove(sweep)

    def delete(self, sweep):
        """Its reports are looked at first. A deletion that a kill has cut short may have been done."""
        self.checked += len(self.stored_of(sweep))
        while sweep in {row["sweep"] for row in self.client.sweeps()}:
            try:
                self.client.delete(sweep)
            except sweepd.SweepdError as error:
                if error.code and error.code != -32002:  # CONFLICT: a program of its is still being ended
                    raise
                time.sleep(0.1)
        self.deleted.add(sweep)
        self.ended["deleted"] += 1

    def stored_of(self, sweep):
        """Answered rows of the sweep, each with whether all answers to it were "stop"; those that are not stored are lost."""
        answered = {row: stop for row, stop in self.answered().items() if row[0] == sweep}
        for trial in {row[1] for row in answered}:
            stored = {(r["step"], r["metrics"]["loss"]) for r in self.client.reports(sweep, trial)}
            for row in answered:
                if row[1] == trial and row[2:] not in stored:
                    (self.told if answered[row] else self.lost).append(row)
        return answered

    def look_at_locks(self):
        """Attempts that have ended and whose processes have not; folders of ended sweeps go."""
        now = time.monotonic()
        for sweep, folder in list(self.folders.items()):
            running = {(t["trial"], t["attempt"]) for t in self.client.trials(sweep) if t["state"] == "RUNNING"}
            held = [path for path in glob.glob(os.path.join(folder, "lock.*")) if is_held(path)]
            for path in held:
                trial, attempt, _ = map(int, os.path.basename(path).split(".")[1:])
                since = self.since.setdefault(path, now)
                if (trial, attempt) in running:
                    del self.since[path]
                elif now - since > LEFT_S and path not in self.left_paths:
                    self.left_paths.add(path)
                    what = f"of an ended attempt ({os.path.basename(folder).split('-')[0]}, {last_word(path)})"
                    self.left[what] += 1
                    print(f"{time.strftime('%H:%M:%S')} left: {what}: {sweep}/{trial}, attempt {attempt}", flush=True)
            if not held and sweep not in self.live:
                del self.folders[sweep]
                shutil.rmtree(folder)

    def drive(self, number):
        """A client that asks, reports and tells, sweep after sweep, whatever becomes of the daemon."""
        rng, client = random.Random(number), sweepd.Client(self.daemon.socket, patience_s=60)
        while not self.over.is_set():
            sweep = self.submit(client, "ask/tell", driven(run_cap=20, lease_s=5, early_terminate=rng.choice(PRUNERS)))
            asked = {}
            while asked.get("reason") != "done":
                asked = client.ask(sweep)
                for handed in asked["trials"]:
                    self.attempt(client, sweep, handed)
                time.sleep(0.02)

    def attempt(self, client, sweep, handed):
        trial, attempt = handed["trial"], handed["attempt"]
        try:
            for seq, step in enumerate(range(handed["resume_step"] + 1, STEPS + 1), 1):
                loss = handed["params"]["x"] + 1 / step
                decision = client.report(sweep, trial, attempt, seq, step, {"loss": loss})
                note(self.path("told"), sweep, trial, step, repr(loss), decision)
                time.sleep(0.05)
                if decision != "continue":
                    return
            client.tell(sweep, trial, attempt)
        except sweepd.SweepdError as error:
            if error.code != -32002:  # CONFLICT: its lease ran out while the daemon was away
                raise

    def path(self, name):
        return os.path.join(self.folder, name)

    def lines(self, name):
        try:
            with open(self.path(name), encoding="ascii") as file:
                return [line.split() for line in file]
        except FileNotFoundError:
            return []

    # Processes

    def tree(self):
        """{pid: (parent, state, name)} of all that descends from this process, which reaps its orphans meanwhile."""
        found = descendants(os.getpid())
        for pid, (parent, state, _) in list(found.items()):
            if parent == os.getpid() and state == "Z" and pid != getattr(self.daemon.process, "pid", 0):
                os.waitpid(pid, os.WNOHANG)
                del found[pid]
        return found

    def those(self, what):
        """Processes of one sort that live: daemon, worker, program."""
        tree, found = self.tree(), []
        for pid, (_, state, name) in tree.items():
            sort = "program"
            if name == "sweepd":
                sort = "daemon"
            elif name == "sweep-worker":
                sort = "worker"
            if sort == what and state not in "ZX":
                found.append(pid)
        return sorted(found)

    def strike(self, what, number):
        """Signals one of them; its pid, or None if there was none for three seconds."""
        end = time.monotonic() + 3
        while not (pids := self.those(what)) and time.monotonic() < end:
            time.sleep(0.02)
        pid = self.rng.choice(pids) if pids else None
        return pid if pid and send(pid, number) else None

    def kill(self):
        what = self.rng.choices(list(WEIGHTS), WEIGHTS.values())[0]
        if what == "stop":
            victim = self.rng.choice(["daemon", "worker", "program"])
            pid = self.strike(victim, signal.SIGSTOP)
            if pid is None:
                return
            time.sleep(self.rng.uniform(0.05, 2))
            other = self.rng.choice(["worker", "program", None])
            if other and self.strike(other, signal.SIGKILL):
                self.kills[other] += 1
            send(pid, signal.SIGCONT)
            what = f"SIGSTOP {victim}"
        elif what == "SIGTERM":
            self.end_daemon()
            self.start()
        elif what == "clock":
            self.jump(self.rng.choice([-3, -1.5, 0]))
            if self.rng.random() < 0.5:
                self.daemon.kill9()
                self.start()
        elif what.startswith("daemon"):
            if what != "daemon" and self.rng.random() < 0.5:  # while some program has been told to end
                before, end = len(self.lines("lingering")), time.monotonic() + 3
                while len(self.lines("lingering")) == before and time.monotonic() < end:
                    time.sleep(0.02)
            self.daemon.kill9()
            for pid in self.those("worker") if what != "daemon" else []:
                send(pid, signal.SIGKILL)
            self.start()
        elif self.strike(what, signal.SIGKILL) is None:
            return
        self.kills[what] += 1

    def end_daemon(self):
        """SIGTERM: it ends with 0, and nothing of it is left."""
        begun = time.time()
        status = self.daemon.term()
        self.terms.append((begun, time.time()))
        if status:
            self.faults.append(f"sweepd ended with {status} at SIGTERM")
        end = time.monotonic() + TERM_S
        while self.those_left() and time.monotonic() < end:
            time.sleep(0.05)
        for pid, name in self.those_left().items():
            self.left[f"after SIGTERM ({name})"] += 1
            send(pid, signal.SIGKILL)

    def those_left(self):
        return {pid: name for pid, (_, state, name) in self.tree().items() if state not in "ZX"}

    def measure(self):
        if self.daemon.process.poll() is not None:
            raise SystemExit(f"soak: sweepd ended by itself with {self.daemon.process.poll()}: {self.daemon.tail()}")
        pid, tree = self.daemon.process.pid, self.tree()
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            rss = int(file.read().split()[1]) * resource.getpagesize() >> 20
        now = {"daemon MB": rss, "daemon fds": len(os.listdir(f"/proc/{pid}/fd")), "processes": len(tree),
               "zombies": sum(state == "Z" and parent != os.getpid() for parent, state, _ in tree.values())}
        self.peak |= collections.Counter(now)
        if now["processes"] > 2 * PROCESSES:
            raise SystemExit(f"soak: {now['processes']} processes: ended before the machine is full")
        return now

    # The run

    def look(self):
        self.measure()
        self.look_at_sweeps()
        self.look_at_locks()

    def run(self, minutes):
        begun, second, minute = time.monotonic(), 0, 1
        kill_at = begun + 1
        while (now := time.monotonic()) < begun + minutes * 60:
            if now >= kill_at:
                self.kill()
                kill_at = time.monotonic() + self.rng.expovariate(1 / PAUSE_S)
            if now - second >= 1:
                second = now
                self.look()
            if sum(what != "ask/tell" for what in list(self.live.values())) < LIVE:
                what, spec, folder = self.card()
                sweep = self.submit(self.client, what, spec)
                if folder:
                    self.folders[sweep] = folder
            if now >= begun + minute * 60:
                print(self.line(minute), flush=True)
                minute += 1
            time.sleep(0.05)

    def drain(self):
        """No more kills: each sweep ends, and each process of an ended one."""
        self.over.set()
        end = time.monotonic() + DRAIN_S
        while (self.live or self.folders or self.gone or any(t.is_alive() for t in self.clients)) and time.monotonic() < end:
            self.look()
            time.sleep(0.2)
        for sweep, what in self.live.items():
            self.faults.append(f"sweep {sweep} ({what}) has not ended: {self.client.sweep(sweep)['counts']}")

    def answered(self):
        """{(sweep, trial, step, loss): were all answers to it "stop"?}

        A program whose attempt has ended is told to stop by the answer to its next report, which is not stored.
        """
        answered = {}
        for sweep, trial, step, loss, decision in self.lines("answered") + self.lines("told"):
            row = int(sweep), int(trial), int(step), float(loss)
            answered[row] = answered.get(row, True) and decision == "stop"
        return answered

    def look_for_lost(self):
        """After a kill and a start, of the sweeps that were not deleted."""
        self.daemon.kill9()
        self.start()
        for sweep in {row[0] for row in self.answered()} - self.deleted:
            self.checked += len(self.stored_of(sweep))

    def repeated(self):
        """Pauses whose trial began again before their step. One that the daemon's end caused kept nothing by itself."""
        begun, found = collections.defaultdict(list), []
        for sweep, trial, attempt, step in self.lines("begun"):
            begun[sweep, trial].append((int(attempt), int(step)))
        for sweep, trial, attempt, step, when in self.lines("paused"):
            later = [at for of, at in sorted(begun[sweep, trial]) if of > int(attempt)]
            if later and later[0] < int(step) and not any(a <= float(when) <= b for a, b in self.terms):
                found.append(f"{sweep}/{trial} paused at {step}, began at {later[0]}")
        return found

    def write_journal(self):
        """What was acknowledged is there, in its order, once; what a kill has cut short may be there. Then it goes."""
        client = sweepd.Client(self.daemon.socket, patience_s=60)
        for number in itertools.count(1):
            name, sure = f"soak-{number}", []
            for entry in map(str, range(20)):
                try:
                    client.call("journal.append", journal=name, entries=[entry])
                    sure.append(entry)
                except sweepd.SweepdError as error:
                    if error.code:
                        raise
                time.sleep(0.02)
            found = client.call("journal.read", journal=name)["entries"]
            if [entry for entry in found if entry in sure] != sure:
                self.faults.append(f"journal {name}: {found} for {sure}")
            try:
                client.call("journal.delete", journal=name)
            except sweepd.SweepdError as error:
                if error.code:
                    raise
            self.ended["journals"] += 1
            if self.over.is_set():
                return

    def overlaps(self):
        """How often, by kind of program and what the earlier attempt had been told last; each pair counts once."""
        pairs = {tuple(words[1:5]): f"{words[0]}, {words[5]}" for words in self.lines("overlaps")}
        return collections.Counter(pairs.values())

    def line(self, minute):
        now = self.measure()
        return (f"{time.strftime('%H:%M:%S')} {minute} min: {sum(self.made.values())} sweeps, {len(self.live)} live; "
                f"{sum(self.kills.values())} kills; answered {len(self.lines('answered'))} + {len(self.lines('told'))}; "
                f"overlaps {sum(self.overlaps().values())}, left {sum(self.left.values())}; "
                + ", ".join(f"{n} {name}" for name, n in now.items()))

    def finish(self):
        """The table; 0 if nothing was wrong."""
        self.drain()
        self.look_for_lost()
        lost, told, repeated = self.lost, len(self.told), self.repeated()
        trials = sum(sum(row["counts"].values()) for row in self.client.sweeps())
        self.left["files of deleted sweeps"] += sum(
            len(glob.glob(os.path.join(self.daemon.state, "*", str(sweep)))) for sweep in self.deleted)
        self.end_daemon()
        status, lines, errors = replay(database(self.daemon))
        if status:
            self.faults.append(f"sweepd replay ended with {status}: {lines[-1:]} {errors.strip()}")
        self.left["in /dev/shm"] += sum(e.stat().st_uid == os.getuid() and e.name not in self.shm
                                        for e in os.scandir("/dev/shm"))
        for name, bound in (("daemon MB", RSS_MB), ("daemon fds", FDS), ("processes", PROCESSES), ("zombies", ZOMBIES)):
            if self.peak[name] > bound:
                self.faults.append(f"{self.peak[name]} {name} at most, over {bound}")
        if self.lines("refused"):
            self.faults.append(f"{len(self.lines('refused'))} reports were refused")
        overlaps = self.overlaps()
        for title, rows in (("kills", self.kills), ("sweeps made", self.made), ("sweeps ended", self.ended),
                            ("at most", self.peak), ("overlaps", overlaps), ("left", self.left)):
            print(f"{title}: " + (", ".join(f"{n} {name}" for name, n in sorted(rows.items()) if n) or "none"))
        print(f"trials {trials}, reports checked {self.checked} ({told} of an attempt that had ended, answered stop, not "
              f"stored); sweepd replay: {lines[-1] if lines else errors}")
        for row in lost[:10]:
            print("lost: sweep %d, trial %d, step %d, loss %r" % row)
        for row in repeated[:10]:
            print("repeated:", row)
        for fault in self.faults:
            print("fault:", fault)
        wrong = [sum(overlaps.values()), sum(self.left.values()), len(lost), len(repeated), len(self.faults)]
        print("soak: %d overlaps, %d left, %d lost, %d repeated, %d other faults (all are to be 0)" % tuple(wrong))
        return int(any(wrong))

    def close(self):
        """Whatever happened: no process stays, and no folder but that of a run that died."""
        for _ in range(100):
            for pid in self.those_left():
                send(pid, signal.SIGKILL)
            time.sleep(0.05)
        shutil.rmtree(self.daemon.short, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", type=float, nargs="?", default=24)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--quick", action="store_true", help="half a minute of kills")
    args = parser.parse_args()
    minutes, seed = 0.5 if args.quick else args.minutes, args.seed
    warnings.simplefilter("ignore")  # what submit() says of trials that would be faster on one slot
    signal.alarm(int(minutes * 60) + 600)  # a run that hangs ends
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("soak: it hangs"))
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    for old in glob.glob(os.path.join(ROOT, "build", "soak-*")):
        with contextlib.suppress(OSError):
            os.rmdir(old)  # of a run that went well, whose user could only empty it
    folder = tempfile.mkdtemp(dir=os.path.join(ROOT, "build"), prefix="soak-")
    become_nobody(folder)
    os.umask(0o077)
    print(f"soak: {minutes:g} minutes, seed {seed}, as user {os.getuid()}, in {folder}", flush=True)
    soak = Soak(folder, seed)
    try:
        soak.run(minutes)
        status = soak.finish()
    finally:
        soak.close()
    if status == 0:
        shutil.rmtree(folder, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())

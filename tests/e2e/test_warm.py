"""Python programs that a slot's launcher forks: they are what they are cold, in trials, causes, output and leftovers."""
import os
import signal
import sys
import textwrap

import pytest

from checkpoints import log
from harness import alive, merged, wait_until
from programs import HEAD, marked, output

pytestmark = pytest.mark.slots("cpu:1")

TRIALS = 4

# Each is four trials, in turn x of 0, 1, 2 and 3; the second and later ones are forked with what the first had loaded.
SCRIPTS = {
    "exceptions": """
        def inner(v):
            return {}[v]
        def outer(v):
            try:
                inner(v)
            except KeyError as error:
                raise ValueError("outer") from error
        report(loss=1)
        if x == 0:
            outer(1)
        if x == 1:
            sys.excepthook = lambda kind, error, trace: print("mine:", kind, error, trace.tb_lineno)
            outer(2)
        if x == 2:
            exec("1 +")
        def deep():
            deep()
        try:
            deep()
        except RecursionError as error:
            print(error)
        assert outer, "not so"
        raise SystemError
    """,
    "syntax": """
        def wrong(:
    """,
    "modules": """
        import helper
        class Told:
            def __init__(self, of):
                self.of = of
            def __del__(self):
                print("gone:", self.of)
        helper.kept, kept = Told("helper"), Told("main")
        newest = list(sys.modules)[list(sys.modules).index("helper") - 1]
        sys.modules[newest] = sys.modules.pop(newest)
        report(loss=1)
    """,
    "exit": """
        report(loss=1)
        print("last words", end="")
        sys.exit([None, 3, "a message", True][x])
    """,
    "signals": """
        print([signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGXFSZ)],
              signal.pthread_sigmask(signal.SIG_BLOCK, []), flush=True)
        report(loss=1)
        os.kill(os.getpid(), [signal.SIGTERM, signal.SIGINT, signal.SIGSEGV, signal.SIGUSR1][x])
    """,
    "threads": """
        import threading
        print(threading.current_thread().name, threading.enumerate() == [threading.current_thread()], threading.main_thread() is threading.current_thread())
        def work():
            threading.main_thread().join()
            print("after the main thread")
            raise RuntimeError("in a thread")
        threading.Thread(target=work, name="worker").start()
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        report(loss=1)
    """,
    "processes": """
        import multiprocessing as mp
        def square(v):
            return v * v
        def put(queue, v):
            queue.put(square(v))
        if __name__ == "__main__":
            for way in ("fork", "spawn"):
                context = mp.get_context(way)
                with context.Pool(2) as pool:
                    print(way, pool.map(square, range(5)))
                queue = context.Queue()
                process = context.Process(target=put, args=(queue, 7))
                process.start()
                print(queue.get(timeout=60), process.join(), process.exitcode)
            print(mp.current_process().name, mp.parent_process())
            report(loss=1)
    """,
    "loader": """
        import concurrent.futures, multiprocessing as mp
        class Loader:
            def __init__(self, n):
                self.index, self.data = mp.SimpleQueue(), mp.SimpleQueue()
                self.workers = [mp.Process(target=self.load, daemon=True) for _ in range(n)]
                for worker in self.workers:
                    worker.start()
            def load(self):
                while (i := self.index.get()) is not None:
                    self.data.put((i, i * i))
            def __iter__(self):
                for i in range(10):
                    self.index.put(i)
                return iter(sorted(self.data.get() for _ in range(10)))
        loader = Loader(2)
        print(list(loader), flush=True)
        with concurrent.futures.ProcessPoolExecutor(1) as executor:
            print(executor.submit(sum, [1, 2]).result())
        report(loss=1)
        # and leaves its workers, which end with it
    """,
    "arguments": """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--y", type=float, choices=[0, 1, 2] if x == 3 else None)
        print(parser.parse_args(), sys.argv)
        report(loss=1)
    """,
    "imports": """
        import helper, package.inner
        print(helper.VALUE, package.inner.__file__, package.inner.above, helper.__cached__ is not None)
        with open("helper.py", "w") as f:  # the next trial reads it anew
            f.write(f"VALUE = {x} + 100")
        report(loss=1)
        from . import helper
    """,
    "main": """
        import inspect, pickle
        class Thing:
            pass
        print(__name__, __file__, __package__, __spec__, sorted(k for k in globals() if k[:2] == "__"), __doc__)
        print(sys.modules["__main__"].Thing is Thing, pickle.loads(pickle.dumps(Thing())).__class__, sys.path[0], sys.flags)
        print(inspect.getsource(Thing), sys.orig_argv, sys.argv, sys.executable, os.getcwd())
        report(loss=1)
        __import__("warnings").warn("seen")
    """,
    "exit_handlers": """
        import atexit
        class Last:
            def __del__(self):
                os.write(1, b"gone\\n")
        last = Last()
        atexit.register(print, "second")
        atexit.register(lambda: print("first", sys.modules["__main__"].last is last))
        report(loss=1)
        print("before", end=" ")
        if x == 1:
            os._exit(4)
        if x == 2:
            raise OSError("with handlers")
    """,
    "streams": """
        import resource, stat
        print(repr(sys.stdin.read()), sys.stdin.isatty(), os.getsid(0) == os.getpid() == os.getpgid(0), os.umask(0o22))
        print([(s.encoding, s.errors, s.line_buffering, s.write_through, s.seekable()) for s in (sys.stdout, sys.stderr)])
        print([(n, stat.S_IFMT(os.fstat(n).st_mode)) for n in range(100) if os.path.exists(f"/proc/self/fd/{n}")])
        print([resource.getrlimit(n) for n in range(16) if n != 10], open("/proc/self/oom_score_adj").read(), os.nice(0))
        print(sorted(k for k in os.environ if not k.startswith("SWEEPD_")), {k for k in os.environ if k[:7] == "SWEEPD_"}
              == {"SWEEPD_" + k for k in "COOKIE TRIAL ATTEMPT SOCKET METRICS_FD PARAMS".split()})
        report(loss=1)
        try:
            input()
        except EOFError as error:
            print(error)
    """,
    "left": """
        report(loss=1)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN) if x == 1 else None
                touch(f"left{x}")
                time.sleep(1000)
            os._exit(0)
        print("forked")
        while not os.path.exists(f"left{x}"):
            time.sleep(0.01)
        os.unlink(f"left{x}")
    """,
    "title": """
        import ctypes
        ctypes.CDLL(None).prctl(15, b"a title", 0, 0, 0)
        print(open("/proc/self/comm").read(), os.getppid() != 1, open("/proc/self/cmdline").read().replace("\\0", " ").strip())
        report(loss=1)
        fields = open("/proc/self/stat").read().rpartition(")")[2].split()
        ctypes.memset(int(fields[45]), 65, int(fields[46]) - int(fields[45]))  # where its arguments were
        print(open("/proc/self/cmdline").read()[:20])
        sys.exit(5 if x == 2 else 0)
    """,
    "random": """
        import tempfile, uuid, dice
        try:
            import numpy
        except ImportError:
            numpy = None
        values = [random.random(), dice.VALUE, str(uuid.uuid4()), os.urandom(8).hex(), next(tempfile._get_candidate_names()),
                  numpy.random.random() if numpy else random.getrandbits(60)]
        with open("drawn-" + os.environ["SWEEPD_TRIAL"].split("/")[0], "a") as f:
            print(*values, file=f)
        random.seed(7)
        print(random.random())
        report(loss=1)
    """,
}


def warm(folder, script, run=None, **more):
    """A sweep of the script, which sees its trial's number from 0 as x; its interpreter has no option."""
    with open(os.path.join(folder, "program.py"), "w", encoding="utf-8") as file:
        file.write(HEAD + "import random\nx = int(os.environ['SWEEPD_TRIAL'].split('/')[1]) - 1\n" + textwrap.dedent(script))
    return merged({"name": "warm", "method": "random", "seed": 3, "run_cap": TRIALS,
                   "metric": {"name": "loss", "goal": "minimize"}, "parameters": {"y": {"min": 0.0, "max": 1.0}},
                   "command": ["${env}", sys.executable, "program.py", "${args}"],
                   "run": {"cwd": str(folder), "grace_s": 1, **(run or {})}}, more)


def launcher_of(pid):
    """Of a launcher or one of its spares the launcher; None: of a program."""
    try:
        session = os.getsid(pid)
        with open(f"/proc/{session}/cmdline", "rb") as file:
            return session if file.read().startswith(b"sweepd launcher of ") else None
    except OSError:
        return None


def launchers(daemon):
    return sorted({launcher_of(pid) for pid in marked(daemon)} - {None})


def left(daemon):
    """What lives of programs. What a launcher forks its spares with ends at once."""
    return [pid for pid in marked(daemon) if launcher_of(pid) is None and alive(pid)]


def outcome(daemon, client, sweep):
    """All that a user sees of a sweep's trials."""
    client.wait_sweep(sweep)
    assert not left(daemon)
    return [{"row": [t[k] for k in ("state", "cause", "step", "value", "params")], "log": log(client, sweep, t["trial"]),
             "output": sorted(output(daemon, sweep, t["trial"]).split("\n"))} for t in client.trials(sweep)]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_warm_program_is_what_it_is_cold(daemon, client, tmp_path, name):
    os.mkdir(tmp_path / "package")
    (tmp_path / "package" / "__init__.py").write_text("above = 'above'")
    (tmp_path / "package" / "inner.py").write_text("from . import above")
    (tmp_path / "dice.py").write_text("import random\nVALUE = random.random()")
    seen = []
    for is_warm in False, True:
        (tmp_path / "helper.py").write_text("VALUE = 'first'")
        sweep = client.submit(warm(tmp_path, SCRIPTS[name], run={"warm": is_warm}))
        seen.append(outcome(daemon, client, sweep))
        assert bool(launchers(daemon)) == is_warm
    assert seen[1] == seen[0]
    if name == "random":
        drawn = [line.split() for s in (1, 2) for line in (tmp_path / f"drawn-{s}").read_text().splitlines()]
        assert len(drawn) == 2 * TRIALS and all(len(set(column)) == len(column) for column in zip(*drawn)), drawn


def package(tmp_path, text):
    """A module that counts as installed; PYTHONPATH for it."""
    folder = tmp_path / "site-packages"
    folder.mkdir(exist_ok=True)
    (folder / "heavy.py").write_text(textwrap.dedent(text))
    return {"env": {"PYTHONPATH": str(folder)}}


def outputs(daemon, client, spec):
    sweep = client.run(spec)
    return [output(daemon, sweep, t["trial"]).split() for t in client.trials(sweep)]


USES = """
    def work():
        import heavy, mine  # not the script's head
        return heavy.loaded, mine.loaded
    report(loss=1)
    print(*work())
"""


def test_the_second_trial_has_what_the_first_one_loaded_but_for_the_users_own(daemon, client, tmp_path):
    run = package(tmp_path, "import os\nloaded = os.readlink('/proc/self')")
    (tmp_path / "mine.py").write_text("import os\nloaded = os.readlink('/proc/self')")
    seen = outputs(daemon, client, warm(tmp_path, USES, run=run))
    launcher, = launchers(daemon)
    assert [heavy for heavy, _ in seen[1:]] == [str(launcher)] * (TRIALS - 1)
    assert seen[0][0] == seen[0][1] and len({mine for _, mine in seen}) == TRIALS
    assert client.slots()[0]["launcher_bytes"] > 1 << 20

    # what the head of a script tries to import is there for the first trial
    tried = warm(tmp_path, "report(loss=1)\nprint(heavy.loaded)", run={"env": {**run["env"], "MORE": "0"}})
    script = (tmp_path / "program.py").read_text()
    (tmp_path / "program.py").write_text("try:\n    import heavy\nexcept ImportError:\n    pass\n" + script)
    seen = outputs(daemon, client, tried)
    other, = set(launchers(daemon)) - {launcher}
    assert seen == [[str(other)]] * TRIALS

    # a slot keeps two, so that sweeps in turns are warm; for a third the one that was asked longest ago goes
    both = [outputs(daemon, client, warm(tmp_path, USES, run={"env": {**run["env"], "MORE": more}})) for more in "121"]
    assert other not in launchers(daemon) and launcher not in launchers(daemon)
    assert {heavy for heavy, _ in both[2]} == {both[0][1][0]}

    # what is installed while it waits is seen
    later = warm(tmp_path, "try:\n    import later\nexcept ImportError:\n    pass\nreport(loss=1)\nprint('later' in sys.modules)", run=run)
    assert outputs(daemon, client, later)[0] == ["False"]
    (tmp_path / "site-packages" / "later.py").write_text("")
    wait_until(lambda: outputs(daemon, client, later)[0] == ["True"], "a package that is new")

    def is_seen():
        package(tmp_path, "loaded = 'changed'")
        return {heavy for heavy, _ in outputs(daemon, client, warm(tmp_path, USES, run=run))} == {"changed"}
    wait_until(is_seen, "a package that was changed")
    assert [heavy for heavy, _ in outputs(daemon, client, warm(tmp_path, USES, run={**run, "warm": False}))] == ["changed"] * 4
    last = launchers(daemon)
    os.kill(client.slots()[0]["pid"], signal.SIGKILL)
    wait_until(lambda: not set(last) & set(marked(daemon)), "no launcher without its worker")


def test_what_is_loaded_after_a_change_of_the_environment_is_not_learned(daemon, tmp_path):
    run = package(tmp_path, "import os\nloaded = os.environ.get('LEVEL'), os.readlink('/proc/self')")
    (tmp_path / "mine.py").write_text("loaded = ''")
    script = "os.environ['LEVEL'] = str(x)\n" + textwrap.dedent(USES)
    seen = outputs(daemon, daemon.client(), warm(tmp_path, script, run=run))
    assert [line[0] for line in seen] == [f"('{x}'," for x in range(TRIALS)]


COLD = {
    "threads": ("import threading, time; threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()", {},
                "a package starts threads when it is imported"),
    "descriptor": ("import socket; kept = socket.socket()", {}, "a package opens socket:"),
    "user": ("import mine", {}, "a package loads mine, which is not installed: "),
    "main": ("import __main__", {}, "heavy keeps __main__ when it is imported"),
    "main by another name": ("import __main__ as script", {}, "heavy keeps __main__ when it is imported"),
    "killed": ("import os, sys\nif '-c' in sys.orig_argv: os.kill(os.getpid(), 9)", {}, "its launcher was killed"),
    "option": ("", {"command": ["python3", "-B", "program.py"]}, "python has an option: -B"),
    "no option": ("", {"command": ["python3", "program"]}, "its script's name does not end with .py"),
}


@pytest.mark.parametrize("kind", COLD)
def test_what_cannot_be_forked_starts_cold_and_the_log_says_why(daemon, client, tmp_path, kind):
    text, more, why = COLD[kind]
    (tmp_path / "mine.py").write_text("")
    run = package(tmp_path, text)
    spec = warm(tmp_path, "import heavy\nreport(loss=1)", run=run, **more)
    (tmp_path / "program").write_text((tmp_path / "program.py").read_text())
    with open(tmp_path / "program.py", encoding="utf-8") as file:
        script = file.read()
    (tmp_path / "program.py").write_text("import heavy\n" + script)
    sweep = client.run(spec)
    for trial in client.trials(sweep):
        assert trial["state"] == "COMPLETED"
        assert [line for line in log(client, sweep, trial["trial"]) if line.startswith("starts cold: " + why)]
    assert not left(daemon)


@pytest.mark.slots("cpu:2")
def test_ranks_are_forked_by_one_launcher(daemon, client, tmp_path):
    run = {**package(tmp_path, "import os\nloaded = os.readlink('/proc/self')"), "launch": "rank"}
    script = """
        import heavy
        print("rank", os.environ["RANK"], os.environ["MASTER_PORT"] != "", heavy.loaded)
        if fd >= 0:
            report(loss=1)
    """
    sweep = client.submit(warm(tmp_path, script, run=run, resources={"cpu_slots": 2}))
    assert client.wait_sweep(sweep) and {t["state"] for t in client.trials(sweep)} == {"COMPLETED"}
    seen = [{line for line in output(daemon, sweep, t + 1).split("\n") if "rank" in line} for t in range(TRIALS)]
    # each slot may have been rank 0's; of one of them it is the second trial at least
    assert [{f"rank 0 True {one}", f"[rank 1] rank 1 True {one}"} in seen for one in launchers(daemon)].count(True) > 0, seen
    assert not left(daemon)

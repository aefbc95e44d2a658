"""Odd scripts and packages: warm they print and end as they do cold, or they start cold and the log says why."""
import re
import textwrap

import pytest

from harness import merged
from programs import output
from test_warm import outcome, warm

pytestmark = pytest.mark.slots("cpu:1")

HEAVY = "site-packages/heavy.py"
LATE = """
    def work():
        import heavy
        return heavy
"""

# Files of the folder (site-packages is on PYTHONPATH), the script, and why it starts cold; "": it does not. The script
# begins with `import heavy` where site-packages has heavy.py and the script does not import it.
ODD = {
    # the environment
    "a package sets, changes and deletes variables": ({HEAVY: """
        import os
        os.environ["HEAVY_HOME"] = "there"
        os.environ.setdefault("HEAVY_LEVEL", "1")
        os.environb[b"PATH"] = os.environb[b"PATH"] + b":/heavy"
        os.environ.pop("EXTRA")
        """}, """
        import ctypes, subprocess
        getenv = ctypes.CDLL(None).getenv
        getenv.restype = ctypes.c_char_p
        print([os.environ.get(n) for n in ("HEAVY_HOME", "HEAVY_LEVEL", "PATH", "EXTRA")], getenv(b"HEAVY_HOME"))
        print(subprocess.run(["sh", "-c", "echo $HEAVY_HOME $EXTRA"], capture_output=True).stdout)
        """, ""),
    "a package that comes late sets a variable": ({HEAVY: "import os\nos.environ['HEAVY'] = '1'"}, LATE + """
    print(os.environ.get("HEAVY"), "heavy" in sys.modules)
    work()
    print(os.environ.get("HEAVY"), "heavy" in sys.modules)
    """, ""),
    "a package's function sets what another reads": ({
        HEAVY: "import os\ndef load():\n    os.environ['LEVEL'] = os.environ['SWEEPD_TRIAL'].split('/')[1]",
        "site-packages/other.py": "import os\nLEVEL = os.environ.get('LEVEL')"}, """
        heavy.load()
        import other
        print(other.LEVEL)
        """, ""),
    "a package reads a trial's own variable": ({HEAVY: "import os\nMINE = os.getenv('SWEEPD_TRIAL')"},
        "print(heavy.MINE.split('/')[1])", "heavy asks for SWEEPD_TRIAL when it is imported"),
    "a package that comes late does": ({HEAVY: "import os\nMINE = 'SWEEPD_RESUME' in os.environ, os.environ['SWEEPD_ATTEMPT']"},
        LATE + "    print(work().MINE)", ""),
    "a package keeps a copy of the environment": ({HEAVY: "import os\nALL = dict(os.environ)"},
        "print(heavy.ALL['SWEEPD_TRIAL'].split('/')[1])", "heavy asks for SWEEPD_"),
    "a package looks at the names": ({HEAVY: "import os\nMINE = sorted(n for n in os.environ if n[:7] in ('SWEEPD_', 'HEAVY_'))"},
        "print(heavy.MINE)", ""),
    "a package reads what is the same for all": ({HEAVY: "import os\nMINE = os.environ['PATH'], os.getenv('NONE')"},
        "print(heavy.MINE)", ""),
    # arguments and numbers
    "a package reads the arguments": ({HEAVY: "import sys\nMINE = sys.argv[1:]"},
        "print(heavy.MINE)", "heavy asks for sys.argv when it is imported"),
    "a package keeps the arguments": ({HEAVY: "from sys import argv"},
        "print(heavy.argv, heavy.argv is sys.argv)", "a package asks for sys.argv when it is imported"),
    "a package reads the script's name": ({
        HEAVY: "import sys\nMINE = sys.argv[0], sys.modules['__main__'].__file__\nsys.modules['__main__'].HEAVY = 1"},
        "print(heavy.MINE, type(sys.argv), HEAVY)", ""),
    "a package keeps the number of the process": ({HEAVY: "import os\nMINE = os.getpid()"},
        "print(heavy.MINE == os.getpid())", "heavy asks for os.getpid() when it is imported"),
    "a package looks at the number of the process": ({HEAVY: "import os\nMINE = os.getpid() > 1"}, "print(heavy.MINE)", ""),
    # modules
    "its own module has a name of the launcher's": ({"glob.py": "MINE = 1", "ast/__init__.py": "MINE = 2", "types.txt": ""}, """
        import glob, ast
        print(glob.MINE, ast.MINE, "socket" in sys.modules)
        """, ""),
    "its own module has the name of a package": ({HEAVY: "MINE = 1", "heavy.py": "MINE = 2", "mine.py": ""},
        "import mine\nimport heavy\nprint(heavy.MINE)", ""),
    "its own module has a name that a package needs": ({HEAVY: "import glob", "glob.py": "MINE = 1"}, "print(sys.modules['glob'].MINE)",
        "a package loads glob, which is not installed: "),
    "its own module comes between two trials": ({HEAVY: "import colorsys", "mine.py": ""}, """
        import mine, heavy, colorsys
        print(colorsys.__file__, x)
        if x == 1:
            open("colorsys.py", "w").close()
        """, "colorsys.py has the name of a module that is loaded"),
    "its own folder comes first later": ({HEAVY: "import colorsys", "src/colorsys.py": "MINE = 1", "mine.py": ""}, """
        import mine
        sys.path.insert(0, "src")
        import colorsys, heavy
        print(colorsys.MINE)
        """, "src/colorsys.py has the name of a module that is loaded"),
    "a folder without modules has such a name": ({HEAVY: "import colorsys", "colorsys/notes.txt": ""},
        "import colorsys\nprint(colorsys.__file__)", ""),
    "another folder of packages comes first later": ({HEAVY: "MINE = 1", "new/site-packages/heavy.py": "MINE = 2", "mine.py": ""}, """
        import mine
        sys.path.insert(0, "new/site-packages")
        import heavy
        print(heavy.MINE)
        """, "the script finds heavy elsewhere: "),
    "what is loaded": ({}, "print(sorted(set(sys.modules) - set(sys.builtin_module_names)))", ""),
    # ends
    "exit statuses": ({}, "report(loss=1)\nsys.exit([2**70, -1, 259, -2**70][x])", ""),
    "exit statuses that are no numbers": ({}, "report(loss=1)\nimport enum\nsys.exit([(1, 2), 1.0, enum.IntEnum('E', 'a b').b, False][x])", ""),
    "a stream that cannot be flushed": ({}, """
        report(loss=1)
        class Odd:
            write = os.write
            def flush(self):
                raise OSError("not flushed")
        sys.stdout = Odd()
        """, ""),
    "streams that are closed, gone or none": ({}, """
        report(loss=1)
        print("before", flush=True)
        [sys.stdout.close, lambda: delattr(sys, "stdout"), lambda: setattr(sys, "stderr", None), lambda: setattr(sys, "stdout", 5)][x]()
        """, ""),
    "a stream without its descriptor": ({}, "report(loss=1)\nprint('lost')\nos.close(1)", ""),
    "handlers that fail": ({}, """
        import atexit
        report(loss=1)
        atexit.register(sys.exit, 7)
        atexit.register(lambda: 1 / 0)
        if x:
            raise [None, KeyboardInterrupt, GeneratorExit, BaseException][x]("odd")
        """, ""),
    "threads that fail and exit": ({}, """
        import threading
        report(loss=1)
        thread = threading.Thread(target=[sys.exit, lambda: 1 / 0, lambda: os._exit(3), lambda: None][x])
        thread.start()
        thread.join()
        print(threading.main_thread().is_alive())
        """, ""),
    # what a program sees of itself
    "warnings about its caller": ({}, "import warnings\nwarnings.warn('mine')\nwarnings.warn('its caller', stacklevel=2)", ""),
    "what /proc says of it": ({}, """
        print(open("/proc/self/cmdline").read().split("\\0"), open("/proc/self/environ").read().split("\\0")[:-1] == [f"{k}={v}" for k, v in os.environ.items()])
        """, ""),
    "times of log records": ({HEAVY: "import logging"}, """
        import logging
        began = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        print(time.time() - logging._startTime <= time.clock_gettime(time.CLOCK_BOOTTIME) - began + 0.02)
        """, ""),
    # what packages leave in the process
    "settings of the process": ({HEAVY: """
        import decimal, gc, locale, os, resource, signal, sys, time, warnings
        os.umask(0o27), os.nice(1), sys.setrecursionlimit(500), sys.setswitchinterval(0.5), gc.disable(), gc.set_threshold(7)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
        warnings.simplefilter("error"), locale.setlocale(locale.LC_ALL, "C"), setattr(decimal.getcontext(), "prec", 3)
        os.environ["TZ"] = "Asia/Tokyo"
        time.tzset()
        """}, """
        import decimal, gc, resource, warnings
        print(oct(os.umask(0)), os.nice(0), sys.getrecursionlimit(), sys.getswitchinterval(), gc.isenabled(), gc.get_threshold(),
              signal.getsignal(signal.SIGUSR1), resource.getrlimit(resource.RLIMIT_NOFILE), len(warnings.filters), decimal.Decimal(1) / 3, time.tzname)
        """, ""),
    "a package goes elsewhere": ({HEAVY: "import os\nos.chdir('/')"}, "print(os.getcwd())", "a package goes to / when it is imported"),
    "a package prints": ({HEAVY: "import os, sys\nprint('out')\nsys.stderr.write('err\\n')\nos.write(1, b'raw\\n')"}, "", ""),
    "hooks of a package": ({HEAVY: """
        import atexit, builtins, sys
        sys.excepthook = lambda kind, error, trace: print("hook", kind, error, trace.tb_lineno)
        atexit.register(print, "the package's end")
        plain, builtins.print = print, lambda *words: plain("heavy:", *words)
        sys.path.insert(0, "/heavy")
        """}, """
        print(sys.path[0], sys.excepthook.__module__)
        report(loss=1)
        if x == 1:
            raise ValueError("to the hook")
        """, ""),
    "a package reads standard input": ({HEAVY: "import sys\nMINE = sys.stdin.read()"}, "print(repr(heavy.MINE))", ""),
    # sources
    "a source in Latin-1": ({"program.py": b"# coding: latin-1\nimport os, json, socket\nprint('\xe9')\n"}, None, ""),
    "a source that asks the future": ({"program.py": b"'''what it is'''\nfrom __future__ import annotations\nimport os\nv: Odd = 1\nprint(__annotations__, __doc__)\n"}, None, ""),
    "a source with a NUL byte": ({"program.py": b"print(1)\n\0"}, None, "its script has a NUL byte"),
    "an empty source": ({"program.py": b""}, None, ""),
    "a debugger without a terminal": ({}, "report(loss=1)\nbreakpoint()\nprint(1)", ""),
    "a closed standard input": ({}, "sys.stdin.close()\nprint(sys.stdin.closed)\nos.close(0)", ""),
}


def odd(folder, files, script, is_warm):
    """A sweep of such a script, in a folder of its own."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
    folder.mkdir(parents=True, exist_ok=True)
    spec = warm(folder, "\n".join(["report(loss=1)" if "report(" not in (script or "") else "", textwrap.dedent(script or "")]),
                run={"warm": is_warm, "env": {"PYTHONPATH": "site-packages", "EXTRA": "1"}}, run_cap=4 if "[x]" in (script or "") else 3 if "x ==" in (script or "") else 2)
    if script is None:
        (folder / "program.py").write_bytes(files["program.py"])
    elif HEAVY in files and "import heavy" not in script and "mine.py" not in files:
        (folder / "program.py").write_text("import heavy\n" + (folder / "program.py").read_text())
    return spec


def test_what_the_table_of_the_docs_names_is_all_that_differs(daemon, client, tmp_path):
    """Of what a package makes at its import, and of the launcher's own (docs/programs.md): the second and third trial."""
    files, script = {HEAVY: """
        import os, random
        made, forks = [random.Random().random(), os.urandom(8).hex(), hash("name"), id(os)], []
        os.register_at_fork(after_in_child=lambda: forks.append(1))
        random.seed(1)
        """, "mine.py": ""}, """
        print("heavy" in sys.modules, end=" ")
        import mine, heavy, random
        print(len(heavy.forks), sys._getframe(1) is not None, *heavy.made, random.random())
        """
    sweep = client.run(merged(odd(tmp_path, files, script, True), {"run_cap": 3}))
    first, second, third = (output(daemon, sweep, t).split() for t in (1, 2, 3))
    assert (first[0], first[1], second[0], third[0]) == ("False", "0", "True", "True") and int(second[1]) > 0
    assert second[2:7] == third[2:7] and second[7] != third[7]


def test_odd_programs_are_what_they_are_cold_or_say_why_they_start_cold(daemon, client, tmp_path):
    wrong = {}
    for i, (name, (files, script, why)) in enumerate(ODD.items()):
        cold, warm_ = (outcome(daemon, client, client.submit(odd(tmp_path / f"{i}-{is_warm}" / "same", files, script, is_warm)))
                       for is_warm in (False, True))
        said = [line.removeprefix("starts cold: ") for trial in warm_ for line in trial["log"] if line.startswith("starts cold: ")]
        for trial in warm_:
            trial["log"] = [line for line in trial["log"] if not line.startswith("starts cold: ")]
        cold, warm_ = (re.sub("-(False|True)/|0x[0-9a-f]+", "", repr(seen)) for seen in (cold, warm_))
        if cold != warm_:
            wrong[name] = cold, warm_, said
        elif bool(said) != bool(why) or not all(why in line for line in said):
            wrong[name] = "log", said
    assert not wrong, "\n".join(f"{name}:\n" + "\n".join(map(str, what)) for name, what in wrong.items())

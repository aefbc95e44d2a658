"""The launcher of a slot's Python programs (worker/exec/launcher.h): imports what they import, and forks one a trial.

    worker -- an order: a byte with descriptors --> descriptor 3 --> whichever spare takes it
    spare -- its pid, or why not --> the trial's own socket -- "g": it is listed --> the spare is the program

A spare is the worker's child, as a cold program is: what forked it has ended. When its script begins it has no
descriptor of the launcher. What the script had loaded at its end comes back in memory that both share.

A program meets what it would meet cold. Where that cannot be shown it starts cold, and a word says why; one that begins
with "!" holds for good. docs/programs.md has the table of what may differ.
"""
import os
import sys

STANDARD = os.path.dirname(os.__file__) + "/"
AT_START = set(sys.modules)
PATH = [*filter(None, sys.path)]  # but for the folder in which it runs, which -c puts there
sys.path[:] = [folder for folder in PATH if (folder + "/").startswith(STANDARD)]  # a user may have a glob.py
import ast
import atexit
import ctypes
import gc
import glob
import importlib.machinery
import importlib.util
import itertools
import mmap
import select
import socket
import struct
import time
import types
import weakref

HOOKS = {"__name__": "sweepd_hook"}
exec(compile(HOOK, "wandb_hook.py", "exec"), HOOKS)  # noqa: F821  (cmake/embed.cmake puts HOOK before this file)
sys.path[:] = PATH
for own in set(sys.modules) - AT_START - set(sys.builtin_module_names):
    del sys.modules[own]  # a program has what it imports, and its own module may have that name
SPARES = 4  # that are forked ahead, once the first script has taught what to load: some at a time
LOOK_S = 1  # between two looks whether a file that was loaded has changed
LESSON_MAX = 1 << 18  # bytes
AGAIN = b"TORCH", b"TRITON_"  # the beginnings of variables that torch sets wherever it needs them
# Files that know of forks or only measure, and that look among all variables for their own.
AWARE = ("/tempfile.py", "/fsspec/spec.py", "/fsspec/config.py", "/wandb/sdk/wandb_settings.py",
         "/tqdm/utils.py", "/networkx/utils/backends.py", "/numba/core/config.py", "/dask/config.py")


def installed(path):
    """Is the file of the standard library or of an installed package? Any other is the user's, and may change."""
    return isinstance(path, str) and (path.startswith(STANDARD) or "/site-packages/" in path or "/dist-packages/" in path)


def file_of(module):
    return getattr(module, "__dict__", {}).get("__file__")  # a lazy module would load itself for a getattr()


def stamp(path):
    try:
        found = os.stat(path)
        return found.st_mtime_ns, found.st_size
    except OSError:
        return None


def descriptors():
    """Those that are open, but for that of the list itself."""
    return {fd for fd in os.listdir("/proc/self/fd") if os.path.lexists("/proc/self/fd/" + fd)}


def head(source):
    """The modules that a script imports before it does anything else, up to the first of the user's own."""
    nodes = ast.parse(source).body
    while nodes:
        node = nodes.pop(0)
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # the docstring of the file
        elif isinstance(node, ast.Try):
            nodes[:0] = node.body  # try: import a package, which may not be installed
            continue
        else:
            return
        for name in names:
            spec = importlib.util.find_spec(name.partition(".")[0])
            if spec is None or not (spec.origin in ("built-in", "frozen") or installed(spec.origin)):
                return
            yield name


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


def show_as(words, environment):
    """Makes /proc, and so `ps`, show these instead of what this process was started with: lists of bytes."""
    words, environment = (b"\0".join([*part, b""]) for part in (words, environment))
    text = ctypes.create_string_buffer(words + environment)
    with open("/proc/self/stat", "rb") as file:
        stat = [0, 0, 0, *file.read().rpartition(b")")[2].split()]  # numbered as in proc(5)
    libc, at = ctypes.CDLL(None), ctypes.addressof(text)
    libc.sbrk.restype = ctypes.c_void_p
    memory = [*(int(stat[n]) for n in (26, 27, 45, 46, 47)), libc.sbrk(0), int(stat[28])]
    ends = at, at + len(words), at + len(words), at + len(text) - 1
    libc.prctl(35, 14, struct.pack("12QIi", *memory, *ends, 0, 0, -1), ctypes.c_ulong(104), 0)  # PR_SET_MM_MAP
    show_as.text = text


def unlike(one, other):
    """The names whose values differ."""
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


def users_folders():
    """Folders of the user's in which modules are looked for before the standard library's."""
    before = itertools.takewhile(lambda folder: folder + "/" != STANDARD,
                                 (folder for folder in sys.path if folder and isinstance(folder, str)))
    return [folder for folder in map(os.path.abspath, before) if not installed(folder + "/")]


def caller():
    """The file of the caller's caller, through os.environ's methods, abspath() and the like or not."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__") in ("os", "collections.abc", "posixpath"):
        frame = frame.f_back
    return frame.f_code.co_filename


class Hearing:
    """Hears what packages ask for while they are imported, of what each trial has its own."""
    def __init__(self):
        self.asked, self.module = {}, ""  # for what, by which module first; the one that is imported now

    def hear(self, name, function):
        def heard(*words):
            if words[1:] != (0,) and not caller().endswith(AWARE):
                self.asked.setdefault(name or os.fsdecode(words[1]), self.module)
            return function(*words)
        return heard

    def getpid(self):
        self.pids.append((self.pid(), self.module, caller()))
        return self.pids[-1][0]

    def getcwd(self):
        if "-packages/" in caller():  # the standard library's own use of it is mended by freshen()
            self.asked.setdefault("os.getcwd()", self.module)
        return self.cwd()

    def __enter__(self):
        self.cwd, os.getcwd, self.pid, os.getpid = os.getcwd, self.getcwd, os.getpid, self.getpid
        self.words, self.pids = sys.argv, []
        names = "__len__", "__iter__", "__contains__", "__getitem__"  # the last of 0 has the script
        hears = {name: self.hear("sys.argv", getattr(list, name)) for name in names}
        sys.argv = type("list", (list,), hears)(self.words)
        hears = {"__getitem__": self.hear(None, dict.__getitem__)}
        os.environ._data = os.environb._data = type("dict", (dict,), hears)(os.environ._data)

    def __exit__(self, *_):
        os.environ._data = os.environb._data = dict(os.environ._data)
        words, sys.argv, os.getpid, os.getcwd = sys.argv, self.words, self.pid, self.cwd
        alone = object()
        held = sys.getrefcount(alone)  # 2; from Python 3.14 on 1
        if sys.getrefcount(words) > held:  # a package has kept it
            self.asked.setdefault("sys.argv", "a package")
        for pid, module, file in self.pids:
            if sys.getrefcount(pid) > held + 1 and pid > 256 and not file.endswith(AWARE):  # it is an object of its own
                self.asked.setdefault("os.getpid()", module)


# A warning about the caller of a script says "sys:1".
exec(compile("def execute(code, space): exec(code, space)", "sys", "exec"), space := {})
EXECUTE = types.FunctionType(space["execute"].__code__, sys.__dict__)


class Launcher:
    def __init__(self, script):
        self.environment, self.hearing, self.wrong = dict(os.environb), Hearing(), None
        show_as([b"sweepd launcher of " + os.fsencode(script)], map(b"=".join, self.environment.items()))
        sys.argv, self.status, self.cwd, self.mine = [script], None, os.getcwd(), sys.modules["__main__"]
        path = os.path.join(self.cwd, script)
        self.main = sys.modules["__main__"] = types.ModuleType("__main__")
        self.main.__dict__.update(__file__=path, __builtins__=sys.modules["builtins"], __annotations__={},
                                  __cached__=None, __loader__=importlib.machinery.SourceFileLoader("__main__", path))
        atexit.register(self.end_program)  # as the first: it is called as the last
        words = getattr(sys, "orig_argv", [sys.executable, "-c"])
        self.python = words[:words.index("-c")]
        self.control = socket.socket(fileno=3)
        self.shared = mmap.mmap(-1, LESSON_MAX)  # when files were looked at, the length of the lesson, the lesson
        self.spares = set()  # a pipe of each, which closes when it takes an order or ends
        self.learned, self.printed, self.changes = False, None, {}
        for fd in 1, 2:
            os.dup2(os.memfd_create("import"), fd)  # the output of packages while they are imported
        self.descriptors = descriptors()
        if not getattr(sys.flags, "safe_path", False):
            sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
        self.folders = users_folders()
        try:
            with open(script, "rb") as file:
                source = file.read()
            self.changes = {name: os.environb.get(name) for name in self.load(list(head(source)))}
        except Exception:
            self.load([])  # the script itself says what is wrong

    def load_late(self, names):
        """Loads what a script loads later, without the changes to the environment that come with it."""
        before = dict(os.environb)
        for name in [name for name in self.load(names) if not name.startswith(AGAIN)]:
            self.wrong = f"a package that the script loads late sets {os.fsdecode(name)} when it is imported"
        os.environb.clear()
        os.environb.update(before)

    def load(self, names):
        """Returns the names of the variables that this changes."""
        before = dict(os.environb)
        with self.hearing:
            for self.hearing.module in names:
                try:
                    importlib.import_module(self.hearing.module)
                except (Exception, SystemExit):
                    pass  # as above
        flush()
        if self.printed is None:  # of a script's head; it may have silenced what it loads later
            self.printed = [os.pread(fd, 1 << 16, 0) for fd in (1, 2)]
        self.loaded = set(sys.modules)
        files = {name: file_of(sys.modules[name]) for name in self.loaded if sys.modules[name] is not self.main}
        self.names = {name.partition(".")[0] for name in self.loaded - AT_START - set(sys.builtin_module_names)}
        folders = filter(lambda folder: installed(f"{folder}/"), sys.path)  # in which a package may appear
        paths = [path for folder in folders for path in (folder, *glob.glob(f"{folder}/*.pth"))]
        self.stamps = {file: stamp(file) for file in [sys.executable, *paths, *files.values()] if isinstance(file, str)}
        self.wrong = self.wrong or self.find_wrong(files)
        gc.collect()
        gc.freeze()  # or a collection in a child would write to what it shares
        return unlike(before, os.environb)

    def find_wrong(self, files):
        """Says what a fork would not take along rightly, or None."""
        for name, file in files.items():
            if isinstance(file, str) and not installed(file):
                return f"a package loads {name}, which is not installed: {file}"
            if any(value is self.main for value in [*getattr(sys.modules[name], "__dict__", {}).values()]):
                return f"{name} keeps __main__ when it is imported"
        if os.getcwd() != self.cwd:
            return f"a package goes to {os.getcwd()} when it is imported"
        for fd in descriptors() - self.descriptors:
            return f"a package opens {os.readlink('/proc/self/fd/' + fd)} when it is imported"
        if (pid := os.fork()) == 0:  # before a fork OpenBLAS ends its threads; it starts them again when it needs them
            os._exit(0)
        os.waitpid(pid, 0)
        until = time.monotonic() + 1
        while len(os.listdir("/proc/self/task")) > 1:
            if time.monotonic() > until:
                return "a package starts threads when it is imported"
            time.sleep(0.01)

    def end(self, why):
        write_all(3, why.encode(errors="replace"))
        os._exit(0)

    def study(self):
        """Loads what a script had loaded at its end, once."""
        length, = struct.unpack_from("i", self.shared, 8)
        if length and not self.learned:
            self.learned = True
            lines = self.shared[12:12 + length].decode(errors="surrogatepass").split("\n")
            self.folders += [line for line in lines if line[0] == "/"]
            taught = dict(line.split("\t") for line in lines if line[0] != "/")
            self.load_late(taught)
            for name in [name for name in taught.keys() & sys.modules if file_of(sys.modules[name]) != taught[name]]:
                self.wrong = f"the script finds {name} elsewhere: {taught[name]}"
        if self.wrong:
            self.end("!" + self.wrong)

    def serve(self):
        """Forks spares as they are needed. Returns in each of them."""
        wait_ms = 0
        while True:
            watch = select.poll()
            watch.register(3, 0 if self.spares else select.POLLIN)
            for fd in self.spares:
                watch.register(fd, 0)
            ahead = self.learned and len(self.spares) < SPARES / 2
            ready = dict(watch.poll(wait_ms if ahead else None))
            if ready.get(3, 0) & ~select.POLLIN:
                os._exit(0)  # the worker is gone
            for fd in self.spares & ready.keys():
                self.spares.remove(fd)
                os.close(fd)
            self.study()
            try:
                if (ahead or 3 in ready) and self.fork(SPARES - len(self.spares) if self.learned else 1):
                    return
                wait_ms = 0
            except OSError as error:
                if 3 in ready:
                    self.end(f"no process can be forked: {error.strerror}")
                wait_ms = 1000

    def fork(self, n):
        """Makes spares. Is this one of them?"""
        pipes = [os.pipe() for _ in range(n)]
        if between := os.fork():
            for _, its in pipes:
                os.close(its)
            self.spares.update(ours for ours, _ in pipes)
            failed = os.waitpid(between, 0)[1] >> 8
            if failed:  # the pipe of each that was not forked is closed
                raise OSError(failed, os.strerror(failed))
            return False
        me = os.getpid()
        for _, self.held in pipes:
            try:
                if os.fork() == 0:
                    break
            except OSError as error:
                os._exit(error.errno)
        else:
            os._exit(0)
        for fd in self.spares.union(*pipes) - {self.held}:
            os.close(fd)
        while os.getppid() == me:
            time.sleep(0.0005)
        return True

    def take(self):
        """In a spare: waits for an order and becomes its program, but for the script."""
        _, passed, _, _ = self.control.recvmsg(1, socket.CMSG_SPACE(16))
        if not passed:
            os._exit(0)  # the worker is gone
        order, out, err, talk = struct.unpack("4i", passed[0][2])
        os.close(self.held)
        cwd, n, *text = os.pread(order, os.fstat(order).st_size, 0).split(b"\0")
        words, environment = text[:int(n)], dict(entry.split(b"=", 1) for entry in text[int(n):-1])
        if b"LC_CTYPE" in self.environment:  # it may be the interpreter's own: the environment has no locale (PEP 538)
            environment.setdefault(b"LC_CTYPE", self.environment[b"LC_CTYPE"])
        try:
            os.chdir(cwd)
            with open(words[0], "rb") as file:
                self.source = file.read()
            answer = os.fsencode(self.find_unlike(words, environment) or str(os.getpid())) + b"\n"
        except OSError:
            answer = b"its script cannot be read\n"
        if time.monotonic() - struct.unpack_from("d", self.shared)[0] > LOOK_S:
            struct.pack_into("d", self.shared, 0, time.monotonic())
            if any(stamp(file) != found for file, found in self.stamps.items()):
                answer = b"changed\n"
        write_all(talk, answer)
        if os.read(talk, 1) != b"g":
            os._exit(0)
        os.setsid()
        sys.argv = [os.fsdecode(word) for word in words]
        sys.orig_argv = self.python + sys.argv
        show_as(map(os.fsencode, sys.orig_argv), text[int(n):-1])
        self.control.detach()
        for fd, end in enumerate((out, err, talk), 1):
            os.dup2(end, fd)
        os.closerange(4, max(order, out, err, talk, self.held) + 1)
        for fd in 1, 2:
            write_all(fd, self.printed[fd - 1])
        os.environb.clear()  # in changes None is of what is not there
        os.environb.update(pair for pair in {**environment, **self.changes}.items() if pair[1] is not None)

    def find_unlike(self, words, environment):
        """Says why the program would not meet what it meets cold, or None."""
        if b"\0" in self.source:
            return "its script has a NUL byte"
        own = {"os.getpid()", *["sys.argv"] * (len(words) > 1), *["os.getcwd()"] * (os.getcwd() != self.cwd)}
        own.update(os.fsdecode(name) for name in unlike(self.environment, environment))
        for name in sorted(own & self.hearing.asked.keys()):
            return f"!{self.hearing.asked[name]} asks for {name} when it is imported, which each trial has its own of"
        for folder in filter(os.path.isdir, self.folders):
            for name in self.names.intersection(entry.partition(".")[0] for entry in os.listdir(folder)):
                spec = importlib.machinery.PathFinder.find_spec(name, [folder])
                if spec and spec.origin:
                    return f"{spec.origin} has the name of a module that is loaded"

    def freshen(self):
        """Makes anew what would be the same in all children; `random` sees to that itself."""
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()
        if "logging" in sys.modules:  # its records count from there
            start = sys.modules["logging"]._startTime
            sys.modules["logging"]._startTime = time.time_ns() if isinstance(start, int) else time.time()
        if "torch" in sys.modules:  # as it begins: what was imported may have drawn from it
            torch = sys.modules["torch"].default_generator
            torch.manual_seed(torch.initial_seed())
        if "multiprocessing.process" in sys.modules:
            sys.modules["multiprocessing.process"].current_process().authkey = os.urandom(32)
            sys.modules["multiprocessing.process"].ORIGINAL_DIR = os.getcwd()
        for path in [path for path in sys.path_importer_cache if not installed(path + "/")]:
            del sys.path_importer_cache[path]

    def run(self):
        self.freshen()
        if not self.learned:
            self.watch_environment()
        if "SWEEPD_METRICS_FD" in os.environ:  # not in ranks but the first: wandb's log() is heard
            HOOKS["install"]()
        self.pid, main = os.getpid(), types.ModuleType("__main__")  # not frozen, so that it can be collected
        main.__dict__.update(self.main.__dict__)
        self.mains = [name for name, module in sys.modules.items() if module is self.main]  # multiprocessing adds one
        sys.modules.update(dict.fromkeys(self.mains, main))
        try:
            EXECUTE(compile(self.source, main.__file__, "exec", dont_inherit=True), main.__dict__)
            self.status = 0
        except BaseException as error:
            self.status = status_of(error)
            sys.excepthook = without_launcher(sys.excepthook)
            raise
        finally:
            if not self.learned and os.getpid() == self.pid and os.environ.get("RANK", "0") == "0":
                self.teach()

    def end_program(self):
        """Takes down what is the user's, as the interpreter does, and not what is shared: that would copy it, which
        takes longer than many a trial. So C++ destructs nothing, either."""
        if self.status is None or os.getpid() != self.pid or not flush():
            return  # the interpreter does all of it
        for name in "last_type", "last_value", "last_traceback", "last_exc":
            sys.__dict__.pop(name, None)
        # Of what it shares little is looked at: even that is a write, and a copy of its page. What came since stands at
        # the end, unless a script takes modules out and puts them back: it may have done so with a few.
        names, shared = [], 0
        for name in reversed(sys.modules):
            shared = shared + 1 if name in self.loaded else 0
            if shared == 64:
                break
            if not shared and not installed(file_of(sys.modules[name]) or STANDARD):
                names.append(name)
        users = [weakref.ref(sys.modules.pop(name)) for name in [*self.mains, *reversed(names)] if name in sys.modules]
        atexit._clear()  # this is the last one of them
        gc.collect()
        for module in filter(None, [user() for user in users]):
            for name in sorted(module.__dict__, key=lambda name: name[:1] != "_" or name[:2] == "__"):
                if name != "__builtins__":
                    module.__dict__[name] = None
        if flush():  # once more, as the interpreter does: what was taken down may have printed
            ctypes.PyDLL(None).fflush(None)
            os._exit(self.status)

    def watch_environment(self):
        """A module that is loaded after the script has changed the environment may depend on that: it is not learned."""
        self.before = None

        def hear(event, words):
            if event in ("os.putenv", "os.unsetenv") and self.before is None and not words[0].startswith(AGAIN):
                half = {name for name, module in list(sys.modules.items())
                        if getattr(getattr(module, "__dict__", {}).get("__spec__"), "_initializing", False)}
                self.before = [name for name in list(sys.modules) if half.isdisjoint(
                    itertools.accumulate(name.split("."), "{}.{}".format))]

        sys.addaudithook(hear)

    def teach(self):
        files = {name: file_of(sys.modules.get(name)) for name in self.before or list(sys.modules)}
        lines = [f"{name}\t{files[name]}" for name in files if name not in self.loaded and installed(files[name])]
        text = "\n".join(["\t", *lines, *users_folders()]).encode(errors="surrogatepass")
        if len(text) < LESSON_MAX - 12:
            self.shared[12:12 + len(text)] = text
            struct.pack_into("i", self.shared, 8, len(text))


def flush():
    """Did it go well? If not the interpreter tries it again, and says what it says."""
    try:
        for stream in filter(None, (sys.__dict__.get("stdout"), sys.__dict__.get("stderr"))):
            if not getattr(stream, "closed", False):
                stream.flush()
        return True
    except BaseException:
        return False


def status_of(error):
    """The exit status that an exception is to the interpreter; None: it is more than a number."""
    if isinstance(error, SystemExit):
        if isinstance(error.code, int):
            return error.code & 255 if -1 << 63 <= error.code < 1 << 63 else 255
        return 0 if error.code is None else 1
    return None if isinstance(error, KeyboardInterrupt) or sys.excepthook is not sys.__excepthook__ else 1


def without_launcher(hook):
    def show(kind, error, trace):
        while trace and trace.tb_frame.f_code.co_filename in ("<string>", "<sweepd>", "sys"):
            trace = trace.tb_next
        error.__traceback__ = trace
        hook(kind, error, trace)
    return show


launcher = Launcher(sys.argv[1])
launcher.serve()
launcher.take()
launcher.run()

"""The launcher of a slot's Python programs (worker/exec/launcher.h): imports what they import, and forks one a trial.

    worker -- an order: a byte with descriptors --> descriptor 3 --> whichever spare takes it
    spare -- its pid, or why not --> the trial's own socket -- "g": it is listed --> the spare is the program

A spare is the worker's child, as a cold program is: what forked it has ended. When its script begins it has no
descriptor of the launcher. What the script had loaded at its end comes back in memory that both share.
"""
import ast
import atexit
import ctypes
import gc
import glob
import importlib.machinery
import importlib.util
import mmap
import os
import select
import socket
import struct
import sys
import time
import types
import weakref

SPARES = 4  # that are forked ahead, once the first script has taught what to load: some at a time
LOOK_S = 1  # between two looks whether a file that was loaded has changed
LESSON_MAX = 1 << 18  # bytes
STANDARD = os.path.dirname(os.__file__) + "/"
AT_START = set(sys.modules)
HOOK_CODE = compile(HOOK, "wandb_hook.py", "exec")  # noqa: F821  (cmake/embed.cmake puts HOOK before this file)


def before_script():
    """In each program, before its script: wandb's log() is heard (worker/exec/wandb_hook.py, the text of HOOK)."""
    if "SWEEPD_METRICS_FD" in os.environ:  # not in ranks but the first
        hook = {"__name__": "sweepd_hook"}
        exec(HOOK_CODE, hook)
        hook["install"]()


def installed(path):
    """Is the file of the standard library or of an installed package? Any other is the user's, and may change."""
    return isinstance(path, str) and (path.startswith(STANDARD) or "/site-packages/" in path or "/dist-packages/" in path)


def file_of(module):
    return getattr(module, "__dict__", {}).get("__file__")  # a lazy module would load itself for a getattr()


def stamp(path):
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


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
            continue  # what the file says of itself
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


def show_as(title):
    """What `ps` shows of this process, in place of the words that it was started with."""
    try:
        with open("/proc/self/stat", "rb") as file:
            start, end = map(int, file.read().rpartition(b")")[2].split()[45:47])
        with open("/proc/self/mem", "r+b", buffering=0) as file:
            file.seek(start)
            file.write(os.fsencode(title)[:end - start - 2].ljust(end - start - 1, b"\0") + b".")  # no NUL: a title
    except OSError:
        pass  # it is only shown


class Launcher:
    def __init__(self, script):
        show_as("sweepd launcher of " + script)
        self.status = None
        self.coerced = os.environb.get(b"LC_CTYPE")  # the interpreter's own, if the environment has no locale (PEP 538)
        atexit.register(self.end_program)  # as the first: it is called as the last
        words = getattr(sys, "orig_argv", [sys.executable, "-c"])
        self.python = words[:words.index("-c")]
        self.control = socket.socket(fileno=3)
        self.descriptors = descriptors()
        self.shared = mmap.mmap(-1, LESSON_MAX)  # when files were looked at, the length of the lesson, the lesson
        self.spares = set()  # a pipe of each, which closes when it takes an order or ends
        self.learned = False
        for fd in 1, 2:
            os.dup2(os.memfd_create("import"), fd)  # what packages print while they are imported
        self.descriptors |= descriptors()
        if not getattr(sys.flags, "safe_path", False):
            sys.path[0] = os.path.dirname(os.path.realpath(script))
        self.printed = None
        try:
            with open(script, "rb") as file:
                source = file.read()
            names = list(head(source))
            # An optimizer loads 900 modules more, which may depend on an environment that the script changes first.
            if "torch" in names and b"optim" in source and b"environ" not in source:
                names.append("torch._dynamo")
            self.load(names)
        except Exception:
            self.load([])  # the script itself says what is wrong

    def load(self, names):
        for name in names:
            try:
                importlib.import_module(name)
            except (Exception, SystemExit):
                pass  # as above
        sys.stdout.flush()
        sys.stderr.flush()
        if self.printed is None:  # of a script's head; it may have silenced what it loads later
            self.printed = [os.pread(fd, 1 << 16, 0) for fd in (1, 2)]
        self.loaded = set(sys.modules)
        files = {name: file_of(sys.modules[name]) for name in self.loaded - AT_START}
        folders = [folder for folder in sys.path if installed(folder + "/")]  # in which a package may appear
        paths = [path for folder in folders for path in (folder, *glob.glob(folder + "/*.pth"))]
        self.stamps = {file: stamp(file) for file in [sys.executable, *paths, *files.values()] if isinstance(file, str)}
        self.wrong = self.find_wrong(files)
        gc.collect()
        gc.freeze()  # or a collection in a child would write to what it shares

    def find_wrong(self, files):
        """What a fork would not take along rightly, or None."""
        for name, file in files.items():
            if isinstance(file, str) and not installed(file):
                return f"a package loads {name}, which is not installed: {file}"
        for fd in descriptors() - self.descriptors:
            return f"a package opens {os.readlink('/proc/self/fd/' + fd)} when it is imported"
        pid = os.fork()  # before a fork OpenBLAS ends its threads; it starts them again when it needs them
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        until = time.monotonic() + 1
        while len(os.listdir("/proc/self/task")) > 1:
            if time.monotonic() > until:
                return "a package starts threads when it is imported"
            time.sleep(0.01)
        return None

    def end(self, why):
        write_all(3, why.encode(errors="replace"))
        os._exit(0)

    def study(self):
        """Loads what a script had loaded at its end, once."""
        length, = struct.unpack_from("i", self.shared, 8)
        if length and not self.learned:
            self.learned = True
            self.load(self.shared[12:12 + length].decode().split())
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
        between = os.fork()
        if between:
            for _, its in pipes:
                os.close(its)
            self.spares.update(ours for ours, _ in pipes)
            failed = os.waitpid(between, 0)[1] >> 8
            if failed:  # what was not forked has closed its pipe
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

    # In a spare

    def take(self):
        """Waits for an order and becomes its program, but for the script."""
        _, passed, _, _ = self.control.recvmsg(1, socket.CMSG_SPACE(16))
        if not passed:
            os._exit(0)  # the worker is gone
        order, out, err, talk = struct.unpack("4i", passed[0][2])
        os.close(self.held)
        cwd, n, *text = os.pread(order, os.fstat(order).st_size, 0).split(b"\0")
        words, environment = [os.fsdecode(word) for word in text[:int(n)]], text[int(n):-1]
        answer = b"%d\n" % os.getpid()
        if time.monotonic() - struct.unpack_from("d", self.shared)[0] > LOOK_S:
            struct.pack_into("d", self.shared, 0, time.monotonic())
            if any(stamp(file) != found for file, found in self.stamps.items()):
                answer = b"changed\n"
        try:
            os.chdir(cwd)
            with open(words[0], "rb") as file:
                self.source = file.read()
        except OSError:
            answer = b"its script cannot be read\n"
        write_all(talk, answer)
        if os.read(talk, 1) != b"g":
            os._exit(0)
        os.setsid()
        sys.argv = words
        sys.orig_argv = self.python + words
        show_as(" ".join(sys.orig_argv))
        self.control.detach()
        for fd, end in enumerate((out, err, talk), 1):
            os.dup2(end, fd)
        os.closerange(4, max(order, out, err, talk, self.held) + 1)
        for fd in 1, 2:
            write_all(fd, self.printed[fd - 1])
        os.environb.clear()
        for entry in environment:
            name, _, value = entry.partition(b"=")
            os.environb[name] = value
        if self.coerced:
            os.environb.setdefault(b"LC_CTYPE", self.coerced)

    def freshen(self):
        """What would be the same in all children; `random` sees to that itself."""
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()
        if "torch" in sys.modules:  # as it begins: what was imported may have drawn from it
            torch = sys.modules["torch"].default_generator
            torch.manual_seed(torch.initial_seed())
        if "multiprocessing.process" in sys.modules:
            sys.modules["multiprocessing.process"].current_process().authkey = os.urandom(32)
        for path in [path for path in sys.path_importer_cache if not installed(path + "/")]:
            del sys.path_importer_cache[path]

    def run(self):
        path = os.path.join(os.getcwd(), sys.argv[0])
        main = types.ModuleType("__main__")
        main.__dict__.update(__file__=path, __builtins__=sys.modules["builtins"], __annotations__={}, __cached__=None,
                             __loader__=importlib.machinery.SourceFileLoader("__main__", path))
        self.main, sys.modules["__main__"] = sys.modules["__main__"], main
        self.freshen()
        if not self.learned:
            self.watch_environment()
        before_script()
        self.pid = os.getpid()
        try:
            exec(compile(self.source, path, "exec", dont_inherit=True), main.__dict__)
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
        if self.status is None or os.getpid() != self.pid:
            return  # the interpreter does all of it
        flush()
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
        users = [weakref.ref(sys.modules.pop(name)) for name in ["__main__", *reversed(names)] if name in sys.modules]
        atexit._clear()  # this is the last one of them
        gc.collect()
        for module in filter(None, [user() for user in users]):
            for name in module.__dict__.keys() - {"__builtins__"}:
                module.__dict__[name] = None
        flush()  # once more, as the interpreter does: what was taken down may have printed
        ctypes.PyDLL(None).fflush(None)
        os._exit(self.status)

    def watch_environment(self):
        """What a script loads after it has changed the environment may depend on that: it is not learned."""
        self.before = None

        def hear(event, _):
            if event in ("os.putenv", "os.unsetenv") and self.before is None:
                frame = sys._getframe(1)
                while frame and frame.f_globals.get("__name__") in ("os", "_collections_abc"):
                    frame = frame.f_back
                if frame and not installed(frame.f_code.co_filename):
                    self.before = list(sys.modules)

        sys.addaudithook(hear)

    def teach(self):
        names = [name for name in self.before or list(sys.modules)
                 if name not in self.loaded and installed(file_of(sys.modules.get(name)))]
        text = "\n".join(["sys", *names]).encode()
        if len(text) < LESSON_MAX - 12:
            self.shared[12:12 + len(text)] = text
            struct.pack_into("i", self.shared, 8, len(text))


def flush():
    for stream in sys.stdout, sys.stderr:
        if hasattr(stream, "flush") and not getattr(stream, "closed", False):
            stream.flush()


def status_of(error):
    """The exit status that an exception is to the interpreter; None: it is more than a number."""
    if isinstance(error, SystemExit):
        return 0 if error.code is None else error.code & 255 if isinstance(error.code, int) else 1
    return None if isinstance(error, KeyboardInterrupt) or sys.excepthook is not sys.__excepthook__ else 1


def without_launcher(hook):
    def show(kind, error, trace):
        while trace and trace.tb_frame.f_code.co_filename in ("<string>", "<sweepd>"):
            trace = trace.tb_next
        error.__traceback__ = trace
        hook(kind, error, trace)
    return show


launcher = Launcher(sys.argv[1])
launcher.serve()
launcher.take()
launcher.run()

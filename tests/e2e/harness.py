"""What the end-to-end tests share: a daemon as a process, a JSON-RPC client with deadlines, polling.

No fixed sleeps: every wait has a condition and a deadline, and the deadline is far above what any
machine needs (SWEEPD_DEADLINE, seconds).
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.abspath(os.environ.get("SWEEPD_BIN", os.path.join(ROOT, "build", "bin")))
# The longest wait; with sanitizers the same takes several times as long.
DEADLINE = float(os.environ.get("SWEEPD_DEADLINE", "270" if "SWEEPD_SANITIZED" in os.environ else "90"))

ENDED = {"COMPLETED", "CANCELLED", "FAILED"}
TRIAL_ENDED = {"COMPLETED", "PRUNED", "FAILED", "INFEASIBLE", "CANCELLED"}

INVALID_PARAMS = -32602
NOT_FOUND, CONFLICT, LIMIT, DENIED = -32001, -32002, -32005, -32006


def wait_until(predicate, what, timeout=None):
    """The first true value of predicate(); AssertionError with `what` past the deadline."""
    end = time.monotonic() + (timeout or DEADLINE)
    pause = 0.002
    while True:
        value = predicate()
        if value:
            return value
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def alive(pid):
    """Does the process run? One that only waits to be reaped does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def others_may_run(user):
    """May this process be the user, and the user run the build? Not where it lies in root's own folder."""
    try:
        return os.getuid() == 0 and subprocess.run([os.path.join(BIN, "sweepd"), "--version"], user=user, check=False,
                                                   stdout=subprocess.DEVNULL).returncode == 0
    except PermissionError:
        return False


def environment(**more):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("SWEEPD_", "XDG_")) and k != "NO_COLOR"}
    env.setdefault("LANG", "C.UTF-8")
    env.setdefault("OPENBLAS_NUM_THREADS", "1")
    env.update(more)
    return env


def fake_os(folder, speed=1, gate=None, wall=None):
    """What Daemon.start() takes for a daemon whose clock runs `speed` times faster, whose wall clock is ahead by
    what the file `wall` says, and whose disk waits while the file `gate` is there (fake_os.c)."""
    library = os.path.join(str(folder), "fake_os.so")
    if not os.path.exists(library):
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library,
                        os.path.join(ROOT, "tests", "e2e", "fake_os.c")], check=True)
    # A sanitizer wants to be the first library; it is the second here.
    asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return {"LD_PRELOAD": library, "FAKE_OS_SPEED": str(speed), "ASAN_OPTIONS": asan,
            **({"FAKE_OS_WALL": str(wall)} if wall else {}), **({"FAKE_OS_GATE": str(gate)} if gate else {})}


def check_answer(name, value, params=None):
    """With SWEEPD_CHECK_ANSWERS in the environment: an answer, or what a notification says, must be as
    rpc.discover promises it, and a spec that was taken as `sweep schema` has it."""
    if "SWEEPD_CHECK_ANSWERS" in os.environ and name != "rpc.discover":
        import schemas  # which uses this file
        wrong = schemas.fault(name, value)
        if wrong is None and params and name in ("sweep.submit", "sweep.validate"):
            wrong = schemas.spec_fault(params["spec"])
        assert wrong is None, wrong


class RpcError(Exception):
    def __init__(self, error):
        super().__init__(f"{error['code']} {error['message']} {error.get('data')}")
        self.code = error["code"]
        self.message = error["message"]
        self.pointer = (error.get("data") or {}).get("pointer", "")
        self.faults = (error.get("data") or {}).get("faults", [])


def reject_constant(name):
    raise ValueError(f"{name} is not JSON")


def reject_duplicates(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"duplicate key in {keys}"
    return dict(pairs)


def parse(line):
    """JSON as strictly as the daemon reads it: what it sends must pass its own rules."""
    return json.loads(line.decode("utf-8"), parse_constant=reject_constant,
                      object_pairs_hook=reject_duplicates)


class Client:
    """One connection. Replies are matched by id; notifications are passed over."""

    def __init__(self, path, timeout=None):
        self.timeout = timeout or DEADLINE
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(self.timeout)
        try:
            self.socket.connect(path)
        except BaseException:
            self.socket.close()
            raise
        self.buffer = b""
        self.next_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, message):
        self.socket.sendall(message if isinstance(message, bytes)
                            else json.dumps(message).encode() + b"\n")

    def line(self):
        """The next line, or b"" when the daemon closed the connection."""
        end = time.monotonic() + self.timeout
        while b"\n" not in self.buffer:
            self.socket.settimeout(max(0.001, end - time.monotonic()))
            try:
                chunk = self.socket.recv(1 << 16)
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                return b""
            self.buffer += chunk
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def receive(self):
        line = self.line()
        assert line, "the daemon closed the connection"
        return parse(line)

    def raw(self, message):
        """Sends bytes or a value as they are; the next line that is not a notification."""
        self.send(message)
        while True:
            reply = self.receive()
            if isinstance(reply, list) or "method" not in reply:
                return reply
            check_answer(reply["method"], reply["params"])

    def call(self, method, **params):
        self.next_id += 1
        request = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        reply = self.raw(request)
        assert reply.get("jsonrpc") == "2.0" and reply.get("id") == self.next_id, reply
        if "error" in reply:
            raise RpcError(reply["error"])
        check_answer(method, reply["result"], params)
        return reply["result"]

    def refused(self, method, **params):
        """The error of a call that must be refused, with its one line."""
        try:
            result = self.call(method, **params)
        except RpcError as error:
            assert error.message and "\n" not in error.message
            return error
        raise AssertionError(f"{method} {params} was not refused: {result}")

    def watch(self, view, wait_s=30):
        """The next answer of sweep.watch after this one."""
        return self.call("sweep.watch", sweep=view["sweep"], since=view["next"], wait_s=wait_s)

    # What many tests do.

    def submit(self, spec):
        return self.call("sweep.submit", spec=spec)["sweep"]

    def run(self, spec, state=None):
        """Submits a sweep and waits for its end: its number. state: the one that it must have then."""
        sweep = self.submit(spec)
        got = self.wait_sweep(sweep)
        assert state in (None, got["state"]), got
        return sweep

    def sweep(self, sweep):
        return self.call("sweep.get", sweep=sweep)

    def trials(self, sweep, **more):
        rows, after = [], 0
        while after is not None:
            page = self.call("trial.list", sweep=sweep, after=after, **more)
            rows += page["trials"]
            after = page["next"]
        return rows

    def reports(self, sweep, trial):
        rows, after = [], {}
        while True:
            page = self.call("trial.reports", sweep=sweep, trial=trial, **after)
            rows += page["reports"]
            if page["next"] is None:
                return rows
            after = {"after": page["next"]}

    def wait_sweep(self, sweep, states=frozenset(ENDED), timeout=None):
        return wait_until(lambda: (s := self.sweep(sweep))["state"] in states and s,
                          f"sweep {sweep} in one of {sorted(states)}", timeout)

    def ask(self, sweep, count=1):
        return self.call("trial.ask", sweep=sweep, count=count)["trials"]

    def report(self, sweep, handed, seq, step, **metrics):
        return self.call("trial.report", sweep=sweep, trial=handed["trial"],
                         attempt=handed["attempt"], seq=seq, step=step,
                         metrics=metrics)["decision"]

    def tell(self, sweep, handed, state="COMPLETED", **more):
        return self.call("trial.tell", sweep=sweep, trial=handed["trial"],
                         attempt=handed["attempt"], state=state, **more)["state"]

    def heartbeat(self, sweep, handed):
        return self.call("trial.heartbeat", sweep=sweep, trial=handed["trial"],
                         attempt=handed["attempt"])["decision"]

    def closed(self):
        """Has the daemon closed this connection? Does not wait."""
        self.socket.settimeout(0)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True

    def slots(self):
        return self.call("device.list")["slots"]


class Daemon:
    """sweepd on a state directory; start() and kill9() as often as a test likes."""

    def __init__(self, directory, devices="none", more=()):
        self.directory = str(directory)
        self.state = os.path.join(self.directory, "state")
        # A socket's path has at most 107 bytes, which pytest's own folders may exceed.
        self.short = tempfile.mkdtemp(prefix="sw-")
        self.socket = os.path.join(self.short, "s")
        self.devices = devices
        self.more = list(more)  # options of sweepd
        self.log = os.path.join(self.directory, "log")
        self.before = []  # words before sweepd's own: setpriv and its options
        self.process = None
        self.clients = []
        self.workers = set()

    def start(self, wait=True, **env):
        assert self.process is None
        with open(os.path.join(self.directory, "stderr"), "ab") as stderr:
            self.process = subprocess.Popen(
                [*self.before, os.path.join(BIN, "sweepd"), "--state", self.state, "--socket", self.socket,
                 "--devices", self.devices, "--log", self.log, "--log-level", "debug", *self.more],
                cwd=ROOT, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
                env=environment(**env))
        if wait:
            wait_until(self.ready, "a daemon that accepts")
        return self

    def ready(self):
        status = self.process.poll()
        assert status is None, f"sweepd ended with {status}: {self.tail()}"
        try:
            Client(self.socket).close()
            return True
        except (FileNotFoundError, ConnectionRefusedError):
            return False

    def tail(self):
        text = ""
        for name in ("stderr", "log"):
            try:
                with open(os.path.join(self.directory, name), encoding="utf-8",
                          errors="replace") as file:
                    text += "".join(file.readlines()[-30:])
            except FileNotFoundError:
                pass
        return text

    def client(self, **more):
        client = Client(self.socket, **more)
        self.clients.append(client)
        return client

    def kill9(self):
        self.note_workers()
        self.process.kill()
        self.process.wait()
        self.process = None

    def again(self, **env):
        """kill -9, and a client of the next one."""
        self.kill9()
        return self.start(**env).client()

    def refused(self):
        """Starts it where it must not start: its one line."""
        process, self.process = self.start(wait=False).process, None
        try:
            assert process.wait(DEADLINE) == 3
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(self.short)
        with open(os.path.join(self.directory, "stderr"), encoding="utf-8") as stderr:
            line, = stderr.read().splitlines()
        return line

    def term(self):
        """SIGTERM; the exit status."""
        self.note_workers()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(DEADLINE)
        self.process = None
        return status

    def note_workers(self):
        """Remembers the workers' ids, so that stop() can see that none is left behind."""
        try:
            with Client(self.socket, timeout=5) as client:
                self.workers |= {slot["pid"] for slot in client.slots() if slot.get("pid")}
        except (OSError, AssertionError, RpcError, ValueError):
            pass

    def workers_left(self):
        """Those that still run. One that was killed a moment ago may take a while to be gone."""
        end = time.monotonic() + 10
        while any(alive(pid) for pid in self.workers) and time.monotonic() < end:
            time.sleep(0.01)
        return [pid for pid in self.workers if alive(pid)]

    def stop(self):
        """At the end of a test: the daemon must still live and must end cleanly, its workers too."""
        for client in self.clients:
            client.close()
        status = 0
        try:
            if self.process is not None:
                assert self.process.poll() is None, f"sweepd died: {self.tail()}"
                status = self.term()
            assert status == 0, f"sweepd ended with {status}: {self.tail()}"
        finally:
            if self.process is not None:
                self.process.kill()
                self.process.wait()
            left = self.workers_left()
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            for path in (self.socket, self.short):
                try:
                    os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
                except OSError:
                    pass
        assert not left, f"workers left behind: {left}"


def sweep_command(daemon, *args, timeout=None, cwd=ROOT, **env):
    """Runs the `sweep` command against a daemon (or a socket's path): (status, stdout, stderr)."""
    path = daemon if isinstance(daemon, str) else daemon.socket
    done = subprocess.run([os.path.join(BIN, "sweep"), "--socket", path, *map(str, args)],
                          cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=timeout or DEADLINE, env=environment(**env))
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def cramped_command(daemon, kib, *args):
    """The same where no file may be longer, as on a disk that is full: (status, stderr)."""
    limited = f"trap '' XFSZ; ulimit -f {2 * kib}; exec \"$@\""  # of POSIX: in units of 512 bytes
    done = subprocess.run(["sh", "-c", limited, "sh", os.path.join(BIN, "sweep"), "--socket", daemon.socket, *map(str, args)],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=DEADLINE, env=environment())
    return done.returncode, done.stderr.decode()


# --- specs ---

def driven(**more):
    """A sweep that the client drives."""
    spec = {"name": "driven", "method": "random", "seed": 11,
            "metric": {"name": "loss", "goal": "minimize"},
            "parameters": {"x": {"min": 0.0, "max": 1.0}, "k": {"min": 1, "max": 8}},
            "run_cap": 20}
    return merged(spec, more)


def example(name, **more):
    """A spec of examples/, in its folder as `sweep submit` fills it in. None takes a key away."""
    with open(os.path.join(ROOT, "examples", f"{name}.json"), encoding="utf-8") as file:
        spec = json.load(file)
    if "program" in spec:
        spec["run"]["cwd"] = os.path.join(ROOT, "examples")
    return merged(spec, more)


def merged(spec, more):
    """None takes a key away."""
    return {k: v for k, v in {**spec, **more}.items() if v is not None}


def asha(**more):
    return {"type": "asha", "max_t": 27, "grace_period": 1, "reduction_factor": 3, **more}


def trained(epochs=6, dataset=None, layers=None, **more):
    """A sweep that the built-in workers train: a small network on the wine data."""
    spec = {"name": "trained", "method": "random", "seed": 5,
            "metric": {"name": "val_loss", "goal": "minimize"},
            "parameters": {"width": {"distribution": "pow2", "min": 8, "max": 32},
                           "lr": {"distribution": "log_uniform_values", "min": 1e-3, "max": 0.3},
                           "batch_size": {"values": [16, 32]}},
            "run_cap": 6,
            "trainer": {"dataset": dataset or {"name": "wine"}, "epochs": epochs,
                        "model": layers or [{"linear": "width"}, "relu", {"linear": 3}],
                        "loss": "cross_entropy"}}
    return merged(spec, more)


def slow(epochs=150, **more):
    """The same with epochs of many milliseconds, for tests that must meet a trial in its middle."""
    return trained(epochs=epochs, dataset={"name": "digits"},
                   layers=[{"linear": 128}, "relu", {"linear": "width"}, "relu", {"linear": 10}],
                   **{"parameters": {"width": {"values": [32, 64]}, "lr": {"value": 0.005},
                                     "batch_size": {"value": 8}}, **more})

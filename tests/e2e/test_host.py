"""`sweep --host box` and sweepd.Client(host="box"): ssh to an sshd of this test's own, which needs no port."""
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from harness import BIN, DEADLINE, alive, driven, environment, trained, wait_until
from test_cli import in_terminal
from test_python import sweepd

SSHD = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
LIVE = b"\x1b[?1049h"  # a screen of its own


class Far:
    """Hosts for ssh. Each is this machine: an sshd that ssh starts, whose sessions have variables of their own."""

    def __init__(self, folder):
        self.folder = str(folder)
        for key, phrase in (("key", ""), ("typed", "open sesame"), ("machine", "")):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-f", self.path(key)], check=True)
        self.write("allowed", "".join(self.read(f"{key}.pub") for key in ("key", "typed")))
        os.mkdir(self.path("bin"))
        self.write("bin/ssh", f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.path("config")} "$@"\n', 0o700)
        self.variables = {"PATH": f"{self.path('bin')}:{os.environ['PATH']}"}

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "a", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def host(self, name, socket="/nowhere/sweepd.sock", script=None, key="key", ask="accept-new"):
        """A host whose sessions find `sweep` and the daemon there, and no start files of a shell; script: which is this one."""
        programs = BIN
        if script is not None:
            programs = self.path(f"programs.{name}")
            os.mkdir(programs)
            self.write(f"programs.{name}/sweep", script, 0o700)
        # The pid of a session's sshd is kept: that is the link. As on another machine, Ctrl-C here is none there.
        self.write(f"start.{name}", f"#!/bin/sh\necho $$ >> {self.path('links')}\nexec setsid {SSHD} -i -f {self.path(name)}\n",
                   0o700)
        self.write(name, f"""HostKey {self.path("machine")}
AuthorizedKeysFile {self.path("allowed")}
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PidFile none
PermitRootLogin yes
SetEnv PATH={programs}:/usr/bin:/bin SWEEPD_SOCKET={socket} SWEEPD_HOST={name} HOME={self.path("home")}
""")
        self.write("config", f"""Host {name}
  ProxyCommand {self.path(f"start.{name}")}
  User {pwd.getpwuid(os.getuid()).pw_name}
  IdentityFile {self.path(key)}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {self.path("known")}
  StrictHostKeyChecking {ask}
  LogLevel ERROR
""")
        return name

    def open(self, *args, says=None):
        """The command, once it has said that."""
        with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False) as out:
            process = subprocess.Popen([os.path.join(BIN, "sweep"), *map(str, args)], stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                       env=environment(**self.variables), start_new_session=True)
        process.out = out.name
        wait_until(lambda: not says or says in self.read(process.out), says)
        return process

    def end(self, process):
        """(status, stdout, stderr)"""
        err = process.communicate(timeout=DEADLINE)[1]
        return process.returncode, self.read(process.out), err

    def run(self, *args):
        return self.end(self.open(*args))

    def links(self):
        return [int(pid) for pid in self.read("links").split() if alive(int(pid))]

    def cut(self):
        """Every link that is there is lost."""
        for pid in self.links():
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def far(tmp_path, monkeypatch):
    if SSHD is None or not shutil.which("ssh-keygen"):
        pytest.skip("there is no sshd: openssh-server")
    if os.getuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # where Debian's sshd wants it
    there = Far(tmp_path)
    monkeypatch.setenv("PATH", there.variables["PATH"])
    there.host("plain")
    done = subprocess.run(["ssh", "plain", "true"], capture_output=True, text=True, check=False, timeout=DEADLINE)
    if done.returncode != 0:
        pytest.skip(f"sshd lets nobody in here: {done.stderr.strip()}")
    yield there
    wait_until(lambda: not there.links(), "all of ssh ended")


@pytest.fixture
def box(far, daemon):
    return far.host("box", daemon.socket)


def tried(client, n=3, **more):
    """A sweep with n trials that have ended."""
    sweep = client.submit(driven(name="digits", run_cap=n, **more))
    for i in range(n):
        (handed,) = client.ask(sweep)
        client.report(sweep, handed, 1, 1, loss=1.0 + i)
        client.tell(sweep, handed)
    return sweep


def test_every_verb_says_the_same_by_ssh_as_by_the_socket(far, box, daemon):
    tried(daemon.client())
    far.write("spec.json", json.dumps(driven()))
    far.write("median.json", json.dumps({"early_terminate": {"type": "median"}}))
    for words in ("ls", "show digits", "trials digits --csv", "why digits/1", "log digits/1", "watch digits",
                  "plot digits --csv", "devices", "validate spec.json", "simulate digits --early-terminate median.json",
                  "rpc sweep.get {\"sweep\":1}", "note digits b", "show 7", "rpc no.such"):
        here, there = (far.run(*where, *words.split(" ")) for where in (["--socket", daemon.socket], ["--host", box]))
        assert re.sub(r"\d+(\.\d)? ?ms|[\d.]+s", "T", str(here)) == re.sub(r"\d+(\.\d)? ?ms|[\d.]+s", "T", str(there)), words
    for out in ("here", "there"):
        where = ["--socket", daemon.socket] if out == "here" else ["--host", box]
        assert far.run(*where, "export", "digits", "--to", "json", "--out", out)[0] == 0
        assert far.run(*where, "plot", "digits", "--out", out + ".svg")[0] == 0
    assert far.read("here") == far.read("there") and far.read("here.svg") == far.read("there.svg")


def test_host_of_the_environment_counts_where_no_socket_is_named(far, box, daemon, monkeypatch):
    tried(daemon.client(), n=1)
    far.variables["SWEEPD_HOST"] = box  # the session there has it, too: `dial` goes no further
    assert "digits" in far.run("ls")[1]
    assert far.run("--socket", "/nowhere", "ls")[0] == 3
    monkeypatch.setenv("SWEEPD_HOST", box)
    with sweepd.Client() as client:
        assert client.host == box and [row["name"] for row in client.sweeps()] == ["digits"]


def test_ssh_asks_on_the_terminal_and_then_comes_the_live_table(far, daemon):
    box = far.host("asks", daemon.socket, key="typed", ask="ask")
    daemon.client().submit(driven(name="digits"))
    status, drawn = in_terminal(["--host", box], ["watch", "digits"],
                                [(b"continue connecting", b"yes\n"), (b"passphrase", b"open sesame\n"), (b"digits", b"q")],
                                **far.variables)
    assert status == 0, drawn
    assert drawn.index(b"passphrase") < drawn.index(LIVE) and b"sesame" not in drawn
    assert drawn.count(b"passphrase") == 1 and b"sweep 1 goes on" in drawn


@pytest.mark.parametrize("end", ["link", "daemon"])
def test_watch_that_loses_its_host_says_so_in_one_line_and_ends_with_3(far, box, daemon, end):
    sweep = daemon.client().submit(driven(name="digits"))
    watch = far.open("--host", box, "watch", sweep, says="digits")
    far.cut() if end == "link" else daemon.term()
    status, _, err = far.end(watch)
    assert status == 3
    ours = [line for line in err.splitlines() if line.startswith("sweep: ")]
    assert ours == ["sweep: box: " + {"link": "the connection was lost",
                                      "daemon": "the daemon there closed the connection"}[end]]
    if end == "daemon":
        daemon.start()


def test_ctrl_c_leaves_the_watch_and_ends_ssh(far, box, daemon):
    sweep = daemon.client().submit(driven(name="digits"))
    watch = far.open("--host", box, "watch", sweep, says="digits")
    os.killpg(watch.pid, signal.SIGINT)  # ssh gets it, too
    status, out, err = far.end(watch)
    assert (status, err) == (0, "") and "goes on" in out


def test_drain_with_stop_tells_a_daemon_that_ended_from_a_link_that_was_lost(far, box, daemon):
    client = daemon.client()
    assert far.run("--host", box, "drain", "--stop")[1].endswith("the daemon has ended\n")
    assert daemon.process.wait(DEADLINE) == 0
    daemon.process = None
    assert client.closed()


CHATTY = f"#!/bin/sh\necho 'Welcome to box!'\nexec {BIN}/sweep \"$@\"\n"
FAULTS = {
    "no sweep there": (dict(script=""), "finds no `sweep`: install sweepd there"),
    "a banner": (dict(script=CHATTY), "'Welcome to box!'"),
    "noise": (dict(script="#!/bin/sh\nhead -c 3000000 /dev/zero; echo; cat\n"), "no answer of sweepd's"),
    "no daemon": ({}, "start its daemon"),
    "a key that is not let in": (dict(key="machine"), "ssh's own line says why"),
    "an unknown machine": (dict(ask="yes"), "ssh's own line says why"),
    "it ends at once": (dict(script="#!/bin/sh\nexit 7\n"), "status 7"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_host_without_a_daemon_is_said_in_one_line(far, fault):
    how, says = FAULTS[fault]
    name = far.host("odd", **how)
    if how.get("script") == "":
        os.unlink(far.path("programs.odd/sweep"))
    elif how.get("ask"):
        os.unlink(far.path("known"))
    status, out, err = far.run("--host", name, "ls")
    *_, last = lines = err.splitlines()
    assert (status, out) == (3, "") and last.startswith("sweep: odd: ") and says in last, err
    assert len(lines) <= 3, err  # the others are ssh's, or of the shell there
    with pytest.raises(sweepd.SweepdError) as caught:
        sweepd.Client(host=name)
    assert "odd" in str(caught.value) and "\n" not in str(caught.value)


def test_name_of_a_host_is_no_option_of_ssh(far):
    for name in ("-oProxyCommand=touch owned", "", "a b", "a\nb"):
        status, _, err = far.run(f"--host={name}", "ls")
        assert status == 2 and "is no host for ssh" in err and err.count("\n") == 1, err
        if name:
            with pytest.raises(sweepd.SweepdError, match="no host for ssh"):
                sweepd.Client(host=name)
    assert far.run("--host", "a", "--socket", "/b", "ls")[0] == 2
    assert not os.path.exists(far.path("owned"))


def test_paths_of_a_spec_are_those_of_the_host(far, box, daemon):
    far.write("here.csv", "a,b\n1,2\n")
    far.write("data.json", json.dumps(trained(dataset={"format": "csv", "path": "here.csv", "label": "b"})))
    far.write("program.json", json.dumps(driven(command=["true"])))
    status, _, err = far.run("--host", box, "submit", "data.json")
    assert status == 1 and "here.csv" in err and far.path("here.csv") not in err, err
    status, _, err = far.run("--host", box, "submit", "program.json")
    assert status == 1 and '"run" is missing' in err, err
    with sweepd.Client(host=box) as client, pytest.raises(sweepd.SweepdError, match='"run" is missing'):
        client.submit(far.path("program.json"))
    for verb in ("fit", "checkpoint"):
        status, _, err = far.run("--host", box, verb, "1/1", "--out", "model")
        assert status == 1 and "reads files of box" in err, err


def test_long_lines_pass_both_ways(far, box, daemon):
    tried(daemon.client(), n=1)
    note = "x" * 1000000
    status, _, err = far.run("--host", box, "rpc", "sweep.get", json.dumps({"sweep": 1, "odd": note[:100000]}))
    assert status == 1 and err.count("\n") == 1, err
    with sweepd.Client(host=box) as client:
        wide = {f"p{i}": {"values": [f"{i} {n} {note[:900]}" for n in range(4)]} for i in range(250)}
        sweep = client.submit(driven(parameters=wide))
        assert client.sweep(sweep)["spec"]["parameters"] == wide


def test_python_client_works_over_ssh_and_comes_back(far, box):
    with sweepd.Client(host=box, patience_s=DEADLINE) as client:
        sweep = client.submit(driven(run_cap=2))
        for trial in client.loop(sweep):
            far.cut()  # the link of the loop, too
            trial.report(loss=trial.params["x"])
        assert [row["state"] for row in client.trials(sweep)] == ["COMPLETED"] * 2
        assert client.wait(sweep)["state"] == "COMPLETED"
    with pytest.raises(sweepd.SweepdError, match="exclude"):
        sweepd.Client("/a", host=box)


def test_completion_asks_the_host_and_nobody_for_a_password(far, box, daemon):
    tried(daemon.client(), n=1)
    assert wait_until(lambda: "digits\tsweep 1" in far.run("complete", "--host", box, "show", "d")[1], "digits")
    far.host("typed.box", daemon.socket, key="typed")
    assert far.run("complete", "--host", "typed.box", "show", "d")[1] == ""


def test_dial_ends_with_its_stdin_and_with_the_daemon(daemon):
    def dial():
        process = subprocess.Popen([os.path.join(BIN, "sweep"), "--socket", daemon.socket, "dial"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=environment())
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"daemon.info"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["name"] == "sweepd"
        return process
    process = dial()
    process.stdin.close()
    assert process.wait(DEADLINE) == 0
    process = dial()
    daemon.term()
    assert process.wait(DEADLINE) == 0 and process.stdout.read() == b""
    daemon.start()

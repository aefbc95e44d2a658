"""A Slurm, machines behind ssh, and an executor called by hand."""
import os
import re
import secrets
import signal
import subprocess

from harness import ROOT, environment, wait_until

TESTBED = os.path.join(ROOT, "tests", "slurm", "testbed")


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def read(pid, name):
    """The words of a file of /proc; none of a process that is gone."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return []


class Slurm:
    """Two nodes, n1 and n2, of four cores and two pretended GPUs each."""
    name, nodes = "slurm", {"n1", "n2"}
    options = ""

    def __init__(self, path):
        self.path = path
        self.env = {"SLURM_CONF": str(path / "slurm.conf"), "XDG_STATE_HOME": str(path / "home")}

    def testbed(self, verb, *more):
        subprocess.run([TESTBED, verb, str(self.path), *more], check=True, timeout=120)

    def up(self):
        """None, or why this machine lets no Slurm come up: the last errors of its logs."""
        try:
            self.testbed("up")
        except subprocess.CalledProcessError:
            logs = [path.read_text(errors="replace") for path in sorted(self.path.glob("*.log"))]
            errors = [line for log in logs for line in log.splitlines() if re.search("error|fatal", line)]
            return "; ".join(errors[-3:]) or "no error in its logs"
        return None

    def down(self):
        self.testbed("down")

    def run(self, *command):
        """What a program of Slurm prints."""
        return subprocess.run(command, env=environment(**self.env), check=True, capture_output=True, text=True,
                              timeout=60).stdout

    def signal(self, who, number):
        """To "controller", "n1" or "n2"."""
        os.kill(int((self.path / f"{who}.pid").read_text()), number)

    def workers(self, job):
        """The processes of a job that speak to the daemon."""
        wanted = {f"SLURM_CONF={self.env['SLURM_CONF']}", *(f"SLURM_ARRAY_{key}_ID={value}" for key, value in zip(
            ("JOB", "TASK"), job.split("_")))}
        return [pid for pid in processes() if wanted <= set(read(pid, "environ")) and read(pid, "cmdline")[1:2] == ["pilot"]]

    def mend(self, node):
        """The node serves again, whatever a test did to it."""
        def serves():
            state = self.run("sinfo", "-h", "-n", node, "-p", "all", "-o", "%T").strip()
            if state in ("idle", "mixed", "allocated"):
                return True
            # Refused while the node comes back by itself.
            subprocess.run(["scontrol", "update", f"nodename={node}", "state=resume"], env=environment(**self.env),
                           capture_output=True, timeout=60, check=False)
            return False
        wait_until(serves, f"{node} serves")


SSHD = """HostKey {0}/host
AuthorizedKeysFile {0}/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
SetEnv XDG_STATE_HOME={0}/{1}
"""

SSH = """Host {1}
ProxyCommand /usr/sbin/sshd -i -f {0}/{1}.conf
IdentityFile {0}/key
IdentitiesOnly yes
KexAlgorithms curve25519-sha256
HostKeyAlias box
UserKnownHostsFile {0}/known
LogLevel ERROR
"""


class Machines:
    """box1 and box2: an sshd without a port for each connection, keys of their own, this machine's processes."""
    name, nodes = "ssh", {"box1", "box2"}

    def __init__(self, path):
        self.path = path
        (path / "bin").mkdir(parents=True)
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)  # where it leaves its rights, as root
        for key in ("host", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path / key)], check=True)
        (path / "known").write_text("box " + (path / "host.pub").read_text())
        (path / "config").write_text("".join(SSH.format(path, box) for box in ("box1", "box2")))
        for box in ("box1", "box2"):
            (path / f"{box}.conf").write_text(SSHD.format(path, box))
        (path / "bin" / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {path}/config "$@"\n')
        (path / "bin" / "ssh").chmod(0o755)
        (path / "hosts").write_text("# the lab\nbox1 slots 2\nbox2\n")
        self.options = f"hosts={path}/hosts"
        self.env = {"PATH": f"{path}/bin:{os.environ['PATH']}"}

    def silence(self, box):
        (self.path / f"{box}.conf").rename(self.path / f"{box}.away")

    def jobs(self, box):
        """The records of a machine's jobs, by name."""
        return {path.stem: path.read_text().split() for path in (self.path / box).glob("sweepd-jobs/*/*.job")}

    def end(self):
        """Kills what is left of the machines' jobs."""
        for box in ("box1", "box2"):
            for pid, *_ in self.jobs(box).values():
                try:
                    os.killpg(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass


class Executor:
    """An executor's four verbs with names of one daemon."""

    def __init__(self, site, folder):
        self.site, self.folder, self.jobs = site, folder, 0
        folder.mkdir(exist_ok=True)
        self.prefix = f"sweepd-{secrets.token_hex(6)}-"

    def call(self, verb, *args, options=None, **shape):
        """The finished process; what it said on stderr is one line."""
        env = environment(**self.site.env, SWEEPD_JOB_PREFIX=self.prefix, SWEEPD_JOB_DIR=str(self.folder),
                          SWEEPD_JOB_OPTIONS=self.site.options if options is None else options,
                          **{f"SWEEPD_JOB_{key}": str(value) for key, value in shape.items()})
        folder = self.site.env.get("SWEEPD_EXECUTORS", os.path.join(ROOT, "executors"))
        return subprocess.run([os.path.join(folder, self.site.name), verb, *args], env=env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)

    def submit(self, *command, count=1, **more):
        """The process and the job's name; job i's file has its name in it."""
        self.jobs += 1
        name = f"{self.prefix}{self.jobs}"
        for i in range(count):
            (self.folder / f"{name}.{i}").write_text(f"name {name}.{i}\n")
        return self.call("submit", str(count), *command, NAME=name, **more), name

    def begin(self, *command, **more):
        """Names of jobs that were taken."""
        done, name = self.submit(*command, **more)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return [f"{name}.{i}" for i in range(len(done.stdout.split()))]

    def list(self):
        """name: (id, state, node, reason)."""
        done = self.call("list")
        assert done.returncode == 0 and not done.stderr, done.stderr
        rows = [line.split(" ", 4) for line in done.stdout.splitlines()]
        assert len({row[1] for row in rows}) == len(rows), rows
        return {row[1]: (row[0], *row[2:]) for row in rows}

    def wait(self, name, *states):
        """The row of the job once it is in one of the states."""
        return wait_until(lambda: (row := self.list().get(name)) and row[1] in states and row, f"{name} {states}")

    def log(self, name):
        """What a job has written."""
        paths = [self.folder / f"{name}.log", *self.site.path.glob(f"home/sweepd-jobs/{name}.log"),
                 *self.site.path.glob(f"box*/sweepd-jobs/*/{name}.log")]
        return "".join(path.read_text() for path in paths if path.exists())

    def end(self):
        if self.site.name != "ssh":  # Machines.end() knows its own
            self.call("cancel", *(row[0] for row in self.list().values()))

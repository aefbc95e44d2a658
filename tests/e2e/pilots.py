"""A cluster that is this machine: an executor of a few lines, which runs jobs as processes here.

In the bed's folder lie `jobs` (what it knows) and what a test has it do: `hold` (jobs stay pending),
`fail.VERB` (that verb fails with this text), `empty` (a good list that names nobody), `NAME.i.say`
("STATE NODE REASON" whatever is true). `calls` has a line a call.
"""
import os
import signal

from harness import alive, wait_until

EXECUTOR = r'''#!/usr/bin/env python3
import os, subprocess, sys
bed, verb, args = os.environ["FAKE_BED"], sys.argv[1], sys.argv[2:]
jobs = os.path.join(bed, "jobs")
text = lambda path: open(path).read().strip() if os.path.exists(path) else ""
def put(path, words):
    with open(path + ".new", "w") as file:
        file.write(words)
    os.replace(path + ".new", path)
with open(os.path.join(bed, "calls"), "a") as file:
    file.write(verb + " " + (args[0] if verb in ("submit", "cancel") else "") + "\n")
if os.path.exists(os.path.join(bed, "fail." + verb)):
    sys.exit(text(os.path.join(bed, "fail." + verb)))
def begin(name):
    command = text(os.path.join(jobs, name)).split("\n")
    base = os.path.join(os.environ["SWEEPD_JOB_DIR"], name)
    if not os.path.exists(base):
        return
    try:  # a list may run beside a submit: one of them begins it
        open(os.path.join(jobs, name + ".begun"), "x").close()
    except FileExistsError:
        return
    line = 'exec 3<&0; "$@" <&3 3<&- & echo $! > "$J.new"; mv "$J.new" "$J.pid"; wait $!; echo $? > "$J.rc"'
    subprocess.Popen(["sh", "-c", line, "sh", *command], stdin=open(base), stdout=open(base + ".log", "a"),
                     stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, "J": os.path.join(jobs, name),
                                                                                         "SLURMD_NODENAME": "n1"})
held = os.path.exists(os.path.join(bed, "hold"))
if verb == "submit":
    for i in range(int(args[0])):
        name = f"{os.environ['SWEEPD_JOB_NAME']}.{i}"
        put(os.path.join(jobs, name), "\n".join(args[1:]))
        if not held:
            begin(name)
        print("id-" + name)
elif verb == "list" and not os.path.exists(os.path.join(bed, "empty")):
    for name in sorted(os.listdir(jobs)):
        job = os.path.join(jobs, name)
        if not name.split(".")[-1].isdigit() or not name.startswith(os.environ["SWEEPD_JOB_PREFIX"]):
            continue
        if not os.path.exists(job + ".begun") and not held and not os.path.exists(job + ".cancelled"):
            begin(name)
        rc = text(job + ".rc")
        state = ("cancelled - " if os.path.exists(job + ".cancelled") else "done n1" if rc == "0" else f"failed n1 {rc}" if rc
                 else "running n1" if os.path.exists(job + ".begun") else "pending - Resources")
        print("id-" + name, name, text(job + ".say") or state)
elif verb == "cancel":
    ours = (i.removeprefix("id-") for i in args if i.startswith("id-" + os.environ["SWEEPD_JOB_PREFIX"]))
    for job in (os.path.join(jobs, name) for name in ours):
        if os.path.exists(job):
            put(job + ".cancelled", "")
        if text(job + ".pid") and not text(job + ".rc"):
            os.kill(int(text(job + ".pid")), 15)
elif verb == "check":
    print("fake 1.0")
'''


class Bed:
    """start(): a daemon whose pilots are processes here; `more` is of the options file."""

    def __init__(self, tmp_path, start):
        self.path, self.make = tmp_path / "bed", start
        (self.path / "jobs").mkdir(parents=True)
        (self.path / "executors").mkdir()
        (self.path / "executors" / "fake").write_text(EXECUTOR)
        (self.path / "executors" / "fake").chmod(0o755)
        self.env = {"SWEEPD_EXECUTORS": str(self.path / "executors"), "FAKE_BED": str(self.path),
                    "SWEEPD_PILOT_MS": "200,600000,1000"}

    def start(self, workers=2, devices="none", more="", **env):
        options = self.path / "options"
        options.write_text("address = 127.0.0.1\nlisten = 127.0.0.1:0\n" + more)
        self.env.update(env)
        return self.make(devices, "--executor", "fake", "--max-workers", str(workers),
                         "--executor-options", str(options), **self.env)

    def jobs(self):
        """The names of jobs that were ever submitted, in order."""
        names = [p.name for p in (self.path / "jobs").iterdir() if p.name.rpartition(".")[2].isdigit()]
        return sorted(names, key=lambda name: [int(n) for n in name.rpartition("-")[2].split(".")])

    def pid(self, name):
        return int(wait_until(lambda: self.read(f"jobs/{name}.pid"), f"a process of {name}"))

    def read(self, name):
        try:
            return (self.path / name).read_text().strip()
        except FileNotFoundError:
            return ""

    def calls(self, verb):
        return [line for line in self.read("calls").split("\n") if line.split(" ")[0] == verb]

    def put(self, name, text=""):
        """At once: the executor never reads a part of it."""
        (self.path / (name + ".new")).write_text(text)
        os.replace(self.path / (name + ".new"), self.path / name)

    def take(self, name):
        (self.path / name).unlink()

    def say(self, name, words):
        self.put(f"jobs/{name}.say", words)

    def kill_all(self):
        """What a test left running. The pid of a job that ended may be another's."""
        left = [pid for name in self.jobs() if self.read(f"jobs/{name}.pid") and not self.read(f"jobs/{name}.rc")
                and alive(pid := self.pid(name))]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return left

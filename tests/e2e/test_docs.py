"""Every code block of the docs is run: commands, transcripts with what they print, specs, Python.

A block's language says what it is. `sh`: commands that must succeed. `console`: commands after "$ ", and
what they print; numbers may be others, and a line "..." stands for any lines. `json`, `yaml`: a spec, or a part
of one, that `sweep validate` must accept. `python`: run with clients/python. `text` is a picture or an output,
not code. SW_DOCS_WRITE=1 writes what the consoles really print into the pages.
"""
import glob
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time

import pytest

from harness import BIN, DEADLINE, ROOT, environment, wait_until

PAGES = sorted(os.path.relpath(p, ROOT) for pattern in (
    "README.md", "docs/*.md", "clients/*/README.md", "examples/README.md")
    for p in glob.glob(os.path.join(ROOT, pattern)))

# Blocks that are not run: page, how each begins, why.
NOT_RUN = [
    ("README.md", "scripts/build ", "builds and installs; so does scripts/check"),
    ("README.md", "sweep web", "serves until Ctrl-C; tests/web has it"),
    *(("docs/install.md", begins, "installs; tests/e2e/test_install.py has what needs no network")
      for begins in ("python3 -m venv env", "sudo apt install", "scripts/build\n", "systemctl --user")),
    ("docs/page.md", "sweep web", "serves until Ctrl-C; tests/web has it"),
    ("docs/operations.md", "sweep --host", "needs another machine; test_host.py has one"),
    *(("docs/cluster.md", f"sweepd {begins}", "needs a cluster; tests/slurm has these sweeps")
      for begins in ("--devices none --executor slurm", "--executor ssh")),
    ("docs/coming-from.md", "python3 -m sweepd.importer", "reads files of other tools; test_import.py has them"),
    *((page, "import sweepd.optuna as optuna", "needs Optuna; tests/peers/test_optuna.py runs it")
      for page in ("docs/coming-from.md", "clients/python/README.md")),
    ("docs/coming-from.md", "from scipy.stats", "needs scikit-learn; tests/peers/test_sklearn.py has such searches"),
    ("docs/coming-from.md", "import sweepd.optuna\n", "needs PyTorch and transformers; their script is in tests/peers/scripts"),
    ("docs/tables.md", "import pandas, sweepd", "needs pandas; tests/peers/test_tables.py has such models"),
    ("docs/plots.md", "python3 -m sweepd.tensorboard", "needs TensorBoard; tests/peers/test_tensorboard.py runs it"),
]
# Blocks that are files, by their names in the reader's folder.
FILES = [("docs/coming-from.md", "import argparse", "train.py"),
         ("docs/coming-from.md", "program: train.py", "sweep.yaml"),
         ("README.md", "import argparse", "train.py"), ("README.md", "program: train.py", "sweep.yaml")]
# Python that is a trial's program: its page, and a part of it.
PROGRAMS = [("README.md", "sweepd.params("), ("clients/python/README.md", "sweepd.params(")]
# Blocks of `text`, counted, so that no code hides among them.
TEXT = {"README.md": 1, "docs/cluster.md": 3, "docs/coming-from.md": 1, "docs/design.md": 3, "docs/devices.md": 1,
        "docs/programs.md": 1, "docs/states.md": 2}

# What a page's reader has: commands in a fresh folder that looks like a checkout, with its programs in the PATH.
DAEMON = "sweepd --devices cpu:1 --log sweepd.log &\n"
SHORT = """short() { python3 -c 'import json, sys
spec = json.load(open(sys.argv[1])); spec.update(json.loads(sys.argv[2]))
spec = {k: v for k, v in spec.items() if v is not None}
print(json.dumps(spec))' "$1" "$2" | sweep submit - --watch >/dev/null; }
"""
BEFORE = {
    # The page's script and its file.
    "docs/coming-from.md": """awk '/^```/ {f = ++k == 3 ? "train.py" : k == 5 ? "sweep.yaml" : "/dev/null"; next}
k % 2 {print >f}' docs/coming-from.md
""",
    "docs/operations.md": DAEMON + SHORT + "for i in 1 2 3; do short examples/digits.json '{\"run_cap\": 9}'; done\n",
    "docs/plots.md": DAEMON + SHORT + "short examples/digits.json '{\"run_cap\": 3}'\n",
    "docs/predict.md": DAEMON + "sweep submit examples/digits.json --watch >/dev/null\n"
                                "sweep checkpoint 1 --out model.safetensors\ncp data/digits.csv new.csv\n",
    "docs/tables.md": DAEMON + """python3 -c 'print("id,area,kind,price")
for r in range(60): print(f"{r + 1},{r * 37 % 101},{r % 3}x,{r * 37 % 101 * 3000}")' >houses.csv
cp houses.csv new.csv
python3 -c 'print("invoice;customer;sold;returned")
for r in range(90): print(f"f{r * 7 % 90};{r % 9}y;{r % 28 + 1}.03.2024;{r * 7 % 10 > 6}")' >sales.csv
""",
    "docs/replay.md": DAEMON + SHORT + """short examples/digits.json '{}'
short examples/digits.json '{"early_terminate": null}'
short examples/digits.json '{"method": "tpe", "early_terminate": null, "run_cap": 5}'
cp ~/.local/state/sweepd/sweepd.db* . && mv sweepd.db copy.db && mv sweepd.db-wal copy.db-wal 2>/dev/null
python3 -c 'import sqlite3
db = sqlite3.connect("copy.db")
db.execute("UPDATE decision SET cutoff = 0.9 WHERE sweep = 1 AND cutoff = (SELECT max(cutoff) FROM decision"
           " WHERE sweep = 1)")
db.commit()'
echo '{"type": "asha", "max_t": 27, "grace_period": 1, "reduction_factor": 3}' >asha.json
""",
    "docs/spec.md": "sweepd --devices none --log sweepd.log &\n" + """for i in 1 2 3; do
echo '{"method": "random", "metric": {"name": "loss"}, "run_cap": 40, "time_budget_s": 3600, "parameters":
       {"lr": {"distribution": "log_uniform_values", "min": 0.001, "max": 0.5}}}' | sweep submit - ; done
""",
    "docs/protocol.md": DAEMON,
}
# Names that a page's Python takes from the reader.
NAMES = {"clients/python/README.md": "train = lambda *a: 0.5\nsave = lambda *a: None\nx = y = None\n"
                                     "model = type('Model', (), {'fit': lambda *a, **more: None})()\n"}

SPEC = {"method": "random", "metric": {"name": "loss"}, "run_cap": 4, "parameters": {
    name: {"distribution": "int_uniform", "min": 1, "max": 64}
    for name in ("l1", "l2", "warmup", "epochs", "batch_size", "seq")}}
TOP = {"method", "metric", "metrics", "parameters", "constraints", "early_terminate", "trainer", "checkpoint", "init",
       "plateau", "command", "program", "name", "run_cap", "resources", "parallel", "on_oom", "env", "executor"}


class Block:
    def __init__(self, page, line, language, text):
        self.page, self.line, self.language, self.text = page, line, language, text
        self.where = f"{page}:{line}"


def blocks(page):
    """The fenced blocks of a page; those inside a list are indented."""
    found, open_at = [], None
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n"), 1):
            fence = re.match(r"( *)```(\S*)", line)
            if fence and open_at is None:
                open_at, indent, language, lines = number, fence[1], fence[2], []
            elif fence:
                found.append(Block(page, open_at, language, "\n".join(lines)))
                open_at = None
            elif open_at is not None:
                lines.append(line[len(indent):] if line.startswith(indent) else line)
    assert open_at is None, f"{page}:{open_at}: the block does not end"
    return found


def is_not_run(block):
    return any(block.page == page and block.text.startswith(start) for page, start, _ in NOT_RUN)


def masked(text):
    """Numbers, units of bytes, bars, boxes and spaces aside."""
    text = re.sub(r"[█▉▊▋▌▍▎▏░]+", "#", text)
    text = re.sub(r"-?\d[\d,]*(\.\d+)?(e[-+]?\d+)?", "0", text)
    text = re.sub(r"\b0 [kM]B\b", "0 B", text)  # what has gone already when files are counted is a matter of luck
    return re.sub(r"[ \t]+", " ", text).strip()


def is_like(got, want):
    """Line by line; "..." in `want` stands for any lines."""
    parts = [[]]
    for line in want.strip("\n").split("\n"):
        if line.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(re.escape(masked(line)))
    pattern = r"(?:.*\n)*?".join("".join(line + r"\n" for line in part) for part in parts)
    return re.fullmatch(pattern, "".join(masked(line) + "\n" for line in got.strip("\n").split("\n")))


class Reader:
    """Somebody who follows a page: a shell and a Python in a folder like a checkout."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.token = f"docs-{os.getpid()}-{time.monotonic_ns()}"
        for name in ("data", "examples", "clients", "docs", "scripts", "bench"):
            os.symlink(os.path.join(ROOT, name), os.path.join(self.folder, name))
        for name in ("build", "home", "run"):
            os.mkdir(os.path.join(self.folder, name), 0o700)
        os.symlink(BIN, os.path.join(self.folder, "build", "bin"))
        self.run = f"/tmp/{self.token}"  # a socket's path is short
        os.mkdir(self.run, 0o700)
        self.env = environment(
            PATH=BIN + os.pathsep + os.environ["PATH"], HOME=os.path.join(self.folder, "home"),
            XDG_RUNTIME_DIR=self.run, PYTHONPATH=os.path.join(ROOT, "clients", "python"), LC_ALL="C.UTF-8",
            SW_DOCS_READER=self.token, COLUMNS="120")
        self.shell = self.start(["bash", "--noprofile", "--norc"])
        self.sh("""until_up() { until sweep info $* >/dev/null 2>&1; do sleep 0.05; done; }""")
        self.python = None

    def start(self, words):
        return subprocess.Popen(words, cwd=self.folder, env=self.env, stdin=subprocess.PIPE, bufsize=0,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def until_done(self, process):
        """What it printed up to the line "@done STATUS", and that status."""
        out, end = b"", time.monotonic() + DEADLINE
        while not re.search(rb"(?:^|\n)@done (\d+)\n", out):
            left = end - time.monotonic()
            assert left > 0 and select.select([process.stdout], [], [], left)[0], f"no end: {out!r}"
            more = os.read(process.stdout.fileno(), 65536)
            assert more, f"it ended: {out.decode()}"
            out += more
        text, _, status = out.decode().rpartition("@done ")
        return text, int(status)

    def own(self, text):
        """A page's /tmp is this reader's own."""
        return text.replace("/tmp/", self.run + "/")

    def sh(self, commands):
        """The status is that of the first command that failed. A daemon that is started is waited for."""
        commands = re.sub(r"(?m)^.*\bsweepd .*&$", lambda m: m[0] + " until_up " + "".join(
            re.findall(r"--socket \S+", m[0])), commands)
        self.shell.stdin.write(f"bad=0; trap 'bad=$?' ERR; {{ {commands}\n}} </dev/null\n"
                               "trap - ERR; printf '@done %d\\n' $bad\n".encode())
        return self.until_done(self.shell)

    def py(self, code):
        if self.python is None:
            driver = ("import sys, json, traceback\nspace = {'__name__': '__main__'}\n"
                      "for line in sys.stdin:\n"
                      "    try:\n        exec(compile(json.loads(line), 'block', 'exec'), space); rc = 0\n"
                      "    except BaseException:\n        traceback.print_exc(); rc = 1\n"
                      "    print('\\n@done', rc, flush=True)\n")
            self.python = self.start([sys.executable, "-u", "-c", driver])
        self.python.stdin.write(json.dumps(code).encode() + b"\n")
        return self.until_done(self.python)

    def close(self):
        """Ends all that it started, by its mark."""
        mark = f"SW_DOCS_READER={self.token}".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        os.kill(int(pid), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                continue
        for process in filter(None, (self.shell, self.python)):
            process.wait()
            process.stdin.close()
            process.stdout.close()
        subprocess.run(["rm", "-rf", self.run], check=True)


def run_console(reader, block):
    """Command by command. Returns the block as it really is."""
    real = []
    for command, want in re.findall(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n?)*)", block.text + "\n", re.M):
        command = command.replace("\n> ", "\n").rstrip("\n")
        want = want.rstrip("\n")
        if command.startswith("nc -U "):
            got = talk(reader, command.split()[2], want)
        else:
            got, status = reader.sh(reader.own(command))
            assert status == 0 or "refused" in want or command.startswith("sweepd replay"), f"{block.where}: {command}\n{got}"
        real.append((f"$ {command}".replace("\n", "\n> "), want, got.rstrip("\n")))
        if "SW_DOCS_WRITE" not in os.environ:
            assert is_like(got, want), f"{block.where}: $ {command}\nprints\n{got}\nand not\n{want}"
    assert real, f"{block.where}: no command"
    return "\n".join(command + ("\n" + (want if is_like(got, want) else got) if got or want else "")
                     for command, want, got in real)


def talk(reader, path, lines):
    """The requests among the lines, with the answers that they really get."""
    path = reader.own(path)
    if path.startswith("/run/"):
        path = os.path.join(reader.run, "sweepd", "sweepd.sock")
    wait_until(lambda: os.path.exists(path), path)
    out = []
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(DEADLINE)
        s.connect(path)
        with s.makefile("rw") as file:
            for line in filter(None, lines.split("\n")):
                if '"method"' in line:
                    out.append(line)
                    file.write(line + "\n")
                    file.flush()
                    out.append(file.readline().rstrip("\n"))
    return "\n".join(out)


def as_spec(text):
    """A spec, or a part of one in an otherwise plain spec."""
    part = json.loads(text if text.lstrip().startswith("{") else "{" + text + "}")
    if "method" in part:
        return part
    return {**SPEC, **part} if part.keys() <= TOP else {**SPEC, "parameters": part}


def validate(reader, block):
    path = os.path.join(reader.folder, "block." + block.language)
    with open(path, "w", encoding="utf-8") as file:
        text = json.dumps(as_spec(block.text)) if block.language == "json" else block.text
        file.write(text.replace("/home/me/project", reader.folder))
    said, status = reader.sh(f"touch train.py; SWEEPD_SOCKET={reader.run}/none sweep validate {path}")
    assert status == 0, f"{block.where}: {said}"


def run_program(reader, block):
    """As the trial of a sweep."""
    with open(os.path.join(reader.folder, "program.py"), "w", encoding="utf-8") as file:
        file.write("import sweepd\n" + NAMES.get(block.page, "") + block.text)
    spec = {"method": "random", "metric": {"name": "loss"}, "run_cap": 1, "program": "program.py",
            "command": ["${interpreter}", "${program}"], "parameters": {"lr": {"min": 0.1, "max": 0.2}}}
    socket_path = os.path.join(reader.run, "programs")
    said, status = reader.sh(f"""export SWEEPD_SOCKET={socket_path}
sweepd --devices cpu:1 --state programs --log programs.log &
echo '{json.dumps(spec)}' | sweep submit - --watch && sweep trials 1 --state COMPLETED --csv | grep -c '^1,' &&
unset SWEEPD_SOCKET""")
    assert status == 0, f"{block.where}: {said}"


def run(reader, block):
    for page, start, name in FILES:
        if block.page == page and block.text.startswith(start):
            with open(os.path.join(reader.folder, name), "w", encoding="utf-8") as file:
                file.write(block.text + "\n")
    if any(block.page == page and part in block.text for page, part in PROGRAMS):
        run_program(reader, block)
        return
    if block.language == "sh":
        said, status = reader.sh(reader.own(block.text))
        assert status == 0, f"{block.where}: {said}"
    elif block.language == "python":
        said, status = reader.py(NAMES.get(block.page, "") + block.text)
        assert status == 0, f"{block.where}: {said}"
    elif block.language == "console":
        real = run_console(reader, block)
        if "SW_DOCS_WRITE" in os.environ:
            rewrite(block, real)
    else:
        validate(reader, block)


def rewrite(block, real):
    path = os.path.join(ROOT, block.page)
    with open(path, encoding="utf-8") as file:
        page = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(page.replace(f"```console\n{block.text}\n```", f"```console\n{real}\n```", 1))


@pytest.fixture(name="reader")
def make_reader(tmp_path):
    reader = Reader(tmp_path)
    yield reader
    reader.close()


def test_every_block_has_a_language_and_what_is_not_run_is_listed():
    every = [b for page in PAGES for b in blocks(page)]
    assert len(every) > 30
    for b in every:
        assert b.language in ("sh", "console", "json", "yaml", "python", "text"), f"{b.where}: ```{b.language}"
    for page, start, _ in NOT_RUN + FILES:
        assert page not in PAGES or sum(b.page == page and b.text.startswith(start) for b in every) == 1, \
            f"{page}: {start}"
    counted = {}
    for b in every:
        if b.language == "text":
            counted[b.page] = counted.get(b.page, 0) + 1
    counted.pop("docs/protocol.md")  # the results' notation, made from methods.json
    assert counted == TEXT


@pytest.mark.parametrize("page", [p for p in PAGES if any(
    b.language != "text" and not is_not_run(b) for b in blocks(p))])
def test_code_of_the_page_runs(reader, page):
    said, status = reader.sh(BEFORE.get(page, ":"))
    assert status == 0, said
    for block in blocks(page):
        if block.language != "text" and not is_not_run(block):
            run(reader, block)

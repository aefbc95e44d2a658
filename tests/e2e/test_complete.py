"""Completion as bash, zsh and fish do it, each by its file of cli/completion and the command itself."""
import os
import pty
import select
import shutil
import subprocess
import time

import pytest

from harness import BIN, DEADLINE, ROOT, environment, wait_until

FILES = os.path.join(ROOT, "cli", "completion")
SPEC = {"name": "digits", "method": "random", "metric": {"name": "loss"}, "run_cap": 2,
        "parameters": {"lr": {"min": 0.1, "max": 1.0}, "opt": {"values": ["a", "b"]}, "lw": {"min": 1, "max": 4}}}


def variables(daemon):
    return environment(SWEEPD_SOCKET=daemon.socket, PATH=f"{BIN}:{os.environ['PATH']}", TERM="dumb")


def bash(daemon, line, folder):
    script = f'source {FILES}/sweep.bash; COMP_LINE=$1 COMP_POINT=${{#1}}; _sweep; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return run(["bash", "--norc", "-c", script, "bash", line], daemon, folder)


def fish(daemon, line, folder):
    out = run(["fish", "--no-config", "-c", f"source {FILES}/sweep.fish; complete -C $argv[1]", line], daemon, folder)
    return {candidate.partition("\t")[0] for candidate in out}


def run(words, daemon, folder):
    done = subprocess.run(words, cwd=folder, env=variables(daemon), check=False, capture_output=True, text=True,
                          timeout=DEADLINE, stdin=subprocess.DEVNULL)
    assert done.stderr == ""
    return set(done.stdout.splitlines()) - {""}


ZSH = """
PS1=; fpath=(FILES $fpath); autoload -U compinit; compinit -u -D
compadd() {
    builtin compadd -O hits "$@"; print -rl -- $hits >> hits; builtin compadd "$@"
}
done-mark() { zle list-choices; print end >> hits; }
zle -N done-mark; bindkey '^T' done-mark
print rea''dy
"""


def zsh(daemon, line, folder):
    """Types the line into a zsh at a terminal; what compadd gets is written to a file."""
    hits = os.path.join(folder, "hits")
    if os.path.exists(hits):
        os.unlink(hits)
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**variables(daemon), "TERM": "xterm", "ZDOTDIR": str(folder)})
    seen, end = b"", time.monotonic() + DEADLINE
    try:
        def until(said):
            nonlocal seen
            while not said():
                assert time.monotonic() < end, seen
                if select.select([fd], [], [], 0.02)[0]:
                    seen += os.read(fd, 4096)

        os.write(fd, ZSH.replace("FILES", FILES).encode())
        until(lambda: b"ready" in seen)
        os.write(fd, line.encode() + b"\x14")
        until(lambda: os.path.exists(hits) and "end\n" in open(hits, encoding="utf-8").read())
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(fd)
    with open(hits, encoding="utf-8") as file:
        return set(file.read().split("\n")) - {"", "end"}


SHELLS = [pytest.param(shell, id=shell.__name__, marks=pytest.mark.skipif(
    shutil.which(shell.__name__) is None, reason=f"no {shell.__name__} is installed")) for shell in (bash, zsh, fish)]
STATES = {"pending", "running", "paused", "completed", "pruned", "failed", "infeasible", "cancelled"}


@pytest.mark.parametrize("shell", SHELLS)
def test_shell_completes(daemon, client, tmp_path, shell):
    sweep = client.submit(SPEC)
    client.ask(sweep, 2)
    (tmp_path / "my spec.yaml").touch()
    for line, want in (
            ("sweep su", {"submit"}), ("sweep re", {"resume", "retry"}), ("sweep help sub", {"submit"}),
            ("sweep trials 1 --st", {"--state"}), ("sweep trials 1 --state ", STATES),
            ("sweep predict m d --format cifar1", {"cifar10", "cifar100"}),
            ("sweep best ", {"1", "digits"}), ("sweep pause d", {"digits"}), ("sweep why ", {"1/", "digits/"}),
            ("sweep log 1/", {"1/1", "1/2"}), ("sweep cancel digits/2", {"digits/2"}),
            ("sweep enqueue 1 ", {"lr=", "lw=", "opt="}), ("sweep enqueue digits lr=0.5 l", {"lr=", "lw="}),
            ("sweep edit 1 --range ", {"lr=", "lw="}), ("sweep watch --json 1 d", {"digits"})):
        wait_until(lambda: shell(daemon, line, tmp_path) == want, f"{line!r}: {want}")
    # the shell's own way with files, a blank in a name too
    if shell is bash:
        return  # readline does it, where the function has no answer
    files = shell(daemon, "sweep submit my", tmp_path) | shell(daemon, "sweep fit 1 --out my", tmp_path)
    assert {name.replace("\\", "") for name in files} == {"my spec.yaml"}


def test_equals_sign_parts_words_in_bash_alone(daemon, tmp_path):
    assert bash(daemon, "sweep trials 1 --state=pa", tmp_path) == {"paused"}
    words = [os.path.join(BIN, "sweep"), "complete", "trials", "1", "--state=pa"]
    assert subprocess.check_output(words, text=True) == "--state=paused\t\n"


@pytest.mark.parametrize("words", [["best", ""], ["why", "1/"], ["enqueue", "x", ""], ["nonsense", ""],
                                   [], ["best", "-"], ["rpc", ""], ["edit", "1", "--range", "\x1b"]])
def test_nothing_is_said_without_a_daemon(words):
    done = subprocess.run([os.path.join(BIN, "sweep"), "complete", *words], capture_output=True, text=True, check=False,
                          env=environment(SWEEPD_SOCKET="/nowhere/s"), timeout=DEADLINE)
    assert (done.returncode, done.stderr) == (0, "") and (done.stdout == "") == (words != ["best", "-"])

#!/usr/bin/env python3
"""scripts/lib/tidy.py BUILD JOBS FOLDER...: clang-tidy 14 over the C files of these folders that BUILD compiles.

What has passed is not looked at again while nothing that it is made of has changed: the file, all that
it includes, its command line, .clang-tidy, the linter. BUILD/tidy keeps a name for each such state.
Prints every finding, then how many files were looked at; status 1 with findings.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

# The analyzer gives up a function after so many states. Of 112 faults planted by chance (a test for NULL turned
# round, memory freed twice, a variable without a value) it finds 76 with 20,000 and with 10,000, 73 with 5,000. A
# file takes .29 s of processor time with 20,000, .23 s with 10,000; with the default, 225,000, seven times as long.
STATES = "max-nodes=10000"
TIDY = ["clang-tidy-14", "--quiet", "--checks=clang-diagnostic-*",
        "--extra-arg=-Wno-unknown-warning-option",
        *(f"--extra-arg={arg}" for arg in ("-Xclang", "-analyzer-config", "-Xclang", STATES))]
NOISE = re.compile(r"^\d+ warnings? generated|^Suppressed |^Use -header-filter|^$")


def dependencies(build):
    """{object: [files]}, as the compiler told ninja."""
    told = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True,
                          text=True).stdout
    found, files = {}, []
    for line in told.splitlines():
        if line.startswith("    "):
            files.append(os.path.normpath(os.path.join(build, line.strip())))
        elif ": #deps" in line:
            files = found.setdefault(line.split(": #deps")[0], [])
            if "(STALE)" in line:
                files.append("/nowhere")
    return found


class Prints:
    """What a file is, once each."""

    def __init__(self):
        self.known = {}

    def of(self, path):
        if path not in self.known:
            with open(path, "rb") as file:
                self.known[path] = hashlib.sha256(file.read()).hexdigest()
        return self.known[path]


def state(entry, files, prints, common):
    """A name of all that a finding can hang on; None: not to be told, so it is looked at."""
    try:
        parts = [common, entry["command"], *(f"{f} {prints.of(f)}" for f in sorted(set(files)))]
    except OSError:
        return None
    return hashlib.sha256("\n".join(parts).encode()).hexdigest() if files else None


def look(build, entry):
    """One file a run: version 14 sees uninitialised va_lists in all but the first."""
    run = subprocess.run([*TIDY, "-p", build, entry["file"]], capture_output=True, text=True,
                         check=False)
    lines = [x for x in (run.stdout + run.stderr).splitlines() if not NOISE.match(x)]
    return run.returncode, "\n".join(lines)


def main():
    build, jobs, folders = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    inside = tuple(os.path.join(os.getcwd(), folder) + os.sep for folder in folders)
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = {e["file"]: e for e in json.load(file)
                   if e["file"].startswith(inside) and e["file"].endswith(".c")}
    version = subprocess.run(["clang-tidy-14", "--version"], check=True, capture_output=True,
                             text=True).stdout
    with open(".clang-tidy", encoding="utf-8") as file:
        common = version + file.read() + " ".join(TIDY)
    kept = os.path.join(build, "tidy")
    os.makedirs(kept, exist_ok=True)
    deps, prints = dependencies(build), Prints()
    todo, states = [], set()
    for entry in entries.values():
        made = re.search(r" -o (\S+)", entry["command"])
        name = state(entry, deps.get(made[1], []) if made else [], prints, common)
        states.add(name)
        if name is None or not os.path.exists(os.path.join(kept, name)):
            todo.append((entry, name))
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (_, name), (status, said) in zip(todo, pool.map(lambda t: look(build, t[0]), todo)):
            if said:
                print(said, flush=True)
            if status != 0:
                bad += 1
            elif name is not None and not said:
                with open(os.path.join(kept, name), "w", encoding="utf-8"):
                    pass
    for name in set(os.listdir(kept)) - states:  # of what is no more
        os.unlink(os.path.join(kept, name))
    print(f"{len(todo)} of {len(entries)} files looked at, {bad} with findings")
    return 1 if bad or len(entries) <= 20 else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""scripts/lib/suites.py [BUILD PATH]   The suites of a room, as scripts/check runs them.

PATH is a folder of the sources or of tests/, a file in one, or a file of tests/e2e or tests/web. Prints three lines:
what ninja must build, the C suites as a pattern for ctest, the files of pytest. A folder of the sources without
suites of its own has those of the folder above; if nothing tests PATH, that is an error. Without arguments:
does each file of tests/e2e belong to one room?
"""

import os
import re
import subprocess
import sys

# A folder has the files of the rooms in it, too: what concerns the whole daemon stands at the daemon.
E2E = {
    "cli": "cli complete docs export export_files gpu_check host man mcp sass wandb wandb_programs why",
    "clients": "clients_trial import python python_callbacks python_install python_odd"
               " python_ray python_ray_runs python_tune",
    "daemon": "budgets crash install limits machine_limits stop system systemd",
    "daemon/api": "fairness journal metrics plot progress result_schemas",
    "daemon/net": "found socket_safety",
    "daemon/pilot": "pilots pilots_options",
    "daemon/plan": "parallel_spec search space",
    "daemon/slot": "gpu_auto gpu_gangs gpu_lanes gpus worker",
    "daemon/sweep": "delete edit first_failures pruners suggest",
    "daemon/verify": "replay replay_altered simulate",
    "kernels": "cuda_module",
    "spec": "command_spec spec_schema validate",
    "store": "state_safety",
    "trainer": "best memory train",
    "trainer/comm": "gang gang_faults",
    "trainer/data": "data_formats tables",
    "trainer/file": "checkpoint checkpoint_files",
    "trainer/net": "predict",
    "worker": "pbt promote",
    "worker/exec": "command command_crash command_left command_ranks command_resume environment"
                   " trial_dir warm warm_import warm_odd",
    "worker/link": "lanes",
}
# Folders whose longer histories the simulator tells: pruners have no others.
SIMULATED = ("sim", "sched/pruner", "sched/sweep")
# What the end-to-end tests start or load.
PROGRAMS = "sweepd sweep sweep-web sweep-worker manpages fake_nvml fake_cuda fake_system bench_lanes"


def misplaced():
    """Lines about files of tests/e2e that stand in no room or in two, and about rooms that are none."""
    there = sorted(name[5:-3] for name in os.listdir("tests/e2e") if re.fullmatch(r"test_\w+\.py", name))
    named = " ".join(E2E.values()).split()
    for name in sorted({*there, *named}):
        if name not in there or named.count(name) != 1:
            is_there = "is" if name in there else "is not"
            yield f"tests/e2e/test_{name}.py {is_there} there, and stands in {named.count(name)} rooms"
    yield from (f"{room} is no folder" for room in E2E if not os.path.isdir(room))


def suites(build, room):
    """The C suites whose source is room or in it, by name; a folder right below tests/ has all of its own."""
    shown = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=True).stdout
    path, folder = os.path.join("tests", room), room.split("/")[0]
    sources = [path] if os.path.isfile(path) else [name for _, _, names in os.walk(path) for name in names]
    own = {re.sub(r".*test_(\w+)\.cu?$", folder + r"/\1", name) for name in sources}
    return [name for name in re.findall(r"^ +Test +#\d+: (\S+)", shown, re.M)
            if name in own or room == name.split("/")[0] or name == "sched/sim" and room in SIMULATED]


def target(name):
    """What ninja must build for a C suite."""
    folder, noun = name.split("/")
    return {"fuzz": f"replay_{noun}"}.get(folder) or {"sched/sim": "sim", "cli/sweep": "sweep"}.get(
        name, f"test_{folder}_{noun}")


def room_of(path):
    """The path as a room, or as a suite: without tests/, and up to the folder that has suites."""
    room = os.path.normpath(os.path.relpath(path))
    if not os.path.exists(room) or room.startswith(".."):
        sys.exit(f"suites: there is no {path} here")
    if os.path.isfile(room) and not re.search(r"/test_\w+\.cu?$|^tests/(e2e|web)/test_\w+\.py$", room):
        room = os.path.dirname(room)
    room = room.removeprefix("tests/")
    while room and room not in E2E and not os.path.exists(os.path.join("tests", room)):
        room = os.path.dirname(room)
    if room in ("", "tests", "e2e"):
        sys.exit(f"suites: {path} is more than a room: scripts/check quick, or all of scripts/check")
    return room


def main():
    found = [f"suites: {line}" for line in misplaced()]
    if found:
        sys.exit("\n".join(found))
    if len(sys.argv) != 3:
        return
    build, room = sys.argv[1], room_of(sys.argv[2])
    if re.match("(e2e|web)/", room):
        files, tests = [os.path.join("tests", room)], []
    else:
        files = [f"tests/e2e/test_{name}.py" for folder, names in E2E.items()
                 if f"{folder}/".startswith(f"{room}/") for name in names.split()]
        if room == "web":
            files.append("tests/web")
        tests = list(suites(build, room))
    if not tests and not files:
        sys.exit(f"suites: nothing tests {sys.argv[2]} alone: scripts/check quick")
    print(*map(target, tests), PROGRAMS if files else "")
    print(f"^({'|'.join(tests)})$" if tests else "")
    print(*files)


if __name__ == "__main__":
    main()

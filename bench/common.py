"""What the benches in Python share: the paths of what they import, their command line, their rows as CSV."""
import argparse
import contextlib
import csv
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "clients", "python")]


def arguments(doc, **defaults):
    """--NAME VALUE for each of the defaults, of its type, and --csv FILE."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", help="FILE  the rows")
    for name, default in defaults.items():
        parser.add_argument("--" + name, type=type(default), default=default)
    return parser.parse_args()


def descendants(root):
    """{pid: (parent, state, name)} of all processes below this one."""
    every, found, more = {}, {}, [root]
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            name, _, rest = file.read().partition("(")[2].rpartition(")")
            state, parent = rest.split()[:2]
            every[pid] = int(parent), state, name
    for parent in more:
        children = {pid: stat for pid, stat in every.items() if stat[0] == parent}
        more += children
        found |= children
    return found


def write_csv(path, rows):
    if path:
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

"""The C sources as the checks read them: without comments and strings, by name.

Everything here goes by text: a function is defined where its name stands in column 0's declaration
and its `{` alone on the next line, which is how clang-format lays it out. What a macro pastes
together is not seen.
"""

import os
import re

FOLDERS = ("base", "sched", "proto", "spec", "store", "plot", "tls", "kernels", "trainer", "worker", "cli", "web", "daemon")
SUFFIXES = (".c", ".h", ".cu", ".cuh")
_SKIP = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
_DEFINED = re.compile(r"^([A-Za-z_][^;{}()#=]*?)\b(\w+)\(([^;{}]*)\)\s*\n\{", re.M)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def strip(text):
    """The text with each comment and string blanked; lines keep their numbers."""

    def blank(found):
        kept = "\n" * found.group().count("\n")
        return kept if found.group()[0] == "/" else '""' + kept

    return _SKIP.sub(blank, text)


def files(root, folders=FOLDERS, suffixes=SUFFIXES):
    """Paths relative to the root, sorted."""
    found = []
    for folder in folders:
        for at, _, names in os.walk(os.path.join(root, folder)):
            found += [os.path.relpath(os.path.join(at, n), root) for n in names if n.endswith(suffixes)]
    return sorted(found)


def functions(code):
    """[(name, static?)] of what the stripped text defines."""
    return [(m[2], bool({"static", "INLINE"} & set(m[1].split()))) for m in _DEFINED.finditer(code)]


class Program:
    """Which file defines each function that others may call, and which files name it."""

    def __init__(self, root, paths):
        self.code = {path: strip(read(os.path.join(root, path))) for path in paths}
        self.words = {path: set(WORD.findall(code)) for path, code in self.code.items()}
        self.home = {}
        self.statics = {path: set() for path in paths}
        for path, code in self.code.items():
            if not path.endswith((".c", ".cu")):
                continue
            for name, static in functions(code):
                if static:
                    self.statics[path].add(name)
                else:
                    self.home[name] = path

    def calls(self):
        """{(file, file it calls or names): [functions]}: from .c and .cu alone, for headers declare."""
        found = {}
        for path, words in self.words.items():
            if not path.endswith((".c", ".cu")):
                continue
            for name in words & self.home.keys() - self.statics[path]:
                if self.home[name] != path:
                    found.setdefault((path, self.home[name]), []).append(name)
        return found

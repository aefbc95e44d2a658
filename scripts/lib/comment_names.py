#!/usr/bin/env python3
"""scripts/lib/comment_names.py [ROOT]   Names in comments that stand nowhere in the source.

Looks in the comments of the sources, the tests and bench for sw_x, SW_X and paths such as
daemon/x.c. A name exists if any code outside comments has it, a path if a file, a folder or the
beginning of a file's name is it (a word in capitals is a placeholder). One line for each that does
not; status 1 if there is any.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
import source

PLACES = source.FOLDERS + ("tests", "bench")
NAME = re.compile(r"\b(?:sw_\w*[a-z0-9]|SW_[A-Z0-9_]*[A-Z0-9])\b(?![*_{]|\.\.)")
PATH = re.compile(r"(?<![\w./])(?:%s|docs|scripts|examples)/[\w./-]*\w\b(?![*{<]|/[A-Z])" % "|".join(PLACES))
COMMENT = re.compile(r'(/\*.*?\*/|//[^\n]*)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def known(root, paths):
    """Each word of the code, strings too: a name may be one that dlsym looks up."""
    words = set()
    for path in paths:
        text = COMMENT.sub(lambda m: " " if m[1] else m[0], source.read(os.path.join(root, path)))
        words.update(source.WORD.findall(text))
    for path in source.files(root, PLACES + ("scripts", "cmake"), (".txt", ".cmake", ".py", ".in")):
        words.update(source.WORD.findall(source.read(os.path.join(root, path))))
    return words


def is_file(root, path):
    path = path.rstrip(".")
    if os.path.exists(os.path.join(root, path)) or re.search(r"\b[A-Z]{2,}\b", path):
        return True
    folder, name = os.path.split(os.path.join(root, path))
    if "." in name or not os.path.isdir(folder):
        return False
    return any(entry.startswith(name) for entry in os.listdir(folder))  # sched/bayes/gp: gp*.c


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    paths = source.files(root, PLACES)
    words, found = known(root, paths), 0
    for path in paths:
        text = source.read(os.path.join(root, path))
        for comment in COMMENT.finditer(text):
            if not comment[1]:
                continue
            wrong = [m for m in NAME.finditer(comment[1]) if m[0] not in words]
            wrong += [m for m in PATH.finditer(comment[1]) if not is_file(root, m[0])]
            for m in wrong:
                line = text.count("\n", 0, comment.start() + m.start()) + 1
                print("comment_names: %s:%d: there is no %s" % (path, line, m[0]))
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

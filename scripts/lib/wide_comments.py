#!/usr/bin/env python3
"""scripts/lib/wide_comments.py [ROOT]   Lines with a comment that are wider than 100 columns.

Looks in the sources of the product, the clients, the tests and bench; a tab is 8 columns wide. Clang-format breaks
code, but no comment. One line for each in a file that is not listed; a listed file without any is a
finding, too, so the list only shrinks. Status 1 if there is any.
"""

import os
import sys

sys.dont_write_bytecode = True
import source
from comment_names import COMMENT

MOST = 100
NOT_YET = """
""".split()


def wide(text):
    """The numbers of the lines, from 1."""
    lines = text.split("\n")
    found = set()
    for comment in COMMENT.finditer(text):
        if comment[1]:
            first = text.count("\n", 0, comment.start())
            found.update(range(first, first + comment[1].count("\n") + 1))
    return sorted(n + 1 for n in found if len(lines[n].expandtabs(8)) > MOST)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    findings = []
    for path in source.files(root, source.FOLDERS + ("clients", "tests", "bench")):
        lines = wide(source.read(os.path.join(root, path)))
        if path in NOT_YET and not lines:
            findings.append("%s has none any more: delete it from the list" % path)
        elif path not in NOT_YET:
            findings += ["%s:%d: a comment over %d columns" % (path, n, MOST) for n in lines]
    for line in findings:
        print("wide_comments: " + line)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

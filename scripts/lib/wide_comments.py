#!/usr/bin/env python3
"""scripts/lib/wide_comments.py [ROOT]   Lines with a comment that are wider than 100 columns.

Looks in the sources of the product, the clients, the tests and bench. A tab is 8 columns wide.
clang-format breaks code, but no comment. One line for each; status 1 if there is any.
"""

import os
import sys

sys.dont_write_bytecode = True
import source
from comment_names import COMMENT

MOST = 100


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
    findings = ["%s:%d: a comment over %d columns" % (path, n, MOST)
                for path in source.files(root, source.FOLDERS + ("clients", "tests", "bench"))
                for n in wide(source.read(os.path.join(root, path)))]
    for line in findings:
        print("wide_comments: " + line)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

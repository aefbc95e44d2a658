#!/usr/bin/env python3
"""scripts/lib/twin_tags.py [ROOT]   Struct, union and enum tags that the product defines twice.

A word has one meaning: docs/design.md has the table. A tag without sw_ belongs to its file alone. One
line for each; status 1 if there is any.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
import source

# kernels/ops.h declares the queue; each backend has its own.
OPAQUE = ["sw_queue"]
DEFINED = re.compile(r"^\s*(?:typedef )?(?:struct|union|enum) (sw_\w+)\s*\{", re.M)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    homes = {}
    for path in source.files(root):
        for tag in DEFINED.findall(source.strip(source.read(os.path.join(root, path)))):
            homes.setdefault(tag, []).append(path)
    twins = {tag: paths for tag, paths in homes.items() if len(paths) > 1}
    findings = ["%s is defined in %s" % (tag, " and ".join(twins[tag])) for tag in sorted(twins) if tag not in OPAQUE]
    for line in findings:
        print("twin_tags: " + line)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

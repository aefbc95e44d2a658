#!/usr/bin/env python3
"""scripts/lib/gpu_findings.py TOOL   Of compute-sanitizer's output (stdin, which is passed on) whose findings are.

A finding is NVIDIA's when it is in a kernel that kernels/cuda does not have, or in a call of the runtime that cuBLAS
made: racecheck, synccheck and initcheck are known to be wrong about such kernels. Of memcheck those in kernels are ours
all the same: one of cuBLAS that reads a wrong address most likely has it from us. Status 0: none of ours; 9: some, or
one that is not understood; 8: the tool has not come to its end.
"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUR_CODE = re.compile(r"__(?:global|device)__[^;{}()]*?(?:__launch_bounds__\([^)]*\)[^;{}()]*?)?\b(\w+)\(")
IN_A_KERNEL = re.compile(r"=========     (?:at|and \w+ access at) |access at |Device Frame:")
END = re.compile(r"========= (?:ERROR|RACECHECK) SUMMARY: (\d+)")


def our_kernel():
    """What finds the name of a function of ours in a line, and none within a name space."""
    names = {name for path in glob.glob(os.path.join(ROOT, "kernels/cuda/*.cu*"))
             for name in OUR_CODE.findall(open(path, encoding="utf-8").read())}
    return re.compile(rf"(?<![\w:])(?:{'|'.join(sorted(names))})\s*[<(+]")


def findings(lines):
    """Blocks of lines; what is in none of them is the program's own output, or a head."""
    blocks = []
    for line in lines:
        if line.startswith("========= ") and not line.startswith("=========  ") and not END.match(line):
            blocks.append([line])
        elif line.startswith("=========  ") and blocks:
            blocks[-1].append(line)
    return [b for b in blocks if len(b) > 1]


def theirs(block, ours, tool):
    at = [line for line in block if IN_A_KERNEL.search(line)]
    if at:
        return tool != "memcheck" and not any(map(ours.search, at))
    return any("Host Frame" in line and "libcublas" in line for line in block)


def main():
    lines = []
    for line in sys.stdin:
        sys.stdout.write(line)
        lines.append(line.rstrip("\n"))
    end = [int(m[1]) for m in map(END.match, lines) if m]
    found, ours = findings(lines), our_kernel()
    known = sum(theirs(block, ours, sys.argv[1]) for block in found)
    counted = max(sum(end), len(found)) - known
    print(f"== findings: {counted} ours, {known} NVIDIA's")
    sys.exit(8 if not end else 9 if counted else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""scripts/lib/exports.py [ROOT]   Functions that are exported for nobody, or for tests alone.

Each that is not static must be named by another file, a macro or an inline function. If none but
its own file does, it should be static. If tests or bench do and the product does not at all, not
even its own file, it should go or stand in the list below; an entry that is not needed is a
finding too, so the list only shrinks. Macros paste the names of sw_handle_*() and of what
kernels/ops_list.h and base/pruning.h list; openblas_*() stand in for OpenBLAS's own. One line for each finding; status 1 if there is any.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
import source

# Used by tests or bench alone: faults and the choice of a code path (_force), what a test looks at,
# checks that are too dear for the product, and what the linker alone calls (__wrap_).
TESTS_ALONE = """
__wrap___cudaRegisterFunction
sw_cpu_conv_force
sw_cpu_isa_force
sw_cpu_linear_force
sw_cuda_conv_force
sw_cuda_linear_force
sw_data_cache_loads
sw_fault_arm
sw_fault_fired
sw_gp_objective
sw_pruner_invariant
sw_samplers_name
sw_sobol_digits
""".split()


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    product = source.Program(root, source.files(root))
    others = source.Program(root, source.files(root, ("tests", "bench")))
    unused, tested = {}, {}
    listed = "|".join(re.findall(r"^SW_OP\(\w+, (\w+),", product.code["kernels/ops_list.h"], re.M))
    pruners = "|".join(re.findall(r"^\t(?:TYPE|VARIANT)\((\w+),", product.code["base/pruning.h"], re.M))
    pasted = re.compile(r"sw_handle_\w+|openblas_\w+|sw_(cpu|cuda)_(%s)|sw_(%s)_make" % (listed, pruners))
    for name, home in product.home.items():
        if pasted.fullmatch(name) or any(names(product, path, name) for path in product.code if path != home):
            continue
        if not any(name in words for words in others.words.values()):
            unused[name] = home
        elif len(re.findall(r"\b%s\b" % name, product.code[home])) == 1:
            tested[name] = home
    findings = ["%s: %s() is used by no other file: make it static, or delete it" % (unused[n], n)
                for n in sorted(unused)]
    findings += ["%s: %s() is used by tests or bench alone" % (tested[n], n)
                 for n in sorted(tested.keys() - set(TESTS_ALONE))]
    findings += ["%s is no longer used by tests alone: delete it from the list" % n
                 for n in sorted(set(TESTS_ALONE) - tested.keys())]
    for line in findings:
        print("exports: " + line)
    return 1 if findings else 0


def names(program, path, name):
    """In a header only an inline function or a macro counts, not the beginning of a declaration."""
    if name not in program.words[path]:
        return False
    if path.endswith((".c", ".cu")):
        return True
    lines = (line for line in program.code[path].split("\n") if name in line)
    return any(line.startswith(("\t", "#define")) for line in lines)


if __name__ == "__main__":
    sys.exit(main())

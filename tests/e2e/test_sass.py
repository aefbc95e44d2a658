"""scripts/sass counts the loops of a listing: here that of a stand-in for the disassembler."""

import os
import shutil
import subprocess
import sys

import pytest

SASS = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "sass")

# An outer loop around an inner one, a conditional way out, and an odd path that the compiler laid after the end: it
# goes back into the middle, and is no loop.
LISTING = """
\t\tFunction : _Z4twinPf
        /*0000*/                   LDC R1, c[0x0][0x28] ;      /* 0x00 */
        /*0010*/                   FFMA R2, R2, R2, R2 ;       /* 0x00 */
        /*0020*/                   FFMA R3, R3, R3, R3 ;       /* 0x00 */
        /*0030*/                   FFMA.FTZ R4, R4, R4, R4 ;   /* 0x00 */
        /*0040*/                   HFMA2.MMA R5, -RZ, RZ, 0, 0 ; /* 0x00 */
        /*0050*/               @P1 BRA 0xb0 ;                  /* 0x00 */
        /*0060*/              @!P0 BRA 0x30 ;                  /* 0x00 */
        /*0070*/                   STL [R1], R2 ;              /* 0x00 */
        /*0080*/               @P2 BRA 0x20 ;                  /* 0x00 */
        /*0090*/                   FFMA R2, R2, R2, R2 ;       /* 0x00 */
        /*00a0*/                   EXIT ;                      /* 0x00 */
        /*00b0*/                   DFMA R6, R6, R6, R6 ;       /* 0x00 */
        /*00c0*/                   BRA 0x90 ;                  /* 0x00 */
        /*00d0*/                   NOP;                        /* 0x00 */
"""


def run(tmp_path, *args):
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    return subprocess.run([SASS, *args], env=env, capture_output=True, text=True)


def put(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def test_a_loop_is_counted_without_the_loops_in_it(tmp_path):
    (tmp_path / "listing").write_text(LISTING)
    put(tmp_path / "nvdisasm", "")
    put(tmp_path / "cuobjdump", f"""
case "$*" in
*-res-usage*) echo ' Function _Z4twinPf:'; echo '  REG:9 STACK:0 SHARED:64 LOCAL:0' ;;
*) cat {tmp_path}/listing ;;
esac""")
    done = run(tmp_path, "some.so")
    assert done.stdout.splitlines()[1:] == ["   13    9     64      1  twin  1 of 4 (25.0%),  1 of 3 (33.3%)"], done
    assert run(tmp_path, "--kernel", "other", "some.so").stdout.count("\n") == 1


def test_without_a_disassembler_one_line_says_what_to_get(tmp_path):
    (tmp_path / "triton").mkdir()  # in the place of one that is installed
    (tmp_path / "triton" / "__init__.py").write_text("")
    put(tmp_path / "python3", f"PYTHONPATH={tmp_path} exec {sys.executable} \"$@\"\n")
    if shutil.which("cuobjdump", path="/usr/bin:/usr/local/cuda/bin"):
        pytest.skip("this machine has a disassembler")
    done = subprocess.run([SASS], env={"PATH": f"{tmp_path}:/usr/bin"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "no cuobjdump and nvdisasm here" in done.stderr

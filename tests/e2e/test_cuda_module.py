"""The GPU backend as it was built: kernels that its constructors register are found without a GPU."""

import ctypes
import os
import re
import shutil
import subprocess

import pytest

from harness import BIN

MODULE = os.path.join(BIN, "libsweepd-cuda.so")
REGISTER = "__cudaRegisterFunction"
MANY = 80  # kernels; there are some more


@pytest.fixture
def module():
    if not os.path.exists(MODULE):
        pytest.skip("built without CUDA")
    for tool in ("nm", "objdump"):
        if not shutil.which(tool):
            pytest.skip(f"this machine has no {tool}")
    return MODULE


def listing(*args):
    return subprocess.run(args, capture_output=True, text=True, check=True).stdout


def registrations(module, function):
    code = listing("objdump", "-d", "--no-show-raw-insn", module)
    return re.findall(r"(?:call|jmp)\S*\s+\S+ <(\w+)>", code).count(function)


def test_each_kernel_registers_itself_through_the_list_of_those_loaded_early(module):
    """kernels/cuda/load.c: the linker leads each registration through there (--wrap)."""
    assert registrations(module, f"__wrap_{REGISTER}") >= MANY
    assert registrations(module, REGISTER) <= 1, "more than the wrapper's own call go past the list"


def test_list_of_kernels_is_whole_when_the_module_is_open(module):
    symbols = [line.split() for line in listing("nm", module).splitlines()]
    at = {words[2]: int(words[0], 16) for words in symbols if len(words) == 3}
    known = ctypes.cast(ctypes.CDLL(module).sw_ops_cuda_open, ctypes.c_void_p).value
    count = ctypes.c_size_t.from_address(known - at["sw_ops_cuda_open"] + at["kernels_n"]).value
    assert count == registrations(module, f"__wrap_{REGISTER}")

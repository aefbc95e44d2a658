"""scripts/gpu-check on a machine without a GPU: in a tree of its own, with stand-ins for nvidia-smi, the toolkit
and PyTorch on the PATH, and for the programs that need a card. The daemon's are the real ones, on the
stand-ins of gpus.py. Results go to that tree. FAULTS in the environment names what goes wrong."""
import os
import shutil
import subprocess
import sys

import pytest

from gpus import CUDA, FAKES, NEEDS_FAKES, NVML, SMALL
from harness import BIN, ROOT, environment

pytestmark = NEEDS_FAKES

# Of what is to be endless timeout makes a second.
STAND_INS = {
    "nvidia-smi": f"""#!/bin/sh
case " $FAULTS " in *" wedged "*) exec sleep 1000 ;; esac
case $1 in *=compute_cap,uuid) sed -n 's/.* uuid=\\([^ ]*\\) .*/9.0, \\1/p' "$TREE/nvml"; exit ;; esac
[ "$2" = 0 ] || {{ echo "No devices were found"; exit 6; }}
case $3 in
*=name) echo "NVIDIA H100 80GB HBM3" ;;
*=compute_cap) echo "${{CAPABILITY:-9.0}}" ;;
*=uuid) echo {SMALL["uuid"]} ;;
*=driver_version*) echo "580.95.05, 81559 MiB, 700.00 W" ;;
esac
""",
    "nvcc": """#!/bin/sh
case $1 in
--version) echo "nvcc: NVIDIA (R) Cuda compiler driver"
	echo "Cuda compilation tools, release 13.0, V13.0.88"
	echo "Build cuda_13.0.r13.0/compiler.36424714_0" ;;
--list-gpu-code) printf 'sm_75\\nsm_80\\nsm_90\\n' ;;
esac
""",
    "cmake": """#!/bin/sh
echo "$@" >>"$TREE/cmake"
case $1 in
--preset) cp -r "$TREE/built/." "$4" ;;
esac
""",
    "compute-sanitizer": """#!/bin/sh
# --tool TOOL --print-limit N COMMAND...; nvidia: findings in cuBLAS's kernels, of each tool
echo "$2 $(basename "$5")" >>"$TREE/sanitized"
tool=$2 errors=0
finding() {
	errors=$((errors + 1))
	printf '========= %s\n' "$@" =========
}
case " $FAULTS $5" in
*" $tool "*gpu_cuda_ops) finding "Invalid __global__ write of size 4 bytes" \
	"    at void sw_map_kernel<relu>(float *, unsigned long)+0x90" "    by thread (0,0,0) in block (0,0,0)" ;;
esac
case " $FAULTS $5" in *" nvidia "*bench_lanes)
	[ $tool = memcheck ] || finding \
		"Error: Race reported between Write access at void cutlass::Kernel2<forward_kernel>(T1)+0xa0" \
		"    and Read access at void cutlass::Kernel2<forward_kernel>(T1)+0x1b0 [4 hazards]"
	finding 'Program hit cudaErrorInvalidValue (error 1) on CUDA API call to cudaFuncSetAttribute.' \
		"    Saved host backtrace up to driver entry point at error" "        Host Frame: [0x1] in libcublas.so.13" ;;
esac
shift 4
status=0
"$@" || status=$?
echo "========= ERROR SUMMARY: $errors errors"
exit $status
""",
    "torch": f"""#!/bin/sh
case $1 in *_peer_gpu.py) ;; *) PYTHONPATH="$TREE/site-packages" exec {sys.executable} "$@" ;; esac
printf 'lenet-cifar,4,fp32,eager,9000,30\\nlenet-cifar,4,fp32,reduce-overhead,none,\\nmlp,16,fp32,graph,80000,40\\n'
""",
    "timeout": f"""#!/bin/bash
case " $FAULTS $*" in *" endless "*"lanes mlp"*) shift 3; exec {shutil.which("timeout")} -k 9 1 "$@" ;; esac
case " $FAULTS $*" in *" wedged "*nvidia-smi*) shift 3; exec {shutil.which("timeout")} -k 9 1 "$@" ;; esac
exec {shutil.which("timeout")} "$@"
""",
}

# 22,000 steps a second of one lane, 18 times that at most; 3 MB planned, 4 taken.
LANES = f"""#!{sys.executable}
import os, sys, time
a = dict(zip(sys.argv[1::2], sys.argv[2::2]))
faults = os.environ.get("FAULTS", "").split()
assert os.environ["CUDA_VISIBLE_DEVICES"] == "{SMALL["uuid"]}" and a["--device"] == "gpu:0"
net, batch, precision = a.get("--net", "lenet-cifar"), int(a["--batch"]) if "--batch" in a else 4, a.get("--precision")
if "endless" in faults and net == "mlp" and "--csv" in a:
    time.sleep(1000)
if "opens" in faults:
    sys.exit("bench_lanes: gpu:0: gpu:0 (NVIDIA H100 80GB HBM3) does not start: an illegal memory access")
for n in map(int, a["--lanes"].split(",")):
    rate = 22000 * batch * min(n, 18)
    print(n, rate)
    if "--csv" in a:
        with open(a["--csv"], "a") as file:
            print("H100; 80 GiB", net, batch, precision, n, rate, rate / 40000, rate / 22000 / batch,
                  3.0 * n, 20 + 4.0 * n, sep=",", file=file)
"""

TEST = """#!/bin/sh
case " $FAULTS " in *" twin "*) echo "test_cuda_ops.c:12: relu: 3 is not 4"; exit 1 ;; *" skipped "*) exit 77 ;; esac
"""

NCCL = """#!/bin/sh
case " $FAULTS " in *" nccl "*) echo "ncclCommInitRankConfig on rank 0: internal error, as there is no GPU" ;; esac
"""

# As much of PyTorch as scripts/lib/gpu_programs.py's program uses, on the CPU.
TORCH = """class OutOfMemoryError(RuntimeError):
    __module__ = "torch"
class cuda:
    is_available = staticmethod(bool)
class Tensor:
    grad = property(lambda self: self)
    __matmul__ = __isub__ = __rmul__ = lambda self, other: self
    square = mean = backward = zero_ = lambda self: self
    item = lambda self: 2.5
class no_grad:
    __enter__ = __exit__ = lambda self, *_: None
class default_generator:
    initial_seed = manual_seed = staticmethod(int)
__version__, uint8 = "stand-in", None
manual_seed = int
randn = empty = lambda *_, **__: Tensor()
"""

TESTFILE = """add_test("kernels/gpu_cuda_ops" "{at}/tests/test_kernels_gpu_cuda_ops")
set_tests_properties("kernels/gpu_cuda_ops" PROPERTIES SKIP_RETURN_CODE "77")
add_test("trainer/gpu_cuda_net" "/bin/true")
add_test("kernels/cuda_ops" "/bin/false")
add_test("daemon/gpu_story" "/bin/false")
"""

def put(path, text):
    path.write_text(text)
    path.chmod(0o755)


class Tree:
    def __init__(self, at, cards=4):
        self.at = at
        self.bin = at / "path"
        self.logs = at / "build-gpu" / "gpu-check"
        self.results = at / "bench" / "results"
        for name in ("path", "scripts/lib", "bench", "tests", "examples", "built/bin", "built/tests",
                     "site-packages/torch"):
            (at / name).mkdir(parents=True)
        for name in ("scripts/gpu-check", "scripts/lib/deps.sh", "scripts/lib/gpu_examples.py",
                     "scripts/lib/gpu_findings.py", "scripts/lib/gpu_gangs.py", "scripts/lib/gpu_programs.py",
                     "bench/train_peer.py", "bench/train_peer_gpu.py", "examples/digits.json"):
            shutil.copy(os.path.join(ROOT, name), at / name)
        for name in ("tests/e2e", "data", "kernels"):
            (at / name).symlink_to(os.path.join(ROOT, name))
        for name, text in STAND_INS.items():
            put(self.bin / name, text)
        for name in ("sweepd", "sweep", "sweep-worker"):
            (at / "built" / "bin" / name).symlink_to(os.path.join(BIN, name))
        for name in ("fake_nvml.so", "one_card.so"):
            (at / "built" / "tests" / name).symlink_to(os.path.join(FAKES, name))
        (at / "site-packages/torch/__init__.py").write_text(TORCH)
        put(at / "built/bin/bench_lanes", LANES)
        put(at / "built/tests/test_kernels_gpu_cuda_ops", TEST)
        put(at / "built/tests/test_trainer_nccl_real", NCCL)
        (at / "built/CTestTestfile.cmake").write_text(TESTFILE.format(at=at / "built"))
        self.cards(cards)

    def cards(self, n):
        """So many of one kind; the first is the one that is checked."""
        each = [{**SMALL, "uuid": SMALL["uuid"] if i == 0 else f"GPU-{i}"} for i in range(n)]
        (self.at / "nvml").write_text("".join(
            "card " + " ".join(f"{k}={v}" for k, v in card.items()) + "\n" for card in each))

    def env(self, **more):
        return environment(**{
            "PATH": f"{self.bin}:{os.environ['PATH']}", "TREE": str(self.at), "SW_DEPS": "skip", "FAULTS": "",
            "SW_TORCH_CPU": "1", "SW_WARM_MS": "5000", "SWEEPD_FAKE_NCCL_VERSION": "23007",
            "SW_TORCH_PYTHON": str(self.bin / "torch"), "SWEEPD_NVML": NVML, "SWEEPD_CUDA_MODULE": CUDA,
            "SWEEPD_FAKE_NVML": str(self.at / "nvml"), "SWEEPD_FAKE_CUDA_BREAKS": str(self.at / "breaks"),
            "LD_LIBRARY_PATH": os.path.join(FAKES, "nccl"), **more})

    def run(self, *options, **env):
        return subprocess.run([self.at / "scripts" / "gpu-check", *options], env=self.env(**env), cwd="/",
                              capture_output=True, text=True)

    def script(self, name, *args, **env):
        """A program of scripts/lib by itself, on the tree's stand-ins."""
        return subprocess.run([self.bin / "torch", os.path.join(ROOT, "scripts/lib", name), BIN, *args],
                              env={**self.env(**env), "SWEEPD_BIN": BIN}, capture_output=True, text=True)

    def without_examples(self, *others):
        """Stages that start daemons, passed: what a test is not about."""
        for name in ("examples", *(others or ("gangs", "programs"))):
            put(self.at / f"scripts/lib/gpu_{name}.py", "")
        self.cards(1)

    def kept(self):
        return {path.suffix[1:]: path.read_text() for path in self.results.iterdir()}


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "a tree")


def stages(text):
    """{stage: word}, and what is behind a skip or a failure."""
    lines = [line for line in text.splitlines() if line.startswith(("ok   ", "FAIL ", "skip "))]
    return {line[6:58].strip(): line[:5].strip() for line in lines}


def after(text, stage):
    return next(line for line in text.splitlines() if line[6:58].strip() == stage)[58:]


LARGER = "larger nets: resnets, a transformer"
PROGRAM = "a PyTorch program: warm, memory, kills, lanes"
MORE = ["2 GPUs: the bits of one, and a lost worker", "4 GPUs: data x pipeline, and a lost worker"]
ONE = ["two ranks on one GPU: the bits of one, kills", "two stages on one GPU: the bits of one, kills", MORE[1]]
ALL = ["build for sm_90", "a net trains on the card", "each kernel beside its CPU twin",
       "NCCL: a communicator of one rank", PROGRAM, "lenet-cifar, batch 4, lanes",
       "lenet-cifar, batch 128, lanes",
       "lenet-cifar, batch 128, tf32", "lenet-cifar, batch 128, bf16", "mlp, batch 16, lanes", "PyTorch, the same nets",
       LARGER, "PyTorch, the larger nets", "lanes by three sizes of a graph",
       "examples twice: the same bits", "examples in 32 lanes: the bits of one",
       "examples beside the CPU: first epochs alike",
       *MORE,
       *(f"compute-sanitizer {tool}" for tool in ("memcheck", "synccheck", "initcheck", "racecheck"))]
ALONE = [*ALL[:-6], *ONE, *ALL[-4:]]  # of one card


@pytest.mark.long
def test_a_card_that_is_right_passes_every_stage_and_the_results_are_kept(tree):
    done = tree.run(FAULTS="nvidia")
    assert done.returncode == 0 and done.stderr == "", done
    assert stages(done.stdout) == {stage: "ok" for stage in ALL}, done.stdout
    lines = done.stdout.splitlines()
    assert lines[:1] == ["NVIDIA H100 80GB HBM3, sm_90, 580.95.05, 81559 MiB, 700.00 W"]
    assert lines[1].startswith("CUDA release 13.0, no git, ")
    assert lines[-2].startswith("0 failed, 0 skipped, total ")
    name = "bench/results/gpu-NVIDIA-H100-80GB-HBM3"
    assert lines[-1] == f"kept: {name}.csv {name}.txt; whole output: build-gpu/gpu-check/"
    configured, built, *sizes = (tree.at / "cmake").read_text().splitlines()
    assert "-DCMAKE_CUDA_ARCHITECTURES=90" in configured and f"-DCMAKE_CUDA_COMPILER={tree.bin}/nvcc" in configured
    assert "--target all bench_lanes" in built
    assert [f"-DSW_LAYOUT_OPS={128 << 2 * i} -DSW_LAYOUT_STEPS={8 << 2 * i}" in line
            for i, line in enumerate(sizes[::2])] == [True] * 3, sizes
    assert (tree.at / "sanitized").read_text().splitlines() == [
        f"{tool} {program}" for tool in ("memcheck", "synccheck", "initcheck", "racecheck")
        for program in ("test_kernels_gpu_cuda_ops", "bench_lanes", "bench_lanes")]
    kept = tree.kept()
    assert all(line in kept["txt"].splitlines() for line in lines[:-1])
    table = [line.split(",") for line in kept["csv"].splitlines()]
    assert {len(row) for row in table} == {10}, table
    assert ["sweepd", "lenet-cifar", "4", "fp32", "32", "1584000", "39.6", "18.0", "96.0", "148.0"] in table
    assert ["PyTorch", "mlp", "16", "fp32 graph", "1", "80000", "", "", "", "40"] in table
    log = (tree.logs / "twice.log").read_text()
    assert "1 examples, 0 did not end well, 0 trials differ" in log, log
    for name, kills in (("gangs2", 10), ("gangs4", 1)):
        log = (tree.logs / f"{name}.log").read_text()
        assert log.count("after its start: all ended after") == kills, log
    log = (tree.logs / "programs.log").read_text()
    assert "20 kills, and the memory was back" in log, log
    assert "racecheck: 0 findings are ours, 4 are in what NVIDIA wrote" in (tree.logs / "racecheck.log").read_text()


def test_card_whose_sums_are_wrong_or_whose_nccl_does_not_begin_fails(tree):
    tree.without_examples("programs")
    done = tree.run("--quick", FAULTS="nccl", SWEEPD_FAKE_NCCL_WRONG="2")
    words = stages(done.stdout)
    assert [words[stage] for stage in (ALL[3], *ONE)] == ["FAIL", "FAIL", "ok", "skip"], done.stdout
    assert "the weights have other bits" in done.stdout and "start: all ended" in done.stdout
    assert "NVLink and PCIe" in (tree.logs / "stages2.log").read_text()


def test_nccl_that_takes_no_two_ranks_on_a_card_is_named_and_skipped(tree):
    done = tree.script("gpu_gangs.py", SMALL["uuid"], SWEEPD_FAKE_NCCL_VERSION="22907")
    assert done.returncode == 3 and "NCCL 22907 here: ranks share a GPU from 23000" in done.stdout, done


@pytest.mark.parametrize("env, status, says", [
    ({}, 0, "2 kills, and the memory was back"), ({"SW_WARM_MS": "0"}, 1, "ms, at most 0"),
    ({"SW_TORCH_CPU": ""}, 3, "PyTorch stand-in sees no GPU")])
def test_program_of_pytorch_is_run_without_a_module_of_ours(tree, env, status, says):
    done = tree.script("gpu_programs.py", "GPU-1", "--kills", "2", **env)
    assert done.returncode == status and says in done.stdout, done
    if status == 0:
        assert "out of memory: 32 GiB became 8" in done.stdout and "4 at once: losses [2.5, 2.5" in done.stdout, done


def test_worker_whose_loss_takes_too_long_to_end_the_attempt_is_told(tree):
    done = tree.script("gpu_gangs.py", f"{SMALL['uuid']},GPU-1", "--limit", "0")
    assert done.returncode == 1 and "killed: " in done.stdout and "s, at most 0" in done.stdout, done


@pytest.mark.parametrize("kernel, tool, end, status", [
    ("sw_map_kernel<relu>(float *)", "racecheck", True, 9), ("cutlass::Kernel2<T>(T1)", "racecheck", True, 0),
    ("cutlass::Kernel2<T>(T1)", "memcheck", True, 9),  # its wrong address it has most likely from us
    ("cutlass::Kernel2<T>(T1)", "racecheck", False, 8)])
def test_only_findings_in_our_own_kernels_count(kernel, tool, end, status):
    text = f"========= Invalid __global__ read of size 4 bytes\n=========     at void {kernel}+0x90\n=========\n"
    text += "========= ERROR SUMMARY: 1 error\n" * end
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/lib/gpu_findings.py"), tool], input=text,
                          capture_output=True, text=True)
    assert done.returncode == status and done.stdout.startswith(text), done


def without(tree, name):
    (tree.bin / name).unlink()
    if shutil.which(name) or os.path.exists(f"/usr/local/cuda/bin/{name}"):
        pytest.skip(f"this machine has {name}")


@pytest.mark.parametrize("why, options, env", [
    ("no NVIDIA driver here (nvidia-smi is not to be found)", (), {}),
    ("no CUDA toolkit here (nvcc is not to be found)", (), {}),
    ("the NVIDIA driver shows no GPU 7", ("--gpu", "7"), {}),
    ("the NVIDIA driver shows no GPU 0", (), {"FAULTS": "wedged"}),
    ("nvidia-smi does not say the compute capability of NVIDIA H100 80GB HBM3", (),
     {"CAPABILITY": "Field \"compute_cap\" is not a valid field to query."}),
    ("the toolkit here (CUDA release 13.0) makes no code for NVIDIA H100 80GB HBM3 (sm_70)", (), {"CAPABILITY": "7.0"}),
    ("there is no build in nowhere", ("--build", "nowhere"), {}),
], ids=lambda value: value if isinstance(value, str) else "")
def test_without_a_card_or_what_it_needs_one_line_says_so(tree, why, options, env):
    missing = why.rpartition("(")[2].split()[0] if "not to be found" in why else ""
    if missing:
        without(tree, missing)
    done = tree.run(*options, **env)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", f"gpu-check: {why}: nothing was checked\n")
    assert not tree.logs.exists() and not tree.results.exists()


def test_an_unknown_option_shows_the_usage(tree):
    for options in (("--slow",), ("--gpu",), ("--gpu", "x"), ("--build",), ("--only",)):
        done = tree.run(*options)
        assert done.returncode == 2 and "scripts/gpu-check [--gpu N]" in done.stderr, (options, done)


def test_what_fails_is_said_and_the_rest_goes_on(tree):
    tree.without_examples()
    done = tree.run(FAULTS="twin memcheck endless")
    assert done.returncode == 1, done
    words = stages(done.stdout)
    assert {stage for stage, word in words.items() if word == "FAIL"} == {
        "each kernel beside its CPU twin", "mlp, batch 16, lanes", *ALL[-4:]}, done.stdout
    assert {stage for stage, word in words.items() if word == "skip"} == {MORE[1]}
    assert list(words) == ALONE
    text = done.stdout
    assert "relu: 3 is not 4" in text and "of 2 tests 1 have run and passed" in text
    assert "Invalid __global__ write of size 4 bytes" in text
    assert "memcheck: findings in 1 programs; 0 failed without one" in text
    assert "racecheck: findings in 0 programs; 1 failed without one" in text
    assert "stopped: it may take 300 s" in after(text, "mlp, batch 16, lanes")
    assert f"6 failed (each kernel beside its CPU twin; mlp, batch 16, lanes; {'; '.join(ALL[-4:])}), 1 skipped (" in text
    assert done.stdout.splitlines()[-2] in tree.kept()["txt"]


def test_tools_that_are_missing_are_skipped_and_named(tree):
    tree.without_examples("gangs")
    without(tree, "compute-sanitizer")
    done = tree.run(SW_TORCH_PYTHON="nowhere", CAPABILITY="7.5")
    assert done.returncode == 0, done
    words = stages(done.stdout)
    assert {stage for stage, word in words.items() if word != "ok"} == {
        "PyTorch, the same nets", "PyTorch, the larger nets", LARGER, "lenet-cifar, batch 128, tf32",
        "lenet-cifar, batch 128, bf16", MORE[1], PROGRAM, *ALL[-4:]} and "FAIL" not in words.values(), done.stdout
    assert ": no compute-sanitizer" in after(done.stdout, "compute-sanitizer memcheck")
    assert ": no Python with PyTorch" in after(done.stdout, "PyTorch, the same nets")
    assert ": it takes compute capability 8.0" in after(done.stdout, "lenet-cifar, batch 128, bf16")


def test_only_the_stages_that_are_asked_for_are_run_and_nothing_is_kept(tree):
    done = tree.run("--quick", "--only", "larger|graph")
    assert done.returncode == 0, done
    assert list(stages(done.stdout)) == [ALL[0], LARGER, "PyTorch, the larger nets", "lanes by three sizes of a graph"]
    assert not tree.results.exists() and (tree.logs / "lanes.txt").read_text().count("graphs of up to") == 3


def test_a_test_that_found_no_card_is_no_pass(tree):
    tree.without_examples()
    done = tree.run("--quick", FAULTS="skipped")
    assert done.returncode == 1 and "of 2 tests 1 have run and passed" in done.stdout, done
    assert stages(done.stdout)["compute-sanitizer"] == "skip"


def test_where_no_net_trains_only_what_shows_why_is_run(tree):
    tree.without_examples()
    done = tree.run(FAULTS="opens")
    assert done.returncode == 1, done
    assert stages(done.stdout) == {
        "build for sm_90": "ok", "a net trains on the card": "FAIL", "each kernel beside its CPU twin": "ok",
        "NCCL: a communicator of one rank": "ok", PROGRAM: "ok", "lanes, examples, several GPUs": "skip",
        "compute-sanitizer memcheck": "FAIL"}, done.stdout
    assert "does not start: an illegal memory access" in done.stdout


def test_results_that_have_no_room_are_named_where_they_are(tree):
    tree.without_examples()
    tree.results.mkdir()
    (tree.results / "gpu-NVIDIA-H100-80GB-HBM3.txt").symlink_to("/dev/full")
    done = tree.run("--quick")
    assert done.returncode == 1 and "0 failed" in done.stdout, done
    assert done.stderr.splitlines()[-1] == ("gpu-check: bench/results takes no files: the results are "
                                            "build-gpu/gpu-check/results.csv and results.txt")
    assert "0 failed" in (tree.logs / "results.txt").read_text()
    assert "sweepd,lenet-cifar,4,fp32,32,1584000" in (tree.logs / "results.csv").read_text()

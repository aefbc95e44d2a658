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
kernels/cpu/norm.c
kernels/cpu/threads.h
kernels/cuda/batchnorm.cu
kernels/cuda/beside.c
kernels/cuda/conv.h
kernels/cuda/conv_direct.cu
kernels/cuda/conv_patch.cuh
kernels/cuda/cuda.h
kernels/cuda/device.c
kernels/cuda/layernorm.cu
kernels/cuda/linear.h
kernels/cuda/linear_small.cu
kernels/cuda/product.c
kernels/cuda/product.h
kernels/cuda/product_fused.c
kernels/cuda/token.cu
kernels/ops.h
kernels/ops_list.h
tests/kernels/cuda_queue.h
tests/kernels/cuda_shim/cub/device/device_radix_sort.cuh
tests/kernels/cuda_shim/shim.h
tests/kernels/cuda_shim/shim_blas.c
tests/kernels/cuda_shim/shim_stream.c
tests/kernels/cuda_shim/shim_watch.c
tests/kernels/test_cuda_beside.c
tests/kernels/test_cuda_load.c
tests/kernels/test_cuda_product.c
tests/kernels/test_cuda_queue.c
tests/kernels/test_cuda_space.c
tests/kernels/test_cuda_tokens.c
tests/kernels/test_norms.c
tests/worker/comm/fake_nccl.c
tests/worker/comm/fake_nccl.h
tests/worker/comm/fake_nccl_api.h
tests/worker/comm/nccl_ranks.h
tests/worker/comm/test_comm.c
tests/worker/comm/test_comm_end.c
tests/worker/comm/test_comm_exchange.c
tests/worker/comm/test_comm_meet.c
tests/worker/comm/test_comm_threads.c
tests/worker/comm/test_nccl.c
tests/worker/comm/test_nccl_exchange.c
tests/worker/comm/test_nccl_host.c
tests/worker/comm/test_nccl_real.c
tests/worker/comm/test_nccl_rules.c
tests/worker/net/test_cuda_calls.c
tests/worker/net/test_cuda_gang.c
tests/worker/net/test_cuda_graph.c
tests/worker/net/test_cuda_memory.c
tests/worker/net/test_cuda_net.c
tests/worker/net/test_cuda_pipeline.c
tests/worker/net/test_gang.c
tests/worker/net/test_gang_end.c
tests/worker/net/test_gang_sync.c
tests/worker/net/test_memory.c
tests/worker/net/test_net.c
tests/worker/net/test_pipeline.c
tests/worker/net/test_pipeline_end.c
worker/comm/comm.h
worker/comm/comm_internal.h
worker/comm/comm_shm.c
worker/comm/comm_sum.c
worker/comm/nccl.c
worker/comm/nccl.h
worker/net/backward.c
worker/net/batch.c
worker/net/feed.c
worker/net/internal.h
worker/model/layout.h
worker/net/memory.c
worker/model/model.h
worker/model/back.c
worker/net/net.h
worker/net/pipeline.c
worker/net/ranks.c
worker/model/stages.c
worker/model/stages.h
worker/net/state.c
worker/net/step.c
worker/net/sums.c
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

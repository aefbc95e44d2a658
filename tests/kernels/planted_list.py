"""The faults that tests/planted plants in CUDA kernels: (what it is, file in kernels/cuda, the test that must
see it, the code, what it becomes, which of several places from 0 on).

The code is matched with any white space between its words.
"""

FOLDER = "kernels/cuda"
TARGET = "sw_cuda_shim"
PREFIX = "test_kernels_cuda_"
# One process, so that the first abort ends it; one order of threads, for the watch needs no more.
ENV = {"CK_FORK": "no", "TWIN_ORDERS": "1"}

BARRIER = "__syncthreads();"

FAULTS = [
    # --- a barrier that is missing ---
    ("a block's sum read before all warps wrote theirs", "launch.cuh:norm.cu", "norm",
     "__syncthreads(); for (unsigned k = 0; k < blockDim.x", "for (unsigned k = 0; k < blockDim.x"),
    ("the next sum over a block begins too early", "launch.cuh:norm.cu", "norm",
     "sum += room[k]; __syncthreads();", "sum += room[k];"),
    ("layernorm: columns added before all warps wrote", "norm.cu", "norm",
     "betas[warp][lane] = b; __syncthreads();", "betas[warp][lane] = b;"),
    ("layernorm: the next tile over the one being read", "norm.cu", "norm",
     "__syncthreads(); /* the next tile writes the sums again */", ""),
    ("embedding: the next pass reads what is being written", "token.cu", "tokens",
     "__syncthreads(); /* out is the next pass's in", "/* out is the next pass's in"),
    ("embedding: counts scanned while others count", "token.cu", "tokens",
     "__syncthreads(); scan_counts(count, sums);", "scan_counts(count, sums);"),
    ("attention: products of a tile that is not loaded", "attention.cu", "tokens",
     "__syncthreads(); for (unsigned k = 0; k < DEPTH; k++)",
     "for (unsigned k = 0; k < DEPTH; k++)"),
    ("attention: a tile loaded over the one in use", "attention.cu", "tokens",
     "__syncthreads(); /* the next terms are loaded over these */", ""),
    ("losses: a block's metrics before its warps have theirs", "loss.cu", "losses",
     "__syncthreads(); if (threadIdx.x != 0)", "if (threadIdx.x != 0)"),
    ("losses: p written in place while lanes read z", "loss.cu", "losses",
     "__syncwarp(); /* p may be z", "/* p may be z"),
    ("linear: column sums before all warps wrote", "linear.cu", "linear",
     "found[warp][lane] = sum; __syncthreads();", "found[warp][lane] = sum;"),
    ("linear, small: dx added before all warps wrote", "linear_small.cu", "linear",
     "sums[warp][r][lane] = sum[r]; __syncthreads();", "sums[warp][r][lane] = sum[r];"),
    ("convolution: partial sums before all warps wrote", "conv_direct.cu", "conv",
     "sums[warp][t][lane] = sum[t]; __syncthreads(); if (warp < CHANNELS && o + warp",
     "sums[warp][t][lane] = sum[t]; if (warp < CHANNELS && o + warp"),
    # --- two threads that write one cell ---
    ("batchnorm: two threads move the running mean", "norm.cu", "norm",
     "if (threadIdx.x == 0) { mean[c]", "if (threadIdx.x < 2) { mean[c]"),
    ("losses: every block has the first one's partial", "loss.cu", "losses",
     "partial[blockIdx.x] = sum;", "partial[0] = sum;"),
    ("norm2: every block has the first one's partial", "count.cu", "norm",
     "to[blockIdx.x] = sum;", "to[0] = sum;"),
    ("class counts: an atomic addition that is none", "count.cu", "norm",
     "(void)atomicAdd((unsigned long long *)at, 1ull);", "*at += 1;"),
    ("embedding: a row added up by each of its tokens", "token.cu", "tokens",
     "if (d >= D || (first && token[order[first - 1]] == mine))", "if (d >= D)"),
    ("position: the table's gradient by each row of the batch", "token.cu", "tokens",
     "dtable[i] = sum;", "dtable[i / 2] = sum;"),
    # --- out of bounds ---
    ("layernorm: a column behind the row is read", "norm.cu", "norm",
     "d < D && r < R; r += warps", "r < R; r += warps"),
    ("embedding: the token behind the last is read", "token.cu", "tokens",
     "i < N && token[order[i]] == mine; i++", "token[order[i]] == mine; i++"),
    ("attention: a row behind the last is read, and not used", "attention.cu", "tokens",
     "i0 + i < rows && k0 + k < k_end", "k0 + k < k_end"),
    ("sgd: the gradient behind is read", "optim.cu", "ops",
     "w[i] -= lr * (c * g[i]", "w[i] -= lr * (c * g[i + 1]"),
    ("gather: a column too far is written", "gather.cu", "ops",
     "out[b * D + d] = from[d];", "out[b * D + d + 1] = from[d];"),
    ("maxpool: a row below the window is read", "pool.cu", "images",
     "end - pad < n ? end - pad : n", "end - pad"),
    # --- wrong, without a race or a wrong address ---
    ("batchnorm: the variance of a batch is the sample's", "norm.cu", "norm",
     "sqrt(squares / N +", "sqrt(squares / (N - 1.0) +"),
    ("attention: a query sees the key behind it", "attention.cu", "tokens",
     "causal && t + 1 < keys ? t + 1 : keys", "causal && t + 2 < keys ? t + 2 : keys"),
    ("class counts: of equals the last", "count.cu", "norm",
     "(there == largest && at < best)", "(there == largest && at > best)"),
    ("a barrier that some threads do not reach", "loss.cu", "losses",
     "__syncthreads(); if (threadIdx.x != 0)", "if (threadIdx.x != 0) __syncwarp(); else "
     "__syncthreads(); if (threadIdx.x != 0)"),
]

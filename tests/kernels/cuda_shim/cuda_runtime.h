/*
 * tests/kernels/cuda_shim/cuda_runtime.h — stands in for CUDA's header of this name, so that
 * kernels/cuda is compiled by a C and a C++ compiler and runs on the CPU, kernels included.
 *
 * Only what kernels/cuda uses is here. The stand-in is a harsh device: nothing given to a stream
 * runs before somebody waits for it, host memory is read only then, fresh device memory holds NaN,
 * and a block's threads take turns in an order that the test chooses (shim.h).
 * Threads  One host thread at a time.
 */
#ifndef SW_TESTS_CUDA_SHIM_CUDA_RUNTIME_H
#define SW_TESTS_CUDA_SHIM_CUDA_RUNTIME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cudaError {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInvalidConfiguration = 9,
	cudaErrorInsufficientDriver = 35,
	cudaErrorDevicesUnavailable = 46,
	cudaErrorInvalidDeviceFunction = 98,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorNoKernelImageForDevice = 209,
	cudaErrorUnsupportedPtxVersion = 222,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorNotReady = 600,
	cudaErrorIllegalAddress = 700,
	cudaErrorNotSupported = 801,
	cudaErrorStreamCaptureUnsupported = 900,
	cudaErrorStreamCaptureInvalidated = 901,
	cudaErrorStreamCaptureMerge = 902,
	cudaErrorStreamCaptureUnmatched = 903,
	cudaErrorStreamCaptureUnjoined = 904,
	cudaErrorStreamCaptureIsolation = 905,
	cudaErrorStreamCaptureImplicit = 906,
	cudaErrorCapturedEvent = 907,
	cudaErrorStreamCaptureWrongThread = 908
} cudaError_t;

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaDeviceAttr { cudaDevAttrMemoryPoolsSupported = 115 };

#define cudaStreamLegacy               ((cudaStream_t)0)
#define cudaStreamNonBlocking          1u
#define cudaEventBlockingSync          1u
#define cudaEventDisableTiming         2u
#define cudaHostAllocDefault           0u
#define cudaDeviceScheduleBlockingSync 4u

struct cudaDeviceProp {
	char name[256];
	size_t totalGlobalMem;
	int major, minor;
};

struct cudaFuncAttributes {
	int ptxVersion, binaryVersion;
};

/* Where a thread is in its grid. */
struct sw_shim_dim {
	unsigned x, y, z;
};
extern struct sw_shim_place {
	struct sw_shim_dim thread, block, block_dim, grid_dim;
} sw_shim_place;

typedef struct sw_shim_stream *cudaStream_t;
typedef struct sw_shim_event *cudaEvent_t;
typedef struct sw_shim_graph *cudaGraph_t;
typedef struct sw_shim_graph *cudaGraphExec_t;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };

cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorString(cudaError_t e);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *kernel);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *p);
/* On the legacy default stream alone, which is given nothing else. */
cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t s);
cudaError_t cudaFreeAsync(void *p, cudaStream_t s);
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamQuery(cudaStream_t s);
cudaError_t cudaStreamDestroy(cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
					  unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t s);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaEventQuery(cudaEvent_t e);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t s);
cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t s);

#ifdef __cplusplus
}

#define __global__
#define __device__
#define __host__
#define __shared__ static /* blocks run one after another */
#define __launch_bounds__(...)

#define threadIdx sw_shim_place.thread
#define blockIdx  sw_shim_place.block
#define blockDim  sw_shim_place.block_dim
#define gridDim   sw_shim_place.grid_dim

extern "C" {

/* What a thread does at a barrier: the others of its block, or of its warp, run up to theirs. */
void sw_shim_wait_block(void);
void sw_shim_wait_warp(void);
/* Gives n <= 8 bytes to the warp, takes those of a lane. */
void sw_shim_exchange(const void *mine, void *theirs, size_t n, unsigned lane);
unsigned long long sw_shim_atomic_add(unsigned long long *at, unsigned long long v);
/* Until the kernels before have ended. */
void sw_shim_wait_launch(void);
/* Queues run(a copy of the n bytes of closure), once for each thread. overlap: each has to wait for
 * the kernels before. */
void sw_shim_launch(unsigned grid, unsigned block, int overlap, cudaStream_t s, void (*run)(void *),
		    const void *closure, size_t n);
}

static inline void __syncthreads(void)
{
	sw_shim_wait_block();
}

static inline void __syncwarp(void)
{
	sw_shim_wait_warp();
}

template <class T> T __shfl_xor_sync(unsigned mask, T mine, int lanes)
{
	T theirs;

	(void)mask;
	sw_shim_exchange(&mine, &theirs, sizeof mine, (threadIdx.x % 32) ^ (unsigned)lanes);
	return theirs;
}

static inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long v)
{
	return sw_shim_atomic_add(at, v);
}

template <class F> void sw_shim_run(void *arg)
{
	(*static_cast<F *>(arg))();
}

template <class F>
void sw_shim_launch_closure(unsigned grid, unsigned block, int overlap, cudaStream_t s, F f)
{
	static_assert(__is_trivially_copyable(F), "kernels take plain values, as CUDA's do");
	sw_shim_launch(grid, block, overlap, s, sw_shim_run<F>, &f, sizeof f);
}

template <class T> struct sw_shim_same {
	typedef T type;
};

static inline void cudaGridDependencySynchronize(void)
{
	sw_shim_wait_launch();
}

struct dim3 {
	unsigned x = 1, y = 1, z = 1;
};

enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };

struct cudaLaunchAttribute {
	cudaLaunchAttributeID id;
	struct {
		int programmaticStreamSerializationAllowed;
	} val;
};

struct cudaLaunchConfig_t {
	struct {
		dim3 grid_dim, block_dim;
	} sw_shim_place; /* what the macros make of config.gridDim and config.blockDim */
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	cudaLaunchAttribute *attrs;
	unsigned numAttrs;
};

/* The arguments are taken as the kernel's parameters, and at the launch, as CUDA does. */
template <class... P>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *c, void (*kernel)(P...),
			       typename sw_shim_same<P>::type... args)
{
	const int overlap = c->numAttrs && c->attrs->val.programmaticStreamSerializationAllowed;

	sw_shim_launch_closure(c->gridDim.x, c->blockDim.x, overlap, c->stream,
			       [=]() { kernel(args...); });
	return cudaPeekAtLastError();
}
#endif

#endif

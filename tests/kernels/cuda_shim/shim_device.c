/* tests/kernels/cuda_shim/shim_device.c — devices and memory of the stand-in. */
#include "base/fault.h"
#include "base/memory.h"
#include "tests/kernels/cuda_shim/shim.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef SW_SHIM_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n)   ((void)(p))
#define UNPOISON(p, n) ((void)(p))
#endif

struct sw_shim sw_shim = {
	.driver_version = 13000,
	.ptx_version = 90,
	.device_n = 2,
	.major = 9,
	.memory_bytes = (size_t)1 << 30,
};

static struct sw_shim_range *ranges;
_Thread_local int sw_shim_device;
static _Thread_local cudaError_t last;

cudaError_t sw_shim_fail(cudaError_t e)
{
	if (e != cudaSuccess)
		last = e;
	return e;
}

cudaError_t sw_shim_enter(cudaStream_t s)
{
	if (sw_shim.lost)
		return sw_shim_fail(cudaErrorIllegalAddress);
	if (s && s->device != sw_shim_device)
		return sw_shim_fail(cudaErrorInvalidResourceHandle);
	return cudaSuccess;
}

cudaError_t cudaPeekAtLastError(void)
{
	return last;
}

int sw_shim_fault(enum sw_shim_call call)
{
	struct sw_shim_failure *f = &sw_shim.failure;

	if (f->nth == 0 || f->call != call || --f->nth > 0)
		return 0;
	f->fired = true;
	sw_shim.lost |= f->error == cudaErrorIllegalAddress; /* as a device is, then */
	return f->error;
}

static cudaError_t fault(enum sw_shim_call call)
{
	return sw_shim_fail((cudaError_t)sw_shim_fault(call));
}

cudaError_t cudaGetLastError(void)
{
	const cudaError_t e = sw_shim.lost ? cudaErrorIllegalAddress : last;

	last = cudaSuccess;
	return e;
}

const char *cudaGetErrorString(cudaError_t e)
{
	return e == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
					    : "an error of the shim";
}

/* --- devices --- */

cudaError_t cudaDriverGetVersion(int *version)
{
	*version = sw_shim.driver_version;
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = 13000;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
	*n = sw_shim.count_error ? 0 : sw_shim.device_n;
	return sw_shim.count_error ? sw_shim_fail(sw_shim.count_error) : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
	if (device < 0 || device >= sw_shim.device_n)
		return sw_shim_fail(cudaErrorInvalidDevice);
	memset(p, 0, sizeof *p);
	strcpy(p->name, "Shim");
	p->totalGlobalMem = sw_shim.memory_bytes;
	p->major = sw_shim.major;
	return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
	*device = sw_shim_device;
	return sw_shim_enter(NULL);
}

cudaError_t cudaSetDevice(int device)
{
	if (sw_shim.set_error)
		return sw_shim_fail(sw_shim.set_error);
	if (fault(SW_SHIM_DEVICE) != cudaSuccess)
		return last;
	if (device < 0 || device >= sw_shim.device_n)
		return sw_shim_fail(cudaErrorInvalidDevice);
	sw_shim_device = device;
	return sw_shim_enter(NULL);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
	(void)flags;
	return sw_shim_enter(NULL);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
	(void)device;
	(void)attr;
	*value = !sw_shim.no_pools;
	return sw_shim_enter(NULL);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *kernel)
{
	sw_shim.loads++;
	if (kernel == sw_shim.unloadable)
		return sw_shim_fail(cudaErrorMemoryAllocation);
	if (!kernel || sw_shim.probe_error)
		return sw_shim_fail(kernel ? sw_shim.probe_error : cudaErrorInvalidDeviceFunction);
	a->binaryVersion = 90;
	a->ptxVersion = sw_shim.ptx_version;
	return sw_shim_enter(NULL);
}

/* --- memory --- */

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	*total_bytes = sw_shim.memory_bytes;
	*free_bytes = sw_shim.memory_bytes - sw_shim.used_bytes - sw_shim.pool_bytes;
	if (fault(SW_SHIM_MEMORY) != cudaSuccess)
		return last;
	return sw_shim_enter(NULL);
}

#define GAP 128 /* in front of an allocation, for the address sanitizer */

static unsigned char *gap_of(struct sw_shim_range *r)
{
	return r->data - GAP;
}

static cudaError_t range_make(void **out, size_t bytes)
{
	struct sw_shim_range *r;

	if (sw_shim_enter_outside() != cudaSuccess || fault(SW_SHIM_ALLOC) != cudaSuccess)
		return last;
	if (bytes > sw_shim.memory_bytes - sw_shim.used_bytes || sw_fault_hit(SW_FAULT_MALLOC))
		return sw_shim_fail(cudaErrorMemoryAllocation);
	/* Not rounded up: the address sanitizer sees the first byte behind it. */
	if (posix_memalign((void **)&r, 256, sizeof *r + bytes) != 0)
		return sw_shim_fail(cudaErrorMemoryAllocation);
	memset(r->data, 0xff, bytes); /* as floats and doubles: NaN */
	r->cells = NULL;
	r->bytes = bytes;
	r->next = ranges;
	ranges = r;
	POISON(gap_of(r), GAP);
	sw_shim.used_bytes += bytes;
	sw_shim.live++;
	*out = r->data;
	return cudaSuccess;
}

/* Work that may still use the memory is not looked for: the address sanitizer finds it. */
static cudaError_t range_drop(void *p)
{
	struct sw_shim_range **at = &ranges, *r;

	while (p && *at && (*at)->data != (unsigned char *)p)
		at = &(*at)->next;
	if (p && !*at)
		return sw_shim_fail(cudaErrorInvalidValue);
	if (p) {
		r = *at;
		*at = r->next;
		sw_shim.used_bytes -= r->bytes;
		sw_shim.live--;
		free(r->cells);
		UNPOISON(gap_of(r), GAP);
		free(r);
	}
	return sw_shim_enter(NULL);
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
	return range_make(out, bytes);
}

cudaError_t cudaFree(void *p)
{
	sw_shim.frees += p != NULL;
	return range_drop(p);
}

cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t s)
{
	if (s || sw_shim.no_pools)
		return sw_shim_fail(cudaErrorInvalidValue);
	return range_make(out, bytes);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t s)
{
	if (s || sw_shim.no_pools)
		return sw_shim_fail(cudaErrorInvalidValue);
	sw_shim.pool_bytes += sw_shim.used_bytes;
	const cudaError_t e = range_drop(p);
	sw_shim.pool_bytes -= sw_shim.used_bytes;
	return e;
}

struct sw_shim_range *sw_shim_range_near(const void *p)
{
	const uintptr_t at = (uintptr_t)p, far = 4096;
	struct sw_shim_range *near = NULL;

	for (struct sw_shim_range *r = ranges; r; r = r->next) {
		const uintptr_t from = (uintptr_t)r->data;

		if (at >= from && at < from + r->bytes)
			return r;
		if (at + far >= from && at < from + r->bytes + far)
			near = r;
	}
	return near;
}

bool sw_shim_on_device(const void *p, size_t bytes)
{
	const uintptr_t from = (uintptr_t)p;

	for (const struct sw_shim_range *r = ranges; r; r = r->next)
		if (from >= (uintptr_t)r->data && from + bytes <= (uintptr_t)r->data + r->bytes)
			return true;
	return false;
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
	(void)flags;
	sw_shim_disturb();
	if (sw_shim_enter_outside() != cudaSuccess || fault(SW_SHIM_PIN) != cudaSuccess)
		return last;
	*out = sw_malloc(bytes);
	if (!*out)
		return sw_shim_fail(cudaErrorMemoryAllocation);
	sw_shim.live++;
	return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
	sw_shim_disturb();
	sw_shim.live -= p != NULL;
	free(p);
	return sw_shim_enter(NULL);
}

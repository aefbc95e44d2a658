/* kernels/cuda/device.c — takes a GPU for this process, and makes it a thread's. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/load.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_DEVICE (-1)

/* Written by sw_cuda_device_take(), once; read by every thread that uses the table. */
static atomic_int opened = NO_DEVICE;
static char about[512];
static int pools, overlaps, major;

sw_status sw_cuda_use(void)
{
	static _Thread_local int used = NO_DEVICE;
	const int device = atomic_load_explicit(&opened, memory_order_acquire);
	sw_status rc;

	if (device == NO_DEVICE)
		return SW_INVALID; /* the table was opened to count bytes */
	if (used == device)
		return SW_OK;
	rc = sw_cuda_status(cudaSetDevice(device));
	if (rc == SW_OK)
		used = device;
	return rc;
}

int sw_cuda_pools(void)
{
	return pools;
}

int sw_cuda_overlaps(void)
{
	return overlaps;
}

int sw_cuda_major(void)
{
	return major;
}

void sw_cuda_describe(char *text, size_t cap)
{
	snprintf(text, cap, "%s", about);
}

/* CUDA writes 13.2 as 13020. */
#define MAJOR(v) ((v) / 1000)
#define MINOR(v) ((v) % 1000 / 10)

static sw_status count_devices(int *n, int *driver, int *runtime, struct sw_err *err)
{
	cudaError_t e;

	*driver = *runtime = *n = 0;
	if (cudaDriverGetVersion(driver) != cudaSuccess || *driver == 0)
		return sw_err_set(err, SW_NOT_FOUND, "no NVIDIA driver on this machine");
	(void)cudaRuntimeGetVersion(runtime);
	e = cudaGetDeviceCount(n);
	if (e == cudaErrorInsufficientDriver)
		return sw_err_set(err, SW_NOT_FOUND,
				  "the NVIDIA driver is too old: it knows CUDA %d.%d, this build "
				  "needs %d.%d",
				  MAJOR(*driver), MINOR(*driver), MAJOR(*runtime), MINOR(*runtime));
	if (e == cudaErrorNoDevice || (e == cudaSuccess && *n == 0))
		return sw_err_set(err, SW_NOT_FOUND,
				  "the NVIDIA driver shows this process no GPU (see "
				  "CUDA_VISIBLE_DEVICES)");
	if (e != cudaSuccess)
		return sw_err_set(err, SW_DEVICE_LOST, "CUDA does not start: %s",
				  cudaGetErrorString(e));
	return SW_OK;
}

/* From which architecture on code waits for the kernel before it, and from which CUDA on that can
 * be recorded. Code of an older one does not wait, on whichever device it runs: a driver translates
 * sm_80's for an H100. */
#define OVERLAP_PTX  90
#define OVERLAP_CUDA 12030

/* Makes the context, and sees that this module holds code for the device. */
static sw_status make_context(int device, const struct cudaDeviceProp *p, int *ptx,
			      struct sw_err *err)
{
	cudaError_t e = cudaSetDevice(device);

	/* A thread that waits for the GPU sleeps: the cores belong to other workers. */
	if (e == cudaSuccess)
		e = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
	if (e == cudaSuccess)
		e = cudaFree(NULL); /* older runtimes make the context at the first real call */
	if (e == cudaSuccess)
		e = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device);
	if (e == cudaSuccess)
		e = sw_cuda_probe(ptx);
	if (e == cudaSuccess)
		e = sw_cuda_load();
	switch (e) {
	case cudaSuccess:
		return SW_OK;
	case cudaErrorNoKernelImageForDevice:
	case cudaErrorInvalidDeviceFunction:
	case cudaErrorUnsupportedPtxVersion:
		return sw_err_set(err, SW_NOT_FOUND,
				  "gpu:%d (%.100s) is of compute capability %d.%d, for which this "
				  "build holds no code: configure with "
				  "-DCMAKE_CUDA_ARCHITECTURES=%d%d",
				  device, p->name, p->major, p->minor, p->major, p->minor);
	case cudaErrorDevicesUnavailable:
		return sw_err_set(err, SW_BUSY,
				  "gpu:%d (%.100s) is held by another process, or its compute mode "
				  "forbids use",
				  device, p->name);
	case cudaErrorMemoryAllocation:
		return sw_err_set(err, SW_NOMEM, "gpu:%d (%.100s) has no memory left for a context",
				  device, p->name);
	default:
		return sw_err_set(err, SW_DEVICE_LOST, "gpu:%d (%.100s) does not start: %s", device,
				  p->name, cudaGetErrorString(e));
	}
}

static sw_status open_device(int device, struct sw_err *err)
{
	struct cudaDeviceProp p;
	int n, driver, runtime, ptx = 0;
	sw_status rc = count_devices(&n, &driver, &runtime, err);
	cudaError_t e;

	if (rc != SW_OK)
		return rc;
	if (device < 0 || device >= n)
		return sw_err_set(err, SW_NOT_FOUND, "there is no gpu:%d: this process sees %d %s",
				  device, n, n == 1 ? "GPU" : "GPUs");
	e = cudaGetDeviceProperties(&p, device);
	if (e != cudaSuccess)
		return sw_err_set(err, SW_DEVICE_LOST, "gpu:%d does not answer: %s", device,
				  cudaGetErrorString(e));
	rc = make_context(device, &p, &ptx, err);
	if (rc != SW_OK)
		return rc;
	overlaps = ptx >= OVERLAP_PTX && runtime >= OVERLAP_CUDA && driver >= OVERLAP_CUDA;
	major = p.major;
	snprintf(about, sizeof about,
		 "%.100s, %.1f GiB, compute capability %d.%d, CUDA %d.%d, driver for CUDA %d.%d",
		 p.name, (double)p.totalGlobalMem / (1 << 30), p.major, p.minor, MAJOR(runtime),
		 MINOR(runtime), MAJOR(driver), MINOR(driver));
	return SW_OK;
}

sw_status sw_cuda_device_take(int device, struct sw_err *err)
{
	const int had = atomic_load_explicit(&opened, memory_order_acquire);
	sw_status rc = SW_OK;

	if (had != NO_DEVICE && had != device)
		return sw_err_set(err, SW_CONFLICT,
				  "this process has opened gpu:%d already, and a process has one",
				  had);
	if (had == NO_DEVICE) {
		/* Streams share the driver's connections, 8 unless it is told otherwise before it
		 * starts: one lane's work would then stand behind another's. 32 are all it has. */
		(void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
		rc = open_device(device, err);
	}
	if (rc != SW_OK) {
		(void)cudaGetLastError();
		return rc;
	}
	atomic_store_explicit(&opened, device, memory_order_release);
	return SW_OK;
}

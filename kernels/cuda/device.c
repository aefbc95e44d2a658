/* kernels/cuda/device.c — opens GPUs for this process, and makes one a thread's. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/load.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_DEVICE (-1)

/* Of a device that is open: written before it is. */
static struct device {
	atomic_bool open;
	char about[512];
	int pools, overlaps, major;
} devices[SW_CUDA_DEVICES_MAX];

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* The first that the process has opened, for threads that take none themselves; and the thread's
 * own. */
static atomic_int first = NO_DEVICE;
static _Thread_local int own = NO_DEVICE;

static int number(void)
{
	return own != NO_DEVICE ? own : atomic_load_explicit(&first, memory_order_acquire);
}

/* The thread's; before any is open one of zeros. */
static const struct device *device_used(void)
{
	const int device = number();

	return &devices[device == NO_DEVICE ? 0 : device];
}

sw_status sw_cuda_use(void)
{
	static _Thread_local int used = NO_DEVICE;
	const int device = number();
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
	return device_used()->pools;
}

int sw_cuda_overlaps(void)
{
	return device_used()->overlaps;
}

int sw_cuda_major(void)
{
	return device_used()->major;
}

void sw_cuda_describe(char *text, size_t cap)
{
	snprintf(text, cap, "%s", device_used()->about);
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
		e = cudaDeviceGetAttribute(&devices[device].pools, cudaDevAttrMemoryPoolsSupported,
					   device);
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
	if (device < 0 || device >= n || device >= SW_CUDA_DEVICES_MAX)
		return sw_err_set(err, SW_NOT_FOUND, "there is no gpu:%d: this process sees %d %s",
				  device, n, n == 1 ? "GPU" : "GPUs");
	e = cudaGetDeviceProperties(&p, device);
	if (e != cudaSuccess)
		return sw_err_set(err, SW_DEVICE_LOST, "gpu:%d does not answer: %s", device,
				  cudaGetErrorString(e));
	rc = make_context(device, &p, &ptx, err);
	if (rc != SW_OK)
		return rc;
	struct device *d = &devices[device];

	d->overlaps = ptx >= OVERLAP_PTX && runtime >= OVERLAP_CUDA && driver >= OVERLAP_CUDA;
	d->major = p.major;
	snprintf(d->about, sizeof d->about,
		 "%.100s, %.1f GiB, compute capability %d.%d, CUDA %d.%d, driver for CUDA %d.%d",
		 p.name, (double)p.totalGlobalMem / (1 << 30), p.major, p.minor, MAJOR(runtime),
		 MINOR(runtime), MAJOR(driver), MINOR(driver));
	return SW_OK;
}

sw_status sw_cuda_device_take(int device, struct sw_err *err)
{
	int none = NO_DEVICE;
	sw_status rc = SW_OK;

	pthread_mutex_lock(&opening);
	/* A number that cannot be comes here, too: open_device says what is wrong with it. */
	if (device < 0 || device >= SW_CUDA_DEVICES_MAX || !atomic_load(&devices[device].open)) {
		/* Streams share the driver's connections, 8 unless it is told otherwise before it
		 * starts: one lane's work would then stand behind another's. 32 are all it has. */
		if (atomic_load(&first) == NO_DEVICE)
			(void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
		rc = open_device(device, err);
	}
	if (rc == SW_OK) {
		/* Last: threads that have not taken the lock read the struct once they see
		 * `first`. */
		atomic_store(&devices[device].open, true);
		own = device;
		(void)atomic_compare_exchange_strong(&first, &none, device);
	} else {
		(void)cudaGetLastError();
	}
	pthread_mutex_unlock(&opening);
	return rc;
}

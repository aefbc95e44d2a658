#include "kernels/backend.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "prefix:N" with N decimal below 1024 (more GPUs than any machine has), or false. */
static bool ordinal(const char *device, const char *prefix, int *out)
{
	const size_t n = strlen(prefix);
	char *end;
	long v;

	if (strncmp(device, prefix, n) != 0 || device[n] < '0' || device[n] > '9')
		return false;
	v = strtol(device + n, &end, 10);
	*out = (int)v;
	return *end == '\0' && v < 1024;
}

/* dlopen's text names the reason, a missing driver library for one. */
static sw_status module_open(void **out, struct sw_err *err)
{
	static const char *const places[] = {"", SW_MODULE_DIR};
	const char *given = getenv("SWEEPD_CUDA_MODULE");
	char self[4096], path[4200];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	*out = NULL;
	if (given != NULL && *given != '\0') {
		*out = dlopen(given, RTLD_NOW | RTLD_LOCAL);
		return *out ? SW_OK
			    : sw_err_set(err, SW_NOT_FOUND, "SWEEPD_CUDA_MODULE: %s", dlerror());
	}
	if (n <= 0)
		return sw_err_set(err, SW_IO, "cannot tell where this program is");
	self[n] = '\0';
	strrchr(self, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		snprintf(path, sizeof path, "%s%s%s", self, places[i], SW_OPS_CUDA_MODULE);
		if (access(path, F_OK) != 0)
			continue;
		*out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		return *out ? SW_OK
			    : sw_err_set(err, SW_NOT_FOUND, "the GPU backend does not load: %s",
					 dlerror());
	}
	return sw_err_set(err, SW_NOT_FOUND,
			  "no GPU backend here: " SW_OPS_CUDA_MODULE
			  " is neither beside the program nor in " SW_MODULE_DIR
			  " (built without CUDA, or sweepd-cuda is not installed)");
}

static sw_status gpu_open(int device, const struct sw_ops **out, struct sw_err *err)
{
	void *module;
	sw_ops_open_fn *open_fn;
	const struct sw_ops *ops = NULL;
	sw_status rc = module_open(&module, err);

	if (rc != SW_OK)
		return rc;
	/* POSIX's way around ISO C, which knows no conversion from object to function pointer. */
	*(void **)&open_fn = dlsym(module, SW_OPS_CUDA_OPEN);
	if (!open_fn)
		return sw_err_set(err, SW_NOT_FOUND,
				  SW_OPS_CUDA_MODULE " has no " SW_OPS_CUDA_OPEN);
	rc = open_fn(device, &ops, err);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "gpu:%d cannot be opened: %s", device,
				  sw_status_str(rc));
	if (ops->version != SW_OPS_VERSION)
		return sw_err_set(err, SW_INVALID,
				  SW_OPS_CUDA_MODULE
				  " is of version %d, this program needs %d: build both together",
				  ops->version, SW_OPS_VERSION);
	*out = ops;
	return SW_OK;
}

sw_status sw_backend_open(const char *device, unsigned cores, const struct sw_ops **out,
			  struct sw_err *err)
{
	int n;

	*out = NULL;
	if (strcmp(device, "cpu") == 0 || ordinal(device, "cpu:", &n)) {
		sw_ops_cpu_threads(cores);
		*out = &sw_ops_cpu;
		return SW_OK;
	}
	if (ordinal(device, "gpu:", &n))
		return gpu_open(n, out, err);
	return sw_err_set(err, SW_INVALID, "\"%.40s\" is no device: cpu, cpu:N or gpu:N", device);
}

sw_status sw_backend_gpu_sizes(const struct sw_ops **out, struct sw_err *err)
{
	*out = NULL;
	return gpu_open(SW_OPS_NO_DEVICE, out, err);
}

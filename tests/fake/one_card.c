/*
 * tests/fake/one_card.c — a CUDA module in front of the real one, by which all ranks of a trial
 * train on one GPU: whichever they ask for, they get the first. For scripts/lib/gpu_gangs.py, which
 * has the stand-in for NVML list one card twice. CUDA would read its list of GPUs up to the second,
 * which it does not know; so the real one, of SWEEPD_ONE_CARD, goes in front. The real module is
 * SWEEPD_ONE_CARD_MODULE.
 */
#include "kernels/ops.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static sw_ops_open_fn *real;
static char why[256];

static void find(void)
{
	const char *card = getenv("SWEEPD_ONE_CARD"), *path = getenv("SWEEPD_ONE_CARD_MODULE");
	const char *seen = getenv("CUDA_VISIBLE_DEVICES");
	char list[4096];
	void *module = card && path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (module)
		*(void **)&real = dlsym(module, SW_OPS_CUDA_OPEN);
	if (!real) {
		const char *text = card && path ? dlerror()
						: "SWEEPD_ONE_CARD and _MODULE are missing";

		(void)snprintf(why, sizeof why, "%s", text ? text : "");
		return;
	}
	/* The others stay: a rank finds its GPU by its place in this list. */
	(void)snprintf(list, sizeof list, "%s,%s", card, seen ? seen : "");
	(void)setenv("CUDA_VISIBLE_DEVICES", list, 1);
}

__attribute__((visibility("default"))) sw_ops_open_fn sw_ops_cuda_open;

sw_status sw_ops_cuda_open(int device, const struct sw_ops **out, struct sw_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, find);
	*out = NULL;
	if (!real)
		return sw_err_set(err, SW_NOT_FOUND, "%s", why);
	return real(device > 0 ? 0 : device, out, err);
}

#include "kernels/cuda/blas.h"
#include <dlfcn.h>
#include <stddef.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x) /* of what the macro x stands for: cublasCreate is cublasCreate_v2 */

#define LIBRARY "libcublas.so." TEXT(CUBLAS_VER_MAJOR)

static struct sw_cublas calls;
static void *library;

static const struct {
	const char *name;
	size_t member;
} names[] = {
#define NAME(member, function) {TEXT(function), offsetof(struct sw_cublas, member)},
	SW_CUBLAS_CALLS(NAME)};

static sw_status calls_find(void *from, struct sw_err *err)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *found = dlsym(from, names[i].name);

		if (!found)
			return sw_err_set(err, SW_UNSUPPORTED, LIBRARY " has no %s", names[i].name);
		/* POSIX's way around ISO C, which knows no such conversion. */
		*(void **)(void *)((char *)&calls + names[i].member) = found;
	}
	return SW_OK;
}

sw_status sw_cublas_open(const struct sw_cublas **out, struct sw_err *err)
{
	/* The one caller holds all recordings off meanwhile, and with them other callers: the
	 * statics need no lock. The library stays open, for handles of other queues call it. */
	void *found = library ? library : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	sw_status rc;

	*out = NULL;
	if (!found)
		return sw_err_set(err, SW_UNSUPPORTED,
				  "layers of this size need cuBLAS, which does not load: %s",
				  dlerror());
	if (!library) {
		rc = calls_find(found, err);
		if (rc != SW_OK) {
			(void)dlclose(found);
			return rc;
		}
	}
	library = found;
	*out = &calls;
	return SW_OK;
}

#include "daemon/slot/nvml.h"
#include "base/memory.h"
#include "daemon/slot/nvml_abi.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char *const symbols[] = {
#define SYMBOL(name, symbol, type, args) symbol,
	NVML_CALLS(SYMBOL)
#undef SYMBOL
};
#define SYMBOLS (sizeof symbols / sizeof symbols[0])

const char *sw_nvml_words(const struct sw_nvml *m, int code)
{
	const char *text = m->call.error != NULL ? m->call.error(code) : NULL;

	return text != NULL ? text : "unknown error";
}

static sw_status load_library(struct sw_nvml *m, const char *path, struct sw_err *err)
{
	void *at[SYMBOLS];

	m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (m->library == NULL)
		return sw_err_set(err, SW_NOT_FOUND, "no NVIDIA driver: %s", dlerror());
	for (size_t i = 0; i < SYMBOLS; i++) {
		at[i] = dlsym(m->library, symbols[i]);
		if (at[i] == NULL && i < NVML_REQUIRED)
			return sw_err_set(err, SW_NOT_FOUND, "%s has no %s", path, symbols[i]);
	}
	/* POSIX's way around ISO C, which knows no conversion from object to function pointer. */
	_Static_assert(sizeof at == sizeof m->call, "addresses of both are as long");
	memcpy(&m->call, at, sizeof at);
	return SW_OK;
}

sw_status sw_nvml_open(struct sw_nvml **out, struct sw_err *err)
{
	const char *given = getenv("SWEEPD_NVML");
	const char *path = given != NULL && *given != '\0' ? given : "libnvidia-ml.so.1";
	struct sw_nvml *m = sw_calloc(1, sizeof *m);
	sw_status rc;

	*out = NULL;
	if (m == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	rc = load_library(m, path, err);
	if (rc == SW_OK) {
		const int code = m->call.init();

		if (code != NVML_SUCCESS)
			rc = sw_err_set(err,
					code == NVML_DRIVER_NOT_LOADED ||
							code == NVML_LIBRARY_NOT_FOUND
						? SW_NOT_FOUND
						: SW_IO,
					"no NVIDIA driver that works: NVML says: %s",
					sw_nvml_words(m, code));
	}
	/* From here on sw_nvml_close() ends it; before, NVML was not initialised. */
	if (rc == SW_OK) {
		*out = m;
		return SW_OK;
	}
	if (m->library != NULL)
		(void)dlclose(m->library);
	free(m);
	return rc;
}

void sw_nvml_close(struct sw_nvml *m)
{
	if (m == NULL)
		return;
	if (m->events != NULL && m->call.unwatch != NULL)
		(void)m->call.unwatch(m->events);
	if (m->call.shutdown != NULL)
		(void)m->call.shutdown();
	(void)dlclose(m->library);
	free(m);
}

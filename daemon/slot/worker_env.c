#include "daemon/slot/worker_env.h"
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* What a worker may see of the daemon's environment. */
static bool may_pass(const char *var)
{
	static const char *const names[] = {
		"PATH=",
		"HOME=",
		"LANG=",
		"LC_ALL=",
		"TMPDIR=",
		"TZ=",
		"LD_LIBRARY_PATH=",
		"CUDA_VISIBLE_DEVICES=",
		"CUDA_DEVICE_ORDER=",
		"CUDA_DEVICE_MAX_CONNECTIONS=",
		"SWEEPD_",
		"ASAN_OPTIONS=",
		"UBSAN_OPTIONS=",
		"LSAN_OPTIONS=",
		"TSAN_OPTIONS=",
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strncmp(var, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Is the variable of var set in list? */
static bool is_set_in(const char *var, char *const list[])
{
	const size_t n = strcspn(var, "=") + 1;

	for (size_t i = 0; list[i] != NULL; i++)
		if (strncmp(var, list[i], n) == 0)
			return true;
	return false;
}

void sw_worker_env_fill(char *env[SW_WORKER_ENV_MAX + 1], char *const more[])
{
	size_t n = 0;

	for (; more[n] != NULL && n < SW_WORKER_ENV_MAX; n++)
		env[n] = more[n];
	for (char **e = environ; *e != NULL && n < SW_WORKER_ENV_MAX; e++)
		if (may_pass(*e) && !is_set_in(*e, more))
			env[n++] = *e;
	env[n] = NULL;
}

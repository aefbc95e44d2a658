#include "daemon/slot/worker_env.h"
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* The part of the daemon's environment that a worker, and the user's program in it, may see: where
 * things are and how they are shown. No secrets: a program has those of its submission. */
static bool may_pass(const char *var)
{
	static const char *const names[] = {
		"PATH=",
		"HOME=",
		"USER=",
		"LOGNAME=",
		"SHELL=",
		"LANG=",
		"LC_",
		"TMPDIR=",
		"TZ=",
		"LD_LIBRARY_PATH=",
		"VIRTUAL_ENV=",
		"CONDA_",
		"PYTHON",
		"CUDA_",
		"NCCL_",
		"PYTORCH_",
		"XLA_",
		"TF_CPP_",
		"TF_CUDNN_",
		"TF_ENABLE_",
		"TF_FORCE_",
		"TF_GPU_",
		"TF_XLA_",
		"TRITON_",
		"JAX_",
		"XDG_CACHE_HOME=",
		"XDG_DATA_HOME=",
		"HF_HOME=",
		"TORCH_HOME=",
		"SSL_CERT_FILE=",
		"SSL_CERT_DIR=",
		"http_proxy=",
		"https_proxy=",
		"no_proxy=",
		"HTTP_PROXY=",
		"HTTPS_PROXY=",
		"NO_PROXY=",
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

	/* First, so that none of them is cut by a crowded environment. */
	for (; more[n] != NULL && n < SW_WORKER_ENV_MAX; n++)
		env[n] = more[n];
	for (char **e = environ; *e != NULL && n < SW_WORKER_ENV_MAX; e++)
		if (may_pass(*e) && !is_set_in(*e, more))
			env[n++] = *e;
	env[n] = NULL;
}

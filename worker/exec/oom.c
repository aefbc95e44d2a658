#include "worker/exec/oom.h"
#include "proto/json.h"
#include <math.h>
#include <string.h>
#include <strings.h>

bool sw_oom_said(const char *line)
{
	/* CUDA, PyTorch, JAX and TensorFlow, cuDNN, C++, the C library */
	static const char *const words[] = {"out of memory",         "OutOfMemory",
					    "OUT_OF_MEMORY",         "std::bad_alloc",
					    "RESOURCE_EXHAUSTED",    "CUDNN_STATUS_ALLOC_FAILED",
					    "Cannot allocate memory"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(line, words[i]))
			return true;
	/* Python's, and numpy's that is made from it */
	return strncmp(line, "MemoryError", 11) == 0 ||
	       strncmp(line, "numpy.core._exceptions._ArrayMemoryError", 40) == 0 ||
	       strncmp(line, "numpy._core._exceptions._ArrayMemoryError", 41) == 0;
}

bool sw_oom_halve(cJSON *params, const char *name, double *now)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(params, name);

	if (!cJSON_IsNumber(v) || v->valuedouble / 2 < 1)
		return false; /* a batch of less than one row is none */
	*now = sw_json_is_integer(v) ? floor(v->valuedouble / 2) : v->valuedouble / 2;
	cJSON_SetNumberValue(v, *now);
	return true;
}

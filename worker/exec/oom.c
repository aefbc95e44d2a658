#include "worker/exec/oom.h"
#include "proto/json.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Finds the end of the words that CUDA, PyTorch, JAX and TensorFlow, cuBLAS, cuDNN, C++ and the C
 * library say of it; NULL: the line has none of them. */
static const char *after_words(const char *line)
{
	static const char *const words[] = {
		"out of memory",  "OutOfMemory",           "OUT_OF_MEMORY",
		"std::bad_alloc", "RESOURCE_EXHAUSTED",    "ResourceExhaustedError",
		"_ALLOC_FAILED",  "annot allocate memory", "OOM when allocating"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *at = strcasestr(line, words[i]);

		if (at)
			return at + strlen(words[i]);
	}
	return NULL;
}

/* Python's name of an exception that ends so ("numpy._core._exceptions._ArrayMemoryError: ..."). */
static bool is_named(const char *line, const char *end)
{
	const size_t n = strcspn(line, " :"), len = strlen(end);

	return line[n] != ' ' && n >= len && strncmp(line + n - len, end, len) == 0;
}

bool sw_oom_said(const char *line)
{
	return after_words(line) != NULL || is_named(line, "MemoryError");
}

bool sw_oom_ends(const char *line)
{
	const char *end = after_words(line);

	return (end != NULL && end[strspn(end, "'\")].! ")] == '\0') ||
	       (is_named(line, "Error") && sw_oom_said(line));
}

uint64_t sw_oom_kills(const char *vmstat)
{
	FILE *f = fopen(vmstat, "re");
	unsigned long long n = 0;
	char line[128];

	/* A kernel without this line counts no kills: then none is found to have been one of
	 * memory. */
	while (f && fgets(line, sizeof line, f))
		(void)sscanf(line, "oom_kill %llu", &n);
	if (f)
		(void)fclose(f);
	return n;
}

bool sw_oom_halve(cJSON *params, const char *name, double *now)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(params, name);

	if (!cJSON_IsNumber(v) || v->valuedouble / 2 < 1)
		return false; /* a batch has at least one row */
	*now = sw_json_is_integer(v) ? floor(v->valuedouble / 2) : v->valuedouble / 2;
	cJSON_SetNumberValue(v, *now);
	return true;
}

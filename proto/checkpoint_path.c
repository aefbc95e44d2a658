#include "proto/checkpoint_path.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void sw_checkpoint_path(char *out, size_t cap, const char *dir, uint64_t trial, uint64_t step)
{
	const int n = snprintf(out, cap, "%s%s%" PRIu64, dir != NULL ? dir : "",
			       dir != NULL ? "/" : "", trial);

	if (n < 0 || (size_t)n >= cap)
		return; /* cut */
	if (step == 0)
		(void)snprintf(out + n, cap - (size_t)n, ".dir");
	else
		(void)snprintf(out + n, cap - (size_t)n, "-%" PRIu64 ".ckpt", step);
}

bool sw_checkpoint_path_read(const char *path, uint64_t *trial, uint64_t *step)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	char again[SW_CHECKPOINT_NAME_MAX];

	*step = 0;
	if (sscanf(name, "%" SCNu64 "-%" SCNu64, trial, step) < 1)
		return false;
	/* "012-3.ckpt" and " 12-3.ckpt.old" are read by sscanf, too. */
	sw_checkpoint_path(again, sizeof again, NULL, *trial, *step);
	return strcmp(again, name) == 0;
}

#include "proto/checkpoint_path.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void sw_checkpoint_path(char *out, size_t cap, const char *dir, uint64_t trial, uint64_t step)
{
	(void)snprintf(out, cap, "%s%s%" PRIu64 "-%" PRIu64 ".ckpt", dir != NULL ? dir : "",
		       dir != NULL ? "/" : "", trial, step);
}

bool sw_checkpoint_path_read(const char *path, uint64_t *trial, uint64_t *step)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	char again[SW_CHECKPOINT_NAME_MAX];

	if (sscanf(name, "%" SCNu64 "-%" SCNu64, trial, step) != 2)
		return false;
	/* "012-3.ckpt" and " 12-3.ckpt.old" are read by sscanf, too. */
	sw_checkpoint_path(again, sizeof again, NULL, *trial, *step);
	return strcmp(again, name) == 0;
}

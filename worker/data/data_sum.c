/* worker/data/data_sum.c — what a data set's files hold, as one number. */
#include "base/beat.h"
#include "base/memory.h"
#include "worker/data/data.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define CHUNK ((size_t)1 << 20)

static sw_status add_file(XXH3_state_t *sum, const char *path, void *chunk, struct sw_err *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, chunk, CHUNK)) > 0) {
		(void)XXH3_64bits_update(sum, chunk, (size_t)n);
		sw_beat();
	}
	const int why = errno;
	if (fd >= 0)
		(void)close(fd);
	return n == 0 ? SW_OK
		      : sw_err_at(err, SW_IO, "/path", "cannot read %s: %s", path, strerror(why));
}

sw_status sw_data_source_sum(const struct sw_data_source *source, uint64_t *out, struct sw_err *err)
{
	char file[SW_DATASET_MAX_PATH + 64];
	XXH3_state_t *sum = XXH3_createState();
	void *chunk = sw_malloc(CHUNK);
	sw_status rc = SW_OK;
	size_t n = 0;

	*out = 0;
	if (sum == NULL || chunk == NULL)
		rc = sw_err_set(err, SW_NOMEM, "no memory to read the data set");
	else
		(void)XXH3_64bits_reset(sum);
	for (; rc == SW_OK && sw_data_source_file(source, n, file); n++)
		rc = add_file(sum, file, chunk, err);
	if (rc == SW_OK && n > 0)
		*out = XXH3_64bits_digest(sum) >> 11 | 1; /* 53 bits: all that a double keeps */
	free(chunk);
	(void)XXH3_freeState(sum);
	return rc;
}

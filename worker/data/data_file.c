/* worker/data/data_file.c — what the readers of data files share: opening, reading, memory,
 * classes. */
#include "base/beat.h"
#include "base/fault.h"
#include "base/memory.h"
#include "worker/data/data_raw.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE ((size_t)16 << 20) /* bytes: between two beats, from a slow disk, too */

const char *sw_data_path_show(const char *path, char out[84])
{
	const size_t n = strlen(path), most = 80;

	if (n <= most)
		memcpy(out, path, n + 1);
	else
		snprintf(out, 84, "...%s", path + n - (most - 3));
	return out;
}

sw_status sw_data_file_open(struct sw_data_file *f, const char *path, const char *ptr,
			    struct sw_err *err)
{
	unsigned char magic[2];
	struct stat st;

	memset(f, 0, sizeof *f);
	f->ptr = ptr;
	sw_data_path_show(path, f->show);
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return sw_err_at(err, errno == ENOENT ? SW_NOT_FOUND : SW_IO, ptr, "%s: %s",
				 f->show, strerror(errno));
	sw_status status = SW_OK;

	if (fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode))
		status = sw_err_at(err, SW_INVALID, ptr, "%s is not a file", f->show);
	else if (st.st_size == 0)
		status = sw_err_at(err, SW_INVALID, ptr, "%s is empty", f->show);
	else if (pread(f->fd, magic, sizeof magic, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b)
		status = sw_err_at(err, SW_INVALID, ptr, "%s is compressed: gunzip it first",
				   f->show);
	if (status != SW_OK)
		sw_data_file_close(f);
	else
		f->size = (uint64_t)st.st_size;
	return status;
}

sw_status sw_data_file_read(struct sw_data_file *f, void *to, size_t n, const char *what,
			    struct sw_err *err)
{
	size_t done = 0;

	while (done < n) {
		const size_t some = n - done < AT_ONCE ? n - done : AT_ONCE;
		const ssize_t got = sw_fault_hit(SW_FAULT_IO)
					    ? (errno = EIO, -1)
					    : read(f->fd, (char *)to + done, some);

		sw_beat();
		if (got < 0 && errno != EINTR)
			return sw_err_at(err, SW_IO, f->ptr, "%s: byte %" PRIu64 ": %s", f->show,
					 f->at + done, strerror(errno));
		if (got == 0)
			return sw_err_at(err, SW_INVALID, f->ptr,
					 "%s ends at byte %" PRIu64 ", %s needs it up to byte "
					 "%" PRIu64,
					 f->show, f->at + done, what, f->at + n);
		done += got > 0 ? (size_t)got : 0;
	}
	f->at += n;
	return SW_OK;
}

void sw_data_file_close(struct sw_data_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* --- memory --- */

/* *out = rows * n * size, or false when that is over SW_RAW_MAX_BYTES. */
static bool bytes_of(size_t rows, size_t n, size_t size, uint64_t *out)
{
	if (n != 0 && rows > SW_RAW_MAX_BYTES / n)
		return false;
	if ((uint64_t)rows * n > SW_RAW_MAX_BYTES / size)
		return false;
	*out = (uint64_t)rows * n * size;
	return true;
}

sw_status sw_raw_alloc(struct sw_raw *r, bool keep, bool classes, struct sw_err *err)
{
	const size_t n = sw_shape_count(&r->shape);
	size_t free_bytes = 0, total;
	uint64_t x, y;

	if (r->rows > INT32_MAX)
		return sw_err_set(err, SW_TOO_BIG, "the data set has over 2^31 - 1 rows");
	if (!bytes_of(r->rows, n, r->kind == SW_RAW_U8 ? 1 : 4, &x) ||
	    !bytes_of(r->rows, r->labels, 4, &y))
		return sw_err_set(err, SW_TOO_BIG, "%zu rows of %zu values are over 1 TiB", r->rows,
				  n);
	if (keep && r->most != 0 && x + y >= r->most)
		return sw_err_set(err, SW_NOMEM,
				  "the data set has %" PRIu64 " bytes, a trial may have %zu", x + y,
				  r->most);
	if (sw_ops_cpu.memory(&free_bytes, &total) == SW_OK && (keep ? x : 0) + y > free_bytes)
		return sw_err_set(err, SW_NOMEM,
				  "the data set needs %" PRIu64 " bytes to be read, %zu are free",
				  (keep ? x : 0) + y, free_bytes);
	void *rows = keep ? sw_malloc(x ? x : 1) : NULL;

	if (r->kind == SW_RAW_U8)
		r->u8 = rows;
	else if (r->kind == SW_RAW_TOKEN)
		r->token = rows;
	else
		r->x = rows;
	if (classes)
		r->label = sw_malloc(y ? y : 1);
	else
		r->value = sw_malloc(y ? y : 1);
	if ((keep && !rows) || (!r->label && !r->value))
		return sw_err_set(err, SW_NOMEM, "no memory for %zu rows of %zu values", r->rows,
				  n);
	return SW_OK;
}

void sw_raw_fini(struct sw_raw *r)
{
	free(r->x);
	free(r->u8);
	free(r->token);
	free(r->length);
	free(r->label);
	free(r->value);
	sw_about_fini(&r->about);
	memset(r, 0, sizeof *r);
}

/* --- labels --- */

sw_status sw_raw_wants_classes(const struct sw_data_want *want, const char *format,
			       struct sw_err *err)
{
	if (want->classes)
		return SW_OK;
	return sw_err_set(err, SW_INVALID,
			  "the loss \"mse\" needs numbers to predict, the labels of %s are classes",
			  format);
}

sw_status sw_raw_classes(struct sw_raw *r, const char *show, const char *ptr, struct sw_err *err)
{
	int32_t largest = 0, first = r->label[0];
	bool all = true;

	for (size_t i = 0; i < r->rows * r->labels; i++) {
		largest = r->label[i] > largest ? r->label[i] : largest;
		all = all && r->label[i] == first;
	}
	r->classes = (size_t)largest + 1;
	if (!all)
		return SW_OK;
	return sw_err_at(err, SW_INVALID, ptr, "%s: all %zu rows have the label %d", show, r->rows,
			 (int)first);
}

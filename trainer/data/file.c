#include "trainer/data/file.h"
#include "base/beat.h"
#include "base/fault.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE ((size_t)16 << 20) /* bytes: between two beats, from a slow disk, too */

const char *sw_data_file_show(const char *path, char out[84])
{
	const size_t n = strlen(path), most = 80;

	if (n <= most)
		memcpy(out, path, n + 1);
	else
		snprintf(out, 84, "...%s", path + n - (most - 3));
	return out;
}

sw_status sw_data_file_open_any(struct sw_data_file *f, const char *path, const char *ptr,
				struct sw_err *err)
{
	struct stat st;

	memset(f, 0, sizeof *f);
	f->ptr = ptr;
	sw_data_file_show(path, f->show);
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return sw_err_at(err, errno == ENOENT ? SW_NOT_FOUND : SW_IO, ptr, "%s: %s",
				 f->show, strerror(errno));
	sw_status rc = SW_OK;

	if (fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode))
		rc = sw_err_at(err, SW_INVALID, ptr, "%s is not a file", f->show);
	else if (st.st_size == 0)
		rc = sw_err_at(err, SW_INVALID, ptr, "%s is empty", f->show);
	if (rc != SW_OK)
		sw_data_file_close(f);
	else
		f->size = (uint64_t)st.st_size;
	return rc;
}

sw_status sw_data_file_open(struct sw_data_file *f, const char *path, const char *ptr,
			    struct sw_err *err)
{
	unsigned char magic[2];
	sw_status rc = sw_data_file_open_any(f, path, ptr, err);

	if (rc != SW_OK || pread(f->fd, magic, sizeof magic, 0) != 2 || magic[0] != 0x1f ||
	    magic[1] != 0x8b)
		return rc;
	sw_data_file_close(f);
	return sw_err_at(err, SW_INVALID, ptr, "%s is compressed: gunzip it first", f->show);
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

sw_status sw_data_bases(double **out, size_t n, struct sw_err *err)
{
	*out = sw_malloc(n * sizeof **out);
	for (size_t i = 0; *out && i < n; i++)
		(*out)[i] = (double)NAN;
	return *out ? SW_OK : sw_err_set(err, SW_NOMEM, "no memory for %zu columns", n);
}

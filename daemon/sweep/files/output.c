#include "daemon/sweep/files/output.h"
#include "base/memory.h"
#include "base/utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The two files, the older first; fd -1: missing. */
struct output_file {
	int fd;
	uint64_t inode, size;
};

static sw_status open_file(const char *path, struct output_file *f, struct sw_err *err)
{
	struct stat st;

	/* The folder is the program's, who may have put anything there: a fifo would block the
	 * reader's thread, a link would show a file of someone else's choice. */
	f->fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	/* Nothing was written yet, or there is no older part. */
	if (f->fd < 0 && errno == ENOENT)
		return SW_OK;
	if (f->fd < 0 || fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		if (f->fd >= 0)
			(void)close(f->fd);
		f->fd = -1;
		return sw_err_set(err, SW_IO, "cannot read the trial's output");
	}
	f->inode = (uint64_t)st.st_ino;
	f->size = (uint64_t)st.st_size;
	return SW_OK;
}

static sw_status open_both(const char *path, struct output_file both[2], struct sw_err *err)
{
	char old[PATH_MAX + 80];

	/* The newer one first: if it is renamed in between it is found twice, and never missed. */
	sw_status rc = open_file(path, &both[1], err);
	(void)snprintf(old, sizeof old, "%s.1", path);
	if (rc == SW_OK)
		rc = open_file(old, &both[0], err);
	if (rc == SW_OK && both[0].fd >= 0 && both[1].fd >= 0 && both[0].inode == both[1].inode) {
		(void)close(both[1].fd);
		both[1].fd = -1;
	}
	return rc;
}

/* Is s[0..n) the beginning of a character, whose rest may be written any moment? */
static bool is_begun(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i = 1;

	while (i < n && (p[i] & 0xc0) == 0x80)
		i++;
	return i == n && p[0] >= 0xc2 && p[0] <= 0xf4 &&
	       n < (p[0] >= 0xf0   ? 4
		    : p[0] >= 0xe0 ? 3
				   : 2);
}

/* Appends what is valid, up to a character that is not whole yet; returns the bytes of data
 * used. */
static size_t add_text(struct sw_buf *text, const char *data, size_t n)
{
	size_t i = 0;

	while (i < n) {
		const size_t step = data[i] == '\0' ? 0 : sw_utf8_step(data + i, n - i);

		/* i > 0: a piece that is nothing but a beginning is passed on as it is, or a reader
		 * at a broken end would never get past it. */
		if (step == 0 && i > 0 && is_begun(data + i, n - i))
			break;
		(void)sw_buf_add(text, step > 0 ? data + i : "\xef\xbf\xbd", step > 0 ? step : 3);
		i += step > 0 ? step : 1;
	}
	return i;
}

static sw_status read_from(const struct output_file *f, uint64_t *offset, size_t most,
			   struct sw_buf *text, struct sw_err *err)
{
	const uint64_t left = f->size - *offset;
	const size_t n = left < most ? (size_t)left : most;
	char *data = sw_malloc(n + 1);

	if (data == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	const ssize_t got = pread(f->fd, data, n, (off_t)*offset);
	if (got > 0)
		*offset += add_text(text, data, (size_t)got);
	free(data);
	return got >= 0 ? SW_OK
			: sw_err_set(err, SW_IO, "cannot read the trial's output: %s",
				     strerror(errno));
}

sw_status sw_output_read(const char *path, const struct sw_output_place *at, size_t most,
			 struct sw_buf *text, struct sw_output_page *page, struct sw_err *err)
{
	struct output_file both[2] = {{.fd = -1}, {.fd = -1}};
	sw_status rc = open_both(path, both, err);
	size_t k = 2;

	*page = (struct sw_output_page){.next = *at};
	for (size_t i = 0; i < 2; i++)
		/* By inode: the newer file becomes the older one by a rename, and a reader in the
		 * middle of it stays in it. */
		if (both[i].fd >= 0 && both[i].inode == at->file && at->offset <= both[i].size)
			k = i;
	/* The file that the reader was in is gone, or was never there. */
	if (k == 2) {
		k = both[0].fd >= 0 ? 0 : 1;
		/* The output was rotated twice between two reads, so a whole file lies between the
		 * places. */
		page->lost = at->file != 0 && both[k].fd >= 0;
		page->next = (struct sw_output_place){.file = both[k].inode};
	}
	/* The older file is read to its end: on in the newer one. */
	if (rc == SW_OK && k == 0 && page->next.offset == both[0].size && both[1].fd >= 0) {
		k = 1;
		page->next = (struct sw_output_place){.file = both[1].inode};
	}
	if (rc == SW_OK && both[k].fd >= 0) {
		const size_t before = text->len;

		rc = read_from(&both[k], &page->next.offset, most, text, err);
		page->more = text->len > before &&
			     (page->next.offset < both[k].size || (k == 0 && both[1].fd >= 0));
	}
	for (size_t i = 0; i < 2; i++)
		if (both[i].fd >= 0)
			(void)close(both[i].fd);
	return rc;
}

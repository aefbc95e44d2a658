#include "trainer/data/csv_front.h"
#include "base/beat.h"
#include "base/fault.h"
#include "base/memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BLOCK    ((size_t)256 * 1024)
#define ROW_MOST ((size_t)16 << 20) /* bytes of a row */

struct sw_csv_packed {
	z_stream z;
	bool whole; /* the last member has ended */
	unsigned char in[2 * BLOCK];
};

sw_status csv_no_memory(const struct sw_csv_reader *c, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory to read %s", c->file.show);
}

static sw_status bytes_read(const struct sw_csv_reader *c, void *to, size_t room, size_t *got,
			    struct sw_err *err)
{
	ssize_t n;

	do {
		n = sw_fault_hit(SW_FAULT_IO) ? (errno = EIO, -1) : read(c->file.fd, to, room);
	} while (n < 0 && errno == EINTR);
	sw_beat();
	*got = n > 0 ? (size_t)n : 0;
	return n < 0 ? sw_err_at(err, SW_IO, "/path", "%s: %s", c->file.show, strerror(errno))
		     : SW_OK;
}

/* As bytes_read(), of a gzip file, which may be several behind one another. */
static sw_status bytes_unpack(const struct sw_csv_reader *c, void *to, size_t room, size_t *got,
			      struct sw_err *err)
{
	struct sw_csv_packed *p = c->packed;
	int rc = Z_OK;

	p->z.next_out = to;
	p->z.avail_out = (uInt)room;
	while (p->z.avail_out == room && rc == Z_OK) {
		size_t n = 0;

		if (p->z.avail_in == 0) {
			const sw_status read = bytes_read(c, p->in, sizeof p->in, &n, err);

			if (read != SW_OK)
				return read;
			if (n == 0)
				break;
			p->z.next_in = p->in;
			p->z.avail_in = (uInt)n;
		}
		if (p->whole)
			(void)inflateReset(&p->z);
		rc = inflate(&p->z, Z_NO_FLUSH);
		p->whole = rc == Z_STREAM_END;
		rc = p->whole ? Z_OK : rc;
	}
	*got = room - p->z.avail_out;
	if (rc == Z_MEM_ERROR)
		return csv_no_memory(c, err);
	if (rc != Z_OK)
		return sw_err_at(err, SW_INVALID, "/path", "%s is damaged: its gzip is none",
				 c->file.show);
	if (*got == 0 && !p->whole)
		return sw_err_at(err, SW_INVALID, "/path", "%s is cut off: its gzip has no end",
				 c->file.show);
	return SW_OK;
}

/* n bytes of Latin-1 at the front of `to` become UTF-8, of at most twice as many. From the back, so
 * that none is written over before it is read. Returns how many they are. */
static size_t latin1_widen(char *to, size_t n)
{
	size_t high = 0;

	for (size_t i = 0; i < n; i++)
		high += (unsigned char)to[i] >> 7;
	for (size_t i = n, at = n + high; i-- > 0;) {
		const unsigned char b = (unsigned char)to[i];

		if (b >= 0x80)
			to[--at] = (char)(0x80 | (b & 0x3f));
		to[--at] = (char)(b < 0x80 ? b : 0xc0 | b >> 6);
	}
	return n + high;
}

sw_status csv_fill(struct sw_csv_reader *c, struct sw_err *err)
{
	size_t got, room;

	/* The row at hand to the front: cells point into the block, and are used up before the next
	 * is filled. */
	memmove(c->text, c->text + c->at, c->len - c->at);
	c->len -= c->at;
	c->at = 0;
	if (c->size - c->len < BLOCK) {
		char *bigger = c->size < ROW_MOST ? sw_realloc(c->text, 2 * c->size + PAD) : NULL;

		if (!bigger && c->size >= ROW_MOST)
			return sw_err_at(err, SW_TOO_BIG, "/path",
					 "%s: line %zu begins a row of over %zu bytes: is a quote "
					 "never closed?",
					 c->file.show, c->next_line, ROW_MOST);
		if (!bigger)
			return csv_no_memory(c, err);
		c->text = bigger;
		c->size *= 2;
	}
	room = c->size - c->len - 1;
	room = c->latin1 ? room / 2 : room;
	const sw_status rc =
		(c->packed ? bytes_unpack : bytes_read)(c, c->text + c->len, room, &got, err);
	if (rc != SW_OK)
		return rc;
	c->end = got == 0;
	c->len += c->latin1 ? latin1_widen(c->text + c->len, got) : got;
	c->text[c->len] = '\n'; /* where each scan ends */
	return SW_OK;
}

/* What is no text, by its first bytes. */
static const struct {
	const char *bytes, *name;
} packers[] = {{"\x1f\x8b", "gzip"},         {"BZh", "bzip2"},
	       {"\xfd\x37\x7aXZ", "xz"},     {"PK\3\4", "zip, or a workbook"},
	       {"\x28\xb5\x2f\xfd", "zstd"}, {"\xd0\xcf\x11\xe0", "an old workbook"},
	       {"PAR1", "Parquet"}};

static const char *packed_by(const struct sw_csv_reader *c)
{
	for (size_t i = 0; i < sizeof packers / sizeof *packers; i++) {
		const size_t n = strlen(packers[i].bytes);

		if (c->len >= n && memcmp(c->text, packers[i].bytes, n) == 0)
			return packers[i].name;
	}
	return NULL;
}

/* What was read is the beginning of a gzip file. */
static sw_status unpack_begin(struct sw_csv_reader *c, struct sw_err *err)
{
	c->packed = sw_calloc(1, sizeof *c->packed);
	if (!c->packed || inflateInit2(&c->packed->z, 15 + 16) != Z_OK)
		return csv_no_memory(c, err);
	memcpy(c->packed->in, c->text, c->len);
	c->packed->z.next_in = c->packed->in;
	c->packed->z.avail_in = (uInt)c->len;
	c->len = 0;
	return SW_OK;
}

static sw_status front_read(struct sw_csv_reader *c, bool latin1, struct sw_err *err)
{
	const char *by;
	sw_status rc;

	c->text = sw_calloc(1, 4 * BLOCK + PAD);
	if (!c->text)
		return csv_no_memory(c, err);
	c->size = 2 * BLOCK; /* so that Latin-1 has room to grow */
	rc = csv_fill(c, err);
	c->size = 4 * BLOCK;
	by = packed_by(c);
	if (rc == SW_OK && by == packers[0].name)
		rc = unpack_begin(c, err);
	/* from now on: a packed file's own bytes are none of its text */
	c->latin1 = latin1;
	if (rc == SW_OK && !by && latin1)
		c->len = latin1_widen(c->text, c->len);
	c->end = false;
	while (rc == SW_OK && !c->end && c->len < BLOCK)
		rc = csv_fill(c, err);
	by = packed_by(c); /* twice, too */
	if (rc == SW_OK && by)
		return sw_err_at(err, SW_INVALID, "/path",
				 "%s is packed (%s): unpack it, or save it as a CSV file",
				 c->file.show, by);
	return rc;
}

sw_status csv_front(struct sw_csv_reader *c, const char *path, bool latin1, struct sw_err *err)
{
	sw_status rc = SW_OK;

	if (strcmp(path, "-") == 0)
		c->file = (struct sw_data_file){.fd = STDIN_FILENO, .show = "standard input"};
	else
		rc = sw_data_file_open_any(&c->file, path, "/path", err);
	if (rc == SW_OK)
		rc = front_read(c, latin1, err);
	if (rc != SW_OK)
		return rc;
	if (c->len >= 2 &&
	    (memcmp(c->text, "\xff\xfe", 2) == 0 || memcmp(c->text, "\xfe\xff", 2) == 0))
		return sw_err_at(err, SW_INVALID, "/path",
				 "%s is UTF-16: convert the file (iconv -f UTF-16 -t UTF-8)",
				 c->file.show);
	if (c->len >= 3 && memcmp(c->text, "\xef\xbb\xbf", 3) == 0)
		c->at = 3; /* a byte order mark */
	return SW_OK;
}

void csv_front_close(struct sw_csv_reader *c)
{
	if (c->file.fd != STDIN_FILENO)
		sw_data_file_close(&c->file);
	if (c->packed)
		(void)inflateEnd(&c->packed->z);
	free(c->packed);
	free(c->text);
}

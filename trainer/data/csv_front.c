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

sw_status csv_no_memory(const struct sw_csv_reader *c, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory to read %s", c->file.show);
}

/* gzip, which may be several behind one another, is unpacked by the way. */
static sw_status bytes_read(const struct sw_csv_reader *c, void *to, size_t room, size_t *got,
			    struct sw_err *err)
{
	const int n = sw_fault_hit(SW_FAULT_IO) ? (errno = EIO, -1)
						: gzread(c->gz, to, (unsigned)room);
	int why = Z_OK;

	sw_beat();
	*got = n > 0 ? (size_t)n : 0;
	if (n <= 0)
		(void)gzerror(c->gz, &why);
	if (why == Z_MEM_ERROR)
		return csv_no_memory(c, err);
	if (why == Z_DATA_ERROR)
		return sw_err_at(err, SW_INVALID, "/path", "%s is damaged: its gzip is none",
				 c->file.show);
	if (why == Z_BUF_ERROR)
		return sw_err_at(err, SW_INVALID, "/path", "%s is cut off: its gzip has no end",
				 c->file.show);
	return n < 0 ? sw_err_at(err, SW_IO, "/path", "%s: %s", c->file.show, strerror(errno))
		     : SW_OK;
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
	const sw_status rc = bytes_read(c, c->text + c->len, room, &got, err);
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

static sw_status front_read(struct sw_csv_reader *c, bool latin1, struct sw_err *err)
{
	sw_status rc;

	c->text = sw_calloc(1, 4 * BLOCK + PAD);
	if (!c->text)
		return csv_no_memory(c, err);
	c->size = 2 * BLOCK; /* so that Latin-1 has room to grow */
	rc = csv_fill(c, err);
	c->size = 4 * BLOCK;
	const char *by = packed_by(c);

	if (rc == SW_OK && by)
		return sw_err_at(err, SW_INVALID, "/path",
				 "%s is packed (%s): unpack it, or save it as a CSV file",
				 c->file.show, by);
	/* from now on: other files' first bytes are none of their text */
	c->latin1 = latin1;
	if (latin1)
		c->len = latin1_widen(c->text, c->len);
	while (rc == SW_OK && !c->end && c->len < BLOCK)
		rc = csv_fill(c, err);
	return rc;
}

sw_status csv_front(struct sw_csv_reader *c, const char *path, bool latin1, struct sw_err *err)
{
	sw_status rc = SW_OK;

	if (strcmp(path, "-") == 0)
		c->file = (struct sw_data_file){.fd = dup(STDIN_FILENO), .show = "standard input"};
	else
		rc = sw_data_file_open_any(&c->file, path, "/path", err);
	if (rc != SW_OK)
		return rc;
	c->gz = gzdopen(c->file.fd, "rb");
	if (!c->gz) {
		sw_data_file_close(&c->file);
		return csv_no_memory(c, err);
	}
	(void)gzbuffer(c->gz, BLOCK / 4);
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
	if (c->gz)
		(void)gzclose_r(c->gz);
	free(c->text);
}

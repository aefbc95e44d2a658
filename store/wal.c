#include "store/wal.h"
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define HEADER      ((size_t)32)
#define FRAME       ((size_t)24) /* a frame's own header; a page follows */
#define PAGE_MAX    ((uint32_t)65536)
#define PAGE_OURS   ((uint32_t)4096) /* SQLite's default, for a log whose header does not say */
#define MAGIC       0x377f0682U      /* | 1: the words that are summed are big-endian */
#define VERSION     3007000U
#define SALTS       ((size_t)8)  /* their place in a frame's header; two words */
#define SUM         ((size_t)16) /* the checksum's there; two words */
#define HEADER_SALT ((size_t)16)
#define HEADER_SUM  ((size_t)24)

struct sum {
	uint32_t a, b;
};

struct log {
	int fd;
	bool big; /* endian words are summed */
	uint32_t page;
	unsigned char salts[8];
	/* The sum that a frame goes on from: as it is stored in front of it, and as what is in
	 * front of it adds up. They differ behind damage, which may be in either. */
	struct sum stored, added;
	unsigned char frame[FRAME + PAGE_MAX];
};

static uint32_t big_word(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t little_word(const unsigned char *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* n: a multiple of 8. */
static struct sum add_up(struct sum s, bool big, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		/* The sums of SQLite's file format: each word depends on all before it, so that a
		 * frame of another place, or of an earlier log, does not fit. */
		s.a += (big ? big_word(p + i) : little_word(p + i)) + s.b;
		s.b += (big ? big_word(p + i + 4) : little_word(p + i + 4)) + s.a;
	}
	return s;
}

static struct sum sum_at(const unsigned char *p)
{
	return (struct sum){big_word(p), big_word(p + 4)};
}

static bool is_same_sum(struct sum x, struct sum y)
{
	return x.a == y.a && x.b == y.b;
}

static bool read_at(const struct log *l, void *out, size_t n, off_t at)
{
	return pread(l->fd, out, n, at) == (ssize_t)n;
}

/* false: SQLite takes nothing from this log. What its header says is then not believed: the log is
 * this machine's, of a database that has SQLite's own page size, and the frames bear the salts,
 * too. */
static bool read_header(struct log *l)
{
	unsigned char h[HEADER];

	if (!read_at(l, h, sizeof h, 0))
		return false;
	const uint32_t magic = big_word(h), page = big_word(h + 8);
	l->big = (magic & 1) != 0;
	l->page = page;
	memcpy(l->salts, h + HEADER_SALT, sizeof l->salts);
	l->stored = sum_at(h + HEADER_SUM);
	l->added = add_up((struct sum){0, 0}, l->big, h, HEADER_SUM);
	if ((magic & ~1U) == MAGIC && big_word(h + 4) == VERSION && page >= 512 &&
	    page <= PAGE_MAX && (page & (page - 1)) == 0 && is_same_sum(l->stored, l->added))
		return true;
	l->big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	l->page = PAGE_OURS;
	l->added = add_up((struct sum){0, 0}, l->big, h, HEADER_SUM);
	(void)read_at(l, l->salts, sizeof l->salts, (off_t)(HEADER + SALTS));
	return false;
}

/* Is the frame whole, seen from the sums in front of it? Moves these on. *follows: from the stored
 * one, which is all that SQLite looks at. */
static bool check_frame(struct log *l, bool *follows)
{
	const unsigned char *f = l->frame;
	const struct sum its = sum_at(f + SUM);
	const struct sum from_stored =
		add_up(add_up(l->stored, l->big, f, SALTS), l->big, f + FRAME, l->page);
	const struct sum from_added =
		is_same_sum(l->stored, l->added)
			? from_stored
			: add_up(add_up(l->added, l->big, f, SALTS), l->big, f + FRAME, l->page);
	const bool salts = memcmp(f + SALTS, l->salts, sizeof l->salts) == 0 && big_word(f) != 0;

	*follows = salts && is_same_sum(from_stored, its);
	const bool whole = *follows || (salts && is_same_sum(from_added, its));
	/* The next frame goes on from what this one says, as SQLite's own recovery does. */
	l->stored = its;
	l->added = whole ? its : from_added;
	return whole;
}

static struct sw_wal_lost walk_frames(struct log *l, bool right)
{
	struct sw_wal_lost lost = {.frame = 0};
	int64_t whole = 0, end = 0; /* of the last commit that SQLite takes */

	for (int64_t n = 1;; n++) {
		const off_t at = (off_t)HEADER + (off_t)(n - 1) * (off_t)(FRAME + l->page);
		bool follows;

		/* The end, or a frame that was cut short: nothing whole can stand behind it. */
		if (!read_at(l, l->frame, FRAME + l->page, at)) {
			lost.rest = lseek(l->fd, 0, SEEK_END) - end;
			return lost;
		}
		const bool good = check_frame(l, &follows);
		if (right && !follows) {
			right = false;
			lost.frame = n;
			continue;
		}
		/* The size of the database, in the frame that ends a commit; 0 in all others. */
		if (right && big_word(l->frame + 4) != 0) {
			lost.found++;
			end = at + (off_t)(FRAME + l->page);
		}
		whole += !right && good;
		if (!right && good && big_word(l->frame + 4) != 0) { /* it ends a commit */
			lost.commits++;
			lost.frames = whole;
		}
	}
}

struct sw_wal_lost sw_wal_walk(const char *path)
{
	struct sw_wal_lost lost = {.frame = 0};
	struct log l = {.fd = open(path, O_RDONLY | O_CLOEXEC)};

	if (l.fd < 0)
		return lost;
	lost = walk_frames(&l, read_header(&l));
	(void)close(l.fd);
	return lost;
}

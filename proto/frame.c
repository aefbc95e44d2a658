#include "proto/frame.h"
#include <string.h>

#define READ_N ((size_t)64 * 1024)

void sw_frame_init(struct sw_frame *f)
{
	*f = (struct sw_frame){0};
	/* A whole line, its "\r\n", and one read beyond it. */
	sw_buf_init(&f->in, SW_FRAME_MAX + 2 + 2 * READ_N);
}

void sw_frame_fini(struct sw_frame *f)
{
	sw_buf_fini(&f->in);
	f->scanned = f->taken = 0;
	f->skipping = false;
}

sw_status sw_frame_room(struct sw_frame *f, char **at, size_t *n)
{
	/* Lines that were given out are in front of this: they end here, and the rest moves to the
	 * front once a read and not once a line. */
	sw_buf_drop(&f->in, f->taken);
	f->scanned -= f->taken;
	f->taken = 0;

	const size_t left = f->in.max - f->in.len;
	const size_t want = left < READ_N ? left : READ_N;
	if (want == 0)
		return SW_TOO_BIG;
	if (sw_buf_reserve(&f->in, want) != SW_OK) {
		f->in.failed = SW_OK; /* the bytes are as they were: there may be memory later */
		return SW_NOMEM;
	}
	*at = f->in.data + f->in.len;
	*n = want;
	return SW_OK;
}

void sw_frame_fed(struct sw_frame *f, size_t n)
{
	/* sw_frame_room() has reserved n and one more, so the NUL has its place. */
	f->in.len += n;
	f->in.data[f->in.len] = '\0';
}

/* The first newline that has not been looked at, or NULL. */
static char *newline(const struct sw_frame *f)
{
	/* Nothing new has come: each byte is looked at once. */
	if (f->in.len == f->scanned)
		return NULL;
	return memchr(f->in.data + f->scanned, '\n', f->in.len - f->scanned);
}

/* There is no newline: wait for more, unless there is too much already. */
static sw_status unfinished(struct sw_frame *f)
{
	/* Each byte is searched for a newline once, however small the pieces are in which a line
	 * comes. */
	f->scanned = f->in.len;
	const bool over = f->in.len - f->taken > SW_FRAME_MAX + 1;
	if (f->skipping || over)
		f->taken = f->in.len;
	/* A line that is too long is told of once; its rest is dropped as it comes. */
	if (f->skipping || !over)
		return SW_OK;
	f->skipping = true;
	return SW_TOO_BIG;
}

sw_status sw_frame_next(struct sw_frame *f, char **line, size_t *len)
{
	char *end;

	*line = NULL;
	*len = 0;
	while ((end = newline(f)) != NULL) {
		char *start = f->in.data + f->taken;
		size_t n = (size_t)(end - start);
		const bool skip = f->skipping;

		f->taken += n + 1;
		f->scanned = f->taken;
		f->skipping = false;
		if (n > 0 && start[n - 1] == '\r')
			n--;
		/* The rest of a line that was too long, or an empty one. */
		if (skip || n == 0)
			continue;
		if (n > SW_FRAME_MAX)
			return SW_TOO_BIG;
		start[n] = '\0';
		*line = start;
		*len = n;
		return SW_OK;
	}
	return unfinished(f);
}

bool sw_frame_pending(const struct sw_frame *f)
{
	return newline(f) != NULL;
}

static size_t waiting(const struct sw_frame *f)
{
	return f->in.len - f->taken;
}

void sw_frame_rest(struct sw_frame *f)
{
	const size_t n = waiting(f);
	struct sw_buf rest;

	/* Most of the memory is in use, or soon will be again. */
	if (n >= f->in.cap / 4)
		return;
	sw_buf_init(&rest, f->in.max);
	/* A copy into a buffer of its own size: realloc() to a smaller one may keep the block as it
	 * is. */
	if (sw_buf_add(&rest, f->in.data + f->taken, n) != SW_OK)
		return; /* it stays where it is */
	sw_buf_fini(&f->in);
	f->in = rest;
	f->scanned -= f->taken;
	f->taken = 0;
}

size_t sw_frame_bytes(const struct sw_frame *f)
{
	return f->in.cap;
}

bool sw_frame_unfinished(const struct sw_frame *f)
{
	return f->skipping || (f->in.len > f->taken && newline(f) == NULL);
}

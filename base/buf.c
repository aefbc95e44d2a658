#include "base/buf.h"
#include "base/fault.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sw_buf_init(struct sw_buf *b, size_t max)
{
	*b = (struct sw_buf){.max = max};
}

void sw_buf_fini(struct sw_buf *b)
{
	free(b->data);
	*b = (struct sw_buf){.max = b->max};
}

static sw_status fail(struct sw_buf *b, sw_status why)
{
	if (b->failed == SW_OK)
		b->failed = why;
	return b->failed;
}

sw_status sw_buf_reserve(struct sw_buf *b, size_t n)
{
	size_t cap = b->cap == 0 ? 64 : b->cap;

	/* The first failure stays, so that a caller may look once, at the end. */
	if (b->failed != SW_OK)
		return b->failed;
	/* len never passes max, so this cannot wrap. */
	if (n > b->max - b->len)
		return fail(b, SW_TOO_BIG);
	const size_t need = b->len + n + 1;
	/* There is room. cap counts the NUL, too. */
	if (need <= b->cap)
		return SW_OK;
	while (cap < need)
		/* One more than max at most, for the NUL. */
		cap = cap > b->max / 2 ? b->max + 1 : cap * 2;
	char *grown = sw_fault_hit(SW_FAULT_MALLOC) ? NULL : realloc(b->data, cap);
	if (grown == NULL)
		return fail(b, SW_NOMEM);
	b->data = grown;
	b->cap = cap;
	b->data[b->len] = '\0';
	return SW_OK;
}

sw_status sw_buf_add(struct sw_buf *b, const void *bytes, size_t n)
{
	const sw_status rc = sw_buf_reserve(b, n);

	if (rc != SW_OK)
		return rc;
	if (n > 0)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
	return SW_OK;
}

sw_status sw_buf_adds(struct sw_buf *b, const char *text)
{
	return sw_buf_add(b, text, strlen(text));
}

sw_status sw_buf_addf(struct sw_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	/* Printed twice: the first time only to count. */
	const int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return fail(b, SW_INVALID);
	if (sw_buf_reserve(b, (size_t)n) != SW_OK)
		return b->failed;
	va_start(ap, fmt);
	(void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return SW_OK;
}

void sw_buf_drop(struct sw_buf *b, size_t n)
{
	assert(n <= b->len);
	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}

void sw_buf_clear(struct sw_buf *b)
{
	b->len = 0;
	b->failed = SW_OK;
	if (b->data != NULL)
		b->data[0] = '\0';
}

char *sw_buf_take(struct sw_buf *b, size_t *len)
{
	char *bytes = NULL;

	/* An empty buffer has no bytes yet: this gives it the NUL that the caller is promised. */
	if (sw_buf_reserve(b, 0) == SW_OK) {
		bytes = b->data;
		if (len != NULL)
			*len = b->len;
		b->data = NULL;
	}
	sw_buf_fini(b);
	return bytes;
}

#include "proto/json_key.h"
#include "base/utf8.h"
#include <string.h>

/* The key's bytes one at a time, escapes resolved. */
struct unescape {
	const char *p, *end;
	char out[4];
	size_t n, i;
};

uint32_t sw_json_hex4(const char *p)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++) {
		const char c = p[i];
		const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
		v = v * 16 + (uint32_t)digit;
	}
	return v;
}

/* The next byte, or -1 at the end. The key has been checked: every escape is whole. */
static int unescape_next(struct unescape *u)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";

	if (u->i < u->n)
		return (unsigned char)u->out[u->i++];
	if (u->p == u->end)
		return -1;
	if (*u->p != '\\')
		return (unsigned char)*u->p++;
	if (u->p[1] != 'u') {
		const char *which = strchr(from, u->p[1]);
		const char c = which != NULL ? to[which - from] : u->p[1];
		u->p += 2;
		return (unsigned char)c;
	}
	uint32_t c = sw_json_hex4(u->p + 2);
	u->p += 6;
	if (c >= 0xd800 && c < 0xdc00) {
		c = 0x10000 + ((c - 0xd800) << 10) + (sw_json_hex4(u->p + 2) - 0xdc00);
		u->p += 6;
	}
	u->n = sw_utf8_put(c, u->out);
	u->i = 1;
	return (unsigned char)u->out[0];
}

int sw_json_key_compare(const struct sw_json_key *a, const struct sw_json_key *b)
{
	/* Most keys have no escape: bytes compare as they lie. */
	if (!a->escaped && !b->escaped) {
		const size_t n = a->len < b->len ? a->len : b->len;
		const int d = memcmp(a->at, b->at, n);
		return d != 0 ? d : (a->len > b->len) - (a->len < b->len);
	}
	struct unescape ua = {.p = a->at, .end = a->at + a->len};
	struct unescape ub = {.p = b->at, .end = b->at + b->len};
	/* "a" and "\u0061" are the same key, and cJSON would keep both. */
	for (;;) {
		const int ca = unescape_next(&ua), cb = unescape_next(&ub);
		if (ca != cb)
			return ca < cb ? -1 : 1;
		if (ca < 0)
			return 0;
	}
}

void sw_json_key_text(const struct sw_json_key *k, char *out, size_t cap)
{
	struct unescape u = {.p = k->at, .end = k->at + k->len};
	size_t n = 0;

	for (int c; n + 1 < cap && (c = unescape_next(&u)) >= 0;)
		out[n++] = (char)c;
	out[n] = '\0';
}

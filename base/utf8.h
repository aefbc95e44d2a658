/* base/utf8.h — one step through UTF-8 (RFC 3629: no overlong forms, no surrogates). Pure. */
#ifndef SW_BASE_UTF8_H
#define SW_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of the sequence that starts at s[0..n), 1 to 4, or 0 where there is no valid one. */
static inline size_t sw_utf8_step(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	if (n == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	const size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n < len)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

/* The code point at *s, which is not the NUL; *s is behind it then. UINT32_MAX: a byte that starts
 * none. */
static inline uint32_t sw_utf8_next(const char **s)
{
	const char *p = *s;
	const size_t n = sw_utf8_step(p, strnlen(p, 4));
	uint32_t rune;

	*s = p + (n > 0 ? n : 1);
	if (n == 0)
		return UINT32_MAX;
	if (n == 1)
		return (unsigned char)p[0];
	rune = (unsigned char)p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		rune = rune << 6 | ((unsigned char)p[i] & 0x3fu);
	return rune;
}

/* Writes code point c (at most 0x10ffff) to out; returns its bytes. */
static inline size_t sw_utf8_put(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | (c >> 6));
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | (c >> 12));
		out[1] = (char)(0x80 | ((c >> 6) & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18));
	out[1] = (char)(0x80 | ((c >> 12) & 0x3f));
	out[2] = (char)(0x80 | ((c >> 6) & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

#endif

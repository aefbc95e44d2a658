#include "base/text.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_among(const unsigned char *p, unsigned char from, unsigned char to)
{
	return *p >= from && *p <= to;
}

/* Bytes at s[0..n), n > 0, that no line shows as they are: a control character (C0, DEL, C1), a
 * line separator, one that turns the direction of text, or a byte that is no UTF-8. 0: none. */
static size_t harm_at(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	const size_t len = sw_utf8_step(s, n);
	bool harm = len == 0;

	if (len == 1)
		harm = *p < 0x20 || *p == 0x7f;
	else if (len == 2) /* U+0080 to U+009F, U+061C */
		harm = p[0] == 0xc2 ? p[1] < 0xa0 : p[0] == 0xd8 && p[1] == 0x9c;
	else if (len == 3 && p[0] == 0xe2 && p[1] == 0x80) /* U+200E, U+200F, U+2028 to U+202E */
		harm = is_among(p + 2, 0x8e, 0x8f) || is_among(p + 2, 0xa8, 0xae);
	else if (len == 3 && p[0] == 0xe2 && p[1] == 0x81) /* U+2066 to U+2069 */
		harm = is_among(p + 2, 0xa6, 0xa9);
	if (!harm)
		return 0;
	/* A byte that is no UTF-8 is taken alone. */
	return len == 0 ? 1 : len;
}

void sw_text_plain(char *s)
{
	size_t left = strlen(s);
	char *to = s;

	while (left > 0) {
		const size_t harm = harm_at(s, left);
		const size_t step = harm > 0 ? harm : sw_utf8_step(s, left);

		if (harm > 0)
			*to = '?';
		else
			memmove(to, s, step);
		to += harm > 0 ? 1 : step;
		s += step;
		left -= step;
	}
	*to = '\0';
}

const char *sw_text_show(const char *s, char out[44])
{
	size_t n = 0;

	for (; s[n] && n < 40; n++)
		out[n] = s[n] >= ' ' && s[n] <= '~' ? s[n] : '?';
	strcpy(out + n, s[n] ? "..." : "");
	return out;
}

const char *sw_text_count(uint64_t n, char out[32])
{
	char digits[24];
	const int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
	char *to = out;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

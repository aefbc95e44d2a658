#include "base/term.h"
#include "base/utf8.h"
#include <wchar.h>

/* Controls, and what moves, hides or turns round the text about it. */
static bool harmful(uint32_t r)
{
	return r < 0x20 || (r >= 0x7f && r <= 0x9f) || r == UINT32_MAX || r == 0xad ||
	       (r >= 0x200b && r <= 0x200f) || (r >= 0x2028 && r <= 0x202e) ||
	       (r >= 0x2060 && r <= 0x206f) || r == 0xfeff || r == 0x061c ||
	       (r >= 0xe000 && r <= 0xf8ff) || (r >= 0xfff9 && r <= 0xfffb) || r >= 0xe0000 ||
	       (r & 0xfffe) == 0xfffe; /* no character: XML has no way to say them */
}

uint32_t sw_term_rune(const char **s)
{
	if (**s == '\0')
		return 0;
	const uint32_t r = sw_utf8_next(s);
	return harmful(r) ? '?' : r;
}

uint32_t sw_term_next(const char **s, bool utf8, int *columns)
{
	uint32_t r;

	*columns = 0;
	if ((r = sw_term_rune(s)) == 0)
		return 0;
	if (r > 0x7e && !utf8)
		r = '?';
	*columns = 1;
	if (r > 0x7e) {
		const int w = wcwidth((wchar_t)r);

		if (w < 0)
			r = '?';
		else
			*columns = w;
	}
	return r;
}

int sw_term_width(const char *s, bool utf8)
{
	int total = 0, w;

	while (sw_term_next(&s, utf8, &w) != 0)
		total += w;
	return total;
}

void sw_term_add_rune(struct sw_buf *b, uint32_t rune)
{
	char out[4];

	(void)sw_buf_add(b, out, sw_utf8_put(rune, out)); /* a failure latches in b */
}

void sw_term_add(struct sw_buf *b, const char *s, bool utf8, int max)
{
	const bool cut = max > 0 && sw_term_width(s, utf8) > max;
	int used = 0, w;
	uint32_t r;

	while ((r = sw_term_next(&s, utf8, &w)) != 0) {
		if (cut && used + w > max - 1)
			break;
		sw_term_add_rune(b, r);
		used += w;
	}
	if (cut)
		sw_term_add_rune(b, utf8 ? 0x2026 : '~');
}

void sw_term_add_lines(struct sw_buf *b, const char *s, bool utf8)
{
	int w;

	while (*s != '\0') {
		if (*s == '\n' || *s == '\t')
			(void)sw_buf_add(b, s++, 1);
		else
			sw_term_add_rune(b, sw_term_next(&s, utf8, &w));
	}
}

static void add_escape(struct sw_buf *b, uint32_t rune)
{
	if (rune > 0x10ffff)
		rune = 0xfffd; /* bytes that are no UTF-8 */
	if (rune < 0x10000)
		(void)sw_buf_addf(b, "\\u%04x", (unsigned)rune);
	else
		(void)sw_buf_addf(b, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (rune >> 10)),
				  (unsigned)(0xdc00 + (rune & 0x3ff)));
}

void sw_term_add_json(struct sw_buf *b, const char *json, bool utf8)
{
	for (const char *s = json; *s != '\0';) {
		const uint32_t rune = sw_utf8_next(&s);

		if (rune < 0x20) /* space between values: strings hold none of these */
			(void)sw_buf_adds(b, " ");
		else if (harmful(rune) || (rune > 0x7e && !utf8))
			add_escape(b, rune);
		else
			sw_term_add_rune(b, rune);
	}
}

#include "base/text.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Matches what no line may show as it is: a control character (C0, DEL, C1), a line separator, one
 * that turns the direction of text, or a byte that is no UTF-8. */
static bool is_harmful(uint32_t r)
{
	return r < 0x20 || (r >= 0x7f && r <= 0x9f) || r == 0x061c || r == 0x200e || r == 0x200f ||
	       (r >= 0x2028 && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) || r == UINT32_MAX;
}

void sw_text_plain(char *s)
{
	const char *at = s;
	char *to = s;

	while (*at != '\0') {
		const char *from = at;

		if (is_harmful(sw_utf8_next(&at)))
			*to++ = '?';
		else
			while (from < at)
				*to++ = *from++;
	}
	*to = '\0';
}

const char *sw_text_show(const char *s, char out[44])
{
	const char *from = s;
	size_t n = 0;

	while (*from != '\0') {
		const bool harmful = is_harmful(sw_utf8_next(&s));
		const size_t len = harmful ? 1 : (size_t)(s - from);

		if (n + len > 40)
			break;
		memcpy(out + n, harmful ? "?" : from, len);
		n += len;
		from = s;
	}
	strcpy(out + n, *from != '\0' ? "..." : "");
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

bool sw_text_nth(const char *list, size_t i, char *out, size_t cap)
{
	for (; i > 0 && *list; i--) {
		list += strcspn(list, ",");
		list += *list == ',';
	}
	(void)snprintf(out, cap, "%.*s", (int)strcspn(list, ","), list);
	return *list != '\0';
}

#include "daemon/sweep/run/suggest_state.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

void sw_suggest_state_write(const unsigned char *state, size_t n, struct sw_buf *out)
{
	static const char digits[] = "0123456789abcdef";

	/* A failure stays in the buffer, which the caller looks at. */
	(void)sw_buf_reserve(out, 2 * n + 1);
	for (size_t i = 0; i < n; i++) {
		const char pair[2] = {digits[state[i] >> 4], digits[state[i] & 15]};

		(void)sw_buf_add(out, pair, 2);
	}
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

sw_status sw_suggest_state_read(const char *text, unsigned char **state, size_t *n)
{
	const size_t len = strlen(text);

	*state = NULL;
	*n = 0;
	if (len % 2 != 0)
		return SW_INVALID;
	if (len == 0)
		return SW_OK;
	unsigned char *bytes = sw_malloc(len / 2);
	if (bytes == NULL)
		return SW_NOMEM;
	for (size_t i = 0; i < len / 2; i++) {
		const int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);

		/* The text comes from the database, which may be damaged: the replay refuses the
		 * sweep, and nothing is guessed. */
		if (high < 0 || low < 0) {
			free(bytes);
			return SW_INVALID;
		}
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	*state = bytes;
	*n = len / 2;
	return SW_OK;
}

#include "base/csv.h"
#include <string.h>

void sw_csv_field(struct sw_buf *b, const char *text)
{
	if (strpbrk(text, ",\"\r\n") == NULL) {
		(void)sw_buf_adds(b, text);
		return;
	}
	(void)sw_buf_adds(b, "\"");
	for (; *text != '\0'; text++) {
		if (*text == '"')
			(void)sw_buf_adds(b, "\"");
		(void)sw_buf_add(b, text, 1);
	}
	(void)sw_buf_adds(b, "\"");
}

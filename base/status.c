#include "base/status.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static SW_PRINTF(4, 0) sw_status
	set(struct sw_err *err, sw_status code, const char *ptr, const char *fmt, va_list ap)
{
	if (err == NULL)
		return code;
	/* The first error wins: later ones mostly follow from it. */
	if (err->code != SW_OK)
		return err->code;
	err->code = code;
	(void)vsnprintf(err->msg, sizeof err->msg, fmt, ap);
	(void)snprintf(err->ptr, sizeof err->ptr, "%s", ptr);
	/* It may hold names and values of a client or a file, and goes to terminals and logs. */
	sw_text_plain(err->msg);
	sw_text_plain(err->ptr);
	return code;
}

sw_status sw_err_set(struct sw_err *err, sw_status code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const sw_status rc = set(err, code, "", fmt, ap);
	va_end(ap);
	return rc;
}

sw_status sw_err_at(struct sw_err *err, sw_status code, const char *ptr, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const sw_status rc = set(err, code, ptr, fmt, ap);
	va_end(ap);
	return rc;
}

void sw_err_prefix(struct sw_err *err, const char *prefix)
{
	char whole[2 * sizeof err->ptr];

	if (err == NULL || err->code == SW_OK)
		return;
	(void)snprintf(whole, sizeof whole, "%s%s", prefix, err->ptr);
	whole[sizeof err->ptr - 1] = '\0';
	memcpy(err->ptr, whole, strlen(whole) + 1);
}

const char *sw_status_str(sw_status code)
{
	switch (code) {
#define SW_STATUS_CASE(c, text)                                                                    \
	case c:                                                                                    \
		return text;
		SW_STATUS_MAP(SW_STATUS_CASE)
#undef SW_STATUS_CASE
	}
	return "unknown status";
}

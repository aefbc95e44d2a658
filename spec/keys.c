#include "spec/keys.h"
#include "proto/json.h"
#include <stdarg.h>
#include <stdio.h>

sw_status sw_spec_at_key(struct sw_err *err, const char *key, const char *fmt, ...)
{
	char line[sizeof err->msg], ptr[sizeof err->ptr] = "";
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	sw_json_pointer_add(ptr, sizeof ptr, key);
	return sw_err_at(err, SW_INVALID, ptr, "%s", line);
}

sw_status sw_spec_key_wrong(const char *key, struct sw_err *err, const char *what)
{
	return sw_spec_at_key(err, key, "\"%s\" %s", key, what);
}

sw_status sw_spec_first(const struct sw_faults *f, struct sw_err *err)
{
	return f->n == 0 ? SW_OK
			 : sw_err_at(err, f->list[0].code, f->list[0].ptr, "%s", f->list[0].msg);
}

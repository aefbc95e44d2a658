#include "spec/keys.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sw_spec_known_here(const char *const *known, size_t n_known, char list[SW_SPEC_KNOWN_HERE])
{
	size_t n = (size_t)snprintf(list, SW_SPEC_KNOWN_HERE, "; known here: ");

	for (size_t i = 0; i < n_known; i++) {
		/* An error's line is short: it shows the first ones. */
		if (n + strlen(known[i]) + sizeof ", , ..." > SW_SPEC_KNOWN_HERE) {
			(void)snprintf(list + n, SW_SPEC_KNOWN_HERE - n, ", ...");
			return;
		}
		n += (size_t)snprintf(list + n, SW_SPEC_KNOWN_HERE - n, "%s%s", i > 0 ? ", " : "",
				      known[i]);
	}
}

sw_status sw_spec_unknown(const char *what, const char *name, const char *const *known, size_t n,
			  const char *tail, const char *ptr, struct sw_err *err)
{
	const char *near = sw_nearest(name, known, n);
	char did[SW_DID_YOU_MEAN];

	return sw_err_at(err, SW_INVALID, ptr, "unknown %s \"%.64s\"%s", what, name,
			 near != NULL ? sw_did_you_mean(near, did) : tail);
}

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

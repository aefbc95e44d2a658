/* spec/keys.h — the lines for what is wrong that readers of a spec share. Pointers in errors are
 * relative to the object. Internal to spec/. */
#ifndef SW_SPEC_KEYS_H
#define SW_SPEC_KEYS_H

#include "base/status.h"
#include "proto/form.h"
#include <cjson/cJSON.h>
#include <stddef.h>

#define SW_SPEC_N(array) (sizeof(array) / sizeof(array)[0])

/* SW_INVALID at "/key", with a formatted line. */
SW_NODISCARD sw_status sw_spec_at_key(struct sw_err *err, const char *key, const char *fmt, ...)
	SW_PRINTF(3, 4);
/* The line is "KEY" and what is wrong with it. */
SW_NODISCARD sw_status sw_spec_key_wrong(const char *key, struct sw_err *err, const char *what);
/* The first of the faults as the error, if there is any. */
SW_NODISCARD sw_status sw_spec_first(const struct sw_faults *f, struct sw_err *err);

#endif

/* spec/keys.h — what readers of keys share: which keys are known, values of the simple kinds,
 * and the lines for what is wrong. Pointers in errors are relative to the object. Internal to
 * spec/. */
#ifndef SW_SPEC_KEYS_H
#define SW_SPEC_KEYS_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key that people know from elsewhere, or that the design names and this version lacks. Neither
 * use nor line: it is accepted and has no effect. */
struct sw_spec_hint {
	const char *key;
	const char *use;  /* not NULL: "did you mean" this key of ours */
	const char *line; /* not NULL: "is not supported by this version", and what to do */
};

struct sw_spec_keys {
	const char *const *known;
	size_t n_known;
	const struct sw_spec_hint *hints;
	size_t n_hints;
};

#define SW_SPEC_N(array) (sizeof(array) / sizeof(array)[0])

/* The first key of the object that is not known: SW_INVALID at "/key", with a suggestion. */
SW_NODISCARD sw_status sw_spec_check_keys(const cJSON *object, const struct sw_spec_keys *keys,
					  struct sw_err *err);

/* SW_INVALID at "/key" unless v is an integer in [min, max]. */
SW_NODISCARD sw_status sw_spec_read_u64(const cJSON *v, const char *key, uint64_t min, uint64_t max,
					uint64_t *out, struct sw_err *err);

/* SW_INVALID at "/key" unless v is a finite number in [min, max], or above min where it is open. */
SW_NODISCARD sw_status sw_spec_read_real(const cJSON *v, const char *key, double min, bool open,
					 double max, double *out, struct sw_err *err);
/* SW_INVALID at "/key" unless v is true or false. */
SW_NODISCARD sw_status sw_spec_read_bool(const cJSON *v, const char *key, bool *out,
					 struct sw_err *err);

/* The same of an object's member; *out stays where there is none. */
SW_NODISCARD sw_status sw_spec_key_u64(const cJSON *object, const char *key, uint64_t min,
				       uint64_t max, uint64_t *out, struct sw_err *err);
SW_NODISCARD sw_status sw_spec_key_real(const cJSON *object, const char *key, double min, bool open,
					double max, double *out, struct sw_err *err);
SW_NODISCARD sw_status sw_spec_key_bool(const cJSON *object, const char *key, bool *out,
					struct sw_err *err);

/* SW_INVALID at "/key" unless v is a string of 1 to SW_SPEC_MAX_NAME bytes without control or
 * text-direction characters. */
SW_NODISCARD sw_status sw_spec_read_label(const cJSON *v, const char *key, const char **out,
					  struct sw_err *err);

/* "; known here: a, b, ...": a tail for sw_spec_unknown(). */
#define SW_SPEC_KNOWN_HERE 246
void sw_spec_known_here(const char *const *known, size_t n_known, char list[SW_SPEC_KNOWN_HERE]);
/* The words, up to the NULL behind them, for a message: "sgd", "adam" or "adamw". Returns out. */
const char *sw_spec_one_of(const char *const *words, char *out, size_t cap);
/* SW_INVALID at "/key", with a formatted line. */
SW_NODISCARD sw_status sw_spec_at_key(struct sw_err *err, const char *key, const char *fmt, ...)
	SW_PRINTF(3, 4);
/* The line is "KEY" and what is wrong with it. */
SW_NODISCARD sw_status sw_spec_key_wrong(const char *key, struct sw_err *err, const char *what);
/* SW_INVALID at "/key": "KEY" must be WANT, and v is something else. */
SW_NODISCARD sw_status sw_spec_must_be(const cJSON *v, const char *key, const char *want,
				       struct sw_err *err);
/* SW_INVALID at ptr: unknown WHAT "NAME", with the nearest of those known, or else with the
 * tail. */
SW_NODISCARD sw_status sw_spec_unknown(const char *what, const char *name, const char *const *known,
				       size_t n, const char *tail, const char *ptr,
				       struct sw_err *err);

#endif

/*
 * proto/json.h — strict JSON in (cJSON behind a pre-check), JSON text out (a writer without a
 * tree).
 *
 * Limits   depth 32, 100,000 values, numbers of at most 63 characters and finite, valid UTF-8, no
 *          duplicate keys in an object, no \u0000, no lone surrogates, nothing after the value.
 *          (cJSON alone takes 1e999, duplicate keys, invalid UTF-8 and `01`: hence the pre-check.)
 * Errors   SW_PARSE with the byte offset in the text and, inside a value, the JSON pointer.
 * Memory   The tree is the caller's: cJSON_Delete().
 */
#ifndef SW_PROTO_JSON_H
#define SW_PROTO_JSON_H

#include "base/buf.h"
#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_JSON_MAX_DEPTH  32
#define SW_JSON_MAX_VALUES 100000
#define SW_JSON_MAX_NUMBER 63 /* what the buffer of cJSON before 1.7.19 holds */
/* 2^53 - 1. Integers up to here survive a double; 2^53 itself may be 2^53 + 1, rounded. */
#define SW_JSON_MAX_INT 9007199254740991.0

/* The pre-check alone. O(len) but for objects, O(k log k) in their keys. */
SW_NODISCARD sw_status sw_json_check(const char *text, size_t len, struct sw_err *err);
SW_NODISCARD sw_status sw_json_check_most(const char *text, size_t len, size_t most,
					  struct sw_err *err);

/* Check, then parse. *out is the caller's. The text need not be NUL-terminated. */
SW_NODISCARD sw_status sw_json_parse(cJSON **out, const char *text, size_t len, struct sw_err *err);
/* The same of a text that comes through no socket, with another limit of values. */
SW_NODISCARD sw_status sw_json_parse_most(cJSON **out, const char *text, size_t len, size_t most,
					  struct sw_err *err);

/* cJSON keeps 1.0 and 1 as the same double. sw_json_parse() marks a number that was written with a
 * point or an exponent by this bit of its type (which cJSON's type tests mask out and its copies
 * keep), and sw_jw_cjson() writes such a number with a point: {"min": 0.0, "max": 1.0} stays a
 * range of reals on its way through the store and back, and a parameter's 1.0 what it is to whoever
 * tells it from 1. */
#define SW_JSON_REAL (1 << 16)

/* A number, integral, within +-(2^53 - 1) and not written with a point or an exponent. */
bool sw_json_is_integer(const cJSON *v);

/* Member of an object by exact key (case counts), or NULL. NULL object is allowed. */
const cJSON *sw_json_get(const cJSON *object, const char *key);
/* A member that is a string, or a number; else what stands for it. */
const char *sw_json_text(const cJSON *object, const char *key, const char *absent);
double sw_json_number(const cJSON *object, const char *key, double absent);
/* True and *out set when v is a number, integral and in [0, 2^53 - 1]. */
bool sw_json_u64(const cJSON *v, uint64_t *out);
/* A member that is such a number; else 0. */
uint64_t sw_json_uint(const cJSON *object, const char *key);

/* Appends "/token" to a pointer in ptr[cap], escaping ~ and / (RFC 6901); cuts at cap. */
void sw_json_pointer_add(char *ptr, size_t cap, const char *token);

/* --- writer: JSON text straight into a buffer; failures latch in the buffer (b->failed) --- */

struct sw_jw {
	struct sw_buf *b;
	bool comma; /* a comma is due before the next key or element */
};

void sw_jw_init(struct sw_jw *w, struct sw_buf *b);
void sw_jw_init_obj(struct sw_jw *w, struct sw_buf *b); /* and opens an object */
void sw_jw_obj(struct sw_jw *w);                        /* { */
void sw_jw_obj_end(struct sw_jw *w);
void sw_jw_arr(struct sw_jw *w); /* [ */
void sw_jw_arr_end(struct sw_jw *w);
void sw_jw_key(struct sw_jw *w, const char *key);
void sw_jw_str(struct sw_jw *w, const char *s); /* escaped; NULL writes null */
void sw_jw_num(struct sw_jw *w,
	       double v); /* shortest text that reads back equal; not finite: null */
void sw_jw_int(struct sw_jw *w, int64_t v);
void sw_jw_bool(struct sw_jw *w, bool v);
void sw_jw_null(struct sw_jw *w);
void sw_jw_raw(struct sw_jw *w, const char *json); /* text that is JSON already; NULL writes null */
void sw_jw_cjson(struct sw_jw *w, const cJSON *v); /* NULL writes null */
/* key and value in one call */
void sw_jw_kstr(struct sw_jw *w, const char *key, const char *s);
void sw_jw_knum(struct sw_jw *w, const char *key, double v);
void sw_jw_kint(struct sw_jw *w, const char *key, int64_t v);
void sw_jw_kbool(struct sw_jw *w, const char *key, bool v);
void sw_jw_knull(struct sw_jw *w, const char *key);
void sw_jw_kobj(struct sw_jw *w, const char *key);
void sw_jw_karr(struct sw_jw *w, const char *key);
/* null unless there is a value */
void sw_jw_kint_opt(struct sw_jw *w, const char *key, bool has, int64_t v);
void sw_jw_knum_opt(struct sw_jw *w, const char *key, bool has, double v);
void sw_jw_kraw(struct sw_jw *w, const char *key, const char *json);
/* JSON has no NaN: the wire has the texts "nan", "inf", "-inf" for what is no finite number. */
void sw_jw_kmetric(struct sw_jw *w, const char *key, double v);

/* Reads a number as strtod() does in the "C" locale, and says where it ends; the 17 digits of most
 * doubles in a sixth of its time. */
double sw_json_num_read(const char *text, const char **end);
/* The shortest decimal text that strtod() reads back as v; v finite. out[32]. "C" locale. */
void sw_json_num_text(double v, char out[32]);
/* The same as a real: 4.0, and never 4. */
void sw_json_real_text(double v, char out[32]);

#endif

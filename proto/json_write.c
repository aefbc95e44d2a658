#include "base/utf8.h"
#include "proto/json.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sw_jw_init(struct sw_jw *w, struct sw_buf *b)
{
	*w = (struct sw_jw){.b = b};
}

/* A failed append latches in the buffer, so nothing here looks at a status. */
static void put_text(struct sw_jw *w, const char *text)
{
	(void)sw_buf_adds(w->b, text);
}

/* Before a value or a key. */
static void separate(struct sw_jw *w)
{
	if (w->comma)
		(void)sw_buf_add(w->b, ",", 1);
	w->comma = true;
}

static void open_with(struct sw_jw *w, const char *bracket)
{
	separate(w);
	put_text(w, bracket);
	w->comma = false;
}

static void close_with(struct sw_jw *w, const char *bracket)
{
	put_text(w, bracket);
	w->comma = true;
}

void sw_jw_obj(struct sw_jw *w)
{
	open_with(w, "{");
}

void sw_jw_init_obj(struct sw_jw *w, struct sw_buf *b)
{
	sw_jw_init(w, b);
	sw_jw_obj(w);
}

void sw_jw_obj_end(struct sw_jw *w)
{
	close_with(w, "}");
}

void sw_jw_arr(struct sw_jw *w)
{
	open_with(w, "[");
}

void sw_jw_arr_end(struct sw_jw *w)
{
	close_with(w, "]");
}

static void put_escape(struct sw_jw *w, unsigned char c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *which = c == 0 ? NULL : strchr(from, (char)c);

	if (which != NULL)
		(void)sw_buf_addf(w->b, "\\%c", to[which - from]);
	else
		(void)sw_buf_addf(w->b, "\\u%04x", (unsigned)c);
}

/* Runs of plain bytes go out whole; a byte that is no UTF-8 becomes U+FFFD. */
static void put_string(struct sw_jw *w, const char *s)
{
	size_t left = strlen(s), run = 0;

	put_text(w, "\"");
	while (run < left) {
		const unsigned char c = (unsigned char)s[run];
		const size_t step = sw_utf8_step(s + run, left - run);
		if (step != 0 && c >= 0x20 && c != '"' && c != '\\') {
			run += step;
			continue;
		}
		(void)sw_buf_add(w->b, s, run);
		if (step == 0)
			put_text(w, "\xef\xbf\xbd");
		else
			put_escape(w, c);
		s += run + 1;
		left -= run + 1;
		run = 0;
	}
	(void)sw_buf_add(w->b, s, run);
	put_text(w, "\"");
}

void sw_jw_key(struct sw_jw *w, const char *key)
{
	separate(w);
	put_string(w, key);
	put_text(w, ":");
	w->comma = false;
}

void sw_jw_str(struct sw_jw *w, const char *s)
{
	separate(w);
	if (s == NULL)
		put_text(w, "null");
	else
		put_string(w, s);
}

/* printf's number as JSON writes it: a '.' whatever the locale, no '+' and no leading zeros in the
 * exponent. */
static void tidy_number(const char *from, char *to)
{
	bool exponent = false, leading = false, point = false;

	for (; *from != '\0'; from++) {
		const char c = *from;
		if (c == 'e') {
			*to++ = 'e';
			exponent = leading = true;
		} else if (c == '-') {
			*to++ = '-';
		} else if (c >= '0' && c <= '9') {
			if (exponent && leading && c == '0' && from[1] != '\0')
				continue;
			leading = false;
			*to++ = c;
		} else if (c != '+' && !point) {
			*to++ = '.'; /* one, even where the locale's point has several bytes */
			point = true;
		}
	}
	*to = '\0';
}

/* A decimal of at most 15 digits survives the way through a double, so 15 digits with the zeros
 * cut (%g) are the shortest text whenever they read back; 17 always do. Below DBL_MIN a double
 * has fewer digits than that, so there all lengths are tried. */
void sw_json_num_text(double v, char out[32])
{
	char text[64];

	/* Whole numbers are written without an exponent, as people write them. */
	if (v == floor(v) && fabs(v) <= SW_JSON_MAX_INT) {
		(void)snprintf(out, 32, "%.0f", v);
		return;
	}
	for (int digits = fabs(v) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
		(void)snprintf(text, sizeof text, "%.*g", digits, v);
		/* In the locale in which snprintf() has printed it. */
		if (strtod(text, NULL) == v)
			break;
	}
	tidy_number(text, out);
}

void sw_json_real_text(double v, char out[32])
{
	sw_json_num_text(v, out);
	if (strpbrk(out, ".e") == NULL)
		(void)strcat(out, ".0"); /* 17 digits at most are before it */
}

void sw_jw_num(struct sw_jw *w, double v)
{
	char text[32];

	separate(w);
	if (!isfinite(v)) {
		put_text(w, "null");
		return;
	}
	sw_json_num_text(v, text);
	put_text(w, text);
}

void sw_jw_int(struct sw_jw *w, int64_t v)
{
	separate(w);
	(void)sw_buf_addf(w->b, "%lld", (long long)v);
}

void sw_jw_bool(struct sw_jw *w, bool v)
{
	separate(w);
	put_text(w, v ? "true" : "false");
}

void sw_jw_null(struct sw_jw *w)
{
	separate(w);
	put_text(w, "null");
}

void sw_jw_raw(struct sw_jw *w, const char *json)
{
	separate(w);
	put_text(w, json != NULL ? json : "null");
}

static void write_container(struct sw_jw *w, const cJSON *v)
{
	const bool object = cJSON_IsObject(v);
	const cJSON *child;

	open_with(w, object ? "{" : "[");
	cJSON_ArrayForEach (child, v) {
		if (object)
			sw_jw_key(w, child->string);
		sw_jw_cjson(w, child);
	}
	close_with(w, object ? "}" : "]");
}

/* As it came: 1.0 is a real, and a whole number of 2^53 and more stays one, so that its reader sees
 * that digits are lost. */
static void write_number(struct sw_jw *w, const cJSON *v)
{
	char text[SW_JSON_MAX_NUMBER + 1];
	const double d = v->valuedouble, size = fabs(d);

	if ((v->type & SW_JSON_REAL) != 0)
		sw_json_real_text(d, text);
	else if (size > SW_JSON_MAX_INT && size < 1e60)
		(void)snprintf(text, sizeof text, "%.0f", d);
	else
		sw_json_num_text(d, text);
	sw_jw_raw(w, isfinite(d) ? text : NULL);
}

void sw_jw_cjson(struct sw_jw *w, const cJSON *v)
{
	if (cJSON_IsObject(v) || cJSON_IsArray(v))
		write_container(w, v);
	else if (cJSON_IsString(v))
		sw_jw_str(w, v->valuestring);
	else if (cJSON_IsNumber(v))
		write_number(w, v);
	else if (cJSON_IsBool(v))
		sw_jw_bool(w, cJSON_IsTrue(v) != 0);
	else if (cJSON_IsRaw(v))
		sw_jw_raw(w, v->valuestring);
	else
		sw_jw_null(w);
}

void sw_jw_kstr(struct sw_jw *w, const char *key, const char *s)
{
	sw_jw_key(w, key);
	sw_jw_str(w, s);
}

void sw_jw_knum(struct sw_jw *w, const char *key, double v)
{
	sw_jw_key(w, key);
	sw_jw_num(w, v);
}

void sw_jw_kmetric(struct sw_jw *w, const char *key, double v)
{
	if (isfinite(v))
		sw_jw_knum(w, key, v);
	else
		sw_jw_kstr(w, key, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

void sw_jw_kint(struct sw_jw *w, const char *key, int64_t v)
{
	sw_jw_key(w, key);
	sw_jw_int(w, v);
}

void sw_jw_kbool(struct sw_jw *w, const char *key, bool v)
{
	sw_jw_key(w, key);
	sw_jw_bool(w, v);
}

void sw_jw_knull(struct sw_jw *w, const char *key)
{
	sw_jw_key(w, key);
	sw_jw_null(w);
}

void sw_jw_kobj(struct sw_jw *w, const char *key)
{
	sw_jw_key(w, key);
	sw_jw_obj(w);
}

void sw_jw_karr(struct sw_jw *w, const char *key)
{
	sw_jw_key(w, key);
	sw_jw_arr(w);
}

void sw_jw_kint_opt(struct sw_jw *w, const char *key, bool has, int64_t v)
{
	sw_jw_key(w, key);
	if (has)
		sw_jw_int(w, v);
	else
		sw_jw_null(w);
}

void sw_jw_knum_opt(struct sw_jw *w, const char *key, bool has, double v)
{
	sw_jw_key(w, key);
	if (has)
		sw_jw_num(w, v);
	else
		sw_jw_null(w);
}

void sw_jw_kraw(struct sw_jw *w, const char *key, const char *json)
{
	sw_jw_key(w, key);
	sw_jw_raw(w, json);
}

void sw_json_pointer_add(char *ptr, size_t cap, const char *token)
{
	size_t n = strlen(ptr);

	/* A pointer that is too long is cut: the error's line still says what is wrong. */
	if (n + 1 >= cap)
		return;
	ptr[n++] = '/';
	for (; *token != '\0'; token++) {
		const char *as = *token == '~' ? "~0" : *token == '/' ? "~1" : NULL;
		/* An escape is never cut in two: "~" alone would make the pointer invalid. */
		if (n + (as != NULL ? 2 : 1) >= cap)
			break;
		if (as != NULL) {
			ptr[n++] = as[0];
			ptr[n++] = as[1];
		} else {
			ptr[n++] = *token;
		}
	}
	ptr[n] = '\0';
}

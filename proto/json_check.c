/*
 * The strict pre-check: one pass over the text with a stack of open containers, no tree.
 *
 * The stack knows, for each open container, the key or index that is being read, so an error can
 * name its place without any work on the way. Keys of all open objects lie in one array, the
 * innermost object's last; when an object closes its keys are sorted by their unescaped bytes and
 * neighbours compared.
 */
#include "base/memory.h"
#include "base/utf8.h"
#include "proto/json.h"
#include "proto/json_key.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_HERE 32 /* keys that need no allocation */

struct level {
	bool object;
	bool keyed;      /* object: a key has been read, so the top of keys[] is the place */
	size_t first;    /* object: its first key in keys[] */
	size_t index;    /* array: the element that is being read */
	bool in_element; /* array: between the start of an element and what follows it */
};

struct scan {
	const char *text;
	size_t len, at;
	struct level stack[SW_JSON_MAX_DEPTH];
	size_t depth;
	size_t values, most;
	struct sw_json_key here[KEYS_HERE];
	struct sw_json_key *keys;
	size_t n_keys, cap_keys;
	struct sw_err *err;
};

/* Equal keys keep their order in the text. */
static int by_bytes(const void *pa, const void *pb)
{
	const struct sw_json_key *a = pa, *b = pb;
	const int d = sw_json_key_compare(a, b);

	return d != 0 ? d : (a->at > b->at) - (a->at < b->at);
}

static void pointer_of(const struct scan *s, char *ptr, size_t cap)
{
	char token[192];

	ptr[0] = '\0';
	for (size_t i = 0; i < s->depth; i++) {
		const struct level *l = &s->stack[i];
		if (l->object && !l->keyed)
			break;
		if (!l->object && !l->in_element)
			break;
		if (l->object) {
			/* The key of an outer object is the last one before the next one's. */
			size_t last = s->n_keys;
			/* All keys of an object stand before those of the objects inside it. */
			for (size_t j = s->depth; j-- > i + 1;)
				if (s->stack[j].object)
					last = s->stack[j].first;
			sw_json_key_text(&s->keys[last - 1], token, sizeof token);
		} else {
			(void)snprintf(token, sizeof token, "%zu", l->index);
		}
		sw_json_pointer_add(ptr, cap, token);
	}
}

static sw_status bad_at(struct scan *s, size_t at, const char *what)
{
	char ptr[sizeof s->err->ptr];

	pointer_of(s, ptr, sizeof ptr);
	return sw_err_at(s->err, SW_PARSE, ptr, "not valid JSON at byte %zu: %s", at, what);
}

static sw_status bad(struct scan *s, const char *what)
{
	return bad_at(s, s->at, what);
}

/* "expected WANT, not 'x'" */
static sw_status expected(struct scan *s, const char *want)
{
	char what[120];

	if (s->at >= s->len)
		(void)snprintf(what, sizeof what, "expected %s, not the end of the text", want);
	else if (s->text[s->at] > 0x20 && s->text[s->at] < 0x7f)
		(void)snprintf(what, sizeof what, "expected %s, not '%c'", want, s->text[s->at]);
	else
		(void)snprintf(what, sizeof what, "expected %s, not byte 0x%02x", want,
			       (unsigned)(unsigned char)s->text[s->at]);
	return bad(s, what);
}

static int peek(const struct scan *s)
{
	return s->at < s->len ? (unsigned char)s->text[s->at] : -1;
}

static void skip_space(struct scan *s)
{
	for (; s->at < s->len; s->at++) {
		const char c = s->text[s->at];

		if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
			return;
	}
}

/* Four hex digits at s->at. */
static sw_status scan_hex4(struct scan *s, uint32_t *out)
{
	for (size_t i = 0; i < 4; i++, s->at++)
		if (s->at >= s->len || !isxdigit((unsigned char)s->text[s->at]))
			return expected(s, "four hex digits after \\u");
	*out = sw_json_hex4(s->text + s->at - 4);
	return SW_OK;
}

/* After a backslash. */
static sw_status scan_escape(struct scan *s)
{
	const size_t start = s->at - 1;
	uint32_t c = 0, low = 0;

	if (peek(s) < 1 || strchr("\"\\/bfnrtu", peek(s)) == NULL)
		return expected(s, "one of \" \\ / b f n r t u after a backslash");
	/* The others are one letter long. */
	if (s->text[s->at++] != 'u')
		return SW_OK;
	if (scan_hex4(s, &c) != SW_OK)
		return SW_PARSE;
	/* C strings end at a NUL: what stood behind it would be seen by no comparison. */
	if (c == 0)
		return bad_at(s, start, "\\u0000 is not allowed");
	if (c >= 0xdc00 && c < 0xe000)
		return bad_at(s, start, "a low surrogate without a high one before it");
	/* It is a character by itself. */
	if (c < 0xd800 || c >= 0xdc00)
		return SW_OK;
	if (s->len - s->at < 2 || s->text[s->at] != '\\' || s->text[s->at + 1] != 'u')
		return bad_at(s, start, "a high surrogate without a low one after it");
	s->at += 2;
	if (scan_hex4(s, &low) != SW_OK)
		return SW_PARSE;
	if (low < 0xdc00 || low >= 0xe000)
		return bad_at(s, start, "a high surrogate without a low one after it");
	return SW_OK;
}

/* At the opening quote. */
static sw_status scan_string(struct scan *s, struct sw_json_key *key)
{
	*key = (struct sw_json_key){.at = s->text + ++s->at};
	for (;;) {
		const int c = peek(s);
		if (c < 0)
			return bad(s, "a string that has no end");
		if (c == '"')
			break;
		if (c < 0x20)
			return bad(s, "a control character in a string (write it as an escape)");
		if (c == '\\') {
			s->at++;
			key->escaped = true;
			if (scan_escape(s) != SW_OK)
				return SW_PARSE;
			continue;
		}
		const size_t step = sw_utf8_step(s->text + s->at, s->len - s->at);
		if (step == 0)
			return bad(s, "not valid UTF-8");
		s->at += step;
	}
	key->len = (size_t)(s->text + s->at - key->at);
	s->at++;
	return SW_OK;
}

static size_t scan_digits(struct scan *s)
{
	const size_t start = s->at;

	while (s->at < s->len && s->text[s->at] >= '0' && s->text[s->at] <= '9')
		s->at++;
	return s->at - start;
}

/* Is the number text[0..n) finite as a double? The decimal point is shifted into the exponent
 * first, so that strtod() gives the same answer in every locale. */
static bool finite_number(const char *text, size_t n)
{
	char digits[SW_JSON_MAX_NUMBER + 16];
	size_t used = 0, i = 0;
	long exponent = 0, after_point = 0;
	bool point = false;

	for (; i < n && text[i] != 'e' && text[i] != 'E'; i++) {
		if (text[i] == '.') {
			point = true;
			continue;
		}
		/* Room for all: a number is at most SW_JSON_MAX_NUMBER characters long, which was
		 * checked before. */
		digits[used++] = text[i];
		after_point += point;
	}
	if (i < n) {
		const bool minus = text[++i] == '-';
		for (i += minus || text[i] == '+'; i < n; i++)
			/* Beyond this it is 0 or infinite anyhow; a long would overflow behind a
			 * row of digits. */
			if (exponent < 100000)
				exponent = exponent * 10 + (text[i] - '0');
		exponent = minus ? -exponent : exponent;
	}
	(void)snprintf(digits + used, sizeof digits - used, "e%ld", exponent - after_point);
	return isfinite(strtod(digits, NULL));
}

static sw_status scan_number(struct scan *s)
{
	const size_t start = s->at;
	size_t exponent = 0; /* digits of it */

	if (peek(s) == '-')
		s->at++;
	/* A 0 has no digit behind it, so "01" is refused. */
	if (peek(s) == '0') {
		s->at++;
		if (s->at < s->len && isdigit((unsigned char)s->text[s->at]))
			return bad_at(s, start, "a number must not start with 0");
	} else if (scan_digits(s) == 0) {
		return expected(s, "a digit");
	}
	if (peek(s) == '.') {
		s->at++;
		if (scan_digits(s) == 0)
			return expected(s, "a digit after the decimal point");
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		s->at++;
		if (peek(s) == '+' || peek(s) == '-')
			s->at++;
		exponent = scan_digits(s);
		if (exponent == 0)
			return expected(s, "a digit in the exponent");
	}
	if (s->at - start > SW_JSON_MAX_NUMBER)
		return bad_at(s, start, "a number of too many characters");
	/* 62 digits and e99 are far below DBL_MAX: most numbers need no strtod(). */
	if (exponent > 2 && !finite_number(s->text + start, s->at - start))
		return bad_at(s, start, "a number that is not finite");
	return SW_OK;
}

static sw_status scan_word(struct scan *s)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		const size_t n = strlen(words[i]);
		if (s->len - s->at >= n && memcmp(s->text + s->at, words[i], n) == 0) {
			s->at += n;
			return SW_OK;
		}
	}
	/* Some editors begin a file with one, and its bytes are not seen. */
	if (s->at == 0 && s->len >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0)
		return bad(s, "a byte order mark; start with the value");
	return expected(s, peek(s) == 'N' || peek(s) == 'I'
				   ? "a value (JSON has no NaN or Infinity)"
				   : "a value");
}

static sw_status push_key(struct scan *s, const struct sw_json_key *key)
{
	if (s->n_keys == s->cap_keys) {
		const size_t cap = s->cap_keys * 2;
		struct sw_json_key *more =
			sw_realloc(s->keys == s->here ? NULL : s->keys, cap * sizeof *more);
		if (more == NULL)
			return sw_err_set(s->err, SW_NOMEM, "out of memory");
		if (s->keys == s->here)
			/* The first ones lie in the scan itself and not on the heap. */
			memcpy(more, s->here, sizeof s->here);
		s->keys = more;
		s->cap_keys = cap;
	}
	s->keys[s->n_keys++] = *key;
	return SW_OK;
}

/* At the start of a key. */
static sw_status scan_key(struct scan *s, const char *want)
{
	struct sw_json_key key;

	/* Until the key is whole an error points at the object. */
	s->stack[s->depth - 1].keyed = false;
	if (peek(s) != '"')
		return expected(s, want);
	sw_status rc = scan_string(s, &key);
	if (rc == SW_OK)
		rc = push_key(s, &key);
	if (rc != SW_OK)
		return rc;
	s->stack[s->depth - 1].keyed = true;
	skip_space(s);
	if (peek(s) != ':')
		return expected(s, "':' after the key");
	s->at++;
	return SW_OK;
}

/* The innermost object ends: no key of it may stand there twice. */
static sw_status close_object(struct scan *s)
{
	const struct level *l = &s->stack[s->depth - 1];
	struct sw_json_key *first = s->keys + l->first;
	const size_t n = s->n_keys - l->first;
	const struct sw_json_key *twice = NULL;

	if (n > 1)
		qsort(first, n, sizeof *first, by_bytes);
	for (size_t i = 1; i < n; i++)
		if (sw_json_key_compare(&first[i - 1], &first[i]) == 0 &&
		    (twice == NULL || first[i].at < twice->at))
			twice = &first[i];
	if (twice != NULL) {
		char name[64], what[96];
		const size_t at = (size_t)(twice->at - s->text) - 1;
		const struct sw_json_key key = *twice;
		sw_json_key_text(&key, name, sizeof name);
		(void)snprintf(what, sizeof what, "the key \"%s\" appears twice", name);
		first[n - 1] = key; /* the place that the pointer names */
		return bad_at(s, at, what);
	}
	/* Its keys are done with: the outer object's are the last again. */
	s->n_keys = l->first;
	return SW_OK;
}

/* After a value: commas and closing brackets up to the next value, or the end (*done). */
static sw_status after_value(struct scan *s, bool *done)
{
	for (;;) {
		skip_space(s);
		if (s->depth == 0) {
			*done = true;
			return s->at == s->len ? SW_OK
					       : expected(s, "nothing more after the value");
		}
		struct level *l = &s->stack[s->depth - 1];
		const int c = peek(s);
		if (c == ',') {
			s->at++;
			skip_space(s);
			if (l->object)
				return scan_key(s, "a key in double quotes after ','");
			l->index++;
			return SW_OK;
		}
		if (c != (l->object ? '}' : ']'))
			return expected(s, l->object ? "',' or '}'" : "',' or ']'");
		if (l->object) {
			const sw_status rc = close_object(s);
			if (rc != SW_OK)
				return rc;
		}
		s->at++;
		s->depth--;
	}
}

/* At '{' or '['. *empty: it closed again at once. */
static sw_status open_container(struct scan *s, bool *empty)
{
	const bool object = s->text[s->at] == '{';

	/* Below cJSON's own limit, and the stack of every function that walks a tree by
	 * recursion. */
	if (s->depth == SW_JSON_MAX_DEPTH) {
		char what[64];
		(void)snprintf(what, sizeof what, "nested deeper than %d", SW_JSON_MAX_DEPTH);
		return bad(s, what);
	}
	s->at++;
	s->stack[s->depth++] = (struct level){.object = object, .first = s->n_keys};
	skip_space(s);
	if (peek(s) == (object ? '}' : ']')) {
		s->at++;
		s->depth--;
		*empty = true;
		return SW_OK;
	}
	*empty = false;
	if (object)
		return scan_key(s, "a key in double quotes or '}'");
	s->stack[s->depth - 1].in_element = true;
	return SW_OK;
}

static sw_status scan_value(struct scan *s, bool *opened)
{
	struct sw_json_key unused;
	bool empty = false;
	sw_status rc;

	*opened = false;
	skip_space(s);
	/* Bounds cJSON's tree: a value takes 64 bytes there, however short its text. */
	if (++s->values > s->most) {
		char what[64];
		(void)snprintf(what, sizeof what, "more than %zu values", s->most);
		return bad(s, what);
	}
	const int c = peek(s);
	if (c == '{' || c == '[') {
		rc = open_container(s, &empty);
		*opened = !empty;
		return rc;
	}
	if (c == '"')
		return scan_string(s, &unused);
	if (c == '-' || (c >= '0' && c <= '9'))
		return scan_number(s);
	return scan_word(s);
}

sw_status sw_json_check(const char *text, size_t len, struct sw_err *err)
{
	return sw_json_check_most(text, len, SW_JSON_MAX_VALUES, err);
}

sw_status sw_json_check_most(const char *text, size_t len, size_t most, struct sw_err *err)
{
	struct scan s; /* not set as a whole: its arrays need no zeros, and most texts are short */
	bool done = false, opened = false;
	sw_status rc = SW_OK;

	s.text = text;
	s.len = len;
	s.at = s.depth = s.values = s.n_keys = 0;
	s.most = most;
	s.keys = s.here;
	s.cap_keys = KEYS_HERE;
	s.err = err;
	while (rc == SW_OK && !done) {
		rc = scan_value(&s, &opened);
		if (rc == SW_OK && !opened)
			rc = after_value(&s, &done);
	}
	if (s.keys != s.here)
		free(s.keys);
	return rc;
}

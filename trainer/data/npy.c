#include "trainer/data/npy.h"
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* The header is a Python dictionary with three keys: 'descr' (a string), 'fortran_order' (True or
 * False) and 'shape' (a tuple of integers). */
struct scan {
	const char *at, *end;
	const char *show, *ptr;
	struct sw_err *err;
	unsigned seen; /* bits of the keys */
};

static const char *const keys[] = {"descr", "fortran_order", "shape"};

static void blanks(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t'))
		s->at++;
}

static bool take_char(struct scan *s, char c)
{
	blanks(s);
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static sw_status wrong(struct scan *s, const char *what)
{
	return sw_err_at(s->err, SW_INVALID, s->ptr, "%s: the header is not NumPy's: %s", s->show,
			 what);
}

/* A quoted word without escapes, at most cap - 1 bytes. */
static bool word(struct scan *s, char *out, size_t cap)
{
	size_t n = 0;
	char quote;

	blanks(s);
	if (s->at == s->end || (*s->at != '\'' && *s->at != '"'))
		return false;
	quote = *s->at++;
	for (; s->at < s->end && *s->at != quote; s->at++) {
		if (n + 1 == cap || *s->at == '\\' || *s->at < ' ' || *s->at > '~')
			return false;
		out[n++] = *s->at;
	}
	out[n] = '\0';
	if (s->at == s->end)
		return false;
	s->at++;
	return true;
}

static bool literal(struct scan *s, const char *text)
{
	const size_t n = strlen(text);

	blanks(s);
	if ((size_t)(s->end - s->at) < n || memcmp(s->at, text, n) != 0)
		return false;
	s->at += n;
	return true;
}

/* Reads the type of the elements. */
static sw_status descr(struct scan *s, struct sw_npy *out)
{
	static const struct {
		const char *name;
		enum sw_npy_type type;
		size_t item;
	} types[] = {{"<f4", SW_NPY_F4, 4}, {"<f8", SW_NPY_F8, 8}, {"|u1", SW_NPY_U1, 1},
		     {"<u1", SW_NPY_U1, 1}, {"<i4", SW_NPY_I4, 4}, {"<i8", SW_NPY_I8, 8}};
	char name[24];

	blanks(s);
	if (s->at < s->end && *s->at == '[')
		return sw_err_at(s->err, SW_INVALID, s->ptr,
				 "%s has a structured dtype, expected f4, f8, u1, i4 or i8",
				 s->show);
	if (!word(s, name, sizeof name))
		return wrong(s, "'descr' is not a string");
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (strcmp(types[i].name, name) != 0)
			continue;
		out->type = types[i].type;
		out->item = types[i].item;
		return SW_OK;
	}
	return sw_err_at(s->err, SW_INVALID, s->ptr,
			 "%s has the dtype %s%s, expected f4, f8, u1, "
			 "i4 or i8, little endian",
			 s->show, name, name[0] == '>' ? " (big endian)" : "");
}

/* Reads the order of the elements: only C order is taken. */
static sw_status order(struct scan *s)
{
	if (literal(s, "False"))
		return SW_OK;
	if (!literal(s, "True"))
		return wrong(s, "'fortran_order' is neither True nor False");
	return sw_err_at(s->err, SW_INVALID, s->ptr,
			 "%s is in Fortran order: save numpy.ascontiguousarray() of it", s->show);
}

/* Reads the dimensions, a tuple of Python. */
static sw_status shape(struct scan *s, struct sw_npy *out)
{
	if (!take_char(s, '('))
		return wrong(s, "'shape' is not a tuple");
	/* A tuple of one has a comma behind it, (3,), one of more may. */
	while (!take_char(s, ')')) {
		uint64_t v = 0;
		bool any = false;

		if (out->dims == SW_NPY_MAX_DIMS)
			return sw_err_at(s->err, SW_INVALID, s->ptr,
					 "%s has over %d dimensions, at most (rows, channels, "
					 "height, width) are possible",
					 s->show, SW_NPY_MAX_DIMS);
		blanks(s);
		for (; s->at < s->end && isdigit((unsigned char)*s->at); s->at++, any = true) {
			v = v * 10 + (uint64_t)(*s->at - '0');
			if (v > INT32_MAX)
				return sw_err_at(s->err, SW_TOO_BIG, s->ptr,
						 "%s: dimension %zu is over 2^31 - 1", s->show,
						 out->dims);
		}
		if (!any)
			return wrong(s, "'shape' is not a tuple of integers");
		if (v == 0)
			return sw_err_at(s->err, SW_INVALID, s->ptr, "%s: dimension %zu is 0",
					 s->show, out->dims);
		out->dim[out->dims++] = v;
		if (!take_char(s, ',')) {
			if (take_char(s, ')'))
				break;
			return wrong(s, "'shape' is never closed");
		}
	}
	if (out->dims == 0)
		return sw_err_at(s->err, SW_INVALID, s->ptr,
				 "%s has no dimensions, only one number", s->show);
	return SW_OK;
}

/* Reads a key and its value. */
static sw_status entry(struct scan *s, struct sw_npy *out)
{
	char key[24];
	size_t i = 0;

	if (!word(s, key, sizeof key) || !take_char(s, ':'))
		return wrong(s, "a key is expected");
	while (i < 3 && strcmp(keys[i], key) != 0)
		i++;
	if (i == 3)
		return wrong(s, "a key that is not descr, fortran_order or shape");
	if (s->seen & 1u << i)
		return wrong(s, "a key appears twice");
	s->seen |= 1u << i;
	return i == 0 ? descr(s, out) : i == 1 ? order(s) : shape(s, out);
}

sw_status sw_npy_header(struct sw_npy *out, const char *text, size_t n, const char *show,
			const char *ptr, struct sw_err *err)
{
	struct scan s = {.at = text, .end = text + n, .show = show, .ptr = ptr, .err = err};

	memset(out, 0, sizeof *out);
	if (!take_char(&s, '{'))
		return wrong(&s, "it does not begin with {");
	while (!take_char(&s, '}')) {
		const sw_status rc = entry(&s, out);

		if (rc != SW_OK)
			return rc;
		if (!take_char(&s, ',')) {
			if (take_char(&s, '}'))
				break;
			return wrong(&s, "it does not end with }");
		}
	}
	blanks(&s);
	if (s.at != s.end)
		return wrong(&s, "text follows its end");
	if (s.seen != 7)
		return wrong(&s, "descr, fortran_order or shape is missing");
	return SW_OK;
}

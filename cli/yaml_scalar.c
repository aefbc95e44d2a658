#include "cli/yaml_scalar.h"
#include "proto/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

#define DIGITS "0123456789"

enum kind { IS_STRING, IS_NULL, IS_BOOL, IS_INT, IS_FLOAT, IS_REFUSED };

static const struct {
	const char *word;
	enum kind kind;
	bool value;
} words[] = {
	{"", IS_NULL, false},      {"~", IS_NULL, false},     {"null", IS_NULL, false},
	{"Null", IS_NULL, false},  {"NULL", IS_NULL, false},  {"yes", IS_BOOL, true},
	{"Yes", IS_BOOL, true},    {"YES", IS_BOOL, true},    {"no", IS_BOOL, false},
	{"No", IS_BOOL, false},    {"NO", IS_BOOL, false},    {"true", IS_BOOL, true},
	{"True", IS_BOOL, true},   {"TRUE", IS_BOOL, true},   {"false", IS_BOOL, false},
	{"False", IS_BOOL, false}, {"FALSE", IS_BOOL, false}, {"on", IS_BOOL, true},
	{"On", IS_BOOL, true},     {"ON", IS_BOOL, true},     {"off", IS_BOOL, false},
	{"Off", IS_BOOL, false},   {"OFF", IS_BOOL, false},
};

/* A word without its sign and underscores. */
struct number {
	char text[SW_JSON_MAX_NUMBER + 1];
	bool negative;
};

/* False: no number begins like this, or it is longer than JSON's may be. */
static bool strip(struct number *n, const char *word)
{
	size_t len = 0;

	n->negative = word[0] == '-';
	if (word[0] == '-' || word[0] == '+')
		word++;
	if (word[0] == '_')
		return false; /* YAML 1.1 allows them between digits alone */
	for (; *word != '\0'; word++) {
		if (*word == '_')
			continue;
		if (len == SW_JSON_MAX_NUMBER)
			return false; /* JSON would refuse it: it stays a text */
		n->text[len++] = *word;
	}
	n->text[len] = '\0';
	return len > 0;
}

static bool only(const char *s, const char *characters)
{
	return *s != '\0' && s[strspn(s, characters)] == '\0';
}

/* 0b101, 0x1f, 017 and 17, in base 2, 16, 8 and 10; 0: none of these. */
static int integer_base(const char *s)
{
	if (s[0] == '0' && s[1] == 'b')
		return only(s + 2, "01") ? 2 : 0;
	if (s[0] == '0' && s[1] == 'x')
		return only(s + 2, DIGITS "abcdefABCDEF") ? 16 : 0;
	if (s[0] == '0' && s[1] != '\0')
		return only(s, "01234567") ? 8 : 0;
	return only(s, DIGITS) ? 10 : 0;
}

/* Digits with a point, an exponent or both. strtod() alone would take "inf", "nan", a second sign
 * and hexadecimal, too. */
static bool is_real(const char *s)
{
	char *end;

	(void)strtod(s, &end);
	return *end == '\0' && only(s, DIGITS ".eE+-") && strpbrk(s, ".eE") != NULL && *s != '-' &&
	       *s != '+';
}

/* 1:30 or 1:30.5, which YAML 1.1 reads in base 60. */
static bool is_base_60(const char *s)
{
	bool colon = false;

	if (*s < '1' || *s > '9')
		return false;
	for (s += strspn(s, DIGITS); *s == ':'; colon = true) {
		const size_t n = strspn(++s, DIGITS);

		if (n == 0 || n > 2 || (n == 2 && *s > '5'))
			return false;
		s += n;
	}
	if (*s == '.')
		s += 1 + strspn(s + 1, DIGITS);
	return colon && *s == '\0';
}

/* .inf and .nan in the three ways that YAML writes them. */
static bool is_not_finite(const char *s)
{
	static const char *const names[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"};

	for (size_t i = 0; i < N(names); i++)
		if (strcmp(s, names[i]) == 0)
			return true;
	return false;
}

static enum kind number_kind(const char *word, double *value, struct sw_err *err)
{
	struct number n;

	if (!strip(&n, word))
		return IS_STRING;
	/* Before reals: 010 is octal to PyYAML, and "1e3" has no base. */
	const int base = integer_base(n.text);
	enum kind kind = base != 0 ? IS_INT : (is_real(n.text) ? IS_FLOAT : IS_STRING);
	if (kind == IS_STRING && is_base_60(n.text)) {
		(void)!sw_err_set(err, SW_PARSE,
				  "%s is a number in base 60 in YAML 1.1 and a string in 1.2: "
				  "write the number, or put quotes around it",
				  word);
		return IS_REFUSED;
	}
	if (kind == IS_STRING && !is_not_finite(n.text))
		return IS_STRING;
	*value = kind == IS_STRING         ? HUGE_VAL
		 : base == 2               ? (double)strtoull(n.text + 2, NULL, 2)
		 : base == 8 || base == 16 ? (double)strtoull(n.text, NULL, base)
					   : strtod(n.text, NULL);
	if (!isfinite(*value)) {
		(void)!sw_err_set(err, SW_PARSE, "%s is not a finite number", word);
		return IS_REFUSED;
	}
	*value = n.negative ? -*value : *value;
	return kind;
}

static enum kind plain_kind(const char *word, bool *truth, double *value, struct sw_err *err)
{
	for (size_t i = 0; i < N(words); i++)
		if (strcmp(words[i].word, word) == 0) {
			*truth = words[i].value;
			return words[i].kind;
		}
	return number_kind(word, value, err);
}

static const char *kind_tag(enum kind kind)
{
	static const char *const tags[] = {
		[IS_STRING] = "str", [IS_NULL] = "null",   [IS_BOOL] = "bool",
		[IS_INT] = "int",    [IS_FLOAT] = "float",
	};
	return tags[kind];
}

sw_status sw_yaml_scalar_read(cJSON **out, const char *word, const char *tag, struct sw_err *err)
{
	double value = 0;
	bool truth = false;
	enum kind kind = IS_STRING;

	*out = NULL;
	if (tag == NULL || strcmp(tag, "str") != 0)
		kind = plain_kind(word, &truth, &value, err);
	if (kind == IS_REFUSED)
		return err != NULL ? err->code : SW_PARSE;
	/* !!float 1 is 1.0, the one type that a tag may widen. */
	if (tag != NULL && strcmp(tag, "float") == 0 && kind == IS_INT)
		kind = IS_FLOAT;
	if (tag != NULL && strcmp(tag, kind_tag(kind)) != 0)
		return sw_err_set(err, SW_PARSE, "\"%.64s\" is no !!%s", word, tag);
	if (kind == IS_STRING)
		*out = cJSON_CreateString(word);
	else if (kind == IS_NULL)
		*out = cJSON_CreateNull();
	else if (kind == IS_BOOL)
		*out = cJSON_CreateBool(truth);
	else
		*out = cJSON_CreateNumber(value);
	if (*out == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	if (kind == IS_FLOAT)
		(*out)->type |= SW_JSON_REAL;
	return SW_OK;
}

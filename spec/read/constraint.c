/*
 * "constraints": comparisons between parameters, as text.
 *
 *   constraint   sum op sum            op: < <= > >= == !=
 *   sum          [+ -] product, then any number of + product, - product
 *   product      factor, then any number of * factor, / factor
 *   factor       number | name | `name` | ( sum ) | - factor
 *
 * Read by recursive descent straight into polynomials: a sum of terms, each a number times a few
 * parameters. What is divided by must be a number. A name may have - . / in it, so it goes on until
 * a character that no name has: "a-b" is a name, "a - b" is a difference.
 */
#include "base/memory.h"
#include "proto/nearest.h"
#include "spec/read/read.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARENTHESES 16

struct poly {
	struct sw_term term[SW_SPACE_MAX_TERMS];
	size_t n;
	double constant;
};

struct reader {
	const struct sw_spec *spec;
	const char *text, *at;
	unsigned depth;
	struct sw_err *err;
};

/* Says the column of a place, from 1. Columns are characters, so only bytes that begin one
 * count. */
static sw_status fail_at(const struct reader *r, const char *place, const char *fmt, ...)
	SW_PRINTF(3, 4);
static sw_status fail_at(const struct reader *r, const char *place, const char *fmt, ...)
{
	char line[240];
	size_t column = 1;
	va_list ap;

	for (const char *p = r->text; p < place; p++)
		column += ((unsigned char)*p & 0xc0) != 0x80;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	return sw_err_set(r->err, SW_INVALID, "column %zu: %s", column, line);
}

static void skip_space(struct reader *r)
{
	r->at += strspn(r->at, " \t\r\n");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
	       (c != '\0' && strchr("_-./", c) != NULL);
}

/* --- polynomials --- */

static bool same_factors(const struct sw_term *a, const struct sw_term *b)
{
	return a->n_factors == b->n_factors &&
	       memcmp(a->factor, b->factor, a->n_factors * sizeof a->factor[0]) == 0;
}

static sw_status add_term(struct reader *r, struct poly *p, const struct sw_term *t,
			  const char *place)
{
	for (size_t i = 0; i < p->n; i++) {
		if (!same_factors(&p->term[i], t))
			continue;
		/* The same parameters make one term. If it becomes 0 the last term takes its
		 * place. */
		p->term[i].coef += t->coef;
		if (p->term[i].coef == 0)
			p->term[i] = p->term[--p->n];
		return SW_OK;
	}
	if (p->n == SW_SPACE_MAX_TERMS)
		return fail_at(r, place, "more than %zu terms", SW_SPACE_MAX_TERMS);
	/* "0 * a" names a parameter and asks nothing of it: it must not count as one below. */
	if (t->coef != 0)
		p->term[p->n++] = *t;
	return SW_OK;
}

/* *to += sign * *p */
static sw_status add_poly(struct reader *r, struct poly *to, const struct poly *p, double sign,
			  const char *place)
{
	to->constant += sign * p->constant;
	for (size_t i = 0; i < p->n; i++) {
		struct sw_term t = p->term[i];

		t.coef *= sign;
		const sw_status rc = add_term(r, to, &t, place);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

static void scale_poly(struct poly *p, double by)
{
	p->constant *= by;
	for (size_t i = 0; i < p->n; i++)
		p->term[i].coef *= by;
	if (by == 0)
		p->n = 0;
}

/* a times b: the factors of both, merged in rising order, so that equal products are equal
 * bytes. */
static sw_status multiply_terms(struct reader *r, const struct sw_term *a, const struct sw_term *b,
				struct sw_term *out, const char *place)
{
	size_t i = 0, k = 0;

	*out = (struct sw_term){.coef = a->coef * b->coef};
	if (a->n_factors + b->n_factors > SW_TERM_MAX_FACTORS)
		return fail_at(r, place, "more than %d parameters multiplied", SW_TERM_MAX_FACTORS);
	while (i < a->n_factors || k < b->n_factors) {
		const bool left = k == b->n_factors ||
				  (i < a->n_factors && a->factor[i] <= b->factor[k]);
		out->factor[out->n_factors++] = left ? a->factor[i++] : b->factor[k++];
	}
	return SW_OK;
}

/* *to *= *p */
static sw_status multiply_polys(struct reader *r, struct poly *to, const struct poly *p,
				const char *place)
{
	/* Each product below adds to *to, which is a factor of the next. */
	const struct poly old = *to;

	/* First the product with p's constant, in place; then with each of its terms, by the
	 * copy. */
	scale_poly(to, p->constant);
	for (size_t i = 0; i < p->n; i++) {
		struct sw_term t = p->term[i];

		t.coef *= old.constant;
		sw_status rc = add_term(r, to, &t, place);
		for (size_t k = 0; rc == SW_OK && k < old.n; k++) {
			rc = multiply_terms(r, &old.term[k], &p->term[i], &t, place);
			if (rc == SW_OK)
				rc = add_term(r, to, &t, place);
		}
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

/* --- the text --- */

/* The end of a decimal number; NULL if a name goes on behind it ("2nd", "1-a"). */
static const char *number_end(const char *p)
{
	const char *digits = p;

	p += strspn(p, "0123456789");
	if (*p == '.') {
		digits += p == digits; /* ".5" has its digits behind the point */
		p++;
		p += strspn(p, "0123456789");
	}
	if (p == digits)
		return NULL;
	/* An "e" without digits is no exponent: with what is before it, as in "2e", it is a
	 * name. */
	if (*p == 'e' || *p == 'E') {
		const char *e = p + 1 + (p[1] == '+' || p[1] == '-');
		if (is_digit(*e))
			p = e + strspn(e, "0123456789");
	}
	return in_name(*p) ? NULL : p;
}

static sw_status read_number(struct reader *r, const char *end, struct poly *out)
{
	char text[64];
	const size_t n = (size_t)(end - r->at);

	if (n >= sizeof text)
		return fail_at(r, r->at, "a number of over 63 characters");
	memcpy(text, r->at, n);
	text[n] = '\0';
	out->constant = strtod(text, NULL);
	if (!isfinite(out->constant))
		return fail_at(r, r->at, "%s is beyond what a number can hold", text);
	/* The same rule as for the numbers of a spec's JSON (sw_spec_check_exact). */
	if (fabs(out->constant) > SW_JSON_MAX_INT && strpbrk(text, ".eE") == NULL)
		return fail_at(r, r->at, "%s is 2^53 or more, and would lose digits: write a real",
			       text);
	r->at = end;
	return SW_OK;
}

static sw_status unknown_name(struct reader *r, const char *name, const char *place)
{
	const char *near = sw_spec_param_nearest(r->spec, name);
	char did[SW_DID_YOU_MEAN];

	return fail_at(r, place, "no parameter is called \"%s\"%s", name,
		       near == NULL && strpbrk(name, "-/") != NULL
			       ? " (a - or / that is meant as an operator needs spaces around it)"
			       : sw_did_you_mean(near, did));
}

static sw_status read_name(struct reader *r, struct poly *out)
{
	const char *place = r->at, *start = r->at, *end;
	char name[SW_SPEC_MAX_PARAM_NAME + 1];

	if (*start == '`') {
		/* For names that would be read as numbers, such as `1e3`. */
		end = strchr(++start, '`');
		if (end == NULL)
			return fail_at(r, place, "a ` without another one");
		r->at = end + 1;
	} else {
		for (end = start; in_name(*end);)
			end++;
		r->at = end;
	}
	const size_t n = (size_t)(end - start);
	if (n == 0)
		return fail_at(r, place, "a name is missing between ` and `");
	if (n >= sizeof name)
		return fail_at(r, place, "a name of over %d bytes", SW_SPEC_MAX_PARAM_NAME);
	memcpy(name, start, n);
	name[n] = '\0';
	const int i = sw_spec_param_find(r->spec, name);
	if (i < 0)
		return unknown_name(r, name, place);
	const cJSON *v = sw_spec_param_word(&r->spec->params[i]);
	if (v != NULL)
		return fail_at(r, place, "a constraint compares numbers, and \"%s\" can be %s",
			       name, sw_json_kind(v));
	out->n = 1;
	out->term[0] = (struct sw_term){.coef = 1, .n_factors = 1, .factor = {(uint16_t)i}};
	return SW_OK;
}

static sw_status read_sum(struct reader *r, struct poly *out);

static sw_status read_inside(struct reader *r, struct poly *out)
{
	const char *place = r->at++;

	/* Each level has its polynomials on the stack, and the text may have 1,000 bytes of "(". */
	if (r->depth == MAX_PARENTHESES)
		return fail_at(r, place, "more than %d parentheses open", MAX_PARENTHESES);
	r->depth++;
	const sw_status rc = read_sum(r, out);
	r->depth--;
	if (rc != SW_OK)
		return rc;
	skip_space(r);
	if (*r->at != ')')
		return fail_at(r, place, "a ( without its )");
	r->at++;
	return SW_OK;
}

static sw_status read_factor(struct reader *r, struct poly *out)
{
	double sign = 1;
	sw_status rc;

	out->n = 0;
	out->constant = 0;
	/* A loop, not a call for each sign, so that signs need no limit on their depth. */
	for (skip_space(r); *r->at == '-' || *r->at == '+'; skip_space(r))
		sign = *r->at++ == '-' ? -sign : sign;
	const char *end = is_digit(*r->at) || *r->at == '.' ? number_end(r->at) : NULL;
	if (end != NULL)
		rc = read_number(r, end, out);
	else if (*r->at == '(')
		rc = read_inside(r, out);
	else if (*r->at == '`' || in_name(*r->at))
		rc = read_name(r, out);
	else if (*r->at == '\0')
		rc = fail_at(r, r->at, "the text ends where a number or a parameter must stand");
	else
		rc = fail_at(r, r->at, "a number or a parameter must stand here");
	if (rc == SW_OK && sign < 0)
		scale_poly(out, -1);
	return rc;
}

static sw_status read_product(struct reader *r, struct poly *out)
{
	struct poly next;

	sw_status rc = read_factor(r, out);
	for (skip_space(r); rc == SW_OK && (*r->at == '*' || *r->at == '/'); skip_space(r)) {
		const char *place = r->at++;

		rc = read_factor(r, &next);
		if (rc != SW_OK)
			break;
		if (*place == '*')
			rc = multiply_polys(r, out, &next, place);
		/* A polynomial stays one only over a constant; a / b <= c is written a <= b * c by
		 * who knows b's sign. */
		else if (next.n > 0)
			rc = fail_at(r, place, "only a number can be divided by");
		else if (next.constant == 0)
			rc = fail_at(r, place, "division by 0");
		else
			for (size_t i = 0; i <= out->n; i++)
				*(i < out->n ? &out->term[i].coef : &out->constant) /=
					next.constant;
	}
	return rc;
}

static sw_status read_sum(struct reader *r, struct poly *out)
{
	struct poly next;

	sw_status rc = read_product(r, out);
	for (skip_space(r); rc == SW_OK && (*r->at == '+' || *r->at == '-'); skip_space(r)) {
		const char *place = r->at++;

		rc = read_product(r, &next);
		if (rc == SW_OK)
			rc = add_poly(r, out, &next, *place == '-' ? -1 : 1, place);
	}
	return rc;
}

static sw_status read_op(struct reader *r, enum sw_compare *out)
{
	/* "<=" before "<": the first that fits is taken. */
	static const struct {
		const char *text;
		enum sw_compare op;
	} ops[] = {{"<=", SW_LE}, {">=", SW_GE}, {"==", SW_EQ},
		   {"!=", SW_NE}, {"<", SW_LT},  {">", SW_GT}};
	const char *place = r->at;

	for (size_t i = 0; i < SW_SPEC_N(ops); i++) {
		if (strncmp(place, ops[i].text, strlen(ops[i].text)) != 0)
			continue;
		*out = ops[i].op;
		r->at += strlen(ops[i].text);
		if (*r->at != '=' && *r->at != '<' && *r->at != '>')
			return SW_OK;
		return fail_at(r, place, "no such comparison: < <= > >= == and != are known");
	}
	if (*place == '=')
		return fail_at(r, place, "a single = ; write == , <= or >=");
	if (*place == '\0')
		return fail_at(r, place, "a comparison is missing: < <= > >= == or !=");
	return fail_at(r, place, "a comparison must stand here (< <= > >= == or !=), or + - * /");
}

static bool all_finite(const struct poly *p)
{
	bool finite = isfinite(p->constant) != 0;

	for (size_t i = 0; i < p->n; i++)
		finite = finite && isfinite(p->term[i].coef);
	return finite;
}

static sw_status keep_sum(const struct poly *p, struct sw_sum *out, struct sw_err *err)
{
	out->constant = p->constant;
	/* A side without parameters is its constant alone. */
	if (p->n == 0)
		return SW_OK;
	struct sw_term *terms = sw_malloc(p->n * sizeof *terms);
	if (terms == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	memcpy(terms, p->term, p->n * sizeof *terms);
	out->terms = terms;
	out->n_terms = p->n;
	return SW_OK;
}

static sw_status read_constraint(const struct sw_spec *s, struct sw_spec_constraint *c,
				 struct sw_err *err)
{
	struct reader r = {.spec = s, .text = c->text, .at = c->text, .err = err};
	struct poly left, right;
	sw_status rc;

	if ((rc = read_sum(&r, &left)) != SW_OK || (rc = read_op(&r, &c->rule.op)) != SW_OK ||
	    (rc = read_sum(&r, &right)) != SW_OK)
		return rc;
	if (*r.at == '<' || *r.at == '>' || *r.at == '=' || *r.at == '!')
		return fail_at(&r, r.at, "a second comparison: write two constraints");
	if (*r.at != '\0')
		return fail_at(&r, r.at, "the constraint should end here, or go on with + - * /");
	if (left.n == 0 && right.n == 0)
		return sw_err_set(err, SW_INVALID, "the constraint names no parameter");
	/* Each number was finite when it was read; products and sums of them may not be. */
	if (!all_finite(&left) || !all_finite(&right))
		return sw_err_set(err, SW_INVALID, "the numbers are beyond what a number can hold");
	rc = keep_sum(&left, &c->rule.left, err);
	return rc == SW_OK ? keep_sum(&right, &c->rule.right, err) : rc;
}

sw_status sw_spec_constraints_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const cJSON *one;

	/* One more, since an empty array is allowed and NULL means that memory is out. */
	s->constraints = sw_calloc((size_t)cJSON_GetArraySize(v) + 1, sizeof *s->constraints);
	if (s->constraints == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	cJSON_ArrayForEach (one, v) {
		struct sw_err wrong = SW_ERR_INIT;
		char ptr[48];

		(void)snprintf(ptr, sizeof ptr, "/constraints/%zu", s->n_constraints);
		struct sw_spec_constraint *c = &s->constraints[s->n_constraints++];
		c->text = one->valuestring;
		const sw_status rc = read_constraint(s, c, &wrong);
		if (rc == SW_NOMEM)
			return sw_err_set(err, rc, "out of memory");
		if (rc != SW_OK)
			/* The others are read all the same, so that one answer has the faults of
			 * all. */
			sw_fault_note(s->faults, ptr, "%s", wrong.msg);
	}
	return SW_OK;
}

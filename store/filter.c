#include "store/filter.h"
#include "base/memory.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const sw_filter_columns[] = {"trial",   "state",  "cause", "attempt", "step",
					 "seconds", "parent", "value", NULL};

enum kind { END, WORD, QUOTED, NUMBER, SIGN };

struct parser {
	struct sw_filter *f;
	const struct sw_filter_names *names;
	const char *ptr; /* of what is read: "/filter", "/sort" */
	const char *text, *at;
	enum kind kind; /* of the next token */
	const char *from;
	char token[512]; /* its text without quotes */
	bool number;     /* the values of the clause's name are numbers */
	int depth;
	char *unknown;
	struct sw_err *err;
};

/* --- tokens --- */

static sw_status wrong(struct parser *p, const char *what)
{
	size_t n = 1;

	for (const char *c = p->text; c < p->from; c++)
		n += ((unsigned char)*c & 0xc0) != 0x80; /* no further byte of a character */
	return sw_err_at(p->err, SW_INVALID, p->ptr, "%s, at character %zu: %s", p->ptr + 1, n,
			 what);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+' ||
	       c == '/' || (unsigned char)c >= 0x80;
}

static sw_status take_quoted(struct parser *p)
{
	const char quote = *p->at++;
	size_t n = 0;

	while (*p->at != '\0' && *p->at != quote) {
		if (*p->at == '\\' && p->at[1] != '\0')
			p->at++;
		if (n + 1 == sizeof p->token)
			return wrong(p, "this text is too long");
		p->token[n++] = *p->at++;
	}
	if (*p->at == '\0')
		return wrong(p, "this quote has no end");
	p->at++;
	p->token[n] = '\0';
	p->kind = QUOTED;
	return SW_OK;
}

static sw_status next(struct parser *p)
{
	size_t n = 0;

	while (isspace((unsigned char)*p->at))
		p->at++;
	p->from = p->at;
	p->token[0] = '\0';
	if (*p->at == '\0') {
		p->kind = END;
		return SW_OK;
	}
	if (*p->at == '"' || *p->at == '\'')
		return take_quoted(p);
	if (is_word(*p->at)) {
		char *end;

		while (is_word(p->at[n]) && n + 1 < sizeof p->token)
			n++;
		memcpy(p->token, p->at, n);
		p->token[n] = '\0';
		(void)strtod(p->token, &end);
		/* "inf" and "nan" are words: no value is one. */
		p->kind = *end == '\0' && strpbrk(p->token, "0123456789") != NULL ? NUMBER : WORD;
	} else {
		n = (*p->at == '<' || *p->at == '>' || *p->at == '!' || *p->at == '=') &&
				    p->at[1] == '='
			    ? 2
			    : 1;
		memcpy(p->token, p->at, n);
		p->token[n] = '\0';
		p->kind = SIGN;
	}
	p->at += n;
	return SW_OK;
}

static bool is_sign(const struct parser *p, const char *sign)
{
	return p->kind == SIGN && strcmp(p->token, sign) == 0;
}

static bool is_keyword(const struct parser *p, const char *word)
{
	return p->kind == WORD && strcasecmp(p->token, word) == 0;
}

/* --- SQL --- */

static sw_status add_value(struct parser *p, enum kind kind, const char *text)
{
	struct sw_filter *f = p->f;

	if (f->n_values == SW_FILTER_VALUES)
		return wrong(p, "too many values");
	struct sw_filter_value *v = &f->values[f->n_values];
	v->kind = kind == NUMBER ? SW_FILTER_NUMBER : SW_FILTER_TEXT;
	v->number = kind == NUMBER ? strtod(text, NULL) : 0;
	if (kind != NUMBER && (v->text = sw_strdup(text)) == NULL)
		return sw_err_set(p->err, SW_NOMEM, "out of memory");
	f->n_values++;
	return SW_OK;
}

/* The expression of a name, to out. Nothing of the text gets into SQL but as a bound value. */
static sw_status put_name(struct parser *p, const char *name, struct sw_buf *out)
{
	p->number = false;
	/* In quotes it is the sweep's own, though a column has the same name. */
	for (size_t i = 0; p->kind != QUOTED && sw_filter_columns[i] != NULL; i++)
		if (strcmp(sw_filter_columns[i], name) == 0) {
			(void)sw_buf_addf(out, "t.%s",
					  strcmp(name, "value") == 0 ? "best_value" : name);
			p->number = strcmp(name, "state") != 0 && strcmp(name, "cause") != 0;
			return SW_OK;
		}
	for (size_t i = 0; i < p->names->n_params; i++)
		if (strcmp(p->names->params[i].name, name) == 0) {
			const sw_status rc = add_value(p, WORD, p->names->params[i].path);
			(void)sw_buf_addf(out, "(t.params ->> ?%zu)", p->f->n_values);
			return rc;
		}
	if (p->names->metric != NULL && strcmp(p->names->metric, name) == 0) {
		(void)sw_buf_adds(out, "t.best_value");
		p->number = true;
		return SW_OK;
	}
	(void)snprintf(p->unknown, 128, "%s", name);
	return sw_err_at(p->err, SW_INVALID, p->ptr, "%s: the sweep has no \"%.100s\"", p->ptr + 1,
			 name);
}

/* The next token as a value. *null: it is none. */
static sw_status take_value(struct parser *p, bool *null)
{
	sw_status rc = SW_OK;

	*null = is_keyword(p, "null");
	if (p->kind != WORD && p->kind != QUOTED && p->kind != NUMBER)
		return wrong(p, "here a value belongs: a number, a word, or a text in quotes");
	if (p->number && p->kind != NUMBER && !*null)
		return wrong(p, "here a number belongs");
	/* JSON's true and false are 1 and 0 in SQL. */
	if (is_keyword(p, "true") || is_keyword(p, "false"))
		rc = add_value(p, NUMBER, is_keyword(p, "true") ? "1" : "0");
	else if (!*null)
		rc = add_value(p, p->kind, p->token);
	return rc == SW_OK ? next(p) : rc;
}

/* Behind a name: its expression stands in `where`. */
static sw_status take_list(struct parser *p)
{
	const char *between = "";
	sw_status rc = next(p);
	bool null;

	if (rc == SW_OK && !is_sign(p, "("))
		return wrong(p, "behind \"in\" a list belongs: (a, b)");
	(void)sw_buf_adds(&p->f->where, " COLLATE NOCASE IN (");
	do {
		rc = rc == SW_OK ? next(p) : rc;
		/* SQL's NULL in a list would make "not in" unknown for each trial. */
		if (rc == SW_OK && is_keyword(p, "null"))
			return wrong(p, "null stands in no list: write NAME = null");
		rc = rc == SW_OK ? take_value(p, &null) : rc;
		(void)sw_buf_addf(&p->f->where, "%s?%zu", between, p->f->n_values);
		between = ",";
	} while (rc == SW_OK && is_sign(p, ","));
	if (rc == SW_OK && !is_sign(p, ")"))
		return wrong(p, "the list does not end: ) is missing");
	(void)sw_buf_adds(&p->f->where, ")");
	return rc == SW_OK ? next(p) : rc;
}

/* SQL has each text above each number, so "lr < abc" would be true of any: with another kind it is
 * NULL, as of a value that is not there. */
static void put_order(struct parser *p, const char *name, const char *sign)
{
	const struct sw_filter *f = p->f;
	const bool text = f->values[f->n_values - 1].kind == SW_FILTER_TEXT;

	(void)sw_buf_addf(&p->f->where,
			  " %s CASE WHEN typeof(%s) %s 'text' THEN ?%zu END COLLATE NOCASE", sign,
			  name, text ? "=" : "<>", f->n_values);
}

static sw_status take_clause(struct parser *p)
{
	static const char *const signs[] = {"=", "==", "!=", "<", "<=", ">", ">=", "~"};
	struct sw_buf *b = &p->f->where;
	const size_t from = b->len;
	char name[64] = "";
	size_t i = 0;
	bool null;

	if (p->kind != WORD && p->kind != QUOTED)
		return wrong(p, "here a name belongs: a parameter, state, step, value, ...");
	sw_status rc = put_name(p, p->token, b);
	rc = rc == SW_OK ? next(p) : rc;
	if (rc != SW_OK)
		return rc;
	if (b->failed == SW_OK)
		(void)snprintf(name, sizeof name, "%s", b->data + from);
	if (is_keyword(p, "in"))
		return take_list(p);
	while (i < sizeof signs / sizeof *signs && !is_sign(p, signs[i]))
		i++;
	if (i == sizeof signs / sizeof *signs)
		return wrong(p, "here =, !=, <, <=, >, >=, ~ or in belongs");
	const char *sign = signs[i];
	p->number = p->number && *sign != '~';
	rc = next(p);
	rc = rc == SW_OK ? take_value(p, &null) : rc;
	if (rc != SW_OK)
		return rc;
	if (null)
		(void)sw_buf_adds(b, strcmp(sign, "!=") == 0 ? " IS NOT NULL" : " IS NULL");
	else if (*sign == '~')
		/* The text's own % and _ stand for themselves. */
		(void)sw_buf_addf(b,
				  " LIKE '%%' || replace(replace(replace(?%zu, '!', '!!'), '%%',"
				  " '!%%'), '_', '!_') || '%%' ESCAPE '!'",
				  p->f->n_values);
	else if (*sign == '<' || *sign == '>')
		put_order(p, name, sign);
	else
		/* Of texts any case counts: states are written in capitals. */
		(void)sw_buf_addf(b, " %s ?%zu COLLATE NOCASE", sign, p->f->n_values);
	return SW_OK;
}

static sw_status take_expr(struct parser *p);

static sw_status take_factor(struct parser *p)
{
	sw_status rc;

	if (++p->depth > SW_FILTER_DEPTH)
		return wrong(p, "it is nested too deeply");
	if (is_keyword(p, "not")) {
		/* A clause about a value that is not there is NULL, and so is its "not". */
		(void)sw_buf_adds(&p->f->where, "NOT ");
		rc = next(p);
		rc = rc == SW_OK ? take_factor(p) : rc;
	} else if (is_sign(p, "(")) {
		(void)sw_buf_adds(&p->f->where, "(");
		rc = next(p);
		rc = rc == SW_OK ? take_expr(p) : rc;
		if (rc == SW_OK && !is_sign(p, ")"))
			return wrong(p, ") is missing");
		(void)sw_buf_adds(&p->f->where, ")");
		rc = rc == SW_OK ? next(p) : rc;
	} else {
		rc = take_clause(p);
	}
	p->depth--;
	return rc;
}

/* SQL binds AND and OR as this does. */
static sw_status take_expr(struct parser *p)
{
	sw_status rc = take_factor(p);

	while (rc == SW_OK && (is_keyword(p, "and") || is_keyword(p, "or"))) {
		(void)sw_buf_adds(&p->f->where, is_keyword(p, "and") ? " AND " : " OR ");
		rc = next(p);
		rc = rc == SW_OK ? take_factor(p) : rc;
	}
	return rc;
}

sw_status sw_filter_parse(struct sw_filter *f, const char *text, const char *sort,
			  const struct sw_filter_names *names, char unknown[128],
			  struct sw_err *err)
{
	struct parser p = {
		.f = f, .names = names, .ptr = "/filter", .unknown = unknown, .err = err};
	sw_status rc = SW_OK;

	*f = (struct sw_filter){.n_values = 0};
	sw_buf_init(&f->where, 65536);
	sw_buf_init(&f->order, 1024);
	unknown[0] = '\0';
	p.text = p.at = p.from = text != NULL ? text : "";
	if (strlen(p.text) > SW_FILTER_MAX)
		return sw_err_at(err, SW_INVALID, p.ptr, "a filter has at most %d bytes",
				 SW_FILTER_MAX);
	rc = next(&p);
	if (rc == SW_OK && p.kind == END)
		(void)sw_buf_adds(&f->where, "TRUE");
	else if (rc == SW_OK)
		rc = take_expr(&p);
	if (rc == SW_OK && p.kind != END)
		rc = wrong(&p, "here \"and\" or \"or\" belongs");
	if (rc == SW_OK && sort != NULL && sort[0] != '\0') {
		f->descending = sort[0] == '-';
		p.ptr = "/sort";
		p.text = p.at = p.from = sort + f->descending;
		/* Without quotes it is a name as it stands, though it has blanks. */
		if (*p.at == '"' || *p.at == '\'')
			rc = next(&p);
		if (rc == SW_OK && p.kind == QUOTED && *p.at != '\0')
			rc = wrong(&p, "a sort is one name");
		if (rc == SW_OK)
			rc = put_name(&p, p.kind == QUOTED ? p.token : p.at, &f->order);
	}
	if (rc == SW_OK && (f->where.failed != SW_OK || f->order.failed != SW_OK))
		rc = sw_err_set(err, SW_NOMEM, "out of memory");
	return rc;
}

void sw_filter_fini(struct sw_filter *f)
{
	for (size_t i = 0; i < f->n_values; i++)
		free(f->values[i].text);
	sw_buf_fini(&f->where);
	sw_buf_fini(&f->order);
}

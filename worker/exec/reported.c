#include "worker/exec/reported.h"
#include "base/text.h"
#include "proto/frame.h"
#include "proto/json.h"
#include "worker/exec/pairs.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* As the daemon takes them (daemon/plan/metrics.h). */
#define TEXT_PAIRS_MAX 256
#define TEXT_NAME_MAX  64

/* Python's words for numbers that JSON has none for, and the wire's. */
static const struct word {
	const char *python, *wire;
} words[] = {{"NaN", "\"nan\""}, {"-Infinity", "\"-inf\""}, {"Infinity", "\"inf\""}};

/* The word that the text begins with, or NULL. */
static const struct word *word_at(const char *text, size_t left)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const size_t n = strlen(words[i].python);

		if (n <= left && memcmp(text, words[i].python, n) == 0)
			return &words[i];
	}
	return NULL;
}

/* Appends the line with the wire's words in place of Python's, those outside of strings. */
static sw_status add_translated(struct sw_buf *b, const char *line, size_t len)
{
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		const struct word *w = quoted ? NULL : word_at(line + i, len - i);

		if (w) {
			sw_buf_adds(b, w->wire);
			i += strlen(w->python) - 1;
			continue;
		}
		if (quoted && line[i] == '\\' && i + 1 < len)
			sw_buf_add(b, &line[i++], 1);
		else if (line[i] == '"')
			quoted = !quoted;
		sw_buf_add(b, &line[i], 1);
	}
	return b->failed;
}

/* Parses a line as JSON; one that fails for a word of Python is translated and tried again. */
static sw_status parse(cJSON **out, const char *line, size_t len, struct sw_err *err)
{
	struct sw_buf b;
	sw_status rc = sw_json_parse(out, line, len, err);

	/* Only after a failure: most lines are JSON, and are parsed once. */
	if (rc != SW_PARSE || (!memmem(line, len, "NaN", 3) && !memmem(line, len, "Infinity", 8)))
		return rc;
	sw_buf_init(&b, SW_FRAME_MAX / 2);
	rc = add_translated(&b, line, len);
	if (rc == SW_OK)
		rc = sw_json_parse(out, b.data, b.len, NULL); /* the first error is of the line */
	if (rc == SW_OK)
		*err = (struct sw_err)SW_ERR_INIT;
	sw_buf_fini(&b);
	return rc;
}

/* Is it one of the wire's words for a number that JSON has none for? */
static bool is_word(const cJSON *v)
{
	return cJSON_IsString(v) &&
	       (strcmp(v->valuestring, "nan") == 0 || strcmp(v->valuestring, "inf") == 0 ||
		strcmp(v->valuestring, "-inf") == 0);
}

/* Says what the metric is instead of a number, or in which object it is. */
static void explain(struct sw_reported *r, const cJSON *v, const char *metric)
{
	const bool own = strcmp(v->string, metric) == 0;
	char *text = own ? cJSON_PrintUnformatted(v) : NULL;

	if (text)
		(void)snprintf(r->why, sizeof r->why, "\"%.40s\" is %.50s, no number", metric,
			       text);
	else if (!own && cJSON_IsNumber(sw_json_get(v, metric)))
		(void)snprintf(r->why, sizeof r->why, "\"%.40s\" is within \"%.40s\"", metric,
			       v->string);
	cJSON_free(text);
}

/* 3.0 as well, as a program writes it that counts in reals. */
static bool read_step(const cJSON *v, uint64_t *out)
{
	const double step = cJSON_IsNumber(v) ? v->valuedouble : -1;

	/* Above 2^53 a double no longer tells two steps apart. */
	*out = step >= 0 && step < 0x1p53 ? (uint64_t)step : 0;
	return step >= 0 && (double)*out - step >= 0;
}

/* Takes one member of the report: a number goes into the text for the daemon. */
static sw_status take_value(struct sw_reported *r, struct sw_jw *w, const cJSON *v,
			    const char *metric, struct sw_printed *printed, struct sw_err *err)
{
	if (strcmp(v->string, "step") == 0) {
		r->has_step = read_step(v, &r->step);
		if (!r->has_step)
			return sw_err_set(err, SW_INVALID, "\"step\" must be a whole number");
	} else if (strcmp(v->string, "checkpoint") == 0 && cJSON_IsBool(v)) {
		r->checkpoint = cJSON_IsTrue(v);
	} else if (cJSON_IsNumber(v) || is_word(v)) {
		sw_jw_key(w, v->string);
		sw_jw_cjson(w, v);
		r->has_metric |= !metric || strcmp(v->string, metric) == 0;
		if (printed)
			sw_printed_name(printed, v->string, strlen(v->string));
	} else {
		if (!*r->left_out)
			(void)sw_text_show(v->string, r->left_out);
		if (metric && !*r->why)
			explain(r, v, metric);
	}
	return SW_OK;
}

/* Skips blanks, colours, a byte order mark, and of the given characters one each. */
static const char *skip_decoration(const char *at, const char *end, const char *more)
{
	for (; at < end; at++) {
		if (end - at > 2 && memcmp(at, "\033[", 2) == 0)
			at += 2 + strspn(at + 2, "0123456789;:?");
		else if (end - at > 2 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
			at += 2;
		else if (*more != '\0' && *at == *more)
			more++;
		else if (*at != ' ' && *at != '\t')
			break;
	}
	return at < end ? at : end;
}

const char *sw_reported_object(const char *line, size_t *len)
{
	const char *end = line + *len, *at = skip_decoration(line, end, ""), *open;

	open = memchr(at, '{', (size_t)(end - at));
	if (!open ||
	    (open > at && (open[-1] != ']' || sw_words_percent(at, (size_t)(open - at)) < 0)))
		return NULL;
	const char *close = memrchr(open, '}', (size_t)(end - open));
	if (close && skip_decoration(close + 1, end, ",") == end)
		end = close + 1;
	*len = (size_t)(end - open);
	return open;
}

/* Does the metric stand in it as a name of its own? */
static bool names(const char *line, size_t len, const char *metric)
{
	const size_t n = strlen(metric);
	const char *end = line + len, *at = line;

	for (; (at = memmem(at, (size_t)(end - at), metric, n)) != NULL; at++)
		if ((at == line || !sw_pair_names(at[-1])) &&
		    (at + n == end || !sw_pair_names(at[n])))
			return true;
	return false;
}

sw_status sw_reported_read(struct sw_reported *out, const char *line, size_t len,
			   const char *metric, struct sw_printed *printed, struct sw_err *err)
{
	struct sw_jw w;
	cJSON *tree = NULL;
	sw_status rc;

	*out = (struct sw_reported){0};
	sw_buf_init(&out->text, SW_FRAME_MAX / 2);
	rc = parse(&tree, line, len, err);
	if (rc == SW_NOMEM)
		return sw_err_set(err, rc, "no memory for a report");
	if (rc != SW_OK || !cJSON_IsObject(tree)) {
		cJSON_Delete(tree);
		out->has_metric = metric && names(line, len, metric);
		const bool python = len > 1 && memcmp(line, "{'", 2) == 0;

		if (err->code != SW_OK && *line == '{' && !python)
			return SW_INVALID;
		*err = (struct sw_err)SW_ERR_INIT; /* the parser's is about what is no object */
		return sw_err_set(
			err, SW_INVALID,
			python ? "a dict as Python shows it is no JSON: print json.dumps()"
			       : "it is no JSON object");
	}
	sw_jw_init_obj(&w, &out->text);
	for (const cJSON *v = tree->child; v; v = v->next) {
		const sw_status one = take_value(out, &w, v, metric, printed, err);

		rc = rc == SW_OK ? one : rc;
	}
	sw_jw_obj_end(&w);
	cJSON_Delete(tree);
	return rc == SW_OK ? out->text.failed : rc;
}

/* Was a pair of that name before this one in the line? */
static bool is_again(const char *line, const char *metric, const struct sw_pair *pair)
{
	struct sw_pair one;

	while (sw_pair_next(&line, metric, &one) && one.name < pair->name)
		if (one.sign && one.len == pair->len && memcmp(one.name, pair->name, one.len) == 0)
			return true;
	return false;
}

sw_status sw_reported_text(struct sw_reported *out, const char *line, const char *metric)
{
	const char *at = line;
	struct sw_pair pair;
	char name[TEXT_NAME_MAX + 1];
	struct sw_jw w;

	*out = (struct sw_reported){0};
	sw_buf_init(&out->text, SW_FRAME_MAX / 2);
	sw_jw_init_obj(&w, &out->text);
	for (size_t n = 0; n < TEXT_PAIRS_MAX && sw_pair_next(&at, metric, &pair); n++) {
		if (pair.count && pair.whole && pair.value < 0x1p53 && !out->has_step) {
			out->has_step = true;
			out->step = (uint64_t)pair.value;
		}
		if (pair.count || !pair.sign || pair.len > TEXT_NAME_MAX ||
		    is_again(line, metric, &pair))
			continue;
		memcpy(name, pair.name, pair.len);
		name[pair.len] = '\0';
		sw_jw_kmetric(&w, name, pair.value);
		out->has_metric |= !metric || strcmp(name, metric) == 0;
	}
	sw_jw_obj_end(&w);
	return out->text.failed;
}

void sw_reported_fini(struct sw_reported *r)
{
	sw_buf_fini(&r->text);
}

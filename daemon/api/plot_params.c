#include "daemon/api/plot_params.h"
#include "base/buf.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCANNED_NAMES 32 /* values of a category: of more the one is found by order, in a tree */

/* --- what there is --- */

static enum sw_plot_scale scale_of(const struct sw_spec_param *p)
{
	switch (p->dist) {
	case SW_DIST_CONSTANT:
	case SW_DIST_CATEGORICAL:
		return SW_PLOT_CATEGORY;
	case SW_DIST_LOG_UNIFORM:
	case SW_DIST_INV_LOG_UNIFORM:
	case SW_DIST_Q_LOG_UNIFORM:
	case SW_DIST_POW2:
	case SW_DIST_LOG_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
	case SW_DIST_INT_LOG_UNIFORM:
		return SW_PLOT_LOG;
	default:
		return SW_PLOT_LINEAR;
	}
}

/* A value as a reader knows it: a string without its quotes. */
static char *word_of(const cJSON *v)
{
	struct sw_buf b;
	struct sw_jw w;

	if (cJSON_IsString(v))
		return sw_strdup(v->valuestring);
	sw_buf_init(&b, (size_t)1 << 24); /* a list may be as long as a spec */
	sw_jw_init(&w, &b);
	sw_jw_cjson(&w, v);
	return sw_buf_take(&b, NULL);
}

static bool describe_names(const struct sw_spec_param *from, struct sw_plot_param *to)
{
	const size_t n = from->value != NULL ? 1 : from->n_values;
	char **names = sw_calloc(n + 1, sizeof *names);
	const cJSON *v = from->value != NULL ? from->value : from->values->child;

	to->names = (const char *const *)names;
	if (names == NULL)
		return false;
	for (; to->n_names < n && v != NULL; v = v->next) {
		names[to->n_names] = word_of(v);
		if (names[to->n_names] == NULL)
			return false;
		to->n_names++;
	}
	return true;
}

sw_status sw_plot_params_describe(const struct sw_spec *s, struct sw_plot_param **out,
				  struct sw_err *err)
{
	bool ok = true;

	*out = sw_calloc(s->n_params + 1, sizeof **out);
	if (*out == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	for (size_t i = 0; i < s->n_params && ok; i++) {
		const struct sw_spec_param *p = &s->params[i];
		(*out)[i].name = p->name;
		(*out)[i].scale = scale_of(p);
		if ((*out)[i].scale == SW_PLOT_CATEGORY)
			ok = describe_names(p, &(*out)[i]);
	}
	return ok ? SW_OK : sw_err_set(err, SW_NOMEM, "out of memory");
}

void sw_plot_params_free(const struct sw_spec *s, struct sw_plot_param *params)
{
	for (size_t i = 0; params != NULL && i < s->n_params; i++) {
		for (size_t k = 0; k < params[i].n_names; k++)
			free((char *)params[i].names[k]);
		free((void *)params[i].names);
	}
	free(params);
}

/* --- what a trial has --- */

static const cJSON *group_of(const cJSON *root, const struct sw_spec_group *group)
{
	if (group == NULL)
		return root;
	return sw_json_get(group_of(root, group->parent), group->key);
}

static double number_of(const struct sw_spec_param *p, const cJSON *v)
{
	if (v == NULL)
		return NAN;
	if (p->value != NULL)
		return 0;
	if (p->values != NULL) {
		const size_t i = sw_spec_value_find(p, v);
		return i < p->n_values ? (double)i : NAN;
	}
	return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

/* The token of a value at *p: a string without its quotes. NULL: it has escapes. */
static const char *next_token(const char **p, size_t *n)
{
	const bool quoted = **p == '"';
	const char *start = *p + (quoted ? 1 : 0);

	*n = strcspn(start, quoted ? "\"\\" : ",}");
	*p = start + *n + (quoted ? 1 : 0);
	return quoted && start[*n] != '"' ? NULL : start;
}

/* Finds its place among the values; NaN: it has none, or it cannot be told here. */
static double find_value(const struct sw_spec_param *p, const struct sw_plot_param *param,
			 const char **text)
{
	const bool quoted = **text == '"';
	const cJSON *v = p->values != NULL ? p->values->child : p->value;
	size_t n;
	const char *token = next_token(text, &n);

	for (size_t k = 0; token != NULL && k < param->n_names && k < SCANNED_NAMES; k++) {
		if (strncmp(param->names[k], token, n) == 0 && param->names[k][n] == '\0' &&
		    cJSON_IsString(v) == quoted)
			return (double)k;
		v = v->next;
	}
	return NAN;
}

/* A flat object as sw_plan_params() writes it, without a tree: a fifth of the time. False: it is
 * none, or has something rare; out may then be half written. */
static bool scan(const struct sw_spec *s, const struct sw_plot_param *params, const char *p,
		 double *out)
{
	if (s->n_groups > 0 || p == NULL || *p++ != '{')
		return false;
	for (size_t i = 0; i < s->n_params; i++) {
		const size_t n = strlen(s->params[i].key);
		out[i] = NAN;
		/* One that is not active has no key, and the next one's is compared with this. */
		if (p[0] != '"' || strncmp(p + 1, s->params[i].key, n) != 0 ||
		    strncmp(p + 1 + n, "\":", 2) != 0)
			continue;
		p += n + 3;
		if (params[i].scale == SW_PLOT_CATEGORY) {
			out[i] = find_value(&s->params[i], &params[i], &p);
			if (isnan(out[i]))
				return false;
		} else {
			const char *end;
			out[i] = sw_json_num_read(p, &end);
			if (end == p)
				return false;
			p = end;
		}
		p += *p == ',';
	}
	return p[0] == '}' && p[1] == '\0';
}

void sw_plot_params_read(const struct sw_spec *s, const struct sw_plot_param *params,
			 const char *text, double *out)
{
	if (scan(s, params, text, out))
		return;
	/* The store's own text was checked when it was written. */
	cJSON *root = text != NULL ? cJSON_Parse(text) : NULL;
	const cJSON *next = NULL;
	const struct sw_spec_group *group = NULL;
	const cJSON *object = root;

	for (size_t i = 0; i < s->n_params; i++) {
		const struct sw_spec_param *p = &s->params[i];
		if (i == 0 || p->group != group) {
			group = p->group;
			object = group_of(root, group);
			next = object != NULL ? object->child : NULL;
		}
		/* They come in the spec's order: mostly it is the next one. */
		const cJSON *v = next != NULL && strcmp(next->string, p->key) == 0
					 ? next
					 : sw_json_get(object, p->key);
		if (v != NULL)
			next = v->next;
		out[i] = number_of(p, v);
	}
	cJSON_Delete(root);
}

void sw_plot_params_vary(struct sw_plot_param *params, const struct sw_plot_data *d)
{
	for (size_t k = 0; k < d->n_params; k++) {
		double first = NAN;
		for (size_t i = 0; i < d->n && !params[k].varied; i++) {
			const double v = d->trials[i].params[k];
			if (isnan(first))
				first = v;
			params[k].varied = !isnan(v) && v != first;
		}
	}
}

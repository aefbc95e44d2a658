#include "daemon/api/trial_filter.h"
#include "base/memory.h"
#include "proto/nearest.h"
#include "store/read.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* $."opt"."wd". SQLite's paths cannot hold a quote: no trial has a value by such a name. */
static char *path_of(const struct sw_spec_param *p)
{
	const char *keys[SW_SPEC_MAX_PARAM_NAME];
	struct sw_buf b;
	size_t n = 0;

	keys[n++] = p->key;
	for (const struct sw_spec_group *g = p->group; g != NULL && n < SW_SPEC_MAX_PARAM_NAME;
	     g = g->parent)
		keys[n++] = g->key;
	sw_buf_init(&b, 1024);
	(void)sw_buf_adds(&b, "$");
	while (n-- > 0)
		(void)sw_buf_addf(&b, ".\"%s\"", keys[n]);
	return sw_buf_take(&b, NULL);
}

static void suggest(const struct sw_spec *spec, const char *unknown, struct sw_err *err)
{
	const char *names[SW_SPACE_MAX_PARAMS + 16];
	size_t n = 0;

	for (; n < spec->n_params && n < SW_SPACE_MAX_PARAMS; n++)
		names[n] = spec->params[n].name;
	for (size_t i = 0; sw_filter_columns[i] != NULL; i++)
		names[n++] = sw_filter_columns[i];
	if (spec->metric != NULL)
		names[n++] = spec->metric;
	const char *near = sw_nearest(unknown, names, n);
	const size_t len = strlen(err->msg);
	if (near != NULL)
		(void)snprintf(err->msg + len, sizeof err->msg - len, "; did you mean \"%.100s\"?",
			       near);
}

sw_status sw_trial_filter(struct sw_filter *f, const struct sw_spec *spec, const char *text,
			  const char *sort, struct sw_err *err)
{
	struct sw_filter_param *params = sw_calloc(spec->n_params + 1, sizeof *params);
	const struct sw_filter_names names = {
		.metric = spec->metric, .params = params, .n_params = spec->n_params};
	struct sw_err why = SW_ERR_INIT;
	char unknown[128] = "";
	sw_status rc = params != NULL ? SW_OK : SW_NOMEM;

	*f = (struct sw_filter){.n_values = 0};
	for (size_t i = 0; i < spec->n_params && rc == SW_OK; i++) {
		params[i].name = spec->params[i].name;
		params[i].path = path_of(&spec->params[i]);
		rc = params[i].path != NULL ? SW_OK : SW_NOMEM;
	}
	if (rc == SW_OK)
		rc = sw_filter_parse(f, text, sort, &names, unknown, &why);
	if (unknown[0] != '\0')
		suggest(spec, unknown, &why);
	if (rc != SW_OK)
		rc = sw_err_at(err, rc, why.ptr, "%s",
			       why.msg[0] != '\0' ? why.msg : "out of memory");
	for (size_t i = 0; i < spec->n_params && params != NULL; i++)
		free((char *)params[i].path);
	free(params);
	return rc;
}

struct stored {
	struct sw_spec *spec;
	sw_status rc;
	struct sw_err *err;
};

static bool take_spec(const struct sw_row_sweep *row, void *arg)
{
	struct stored *s = arg;

	s->rc = sw_spec_parse(&s->spec, row->spec, strlen(row->spec), s->err);
	return false;
}

sw_status sw_trial_filter_stored(struct sw_filter *f, struct sw_db *db, int64_t sweep,
				 const char *text, const char *sort, struct sw_err *err)
{
	struct stored s = {.err = err};
	sw_status rc = sw_read_sweeps(db, sweep, take_spec, &s, err);

	*f = (struct sw_filter){.n_values = 0};
	rc = rc == SW_OK ? s.rc : rc;
	if (rc != SW_OK)
		return rc;
	if (s.spec == NULL)
		return sw_err_at(err, SW_NOT_FOUND, "/sweep", "no sweep %lld", (long long)sweep);
	rc = sw_trial_filter(f, s.spec, text, sort, err);
	sw_spec_destroy(s.spec);
	return rc;
}

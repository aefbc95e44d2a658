#include "daemon/plan/refine.h"
#include "daemon/plan/plan.h"
#include "proto/json.h"
#include "spec/spec.h"
#include "store/read.h"
#include <math.h>
#include <string.h>

struct refine {
	struct sw_spec_refine want;
	struct sw_spec *old;
	struct sw_space *space;
	bool maximize;
	bool found; /* a best trial */
	/* The span of each parameter among the best trials; low above high: no one had it
	 * active. */
	double low[SW_SPACE_MAX_PARAMS], high[SW_SPACE_MAX_PARAMS];
	sw_status rc;
	struct sw_err *err;
};

bool sw_refine_wanted(const cJSON *spec)
{
	return cJSON_IsObject(spec) && sw_json_get(spec, "refine") != NULL &&
	       sw_json_get(spec, "parameters") == NULL;
}

sw_status sw_refine_check(const cJSON *spec, struct sw_err *err)
{
	/* Without "refine" there is nothing to resolve. A spec that is no object at all, the
	 * reader of specs refuses with a better line. */
	if (!cJSON_IsObject(spec) || sw_json_get(spec, "refine") == NULL || sw_refine_wanted(spec))
		return SW_OK;
	return sw_err_at(err, SW_INVALID, "/refine",
			 "\"refine\" makes the parameters from the best trials of a sweep: give it "
			 "or \"parameters\", not both");
}

static bool take_sweep(const struct sw_row_sweep *row, void *arg)
{
	struct refine *r = arg;

	if (sw_row_is_gone(row->gone))
		return false;
	r->maximize = row->maximize;
	r->rc = sw_spec_parse(&r->old, row->spec, strlen(row->spec), r->err);
	if (r->rc == SW_OK && r->old->n_metrics != 1)
		r->rc = sw_err_at(r->err, SW_INVALID, "/refine/of",
				  "sweep %lld has %zu metrics, and no best trial to go around",
				  (long long)row->sweep, r->old->n_metrics);
	if (r->rc == SW_OK)
		r->rc = sw_plan_space(&r->space, r->old, r->err);
	return false;
}

static bool take_trial(const struct sw_row_trial *row, void *arg)
{
	struct refine *r = arg;
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	bool active[SW_SPACE_MAX_PARAMS];
	cJSON *params = NULL;

	r->found = true;
	r->rc = sw_json_parse(&params, row->params, strlen(row->params), r->err);
	if (r->rc == SW_OK)
		r->rc = sw_plan_read(r->old, r->space, params, values, active, r->err);
	cJSON_Delete(params);
	if (r->rc != SW_OK)
		return false;
	/* The trial may have been given parameters that were not active; they say nothing of
	 * what is good. */
	sw_space_active(r->space, values, active);
	for (size_t i = 0; i < sw_space_size(r->space); i++) {
		if (!active[i])
			continue;
		r->low[i] = fmin(r->low[i], values[i].number);
		r->high[i] = fmax(r->high[i], values[i].number);
	}
	return true;
}

/* Has parameter i a range of its own? A condition names values of its parent, so a parent keeps
 * those that it had. */
static bool is_narrowed(const struct refine *r, size_t i)
{
	for (size_t k = 0; k < r->old->n_conds; k++)
		if (r->old->conds[k].parent == i)
			return false;
	return sw_space_bounded(r->space, i) && r->low[i] <= r->high[i];
}

static bool add_number(const struct refine *r, cJSON *out, const char *key, size_t i, double v)
{
	cJSON *made = cJSON_AddNumberToObject(out, key, v);

	if (made != NULL && !r->old->params[i].integers)
		made->type |= SW_JSON_REAL;
	return made != NULL;
}

/* As the body of a parameter has it, in values: `edit --range` writes them so, too. */
static cJSON *write_range(const struct refine *r, const cJSON *body, size_t i)
{
	const struct sw_param *p = sw_space_param(r->space, i);
	const cJSON *when = sw_json_get(body, "when");
	const bool stepped = p->dist == SW_DIST_Q_UNIFORM || p->dist == SW_DIST_Q_LOG_UNIFORM;
	cJSON *out = cJSON_CreateObject();
	bool ok;

	if (r->low[i] < r->high[i])
		ok = cJSON_AddStringToObject(out, "distribution", sw_dist_name(p->dist)) != NULL &&
		     add_number(r, out, "min", i, r->low[i]) &&
		     add_number(r, out, "max", i, r->high[i]) &&
		     (!stepped || add_number(r, out, "q", i, p->q));
	else
		ok = add_number(r, out, "value", i, r->low[i]);
	if (ok && (when == NULL || cJSON_AddItemToObject(out, "when", cJSON_Duplicate(when, true))))
		return out;
	cJSON_Delete(out);
	return NULL;
}

/* Parameters stand in the tree in the order in which the spec numbers them; a group has no number
 * of its own. False: memory, or a stored spec that has fewer than its tree. */
static bool narrow_all(const struct refine *r, cJSON *params, size_t *i)
{
	for (cJSON *body = params != NULL ? params->child : NULL, *next; body != NULL;
	     body = next) {
		cJSON *group = cJSON_GetObjectItemCaseSensitive(body, "parameters"), *made;

		next = body->next;
		if (group != NULL) {
			if (!narrow_all(r, group, i))
				return false;
			continue;
		}
		if (*i >= r->old->n_params)
			return false;
		if (is_narrowed(r, *i)) {
			made = write_range(r, body, *i);
			if (made == NULL ||
			    !cJSON_ReplaceItemInObjectCaseSensitive(params, body->string, made))
				return false;
		}
		(*i)++;
	}
	return true;
}

/* The new spec's own words count; the rest is the earlier sweep's. */
static cJSON *write_spec(const struct refine *r, const cJSON *spec)
{
	static const char *const inherited[] = {
		"metric",  "trainer", "early_terminate", "resources",   "parallel",  "command",
		"program", "run",     "executor",        "constraints", "parameters"};
	cJSON *out = cJSON_Duplicate(spec, true);
	size_t i = 0;
	bool ok = out != NULL;

	for (size_t k = 0; k < sizeof inherited / sizeof inherited[0] && ok; k++) {
		const cJSON *v = sw_json_get(r->old->tree, inherited[k]);

		if (v != NULL && sw_json_get(spec, inherited[k]) == NULL)
			ok = cJSON_AddItemToObject(out, inherited[k], cJSON_Duplicate(v, true));
	}
	if (ok && narrow_all(r, cJSON_GetObjectItemCaseSensitive(out, "parameters"), &i))
		return out;
	cJSON_Delete(out);
	return NULL;
}

static sw_status read_best(struct refine *r, struct sw_db *db)
{
	for (size_t i = 0; i < SW_SPACE_MAX_PARAMS; i++) {
		r->low[i] = INFINITY;
		r->high[i] = -INFINITY;
	}
	sw_status rc = sw_read_best(db, (int64_t)r->want.of, r->maximize, "all",
				    (int64_t)r->want.top, take_trial, r, r->err);
	if (rc == SW_OK)
		rc = r->rc;
	if (rc == SW_OK && !r->found)
		rc = sw_err_at(r->err, SW_CONFLICT, "/refine/of",
			       "sweep %llu has no trial with a value yet",
			       (unsigned long long)r->want.of);
	return rc;
}

sw_status sw_refine_resolve(cJSON **out, const cJSON *spec, struct sw_db *db, struct sw_err *err)
{
	struct refine r = {.err = err};
	sw_status rc = sw_spec_refine_read(&r.want, sw_json_get(spec, "refine"), err);

	*out = NULL;
	if (rc != SW_OK)
		return rc;
	rc = sw_read_sweeps(db, (int64_t)r.want.of, take_sweep, &r, err);
	if (rc == SW_OK)
		rc = r.rc;
	if (rc == SW_OK && r.space == NULL)
		rc = sw_err_at(err, SW_NOT_FOUND, "/refine/of", "no sweep %llu",
			       (unsigned long long)r.want.of);
	if (rc == SW_OK)
		rc = read_best(&r, db);
	if (rc == SW_OK) {
		*out = write_spec(&r, spec);
		if (*out == NULL)
			rc = sw_err_set(err, SW_NOMEM, "out of memory");
	}
	sw_space_destroy(r.space);
	sw_spec_destroy(r.old);
	return rc;
}

#include "daemon/plan/refine.h"
#include "base/memory.h"
#include "daemon/plan/plan.h"
#include "proto/json.h"
#include "spec/spec.h"
#include "store/read.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct refine {
	struct sw_spec_refine want;
	struct sw_spec *old;
	struct sw_space *space;
	bool maximize;
	struct sw_value *values; /* [n][parameters] of the best trials, best first */
	bool *given;             /* [n][parameters]: it is active there */
	size_t n;
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
	const size_t n = sw_space_size(r->space);
	cJSON *params = NULL;

	r->rc = sw_json_parse(&params, row->params, strlen(row->params), r->err);
	if (r->rc == SW_OK)
		r->rc = sw_plan_read(r->old, r->space, params, r->values + r->n * n,
				     r->given + r->n * n, r->err);
	/* The trial may have been given parameters that were not active; they say nothing of
	 * what is good. */
	if (r->rc == SW_OK)
		sw_space_active(r->space, r->values + r->n * n, r->given + r->n * n);
	cJSON_Delete(params);
	r->n++;
	return r->rc == SW_OK;
}

static bool same_value(struct sw_value a, struct sw_value b)
{
	return a.choice == b.choice && !(a.number < b.number) && !(a.number > b.number);
}

/* Appends one value of parameter i as JSON. */
static bool add_value(const struct refine *r, cJSON *list, size_t i, struct sw_value v)
{
	const struct sw_spec_param *p = &r->old->params[i];
	cJSON *one = p->values != NULL
			     ? cJSON_Duplicate(cJSON_GetArrayItem(p->values, (int)v.choice), true)
			     : cJSON_CreateNumber(v.number);

	if (one != NULL && p->values == NULL && !p->integers)
		one->type |= SW_JSON_REAL;
	return cJSON_AddItemToArray(list, one);
}

/* The categories that the best trials had, the best one's first. */
static bool list_choices(const struct refine *r, cJSON *list, size_t i)
{
	const size_t n = sw_space_size(r->space);
	bool ok = true;

	for (size_t k = 0; k < r->n; k++) {
		/* A trial in which it was not active has no value to list. */
		bool seen = !r->given[k * n + i];

		for (size_t j = 0; j < k && !seen; j++)
			seen = r->given[j * n + i] &&
			       same_value(r->values[j * n + i], r->values[k * n + i]);
		if (!seen)
			ok = ok && add_value(r, list, i, r->values[k * n + i]);
	}
	return ok;
}

/* The scale on which the points of parameter i lie evenly. For most it is the unit interval, which
 * spans all that the parameter can be. The normal kinds have no end, and the last of that interval
 * would reach arbitrarily far: theirs is the value, or its logarithm. half is half the distance of
 * that many points over the whole scale, or over mu - 2 sigma to mu + 2 sigma where it is
 * endless. */
struct line {
	bool is_endless, is_log;
	double half;
};

static struct line line_of(const struct refine *r, size_t i)
{
	const struct sw_param *p = sw_space_param(r->space, i);
	const double n = r->want.points > 1 ? (double)r->want.points : INFINITY;

	switch (p->dist) {
	case SW_DIST_NORMAL:
	case SW_DIST_Q_NORMAL:
		return (struct line){.is_endless = true, .half = 2.0 * p->sigma / n};
	case SW_DIST_LOG_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
		return (struct line){
			.is_endless = true, .is_log = true, .half = 2.0 * p->sigma / n};
	default:
		return (struct line){.half = 0.5 / n};
	}
}

static double place_of(const struct refine *r, const struct line *line, size_t i,
		       const struct sw_value *values)
{
	double unit[SW_SPACE_MAX_PARAMS];

	/* A value that its grid rounded down to 0 has no logarithm: half a step stands for it. */
	if (line->is_log && !(values[i].number > 0.0))
		return log(sw_space_param(r->space, i)->q / 2.0);
	if (line->is_endless)
		return line->is_log ? log(values[i].number) : values[i].number;
	sw_space_encode(r->space, values, unit);
	return unit[i];
}

static struct sw_value value_on(const struct refine *r, const struct line *line, size_t i,
				double at)
{
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	double unit[SW_SPACE_MAX_PARAMS] = {0};

	if (line->is_endless)
		return sw_space_nearest(r->space, i,
					(struct sw_value){.number = line->is_log ? exp(at) : at});
	unit[i] = at;
	sw_space_decode(r->space, unit, values);
	return values[i];
}

static bool list_points(const struct refine *r, cJSON *list, size_t i)
{
	const size_t n = sw_space_size(r->space);
	const struct line line = line_of(r, i);
	double low = INFINITY, high = -INFINITY;
	struct sw_value last = {.number = 0};
	bool ok = true, any = false;

	for (size_t k = 0; k < r->n; k++) {
		if (!r->given[k * n + i])
			continue;
		const double at = place_of(r, &line, i, r->values + k * n);
		low = at < low ? at : low;
		high = at > high ? at : high;
	}
	/* Half a step further on each side: the best value may lie between two that were tried. */
	low -= line.half;
	high += line.half;
	if (!line.is_endless) {
		low = low > 0.0 ? low : 0.0;
		/* 1 itself is outside of the unit interval, which is half open. */
		high = high < 1.0 - 0x1p-40 ? high : 1.0 - 0x1p-40;
	}
	for (uint64_t j = 0; j < r->want.points; j++) {
		const double t = r->want.points > 1 ? (double)j / (double)(r->want.points - 1)
						    : 0.5;
		const struct sw_value v = value_on(r, &line, i, low + (high - low) * t);

		/* On a coarse grid neighbouring points are rounded to one value. */
		if (any && same_value(v, last))
			continue;
		ok = ok && add_value(r, list, i, v);
		last = v;
		any = true;
	}
	return ok;
}

/* None of the best trials had it. The values that its condition asks for are left out, too, so it
 * could never be active. */
static bool never_active(const struct refine *r, size_t i)
{
	const size_t n = sw_space_size(r->space);

	for (size_t k = 0; k < r->n; k++)
		if (r->given[k * n + i])
			return false;
	return true;
}

/* A condition names values of its parent, so the parent keeps those that the best trials had;
 * points between them would meet no condition. */
static bool is_parent(const struct refine *r, size_t i)
{
	for (size_t k = 0; k < r->old->n_conds; k++)
		if (r->old->conds[k].parent == i)
			return true;
	return false;
}

/* Does the refined parameter i keep this value? */
static bool is_kept(const struct refine *r, size_t i, const cJSON *v)
{
	const size_t n = sw_space_size(r->space);
	struct sw_value one = {.choice = 0};

	/* Only a damaged spec has a condition with a value that its parent cannot have. */
	if (sw_plan_value(r->old, r->space, i, v, &one, NULL) != SW_OK)
		return false;
	for (size_t k = 0; k < r->n; k++)
		if (r->given[k * n + i] && same_value(r->values[k * n + i], one))
			return true;
	return false;
}

/* A "when" with the values that are still there. */
static cJSON *refine_when(const struct refine *r, const cJSON *when)
{
	cJSON *out = cJSON_CreateObject();
	const cJSON *entry, *v;

	cJSON_ArrayForEach (entry, when) {
		const int parent = sw_spec_param_find(r->old, entry->string);
		cJSON *list = cJSON_AddArrayToObject(out, entry->string);

		v = cJSON_IsArray(entry) ? entry->child : entry;
		for (; v != NULL && parent >= 0; v = cJSON_IsArray(entry) ? v->next : NULL)
			if (is_kept(r, (size_t)parent, v) &&
			    !cJSON_AddItemToArray(list, cJSON_Duplicate(v, true))) {
				cJSON_Delete(out);
				return NULL;
			}
	}
	return out;
}

/* Puts the conditions of the old body into the new one. */
static bool copy_when(const struct refine *r, cJSON *out, const cJSON *body)
{
	const cJSON *when = sw_json_get(body, "when");

	return when == NULL || cJSON_AddItemToObject(out, "when", refine_when(r, when));
}

/* {"values": [...]}, or the constant. */
static cJSON *refine_param(const struct refine *r, const cJSON *body, size_t i)
{
	const struct sw_spec_param *p = &r->old->params[i];
	cJSON *out = cJSON_CreateObject(), *list;
	bool ok;

	if (p->value != NULL) {
		ok = cJSON_AddItemToObject(out, "value", cJSON_Duplicate(p->value, true));
	} else {
		list = cJSON_AddArrayToObject(out, "values");
		ok = list != NULL &&
		     (p->values != NULL || is_parent(r, i) ? list_choices(r, list, i)
							   : list_points(r, list, i));
	}
	if (ok && copy_when(r, out, body))
		return out;
	cJSON_Delete(out);
	return NULL;
}

static bool refine_all(const struct refine *r, cJSON *out, const cJSON *old, size_t *i);

/* A group none of whose parameters is left is left out itself. */
static bool refine_group(const struct refine *r, cJSON *out, const cJSON *body, size_t *i)
{
	cJSON *made = cJSON_CreateObject();
	cJSON *inner = cJSON_AddObjectToObject(made, "parameters");

	if (inner == NULL || !refine_all(r, inner, sw_json_get(body, "parameters"), i)) {
		cJSON_Delete(made);
		return false;
	}
	if (inner->child == NULL) {
		cJSON_Delete(made);
		return true;
	}
	return cJSON_AddItemToObject(out, body->string, made) && copy_when(r, made, body);
}

/* Parameters stand in the tree in the order in which the spec numbers them. */
static bool refine_all(const struct refine *r, cJSON *out, const cJSON *old, size_t *i)
{
	const cJSON *body;

	cJSON_ArrayForEach (body, old) {
		/* A group has no number of its own: its parameters are counted one by one. */
		if (sw_json_get(body, "parameters") != NULL) {
			if (!refine_group(r, out, body, i))
				return false;
			continue;
		}
		/* The stored spec has fewer parameters than its tree: it is damaged. */
		if (*i >= r->old->n_params)
			return false;
		if (never_active(r, *i)) {
			(*i)++;
			continue;
		}
		cJSON *made = refine_param(r, body, (*i)++);
		if (made == NULL || !cJSON_AddItemToObject(out, body->string, made)) {
			cJSON_Delete(made);
			return false;
		}
	}
	return true;
}

static bool names_absent(const struct refine *r, const struct sw_spec_sum *sum)
{
	for (size_t t = 0; t < sum->n_terms; t++)
		for (size_t k = 0; k < sum->terms[t].n_factors; k++)
			if (never_active(r, sum->terms[t].factor[k]))
				return true;
	return false;
}

/* Those of the old constraints that can still apply: a parameter that was left out is active in no
 * trial. */
static bool copy_constraints(const struct refine *r, cJSON *out)
{
	cJSON *list = cJSON_CreateArray();
	bool ok = true;

	for (size_t i = 0; i < r->old->n_constraints; i++) {
		const struct sw_spec_constraint *c = &r->old->constraints[i];

		if (!names_absent(r, &c->left) && !names_absent(r, &c->right))
			ok = ok && cJSON_AddItemToArray(list, cJSON_CreateString(c->text));
	}
	if (ok && list != NULL && list->child != NULL)
		return cJSON_AddItemToObject(out, "constraints", list);
	cJSON_Delete(list);
	return ok;
}

static cJSON *write_spec(const struct refine *r, const cJSON *spec)
{
	static const char *const inherited[] = {"metric",    "trainer",  "early_terminate",
						"resources", "parallel", "command",
						"program",   "run",      "executor"};
	cJSON *out = cJSON_Duplicate(spec, true);
	size_t i = 0;

	if (out == NULL)
		return NULL;
	for (size_t k = 0; k < sizeof inherited / sizeof inherited[0]; k++) {
		const cJSON *v = sw_json_get(r->old->tree, inherited[k]);

		/* The new spec's own words count; the rest is the earlier sweep's. */
		if (v != NULL && sw_json_get(spec, inherited[k]) == NULL &&
		    !cJSON_AddItemToObject(out, inherited[k], cJSON_Duplicate(v, true)))
			goto fail;
	}
	if (sw_json_get(spec, "constraints") == NULL && !copy_constraints(r, out))
		goto fail;
	if (sw_json_get(spec, "method") == NULL &&
	    cJSON_AddStringToObject(out, "method", "grid") == NULL)
		goto fail;
	if (!refine_all(r, cJSON_AddObjectToObject(out, "parameters"),
			sw_json_get(r->old->tree, "parameters"), &i))
		goto fail;
	return out;
fail:
	cJSON_Delete(out);
	return NULL;
}

static sw_status read_best(struct refine *r, struct sw_db *db)
{
	const size_t n = sw_space_size(r->space);
	sw_status rc;

	r->values = sw_calloc(r->want.top * n, sizeof *r->values);
	r->given = sw_calloc(r->want.top * n, sizeof *r->given);
	if (r->values == NULL || r->given == NULL)
		return sw_err_set(r->err, SW_NOMEM, "out of memory");
	rc = sw_read_best(db, (int64_t)r->want.of, r->maximize, "all", (int64_t)r->want.top,
			  take_trial, r, r->err);
	if (rc == SW_OK)
		rc = r->rc;
	if (rc == SW_OK && r->n == 0)
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
	free(r.values);
	free(r.given);
	sw_space_destroy(r.space);
	sw_spec_destroy(r.old);
	return rc;
}

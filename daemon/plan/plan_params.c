/* A trial's values become JSON, and JSON becomes values. */
#include "daemon/plan/plan.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- values to JSON --- */

static bool is_group_inside(const struct sw_spec_group *outer, const struct sw_spec_group *g)
{
	for (; g != NULL && g != outer; g = g->parent)
		;
	return g == outer;
}

/* Opens the objects from `from`, which is open, to g inside it. */
static void open_groups(struct sw_jw *w, const struct sw_spec_group *from,
			const struct sw_spec_group *g)
{
	if (g == from)
		return;
	assert(g != NULL); /* from is around it */
	open_groups(w, from, g->parent);
	sw_jw_kobj(w, g->key);
}

/* Closes what does not hold g, opens what does. Returns g. */
static const struct sw_spec_group *enter_group(struct sw_jw *w, const struct sw_spec_group *at,
					       const struct sw_spec_group *g)
{
	for (; at != NULL && !is_group_inside(at, g); at = at->parent)
		sw_jw_obj_end(w);
	open_groups(w, at, g);
	return g;
}

void sw_plan_number(struct sw_jw *w, const struct sw_spec_param *p, double v)
{
	char text[32];

	(p->integers ? sw_json_num_text : sw_json_real_text)(v, text);
	sw_jw_raw(w, text);
}

void sw_plan_params(const struct sw_spec *spec, const struct sw_space *space,
		    const struct sw_value *values, struct sw_buf *out)
{
	const struct sw_spec_group *at = NULL;
	bool active[SW_SPACE_MAX_PARAMS];
	struct sw_jw w;

	sw_space_active(space, values, active);
	sw_jw_init_obj(&w, out);
	for (size_t i = 0; i < spec->n_params; i++) {
		const struct sw_spec_param *p = &spec->params[i];

		/* A parameter whose condition does not hold is no part of the trial. */
		if (!active[i])
			continue;
		at = enter_group(&w, at, p->group);
		sw_jw_key(&w, p->key);
		switch (sw_space_param(space, i)->dist) {
		case SW_DIST_CONSTANT:
			sw_jw_cjson(&w, p->value);
			break;
		case SW_DIST_CATEGORICAL:
			sw_jw_cjson(&w, cJSON_GetArrayItem(p->values, (int)values[i].choice));
			break;
		default:
			sw_plan_number(&w, p, values[i].number);
		}
	}
	(void)enter_group(&w, at, NULL);
	sw_jw_obj_end(&w);
}

/* --- one value --- */

static sw_status no_choice(const struct sw_spec_param *p, const cJSON *v, struct sw_err *err)
{
	const char *words[64];
	char did[SW_DID_YOU_MEAN];
	const cJSON *one;
	size_t n = 0;

	cJSON_ArrayForEach (one, p->values) {
		if (cJSON_IsString(one) && n < sizeof words / sizeof words[0])
			words[n++] = one->valuestring;
	}
	const char *word = cJSON_GetStringValue(v);
	if (word != NULL)
		return sw_err_set(err, SW_INVALID, "\"%.64s\" is not one of the values of \"%s\"%s",
				  word, p->name, sw_did_you_mean(sw_nearest(word, words, n), did));
	return sw_err_set(err, SW_INVALID, "this is not one of the values of \"%s\"", p->name);
}

static sw_status read_choice(const struct sw_spec_param *p, const cJSON *v, struct sw_value *out,
			     struct sw_err *err)
{
	*out = (struct sw_value){.choice = 0};
	if (p->value != NULL)
		return sw_spec_same(p->value, v)
			       ? SW_OK
			       : sw_err_set(err, SW_INVALID,
					    "\"%s\" is a constant, and this is not its value",
					    p->name);
	const size_t k = sw_spec_value_find(p, v);
	if (k == p->n_values)
		return no_choice(p, v, err);
	out->choice = (uint32_t)k;
	return SW_OK;
}

sw_status sw_plan_value(const struct sw_spec *spec, const struct sw_space *space, size_t i,
			const cJSON *v, struct sw_value *out, struct sw_err *err)
{
	const struct sw_spec_param *p = &spec->params[i];

	if (p->value != NULL || p->values != NULL)
		return read_choice(p, v, out, err);
	if (!cJSON_IsNumber(v))
		return sw_err_set(err, SW_INVALID, "\"%s\" is a number, not %s", p->name,
				  sw_json_kind(v));
	*out = (struct sw_value){.number = v->valuedouble};
	if (!isfinite(out->number))
		return sw_err_set(err, SW_INVALID, "\"%s\" must be a finite number", p->name);
	const sw_status rc = sw_space_check_value(space, i, *out, err);
	/* 0.1 + 0.2 is meant for 0.3, and becomes it. */
	if (rc == SW_OK)
		*out = sw_space_nearest(space, i, *out);
	return rc;
}

/* --- JSON to values --- */

struct reader {
	const struct sw_spec *spec;
	const struct sw_space *space;
	struct sw_value *values;
	bool *given;
	struct sw_err *err;
	/* NULL, or nothing is read: the parameter that it switches off is refused in its place. */
	const struct sw_spec_cond *unmet;
};

/* The group of this key in this group. */
static const struct sw_spec_group *group_in(const struct sw_spec *s, const struct sw_spec_group *g,
					    const char *key)
{
	for (size_t i = 0; i < s->n_groups; i++)
		if (s->groups[i].parent == g && strcmp(s->groups[i].key, key) == 0)
			return &s->groups[i];
	return NULL;
}

static sw_status unknown_param(const struct sw_spec *s, const struct sw_spec_group *g,
			       const char *key, struct sw_err *err)
{
	const char *names[SW_SPACE_MAX_PARAMS + SW_SPEC_MAX_GROUPS];
	char did[SW_DID_YOU_MEAN];
	size_t n = 0;

	for (size_t i = 0; i < s->n_params; i++)
		if (s->params[i].group == g)
			names[n++] = s->params[i].key;
	for (size_t i = 0; i < s->n_groups; i++)
		if (s->groups[i].parent == g)
			names[n++] = s->groups[i].key;
	const char *near = sw_nearest(key, names, n); /* those beside it first */
	/* None beside it looks alike: perhaps the slip is in the group. */
	if (near == NULL) {
		n = 0;
		for (size_t i = 0; i < s->n_params; i++)
			names[n++] = s->params[i].name;
		near = sw_nearest(key, names, n);
	}
	return sw_err_set(err, SW_INVALID, "no parameter is called \"%.128s\"%s", key,
			  sw_did_you_mean(near, did));
}

static sw_status read_group(const struct reader *r, const struct sw_spec_group *g,
			    const char *prefix, const cJSON *object);

/* prefix: the names of g and the groups around it, each with its dot. */
static sw_status read_member(const struct reader *r, const struct sw_spec_group *g,
			     const char *prefix, const cJSON *v)
{
	const struct sw_spec_group *inner = group_in(r->spec, g, v->string);
	char name[SW_SPEC_MAX_PARAM_NAME + 2]; /* what is cut is still longer than any name */

	(void)snprintf(name, sizeof name, "%s%s%s", prefix, v->string, inner != NULL ? "." : "");
	if (inner != NULL && cJSON_IsObject(v))
		return read_group(r, inner, name, v);
	if (inner != NULL)
		return sw_err_set(r->err, SW_INVALID,
				  "\"%s\" is a group of parameters: an object, not %s", v->string,
				  sw_json_kind(v));
	/* Its name may be written out with its dots at any level, too. */
	const int i = sw_spec_param_find(r->spec, name);
	if (i < 0)
		return unknown_param(r->spec, g, v->string, r->err);
	if (r->unmet != NULL && r->unmet->child != (size_t)i)
		return SW_OK;
	if (r->unmet != NULL)
		return sw_err_set(r->err, SW_INVALID,
				  "\"%s\" is not active here: its \"when\" asks for another \"%s\"",
				  name, r->spec->params[r->unmet->parent].name);
	if (r->given[i])
		return sw_err_set(r->err, SW_INVALID, "\"%s\" is given twice", name);
	r->given[i] = true;
	return sw_plan_value(r->spec, r->space, (size_t)i, v, &r->values[i], r->err);
}

static sw_status read_group(const struct reader *r, const struct sw_spec_group *g,
			    const char *prefix, const cJSON *object)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, object) {
		const sw_status rc = read_member(r, g, prefix, v);
		char ptr[sizeof r->err->ptr] = "";

		if (rc == SW_OK)
			continue;
		sw_json_pointer_add(ptr, sizeof ptr, v->string);
		sw_err_prefix(r->err, ptr);
		return rc;
	}
	return SW_OK;
}

/* --- what is given and not active --- */

static bool is_allowed(const struct reader *r, const struct sw_spec_cond *c)
{
	const cJSON *v = cJSON_IsArray(c->allowed) ? c->allowed->child : c->allowed;
	const struct sw_value have = r->values[c->parent];
	struct sw_value one = {.choice = 0};

	for (size_t i = 0; i < c->n; i++, v = v->next)
		if (sw_plan_value(r->spec, r->space, c->parent, v, &one, NULL) == SW_OK &&
		    one.number == have.number && one.choice == have.choice)
			return true;
	return false;
}

/* off[i]: by what is given parameter i cannot be active, whatever the rest turns out to be.
 * why[i] is the condition that says so. A parameter that is off switches off its children, so
 * the conditions are gone through until nothing moves. */
static void find_off(const struct reader *r, bool *off, const struct sw_spec_cond **why)
{
	bool moved = true;

	for (size_t i = 0; i < r->spec->n_params; i++)
		off[i] = false;
	while (moved) {
		moved = false;
		for (size_t i = 0; i < r->spec->n_conds; i++) {
			const struct sw_spec_cond *c = &r->spec->conds[i];

			if (off[c->child] ||
			    (!off[c->parent] && (!r->given[c->parent] || is_allowed(r, c))))
				continue;
			off[c->child] = true;
			why[c->child] = c;
			moved = true;
		}
	}
}

/* The space knows quickly what is active if a whole point is given; only if something else was
 * named are the conditions gone through for a reason. */
static sw_status check_active(const struct reader *r, const cJSON *params, const bool *named)
{
	const struct sw_spec_cond *why[SW_SPACE_MAX_PARAMS] = {NULL};
	bool active[SW_SPACE_MAX_PARAMS], off[SW_SPACE_MAX_PARAMS], excess = false;
	struct reader again = *r;

	sw_space_active(r->space, r->values, active);
	for (size_t i = 0; i < r->spec->n_params; i++)
		excess = excess || (named[i] && !active[i]);
	if (!excess)
		return SW_OK;
	find_off(r, off, why);
	for (size_t i = 0; i < r->spec->n_params; i++) {
		/* Not active by the middle values that stand for the rest, but not off for sure. */
		if (!named[i] || !off[i])
			continue;
		again.unmet = why[i];
		return read_group(&again, NULL, "", params);
	}
	return SW_OK;
}

sw_status sw_plan_read(const struct sw_spec *spec, const struct sw_space *space,
		       const cJSON *params, struct sw_value *values, bool *given,
		       struct sw_err *err)
{
	const struct reader r = {spec, space, values, given, err, NULL};
	bool named[SW_SPACE_MAX_PARAMS] = {false};
	double middle[SW_SPACE_MAX_PARAMS];

	if (!cJSON_IsObject(params))
		return sw_err_set(err, SW_INVALID, "the parameters must be an object, not %s",
				  params == NULL ? "missing" : sw_json_kind(params));
	for (size_t i = 0; i < spec->n_params; i++) {
		middle[i] = 0.5;
		given[i] = false;
	}
	/* Whatever is not given has some value of its range, so that the space can be asked. */
	sw_space_decode(space, middle, values);
	sw_status rc = read_group(&r, NULL, "", params);
	if (rc != SW_OK)
		return rc;
	for (size_t i = 0; i < spec->n_params; i++) {
		named[i] = given[i];
		/* A constant is never missing, named or not. */
		given[i] = given[i] || spec->params[i].value != NULL;
	}
	return check_active(&r, params, named);
}

size_t sw_plan_missing(const struct sw_space *space, const struct sw_value *values,
		       const bool *given)
{
	bool active[SW_SPACE_MAX_PARAMS];
	const size_t n = sw_space_size(space);
	size_t i = 0;

	sw_space_active(space, values, active);
	while (i < n && (given[i] || !active[i]))
		i++;
	return i;
}

sw_status sw_plan_feasible(const struct sw_spec *spec, const struct sw_space *space,
			   const struct sw_value *values, struct sw_err *err)
{
	const size_t i = sw_space_constraint_find(space, values);

	if (i == sw_space_constraints(space))
		return SW_OK;
	return sw_err_set(err, SW_INVALID, "the constraint \"%.200s\" does not hold",
			  spec->constraints[i].text);
}

/* "parameters": the tree of groups, flattened, and the names that come of it. */
#include "base/memory.h"
#include "proto/json.h"
#include "spec/read/read.h"
#include <stdlib.h>
#include <string.h>

void sw_spec_space_fini(struct sw_spec *s)
{
	for (size_t i = 0; i < s->n_params; i++) {
		free((void *)s->params[i].weights);
		free(s->params[i].sorted);
		cJSON_Delete(s->params[i].merged);
		/* A name outside groups is the key itself, which the spec's tree owns. */
		if (s->params[i].name != s->params[i].key)
			free((void *)s->params[i].name);
	}
	for (size_t i = 0; i < s->n_constraints; i++) {
		free((void *)s->constraints[i].rule.left.terms);
		free((void *)s->constraints[i].rule.right.terms);
	}
	free(s->params);
	free(s->groups);
	free(s->conds);
	free(s->constraints);
}

/* --- names --- */

static bool name_ok(const char *name)
{
	const size_t n = strlen(name), pluses = strspn(name, "+"); /* Hydra's +lr and ++lr */
	const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "_0123456789";

	if (pluses > 2 || pluses == n || n > SW_SPEC_MAX_PARAM_NAME ||
	    strchr(letters, name[pluses]) == NULL)
		return false;
	for (size_t i = pluses; i < n; i++)
		if (strchr(letters, name[i]) == NULL && strchr("-./", name[i]) == NULL)
			return false;
	return true;
}

static sw_status bad_name(struct sw_err *err)
{
	return sw_err_set(err, SW_INVALID,
			  "a parameter's name is 1 to %d of the characters a-z A-Z 0-9 _ - . / and "
			  "starts with a letter, a digit or _, or with + or ++ before it",
			  SW_SPEC_MAX_PARAM_NAME);
}

/* p->name of one in a group: the keys of its groups and its own, with dots between. */
static sw_status join_name(struct sw_spec_param *p, struct sw_err *err)
{
	size_t n = strlen(p->key);

	for (const struct sw_spec_group *g = p->group; g != NULL; g = g->parent)
		n += strlen(g->key) + 1;
	if (n > SW_SPEC_MAX_PARAM_NAME)
		return sw_err_set(err, SW_INVALID,
				  "the name is %zu bytes long with those of its groups; at most %d "
				  "are allowed",
				  n, SW_SPEC_MAX_PARAM_NAME);
	char *name = sw_malloc(n + 1);
	if (name == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	const char *part = p->key;
	const struct sw_spec_group *g = p->group;
	name[n] = '\0';
	for (;;) { /* written from its end, since groups know their parents */
		const size_t len = strlen(part);
		n -= len;
		memcpy(name + n, part, len);
		if (g == NULL)
			break;
		name[--n] = '.';
		part = g->key;
		g = g->parent;
	}
	p->name = name;
	return SW_OK;
}

static sw_status make_name(struct sw_spec *s, struct sw_spec_param *p, struct sw_err *err)
{
	if (!name_ok(p->key))
		return bad_name(err);
	const sw_status rc = p->group != NULL ? join_name(p, err) : SW_OK;
	/* It is among them itself: a namesake would be found before it. */
	if (rc != SW_OK || sw_spec_param_find(s, p->name) == p - s->params)
		return rc;
	return sw_err_set(err, SW_INVALID, "there is another parameter called \"%s\"", p->name);
}

/* --- the tree --- */

static bool is_group(const cJSON *v)
{
	return cJSON_IsObject(v) && sw_json_get(v, "parameters") != NULL;
}

static void count_tree(const cJSON *params, size_t *n_params, size_t *n_groups)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, params) {
		if (!is_group(v)) {
			++*n_params;
			continue;
		}
		++*n_groups;
		count_tree(sw_json_get(v, "parameters"), n_params, n_groups);
	}
}

/* Ray tries each value of a grid_search, with any method. Here only method grid does. */
static void warn_grid(struct sw_spec *s, const char *ptr, const cJSON *v)
{
	const char *dist = cJSON_GetStringValue(sw_json_get(v, "distribution"));
	const bool grid = sw_json_get(v, "grid_search") != NULL ||
			  (dist != NULL && strcmp(dist, "grid_search") == 0);

	if (grid && strcmp(s->method, "grid") != 0)
		sw_spec_warn(
			s, ptr,
			"grid_search is drawn like \"values\": only method \"grid\" tries each of "
			"them");
}

static sw_status read_one(struct sw_spec *s, const struct sw_spec_group *group, const cJSON *v)
{
	struct sw_spec_param *p = &s->params[s->n_params++];
	char ptr[sizeof s->faults->list->ptr] = "";
	struct sw_err warning = SW_ERR_INIT, err = SW_ERR_INIT;
	const size_t before = s->faults->n;
	sw_status rc;

	p->key = v->string;
	p->name = v->string;
	p->group = group;
	p->when = sw_json_get(v, "when");
	rc = make_name(s, p, &err);
	sw_spec_param_pointer(p, ptr, sizeof ptr);
	if (rc == SW_OK)
		sw_spec_param_check(v, ptr, s->faults);
	if (rc == SW_OK && s->faults->n == before)
		rc = sw_spec_param_read(p, v, &warning, &err);
	if (rc == SW_INVALID) {
		sw_err_prefix(&err, ptr);
		sw_fault_note(s->faults, err.ptr, "%s", err.msg);
	}
	/* It is passed over, and what depends on it, too. */
	p->wrong = s->faults->n > before;
	if (p->wrong)
		p->when = NULL;
	if (warning.code != SW_OK)
		sw_spec_warn(s, ptr, "%s", warning.msg);
	warn_grid(s, ptr, v);
	/* A fault is in the list by now: the parameters after this one are read too, and told of at
	 * once. */
	return rc == SW_INVALID ? SW_OK : rc;
}

static sw_status check_group(const cJSON *v, struct sw_err *err)
{
	const cJSON *params = sw_json_get(v, "parameters"), *other;

	if (!name_ok(v->string))
		return bad_name(err);
	cJSON_ArrayForEach (other, v)
		if (strcmp(other->string, "parameters") != 0 && strcmp(other->string, "when") != 0)
			return sw_spec_at_key(err, other->string,
					      "\"%s\" does not go with \"parameters\": this is a "
					      "group, which has "
					      "\"when\" beside it alone",
					      other->string);
	if (!cJSON_IsObject(params))
		return sw_spec_at_key(
			err, "parameters",
			"\"parameters\" must be an object of parameters by name, not %s",
			sw_json_kind(params));
	if (params->child == NULL)
		return sw_err_at(err, SW_INVALID, "/parameters",
				 "\"parameters\" is empty: a group needs at least one");
	return SW_OK;
}

static sw_status read_tree(struct sw_spec *s, const struct sw_spec_group *group,
			   const cJSON *params);

static sw_status read_group(struct sw_spec *s, const struct sw_spec_group *parent, const cJSON *v)
{
	struct sw_spec_group *g = &s->groups[s->n_groups++];
	struct sw_err err = SW_ERR_INIT;
	char ptr[sizeof err.ptr];

	g->key = v->string;
	g->parent = parent;
	g->when = sw_json_get(v, "when");
	const sw_status rc = check_group(v, &err);
	if (rc == SW_OK)
		return read_tree(s, g, sw_json_get(v, "parameters"));
	sw_spec_group_pointer(g, ptr, sizeof ptr);
	sw_err_prefix(&err, ptr);
	sw_fault_note(s->faults, err.ptr, "%s", err.msg);
	return SW_OK;
}

/* Goes no deeper than JSON may be nested, which is 32. */
static sw_status read_tree(struct sw_spec *s, const struct sw_spec_group *group,
			   const cJSON *params)
{
	const cJSON *v;
	sw_status rc = SW_OK;

	cJSON_ArrayForEach (v, params) {
		rc = is_group(v) ? read_group(s, group, v) : read_one(s, group, v);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

sw_status sw_spec_parameters_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	size_t n_params = 0, n_groups = 0;

	if (v->child == NULL)
		return sw_err_at(err, SW_INVALID, "/parameters",
				 "\"parameters\" is empty: a sweep needs at least one");
	count_tree(v, &n_params, &n_groups);
	if (n_params > SW_SPACE_MAX_PARAMS || n_groups > SW_SPEC_MAX_GROUPS)
		return sw_err_at(err, SW_INVALID, "/parameters",
				 "\"parameters\" has more than 256 %s",
				 n_params > SW_SPACE_MAX_PARAMS ? "parameters" : "groups");
	/* One more: a group without parameters is seen to be one in read_tree(). */
	/* Whole from the start and never moved: parameters point to their groups, and groups to
	 * each other. */
	s->params = sw_calloc(n_params + 1, sizeof *s->params);
	s->groups = sw_calloc(n_groups + 1, sizeof *s->groups);
	if (s->params == NULL || s->groups == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	const sw_status rc = read_tree(s, NULL, v);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "out of memory");
	/* Parameters of a group with a fault are not known: others may name them. */
	return s->n_params == n_params ? sw_spec_when_read(s, err) : SW_OK;
}

/* "when": which parameter is active where. Names, kinds and circles are checked here; whether a
 * number is one that the parent can have, where the search space is built. */
#include "base/memory.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/read/read.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sw_status no_such_value(const struct sw_spec_param *p, const cJSON *v, const char *ptr,
			       struct sw_err *err)
{
	const char *words[64];
	char did[SW_DID_YOU_MEAN];
	const cJSON *one;
	size_t n = 0;

	cJSON_ArrayForEach (one, p->values) {
		if (cJSON_IsString(one) && n < SW_SPEC_N(words))
			words[n++] = one->valuestring;
	}
	if (!cJSON_IsString(v))
		return sw_err_at(err, SW_INVALID, ptr, "\"%s\" never has this value", p->name);
	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" never is \"%.64s\"%s", p->name,
			 v->valuestring,
			 sw_did_you_mean(sw_nearest(v->valuestring, words, n), did));
}

static sw_status check_value(const struct sw_spec_param *p, const cJSON *v, const char *ptr,
			     struct sw_err *err)
{
	if (p->value != NULL)
		return sw_spec_same(p->value, v) ? SW_OK : no_such_value(p, v, ptr, err);
	if (p->values != NULL)
		return sw_spec_value_find(p, v) < p->n_values ? SW_OK
							      : no_such_value(p, v, ptr, err);
	if (cJSON_IsNumber(v))
		return SW_OK;
	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" is a number, never %s", p->name,
			 sw_json_kind(v));
}

/* One entry of a "when": name -> value or values. ptr: its place, room for an index behind it. */
static sw_status check_entry(const struct sw_spec *s, const cJSON *entry, char *ptr, size_t cap,
			     struct sw_err *err)
{
	const int parent = sw_spec_param_find(s, entry->string);
	const cJSON *v;
	sw_status rc = SW_OK;
	char at[16], did[SW_DID_YOU_MEAN];
	size_t i = 0;

	if (parent < 0)
		return sw_err_at(err, SW_INVALID, ptr, "no parameter is called \"%.128s\"%s",
				 entry->string,
				 sw_did_you_mean(sw_spec_param_nearest(s, entry->string), did));
	const struct sw_spec_param *p = &s->params[parent];
	/* Its own fault has been told, and its values may not be read. */
	if (p->wrong)
		return SW_OK;
	if (sw_dist_is_continuous(p->dist))
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"%s\" is continuous: a condition needs values that can be "
				 "listed (values, integers, pow2 or a q)",
				 p->name);
	if (!cJSON_IsArray(entry))
		return check_value(p, entry, ptr, err);
	if (entry->child == NULL)
		return sw_err_at(err, SW_INVALID, ptr, "the list is empty: it would never hold");
	const size_t n = strlen(ptr);
	cJSON_ArrayForEach (v, entry) {
		(void)snprintf(at, sizeof at, "%zu", i++);
		/* Back to the entry's own pointer, behind which the index of the value before
		 * stood. */
		ptr[n] = '\0';
		sw_json_pointer_add(ptr, cap, at);
		rc = check_value(p, v, ptr, err);
		if (rc != SW_OK)
			return rc;
	}
	ptr[n] = '\0';
	return SW_OK;
}

/* when: one object, or NULL; ptr: of what has it. */
static sw_status check_when(const struct sw_spec *s, const cJSON *when, char *ptr, size_t cap,
			    struct sw_err *err)
{
	char place[sizeof err->ptr];
	const cJSON *entry;

	if (when == NULL)
		return SW_OK;
	sw_json_pointer_add(ptr, cap, "when");
	if (!cJSON_IsObject(when))
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"when\" must be an object like {\"optimizer\": [\"sgd\"]}, not "
				 "%s",
				 sw_json_kind(when));
	if (when->child == NULL)
		return sw_err_at(err, SW_INVALID, ptr, "\"when\" is empty");
	cJSON_ArrayForEach (entry, when) {
		(void)snprintf(place, sizeof place, "%s", ptr);
		sw_json_pointer_add(place, sizeof place, entry->string);
		const sw_status rc = check_entry(s, entry, place, sizeof place, err);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

/* --- from objects to conditions --- */

/* Of one entry: a list of them, or one. */
static size_t values_of(const cJSON *entry)
{
	return cJSON_IsArray(entry) ? (size_t)cJSON_GetArraySize(entry) : 1;
}

/* There is room: count_one() has counted them. */
static sw_status add_cond(struct sw_spec *s, const struct sw_spec_cond *c, struct sw_err *err)
{
	char ptr[sizeof err->ptr];

	sw_spec_cond_pointer(s, c, ptr, sizeof ptr);
	if (c->child == c->parent)
		return sw_err_at(err, SW_INVALID, ptr, "\"%s\" cannot depend on itself",
				 s->params[c->child].name);
	/* The conditions of one child are added in a row, so they are the last ones. */
	for (size_t i = s->n_conds; i-- > 0 && s->conds[i].child == c->child;)
		if (s->conds[i].parent == c->parent)
			return sw_err_at(err, SW_INVALID, ptr,
					 "a group around \"%s\" depends on \"%s\" already",
					 s->params[c->child].name, s->params[c->parent].name);
	s->conds[s->n_conds++] = *c;
	return SW_OK;
}

static sw_status add_when(struct sw_spec *s, size_t child, const struct sw_spec_group *group,
			  const cJSON *when, struct sw_err *err)
{
	const cJSON *entry;

	cJSON_ArrayForEach (entry, when) {
		const struct sw_spec_cond c = {
			.child = child,
			.parent = (size_t)sw_spec_param_find(s, entry->string),
			.group = group,
			.allowed = entry,
			.n = values_of(entry),
		};
		const sw_status rc = add_cond(s, &c, err);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

static sw_status add_groups(struct sw_spec *s, size_t child, const struct sw_spec_group *group,
			    struct sw_err *err)
{
	/* The outer groups come first. */
	if (group == NULL)
		return SW_OK;
	const sw_status rc = add_groups(s, child, group->parent, err);
	return rc == SW_OK ? add_when(s, child, group, group->when, err) : rc;
}

/* --- circles --- */

/* Goes from a parameter that no order settles to one that it waits for, until one comes again: a
 * circle. */
static sw_status circle(const struct sw_spec *s, const bool *settled, size_t at, struct sw_err *err)
{
	size_t seen[SW_SPACE_MAX_PARAMS + 1] = {0}, step = 0, n = 0;
	size_t path[SW_SPACE_MAX_PARAMS + 1];
	char list[200] = "", ptr[sizeof err->ptr] = "";

	/* It ends: no parameter is seen twice, and one that is not settled always has a parent that
	 * is not. */
	while (seen[at] == 0) {
		path[step] = at;
		seen[at] = ++step;
		size_t i = 0;
		while (s->conds[i].child != at || settled[s->conds[i].parent])
			i++;
		sw_spec_cond_pointer(s, &s->conds[i], ptr, sizeof ptr);
		at = s->conds[i].parent;
	}
	for (size_t i = seen[at] - 1; i < step && n < sizeof list; i++)
		n += (size_t)snprintf(list + n, sizeof list - n, "\"%s\" needs ",
				      s->params[path[i]].name);
	return sw_err_at(err, SW_INVALID, ptr, "the conditions run in a circle: %s\"%s\"", list,
			 s->params[at].name);
}

static sw_status check_circles(const struct sw_spec *s, struct sw_err *err)
{
	bool settled[SW_SPACE_MAX_PARAMS], moved = true;

	for (size_t i = 0; i < s->n_params; i++)
		settled[i] = false;
	/* Settles parameters that wait for no other, until a round settles nothing: then all are,
	 * or the rest wait for each other. */
	while (moved) {
		bool waits[SW_SPACE_MAX_PARAMS] = {false};

		for (size_t i = 0; i < s->n_conds; i++)
			if (!settled[s->conds[i].parent])
				waits[s->conds[i].child] = true;
		moved = false;
		for (size_t i = 0; i < s->n_params; i++) {
			moved = moved || (!settled[i] && !waits[i]);
			/* Nobody becomes unsettled by this: once all parents are settled they stay
			 * so. */
			settled[i] = !waits[i];
		}
	}
	for (size_t i = 0; i < s->n_params; i++)
		if (!settled[i])
			return circle(s, settled, i, err);
	return SW_OK;
}

static void count_when(const cJSON *when, size_t *entries, size_t *values)
{
	const cJSON *entry;

	cJSON_ArrayForEach (entry, when) {
		++*entries;
		*values += values_of(entry);
	}
}

/* Counts the entries and the values in the conditions of one parameter, with those of its
 * groups. */
static sw_status count_one(const struct sw_spec_param *p, size_t *entries, size_t *values,
			   struct sw_err *err)
{
	char ptr[sizeof err->ptr] = "";

	count_when(p->when, entries, values);
	for (const struct sw_spec_group *g = p->group; g != NULL; g = g->parent)
		count_when(g->when, entries, values);
	if (*values <= SW_SPEC_MAX_WHEN)
		return SW_OK;
	sw_spec_param_pointer(p, ptr, sizeof ptr);
	return sw_err_at(err, SW_INVALID, ptr,
			 "the conditions up to here list more than %d values (those of a group "
			 "count for each parameter in it)",
			 SW_SPEC_MAX_WHEN);
}

/* Checks each "when" once, where it stands, however many parameters it holds for. */
static void check_one(const struct sw_spec *s, const cJSON *when, char *ptr, size_t cap)
{
	struct sw_err err = SW_ERR_INIT;

	if (check_when(s, when, ptr, cap, &err) != SW_OK)
		sw_fault_note(s->faults, err.ptr, "%s", err.msg);
}

static void check_all(const struct sw_spec *s)
{
	char ptr[sizeof s->faults->list->ptr];

	for (size_t i = 0; i < s->n_params; i++) {
		sw_spec_param_pointer(&s->params[i], ptr, sizeof ptr);
		check_one(s, s->params[i].when, ptr, sizeof ptr);
	}
	for (size_t i = 0; i < s->n_groups; i++) {
		sw_spec_group_pointer(&s->groups[i], ptr, sizeof ptr);
		check_one(s, s->groups[i].when, ptr, sizeof ptr);
	}
}

sw_status sw_spec_when_read(struct sw_spec *s, struct sw_err *err)
{
	const size_t before = s->faults->n;
	size_t entries = 0, values = 0;
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < s->n_params; i++)
		rc = count_one(&s->params[i], &entries, &values, err);
	/* The counts come first: a condition of a group counts for each parameter inside, and a
	 * list that is too long is refused before its values are looked up. */
	if (rc == SW_OK)
		check_all(s);
	/* Without conditions all parameters are always active. */
	if (rc != SW_OK || entries == 0 || s->faults->n > before)
		return rc;
	s->conds = sw_calloc(entries, sizeof *s->conds);
	if (s->conds == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	for (size_t i = 0; rc == SW_OK && i < s->n_params; i++) {
		rc = add_groups(s, i, s->params[i].group, err);
		if (rc == SW_OK)
			rc = add_when(s, i, NULL, s->params[i].when, err);
	}
	return rc == SW_OK ? check_circles(s, err) : rc;
}

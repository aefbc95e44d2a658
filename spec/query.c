/* A spec's fields by name: the readers of a spec, its warnings and the daemon look them up here. */
#include "spec/query.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/forms.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool sw_spec_driven(const struct sw_spec *s)
{
	return s->trainer == NULL && s->command == NULL;
}

uint64_t sw_spec_max_t(const struct sw_spec *s)
{
	const bool rungs = s->pruner.kind == SW_PRUNER_ASHA || s->pruner.kind == SW_PRUNER_PROMOTE;

	return rungs ? s->pruner.asha.max_t : 0;
}

/* --- parameters --- */

int sw_spec_param_find(const struct sw_spec *s, const char *name)
{
	for (size_t i = 0; i < s->n_params; i++)
		if (strcmp(s->params[i].name, name) == 0)
			return (int)i;
	return -1;
}

bool sw_spec_param_conditional(const struct sw_spec *s, size_t i)
{
	for (size_t k = 0; k < s->n_conds; k++)
		if (s->conds[k].child == i)
			return true;
	return false;
}

const char *sw_spec_param_nearest(const struct sw_spec *s, const char *name)
{
	const char *names[SW_SPACE_MAX_PARAMS];
	const size_t n = strlen(name);

	for (size_t i = 0; i < s->n_params; i++) {
		names[i] = s->params[i].name;
		/* "wd" where there is an "opt.wd": the name inside its group. */
		const size_t whole = strlen(names[i]);
		if (whole > n && names[i][whole - n - 1] == '.' &&
		    strcmp(names[i] + whole - n, name) == 0)
			return names[i];
	}
	return sw_nearest(name, names, s->n_params);
}

const cJSON *sw_spec_param_word(const struct sw_spec_param *p)
{
	const cJSON *v;

	if (p->value != NULL)
		return cJSON_IsNumber(p->value) ? NULL : p->value;
	cJSON_ArrayForEach (v, p->values) {
		if (!cJSON_IsNumber(v))
			return v;
	}
	return NULL;
}

sw_status sw_spec_no_param(const struct sw_spec *s, const char *what, const char *name,
			   const char *ptr, struct sw_err *err)
{
	const char *names[SW_SPACE_MAX_PARAMS];
	char list[120] = "", did[SW_DID_YOU_MEAN];
	size_t n = 0;

	for (size_t i = 0; i < s->n_params; i++) {
		names[i] = s->params[i].name;
		/* Eight bytes: ", " before the name, ", ..." if the next does not fit, and the
		 * NUL. */
		if (n + strlen(names[i]) + 8 < sizeof list)
			n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i > 0 ? ", " : "",
					      names[i]);
		else if (n + 6 < sizeof list && (n < 3 || list[n - 1] != '.'))
			n += (size_t)snprintf(list + n, sizeof list - n, ", ...");
	}
	return sw_err_at(err, SW_INVALID, ptr,
			 "%s \"%.64s\": no parameter of that name%s (there are %s)", what, name,
			 sw_did_you_mean(sw_nearest(name, names, s->n_params), did), list);
}

bool sw_spec_same(const cJSON *a, const cJSON *b)
{
	if (cJSON_IsNumber(a) && cJSON_IsNumber(b))
		return a->valuedouble == b->valuedouble;
	return cJSON_Compare(a, b, 1) != 0;
}

/* --- pointers --- */

/* The "parameters" object inside a group; NULL: the one at the top. */
static void add_group_pointer(const struct sw_spec_group *g, char *ptr, size_t cap)
{
	if (g != NULL) {
		add_group_pointer(g->parent, ptr, cap);
		sw_json_pointer_add(ptr, cap, g->key);
	}
	sw_json_pointer_add(ptr, cap, "parameters");
}

void sw_spec_group_pointer(const struct sw_spec_group *g, char *ptr, size_t cap)
{
	ptr[0] = '\0';
	add_group_pointer(g->parent, ptr, cap);
	sw_json_pointer_add(ptr, cap, g->key);
}

void sw_spec_param_pointer(const struct sw_spec_param *p, char *ptr, size_t cap)
{
	ptr[0] = '\0';
	add_group_pointer(p->group, ptr, cap);
	sw_json_pointer_add(ptr, cap, p->key);
}

void sw_spec_cond_pointer(const struct sw_spec *s, const struct sw_spec_cond *c, char *ptr,
			  size_t cap)
{
	if (c->group == NULL)
		sw_spec_param_pointer(&s->params[c->child], ptr, cap);
	else
		sw_spec_group_pointer(c->group, ptr, cap);
	sw_json_pointer_add(ptr, cap, "when");
	sw_json_pointer_add(ptr, cap, s->params[c->parent].name);
}

/* --- options of the trainer --- */

const struct sw_spec_param *sw_spec_option_param(const struct sw_spec *s, const char *option)
{
	const cJSON *v = sw_json_get(s->trainer, option);
	const int i = sw_spec_param_find(s, cJSON_IsString(v) ? v->valuestring : option);

	return i >= 0 ? &s->params[i] : NULL;
}

const cJSON *sw_spec_fixed_option(const struct sw_spec *s, const char *option)
{
	const struct sw_spec_param *p = sw_spec_option_param(s, option);

	return p != NULL ? p->value : sw_json_get(s->trainer, option);
}

uint64_t sw_spec_epochs(const struct sw_spec *s)
{
	uint64_t n = 0;

	/* Without a trainer it is not known how long a trial is: n is 0. */
	if (s->trainer == NULL || sw_json_u64(sw_spec_fixed_option(s, "epochs"), &n))
		return n;
	/* Epochs that are searched differ from trial to trial. */
	return sw_spec_option_param(s, "epochs") == NULL ? (uint64_t)sw_spec_usual_epochs : 0;
}

/* --- warnings --- */

void sw_spec_warn(struct sw_spec *s, const char *ptr, const char *fmt, ...)
{
	char line[sizeof s->warnings[0].msg];
	va_list ap;

	/* More are dropped: nobody would read them. */
	if (s->n_warnings == SW_SPEC_MAX_WARNINGS)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	(void)sw_err_at(&s->warnings[s->n_warnings++], SW_INVALID, ptr, "%s", line);
}

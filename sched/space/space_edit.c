/* A space with other ranges: what a live edit makes of a sweep's space. */
#include "base/memory.h"
#include "sched/space/space.h"
#include "sched/space/space_internal.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sw_space_bounded(const struct sw_space *s, size_t i)
{
	assert(i < s->n);
	switch (s->v[i].p.dist) {
	case SW_DIST_INT_UNIFORM:
	case SW_DIST_INT_LOG_UNIFORM:
	case SW_DIST_UNIFORM:
	case SW_DIST_LOG_UNIFORM:
	case SW_DIST_INV_LOG_UNIFORM:
	case SW_DIST_Q_UNIFORM:
	case SW_DIST_Q_LOG_UNIFORM:
	case SW_DIST_POW2:
		return true;
	default:
		return false;
	}
}

static sw_status copy_params(struct sw_space *to, const struct sw_space *s, const double *min,
			     const double *max, struct sw_err *err)
{
	char ptr[32];

	for (size_t i = 0; i < s->n; i++) {
		struct sw_param p = s->v[i].p;

		if (sw_space_bounded(s, i)) {
			p.min = min[i];
			p.max = max[i];
		}
		const sw_status rc = sw_space_add(to, &p, err);
		if (rc != SW_OK) {
			(void)snprintf(ptr, sizeof ptr, "/%zu", i);
			sw_err_prefix(err, ptr);
			return rc;
		}
	}
	return SW_OK;
}

/* Copied as they are: a value that the parent no longer has never comes, and may come back. */
static sw_status copy_conditions(struct sw_space *to, const struct sw_space *s)
{
	if (s->n_conds == 0)
		return SW_OK;
	to->conds = sw_calloc(s->n_conds, sizeof *to->conds);
	if (to->conds == NULL)
		return SW_NOMEM;
	to->cap_conds = s->n_conds;
	for (size_t i = 0; i < s->n_conds; i++) {
		struct sw_space_cond *c = &to->conds[i];

		*c = s->conds[i];
		c->allowed = sw_malloc(c->n * sizeof *c->allowed);
		if (c->allowed == NULL)
			return SW_NOMEM;
		memcpy(c->allowed, s->conds[i].allowed, c->n * sizeof *c->allowed);
		to->n_conds++;
	}
	to->sealed = s->sealed;
	return SW_OK;
}

sw_status sw_space_ranged(struct sw_space **out, const struct sw_space *s, const double *min,
			  const double *max, struct sw_err *err)
{
	struct sw_space *to = NULL;

	*out = NULL;
	sw_status rc = sw_space_create(&to);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "no memory for the search space");
	assert(to != NULL);
	rc = copy_params(to, s, min, max, err);
	if (rc == SW_OK && copy_conditions(to, s) != SW_OK)
		rc = sw_err_set(err, SW_NOMEM, "no memory for the search space");
	/* Added, not copied as they lie there: the new space is to own terms of its own. */
	for (size_t i = 0; rc == SW_OK && i < s->n_constraints; i++)
		rc = sw_space_constrain(to, &s->constraints[i], err);
	if (rc == SW_OK)
		rc = sw_space_seal(to, err);
	if (rc != SW_OK) {
		sw_space_destroy(to);
		return rc;
	}
	*out = to;
	return SW_OK;
}

bool sw_space_holds(const struct sw_space *s, const struct sw_value *values)
{
	bool active[SW_SPACE_MAX_PARAMS];

	sw_space_active(s, values, active);
	for (size_t i = 0; i < s->n; i++)
		/* An inactive value is never used, so a range that has moved away from it is no
		 * matter. */
		if (active[i] && sw_space_check_value(s, i, values[i], NULL) != SW_OK)
			return false;
	return true;
}
